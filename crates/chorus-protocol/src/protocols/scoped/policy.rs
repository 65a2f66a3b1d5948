//! The choices in which the scoped protocols differ, as plain values, and the faults that can be built into their banks.

use crate::cache::Replacement;
use crate::directory::DirectoryKind;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::messages::{NETWORKS, SOFTWARE_NETWORKS, SOFTWARE_TABLE, TABLE};
use crate::protocols::scoped::parameters::{
    ACQUIRE_PARAMETERS, DIRECTORY_PARAMETERS, RANGE_PARAMETERS, REMOTE_READ_PARAMETERS,
};
use crate::protocols::scoped::route::Hierarchy;
use crate::protocols::scoped::tallies::{COMMAND_TALLIES, TALLIES};
use crate::registry::{Commands, Counters, Declaration, Delivery, DirectoryShape, MemoryModel, Promise, Reach, Values};

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

/// What the CPElide paper's own protocols declare alike.
pub const WITH_COMMANDS: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &REMOTE_READ_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    ..SCOPED
};
