//! The common part of translation units that hold no data of their own: the interface towards drivers.

use std::fmt;
use std::hash::Hash;

use crate::address::LineAddr;
use crate::controller::{Classified, Controller, Input, LineView, Outbox, Outcome, Time, Unspecified, Vocabulary};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::save::Restore;

/// A translation unit that holds no data.
pub trait Unit<const W: usize>: Clone + Eq + Hash + fmt::Debug + Restore + Send + Sync + 'static {
    /// The names that states and events index.
    const VOCABULARY: &'static Vocabulary;

    /// The state of a line, as an index into the vocabulary.
    fn state(&self, line: LineAddr) -> u8;

    /// The event of a message, as an index into the vocabulary.
    fn event(kind: MsgKind) -> u8;

    /// Takes a message. Returns `None` where the table has a hole.
    fn take(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Option<Outcome>;

    /// Whether no request is outstanding.
    fn is_idle(&self) -> bool;
}

impl<const W: usize, U: Unit<W>> Controller<W> for U {
    fn vocabulary(&self) -> &'static Vocabulary {
        U::VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let Input::Message(message) = input else { return None };
        Some(Classified { line: message.line, state: self.state(message.line), event: U::event(message.kind) })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let Input::Message(message) = input else { return Ok(Outcome::Done) };
        self.take(message, out).ok_or_else(|| {
            let (state, event) = (self.state(message.line), U::event(message.kind));
            U::VOCABULARY.unspecified(usize::from(state), usize::from(event), message.line)
        })
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        LineView { state: self.state(line), ..LineView::default() }
    }

    fn evictable(&self, _: LineAddr, _: Time) -> bool {
        false
    }

    fn quiescent(&self) -> bool {
        self.is_idle()
    }

    fn dirty_lines(&self, _: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {}
}
