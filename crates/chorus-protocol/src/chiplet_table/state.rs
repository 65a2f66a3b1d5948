//! The command processor's knowledge of one data structure in one chiplet's L2 (CPElide paper, section III-B, Figure
//! 6).

use crate::save::{self, Save};

/// The state of a data structure in a chiplet, two bits in the paper's chiplet vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Save)]
pub enum State {
    /// The L2 holds nothing of it.
    #[default]
    NotPresent,
    /// The chiplet has only read it. Its copies are clean and up to date.
    Valid,
    /// The chiplet may have written it. Its copies may hold values that others have not seen.
    Dirty,
    /// Another chiplet has written it since. The copies may be out of date.
    Stale,
}

/// Something that happens to a data structure at a launch, as a chiplet sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// The chiplet will read it.
    LocalRead,
    /// The chiplet may write it.
    LocalWrite,
    /// Another chiplet will read addresses that this one may have.
    RemoteRead,
    /// Another chiplet may write addresses that this one may have.
    RemoteWrite,
    /// The chiplet's whole L2 writes its dirty lines back and keeps them.
    Flush,
    /// The chiplet's whole L2 is emptied. Dirty lines are written back first.
    Invalidate,
}

/// An operation that a chiplet's L2 has to do before a kernel may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub enum Operation {
    /// The L2 is emptied.
    Acquire,
    /// The L2 writes its dirty lines back.
    Release,
}

impl State {
    /// Every state that a data structure can have.
    pub const ALL: [State; 4] = [State::NotPresent, State::Valid, State::Dirty, State::Stale];

    /// The next state, and the operation that has to be done first.
    pub fn after(self, event: Event) -> (State, Option<Operation>) {
        match (self, event) {
            (_, Event::Invalidate) => (State::NotPresent, None),
            (State::NotPresent | State::Valid, Event::LocalRead) => (State::Valid, None),
            (State::NotPresent | State::Valid, Event::LocalWrite) => (State::Dirty, None),
            (State::NotPresent, Event::RemoteRead | Event::RemoteWrite | Event::Flush) => (State::NotPresent, None),
            (State::Valid, Event::RemoteRead | Event::Flush) => (State::Valid, None),
            (State::Valid, Event::RemoteWrite) => (State::Stale, None),
            (State::Dirty, Event::LocalRead | Event::LocalWrite) => (State::Dirty, None),
            (State::Dirty, Event::RemoteRead) => (State::Valid, Some(Operation::Release)),
            (State::Dirty, Event::RemoteWrite) => (State::Stale, Some(Operation::Release)),
            (State::Dirty, Event::Flush) => (State::Valid, None),
            (State::Stale, Event::LocalRead) => (State::Valid, Some(Operation::Acquire)),
            (State::Stale, Event::LocalWrite) => (State::Dirty, Some(Operation::Acquire)),
            (State::Stale, Event::RemoteRead | Event::RemoteWrite | Event::Flush) => (State::Stale, None),
        }
    }
}
