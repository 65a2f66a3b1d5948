//! The directory of a shared bank: Table I of the HMG paper.
//!
//! A bank tracks the copies of the lines whose home it is, in the system or within its GPU. The entry of a line is
//! Valid or Invalid, and nothing between, since nobody acknowledges invalidations. Only releases wait for them
//! ([`synchronise`](super::synchronise)).
//!
//! There is one column more than in the paper's table. A bank that drops a clean copy may tell the home (section IV-B,
//! cache eviction), which forgets a sharer.

use crate::address::{AgentId, LineAddr, Role};
use crate::controller::{Outbox, Outcome, StateClass, StateSpec, Vocabulary};
use crate::directory::{Directory, Recorded, Stale};
use crate::message::{Message, MsgKind};
use crate::protocols::scoped::collect::InvalidationChannel;
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l2::{ScopedL2, Taken};
use crate::protocols::scoped::messages::{ATOM, INV, INV_ASTRAY, INV_REPL, LD, ST};
use crate::protocols::scoped::presence::Request;
use crate::protocols::scoped::route::Route;
use crate::protocols::scoped::tallies::{GROUPS_BY_REPLACEMENT, REPLACEMENTS, STORES_ON_SHARED};

/// The state of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    I,
    V,
}

/// An event of a directory entry. A sender is named by its position among the sharers. One that keeps no copies has
/// none, and is never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HomeEvent {
    LocalLd,
    LocalStAtom,
    RemoteLd(Option<u16>),
    RemoteStAtom(Option<u16>),
    ReplaceDirEntry,
    /// An invalidation of a home further on, and its kind.
    Invalidation(MsgKind),
    /// A sender no longer holds any of the entry's lines.
    Downgrade(Option<u16>),
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

/// The column of inputs that no bank is ever given. Every state has a hole for them.
pub(super) const FOREIGN: u8 = 6;

impl HomeEvent {
    /// The column of [`VOCABULARY`], for the events that the paper's table has.
    pub(super) fn column(self) -> Option<u8> {
        match self {
            HomeEvent::LocalLd => Some(0),
            HomeEvent::LocalStAtom => Some(1),
            HomeEvent::RemoteLd(_) => Some(2),
            HomeEvent::RemoteStAtom(_) => Some(3),
            HomeEvent::ReplaceDirEntry => Some(4),
            HomeEvent::Invalidation(_) => Some(5),
            HomeEvent::Downgrade(_) => None,
        }
    }
}

impl<D: Directory, const W: usize> ScopedL2<D, W> {
    /// The row of Table I in which a line is.
    pub(super) fn entry(&self, line: LineAddr) -> Entry {
        if self.directory.covers(line) { Entry::V } else { Entry::I }
    }

    /// The column of Table I on which a message falls, if it concerns an entry.
    pub(super) fn home_event(&self, request: &Request<'_, W>) -> Option<HomeEvent> {
        match request.message.kind {
            LD => Some(self.loaded(request)),
            ST | ATOM => Some(self.written(request)),
            INV | INV_REPL | INV_ASTRAY => Some(HomeEvent::Invalidation(request.message.kind)),
            MsgKind(_) => None,
        }
    }

    fn loaded(&self, request: &Request<'_, W>) -> HomeEvent {
        if self.route.is_local(request.message.src) {
            HomeEvent::LocalLd
        } else {
            HomeEvent::RemoteLd(self.sharer(request))
        }
    }

    fn written(&self, request: &Request<'_, W>) -> HomeEvent {
        if self.route.is_local(request.message.src) {
            HomeEvent::LocalStAtom
        } else {
            HomeEvent::RemoteStAtom(self.sharer(request))
        }
    }

    /// The position of another bank among the sharers, if its copies of the line are tracked here.
    pub(super) fn sharer(&self, request: &Request<'_, W>) -> Option<u16> {
        let sender = request.message.src;
        let tracked =
            self.policy.coherence.tracks(request.station) && self.policy.cached.is_kept_by(sender, &self.route);
        tracked.then(|| self.route.position(sender))
    }

    /// Takes a load at the directory.
    #[inline(always)]
    pub(super) fn track_load(&mut self, request: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        // Most loads are local ones. Their column is empty.
        if self.route.is_local(request.message.src) || !self.policy.coherence.tracks(request.station) {
            return Ok(());
        }
        self.step_entry(request.line(), self.loaded(request), out)
    }

    /// Takes a store or an atomic at the directory.
    pub(super) fn track_write(&mut self, request: &Request<'_, W>, out: &mut Outbox<W>) -> Taken {
        if !self.policy.coherence.tracks(request.station) {
            return Ok(());
        }
        self.step_entry(request.line(), self.written(request), out)
    }

