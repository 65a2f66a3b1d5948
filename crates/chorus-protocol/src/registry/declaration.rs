//! The declaration of a protocol: everything that drivers, lists and pages know about it without running it.

use crate::address::{AgentId, Topology};
use crate::message::MessageSpec;
use crate::parameter::ParameterSpec;
use crate::tally::TallySpec;

/// The memory model that a protocol provides to wavefronts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryModel {
    /// Release consistency with write atomicity: a write becomes visible to everybody at once, and fences order
    /// everything around them.
    WriteAtomicRc,
    /// Release consistency, RCpc, without write atomicity: a write may be seen by some before others, and a fence makes
    /// the wavefront's own writes visible to everybody, not those that it has merely seen.
    Rcpc,
    /// SC for programs without data races, and for others RCpc without write atomicity.
    ScForDrf,
    /// The scoped model of PTX: not write-atomic, and an operation is ordered only for those in its scope.
    Ptx,
    /// Coherence of each location and nothing more: fences do not make another cache's stale copies disappear.
    PerLocation,
}

impl MemoryModel {
    /// The model's name in lists and pages.
    pub fn name(self) -> &'static str {
        match self {
            MemoryModel::WriteAtomicRc => "release consistency, write-atomic",
            MemoryModel::Rcpc => "release consistency (RCpc), not write-atomic",
            MemoryModel::ScForDrf => "SC for data-race-free programs, otherwise release consistency (RCpc)",
            MemoryModel::Ptx => "PTX: scoped, not write-atomic",
            MemoryModel::PerLocation => "per-location coherence only",
        }
    }
}

/// A promise of a protocol beyond its memory model.
///
/// All but the last three are invariants that the exhaustive driver checks. Litmus tests check
/// [`MultiCopyAtomicity`](Promise::MultiCopyAtomicity) and [`ReleaseAtHomes`](Promise::ReleaseAtHomes). The last says
/// what the memory model means for programs. It decides whether a workload is run at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// No readable private copy ever differs from its home: a write is performed only when all other copies are gone.
    SingleWriter,
    /// A private copy that has been written is the only readable one. Any other copy equals its home. Write-backs that
    /// are still on their way count as if they had reached the home.
    SingleOwner,
    /// Every readable private copy is resident at its home, and the home records the cache that has it.
    Inclusion,
    /// Once nothing is in flight, every readable copy in a shared bank is tracked by the directories between it and its
    /// home, and equals what its home holds.
    Tracking,
    /// Once nothing is in flight, every word has one owner. At most one private cache owns it. A word is readable in
    /// the shared cache exactly if no private cache owns it. Copies that writers invalidate equal what the shared cache
    /// holds.
    Ownership,
    /// Once nothing is in flight, loads of system scope find the value written last, whether it was released or not.
    Progress,
    /// All threads see a strong write at the same moment, since strong accesses of a scope meet at one cache, the home
    /// of the line there. The memory model allows more, and litmus tests do not ask for what they would never see.
    MultiCopyAtomicity,
    /// A release ends when its writes are performed at the homes of their lines and nobody has older copies. So a write
    /// that comes behind a released one at its home is behind all that was released with it.
    ReleaseAtHomes,
    /// Writes of one work-group reach others within a kernel. Without this promise, workloads that communicate within a
    /// kernel are refused.
    Communication,
}

/// The description of a deliberate mistake that is built in on request and that the drivers must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FaultSpec {
    /// The name on the command line, lower-case with hyphens.
    pub name: &'static str,
    /// The wrong behaviour of the faulty controller, for pages and lists.
    pub breaks: &'static str,
}

/// The order in which messages may arrive, and the choice that a controller has among those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// Messages between two agents on one virtual network arrive in the order sent. A message that stalls holds up
    /// those behind it.
    InOrder,
    /// Messages may overtake each other. A controller serves any waiting message that it can.
    AnyOrder,
}

/// The machines that a protocol is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Machines of one module with at most [`Sharers::CAPACITY`](crate::sharers::Sharers::CAPACITY) private caches.
    OneModule,
    /// Machines with any number of GPUs and modules.
    AnyMachine,
}

/// The levels of a protocol's caches, and the caches that have translation units between themselves and the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Structure {
    /// Private caches and one shared cache, without translation units.
    TwoLevels,
    /// Private caches with translation units, and one shared cache.
    Translated,
    /// Compute units, whose caches have translation units, share an L2; it and the CPU cores share an L3.
    ThreeLevels,
    /// The levels of [`Structure::ThreeLevels`]. The caches of CPU cores and the L2 have translation units, too; only
    /// the L3 has none.
    ThreeLevelsTranslated,
}

