//! Controllers whose lines are watched: every step is that of the controller inside, and changes of state are noted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chorus_protocol::access::LoadRequest;
use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, PlainState, StateBytes, Time, Unspecified, Vocabulary,
};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::save::{Damaged, Reader};
use chorus_protocol::tally::Tally;

/// The change of a line's state in a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The cache or bank that has the line.
    pub at: AgentId,
    /// The virtual line, where an access has touched it.
    pub line: Option<u64>,
    /// The name of the state before the step.
    pub before: &'static str,
    /// The name of the state after it.
    pub after: &'static str,
}

/// Changes that the recorder has not heard of, with their physical lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Arc<Mutex<Vec<(LineAddr, Change)>>>);

impl Changes {
    pub(crate) fn get(&self) -> MutexGuard<'_, Vec<(LineAddr, Change)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A controller whose lines are watched.
#[derive(Debug)]
pub(crate) struct Watched<const W: usize> {
    pub(crate) at: AgentId,
    pub(crate) inner: Box<dyn Controller<W>>,
    pub(crate) changes: Changes,
}

/// The line that an input concerns.
fn line_of<const W: usize>(input: &Input<'_, W>) -> Option<LineAddr> {
    match input {
        Input::Core(request) => (!request.mask.is_empty()).then_some(request.line),
        Input::Message(message) => Some(message.line),
        Input::Evict(line) | Input::EvictEntry(line) => Some(*line),
        Input::Time(_) => None,
    }
}

impl<const W: usize> PlainState<W> for Watched<W> {
    fn clone_box(&self) -> Box<dyn Controller<W>> {
        let Watched { at, inner, changes } = self;
        Box::new(Watched { at: *at, inner: inner.clone(), changes: changes.clone() })
    }

    fn encode(&self, bytes: &mut StateBytes) {
        self.inner.encode(bytes);
    }

    fn keep_state(&self, to: &mut Vec<u8>) {
        self.inner.keep_state(to);
    }

    fn restore_state(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.inner.restore_state(from)
    }
}

impl<const W: usize> Controller<W> for Watched<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        self.inner.vocabulary()
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        self.inner.classify(input, now)
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        let (line, now) = (line_of(input), out.now);
        let before = line.map(|line| self.inner.view(line, now).state);
        let outcome = self.inner.step(input, out)?;
        if let (Some(line), Some(before)) = (line, before) {
            let after = self.inner.view(line, now).state;
            if after != before {
                let name = |state: u8| self.inner.vocabulary().states[usize::from(state)].name;
                let change = Change { at: self.at, line: None, before: name(before), after: name(after) };
                self.changes.get().push((line, change));
            }
        }
        Ok(outcome)
    }

    fn load_hit(&mut self, load: &LoadRequest, now: Time) -> Option<&LineData<W>> {
        self.inner.load_hit(load, now)
    }

    fn view(&self, line: LineAddr, now: Time) -> LineView<W> {
        self.inner.view(line, now)
    }

    fn evictable(&self, line: LineAddr, now: Time) -> bool {
        self.inner.evictable(line, now)
    }

    fn entry_evictable(&self, line: LineAddr) -> bool {
        self.inner.entry_evictable(line)
    }

    fn quiescent(&self) -> bool {
        self.inner.quiescent()
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        self.inner.position(bank)
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        self.inner.tracker(line)
    }

    fn only_counts(&self, message: &Message<W>) -> bool {
        self.inner.only_counts(message)
    }

    fn tallies(&self) -> &[Tally] {
        self.inner.tallies()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        self.inner.dirty_lines(visit);
    }
}
