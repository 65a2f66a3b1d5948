//! A shared bank of the scoped protocols: a cache of local and remote lines, and a directory of the lines whose home it
//! is (HMG paper, sections IV and V).
//!
//! A line has a state in each of the two. The directory is in [`home`](super::home), which is the paper's Table I, and
//! drivers see its states and events. The cache is ordinary. Its table is [`ScopedL2::step_line`]: the line is here, or
//! a part of it is, or it is on its way. A request is taken by the cache, whose rows first make room, then let the
//! directory take its part, and change something only after neither has refused.
//!
//! Nothing is acknowledged but releases, so two races are possible. A copy may be on its way when its invalidation
//! arrives, and a store of this module may pass a copy that is on its way. In both cases the miss is *closed*: the copy
//! that arrives answers the loads that wait for it and is not kept, and later loads send requests of their own, behind
//! the store. If an atomic waits for the copy, later loads wait for the atomic instead, since their requests would pass
//! what it is about to write. A sharer that is still recorded for a copy that it dropped costs one useless
//! invalidation, no more.

use crate::access::CoreRequest;
use crate::address::{AgentId, LineAddr};
use crate::cache::CacheArray;
use crate::controller::{
    Classified, Controller, Depth, Input, LineView, Outbox, Outcome, StepResult, Time, Unspecified, Vocabulary,
};
use crate::directory::{Directory, Positions};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::Mshrs;
use crate::protocols::scoped::collect::{Collections, InvalidationChannel};
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::first_touch::FirstTouch;
use crate::protocols::scoped::home::{FOREIGN, HomeEvent, VOCABULARY};
use crate::protocols::scoped::messages::{
    ACQ_DONE, ATOM, ATOM_DATA, DATA, DONE, DOWNGRADE, INV, INV_ASTRAY, INV_REPL, LD, ST,
};
use crate::protocols::scoped::policy::L2Policy;
use crate::protocols::scoped::presence::{Line, Reader, Request, State};
use crate::protocols::scoped::route::{Route, Station};
use crate::protocols::scoped::tallies::Tallies;
use crate::registry::BuildConfig;
use crate::save::{self, Restore};
use crate::tally::Tally;

/// Whether an input was consumed. An error says why it was not.
pub(super) type Taken = Result<(), Outcome>;

/// An event of a line in the bank's cache.
#[derive(Clone, Copy, Debug)]
enum Event<'a, const W: usize> {
    /// A load that may see a copy here.
    Ld(&'a Request<'a, W>),
    /// A load that only a later station may answer.
    WideLd(&'a Request<'a, W>),
    St(&'a Request<'a, W>),
    /// An atomic that is performed here.
    Atom(&'a Request<'a, W>),
    /// An atomic that a later station performs.
    WideAtom(&'a Request<'a, W>),
    /// The line that this bank has asked for.
    Data(&'a Request<'a, W>),
    /// An invalidation of an entry that covers the line, and whether it is due to a write.
    Inv {
        by_store: bool,
    },
    Evict,
}