impl Structure {
    /// Adds to a machine of private caches and L2 banks what this structure needs: as many banks of an L3 as the L2
    /// has, and translation units.
    pub fn complete(self, topology: Topology) -> Topology {
        let Topology { l1s, l2s, cpus, .. } = topology;
        let (l3s, first, tus) = match self {
            Structure::TwoLevels => (0, 0, 0),
            Structure::Translated => (0, 0, l1s),
            Structure::ThreeLevels => (l2s, cpus, l1s - cpus),
            Structure::ThreeLevelsTranslated => (l2s, 0, l1s + l2s),
        };
        Topology { l3s, first_translated: AgentId(first), tus, ..topology }
    }

    /// Whether some caches have translation units.
    pub fn is_translated(self) -> bool {
        self != Structure::TwoLevels
    }

    /// Whether private caches and L2 are kept coherent by an L3.
    pub fn has_l3(self) -> bool {
        matches!(self, Structure::ThreeLevels | Structure::ThreeLevelsTranslated)
    }
}

/// The source of the values that loads of a measured run return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Values {
    /// The caches: a load returns what the copy holds, even if the copy is stale.
    Carried,
    /// A functional memory beside the caches, in which every write is visible to everybody at once. The run has the
    /// timing of caches that never invalidate a copy, and the control flow of a correct execution. Only protocols that
    /// are upper bounds declare this.
    Functional,
}

/// The clocks that controllers need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counters {
    /// No clock: the protocol does not depend on time.
    None,
    /// A counter at every controller, all of which show the same time.
    Synchronised,
}

/// The commands that a command processor gives shared banks between two kernels.
///
/// A command reaches a bank as [`Input::Core`](crate::controller::Input::Core). The bank completes the command when it
/// is done.
///
/// - [`CoreOp::KernelEnd`](crate::access::CoreOp::KernelEnd) is a release. The bank hands every dirty line on (at a
///   line's home: to memory) and keeps a clean copy.
/// - [`CoreOp::KernelBegin`](crate::access::CoreOp::KernelBegin) is an acquire. The bank hands dirty lines on, then
///   drops every line. Lines that are on their way to the bank are not kept either.
///
/// A command with an empty mask concerns the whole bank. Any other command concerns the
/// [`page_lines`](super::BuildConfig::page_lines) lines that begin at its line, as far as the bank has them.
///
/// Private caches get the end and the beginning of a kernel, too. Where shared banks get commands, these concern only
/// the private cache and its stores on their way, not what shared banks hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Commands {
    /// There are no commands.
    None,
    /// Every bank releases when a kernel ends and acquires when one begins.
    EveryKernel,
    /// The [Chiplet Coherence Table](crate::chiplet_table) chooses the L2s that release or acquire. Its commands
    /// concern whole L2s.
    Table,
    /// The table chooses the pages that L2s release or acquire.
    TableOfRanges,
}

/// The declaration of a protocol.
///
/// A derived protocol writes the fields that differ and inherits the others: `Declaration { name: "mine",
/// ..gpu_vi::DECLARATION }`.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The name on the command line: the paper's, lower-case with hyphens.
    pub name: &'static str,
    /// The name as the paper spells it.
    pub title: &'static str,
    /// One sentence for lists.
    pub summary: &'static str,
    /// The paper and section that define the protocol.
    pub citation: &'static str,
    /// The memory model that programs may rely on.
    pub model: MemoryModel,
    /// Promises beyond the memory model.
    pub promises: &'static [Promise],
    /// The number of virtual networks that the message table uses.
    pub virtual_networks: u8,
    /// The order of messages that the controllers rely on.
    pub delivery: Delivery,
    /// The clocks that the controllers need.
    pub counters: Counters,
    /// The machines that the protocol is for.
    pub reach: Reach,
    /// The commands that shared banks get between kernels, unless a parameter switches them off.
    pub commands: Commands,
    /// The source of the values that loads of a measured run return.
    pub values: Values,
    /// Numbers that users may set, at most [`PARAMETERS_MAX`](crate::parameter::PARAMETERS_MAX).
    pub parameters: &'static [ParameterSpec],
    /// Counts that controllers keep for statistics. [`Controller::tallies`](crate::controller::Controller::tallies) has
    /// the same order.
    pub tallies: &'static [TallySpec],
    /// The message table. It begins with [`memory::SPECS`](crate::message::memory::SPECS).
    pub messages: &'static [MessageSpec],
    /// Seeded faults, in the order of [`BuildConfig::fault`](super::BuildConfig::fault).
    pub faults: &'static [FaultSpec],
}
