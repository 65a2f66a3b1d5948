//! Controllers between L2 and L3, where both levels speak Spandex (hierarchical Spandex).
//!
//! They send the same messages as the controllers in front of the L2, on virtual networks of their own. The reason is
//! that an answer of the L3 makes an L2 answer its devices. On a common network the first answer would wait for room
//! for the second.

use crate::address::{AgentId, LineAddr};
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::Message;
use crate::protocols::spandex::messages::{lowered, raised};
use crate::save::{self, Restore};
use crate::tally::Tally;

/// A controller whose messages on the network are those between L2 and L3.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct Upper<C>(pub C);

fn plain<const W: usize>(message: &Message<W>) -> Message<W> {
    Message { kind: lowered(message.kind), ..*message }
}

impl<const W: usize, C: Controller<W> + Clone + std::hash::Hash + Restore + 'static> Controller<W> for Upper<C> {
    fn vocabulary(&self) -> &'static Vocabulary {
        self.0.vocabulary()
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        match input {
            Input::Message(message) => self.0.classify(&Input::Message(&plain(message)), now),
            Input::Core(_) | Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => self.0.classify(input, now),
        }
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let before = out.messages.len();
        let outcome = match input {
            Input::Message(message) => self.0.step(&Input::Message(&plain(message)), out),
            Input::Core(_) | Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => self.0.step(input, out),
        };
        for message in &mut out.messages[before..] {
            message.kind = raised(message.kind);
        }
        outcome
    }

    fn view(&self, line: LineAddr, now: Time) -> LineView<W> {
        self.0.view(line, now)
    }

    fn evictable(&self, line: LineAddr, now: Time) -> bool {
        self.0.evictable(line, now)
    }

    fn entry_evictable(&self, line: LineAddr) -> bool {
        self.0.entry_evictable(line)
    }

    fn quiescent(&self) -> bool {
        self.0.quiescent()
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        self.0.position(bank)
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        self.0.tracker(line)
    }

    fn only_counts(&self, message: &Message<W>) -> bool {
        self.0.only_counts(&plain(message))
    }

    fn tallies(&self) -> &[Tally] {
        self.0.tallies()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        self.0.dirty_lines(visit);
    }
}
