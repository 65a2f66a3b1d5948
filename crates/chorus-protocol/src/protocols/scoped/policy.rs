//! The differences between the scoped protocols, the events that their banks count, and the mistakes that can be built
//! in.

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
    promises: &[Promise::Progress, Promise::MultiCopyAtomicity, Promise::Communication],
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
pub const TRACKING: Declaration = Declaration {
    promises: &[Promise::Tracking, Promise::Progress, Promise::MultiCopyAtomicity, Promise::Communication],
    ..SCOPED
};

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

/// The common part of what the CPElide paper's own protocols declare.
pub const WITH_COMMANDS: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &REMOTE_READ_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    ..SCOPED
};
