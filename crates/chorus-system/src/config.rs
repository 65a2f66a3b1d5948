//! The typed description of a machine.
//!
//! A value of [`SystemConfig`] is complete: scales and overrides have been applied and every number checked. Units are
//! the last word of a name. Latencies in cycles count cycles of the clock domain of their section.

use serde::Deserialize;

use crate::energy::{AccessEnergy, Energy};
use crate::fences::Fences;
use crate::instructions::Instructions;
use crate::networks::{Link, Network};
use crate::timing::Timing;

/// A whole machine, as read from `systems/*.toml` after its scale and overrides have been applied.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemConfig {
    /// The name used on the command line.
    pub name: String,
    /// One line that describes the machine to people.
    pub title: String,
    /// The paper that defines the machine.
    pub source: String,
    /// GPUs and their modules.
    pub hierarchy: Hierarchy,
    /// Clock frequencies of all clock domains.
    pub clocks: Clocks,
    /// Compute units and work-group dispatch.
    pub core: Core,
    /// Machine instructions, for programs whose instructions are known. Without them, every instruction takes an issue
    /// slot and nothing more.
    pub instructions: Option<Instructions>,
    /// The cost of fences. Without it, a fence takes as long as the caches take.
    pub fences: Option<Fences>,
    /// CPU cores beside the compute units. Without them, compute units run CPU threads.
    pub cpu: Option<CpuCores>,
    /// The private cache of each compute unit and CPU core.
    pub l1: L1,
    /// The shared cache, divided into banks.
    pub l2: L2,
    /// The coherence directory of each module, for protocols that have one. A machine of one module has none, since
    /// nothing is remote there.
    pub directory: Option<Directory>,
    /// The network between the private caches and banks of a module.
    pub network: Network,
    /// The translation units between caches and the network, under protocols that have them.
    pub tu: Tu,
    /// The links between the modules of a GPU. Messages to other GPUs pass them too.
    pub inter_gpm: Option<Link>,
    /// The links between GPUs.
    pub inter_gpu: Option<Link>,
    /// Pages and the module memory that each lies in.
    pub memory: Memory,
    /// The cache behind the L2, where there is one.
    pub l3: Option<L3>,
    /// Off-chip memory, one channel beside each bank of the last coherent cache.
    pub dram: Dram,
    /// The variation of times from run to run. Without it, runs that differ in nothing but their seed may take equal
    /// times.
    pub timing: Option<Timing>,
    /// The command processors that launch kernels. They matter under protocols in which they give commands to caches.
    pub command_processor: CommandProcessor,
    /// Energy constants of the interconnect.
    pub energy: Energy,
    /// Energies of accesses to the memory hierarchy. Without them, none is reported.
    pub access_energy: Option<AccessEnergy>,
    /// Limits after which a run without progress is stopped.
    pub watchdog: Watchdog,
}

impl SystemConfig {
    /// The number of CPU cores.
    pub fn cpus(&self) -> u32 {
        self.cpu.as_ref().map_or(0, |cpu| cpu.count)
    }

    /// Whether the machine has an L3 that takes part in the protocol.
    pub fn has_coherent_l3(&self) -> bool {
        self.l3.as_ref().is_some_and(|l3| l3.kind == L3Kind::Coherent)
    }

    /// The L3 that the protocol does not see, and the way to its slices.
    pub fn memory_side_l3(&self) -> Option<(&L3, &MemorySide)> {
        let l3 = self.l3.as_ref()?;
        match &l3.kind {
            L3Kind::MemorySide(way) => Some((l3, way)),
            L3Kind::Coherent => None,
        }
    }
}

/// GPUs and modules. A module (GPM, chiplet) has compute units, L2 banks, crossbars and memory channels of its own.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hierarchy {
    /// Number of GPUs in the machine.
    pub gpus: u32,
    /// Modules of each GPU.
    pub gpms: u32,
}

impl Hierarchy {
    /// The number of modules of the machine.
    pub fn modules(&self) -> u32 {
        self.gpus * self.gpms
    }
}

/// Clock frequencies in MHz. The simulator's tick is one period of their least common multiple, so every edge is an
/// integer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Clock of the compute units and their L1s.
    pub core_mhz: u32,
    /// Clock of the networks of modules.
    pub network_mhz: u32,
    /// Clock of the L2 banks.
    pub l2_mhz: u32,
    /// The DRAM command clock.
    pub dram_mhz: u32,
}

