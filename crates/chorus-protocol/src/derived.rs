//! Controllers that are derived from others. A variant of a protocol treats a few inputs differently and leaves the
//! rest to the controller that it is a variant of.
//!
//! [`Derived`] is a controller: a *base*, which is any controller of this crate, and the [`Changes`] that make a
//! variant of it. The changes see every input first. They may pass it on to the base, act before or after it, or take
//! it themselves. What they do not mention stays as it is. Both types are known to the compiler, so a derived
//! controller costs no more than one that is written out.
//!
//! The tutorial `docs/tutorials/write-a-protocol.md` derives a protocol from GPU-VI in this way.
//!
//! Many variants need no changes of this kind, because a family of protocols already differs by a policy of plain
//! values. HMG whose releases hand dirty lines on to memory, not only to their homes, is one:
//!
//! ```
//! use chorus_protocol::prelude::*;
//! use chorus_protocol::protocols::hmg::HMG;
//! use chorus_protocol::protocols::scoped::policy::{L2Policy, Policy, Release};
//! use chorus_protocol::protocols::scoped::protocol::ScopedProtocol;
//!
//! static DECLARATION: Declaration = Declaration { name: "hmg-cleaning", ..*HMG.declaration };
//! static HMG_CLEANING: ScopedProtocol = ScopedProtocol {
//!     declaration: &DECLARATION,
//!     extends: None,
//!     policy: Policy { l2: L2Policy { release: Release::ToMemory, ..HMG.policy.l2 }, ..HMG.policy },
//!     seeds: HMG.seeds,
//! };
//! assert_eq!(HMG_CLEANING.model(), HMG.model());
//! ```

use std::fmt;
use std::hash::Hash;

use crate::access::{LoadRequest, Txn};
use crate::address::{AgentId, LineAddr};
use crate::controller::{
    Classified, Controller, Depth, Input, LineView, Outbox, Outcome, StepResult, Time, Vocabulary,
};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind};
use crate::save::{self, Restore};
use crate::tally::Tally;

/// The ways in which a variant of the controller `B` differs from it. Every method has a default, which leaves `B` as
/// it is.
///
/// The fields of the implementing type are state of the derived controller. Like all such state they are plain data:
/// they are copied, compared and hashed when drivers explore.
pub trait Changes<B: Controller<W>, const W: usize>:
    Clone + fmt::Debug + Hash + Restore + Send + Sync + 'static
{
    /// The messages that the base does not know. [`Changes::receive`] takes them, and each is an event with a column of
    /// its own in the transition table.
    const MESSAGES: &'static [MsgKind] = &[];

    /// The names of states and events, where they are not the base's. Where there are [`Changes::MESSAGES`], they are
    /// the base's with one event appended for each of these messages, in their order ([`crate::rows::appended`]).
    const VOCABULARY: Option<&'static Vocabulary> = None;

    /// Takes one of [`Changes::MESSAGES`]. The default leaves it to the base, whose transition table has a hole there.
    fn receive(&mut self, base: &mut B, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        base.step(&Input::Message(message), out)
    }

    /// Takes any other input, as [`Controller::step`] does. Whatever is not changed is passed on with `base.step(input,
    /// out)`.
    fn step(&mut self, base: &mut B, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        base.step(input, out)
    }

    /// Answers a load as [`Controller::load_hit`] does. The default knows of no hit, so that [`Changes::step`] sees
    /// every load. Changes that leave loads as they are pass them on with `base.load_hit(load, now)`.
    fn load_hit<'a>(&mut self, _base: &'a mut B, _load: &LoadRequest, _now: Time) -> Option<&'a LineData<W>> {
        None
    }

    /// Acts after `line` has left its place in the cache because the driver took it out.
    fn evicted(&mut self, _base: &mut B, _line: LineAddr, _out: &mut Outbox<W>) {}

    /// Whether nothing is outstanding, in the base and in these changes.
    fn quiescent(&self, base: &B) -> bool {
        base.quiescent()
    }
}

/// A controller that behaves as its base does, but for its changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct Derived<B, C> {
    base: B,
    changes: C,
}

impl<B, C> Derived<B, C> {
    /// The variant of `base` that differs by `changes`.
    pub fn new(base: B, changes: C) -> Derived<B, C> {
        Derived { base, changes }
    }

    fn step_once<const W: usize>(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult
    where
        B: Controller<W>,
        C: Changes<B, W>,
    {
        match input {
            Input::Message(message) if C::MESSAGES.contains(&message.kind) => {
                self.changes.receive(&mut self.base, message, out)
            }
            Input::Evict(line) => {
                let outcome = self.changes.step(&mut self.base, input, out)?;
                if outcome == Outcome::Done {
                    self.changes.evicted(&mut self.base, *line, out);
                }
                Ok(outcome)
            }
            Input::Core(_) | Input::Message(_) | Input::EvictEntry(_) | Input::Time(_) => {
                self.changes.step(&mut self.base, input, out)
            }
        }
    }

    /// Takes one input, and first evicts whatever occupies the places that it needs.
    fn step<const W: usize>(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult
    where
        B: Controller<W>,
        C: Changes<B, W>,
    {
        loop {
            let outcome = self.step_once(input, out)?;
            let Some(eviction) = outcome.eviction() else { return Ok(outcome) };
            if self.step_once(&eviction, out)? != Outcome::Done {
                return Ok(Outcome::Stall);
            }
        }
    }
}

impl<const W: usize, B, C> Controller<W> for Derived<B, C>
where
    B: Controller<W> + Clone + Hash + Restore + 'static,
    C: Changes<B, W>,
{
    fn vocabulary(&self) -> &'static Vocabulary {
        C::VOCABULARY.unwrap_or(self.base.vocabulary())
    }

    fn classify(&self, input: &Input<'_, W>, now: Time) -> Option<Classified> {
        if let Input::Message(message) = input
            && let Some(own) = C::MESSAGES.iter().position(|kind| *kind == message.kind)
        {
            let event = (self.base.vocabulary().events.len() + own) as u8;
            return Some(Classified { line: message.line, state: self.base.view(message.line, now).state, event });
        }
        self.base.classify(input, now)
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        // The base never evicts by itself, so that the changes see every line that leaves.
        let evicts = std::mem::take(&mut out.evicts);
        let outcome = if evicts { self.step(input, out) } else { self.step_once(input, out) };
        out.evicts = evicts;
        outcome
    }

    fn load_hit(&mut self, load: &LoadRequest, now: Time) -> Option<&LineData<W>> {
        self.changes.load_hit(&mut self.base, load, now)
    }

    fn read_ahead(&self, line: LineAddr, depth: Depth) {
        self.base.read_ahead(line, depth);
    }

    fn waiting(&self, line: LineAddr) -> Option<Txn> {
        self.base.waiting(line)
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
        self.changes.quiescent(&self.base)
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        self.base.position(bank)
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        self.base.tracker(line)
    }

    fn only_counts(&self, message: &Message<W>) -> bool {
        !C::MESSAGES.contains(&message.kind) && self.base.only_counts(message)
    }

    fn tallies(&self) -> &[Tally] {
        self.base.tallies()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        self.base.dirty_lines(visit);
    }
}
