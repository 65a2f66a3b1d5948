//! The differences between the scoped protocols, the events that their banks count, and the mistakes that can be built
//! in.

use crate::cache::Replacement;
use crate::directory::DirectoryKind;
use crate::parameter::ParameterSpec;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::messages::{NETWORKS, SOFTWARE_NETWORKS, SOFTWARE_TABLE, TABLE};
use crate::protocols::scoped::route::{Hierarchy, Station};
use crate::registry::{Commands, Counters, Declaration, Delivery, DirectoryShape, MemoryModel, Promise, Reach, Values};
use crate::tally::{Tally, TallySpec};

/// The mechanism that keeps the copies of shared banks coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coherence {
    /// Directories at the homes invalidate copies.
    Directory,
    /// Acquires drop copies that may be stale.
    Acquires,
    /// Nothing keeps copies coherent.
    None,
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

/// A mistake that can be built into a shared bank.
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
    /// A copy that is on its way when its invalidation arrives is kept.
    InstalledAfterInvalidation,
    /// An invalidation drops one line of its entry only.
    NeighboursKept,
    /// A GPU home does not pass invalidations on.
    InvalidationNotForwarded,
    /// An entry is replaced without an invalidation of its sharers.
    SilentReplacement,
    /// A release does not wait for invalidations to arrive.
    ReleaseWithoutMarks,
    /// A release is not sent to other banks.
    ReleaseStaysHere,
    /// A system-wide release does not leave the GPU.
    ReleaseStopsAtGpuHome,
    /// A GPU home does not pass marks on.
    MarkNotForwarded,
    /// A line that is on its way when a store passes is kept.
    PendingStore,
    /// A store does not change the copy here.
    StaleStoreHit,
    /// A store that changes a copy here goes no further.
    LostStore,
    /// A store passes an atomic that waits for its line.
    StoreOvertakesAtomic,
    /// An atomic that is performed at a later station leaves the copy here.
    StaleAtomic,
    /// The result of an atomic at a home is not passed on.
    LostAtomic,
    /// System-wide atomics are performed at GPU homes.
    AtomicsAtGpuHome,
    /// Loads of any scope hit in the first bank.
    WideHit,
    /// Loads of system scope hit in GPU homes.
    GpuHomeAnswersAll,
    /// A write forgets the sharers of all lines of its entry.
    ForgottenRange,
    /// A replaced entry invalidates only the first of its lines.
    FirstOfRange,
    /// An acquire keeps the copies of shared banks.
    AcquireKeepsCopies,
    /// A copy that is on its way when an acquire comes is kept.
    AcquireKeepsMisses,
    /// A system-wide acquire drops the copies of one bank only.
    AcquireOnlyHere,
    /// A command to write back hands nothing on, and lines stay dirty.
    CommandWritesNothing,
    /// A command to write back marks dirty lines clean without handing them on.
    CommandForgetsDirty,
    /// A command to empty a bank drops dirty lines without handing them on.
    CommandLosesDirty,
    /// A command to empty a bank keeps the copies.
    CommandKeepsCopies,
    /// A command is answered before the homes have got the lines that it handed on.
    CommandDoesNotWait,
    /// A command for a page concerns its first line only.
    CommandFirstOfPage,
    /// Stores to another module's memory stay in the bank of the storing module.
    RemoteStoresStay,
}

/// The options in which shared banks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct L2Policy {
    /// Whether requests for other GPUs' memory pass a GPU home.
    pub hierarchy: Hierarchy,
    /// The mechanism that keeps copies coherent.
    pub coherence: Coherence,
    /// The number of lines that a directory entry covers, where the machine does not set it
    /// (`directory.lines_per_entry`). Entries of ranges cover the lines of `directory.range` instead.
    pub lines_per_entry: Option<u32>,
    /// The replacement policy of the directory, where the machine leaves it to the protocol.
    pub replacement: Replacement,
    /// The organisation of directories, where there are any.
    pub directory: DirectoryKind,
    /// The memory of which the bank keeps copies.
    pub cached: Cached,
    /// The stores that stay in the bank.
    pub write_back: WriteBack,
    /// Whether a store takes a place for its bytes in every bank that it passes. Otherwise it only updates copies that
    /// are there.
    pub allocates_stores: bool,
    /// Whether a release also hands lines that stay at their home to memory. Nobody needs them there to see them.
    pub release_cleans_home: bool,
    /// Whether a bank that drops a clean copy tells the home.
    pub downgrades: bool,
    /// Whether an acquire spares lines of the bank's own memory.
    pub acquire_spares_home: bool,
    /// Whether a command processor decides what stays in the bank at the end of a kernel. Then the kernel end that
    /// private caches send has no effect on it.
    pub commanded: bool,
    /// The mistake that is built in, if any.
    pub fault: Option<L2Fault>,
}