/// Compute units and their wavefront slots, registers and queues.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Compute units of each module.
    pub count: u32,
    /// Wavefront slots of a compute unit.
    pub wavefronts: u32,
    /// Work-items of a wavefront.
    pub lanes: u32,
    /// 32-bit registers of a compute unit, shared by all resident work-items.
    pub registers: u32,
    /// Local data share of a compute unit.
    pub lds_bytes: u32,
    /// Most work-groups resident on a compute unit.
    pub work_groups: u32,
    /// The rule by which a ready wavefront is chosen to issue.
    pub scheduler: Scheduler,
    /// Loads and returning atomics a wavefront may have in flight.
    pub loads_in_flight: u32,
    /// Line accesses that wait between the coalescer and the L1.
    pub lsu_queue: u32,
    /// Cycles of one LDS access.
    pub lds_latency_cycles: u32,
    /// Cycles from a kernel launch until its first work-group starts.
    pub launch_latency_cycles: u32,
    /// Lines of a compute unit's store buffer; 0 where it has none.
    pub store_buffer_entries: u32,
    /// Memory order of read-modify-writes that wavefronts and CPU threads issue.
    pub atomic_order: AtomicOrder,
    /// How lanes that touch one word in one read-modify-write are performed: one by one unless given.
    pub atomic_lanes: Option<AtomicLanes>,
    /// Wavefront instructions that a compute unit issues in a cycle: one unless given.
    pub issue_per_cycle: Option<u32>,
    /// Cycles from the last arrival at a barrier until its wavefronts go on: none unless given.
    pub barrier_cycles: Option<u32>,
    /// Cycles that the arrival of one wavefront at a barrier takes: none unless given.
    pub barrier_wave_cycles: Option<u32>,
    /// Work-groups that at most start in 1,000 cycles on a module: any number unless given.
    pub work_groups_per_1000_cycles: Option<u32>,
    /// Which work-groups of a kernel run on which module: contiguous blocks unless given.
    pub work_group_order: Option<WorkGroupOrder>,
}

/// The rule that divides the work-groups of a kernel among modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkGroupOrder {
    /// Each module has a contiguous block of them.
    Blocks,
    /// The modules take turns with single work-groups.
    InTurn,
}

impl Core {
    /// Wavefront instructions that a compute unit issues in a cycle.
    pub fn issue_width(&self) -> u32 {
        self.issue_per_cycle.unwrap_or(1)
    }

    /// Whether lanes that touch one word in one read-modify-write are performed in one access.
    pub fn combines_atomic_lanes(&self) -> bool {
        self.atomic_lanes == Some(AtomicLanes::Combined)
    }
}

/// CPU cores: in order, one instruction per cycle, one load in flight. Their private caches are like those of compute
/// units.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuCores {
    /// CPU cores of the machine.
    pub count: u32,
    /// The clock frequency of CPU cores and their L1s.
    pub clock_mhz: u32,
    /// Lines of a core's store buffer; 0 where it has none.
    pub store_buffer_entries: u32,
}

/// The memory order of a read-modify-write: which other operations it orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomicOrder {
    /// It orders nothing else. Programs have fences where order matters.
    Relaxed,
    /// It orders everything: it is a release before and an acquire behind, both of its own scope.
    AcqRel,
}

/// The way in which a read-modify-write is performed for lanes that touch the same word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtomicLanes {
    /// Each lane has an access of its own.
    OneByOne,
    /// All of them have one access if the operation is associative on integers. Each lane gets the value that it would
    /// have found one by one.
    Combined,
}

/// The wavefront scheduler of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Loose round robin: the next ready wavefront after the one that issued last.
    LooseRoundRobin,
    /// Greedy then oldest: the same wavefront while it is ready, then the one that started first.
    GreedyThenOldest,
}

/// The rule by which a line of a full set is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The line or entry that was used least recently.
    Lru,
    /// The line or entry that was inserted first.
    Fifo,
}

/// The private cache of a compute unit or CPU core.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1 {
    /// Capacity of one private cache.
    pub size_bytes: u32,
    /// Associativity: lines or entries of a set.
    pub ways: u32,
    /// Line size, shared by every cache of the machine.
    pub line_bytes: u32,
    /// Banks, interleaved by line. Each takes one access in a cycle, in the order of the accesses.
    pub banks: u32,
    /// Lines that may have requests outstanding.
    pub mshrs: u32,
    /// Replacement policy of a full set.
    pub replacement: Replacement,
    /// Cycles of the lookup: from the coalescer to the answer of a hit, or to the departure of a miss. Arriving answers
    /// go to the wavefront at once. On a mesh these are network cycles, like all latencies of the memory system there.
    pub latency_cycles: u32,
    /// Hundredths of a core cycle that a bank takes for each part of an atomic: a sector of 32 bytes, as often as lanes
    /// repeat a word of it. One cycle for the whole atomic unless given.
    pub atomic_percent: Option<u32>,
    /// Bytes of a sector: the part of a line that all caches fetch when it is needed. The whole line unless given.
    pub sector_bytes: Option<u32>,
    /// Sectors that one private cache may have requests outstanding for. Any number unless given.
    pub sectors_in_flight: Option<u32>,
}

