//! A protocol that is another one but for a mistake in one cell.
//!
//! Every controller of the protocol is wrapped. A wrapped controller passes everything on. Only where an input falls on
//! the cell does it change the effect of the step. Wrappers have no state of their own, except for operations that were
//! answered too early, so states are encoded as those of the protocol itself.

use std::cell::Cell as ThreadCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use chorus_protocol::access::{Completion, CoreOp, Txn};
use chorus_protocol::address::{AgentId, LineAddr, Role};
use chorus_protocol::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateBytes, StepResult, Time, Unspecified, Vocabulary,
};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::Message;
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Build, BuildConfig, Commands, Declaration, Protocol, Structure};
use chorus_protocol::save::{self, Restore};
use chorus_protocol::tally::Tally;

use super::alter::Surroundings;
use super::operators::{Alteration, Operator};

/// A cell of a transition table, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The role of the controller.
    pub role: Role,
    /// The kind of device that the controller serves, where machines have several kinds.
    pub device: &'static str,
    /// The state of the line, or [`NO_LINE`].
    pub state: &'static str,
    /// The event, by its name in the vocabulary or one of [`LINELESS`].
    pub event: &'static str,
}

/// The state of inputs that concern no line.
pub const NO_LINE: &str = "any";

/// The events of inputs that concern no line.
pub const LINELESS: [&str; 3] = ["Fence", "KernelBegin", "KernelEnd"];

impl Cell {
    /// The cell on which an input falls. Time that passes falls on none.
    pub fn of<const W: usize>(controller: &dyn Controller<W>, input: &Input<'_, W>, now: Time) -> Option<Cell> {
        let vocabulary = controller.vocabulary();
        let cell = |state, event| Cell { role: vocabulary.role, device: vocabulary.device, state, event };
        match (controller.classify(input, now), input) {
            (_, Input::Time(_)) => None,
            (Some(Classified { state, event, .. }), _) => {
                Some(cell(vocabulary.states[usize::from(state)].name, vocabulary.events[usize::from(event)]))
            }
            (None, Input::Core(request)) => lineless(request.op).map(|event| cell(NO_LINE, event)),
            (None, Input::Message(_) | Input::Evict(_) | Input::EvictEntry(_)) => None,
        }
    }
}

fn lineless(op: CoreOp) -> Option<&'static str> {
    match op {
        CoreOp::Fence => Some(LINELESS[0]),
        CoreOp::KernelBegin => Some(LINELESS[1]),
        CoreOp::KernelEnd => Some(LINELESS[2]),
        CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) => None,
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell { role, device, state, event } = self;
        let slash = if device.is_empty() { "" } else { "/" };
        write!(f, "{}{slash}{device}:{state}:{event}", role.name())
    }
}

/// A cell with the mistake in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mutation {
    /// The place of the mistake.
    pub cell: Cell,
    /// The kind of mistake that is made there.
    pub operator: Operator,
}

/// The part that the cell played in a run.
#[derive(Debug, Default)]
pub struct Notes {
    changed: AtomicBool,
    panicked: AtomicBool,
}

impl Notes {
    /// Whether a step in the cell had another effect than it should have.
    pub fn changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Whether a controller panicked.
    pub fn panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }

    /// Forgets everything, for the next run.
    pub fn clear(&self) {
        [&self.changed, &self.panicked].into_iter().for_each(|note| note.store(false, Ordering::Relaxed));
    }
}

/// A protocol with a mistake in one cell.
pub struct MutatedProtocol {
    base: &'static dyn Protocol,
    mutation: Mutation,
    notes: Arc<Notes>,
}

impl MutatedProtocol {
    /// `base` with a mistake. Drivers keep protocols for ever, so this one is never freed: it has a few dozen bytes.
    pub fn leak(base: &'static dyn Protocol, mutation: Mutation) -> &'static MutatedProtocol {
        Box::leak(Box::new(MutatedProtocol { base, mutation, notes: Arc::default() }))
    }

    /// The part that the cell played since the notes were cleared.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }
}

impl Protocol for MutatedProtocol {
    fn declaration(&self) -> &'static Declaration {
        self.base.declaration()
    }

    fn extends(&self) -> Option<&'static dyn Protocol> {
        self.base.extends()
    }

    fn structure(&self) -> Structure {
        self.base.structure()
    }

    fn registered_networks(&self) -> &'static [u8] {
        self.base.registered_networks()
    }

    fn commands(&self, parameters: &Parameters) -> Commands {
        self.base.commands(parameters)
    }

    fn keeps_remote(&self, parameters: &Parameters) -> bool {
        self.base.keeps_remote(parameters)
    }
}

impl<const W: usize> Build<W> for MutatedProtocol
where
    dyn Protocol: Build<W>,
{
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let base = Build::<W>::build(self.base, role, index, config)?;
        Some(Box::new(Mutated::new(base, self.mutation, config, Arc::clone(&self.notes))))
    }
}

