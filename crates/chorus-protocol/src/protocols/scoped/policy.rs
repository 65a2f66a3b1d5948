//! What tells the scoped protocols apart, what their banks count, and the mistakes that can be built in.

use crate::cache::Replacement;
use crate::directory::DirectoryKind;
use crate::parameter::ParameterSpec;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::messages::{NETWORKS, SOFTWARE_NETWORKS, SOFTWARE_TABLE, TABLE};
use crate::protocols::scoped::route::{Hierarchy, Station};
use crate::registry::{Commands, Counters, Declaration, Delivery, DirectoryShape, MemoryModel, Promise, Reach, Values};
use crate::tally::{Tally, TallySpec};

/// Who keeps the copies of shared banks coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coherence {
    /// Directories at the homes, which take copies back.
    Directory,
    /// Acquires, which drop them.
    Acquires,
    /// Nobody.
    None,
}

/// Of whose memory a cache keeps copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cached {
    /// Of everybody's.
    Everything,
    /// Of its GPU's.
    ThisGpu,
    /// Of its module's.
    ThisModule,
}

/// Which stores stay in a shared bank until they have to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteBack {
    /// None: every store reaches memory (HMG paper, section VI).
    Never,
    /// Those at the home of their line.
    AtHome,
    /// Those without scope, too, wherever they are; releases hand them on.
    Everywhere,
}

/// A mistake to build in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum L2Fault {
    /// A reader is not recorded.
    ForgottenReader,
    /// A remote writer is not recorded.
    ForgottenWriter,
    /// The first of the sharers keeps its copy.
    SparedSharer,
    /// Invalidations travel on another virtual network than copies.
    InvalidationsOvertake,
    /// An invalidation leaves a copy on its way to be kept.
    InstalledAfterInvalidation,
    /// An invalidation drops one line of its entry only.
    NeighboursKept,
    /// A GPU home does not pass invalidations on.
    InvalidationNotForwarded,
    /// An entry is replaced without a word to its sharers.
    SilentReplacement,
    /// A release does not wait for invalidations to arrive.
    ReleaseWithoutMarks,
    /// A release is not sent to other banks.
    ReleaseStaysHere,
    /// A system-wide release does not leave the GPU.
    ReleaseStopsAtGpuHome,
    /// A GPU home does not pass marks on.
    MarkNotForwarded,
    /// A store to a line on its way leaves it to be kept.
    PendingStore,
    /// A store does not change the copy here.
    StaleStoreHit,
    /// A store that changes a copy here goes no further.
    LostStore,
    /// A store passes an atomic that waits for its line.
    StoreOvertakesAtomic,
    /// An atomic that is performed further on leaves the copy here.
    StaleAtomic,
    /// What an atomic wrote at a home goes no further.
    LostAtomic,
    /// System-wide atomics are performed at GPU homes.
    AtomicsAtGpuHome,
    /// Loads of any scope hit in the first bank.
    WideHit,
    /// Loads of system scope hit in GPU homes.
    GpuHomeAnswersAll,
    /// A write forgets the sharers of all lines of its entry.
    ForgottenRange,
    /// A replaced entry takes back the first of its lines only.
    FirstOfRange,
    /// An acquire keeps the copies of shared banks.
    AcquireKeepsCopies,
    /// An acquire leaves copies on their way to be kept.
    AcquireKeepsMisses,
    /// A system-wide acquire drops the copies of one bank only.
    AcquireOnlyHere,
    /// A command to write back hands nothing on, and lines stay dirty.
    CommandWritesNothing,
    /// A command to write back takes dirty lines for clean without handing them on.
    CommandForgetsDirty,
    /// A command to empty a bank drops dirty lines without handing them on.
    CommandLosesDirty,
    /// A command to empty a bank keeps the copies.
    CommandKeepsCopies,
    /// A command is answered before the homes have what it handed on.
    CommandDoesNotWait,
    /// A command for a page concerns its first line only.
    CommandFirstOfPage,
    /// Stores to other modules' memory stay in the bank of their own.
    RemoteStoresStay,
}

/// How a shared bank behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Policy {
    /// Whether there are GPU homes.
    pub hierarchy: Hierarchy,
    /// Who keeps copies coherent.
    pub coherence: Coherence,
    /// How many lines a directory entry covers, where the machine does not say so (`directory.lines_per_entry`). Entries of ranges cover those of `directory.range`.
    pub lines_per_entry: Option<u32>,
    /// Which directory entry is replaced, where the machine leaves that to the protocol.
    pub replacement: Replacement,
    /// How directories are organised, where there are any.
    pub directory: DirectoryKind,
    /// Of whose memory it keeps copies.
    pub cached: Cached,
    /// Which stores stay.
    pub write_back: WriteBack,
    /// Whether a store takes a place for its bytes wherever it passes, and not only where there is a copy.
    pub allocates_stores: bool,
    /// Whether a release hands what stays at its home to memory, too. Nobody needs it there to see it.
    pub release_cleans_home: bool,
    /// Whether a bank that drops a clean copy says so.
    pub downgrades: bool,
    /// Whether an acquire spares lines of the bank's own memory.
    pub acquire_spares_home: bool,
    /// Whether what is kept at the end of a kernel is up to a command processor, and the end of a kernel in private caches leaves it alone.
    pub commanded: bool,
    /// A mistake to build in.
    pub fault: Option<L2Fault>,
}