impl L2Policy {
    /// The shape of the directory beside each bank, made of the machine's description and this policy.
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

/// The part of a protocol that does not depend on parameters.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The effect of acquires in private caches.
    pub acquire: Acquire,
    /// The options of shared banks.
    pub l2: L2Policy,
}

/// A policy from which others are derived: write-through, everything cached, nothing optional.
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

/// The common part of the declarations of all scoped protocols.
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

/// The common part of the declarations of protocols with directories.
pub const TRACKING: Declaration =
    Declaration { promises: &[Promise::Tracking, Promise::Progress, Promise::Communication], ..SCOPED };

/// The declaration [`TRACKING`] with parameters for options that the HMG paper leaves open.
pub const WITH_DIRECTORIES: Declaration = Declaration { parameters: &DIRECTORY_PARAMETERS, ..TRACKING };

/// The declaration [`WITH_DIRECTORIES`] with a parameter that chooses a directory of ranges.
pub const WITH_RANGES: Declaration = Declaration { parameters: &RANGE_PARAMETERS, ..WITH_DIRECTORIES };

/// The common part of the declarations of software protocols.
pub const WITH_ACQUIRES: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &ACQUIRE_PARAMETERS,
    ..SCOPED
};

/// The parameters of protocols with directories.
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

/// The parameters of protocols whose directories may be those of the REC paper.
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

/// The parameters of the CPElide paper's baseline.
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

/// The common part of the declarations of the CPElide paper's own protocols.
pub const WITH_COMMANDS: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &REMOTE_READ_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    ..SCOPED
};

/// The parameter of the idealised protocol.
pub const IDEAL_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "keeps_private",
    meaning: "whether private caches keep their copies at acquires, too: 0 no, 1 yes",
    source: "1: HMG section VI, caching that does not enforce coherence; 0: only the caching of remote data is idealised",
    default: 1,
    min: 0,
    max: 1,
    explored: 1,
}];

/// The counts of a bank, in the order of [`COMMAND_TALLIES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tallies([Tally; COMMAND_TALLIES.len()]);

const OF_COMMANDS: [TallySpec; 2] = [
    TallySpec { key: "written_back_by_command", meaning: "dirty lines that commands between kernels made L2s hand on" },
    TallySpec { key: "lines_by_command", meaning: "lines that commands between kernels made L2s drop" },
];

/// The events that banks with commands count: those of [`TALLIES`], then those of commands.
pub const COMMAND_TALLIES: [TallySpec; TALLIES.len() + OF_COMMANDS.len()] = {
    let mut all = [OF_COMMANDS[0]; TALLIES.len() + OF_COMMANDS.len()];
    let mut index = 0;
    while index < all.len() {
        all[index] = if index < TALLIES.len() { TALLIES[index] } else { OF_COMMANDS[index - TALLIES.len()] };
        index += 1;
    }
    all
};

/// The events that every bank counts.
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
    /// Index of the stores to lines with sharers, see [`TALLIES`].
    pub const STORES_ON_SHARED: usize = 6;
    /// Index of the replaced directory entries, see [`TALLIES`].
    pub const REPLACEMENTS: usize = 8;
    /// Index of the lines that acquires dropped, see [`TALLIES`].
    pub const LINES_BY_ACQUIRE: usize = 10;
    /// Index of the releases, see [`TALLIES`].
    pub const RELEASES: usize = 11;
    /// Index of the groups of lines that replacements invalidated, see [`TALLIES`].
    pub const GROUPS_BY_REPLACEMENT: usize = 14;
    /// Index of the lines that commands wrote back, see [`COMMAND_TALLIES`].
    pub const WRITTEN_BACK_BY_COMMAND: usize = TALLIES.len();
    /// Index of the lines that commands dropped, see [`COMMAND_TALLIES`].
    pub const LINES_BY_COMMAND: usize = TALLIES.len() + 1;

    /// Adds `amount` to the count at `index`.
    pub fn add(&mut self, index: usize, amount: u64) {
        self.0[index].add(amount);
    }

    /// Counts a load that reaches a bank.
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

    /// Counts an invalidated line if the bank had a copy of it.
    pub fn dropped(&mut self, by_store: bool, dropped: bool) {
        self.add(if by_store { 7 } else { 9 }, u64::from(dropped));
    }

    /// The counts, in the order of [`COMMAND_TALLIES`].
    pub fn as_slice(&self) -> &[Tally] {
        &self.0
    }
}