/// A controller with a mistake in one cell.
#[derive(Clone, Debug, Restore)]
pub(super) struct Mutated<const W: usize> {
    base: Box<dyn Controller<W>>,
    /// The mistake, if the cell is one of this controller's.
    #[save(built)]
    mutation: Option<Mutation>,
    #[save(built)]
    surroundings: Surroundings,
    /// The operations that were answered too early and are not answered yet by the controller, in ascending order.
    answered: Vec<Txn>,
    #[save(built)]
    notes: Arc<Notes>,
}

impl<const W: usize> Hash for Mutated<W> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = StateBytes::default();
        self.base.encode(&mut bytes);
        state.write(&bytes.0);
        if !self.answered.is_empty() {
            self.answered.hash(state);
        }
    }
}

impl<const W: usize> Mutated<W> {
    pub(super) fn new(
        base: Box<dyn Controller<W>>,
        mutation: Mutation,
        config: &BuildConfig,
        notes: Arc<Notes>,
    ) -> Mutated<W> {
        let vocabulary = base.vocabulary();
        let is_here = (vocabulary.role, vocabulary.device) == (mutation.cell.role, mutation.cell.device);
        Mutated {
            base,
            mutation: is_here.then_some(mutation),
            surroundings: Surroundings::of(config),
            answered: Vec::new(),
            notes,
        }
    }

    /// The operator, if an input falls on the cell.
    fn operator(&self, input: &Input<'_, W>, now: Time) -> Option<Operator> {
        let mutation = self.mutation?;
        (Cell::of(&*self.base, input, now)? == mutation.cell).then_some(mutation.operator)
    }

    fn take(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        let result = match self.operator(input, out.now) {
            None => self.base.step(input, out),
            Some(operator) => self.mistake(operator, input, out),
        };
        if !self.answered.is_empty() {
            self.suppress(operator_of(self.mutation), input, out);
        }
        result
    }

    /// Leaves out completions of operations that were answered too early.
    fn suppress(&mut self, operator: Option<Operator>, input: &Input<'_, W>, out: &mut Outbox<W>) {
        let now_answered = match input {
            Input::Core(request) if operator == Some(Operator::CompleteEarly) => Some(request.txn),
            Input::Core(_) | Input::Message(_) | Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => None,
        };
        let answered = &mut self.answered;
        out.completions.retain(|completion| {
            let known = answered.binary_search(&completion.txn);
            match known {
                Ok(place) if Some(completion.txn) != now_answered => {
                    answered.remove(place);
                    false
                }
                Ok(_) | Err(_) => true,
            }
        });
    }

    /// Takes a step in the cell. Inputs that are refused stay refused.
    fn mistake(&mut self, operator: Operator, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        let before = self.base.clone();
        let wake = out.wake;
        let result = self.base.step(input, out);
        if result != Ok(Outcome::Done) {
            return result;
        }
        let right = (!self.notes.changed()).then(|| (self.base.clone(), out.clone()));
        let old = old_line(&*before, input, out.now);
        let result = self.apply(operator, &*before, &old, input, out);
        if result == Outcome::Stall {
            out.wake = wake;
        }
        if let Some((base, effects)) = right
            && (result != Outcome::Done || effects != *out || !same_state(&*base, &*self.base))
        {
            self.notes.changed.store(true, Ordering::Relaxed);
        }
        Ok(result)
    }

    /// Changes the effects of a step that was taken.
    fn apply(
        &mut self,
        operator: Operator,
        before: &dyn Controller<W>,
        old: &LineData<W>,
        input: &Input<'_, W>,
        out: &mut Outbox<W>,
    ) -> Outcome {
        match operator {
            Operator::Identity => {}
            Operator::Drop(index) => {
                if usize::from(index) < out.messages.len() {
                    out.messages.remove(usize::from(index));
                }
            }
            Operator::Duplicate(index) => {
                if let Some(&message) = out.messages.get(usize::from(index)) {
                    out.messages.insert(usize::from(index), message);
                }
            }
            Operator::Send(index, alteration) => {
                if let Some(message) = out.messages.get_mut(usize::from(index)) {
                    *message = self.surroundings.message(message, alteration, old);
                }
            }
            Operator::KeepState => self.base = before.clone_box(),
            Operator::Remember(alteration) => {
                if let Some((base, _)) = self.instead(before, alteration, old, input, out) {
                    self.base = base;
                }
            }
            Operator::Take(alteration) => {
                if let Some((base, effects)) = self.instead(before, alteration, old, input, out) {
                    (self.base, *out) = (base, effects);
                }
            }
            Operator::Ignore | Operator::Stall => {
                self.base = before.clone_box();
                out.clear();
                if operator == Operator::Stall {
                    return Outcome::Stall;
                }
            }
            Operator::Repeat => self.repeat(input, out),
            Operator::NeverComplete => out.completions.clear(),
            Operator::CompleteTwice => out.completions.extend_from_within(..),
            Operator::CompleteEarly => self.complete_early(old, input, out),
            Operator::OldValue => out.completions.iter_mut().for_each(|completion| completion.data = *old),
            Operator::NoValue => out.completions.iter_mut().for_each(|end| end.data = LineData::default()),
        }
        Outcome::Done
    }

