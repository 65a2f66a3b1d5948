//! Messages on their way. What moving them needs is kept apart from what they say: it is short, and looked at several times before the message is read.

use chorus_protocol::address::Role;
use chorus_protocol::host_line::HostLine;
use chorus_protocol::message::Message;

use crate::clock::Ticks;
use crate::fabric::Hop;
use crate::slab::Slab;

/// What moving a message needs.
#[derive(Clone, Copy)]
pub(super) struct Flight {
    /// When it began to wait where it is: at the port of its source, or at a bank.
    pub(super) enqueued: Ticks,
    pub(super) flits: u16,
    /// Its length, where it goes between modules.
    pub(super) bytes: u16,
    /// The roles of its source and destination, and which of these roles they are. Banks of an L3 are further banks of the L2 here.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) from: Role,
    pub(super) to: Role,
    pub(super) network: u8,
    /// Where it is on its way between modules; nothing where it goes through a crossbar.
    pub(super) hop: Option<Hop>,
    /// The modules of source and destination, where it goes between modules.
    pub(super) modules: [u8; 2],
    /// From how far it comes: 0 from its own module, 1 from its GPU, 2 from another.
    pub(super) side: u8,
}

/// All messages on their way.
pub(super) struct Flights<const W: usize> {
    flights: Slab<Flight>,
    /// Of each flight, by the same name.
    messages: Vec<HostLine<Message<W>>>,
}

impl<const W: usize> Default for Flights<W> {
    fn default() -> Self {
        Flights { flights: Slab::default(), messages: Vec::new() }
    }
}

impl<const W: usize> Flights<W> {
    /// A message sets out, with its data or without.
    #[inline]
    pub(super) fn insert(&mut self, flight: Flight, message: &Message<W>, with_data: bool) -> u32 {
        let id = self.flights.insert(flight);
        match self.messages.get_mut(id as usize) {
            Some(HostLine(place)) => place.copy_from(message, with_data),
            None => self.messages.push(HostLine(*message)),
        }
        id
    }

    /// How a message moves.
    #[inline]
    pub(super) fn get(&self, id: u32) -> &Flight {
        self.flights.get(id)
    }

    /// How a message moves, to change.
    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Flight {
        self.flights.get_mut(id)
    }

    /// What a message says.
    #[inline]
    pub(super) fn message(&self, id: u32) -> &Message<W> {
        &self.messages[id as usize].0
    }

    /// What a message says, to change.
    #[inline]
    pub(super) fn message_mut(&mut self, id: u32) -> &mut Message<W> {
        &mut self.messages[id as usize].0
    }

    /// A message is no longer needed.
    #[inline]
    pub(super) fn remove(&mut self, id: u32) {
        self.flights.remove(id);
    }

    /// Every message on its way.
    pub(super) fn live(&self) -> impl Iterator<Item = (&Flight, &Message<W>)> {
        self.flights.live().map(|(id, flight)| (flight, self.message(id)))
    }
}