/// The order in which the banks of a module take blocks of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BankOrder {
    /// One after the other.
    InTurn,
    /// One after the other, from another bank on in each row of blocks.
    Hashed,
}

/// The shared cache: interleaved banks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L2 {
    /// Banks of each module.
    pub banks: u32,
    /// Lines in a row that one bank serves.
    pub interleave_lines: u32,
    /// Capacity of one bank.
    pub bank_bytes: u32,
    /// Associativity: lines or entries of a set.
    pub ways: u32,
    /// Lines of a bank that may have requests outstanding.
    pub mshrs: u32,
    /// Replacement policy of a full set.
    pub replacement: Replacement,
    /// Cycles of the tag lookup: from the head of the bank's queue to the decision.
    pub tag_latency_cycles: u32,
    /// Cycles of the data array. They are added to every answer that leaves the bank.
    pub data_latency_cycles: u32,
    /// Hundredths of an L2 cycle that the home of a line takes for each part of an atomic: a sector of 32 bytes, as
    /// often as lanes repeat a word of it. One cycle for the whole atomic unless given.
    pub atomic_percent: Option<u32>,
    /// Hundredths of an L2 cycle for each part of an atomic that repeats a sector. `atomic_percent` unless given.
    pub repeat_percent: Option<u32>,
    /// Hundredths of an L2 cycle that the home of a line takes for each sector that is stored. One cycle for the whole
    /// store unless given.
    pub store_percent: Option<u32>,
    /// The order in which banks take blocks of lines. In turn unless given.
    pub bank_order: Option<BankOrder>,
}

/// The directory that knows which other modules may hold copies of a module's lines. It is divided among the module's
/// banks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Directory {
    /// Entries of each module.
    pub entries: u32,
    /// Associativity: lines or entries of a set.
    pub ways: u32,
    /// Lines that one entry covers, for protocols that do not set this themselves.
    pub lines_per_entry: u32,
    /// Addresses that one entry covers, for protocols whose entries tell their lines apart. A machine may leave it out:
    /// then an entry covers `lines_per_entry` lines.
    pub range: Option<DirectoryRange>,
    /// Replacement policy of a full set.
    pub replacement: DirectoryReplacement,
}

impl Directory {
    /// Bytes that one entry covers, for protocols whose entries tell their lines apart.
    pub fn range_bytes(&self, line_bytes: u32) -> u32 {
        self.range.map_or(self.lines_per_entry * line_bytes, DirectoryRange::bytes)
    }
}

/// The rule by which an entry of a full set of the directory is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DirectoryReplacement {
    /// The entry that the protocol prefers to replace.
    Own,
    /// The line or entry that was used least recently.
    Lru,
    /// The line or entry that was inserted first.
    Fifo,
}

/// The range of addresses of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum DirectoryRange {
    /// An entry covers 128 bytes.
    #[serde(rename = "128B")]
    Bytes128,
    /// An entry covers 256 bytes.
    #[serde(rename = "256B")]
    Bytes256,
    /// An entry covers 512 bytes.
    #[serde(rename = "512B")]
    Bytes512,
    /// An entry covers 1,024 bytes.
    #[serde(rename = "1kB")]
    Bytes1024,
    /// An entry covers 2,048 bytes.
    #[serde(rename = "2kB")]
    Bytes2048,
    /// An entry covers 4,096 bytes.
    #[serde(rename = "4kB")]
    Bytes4096,
}

impl DirectoryRange {
    /// The number of bytes that an entry covers.
    pub fn bytes(self) -> u32 {
        match self {
            DirectoryRange::Bytes128 => 128,
            DirectoryRange::Bytes256 => 256,
            DirectoryRange::Bytes512 => 512,
            DirectoryRange::Bytes1024 => 1024,
            DirectoryRange::Bytes2048 => 2048,
            DirectoryRange::Bytes4096 => 4096,
        }
    }
}

/// Pages of the program's memory.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Size of a page.
    pub page_bytes: u32,
    /// Every buffer begins at a multiple of this many bytes.
    pub alignment_bytes: u32,
    /// The rule that places a page in a module's memory.
    pub placement: Placement,
}

/// The rule that places a page in a module's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// A page lies in the memory of the module whose compute unit touches it first.
    FirstTouch,
    /// The number of a page decides: the modules take turns.
    Interleaved,
    /// The position of a page in its buffer decides: the first part of every buffer belongs to the first module, and so
    /// on.
    Block,
    /// The buffer of a page decides: the modules take turns with whole buffers.
    Buffer,
    /// All memory belongs to the first module.
    Single,
    /// A hash of the number of a page decides, so that no stride prefers a module. The lines of a page lie in an order
    /// of its own, so that no stride prefers a bank.
    Hashed,
}

