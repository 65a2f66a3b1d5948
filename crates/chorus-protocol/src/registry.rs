//! What a protocol declares about itself, and the list of all protocols.

use crate::address::{AgentId, Role, Topology};
use crate::cache::{Geometry, Replacement};
use crate::controller::Controller;
use crate::message::MessageSpec;
use crate::parameter::{ParameterSpec, Parameters};
use crate::protocols::{
    cpelide, cpelide_range, dir, dir_hmg, dir_ideal, gpu_vi, gpu_vini, hmg, ideal, ideal_coh, mesi, nhcc, nhcc_wb,
    nhcc_wt, no_coh, no_l1, no_remote, rec, spandex, sw_flat, sw_hier, tc, viper_chiplet,
};
use crate::read_only::ReadOnlyLines;
use crate::tally::TallySpec;

/// The memory model that a protocol provides to wavefronts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryModel {
    /// Release consistency with write atomicity: a write becomes visible to everybody at once, and fences order everything
    /// around them.
    WriteAtomicRc,
    /// Release consistency, RCpc, without write atomicity: a write may be seen by some before others, and a fence makes the
    /// wavefront's own writes visible to everybody, not those that it has merely seen.
    Rcpc,
    /// SC for programs without data races, and for others RCpc without write atomicity.
    ScForDrf,
    /// The scoped model of PTX: not write-atomic, and an operation is ordered only for those in its scope.
    Ptx,
    /// Coherence of each location and nothing more: fences do not make another cache's stale copies disappear.
    PerLocation,
}

impl MemoryModel {
    /// A name for people.
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

/// What a protocol promises beyond its memory model. All but the last are invariants that the exhaustive driver checks; the last is what
/// its memory model means for programs, which decides whether a workload is run at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Promise {
    /// No readable private copy ever differs from its home: a write is performed only when all other copies are gone.
    SingleWriter,
    /// A private copy that has been written is the only readable one, and any other equals its home, counting what private caches have
    /// given up and is still on its way there.
    SingleOwner,
    /// Every readable private copy is resident at its home, which knows of it.
    Inclusion,
    /// Once nothing is in flight, every readable copy in a shared bank is tracked by the directories between it and its home, and equals what its
    /// home holds.
    Tracking,
    /// Once nothing is in flight, every word has one owner: at most one private cache owns it, exactly the words that some cache owns are not readable in
    /// the shared cache that it asks, and copies that writers invalidate equal what that cache holds.
    Ownership,
    /// Once nothing is in flight, loads of system scope find what was written last, released or not.
    Progress,
    /// Writes of one work-group reach others within a kernel; without it a workload that communicates so is refused.
    Communication,
}

/// A deliberate mistake, built in on request, that the drivers must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FaultSpec {
    /// Kebab-case name.
    pub name: &'static str,
    /// What the faulty controller does.
    pub breaks: &'static str,
}

impl FaultSpec {
    /// A row of a list of faults.
    pub const fn new(name: &'static str, breaks: &'static str) -> FaultSpec {
        FaultSpec { name, breaks }
    }
}

/// Size and policy of one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheShape {
    /// Number of sets.
    pub sets: u32,
    /// Associativity.
    pub ways: u32,
    /// Lines that may have requests outstanding.
    pub mshrs: u32,
    /// Replacement policy.
    pub replacement: Replacement,
}

impl CacheShape {
    /// The array of a cache that gets every `interleave`-th line.
    pub fn geometry(&self, interleave: u16) -> Geometry {
        let CacheShape { sets, ways, replacement, .. } = *self;
        Geometry { sets, ways, interleave: u32::from(interleave), block: 1, replacement }
    }

    /// The array of one bank of a module.
    pub fn bank_geometry(&self, topology: Topology) -> Geometry {
        Geometry { block: topology.interleave, ..self.geometry(topology.banks_per_module()) }
    }
}

/// Size and policy of the directory beside one shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryShape {
    /// Number of sets.
    pub sets: u32,
    /// Associativity.
    pub ways: u32,
    /// Lines that one entry covers, for protocols that leave that to the machine.
    pub lines_per_entry: u32,
    /// Lines that one entry covers, for protocols that tell the lines of a range apart.
    pub range_lines: u32,
    /// Replacement policy, unless it is left to the protocol.
    pub replacement: Option<Replacement>,
}

