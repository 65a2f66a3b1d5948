//! The differences between the scoped protocols, as a few decisions. Each is a type, and its methods are the only
//! places that ask for it. [`protocol`](super::protocol) makes the decisions of a protocol from its parameters.

use crate::access::Scope;
use crate::address::{AgentId, LineAddr};
use crate::cache::Replacement;
use crate::directory::DirectoryKind;
use crate::protocols::scoped::collect::Purpose;
use crate::protocols::scoped::faults::L2Fault;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::route::{Hierarchy, Route, Station};
use crate::registry::DirectoryShape;

/// Who keeps the copies of shared banks coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coherence {
    /// Directories at the homes invalidate copies.
    Directory(Tracking),
    /// Acquires drop copies that may be stale.
    Acquires(Spared),
    /// Nobody does. Copies may be stale.
    None,
}

/// The directory beside each bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tracking {
    /// The organisation of its entries.
    pub entries: DirectoryKind,
    /// The number of lines that an entry covers, where the machine does not set it (`directory.lines_per_entry`).
    /// Entries of ranges cover the lines of `directory.range` instead.
    pub lines_per_entry: Option<u32>,
    /// The replacement policy of entries, where the machine leaves it to the protocol.
    pub replacement: Replacement,
    /// Whether a bank that drops a clean copy tells the home.
    pub downgrades: bool,
    /// The requests by which a bank becomes a sharer.
    pub sharing: Sharing,
    /// The copies that loads of wide scope may see.
    pub wide_loads: WideLoads,
}

/// The requests of another bank by which it becomes a sharer of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Loads, stores and atomics (HMG paper, Table I).
    LoadsAndWrites,
    /// Loads. A bank that writes to a line without a copy must keep none then.
    Loads,
}

/// The copies that loads of a scope wider than a work-group may see. A copy that an invalidation has not reached yet is
/// older than what its home holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WideLoads {
    /// Loads go to the home for their scope, where all see a strong write at the same moment.
    AtHomes,
    /// Loads see all copies that directories track. Only releases wait until invalidations have arrived.
    Anywhere,
}

/// The lines that an acquire leaves in the bank of its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spared {
    /// The acquire drops every line.
    Nothing,
    /// Lines of the bank's own memory, which are never stale.
    OwnMemory,
}

impl Coherence {
    /// Whether a bank that is this station of a line tracks the copies of others.
    #[inline]
    pub fn tracks(self, station: Station) -> bool {
        station != Station::Local && self.has_directories()
    }

    /// Whether there are directories at all.
    #[inline]
    pub fn has_directories(self) -> bool {
        matches!(self, Coherence::Directory(_))
    }

    /// The first station whose copy an operation of `scope` may see.
    pub fn sees_from(self, scope: Scope, route: &Route) -> Station {
        match self {
            Coherence::Directory(Tracking { wide_loads: WideLoads::AtHomes, .. }) | Coherence::Acquires(_) => {
                route.point_of(scope)
            }
            Coherence::Directory(Tracking { wide_loads: WideLoads::Anywhere, .. }) | Coherence::None => Station::Local,
        }
    }

    /// Whether a bank that drops a clean copy tells the home.
    #[inline]
    pub fn downgrades(self) -> bool {
        matches!(self, Coherence::Directory(Tracking { downgrades: true, .. }))
    }

    /// Whether a bank that writes to a line becomes a sharer of it.
    pub fn writers_share(self) -> bool {
        matches!(self, Coherence::Directory(Tracking { sharing: Sharing::LoadsAndWrites, .. }))
    }

    /// Whether an acquire leaves copies of the bank's own memory where they are.
    pub fn spares_own_memory(self) -> bool {
        self == Coherence::Acquires(Spared::OwnMemory)
    }

    /// The directory beside each bank. It stays empty where nobody records anything.
    pub fn tracking(self) -> Tracking {
        match self {
            Coherence::Directory(tracking) => tracking,
            Coherence::Acquires(_) | Coherence::None => GROUPS,
        }
    }
}

impl Tracking {
    /// The shape of the directory, made of the machine's description and this decision.
    pub fn shape(&self, shape: DirectoryShape) -> DirectoryShape {
        let lines_per_entry = match self.entries {
            DirectoryKind::Ranges => shape.range_lines,
            DirectoryKind::LineGroups | DirectoryKind::Unbounded => {
                self.lines_per_entry.unwrap_or(shape.lines_per_entry)
            }
        };
        DirectoryShape { lines_per_entry, replacement: shape.replacement.or(Some(self.replacement)), ..shape }
    }
}

/// The memory of which a cache keeps copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cached {
    /// The memory of all modules.
    Everything,
    /// The memory of the cache's own GPU.
    ThisGpu,
    /// The memory of the cache's own module.
    ThisModule,
}

impl Cached {
    /// Whether the bank of `route` keeps copies of a line.
    #[inline]
    pub fn keeps(self, line: LineAddr, route: &Route) -> bool {
        match self {
            Cached::Everything => true,
            Cached::ThisGpu => route.is_of_this_gpu(line),
            Cached::ThisModule => route.station(line) == Station::Home,
        }
    }