/// Translation units: each takes one message per network cycle.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tu {
    /// Network cycles of the lookup. It delays messages from the network and messages to the network.
    pub latency_cycles: u32,
}

/// The cache behind the L2.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L3 {
    /// Whether it takes part in the protocol.
    pub kind: L3Kind,
    /// Capacity of one slice or bank.
    pub bank_bytes: u32,
    /// Associativity: lines or entries of a set.
    pub ways: u32,
}

/// Whether an L3 takes part in the protocol.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum L3Kind {
    /// The L3 does not take part. There is one slice before each memory channel. It holds lines of that channel,
    /// whether or not an L2 holds them too.
    MemorySide(MemorySide),
    /// The L3 takes part. It has as many banks as the L2, with the L2's miss registers, replacement and latencies.
    Coherent,
}

/// The way between an L2 bank and its slice of a memory-side L3.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySide {
    /// Core cycles from the departure of a request at the L2 bank to the answer of a hit.
    pub latency_cycles: u32,
    /// Bytes of lines that move between an L2 bank and its slice per core cycle, in each direction.
    pub bytes_per_cycle: u32,
    /// When a line that an L2 bank writes goes on to memory.
    pub write_policy: WritePolicy,
}

/// When a cache hands on what is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// When the line gives way to another one.
    WriteBack,
    /// At once. A copy stays.
    WriteThrough,
}

/// The global command processor and the local ones of the modules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandProcessor {
    /// Core cycles of a message between the global command processor and one local command processor.
    pub unicast_cycles: u32,
    /// Core cycles of a message from the global command processor to all local ones.
    pub broadcast_cycles: u32,
    /// Clock of the command processors.
    pub mhz: u32,
    /// Cycles of a command processor for an access to its private memory.
    pub memory_cycles: u32,
    /// Nanoseconds that the command processor takes to work out the acquires and releases of a kernel.
    pub elide_ns: u32,
    /// Rows of the table of data structures.
    pub rows: u32,
    /// Data structures of a kernel that the table tells apart.
    pub structures_per_kernel: u32,
    /// Assumption of the table about the contents of a module's L2.
    pub holds: Holds,
    /// Sets of acquires and releases that a kernel boundary performs one after the other.
    pub sets: u32,
}

/// The assumption of a command processor's table about the contents of a module's L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// It holds all data that kernels accessed from the module.
    Accessed,
    /// It holds the accessed data that lies in the module's own memory, under protocols whose L2s hold no other data.
    OwnMemory,
}

/// Off-chip memory: one channel beside each bank of the last coherent cache.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dram {
    /// The timing model of a channel.
    pub model: DramModel,
    /// Bytes a channel moves per DRAM cycle.
    pub bytes_per_cycle: u32,
    /// Requests that wait at a channel.
    pub queue: u32,
    /// Cycles spent in the controller and the pins, under every model.
    pub latency_cycles: u32,
    /// The part of a line that memory moves at least, where caches fetch lines by sectors: a sector unless given.
    pub fetch_bytes: Option<u32>,
}

/// The timing model of a DRAM channel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DramModel {
    /// A fixed latency and a bandwidth.
    Fixed,
    /// Banks with row buffers, scheduled first-ready first-come first-served.
    Gddr5(Gddr5),
}

/// The banks of a GDDR5 channel.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gddr5 {
    /// Banks of a channel.
    pub banks: u32,
    /// Row buffer of a bank.
    pub row_bytes: u32,
    /// Timing of the commands.
    pub timing: DramTiming,
}

/// DRAM command timing in DRAM cycles, named as in data sheets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramTiming {
    /// Column read to first data.
    pub t_cl: u32,
    /// Cycles of a precharge.
    pub t_rp: u32,
    /// Activate to activate, same bank.
    pub t_rc: u32,
    /// Cycles from activate to precharge.
    pub t_ras: u32,
    /// Column to column, different bank groups.
    pub t_ccd: u32,
    /// Column write to first data.
    pub t_wl: u32,
    /// Cycles from activate to a column command.
    pub t_rcd: u32,
    /// Activate to activate, different banks.
    pub t_rrd: u32,
    /// Last write data to a read of the channel.
    pub t_cdlr: u32,
    /// Last write data to precharge.
    pub t_wr: u32,
    /// Column to column, same bank group.
    pub t_ccdl: u32,
    /// Cycles from a read to precharge.
    pub t_rtpl: u32,
}

/// The watchdog on simulated progress.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watchdog {
    /// Core cycles without a store, a value-changing atomic, a read of memory or a finished wavefront after which a run
    /// counts as livelocked. Time in which all wait for something slow counts for less.
    pub idle_cycles: u64,
    /// Core cycles after which any run is stopped.
    pub cycles: u64,
}