impl DirectoryShape {
    /// The smallest directory, for machines on which nothing is remote.
    pub const SMALLEST: DirectoryShape =
        DirectoryShape { sets: 1, ways: 1, lines_per_entry: 1, range_lines: 1, replacement: None };
}

/// What a protocol needs to know to build its controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BuildConfig {
    /// The agents.
    pub topology: Topology,
    /// Each private cache.
    pub l1: CacheShape,
    /// Each shared bank.
    pub l2: CacheShape,
    /// Each bank of a coherent L3, where there is one.
    pub l3: CacheShape,
    /// The directory beside each shared bank, for protocols that have one.
    pub directory: DirectoryShape,
    /// Lines of a page: what a command to a shared bank that names a line concerns, see [`Commands`].
    pub page_lines: u32,
    /// Wavefront slots beside each private cache.
    pub waves: u16,
    /// Whether the program contains fences (TC paper, section 6.4: lifetimes are predicted differently then).
    pub fences: bool,
    /// The lines that the program says nobody writes.
    pub read_only: ReadOnlyLines,
    /// The values of [`Protocol::parameters`].
    pub parameters: Parameters,
    /// A fault to build in, as an index into [`Protocol::faults`].
    pub fault: Option<u8>,
}

/// In which order messages may arrive, and which of those that have arrived a controller takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delivery {
    /// Messages between two agents on one virtual network arrive in the order sent, and one that stalls holds up those behind it.
    InOrder,
    /// Messages may overtake each other, and controllers pick one that they can serve from the pool of those that wait.
    AnyOrder,
}

/// How far a protocol reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Private caches and shared banks of one module, of which it tells [`Sharers::CAPACITY`](crate::sharers::Sharers::CAPACITY) caches apart.
    OneModule,
    /// Any number of GPUs and modules.
    AnyMachine,
}

/// How the caches of a protocol are stacked, and which of them have translation units between themselves and the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Structure {
    /// Private caches and one shared cache, without translation units.
    TwoLevels,
    /// Private caches with translation units, and one shared cache.
    Translated,
    /// Compute units, whose caches have translation units, share an L2; it and the CPU cores share an L3.
    ThreeLevels,
    /// As that, and all caches have translation units but the L3.
    ThreeLevelsTranslated,
}

impl Structure {
    /// The machine with what this structure adds to its private caches and banks: as many banks of an L3 as the L2 has, and translation units.
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

    /// Whether there are translation units.
    pub fn is_translated(self) -> bool {
        self != Structure::TwoLevels
    }

    /// Whether there is a coherent L3.
    pub fn has_l3(self) -> bool {
        matches!(self, Structure::ThreeLevels | Structure::ThreeLevelsTranslated)
    }
}

/// What the values of a measured run are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Values {
    /// Those that the caches hold: a stale copy is read as stale.
    Carried,
    /// Those that coherent caches would hold, at once and for free, whatever the copies are: the time of a machine that never makes a
    /// copy invalid, with the control flow of a right execution. Only upper bounds declare this.
    Decreed,
}

/// Whether controllers need to know the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counters {
    /// They do not.
    None,
    /// Counters at all of them show the same time.
    Synchronised,
}

/// What a command processor has shared banks do between two kernels.
///
/// A command reaches a bank as [`Input::Core`](crate::controller::Input::Core). [`CoreOp::KernelEnd`](crate::access::CoreOp::KernelEnd) is a release: every dirty line is handed
/// on, to memory at its home, and stays as a clean copy. [`CoreOp::KernelBegin`](crate::access::CoreOp::KernelBegin) is an acquire: dirty lines are handed on first, then every line is dropped, and what is
/// on its way is not kept. With an empty mask it concerns the whole bank, otherwise what the bank has of the [`BuildConfig::page_lines`] lines that begin at the line. The bank
/// completes the command when it is done.
///
/// The end and the beginning of a kernel at private caches concern them and the stores on their way, where there are commands, and nothing that shared banks keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Commands {
    /// Nothing.
    None,
    /// Every bank releases when a kernel ends and acquires when one begins.
    EveryKernel,
    /// What the [Chiplet Coherence Table](crate::chiplet_table) asks for, of whole L2s.
    Table,
    /// What the table asks for, page by page.
    TableOfRanges,
}

