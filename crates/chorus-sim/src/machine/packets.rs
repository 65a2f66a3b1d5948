//! Messages in transit within a partition. The data that moving a message needs is stored apart from the message
//! itself, because it is short and is read several times before the message is read.

use chorus_protocol::host_line::HostLine;
use chorus_protocol::message::Message;

use crate::clock::Ticks;
use crate::slab::Slab;

/// The route and length of a message in transit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// The time since which it waits at its destination.
    pub(super) enqueued: Ticks,
    /// The agent that it goes to.
    pub(super) to: u16,
    pub(super) flits: u16,
    /// Its length in bytes.
    pub(super) bytes: u16,
    pub(super) network: u8,
    /// Its origin as its destination sees it: 0 the same module, 1 the same GPU, 2 another GPU.
    pub(super) origin: u8,
    /// Whether its source learns of its consumption.
    pub(super) is_credited: bool,
}

/// All messages in transit within a partition.
pub(super) struct Packets<const W: usize> {
    packets: Slab<Packet>,
    /// The message of each packet, under the same number.
    messages: Vec<HostLine<Message<W>>>,
}

impl<const W: usize> Default for Packets<W> {
    fn default() -> Self {
        Packets { packets: Slab::default(), messages: Vec::new() }
    }
}

impl<const W: usize> Packets<W> {
    /// Adds a message, with its data or without. Returns its number.
    #[inline]
    pub(super) fn insert(&mut self, packet: Packet, message: &Message<W>, with_data: bool) -> u32 {
        let id = self.packets.insert(packet);
        match self.messages.get_mut(id as usize) {
            Some(HostLine(place)) => place.copy_from(message, with_data),
            None => self.messages.push(HostLine(*message)),
        }
        id
    }

    /// The packet with this number.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &Packet {
        self.packets.get(id)
    }

    /// The packet with this number, mutably.
    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Packet {
        self.packets.get_mut(id)
    }

    /// The message of the packet with this number.
    #[inline]
    pub(super) fn message(&self, id: u32) -> &Message<W> {
        &self.messages[id as usize].0
    }

    /// The message of the packet with this number, mutably.
    #[inline]
    pub(super) fn message_mut(&mut self, id: u32) -> &mut Message<W> {
        &mut self.messages[id as usize].0
    }

    /// Removes a message that is no longer needed.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.packets.remove(id);
    }

    /// Every message in transit.
    pub(super) fn live(&self) -> impl Iterator<Item = &Message<W>> {
        self.packets.live().map(|(id, _)| self.message(id))
    }
}
