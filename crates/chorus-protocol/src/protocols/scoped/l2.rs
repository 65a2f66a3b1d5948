//! A shared bank of the scoped protocols: a cache of local and remote lines, and a directory of the lines whose home it
//! is (HMG paper, sections IV and V).
//!
//! States and events are those of the paper's Table I and belong to the directory entry of a line: Valid or Invalid,
//! and nothing between. The cache beside the directory is ordinary: it holds a copy, or a miss is being served.
//!
//! Nothing is acknowledged but releases, so two races are possible. A copy may be on its way when its invalidation
//! arrives, and a store of this module may pass a copy that is on its way. In both cases the miss is *closed*: the copy
//! that arrives answers the loads that wait for it and is not kept, and later loads send requests of their own, behind
//! the store. A sharer that is still recorded for a copy that it dropped costs one useless invalidation, no more.

use crate::access::{Scope, Txn};
use crate::address::{AgentId, LineAddr, Role};
use crate::cache::{CacheArray, Slot};
use crate::controller::{
    Classified, Controller, Input, LineView, Outbox, Outcome, StateClass, StateSpec, Time, Unspecified, Vocabulary,
};
use crate::directory::{Directory, Positions};
use crate::line::{ByteMask, LineData};
use crate::message::{Message, MsgKind, memory};
use crate::mshr::Mshrs;
use crate::protocols::scoped::collect::{Collections, InvalidationChannel};
use crate::protocols::scoped::first_touch::FirstTouch;
use crate::protocols::scoped::messages::{
    ACQ, ACQ_DONE, ATOM, ATOM_DATA, DATA, DONE, DOWNGRADE, INV, INV_ASTRAY, INV_REPL, LD, MARK, MARK_DONE, REL,
    REL_END, REL_HOME, ST,
};
use crate::protocols::scoped::policy::{Cached, Coherence, L2Fault, L2Policy};
use crate::protocols::scoped::presence::{Line, Presence, Reader};
use crate::protocols::scoped::route::{Route, Station};
use crate::protocols::scoped::tallies::{LINES_BY_ACQUIRE, REPLACEMENTS, Tallies};
use crate::registry::BuildConfig;
use crate::tally::Tally;

/// The state of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    I,
    V,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    LocalLd,
    LocalStAtom,
    RemoteLd,
    RemoteStAtom,
    ReplaceDirEntry,
    Invalidation,
    /// A message that no L2 is ever sent. Every state has a hole for it.
    Foreign,
}

/// The states and events of the bank's transition table.
pub static VOCABULARY: Vocabulary = Vocabulary {
    role: Role::L2,
    device: "",
    states: &[
        StateSpec { name: "I", class: StateClass::Stable, meaning: "nobody but this module may have a copy" },
        StateSpec { name: "V", class: StateClass::Stable, meaning: "the recorded sharers may have copies" },
    ],
    events: &[
        "Local Ld",
        "Local St/Atom",
        "Remote Ld",
        "Remote St/Atom",
        "Replace Dir Entry",
        "Invalidation",
        "Foreign",
    ],
    expiry: None,
};