impl L2Policy {
    /// The directory beside each bank of a machine that describes it so.
    pub fn shape(&self, shape: DirectoryShape) -> DirectoryShape {
        let lines_per_entry = match self.directory {
            DirectoryKind::Ranges => shape.range_lines,
            DirectoryKind::LineGroups | DirectoryKind::Unbounded => {
                self.lines_per_entry.unwrap_or(shape.lines_per_entry)
            }
        };
        DirectoryShape { lines_per_entry, replacement: shape.replacement.or(Some(self.replacement)), ..shape }
    }
}

/// A protocol, as far as it is not parameters.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// What acquires do.
    pub acquire: Acquire,
    /// Shared banks.
    pub l2: L2Policy,
}

/// A policy to begin with: write-through, everything cached, nothing optional.
pub const PLAIN: L2Policy = L2Policy {
    hierarchy: Hierarchy::Flat,
    coherence: Coherence::Directory,
    lines_per_entry: None,
    replacement: Replacement::Lru,
    directory: DirectoryKind::LineGroups,
    cached: Cached::Everything,
    write_back: WriteBack::Never,
    allocates_stores: false,
    release_cleans_home: false,
    downgrades: false,
    acquire_spares_home: false,
    commanded: false,
    fault: None,
};

/// What the scoped protocols declare alike.
pub const SCOPED: Declaration = Declaration {
    name: "",
    title: "",
    summary: "",
    citation: "",
    model: MemoryModel::Ptx,
    promises: &[Promise::Progress, Promise::Communication],
    virtual_networks: NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    reach: Reach::AnyMachine,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[],
    tallies: &TALLIES,
    messages: &TABLE,
    faults: &[],
};

/// What protocols with directories declare alike.
pub const TRACKING: Declaration =
    Declaration { promises: &[Promise::Tracking, Promise::Progress, Promise::Communication], ..SCOPED };

/// As [`TRACKING`], with options that the HMG paper leaves open.
pub const WITH_DIRECTORIES: Declaration = Declaration { parameters: &DIRECTORY_PARAMETERS, ..TRACKING };

/// As [`WITH_DIRECTORIES`], with a directory of ranges to choose.
pub const WITH_RANGES: Declaration = Declaration { parameters: &RANGE_PARAMETERS, ..WITH_DIRECTORIES };

/// What software protocols declare alike.
pub const WITH_ACQUIRES: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &ACQUIRE_PARAMETERS,
    ..SCOPED
};

/// Parameters of protocols with directories.
const DIRECTORY_PARAMETERS: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "write_back",
        meaning: "stores that stay in an L2: 0 none, 1 those at the home of their line, 2 all without scope",
        source: "0: HMG section VI; 1: REC section 2.2; 2: HMG section IV-B, local stores",
        default: 0,
        min: 0,
        max: 2,
        explored: 0,
    },
    ParameterSpec {
        key: "downgrades",
        meaning: "whether an L2 that drops a clean copy tells the home: 0 no, 1 yes",
        source: "HMG section VI: not implemented; section IV-B, cache eviction, describes it",
        default: 0,
        min: 0,
        max: 1,
        explored: 0,
    },
];

/// Parameters of protocols whose directories may be those of the REC paper.
const RANGE_PARAMETERS: [ParameterSpec; 3] = [
    DIRECTORY_PARAMETERS[0],
    DIRECTORY_PARAMETERS[1],
    ParameterSpec {
        key: "ranges",
        meaning: "directory entries: 0 groups of `directory.lines_per_entry` lines with one set of sharers, 1 ranges of `directory.range` with one for each line",
        source: "0: HMG section VI; 1: REC section 4, which section 6 says can be extended to HMG",
        default: 0,
        min: 0,
        max: 1,
        explored: 0,
    },
];

/// The parameter of the REC paper's baseline.
pub const REMOTE_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "remote_caching",
    meaning: "caches that keep lines of other GPUs' memory: 0 none, 1 private caches, 2 private caches and L2s",
    source: "2: REC section 2.2, the baseline; 0 and 1: REC Figure 1",
    default: 2,
    min: 0,
    max: 2,
    explored: 2,
}];

