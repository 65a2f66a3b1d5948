//! What a bank waits for before it answers a release or an acquire (HMG paper, sections IV-B and V-B).
//!
//! A release goes through the bank of its module to every other bank of its scope. It travels behind the stores that it releases, so a bank that gets
//! it has performed them; what is still on its way then are the invalidations that the bank has sent, and marks are sent behind them. Whoever gets a mark has
//! carried them out. With GPU homes the same happens level by level: GPU homes pass a system-wide release on to the system homes, and pass marks of
//! other GPUs on to the modules of their own. Invalidations themselves are never acknowledged.
//!
//! Nobody on the way waits. The releasing bank gives its questions shares of a credit; whoever is asked splits its share among those whom it asks in turn, and sends
//! the rest straight back to the releasing bank, which is done when it has the whole again (Mattern: Global Quiescence Detection Based on Credit
//! Distribution and Recovery, 1989). So a release takes three ways between GPUs, to the home, to its sharers, and back, and no chain of answers.
//!
//! A bank collects for one release of its own module at a time. Those that arrive meanwhile wait for the next collection, which serves all of them.

use crate::access::{Scope, Txn};
use crate::address::AgentId;

/// Who asked, and the name under which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asker {
    /// The private cache, or the bank itself where it got a command.
    pub agent: AgentId,
    /// Its name for what it asked.
    pub txn: Txn,
}

/// What is collected for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Releases of this module's private caches.
    Release,
    /// The end of a kernel on this module's private caches.
    KernelEnd,
    /// Acquires of this module's private caches.
    Acquire,
    /// Commands to this bank.
    Command,
}

/// The credit of a collection. Shares of it stay above zero for as many questions as the largest machine asks.
pub const WHOLE: u32 = 1 << 30;

/// An exchange whose answers are awaited.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collection {
    /// The name that the questions carry.
    pub name: Txn,
    /// What for.
    pub purpose: Purpose,
    /// Who gets the answer.
    pub askers: Vec<Asker>,
    /// Credit that has not come back.
    pub missing: u32,
}

/// All exchanges of a bank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Collections {
    running: Vec<Collection>,
    /// Releases and acquires of this module that wait for the next collection.
    queued: Vec<(Purpose, Scope, Asker)>,
}

impl Collections {
    /// Whether a collection of this module for `purpose` is running.
    pub fn is_running(&self, purpose: Purpose) -> bool {
        self.running.iter().any(|collection| collection.purpose == purpose)
    }

    /// Lets an asker wait for the next collection.
    pub fn queue(&mut self, purpose: Purpose, scope: Scope, asker: Asker) {
        self.queued.push((purpose, scope, asker));
    }

    /// How many wait for the next collection.
    pub fn queued(&self, purpose: Purpose) -> usize {
        self.queued.iter().filter(|(other, ..)| *other == purpose).count()
    }

    /// Those who wait for the next collection, and the widest scope among them.
    pub fn take_queued(&mut self, purpose: Purpose) -> Option<(Scope, Vec<Asker>)> {
        let scope = self.queued.iter().filter(|(other, ..)| *other == purpose).map(|(_, scope, _)| *scope).max()?;
        let askers = self.queued.extract_if(.., |(other, ..)| *other == purpose).map(|(.., asker)| asker);
        Some((scope, askers.collect()))
    }

    /// The least name that is free.
    pub fn free_name(&self) -> Txn {
        let used = |name: u32| self.running.iter().any(|collection| collection.name == Txn(name));
        Txn((0..).find(|&name| !used(name)).unwrap_or(0))
    }

    /// Waits for the credit of a collection.
    pub fn start(&mut self, collection: Collection) {
        self.running.push(collection);
    }

    /// Takes credit back. Returns the collection if it was the last.
    pub fn returned(&mut self, name: Txn, credit: u32) -> Option<Collection> {
        let index = self.running.iter().position(|collection| collection.name == name)?;
        let collection = &mut self.running[index];
        collection.missing -= credit;
        (collection.missing == 0).then(|| self.running.remove(index))
    }

    /// Whether a collection is not complete with `credit`.
    pub fn misses_more_than(&self, name: Txn, credit: u32) -> bool {
        self.running.iter().any(|collection| collection.name == name && collection.missing > credit)
    }

    /// Whether nobody waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.queued.is_empty()
    }
}

/// What has been sent to a sharer and is not known to have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct InvalidationChannel {
    /// Whether an invalidation was sent behind the last mark.
    pub unmarked: bool,
    /// Marks that may still be on their way, to the sharer or to those it passes them on to.
    pub marks: u16,
}

impl InvalidationChannel {
    /// Whether an invalidation may still be on its way.
    pub fn is_open(self) -> bool {
        self.unmarked || self.marks > 0
    }
}