/// A shared bank with its directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScopedL2<D, const W: usize> {
    pub(super) me: AgentId,
    memory: AgentId,
    pub(super) policy: L2Policy,
    pub(super) page_lines: u32,
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
            unsettled: Vec::new(),
            touched: FirstTouch::default(),
            tallies: Tallies::default(),
        }
    }

    pub(super) fn faulty(&self, fault: L2Fault) -> bool {
        self.policy.fault == Some(fault)
    }

    #[inline(always)]
    pub(super) fn presence(&self, line: LineAddr) -> Presence {
        match self.lines.find_inline(line) {
            Some(slot) if self.lines.meta(slot).pending => Presence::Miss(slot),
            Some(slot) => Presence::Copy(slot),
            None if self.mshrs.find(line).is_some() => Presence::ClosedMiss,
            None => Presence::Absent,
        }
    }

    /// Whether the bank has every byte of the line in a slot.
    pub(super) fn is_whole(&self, slot: Slot) -> bool {
        self.lines.meta(slot).valid == ByteMask::full::<W>()
    }

    /// Whether the bank may keep copies of `line` at all.
    #[inline]
    pub(super) fn may_keep(&self, line: LineAddr) -> bool {
        match self.policy.cached {
            Cached::Everything => true,
            Cached::ThisGpu => self.route.is_of_this_gpu(line),
            Cached::ThisModule => self.route.station(line) == Station::Home,
        }
    }

    /// The name under which this bank requests a line that it will keep. The stations of a line use different names. So
    /// a GPU home can tell the requests that it made for itself from those that it made for others.
    pub(super) fn own_name(station: Station) -> Txn {
        Txn::Bank(station as u8)
    }

    /// Sends a read one station further: to the next station, or to memory.
    pub(super) fn ask(&mut self, station: Station, line: LineAddr, reader: Reader, scope: Scope, out: &mut Outbox<W>) {
        let (kind, to) = match station {
            Station::Home => (memory::FETCH, self.memory),
            Station::Local | Station::GpuHome => (LD, self.route.next(line)),
        };
        let is_cold = self.touched.note(line);
        self.tallies.miss(is_cold);
        let Reader { origin, txn } = reader;
        out.send(Message { origin, txn, scope, ..Message::control(kind, line, self.me, to) });
    }

    /// Hands bytes one station further: to the next station, or to memory.
    pub(super) fn write_through(&self, station: Station, message: Message<W>, out: &mut Outbox<W>) {
        let (kind, dst) = match station {
            Station::Home => (memory::WB, self.memory),
            Station::Local | Station::GpuHome => (ST, self.route.next(message.line)),
        };
        out.send(Message { kind, src: self.me, dst, atomic: None, ..message });
    }

    /// Sets which bytes of a copy the next station does not have.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: Slot, dirty: ByteMask) {
        self.lines.meta_mut(slot).dirty = dirty;
        if dirty.is_empty() {
            self.lines.forget_note(slot);
        } else {
            self.lines.note(slot);
        }
    }

    /// Hands on the bytes of a copy that the next station does not have. They do not count as the store of a particular
    /// thread.
    #[inline]
    pub(super) fn clean(&mut self, line: LineAddr, slot: Slot, out: &mut Outbox<W>) {
        if !self.lines.meta(slot).dirty.is_empty() {
            self.hand_on(line, slot, out);
        }
    }

    /// Hands on the dirty bytes of a copy, as [`ScopedL2::clean`] does.
    #[inline(never)]
    fn hand_on(&mut self, line: LineAddr, slot: Slot, out: &mut Outbox<W>) {
        let mask = self.lines.meta(slot).dirty;
        self.set_dirty(slot, ByteMask::EMPTY);
        let message = Message::control(ST, line, self.me, self.me);
        let message = Message { mask, data: *self.lines.data(slot), ..message };
        self.write_through(self.route.station(line), message, out);
    }

    /// Drops the copy of a line. A copy that is on its way will not be kept. Returns whether there was a copy.
    pub(super) fn drop_line(&mut self, line: LineAddr, out: &mut Outbox<W>) -> bool {
        self.lines.find(line).is_some_and(|slot| self.drop_at(slot, out))
    }

    /// Drops what is in a place, as [`ScopedL2::drop_line`] does.
    pub(super) fn drop_at(&mut self, slot: Slot, out: &mut Outbox<W>) -> bool {
        let is_copy = !self.lines.meta(slot).pending;
        if is_copy {
            self.clean(self.lines.line(slot), slot, out);
        }
        self.lines.remove(slot);
        is_copy
    }

    /// Whether an atomic waits for the line.
    pub(super) fn atomic_waits(&self, line: LineAddr) -> bool {
        self.waiting_atomics > 0 && self.mshrs.get(line).is_some_and(Option::is_some)
    }

    /// The position of a sender among this bank's sharers, if its copies are tracked here.
    pub(super) fn sharer_of(&self, station: Station, sender: AgentId) -> Option<u16> {
        if station == Station::Local || self.route.is_local(sender) || self.policy.coherence != Coherence::Directory {
            return None;
        }
        let keeps = match self.policy.cached {
            Cached::Everything => true,
            Cached::ThisGpu => self.route.is_neighbour(sender),
            Cached::ThisModule => false,
        };
        keeps.then(|| self.route.position(sender))
    }

    /// Takes an invalidation. The copies of the entry's lines are dropped, here and at this bank's own sharers.
    #[inline(never)]
    fn invalidated(&mut self, message: &Message<W>, out: &mut Outbox<W>) {
        let (first, lines) = self.directory.entry_of(message.line);
        let lines = if self.faulty(L2Fault::NeighboursKept) { 1 } else { lines };
        let by_store = message.kind != INV_REPL;
        for line in (first.0..first.0 + u64::from(lines)).map(LineAddr) {
            if self.faulty(L2Fault::InstalledAfterInvalidation) && matches!(self.presence(line), Presence::Miss(_)) {
                continue;
            }
            let dropped = self.drop_line(line, out);
            self.tallies.dropped(by_store, dropped);
        }
        if self.faulty(L2Fault::InvalidationNotForwarded) {
            return;
        }
        let stale = self.directory.write(message.line, None);
        self.invalidate(stale, message.kind, out);
    }

    fn evict(&mut self, line: LineAddr, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match self.presence(line) {
            Presence::Copy(slot) => {
                self.evict_copy(slot, out);
                Ok(Outcome::Done)
            }
            Presence::Absent | Presence::Miss(_) | Presence::ClosedMiss => {
                Err(VOCABULARY.unspecified(self.entry(line) as usize, Event::Foreign as usize, line))
            }
        }
    }

    /// Hands on what is dirty of a copy, and drops it.
    fn evict_copy(&mut self, slot: Slot, out: &mut Outbox<W>) {
        let line = self.lines.line(slot);
        self.clean(line, slot, out);
        self.lines.remove(slot);
        self.downgrade(line, out);
    }

    /// Makes a copy ready to be replaced by another line. It is dropped at once only if others are told.
    #[inline]
    pub(super) fn give_up(&mut self, slot: Slot, out: &mut Outbox<W>) {
        if self.policy.downgrades {
            self.evict_copy(slot, out);
        } else {
            self.clean(self.lines.line(slot), slot, out);
        }
    }

    /// Replaces the directory entry that covers a line, and invalidates the copies that it tracks.
    pub(super) fn evict_entry(&mut self, covered: LineAddr, out: &mut Outbox<W>) {
        if self.directory.sharers(covered).is_empty() || self.faulty(L2Fault::SilentReplacement) {
            self.directory.replace(covered, |_| {});
        } else {
            self.tallies.add(REPLACEMENTS, 1);
            self.replace_entry(covered, INV_REPL, out);
        }
    }

    /// Tells the next station that neither this bank nor its sharers hold any of an entry's lines.
    fn downgrade(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        if !self.policy.downgrades || self.route.station(line) == Station::Home || self.directory.covers(line) {
            return;
        }
        let (first, lines) = self.directory.entry_of(line);
        let mut entry = (first.0..first.0 + u64::from(lines)).map(LineAddr);
        if entry.all(|line| self.presence(line) == Presence::Absent) {
            out.send(Message::control(DOWNGRADE, line, self.me, self.route.next(line)));
        }
    }

    fn downgraded(&mut self, message: &Message<W>) {
        if let Some(sharer) = self.sharer_of(self.route.station(message.line), message.src) {
            self.directory.forget(message.line, sharer);
        }
    }

    /// Drops every copy that may be stale for an acquire. Copies that are on their way will not be kept.
    pub(super) fn drop_for_acquire(&mut self, out: &mut Outbox<W>) {
        if self.faulty(L2Fault::AcquireKeepsCopies) {
            return;
        }
        let spares = self.policy.acquire_spares_home;
        let route = self.route;
        let is_kept = |line: LineAddr, state: &Line| {
            let home = route.station(line) == Station::Home;
            if state.pending { home || self.faulty(L2Fault::AcquireKeepsMisses) } else { home && spares }
        };
        let gone: Vec<LineAddr> =
            self.lines.iter().filter(|(line, state, _)| !is_kept(*line, state)).map(|(line, ..)| line).collect();
        for line in gone {
            let dropped = self.drop_line(line, out);
            self.tallies.add(LINES_BY_ACQUIRE, u64::from(dropped));
        }
    }

    fn event(&self, input: &Input<'_, W>) -> Option<(LineAddr, Event)> {
        match input {
            Input::Message(message) => {
                let local = self.route.is_local(message.src);
                let event = match message.kind {
                    LD if local => Event::LocalLd,
                    LD => Event::RemoteLd,
                    ST | ATOM if local => Event::LocalStAtom,
                    ST | ATOM => Event::RemoteStAtom,
                    INV | INV_REPL | INV_ASTRAY => Event::Invalidation,
                    MsgKind(_) => return None,
                };
                Some((message.line, event))
            }
            Input::EvictEntry(covered) => Some((*covered, Event::ReplaceDirEntry)),
            Input::Core(_) | Input::Evict(_) | Input::Time(_) => None,
        }
    }

    fn step_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        // Reads and their answers are the most frequent messages.
        if message.kind == LD {
            return Ok(self.load(message, out).map_or_else(|reason| reason, |()| Outcome::Done));
        }
        if message.kind == DATA || message.kind == memory::MEM_DATA {
            self.data(message, out);
            return Ok(Outcome::Done);
        }
        self.step_other_message(message, out)
    }

    /// Takes a message that is neither a read nor the answer to one.
    #[inline(never)]
    fn step_other_message(&mut self, message: &Message<W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match message.kind {
            ST => return Ok(self.store(message, out)),
            ATOM => return Ok(self.atomic(message, out)),
            ATOM_DATA => {
                let to = self.route.toward(message.origin, message.line);
                out.send(Message { src: self.me, dst: to, ..*message });
            }
            INV | INV_REPL | INV_ASTRAY => self.invalidated(message, out),
            DOWNGRADE => self.downgraded(message),
            REL => self.release(message, out),
            REL_END => self.kernel_ended(message, out),
            REL_HOME => self.release_at_home(message, out),
            ACQ => self.acquire(message, out),
            MARK => self.marked(message, out),
            DONE | ACQ_DONE => self.returned(message.txn, message.credit, out),
            MARK_DONE => self.mark_answered(message, out),
            MsgKind(_) => {
                return Err(VOCABULARY.unspecified(
                    self.entry(message.line) as usize,
                    Event::Foreign as usize,
                    message.line,
                ));
            }
        }
        Ok(Outcome::Done)
    }

    fn entry(&self, line: LineAddr) -> Entry {
        if self.directory.covers(line) { Entry::V } else { Entry::I }
    }

    /// Takes an input that is not frequent.
    #[cold]
    fn step_other(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        match input {
            Input::Core(request) if self.command(request, out) => Ok(Outcome::Done),
            Input::Core(request) => {
                let state = self.entry(request.line) as usize;
                Err(VOCABULARY.unspecified(state, Event::Foreign as usize, request.line))
            }
            Input::Message(message) => self.step_message(message, out),
            Input::Evict(line) => self.evict(*line, out),
            Input::EvictEntry(covered) => {
                self.evict_entry(*covered, out);
                Ok(Outcome::Done)
            }
            Input::Time(_) => Ok(Outcome::Done),
        }
    }
}