/// The parameter of software protocols.
const ACQUIRE_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "acquire_spares_home",
    meaning: "whether an acquire keeps the L2's copies of its own memory, which are never stale: 0 no, 1 yes",
    source: "HMG section VI: an acquire invalidates the local L2, without exception",
    default: 0,
    min: 0,
    max: 1,
    explored: 0,
}];

/// Parameters of the CPElide paper's baseline.
pub const BOUNDARY_PARAMETERS: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "boundaries",
        meaning: "what L2s do between kernels: 0 nothing, 1 write back at the end of each and empty at the beginning",
        source: "1: CPElide sections II-C and IV-C; 0: section IV-D, the machine without flush overhead that reuse is measured on",
        default: 1,
        min: 0,
        max: 1,
        explored: 1,
    },
    REMOTE_READ_PARAMETERS[0],
];

/// The parameter of the protocols of the CPElide paper.
pub const REMOTE_READ_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "remote_reads",
    meaning: "whether an L2 keeps the lines of other chiplets' memory that it reads: 0 no, 1 until the next acquire",
    source: "0: CPElide section IV-C, remote requests are forwarded to the home; 1: sections III-B and III-C, where L2s hold what others write",
    default: 0,
    min: 0,
    max: 1,
    explored: 1,
}];

/// The parameter of NHCC with write-back L2s.
pub const ELIDE_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "elide",
    meaning: "when L2s hand dirty lines of other modules' memory to their homes at the latest: 0 when a kernel ends, 1 when the Chiplet Coherence Table asks for it",
    source: "0: HMG sections II-D and IV-B, the end of a kernel is a release; 1: CPElide section VI, on top of HMG",
    default: 0,
    min: 0,
    max: 1,
    explored: 1,
}];

/// What the CPElide paper's own protocols declare alike.
pub const WITH_COMMANDS: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &REMOTE_READ_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    ..SCOPED
};

/// The parameter of the ideal.
pub const IDEAL_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "keeps_private",
    meaning: "whether private caches keep their copies at acquires, too: 0 no, 1 yes",
    source: "1: HMG section VI, caching that does not enforce coherence; 0: only the caching of remote data is idealised",
    default: 1,
    min: 0,
    max: 1,
    explored: 1,
}];

/// What banks count; the order is that of [`COMMAND_TALLIES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tallies([Tally; COMMAND_TALLIES.len()]);

const OF_COMMANDS: [TallySpec; 2] = [
    TallySpec { key: "written_back_by_command", meaning: "dirty lines that commands between kernels made L2s hand on" },
    TallySpec { key: "lines_by_command", meaning: "lines that commands between kernels made L2s drop" },
];

/// What banks count that get commands: those of [`TALLIES`] and then those of commands.
pub const COMMAND_TALLIES: [TallySpec; TALLIES.len() + OF_COMMANDS.len()] = {
    let mut all = [OF_COMMANDS[0]; TALLIES.len() + OF_COMMANDS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = if index < TALLIES.len() { TALLIES[index] } else { OF_COMMANDS[index - TALLIES.len()] };
        index += 1;
    }
    all
};

/// What banks count.
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

impl Tallies {
    /// See [`TALLIES`].
    pub const STORES_ON_SHARED: usize = 6;
    /// See [`TALLIES`].
    pub const REPLACEMENTS: usize = 8;
    /// See [`TALLIES`].
    pub const LINES_BY_ACQUIRE: usize = 10;
    /// See [`TALLIES`].
    pub const RELEASES: usize = 11;
    /// See [`TALLIES`].
    pub const GROUPS_BY_REPLACEMENT: usize = 14;
    /// See [`COMMAND_TALLIES`].
    pub const WRITTEN_BACK_BY_COMMAND: usize = TALLIES.len();
    /// See [`COMMAND_TALLIES`].
    pub const LINES_BY_COMMAND: usize = TALLIES.len() + 1;

    /// Counts `amount` more.
    pub fn add(&mut self, index: usize, amount: u64) {
        self.0[index].add(amount);
    }

    /// Counts a load at a bank.
    pub fn load(&mut self, station: Station, hit: bool, local: bool) {
        let index = match station {
            Station::Local | Station::GpuHome | Station::Home if local => 0,
            Station::Local | Station::GpuHome => 2,
            Station::Home => 4,
        };
        self.add(index, 1);
        self.add(index + 1, u64::from(hit));
    }

    /// Counts a load that a bank sends on.
    pub fn miss(&mut self, cold: bool) {
        self.add(12, 1);
        self.add(13, u64::from(cold));
    }

    /// Counts a copy that an invalidation found or did not find.
    pub fn dropped(&mut self, by_store: bool, dropped: bool) {
        self.add(if by_store { 7 } else { 9 }, u64::from(dropped));
    }

    /// All of them.
    pub fn as_slice(&self) -> &[Tally] {
        &self.0
    }
}
