//! Causes: the things that the time of an access can go to.

/// The thing that an interval of time went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// Behind other accesses before the private cache.
    L1Queue,
    /// At the head of that queue, while the private cache could not take it: its line was busy or its registers full.
    L1Busy,
    /// At the head of that queue, while too many messages waited at the cache's port.
    L1Port,
    /// Until the host had placed the page.
    Page,
    /// In the store buffer.
    StoreBuffer,
    /// The lookup of the private cache.
    L1Lookup,
    /// Until a message could leave its port: behind others, or for room at its destination.
    NetworkQueue,
    /// Until a link or a port between modules was free.
    LinkQueue,
    /// The flits or bytes of a message, one after the other.
    Serialisation,
    /// The latency of networks and links.
    Network,
    /// Messages in order behind an earlier one of the same virtual network.
    Ordering,
    /// The lookup of a translation unit.
    Translation,
    /// In the queue before a bank or a cache.
    BankQueue,
    /// In that queue, while too many messages waited at the bank's port.
    BankPort,
    /// In that queue, while the way to memory had no room.
    BankMemory,
    /// At a directory, while another transaction had the line.
    Directory,
    /// The lookup of the tags and the data of a shared bank.
    BankLookup,
    /// On the way to a memory-side L3, in it, and back.
    L3,
    /// In the queue of a memory channel.
    DramQueue,
    /// The latency of the memory and its bus.
    Dram,
    /// The way between a bank and its memory controller.
    MemoryWay,
    /// Until a moment that a cache waited for, such as the end of a lease.
    Timer,
    /// The price of a fence beyond what it waited for.
    FencePrice,
    /// The beginning or the end of a kernel.
    Boundary,
    /// Things before this that were in the way of another access.
    Earlier,
}

impl Cause {
    /// All of them, in the order in which an access meets them.
    pub const ALL: [Cause; 25] = [
        Cause::L1Queue,
        Cause::L1Busy,
        Cause::L1Port,
        Cause::Page,
        Cause::StoreBuffer,
        Cause::L1Lookup,
        Cause::NetworkQueue,
        Cause::LinkQueue,
        Cause::Serialisation,
        Cause::Network,
        Cause::Ordering,
        Cause::Translation,
        Cause::BankQueue,
        Cause::BankPort,
        Cause::BankMemory,
        Cause::Directory,
        Cause::BankLookup,
        Cause::L3,
        Cause::DramQueue,
        Cause::Dram,
        Cause::MemoryWay,
        Cause::Timer,
        Cause::FencePrice,
        Cause::Boundary,
        Cause::Earlier,
    ];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Cause::L1Queue => "L1 queue",
            Cause::L1Busy => "L1 busy",
            Cause::L1Port => "L1 port full",
            Cause::Page => "page placement",
            Cause::StoreBuffer => "store buffer",
            Cause::L1Lookup => "L1 lookup",
            Cause::NetworkQueue => "network queue",
            Cause::LinkQueue => "link queue",
            Cause::Serialisation => "serialisation",
            Cause::Network => "network latency",
            Cause::Ordering => "message order",
            Cause::Translation => "translation unit",
            Cause::BankQueue => "bank queue",
            Cause::BankPort => "bank port full",
            Cause::BankMemory => "memory way full",
            Cause::Directory => "directory wait",
            Cause::BankLookup => "bank lookup",
            Cause::L3 => "L3",
            Cause::DramQueue => "DRAM queue",
            Cause::Dram => "DRAM",
            Cause::MemoryWay => "way to memory",
            Cause::Timer => "lease or timer",
            Cause::FencePrice => "fence price",
            Cause::Boundary => "kernel boundary",
            Cause::Earlier => "earlier work",
        }
    }

    /// Its name for programs, as keys of JSON have it.
    pub fn key(self) -> String {
        self.name().to_lowercase().replace(' ', "_")
    }
}