impl<D: Directory, const W: usize> Controller<W> for ScopedL2<D, W> {
    fn vocabulary(&self) -> &'static Vocabulary {
        &VOCABULARY
    }

    fn classify(&self, input: &Input<'_, W>, _: Time) -> Option<Classified> {
        let (line, event) = self.event(input)?;
        Some(Classified { line, state: self.entry(line) as u8, event: event as u8 })
    }

    fn step(&mut self, input: &Input<'_, W>, out: &mut Outbox<W>) -> Result<Outcome, Unspecified> {
        // Almost all inputs are messages.
        if let Input::Message(message) = input {
            return self.step_message(message, out);
        }
        self.step_other(input, out)
    }

    fn view(&self, line: LineAddr, _: Time) -> LineView<W> {
        let (state, sharers) = (self.entry(line) as u8, self.directory.sharers(line));
        let Presence::Copy(slot) = self.presence(line) else {
            return LineView { state, sharers, ..LineView::default() };
        };
        let Line { valid, dirty, .. } = *self.lines.meta(slot);
        LineView { state, readable: valid, dirty, data: *self.lines.data(slot), sharers }
    }

    fn evictable(&self, line: LineAddr, _: Time) -> bool {
        matches!(self.presence(line), Presence::Copy(_))
    }

    fn entry_evictable(&self, line: LineAddr) -> bool {
        D::REPLACES_ENTRIES && self.directory.covers(line)
    }

    fn quiescent(&self) -> bool {
        self.mshrs.is_empty() && self.collections.is_idle() && self.channels.iter().all(|channel| channel.marks == 0)
    }

    fn position(&self, bank: AgentId) -> Option<u16> {
        let tracks = self.policy.coherence == Coherence::Directory && !self.route.is_local(bank) && bank != self.me;
        tracks.then(|| self.route.position(bank))
    }

    fn tracker(&self, line: LineAddr) -> Option<AgentId> {
        let tracked = self.policy.coherence == Coherence::Directory && self.route.station(line) != Station::Home;
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
