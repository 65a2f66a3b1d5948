//! The network of a module whose messages share links: they pass the links of their route one after the other.
//!
//! A message reserves all links of its route when it leaves its port. So the links of a route are taken in the order in
//! which messages leave, and a message that waits for a link comes later to the next one.

use super::endpoint::{Entry, Inbox};
use crate::clock::Ticks;
use crate::links::Links;
use crate::mesh::Mesh;

/// The links of a module, and the messages that have left their ports.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    links: Links,
    inbox: Inbox,
}

impl Grid {
    /// The idle links of a mesh.
    pub(super) fn new(mesh: &Mesh) -> Grid {
        Grid { links: mesh.links(), inbox: Inbox::default() }
    }

    /// Adds a message that leaves its port.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) {
        self.inbox.put(entry);
    }

    /// The time at which the first message leaves its port.
    pub(super) fn next(&self) -> Ticks {
        self.inbox.front_time()
    }

    /// Takes the next message that leaves its port before `horizon`.
    #[inline]
    pub(super) fn take(&mut self, horizon: Ticks) -> Option<Entry> {
        self.inbox.take(horizon)
    }

    /// Reserves the links from a controller to another for a message. Returns how long it waits for them.
    #[inline]
    pub(super) fn reserve(&mut self, from: u16, to: u16, entry: &Entry) -> Ticks {
        self.links.take(from, to, entry.time, Ticks::from(entry.length))
    }
}
