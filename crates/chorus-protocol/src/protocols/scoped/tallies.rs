//! The counts that shared banks of scoped protocols keep.

use crate::protocols::scoped::route::Station;
use crate::rows::appended;
use crate::save::{self, Save};
use crate::tally::{Tally, TallyId, TallySpec};

/// The counts of every bank.
pub const TALLIES: [TallySpec; 15] = [
    TallySpec { key: "l2.local_loads", meaning: "loads of a module's own private caches that reach its L2" },
    TallySpec { key: "l2.local_hits", meaning: "of those, the ones that its L2 answers at once" },
    TallySpec { key: "l2.gpu_home_loads", meaning: "loads of other modules that reach a GPU home on their way" },
    TallySpec { key: "l2.gpu_home_hits", meaning: "of those, the ones that the GPU home answers at once" },
    TallySpec { key: "l2.home_loads", meaning: "loads of other modules that reach the home of their line" },
    TallySpec { key: "l2.home_hits", meaning: "of those, the ones that the home answers at once" },
    TallySpec { key: "stores_on_shared", meaning: "stores and atomics that take copies back" },
    TallySpec { key: "lines_by_store", meaning: "copies that stores and atomics of others took back" },
    TallySpec { key: "replacements", meaning: "replaced directory entries that take copies back" },
    TallySpec { key: "lines_by_replacement", meaning: "copies that replaced directory entries took back" },
    TallySpec { key: "lines_by_acquire", meaning: "copies in shared banks that acquires dropped" },
    TallySpec { key: "releases", meaning: "releases that reach a bank from its own module" },
    TallySpec { key: "l2.misses", meaning: "loads that an L2 sends on, without those that wait for one already sent" },
    TallySpec { key: "l2.cold_misses", meaning: "of those, the ones of lines that the L2 asks for for the first time" },
    TallySpec {
        key: "groups_by_replacement",
        meaning: "groups of lines with sharers of their own that replaced directory entries track",
    },
];

const OF_COMMANDS: [TallySpec; 2] = [
    TallySpec { key: "written_back_by_command", meaning: "dirty lines that commands between kernels made L2s hand on" },
    TallySpec { key: "lines_by_command", meaning: "lines that commands between kernels made L2s drop" },
];

/// The counts of banks that get commands between kernels: [`TALLIES`], then those of commands.
pub const COMMAND_TALLIES: [TallySpec; TALLIES.len() + OF_COMMANDS.len()] = appended(&TALLIES, &OF_COMMANDS);

const fn named(key: &str) -> TallyId {
    TallyId::named(&COMMAND_TALLIES, key)
}

const LOCAL_LOADS: TallyId = named("l2.local_loads");
const LOCAL_HITS: TallyId = named("l2.local_hits");
const GPU_HOME_LOADS: TallyId = named("l2.gpu_home_loads");
const GPU_HOME_HITS: TallyId = named("l2.gpu_home_hits");
const HOME_LOADS: TallyId = named("l2.home_loads");
const HOME_HITS: TallyId = named("l2.home_hits");
const LINES_BY_STORE: TallyId = named("lines_by_store");
const LINES_BY_REPLACEMENT: TallyId = named("lines_by_replacement");
const MISSES: TallyId = named("l2.misses");
const COLD_MISSES: TallyId = named("l2.cold_misses");
pub(super) const STORES_ON_SHARED: TallyId = named("stores_on_shared");
pub(super) const REPLACEMENTS: TallyId = named("replacements");
pub(super) const LINES_BY_ACQUIRE: TallyId = named("lines_by_acquire");
pub(super) const RELEASES: TallyId = named("releases");
pub(super) const GROUPS_BY_REPLACEMENT: TallyId = named("groups_by_replacement");
pub(super) const WRITTEN_BACK_BY_COMMAND: TallyId = named("written_back_by_command");
pub(super) const LINES_BY_COMMAND: TallyId = named("lines_by_command");

/// The counts of one bank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Save)]
pub(super) struct Tallies(crate::tally::Tallies<{ COMMAND_TALLIES.len() }>);

impl Tallies {
    pub(super) fn add(&mut self, id: TallyId, amount: u64) {
        self.0.add(id, amount);
    }

    /// Counts a load at a bank. `local` says that it comes from a private cache of the bank's own module.
    pub(super) fn load(&mut self, station: Station, hit: bool, local: bool) {
        let (loads, hits) = match station {
            Station::Local | Station::GpuHome | Station::Home if local => (LOCAL_LOADS, LOCAL_HITS),
            Station::Local | Station::GpuHome => (GPU_HOME_LOADS, GPU_HOME_HITS),
            Station::Home => (HOME_LOADS, HOME_HITS),
        };
        self.add(loads, 1);
        self.add(hits, u64::from(hit));
    }

    /// Counts a load that a bank sends on.
    pub(super) fn miss(&mut self, cold: bool) {
        self.add(MISSES, 1);
        self.add(COLD_MISSES, u64::from(cold));
    }

    /// Counts a copy that an invalidation dropped, if it found one.
    pub(super) fn dropped(&mut self, by_store: bool, dropped: bool) {
        self.add(if by_store { LINES_BY_STORE } else { LINES_BY_REPLACEMENT }, u64::from(dropped));
    }

    pub(super) fn as_slice(&self) -> &[Tally] {
        self.0.as_slice()
    }
}