/// A shared bank with its directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct ScopedL2<D, const W: usize> {
    #[save(built)]
    pub(super) me: AgentId,
    #[save(built)]
    pub(super) memory: AgentId,
    #[save(built)]
    pub(super) policy: L2Policy,
    #[save(built)]
    pub(super) page_lines: u32,
    #[save(built)]
    pub(super) route: Route,
    /// The lines that it has. Those with dirty bytes have a note.
    pub(super) lines: CacheArray<Line, W>,
    /// The readers of a line that is on its way, and the atomic, if any, that waits to be performed on it.
    pub(super) mshrs: Mshrs<Option<Message<W>>, Reader>,
    /// The number of atomics that wait in `mshrs`. Mostly there are none, and then no register has to be looked at.
    pub(super) waiting_atomics: u32,
    pub(super) directory: D,
    pub(super) collections: Collections,
    /// The invalidations on their way to each sharer.
    pub(super) channels: Vec<InvalidationChannel>,
    /// Whether something was stored in another module since a release asked there last, where releases ask only then.
    pub(super) stored_elsewhere: bool,
    /// Homes in other GPUs that wait for the news that the invalidations before a mark have arrived.
    pub(super) unsettled: Vec<AgentId>,
    pub(super) touched: FirstTouch,
    pub(super) tallies: Tallies,
}

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// An empty bank with an empty directory.
    pub fn new(index: u16, config: &BuildConfig, policy: L2Policy) -> Self {
        let topology = config.topology;
        let route = Route::new(index, topology, policy.hierarchy);
        let positions = Positions { count: route.positions(), own: route.own_positions() };
        ScopedL2 {
            me: topology.l2(index),
            memory: topology.memory(index),
            policy,
            page_lines: config.page_lines,
            route,
            lines: CacheArray::new(config.l2.bank_geometry(topology)),
            mshrs: Mshrs::new(config.l2.mshrs),
            waiting_atomics: 0,
            directory: D::new(config, positions),
            collections: Collections::default(),
            channels: vec![InvalidationChannel::default(); usize::from(route.positions())],
            stored_elsewhere: false,
            unsettled: Vec::new(),
            touched: FirstTouch::default(),
            tallies: Tallies::default(),
        }
    }

    pub(super) fn faulty(&self, fault: L2Fault) -> bool {
        self.policy.fault == Some(fault)
    }

    /// The hole in the table for an input that concerns a line and that no bank is ever given.
    #[cold]
    fn hole(&self, line: LineAddr) -> Unspecified {
        VOCABULARY.unspecified(self.entry(line) as usize, usize::from(FOREIGN), line)
    }

    /// Takes an event of a line in the cache: the cache's transition table, row by row.
    /// It is compiled once for each kind of input, with the columns of that kind alone.
    #[inline(always)]
    fn step_line(&mut self, line: LineAddr, state: State, event: Event<'_, W>, out: &mut Outbox<W>) -> StepResult {
        let taken = match (state, event) {
            (State::V(slot), Event::Ld(load)) => self.hit(slot, load, out),
            (State::I, Event::Ld(load) | Event::WideLd(load)) => self.miss(load, out),
            (State::IV(_) | State::IA(Some(_)), Event::Ld(load)) => self.join(load, out),
            (State::IA(None), Event::Ld(load)) if self.faulty(L2Fault::JoinsClosedMiss) => self.join(load, out),
            (State::Part(slot), Event::Ld(load)) => self.refetch(slot, load, out),
            (State::V(slot) | State::Part(slot), Event::WideLd(load)) => self.refetch(slot, load, out),
            (State::II, Event::Ld(load)) => self.pass_load_on(load, out),
            (State::IV(_) | State::II, Event::WideLd(load)) => self.pass_load_on(load, out),

            (State::V(slot) | State::Part(slot), Event::St(store)) => self.store_to_copy(slot, store, out),
            (State::I, Event::St(store)) => self.store_without_copy(store, out),
            (State::IV(slot), Event::St(store)) => self.store_past(Some(slot), store, out),
            (State::II, Event::St(store)) => self.store_past(None, store, out),
            (State::IA(place), Event::St(store)) if self.faulty(L2Fault::StoreOvertakesAtomic) => {
                self.store_past(place, store, out)
            }

            (State::V(slot), Event::Atom(atomic)) => self.atomic_on_copy(slot, atomic, out),
            (State::Part(slot), Event::Atom(atomic)) => self.atomic_on_part(slot, atomic, out),
            (State::I, Event::Atom(atomic)) => self.atomic_without_copy(atomic, out),
            (State::IV(_) | State::II, Event::Atom(_)) => Err(Outcome::Stall),
            (State::V(slot) | State::Part(slot) | State::IV(slot), Event::WideAtom(atomic)) => {
                self.pass_atomic_on(Some(slot), atomic, out)
            }
            (State::I | State::II, Event::WideAtom(atomic)) => self.pass_atomic_on(None, atomic, out),

            // What an atomic is about to write must not be missed by its own thread. Where no place is reserved for its
            // line, the line may be too old for any load that comes now.
            (State::IA(None), Event::Ld(_))
            | (State::IA(_), Event::WideLd(_) | Event::St(_) | Event::Atom(_) | Event::WideAtom(_)) => {
                Err(Outcome::Stall)
            }

            (State::IV(_) | State::II | State::IA(_), Event::Data(answer)) => self.fill(answer, out),

            (State::IV(_) | State::IA(_), Event::Inv { .. }) if self.faulty(L2Fault::InstalledAfterInvalidation) => {
                Ok(())
            }
            (State::V(slot) | State::Part(slot), Event::Inv { by_store }) => self.take_back(slot, by_store, out),
            (State::IV(slot) | State::IA(Some(slot)), Event::Inv { .. }) => self.close(slot),
            (State::I | State::II | State::IA(None), Event::Inv { .. }) => Ok(()),

            (State::V(slot) | State::Part(slot), Event::Evict) => self.evict(slot, out),

            (State::I | State::V(_) | State::Part(_), Event::Data(_))
            | (State::I | State::IV(_) | State::II | State::IA(_), Event::Evict) => return Err(self.hole(line)),
        };
        Ok(outcome(taken))
    }

    #[inline(always)]
    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        match message.kind {
            LD => self.load(message, out),
            DATA | memory::MEM_DATA => self.data(message, out),
            ST => self.store(message, out),
            ATOM => self.atomic(message, out),
            ATOM_DATA => self.pass_atomic_data_on(message, out),
            INV | INV_REPL | INV_ASTRAY => self.invalidated(message, out),
            DOWNGRADE => self.downgraded(message, out),
            MsgKind(_) => match self.sync_event(message) {
                Some(event) => Ok(self.synchronise(event, message, out)),
                None => Err(self.hole(message.line)),
            },
        }
    }

    #[inline(never)]
    fn load(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let load = &self.request(message);
        let is_near = self.may_answer(load.station, message.scope);
        let event = if is_near { Event::Ld(load) } else { Event::WideLd(load) };
        self.step_line(message.line, self.state(message.line), event, out)
    }

    #[inline(never)]
    fn data(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let answer = &self.request(message);
        if message.txn == Self::own_name(answer.station) {
            self.step_line(message.line, self.state_of_miss(message.line), Event::Data(answer), out)
        } else {
            self.pass_data_on(message, out)
        }
    }

    #[inline(never)]
    fn store(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let store = &self.request(message);
        self.step_line(message.line, self.state(message.line), Event::St(store), out)
    }

    #[inline(never)]
    fn atomic(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let atomic = &self.request(message);
        let is_near = self.may_perform(atomic.station, message.scope);
        let event = if is_near { Event::Atom(atomic) } else { Event::WideAtom(atomic) };
        self.step_line(message.line, self.state(message.line), event, out)
    }

    fn downgraded(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let sharer = self.sharer(&self.request(message));
        Ok(outcome(self.step_entry(message.line, HomeEvent::Downgrade(sharer), out)))
    }

    #[inline(always)]
    fn request<'a>(&self, message: &'a Message<W>) -> Request<'a, W> {
        Request { message, station: self.route.station(message.line) }
    }

    /// Takes an invalidation. It concerns the copies of all lines of the entry, and then the entry itself.
    #[inline(never)]
    fn invalidated(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> StepResult {
        let (first, lines) = self.directory.entry_of(message.line);
        let lines = if self.faulty(L2Fault::NeighboursKept) { 1 } else { lines };
        let by_store = message.kind != INV_REPL;
        for line in (first.0..first.0 + u64::from(lines)).map(LineAddr) {
            self.step_line(line, self.state(line), Event::Inv { by_store }, out)?;
        }
        Ok(outcome(self.step_entry(message.line, HomeEvent::Invalidation(message.kind), out)))
    }

    /// Takes an input that is not frequent.
    #[cold]
    fn step_other(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        match input {
            Input::Core(request) if self.command(request, out) => Ok(Outcome::Done),
            Input::Core(CoreRequest { line, .. }) => Err(self.hole(*line)),
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.step_line(*line, self.state(*line), Event::Evict, out),
            Input::EvictEntry(covered) => Ok(outcome(self.step_entry(*covered, HomeEvent::ReplaceDirEntry, out))),
            Input::Time(_) => Ok(Outcome::Done),
        }
    }
}

