//! Messages in transit within a partition.

use chorus_protocol::host_line::HostLine;
use chorus_protocol::message::Message;
use chorus_protocol::prefetch::prefetch;
use chorus_protocol::save::{self, Save};

use crate::clock::Ticks;
use crate::distribution::Source;

/// Facts about the access that causes messages. Controllers do not know them.
#[derive(Clone, Copy, Debug, Default, Save)]
pub(super) struct AccessFacts {
    /// The parts of an atomic, where they are counted.
    pub(super) parts: u8,
    /// The sectors that a store writes, where banks take time for each.
    pub(super) stored: u8,
    /// The sectors of the line that are fetched, one bit each, where caches fetch by sectors. None where the whole line
    /// is.
    pub(super) sectors: u8,
    /// The farthest place that it has been to.
    pub(super) farthest: Source,
}

/// The route and length of a message in transit. Moving a message needs nothing else.
#[derive(Clone, Copy, Debug, Default, Save)]
pub(super) struct Packet {
    /// The time since which it waits at its destination.
    pub(super) enqueued: Ticks,
    /// How long it waited before the port of a bank, or how long memory took for it: the lowest bits. Only observers
    /// look at it.
    pub(super) waited: u16,
    /// The agent that sent it, and the agent that it goes to.
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) flits: u16,
    /// Its length in bytes.
    pub(super) bytes: u16,
    pub(super) network: u8,
    /// Its origin as its destination sees it: 0 the same module, 1 the same GPU, 2 another GPU.
    pub(super) origin: u8,
    /// Whether its source learns of its consumption.
    pub(super) is_credited: bool,
    /// The access behind it.
    pub(super) facts: AccessFacts,
}

/// A place for a message. A packet and the header of its message lie in one line of the host's caches or in two.
#[derive(Clone, Copy, Save)]
struct Place<const W: usize> {
    packet: Packet,
    message: Message<W>,
}

/// All messages in transit within a partition.
#[derive(Save)]
pub(super) struct Packets<const W: usize> {
    places: Vec<HostLine<Place<W>>>,
    free: Vec<u32>,
}

impl<const W: usize> Default for Packets<W> {
    fn default() -> Self {
        Packets { places: Vec::new(), free: Vec::new() }
    }
}

impl<const W: usize> Packets<W> {
    /// Adds a message. Returns its number.
    #[inline(always)]
    pub(super) fn insert(&mut self, packet: Packet, message: &Message<W>) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| self.add_place(message));
        let HostLine(place) = &mut self.places[id as usize];
        (place.packet, place.message) = (packet, *message);
        id
    }

    /// The number that the next message gets.
    pub(super) fn next(&self) -> u32 {
        self.next_after(0)
    }

    /// The number that a message gets after so many others.
    pub(super) fn next_after(&self, others: usize) -> u32 {
        let place = self.free.len().checked_sub(others + 1);
        place.map_or_else(|| (self.places.len() + others - self.free.len()) as u32, |place| self.free[place])
    }

    #[cold]
    fn add_place(&mut self, message: &Message<W>) -> u32 {
        self.places.push(HostLine(Place { packet: Packet::default(), message: *message }));
        self.places.len() as u32 - 1
    }

    /// The packet with this number.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &Packet {
        &self.places[id as usize].0.packet
    }

    /// Asks the host for a packet and its message.
    #[inline]
    pub(super) fn read_ahead(&self, id: u32) {
        prefetch(&self.places[id as usize]);
    }

    /// The packet with this number, mutably.
    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.places[id as usize].0.packet
    }

    /// The message of the packet with this number.
    #[inline]
    pub(super) fn message(&self, id: u32) -> &Message<W> {
        &self.places[id as usize].0.message
    }

    /// The message of the packet with this number, mutably.
    #[inline]
    pub(super) fn message_mut(&mut self, id: u32) -> &mut Message<W> {
        &mut self.places[id as usize].0.message
    }

    /// Removes a message that is no longer needed. Returns its packet.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) -> Packet {
        self.free.push(id);
        *self.get(id)
    }

    /// Every message in transit.
    pub(super) fn live(&self) -> impl Iterator<Item = &Message<W>> {
        let mut is_free = vec![false; self.places.len()];
        self.free.iter().for_each(|&id| is_free[id as usize] = true);
        self.places.iter().zip(is_free).filter(|(_, is_free)| !is_free).map(|(place, _)| &place.0.message)
    }
}