    /// Whether another bank keeps copies of the memory beside the bank of `route`.
    pub fn is_kept_by(self, bank: AgentId, route: &Route) -> bool {
        match self {
            Cached::Everything => true,
            Cached::ThisGpu => route.is_neighbour(bank),
            Cached::ThisModule => false,
        }
    }

    /// The first station that performs atomics of `scope`. A station that keeps no copy performs none.
    pub fn performs_from(self, scope: Scope, route: &Route) -> Station {
        match self {
            Cached::Everything => route.point_of(scope.max(Scope::Gpu)),
            Cached::ThisGpu | Cached::ThisModule => Station::Home,
        }
    }
}

/// The stores that stay in a shared bank until they have to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteBack {
    /// No store stays: every store reaches memory at once (HMG paper, section VI).
    Never,
    /// Stores at the home of their line stay.
    AtHome,
    /// Stores without scope stay, too, in any bank. Releases hand them on.
    Everywhere,
}

impl WriteBack {
    /// Whether stores of `scope` stay in a bank that is this station of their line.
    #[inline]
    pub fn keeps(self, station: Station, scope: Scope) -> bool {
        match self {
            WriteBack::Never => false,
            WriteBack::AtHome => station == Station::Home,
            WriteBack::Everywhere => station == Station::Home || scope == Scope::WorkGroup,
        }
    }

    /// Whether lines of another home's memory can be dirty in a bank.
    pub fn holds_up_stores(self) -> bool {
        self == WriteBack::Everywhere
    }
}

/// The stores that take a place in a bank that has no copy of their line, besides those that stay there. Others only
/// update copies that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Allocation {
    /// Stores of whole lines at their home.
    WholeLinesAtHome,
    /// All stores, in every bank that they pass.
    All,
}

impl Allocation {
    /// Whether a store takes a place in a bank that is this station of its line.
    #[inline]
    pub fn takes_place(self, station: Station, is_whole: bool) -> bool {
        match self {
            Allocation::WholeLinesAtHome => station == Station::Home && is_whole,
            Allocation::All => true,
        }
    }
}

/// The requests whose lines take a place in the bank that is their home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlacesAtHome {
    /// The home serves the requests of all modules.
    AllModules,
    /// The home serves those of its own module. Others find the copies that are there. What they store goes on to
    /// memory.
    OwnModule,
}

impl PlacesAtHome {
    /// Whether a request takes a place at its home; `is_local` says whether it comes from the home's module.
    #[inline]
    pub fn takes(self, is_local: bool) -> bool {
        match self {
            PlacesAtHome::AllModules => true,
            PlacesAtHome::OwnModule => is_local,
        }
    }
}

/// The place to which a release hands dirty lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Release {
    /// The homes of the lines. Nobody looks behind them.
    ToHomes,
    /// The memory behind the homes.
    ToMemory,
}

/// The other modules that a release of a module asks to take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// All modules of its scope.
    Everybody,
    /// On a machine of two modules, the other one is asked only if something was stored there since it was asked last.
    /// It has nothing else to wait for: the invalidations that are on their way from there concern copies of this
    /// module, which its threads see as they are. Larger machines ask everybody.
    WhereStored,
}

/// Who decides what stays in a bank at the end of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelEnd {
    /// The end of a kernel is a release.
    Releases,
    /// A command processor decides. The kernel end that private caches send hands nothing on.
    Commanded,
}

/// The dirty lines that a bank hands on before it asks others to take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandedOn {
    /// Dirty lines stay where they are.
    Nothing,
    /// Lines of other homes' memory.
    Remote,
    /// Lines of other homes' memory, then those of the bank's own.
    Everything,
}

/// The stores that take a place in a private cache that has no copy of their line. A store always changes a copy that
/// is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrivateStores {
    /// None do: they go on to the shared bank.
    PassBy,
    /// All do, with the bytes that they write, and go on to the shared bank.
    LeaveBytes,
}

/// The decisions of shared banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Policy {
    /// Whether requests for other GPUs' memory pass a GPU home.
    pub hierarchy: Hierarchy,
    /// Who keeps copies coherent.
    pub coherence: Coherence,
    /// The memory of which banks keep copies.
    pub cached: Cached,
    /// The stores that stay in a bank.
    pub write_back: WriteBack,
    /// The other stores that take a place in a bank.
    pub allocation: Allocation,
    /// The requests whose lines take a place at their home.
    pub places_at_home: PlacesAtHome,
    /// The place to which a release hands dirty lines.
    pub release: Release,
    /// The modules that a release asks to take part.
    pub asked: Asked,
    /// Who decides what stays at the end of a kernel.
    pub kernel_end: KernelEnd,
    /// The mistake that is built in, if any.
    pub fault: Option<L2Fault>,
}