/// The fate of an input that was taken or refused.
fn outcome(taken: Taken) -> Outcome {
    taken.map_or_else(|refusal| refusal, |()| Outcome::Done)
}

impl<D: Directory, const W: usize> Controller<W> for ScopedL2<D, W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = match input {
            Input::Message(message) => (message.line, self.home_event(&self.request(message))?),
            Input::EvictEntry(covered) => (*covered, HomeEvent::ReplaceDirEntry),
            Input::Core(_) | Input::Evict(_) | Input::Time(_) => return None,
        };
        Some(Classified { line, state: self.entry(line) as u8, event: event.column()? })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> StepResult {
        // Almost all inputs are messages.
        if let Input::Message(message) = input {
            return self.step_message(message, out);
        }
        self.step_other(input, out)
    }

    fn read_ahead(&self, line: LineAddr, depth: Depth) {
        self.lines.read_ahead(line, depth);
        self.mshrs.read_ahead(&self.lines, line, depth);
        self.directory.read_ahead(line, depth);
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, sharers) = (self.entry(line) as u8, self.directory.sharers(line));
        let (State::V(slot) | State::Part(slot)) = self.state(line) else {
            return LineView { state, sharers, ..LineView::default() };
        };
        let Line { valid, dirty, .. } = *self.lines.meta(slot);
        LineView { state, readable: valid, dirty, data: *self.lines.data(slot), sharers }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        matches!(self.state(line), State::V(_) | State::Part(_))
    }

    fn entry_evictable(&self, line: LineAddr) -> bool {
        D::REPLACES_ENTRIES && self.directory.covers(line)
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.collections.is_idle() && self.channels.iter().all(|channel| channel.marks == 0)
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        let tracks = self.policy.coherence.has_directories() && !self.route.is_local(bank) && bank != self.me;
        tracks.then(|| self.route.position(bank))
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        let tracked = self.policy.coherence.has_directories() && self.route.station(line) != Station::Home;
        tracked.then(|| self.route.next(line))
    }

    fn only_counts(&self, message: &Message<W>) -> bool {
        matches!(message.kind, DONE | ACQ_DONE) && self.collections.misses_more_than(message.txn, message.credit)
    }

    fn tallies(&self) -> &[Tally] {
        self.tallies.as_slice()
    }

    fn dirty_lines(&self, visit: &mut dyn FnMut(LineAddr, ByteMask, &LineData<W>)) {
        for slot in self.lines.noted() {
            visit(self.lines.line(slot), self.lines.meta(slot).dirty, self.lines.data(slot));
        }
    }
}