/// Builds controllers for lines of `W` words.
pub trait Build<const W: usize> {
    /// The controller number `index` of `role`, if the protocol has controllers of that role.
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>>;
}

/// What a protocol says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// The name on the command line: the paper's, lower-case with hyphens.
    pub name: &'static str,
    /// The paper's spelling.
    pub title: &'static str,
    /// One sentence for lists.
    pub summary: &'static str,
    /// Paper and section that define it.
    pub citation: &'static str,
    /// The memory model it provides.
    pub model: MemoryModel,
    /// Its promises.
    pub promises: &'static [Promise],
    /// Virtual networks it needs.
    pub virtual_networks: u8,
    /// What it needs of the order of messages.
    pub delivery: Delivery,
    /// Whether its controllers need to know the time.
    pub counters: Counters,
    /// How far it reaches.
    pub reach: Reach,
    /// What a command processor has its shared banks do between kernels, unless a parameter switches that off.
    pub commands: Commands,
    /// What the values of a measured run are.
    pub values: Values,
    /// Its parameters, at most [`crate::parameter::PARAMETERS_MAX`].
    pub parameters: &'static [ParameterSpec],
    /// What its controllers count about themselves; [`Controller::tallies`] follows this order.
    pub tallies: &'static [TallySpec],
    /// Its message table; begins with [`crate::message::memory::SPECS`].
    pub messages: &'static [MessageSpec],
    /// Its seeded faults.
    pub faults: &'static [FaultSpec],
}

/// A coherence protocol: a declaration and its controllers.
pub trait Protocol: Build<2> + Build<16> + Build<32> + Sync {
    /// What it says about itself.
    fn declaration(&self) -> &'static Declaration;

    /// The protocol that this one adds transitions to, for the tables of both.
    fn extends(&self) -> Option<&'static dyn Protocol> {
        None
    }

    /// See [`Declaration::name`].
    fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// See [`Declaration::title`].
    fn title(&self) -> &'static str {
        self.declaration().title
    }

    /// See [`Declaration::summary`].
    fn summary(&self) -> &'static str {
        self.declaration().summary
    }

    /// See [`Declaration::citation`].
    fn citation(&self) -> &'static str {
        self.declaration().citation
    }

    /// See [`Declaration::model`].
    fn model(&self) -> MemoryModel {
        self.declaration().model
    }

    /// See [`Declaration::promises`].
    fn promises(&self) -> &'static [Promise] {
        self.declaration().promises
    }

    /// See [`Declaration::virtual_networks`].
    fn virtual_networks(&self) -> u8 {
        self.declaration().virtual_networks
    }

    /// See [`Declaration::delivery`].
    fn delivery(&self) -> Delivery {
        self.declaration().delivery
    }

    /// See [`Declaration::counters`].
    fn counters(&self) -> Counters {
        self.declaration().counters
    }

    /// See [`Declaration::reach`].
    fn reach(&self) -> Reach {
        self.declaration().reach
    }

    /// How its caches are stacked.
    fn structure(&self) -> Structure {
        Structure::TwoLevels
    }

    /// The virtual networks whose messages have registers at their senders, where they wait for room: nobody waits for room for them.
    fn registered_networks(&self) -> &'static [u8] {
        &[]
    }

    /// What a command processor has the shared banks do between kernels, with these parameters.
    fn commands(&self, _parameters: &Parameters) -> Commands {
        self.declaration().commands
    }

    /// Whether shared banks keep lines of other modules' memory, with these parameters.
    fn keeps_remote(&self, _parameters: &Parameters) -> bool {
        true
    }

    /// Whether shared banks hand every store on to memory itself, with these parameters. A cache before memory then keeps it, too, but is never all that has it.
    fn writes_through(&self, _parameters: &Parameters) -> bool {
        false
    }

    /// See [`Declaration::values`].
    fn values(&self) -> Values {
        self.declaration().values
    }

    /// See [`Declaration::parameters`].
    fn parameters(&self) -> &'static [ParameterSpec] {
        self.declaration().parameters
    }

    /// See [`Declaration::tallies`].
    fn tallies(&self) -> &'static [TallySpec] {
        self.declaration().tallies
    }

    /// See [`Declaration::messages`].
    fn messages(&self) -> &'static [MessageSpec] {
        self.declaration().messages
    }

    /// See [`Declaration::faults`].
    fn faults(&self) -> &'static [FaultSpec] {
        self.declaration().faults
    }
}