impl L2Policy {
    /// The dirty lines that leave when a bank begins to collect answers for `purpose`. A command has handed its lines
    /// on before.
    pub fn handed_on(&self, purpose: Purpose) -> HandedOn {
        match (purpose, self.kernel_end, self.release) {
            (Purpose::Acquire | Purpose::Command, _, _) => HandedOn::Nothing,
            (Purpose::KernelEnd, KernelEnd::Commanded, _) => HandedOn::Nothing,
            (Purpose::Release | Purpose::KernelEnd, _, Release::ToHomes) => HandedOn::Remote,
            (Purpose::Release | Purpose::KernelEnd, _, Release::ToMemory) => HandedOn::Everything,
        }
    }
}

/// The part of a protocol that does not depend on parameters.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The effect of acquires in private caches.
    pub acquire: Acquire,
    /// The stores that take a place in private caches.
    pub stores: PrivateStores,
    /// The decisions of shared banks.
    pub l2: L2Policy,
}

/// The directory of the HMG paper (section VI): entries of several lines.
pub const GROUPS: Tracking = Tracking {
    entries: DirectoryKind::LineGroups,
    lines_per_entry: None,
    replacement: Replacement::Lru,
    downgrades: false,
    sharing: Sharing::LoadsAndWrites,
    wide_loads: WideLoads::AtHomes,
};

/// A policy from which others are derived: write-through, everything cached, nothing optional.
pub const PLAIN: L2Policy = L2Policy {
    hierarchy: Hierarchy::Flat,
    coherence: Coherence::Directory(GROUPS),
    cached: Cached::Everything,
    write_back: WriteBack::Never,
    allocation: Allocation::WholeLinesAtHome,
    places_at_home: PlacesAtHome::AllModules,
    release: Release::ToHomes,
    asked: Asked::Everybody,
    kernel_end: KernelEnd::Releases,
    fault: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Topology;

    const STATIONS: [Station; 3] = [Station::Local, Station::GpuHome, Station::Home];
    const SCOPES: [Scope; 3] = [Scope::WorkGroup, Scope::Gpu, Scope::System];

    fn route(hierarchy: Hierarchy) -> Route {
        Route::new(0, Topology { gpus: 2, gpms: 2, ..Topology::one_gpu(4, 4) }, hierarchy)
    }

    fn sees_from(coherence: Coherence, hierarchy: Hierarchy) -> [Station; 3] {
        SCOPES.map(|scope| coherence.sees_from(scope, &route(hierarchy)))
    }

    /// HMG paper, sections IV-B and V-B: the caches that a load of each scope may hit in.
    #[test]
    fn loads_are_answered_where_the_paper_says() {
        let directory = PLAIN.coherence;
        assert_eq!(sees_from(directory, Hierarchy::Flat), [Station::Local, Station::Home, Station::Home]);
        assert_eq!(sees_from(directory, Hierarchy::GpuHomes), STATIONS);
        assert_eq!(sees_from(Coherence::None, Hierarchy::GpuHomes), [Station::Local; 3]);
        let anywhere = Coherence::Directory(Tracking { wide_loads: WideLoads::Anywhere, ..GROUPS });
        assert_eq!(sees_from(anywhere, Hierarchy::Flat), [Station::Local; 3]);
    }

    /// HMG paper, sections IV-B and V-B: stores of a scope reach the home for it, and others may stay.
    #[test]
    fn stores_stay_where_their_scope_allows_it() {
        let keeps =
            |write_back: WriteBack| STATIONS.map(|station| SCOPES.map(|scope| write_back.keeps(station, scope)));
        let [nowhere, weak, everywhere] = [[false; 3], [true, false, false], [true; 3]];
        assert_eq!(keeps(WriteBack::Never), [nowhere; 3]);
        assert_eq!(keeps(WriteBack::AtHome), [nowhere, nowhere, everywhere]);
        assert_eq!(keeps(WriteBack::Everywhere), [weak, weak, everywhere]);
    }

    #[test]
    fn atomics_of_any_scope_are_performed_at_a_home() {
        let performs = |cached: Cached| SCOPES.map(|scope| cached.performs_from(scope, &route(Hierarchy::GpuHomes)));
        assert_eq!(performs(Cached::Everything), [Station::GpuHome, Station::GpuHome, Station::Home]);
        assert_eq!(performs(Cached::ThisGpu), [Station::Home; 3]);
    }

    #[test]
    fn a_kernel_end_under_a_command_processor_hands_nothing_on() {
        let rec = L2Policy { release: Release::ToMemory, ..PLAIN };
        let commanded = L2Policy { kernel_end: KernelEnd::Commanded, ..rec };
        let handed_on =
            |policy: L2Policy| [Purpose::Release, Purpose::KernelEnd].map(|purpose| policy.handed_on(purpose));
        assert_eq!(handed_on(PLAIN), [HandedOn::Remote; 2]);
        assert_eq!(handed_on(rec), [HandedOn::Everything; 2]);
        assert_eq!(handed_on(commanded), [HandedOn::Everything, HandedOn::Nothing]);
    }
}
