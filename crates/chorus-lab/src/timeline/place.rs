//! Places where messages wait or pass, as a timeline names them.

use chorus_sim::observe::Cause;

/// A place where messages wait or pass, as a timeline names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    Cache,
    Port,
    Links,
    Queue,
    Directory,
    Bank,
    Channel,
    LastLevel,
    Translation,
}

impl Place {
    /// The place of a cause. Accesses before their caches are shown with their wavefronts.
    pub fn of(cause: Cause) -> Option<Place> {
        match cause {
            Cause::L1Lookup => Some(Place::Cache),
            Cause::NetworkQueue | Cause::Ordering => Some(Place::Port),
            Cause::LinkQueue | Cause::Serialisation | Cause::Network => Some(Place::Links),
            Cause::BankQueue | Cause::BankPort | Cause::BankMemory => Some(Place::Queue),
            Cause::Directory => Some(Place::Directory),
            Cause::BankLookup => Some(Place::Bank),
            Cause::DramQueue | Cause::Dram | Cause::MemoryWay => Some(Place::Channel),
            Cause::L3 => Some(Place::LastLevel),
            Cause::Translation => Some(Place::Translation),
            Cause::L1Queue
            | Cause::L1Busy
            | Cause::L1Port
            | Cause::Page
            | Cause::StoreBuffer
            | Cause::Timer
            | Cause::FencePrice
            | Cause::Boundary
            | Cause::Earlier => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Place::Cache => "cache",
            Place::Port => "port",
            Place::Links => "links",
            Place::Queue => "queue",
            Place::Directory => "directory",
            Place::Bank => "bank",
            Place::Channel => "memory channel",
            Place::LastLevel => "L3",
            Place::Translation => "translation",
        }
    }

    /// The meaning of its counter.
    pub fn counter(self) -> &'static str {
        match self {
            Place::Cache => "lookups",
            Place::Port => "port queue length",
            Place::Links => "messages on links",
            Place::Queue => "queue length",
            Place::Directory => "waiting for the directory",
            Place::Bank => "bank lookups",
            Place::Channel => "reads of memory",
            Place::LastLevel => "in the L3",
            Place::Translation => "translations",
        }
    }
}