/// Every protocol, in the order of the papers.
pub static PROTOCOLS: &[&dyn Protocol] = &[
    &no_l1::NoL1,
    &no_coh::NoCoh,
    &ideal_coh::IdealCoh,
    &gpu_vi::GpuVi,
    &gpu_vini::GpuVini,
    &mesi::Mesi,
    &tc::strong::TcStrong,
    &tc::weak::TcWeak,
    &tc::weak::TcWeakFixed,
    &no_remote::NO_REMOTE,
    &sw_flat::SW_FLAT,
    &sw_hier::SW_HIER,
    &nhcc::NHCC,
    &hmg::HMG,
    &ideal::IDEAL,
    &dir::DIR,
    &dir_hmg::DIR_HMG,
    &rec::REC,
    &dir_ideal::DIR_IDEAL,
    &viper_chiplet::VIPER_CHIPLET,
    &cpelide::CPELIDE,
    &cpelide_range::CPELIDE_RANGE,
    &nhcc_wt::NHCC_WT,
    &nhcc_wb::NHCC_WB,
    &spandex::configurations::HMESI_GPU,
    &spandex::configurations::HMESI_DENOVO,
    &spandex::configurations::SMG,
    &spandex::configurations::SMD,
    &spandex::configurations::SDG,
    &spandex::configurations::SDD,
    &spandex::configurations::SPANDEX_MIXED,
    &spandex::configurations::SPANDEX_ADAPTIVE,
    &spandex::configurations::SMV,
    &spandex::configurations::SPANDEX_HIER_MG,
    &spandex::configurations::SPANDEX_HIER_MD,
    &spandex::configurations::SPANDEX_HIER_DG,
    &spandex::configurations::SPANDEX_HIER_DD,
];

/// The protocol called `name`.
pub fn find(name: &str) -> Option<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Channel, memory};

    #[test]
    fn names_are_unique_and_kebab_case() {
        for (index, protocol) in PROTOCOLS.iter().enumerate() {
            let name = protocol.name();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(PROTOCOLS[..index].iter().all(|earlier| earlier.name() != name), "{name} twice");
            assert!(std::ptr::eq(find(name).unwrap().name(), name));
        }
    }

    #[test]
    fn every_protocol_is_cited_and_summarised() {
        for protocol in PROTOCOLS {
            assert!(protocol.citation().contains("section"), "{}", protocol.name());
            assert!(protocol.summary().ends_with('.'), "{}", protocol.name());
        }
    }

    #[test]
    fn message_tables_begin_with_the_memory_rows_and_stay_within_the_declared_networks() {
        for protocol in PROTOCOLS {
            let table = protocol.messages();
            assert_eq!(table[..memory::SPECS.len()], memory::SPECS, "{}", protocol.name());
            for spec in table {
                if let Channel::Virtual(network) = spec.channel {
                    assert!(network < protocol.virtual_networks(), "{} of {}", spec.name, protocol.name());
                }
            }
        }
    }

    #[test]
    fn every_protocol_has_at_least_eight_seeded_faults_with_distinct_names() {
        for protocol in PROTOCOLS {
            let faults = protocol.faults();
            assert!(faults.len() >= 8, "{}", protocol.name());
            for (index, fault) in faults.iter().enumerate() {
                assert!(faults[..index].iter().all(|earlier| earlier.name != fault.name), "{}", fault.name);
            }
        }
    }
}
