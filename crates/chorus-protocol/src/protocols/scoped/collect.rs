//! The answers that a bank collects before it answers a release or an acquire (HMG paper, sections IV-B and V-B).
//!
//! A release goes through the bank of its module to every other bank of its scope. It travels behind the stores that it
//! releases, so a bank that gets it has performed them. Only the invalidations that this bank has sent may still be on
//! their way. The bank sends marks behind them. A sharer that gets a mark has carried the invalidations out. With GPU
//! homes the same happens level by level: GPU homes pass a system-wide release on to the system homes, and pass marks
//! of other GPUs on to the modules of their own GPU. Invalidations themselves are never acknowledged.
//!
//! No bank on the way waits. The releasing bank distributes shares of a credit with its requests. A bank that gets a
//! request splits its share among the banks that it asks in turn, and sends the rest straight back to the releasing
//! bank. The release is done when the releasing bank has the whole credit again (Mattern: Global Quiescence Detection
//! Based on Credit Distribution and Recovery, 1989). So a release takes three trips between GPUs (to the home, to its
//! sharers, and back) and no chain of answers.
//!
//! A bank collects for one release of its own module at a time. Releases that arrive meanwhile wait for the next
//! collection, which serves all of them.

use crate::access::{Scope, Txn};
use crate::address::AgentId;
use crate::save::{self, Save};

/// The agent that waits for a collection, and its name for the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub struct Asker {
    /// The private cache, or the bank itself if it got a command.
    pub agent: AgentId,
    /// The agent's name for its operation.
    pub txn: Txn,
}

/// The purpose of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Save)]
pub enum Purpose {
    /// Releases of this module's private caches are waiting.
    Release,
    /// A kernel has ended on this module's private caches.
    KernelEnd,
    /// Acquires of this module's private caches are waiting.
    Acquire,
    /// Commands to this bank are waiting.
    Command,
}

/// The credit of a collection. It is large enough that shares stay above zero for all requests of the largest machine.
pub const WHOLE: u32 = 1 << 30;

/// A collection of answers that is still incomplete.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
pub struct Collection {
    /// The name that the requests carry.
    pub name: Txn,
    /// The purpose of the collection.
    pub purpose: Purpose,
    /// The agents that get the answer.
    pub askers: Vec<Asker>,
    /// The credit that has not come back yet.
    pub missing: u32,
}

/// All collections of a bank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Collections {
    running: Vec<Collection>,
    /// Releases, acquires and commands that wait for the next collection.
    queued: Vec<(Purpose, Scope, Asker)>,
}

impl Collections {
    /// Whether a collection of this module for `purpose` is running.
    pub fn is_running(&self, purpose: Purpose) -> bool {
        self.running.iter().any(|collection| collection.purpose == purpose)
    }

    /// Whether any collection of this module is running.
    pub fn is_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Lets an agent wait for the next collection.
    pub fn queue(&mut self, purpose: Purpose, scope: Scope, asker: Asker) {
        self.queued.push((purpose, scope, asker));
    }

    /// The number of agents that wait for the next collection.
    pub fn queued(&self, purpose: Purpose) -> usize {
        self.queued.iter().filter(|(other, ..)| *other == purpose).count()
    }

    /// Takes the agents that wait for the next collection, and the widest scope among them.
    pub fn take_queued(&mut self, purpose: Purpose) -> Option<(Scope, Vec<Asker>)> {
        let scope = self.queued.iter().filter(|(other, ..)| *other == purpose).map(|(_, scope, _)| *scope).max()?;
        let askers = self.queued.extract_if(.., |(other, ..)| *other == purpose).map(|(.., asker)| asker);
        Some((scope, askers.collect()))
    }

    /// The smallest name that is free.
    pub fn free_name(&self) -> Txn {
        let used = |name: u32| self.running.iter().any(|collection| collection.name == Txn::Operation(name));
        Txn::Operation((0..).find(|&name| !used(name)).unwrap_or(0))
    }

    /// Starts a collection and waits for its credit.
    pub fn start(&mut self, collection: Collection) {
        self.running.push(collection);
    }

    /// Takes credit back. Returns the collection if it is complete now.
    pub fn returned(&mut self, name: Txn, credit: u32) -> Option<Collection> {
        let index = self.running.iter().position(|collection| collection.name == name)?;
        let collection = &mut self.running[index];
        collection.missing -= credit;
        (collection.missing == 0).then(|| self.running.remove(index))
    }

    /// Whether a collection lacks more than `credit`.
    pub fn misses_more_than(&self, name: Txn, credit: u32) -> bool {
        self.running.iter().any(|collection| collection.name == name && collection.missing > credit)
    }

    /// Whether no agent waits for anything.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.queued.is_empty()
    }
}

/// The invalidations and marks that have been sent to a sharer and are not known to have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct InvalidationChannel {
    /// Whether an invalidation was sent after the last mark.
    pub unmarked: bool,
    /// Marks that may still be on their way, to the sharer or to the banks to which it passes them on.
    pub marks: u16,
}

impl InvalidationChannel {
    /// Whether an invalidation may still be on its way.
    pub fn is_open(self) -> bool {
        self.unmarked || self.marks > 0
    }
}