    /// The step that the controller would have taken on an altered input, if it would have taken it.
    fn instead(
        &self,
        before: &dyn Controller<W>,
        alteration: Alteration,
        old: &LineData<W>,
        input: &Input<'_, W>,
        out: &Outbox<W>,
    ) -> Option<(Box<dyn Controller<W>>, Outbox<W>)> {
        let mut base = before.clone_box();
        let mut effects = Outbox { now: out.now, evicts: out.evicts, ..Outbox::default() };
        let result = match *input {
            Input::Message(message) => {
                let altered = self.surroundings.message(message, alteration, old);
                base.step(&Input::Message(&altered), &mut effects)
            }
            Input::Core(request) => {
                let altered = self.surroundings.request(request, alteration, old);
                base.step(&Input::Core(&altered), &mut effects)
            }
            Input::Evict(_) | Input::EvictEntry(_) | Input::Time(_) => return None,
        };
        (result == Ok(Outcome::Done)).then_some((base, effects))
    }

    fn repeat(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) {
        let (mut base, mut effects) = (self.base.clone(), out.clone());
        if base.step(input, &mut effects) == Ok(Outcome::Done) {
            (self.base, *out) = (base, effects);
        }
    }

    fn complete_early(&mut self, old: &LineData<W>, input: &Input<'_, W>, out: &mut Outbox<W>) {
        let Input::Core(request) = input else { return };
        if out.completions.iter().any(|completion| completion.txn == request.txn) {
            return;
        }
        if let Err(place) = self.answered.binary_search(&request.txn) {
            self.answered.insert(place, request.txn);
            out.completions.push(Completion { txn: request.txn, data: *old });
        }
    }
}

fn operator_of(mutation: Option<Mutation>) -> Option<Operator> {
    mutation.map(|mutation| mutation.operator)
}

/// The contents of the line that an input concerns, as a controller shows it.
pub(super) fn old_line<const W: usize>(controller: &dyn Controller<W>, input: &Input<'_, W>, now: Time) -> LineData<W> {
    let line = controller.classify(input, now).map(|class| class.line);
    line.map_or(LineData::default(), |line| controller.view(line, now).data)
}

/// Whether two states of one controller are the same.
pub(super) fn same_state<const W: usize>(one: &dyn Controller<W>, other: &dyn Controller<W>) -> bool {
    let [one, other] = [one, other].map(|controller| {
        let mut bytes = StateBytes::default();
        controller.encode(&mut bytes);
        bytes
    });
    one == other
}

thread_local! {
    /// Whether a panic on this thread is that of a mutant, and nobody's business.
    static QUIET: ThreadCell<bool> = const { ThreadCell::new(false) };
}

/// Runs something that a mutant may make panic. Nothing is printed then, and the answer is `None`.
pub(super) fn without_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let shown = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                shown(panic);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run)).ok();
    QUIET.set(outer);
    result
}

impl<const W: usize> Controller<W> for Mutated<W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        self.base.vocabulary()
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        self.base.classify(input, now)
    }

    /// A controller that panics is stopped like one that has no transition.
    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        let notes = Arc::clone(&self.notes);
        let role = self.base.vocabulary().role;
        without_panic(|| self.take(input, out)).unwrap_or_else(|| {
            notes.panicked.store(true, Ordering::Relaxed);
            Err(Unspecified { role, state: NO_LINE, event: "a panic", line: LineAddr(0) })
        })
    }

    fn view(&self, line: LineAddr, now: Time) -> LineView<W> {
        self.base.view(line, now)
    }

    fn evictable(&self, line: LineAddr, now: Time) -> bool {
        self.base.evictable(line, now)
    }

    fn entry_evictable(&self, line: LineAddr) -> bool {
        self.base.entry_evictable(line)
    }

    fn quiescent(&self) -> bool {
        self.base.quiescent()
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        self.base.position(bank)
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        self.base.tracker(line)
    }

    /// A step that is changed may do more than count.
    fn only_counts(&self, message: &Message<W>) -> bool {
        let in_cell = self.mutation.is_some_and(|mutation| {
            // A message that only counts is about a line, whatever the time is.
            Cell::of(&*self.base, &Input::Message(message), 0) == Some(mutation.cell)
        });
        !in_cell && self.base.only_counts(message)
    }

    fn tallies(&self) -> &[Tally] {
        self.base.tallies()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        self.base.dirty_lines(visit);
    }
}