    /// Takes an event of the entry that covers a line: Table I of the HMG paper, row by row. The next state follows
    /// from the sharers that are left.
    #[inline(never)]
    pub(super) fn step_entry(&mut self, line: LineAddr, event: HomeEvent, out: &mut Outbox<W>) -> Taken {
        match (self.entry(line), event) {
            (Entry::I | Entry::V, HomeEvent::LocalLd) => {}
            (Entry::I, HomeEvent::LocalStAtom) => {}
            (Entry::V, HomeEvent::LocalStAtom) => self.invalidate_others(line, None, out),
            (Entry::I | Entry::V, HomeEvent::RemoteLd(s)) => self.add(line, s, L2Fault::ForgottenReader, out)?,
            (Entry::I, HomeEvent::RemoteStAtom(s)) => self.add_writer(line, s, out)?,
            (Entry::V, HomeEvent::RemoteStAtom(s)) => {
                self.add_writer(line, s, out)?;
                self.invalidate_others(line, s, out);
            }
            // There is no entry that could be replaced: N/A in the paper.
            (Entry::I, HomeEvent::ReplaceDirEntry) => {}
            (Entry::V, HomeEvent::ReplaceDirEntry) => self.replace_entry(line, out),
            (Entry::I, HomeEvent::Invalidation(_)) => {}
            // Only GPU homes have sharers of other homes' lines, so this happens in HMG only.
            (Entry::V, HomeEvent::Invalidation(kind)) => self.forward_invalidation(line, kind, out),
            (Entry::I, HomeEvent::Downgrade(_)) => {}
            (Entry::V, HomeEvent::Downgrade(s)) => self.forget(line, s),
        }
        if self.faulty(L2Fault::ForgottenRange) && matches!(event, HomeEvent::LocalStAtom | HomeEvent::RemoteStAtom(_))
        {
            self.directory.replace(line, |_| {});
        }
        Ok(())
    }

    /// Adds a sender to the sharers of a line, unless the fault `forgotten` is built in.
    fn add(&mut self, line: LineAddr, sender: Option<u16>, forgotten: L2Fault, out: &mut Outbox<W>) -> Taken {
        let Some(sharer) = sender.filter(|_| !self.faulty(forgotten)) else { return Ok(()) };
        while let Recorded::Full(victim) = self.directory.record(line, sharer) {
            if !out.evicts {
                return Err(Outcome::EvictEntry(victim));
            }
            self.replace_entry(victim, out);
        }
        Ok(())
    }

    /// Adds a sender that writes to the sharers of a line, where writers become sharers.
    fn add_writer(&mut self, line: LineAddr, sender: Option<u16>, out: &mut Outbox<W>) -> Taken {
        let sharer = sender.filter(|_| self.policy.coherence.writers_share());
        self.add(line, sharer, L2Fault::ForgottenWriter, out)
    }

    /// Invalidates the copies of all sharers of a written line but the writer.
    fn invalidate_others(&mut self, line: LineAddr, writer: Option<u16>, out: &mut Outbox<W>) {
        let stale = self.directory.write(line, writer);
        if !stale.sharers.is_empty() {
            self.tallies.add(STORES_ON_SHARED, 1);
        }
        self.invalidate(stale, INV, out);
    }

    /// Passes an invalidation on to all sharers.
    fn forward_invalidation(&mut self, line: LineAddr, kind: MsgKind, out: &mut Outbox<W>) {
        if !self.faulty(L2Fault::InvalidationNotForwarded) {
            let stale = self.directory.write(line, None);
            self.invalidate(stale, kind, out);
        }
    }

    fn invalidate(&mut self, stale: Stale, kind: MsgKind, out: &mut Outbox<W>) {
        take_back(&mut self.channels, &self.route, self.me, self.policy.fault, stale, kind, out);
    }

    /// Forgets the entry that covers a line, and invalidates all copies that it tracks.
    fn replace_entry(&mut self, line: LineAddr, out: &mut Outbox<W>) {
        let ScopedL2 { directory, channels, route, me, policy, tallies, .. } = self;
        if directory.sharers(line).is_empty() || policy.fault == Some(L2Fault::SilentReplacement) {
            directory.replace(line, |_| {});
            return;
        }
        tallies.add(REPLACEMENTS, 1);
        let mut is_first = true;
        directory.replace(line, |stale| {
            tallies.add(GROUPS_BY_REPLACEMENT, 1);
            if std::mem::take(&mut is_first) || policy.fault != Some(L2Fault::FirstOfRange) {
                take_back(channels, route, *me, policy.fault, stale, INV_REPL, out);
            }
        });
    }

    fn forget(&mut self, line: LineAddr, sender: Option<u16>) {
        if let Some(sharer) = sender {
            self.directory.forget(line, sharer);
        }
    }
}

/// Sends an invalidation to all holders of stale copies, in the name of bank `me`.
fn take_back<const W: usize>(
    channels: &mut [InvalidationChannel],
    route: &Route,
    me: AgentId,
    fault: Option<L2Fault>,
    stale: Stale,
    kind: MsgKind,
    out: &mut Outbox<W>,
) {
    let spared = usize::from(fault == Some(L2Fault::SparedSharer));
    let kind = if fault == Some(L2Fault::InvalidationsOvertake) { INV_ASTRAY } else { kind };
    for position in stale.sharers.iter().skip(spared) {
        channels[usize::from(position.0)].unmarked = true;
        out.send(Message::control(kind, stale.first, me, route.sharer(position.0)));
    }
}
