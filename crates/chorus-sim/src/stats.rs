//! Typed counters, each declared once with its unit and definition.

use chorus_protocol::message::TrafficClass;
use chorus_protocol::save::{self, Save};

/// A counter; [`COUNTERS`] defines each.
#[expect(missing_docs, reason = "defined once, in COUNTERS")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Instructions,
    AluInstructions,
    MemoryInstructions,
    LdsAccesses,
    Fences,
    FenceWaitTicks,
    Barriers,
    L1Accesses,
    L1Loads,
    L1LoadHits,
    L1LoadMisses,
    L1Stores,
    L1Atomics,
    L1StallTicks,
    LoadLatencyTicks,
    LoadsCompleted,
    L2Inputs,
    L2StallTicks,
    DramReads,
    DramWrites,
    DramRowHits,
    NetworkMessages,
    NetworkQueueTicks,
    WaveFronts,
    WorkGroups,
    Kernels,
    InterGpuLoads,
    InterGpuLoadsShared,
    PortStallTicks,
    L1LoadSectors,
    L1SectorsFetched,
    L1StoreSectors,
    L2Sectors,
    DramReadBytes,
    DramWriteBytes,
    L2Lookups,
    L2LookupTicks,
    L3Hits,
    L3Misses,
    L1L2Flits,
    L2L3Flits,
    RemoteFlits,
    L2Acquires,
    L2Releases,
    L2OperationsElided,
    LinesWrittenBack,
    BoundaryTicks,
    L3Inputs,
    L3StallTicks,
    TuInputs,
    TuStallTicks,
}

/// The declaration of a counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterSpec {
    /// The counter that is declared.
    pub counter: Counter,
    /// The key in `--json` and in results.
    pub key: &'static str,
    /// Unit of the value reported; ticks are reported as core cycles.
    pub unit: Unit,
    /// The definition of the count.
    pub definition: &'static str,
    /// The machines and protocols that have it.
    pub counted_on: CountedOn,
}

/// The machines and protocols that have a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedOn {
    /// Every machine has it.
    AllMachines,
    /// Machines of several modules have it.
    SeveralModules,
    /// Machines with a memory-side L3 have it.
    MemorySideL3,
    /// Machines with a coherent L3 have it.
    CoherentL3,
    /// Machines whose caches fetch lines by sectors have it.
    Sectors,
    /// Runs under protocols with translation units have it.
    TranslationUnits,
    /// Runs under protocols whose command processor gives shared banks commands between kernels have it.
    BankCommands,
}

/// Unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of events or objects.
    Count,
    /// A time in core cycles.
    Cycles,
}

const fn count(counter: Counter, key: &'static str, definition: &'static str) -> CounterSpec {
    CounterSpec { counter, key, unit: Unit::Count, definition, counted_on: CountedOn::AllMachines }
}

const fn cycles(counter: Counter, key: &'static str, definition: &'static str) -> CounterSpec {
    CounterSpec { counter, key, unit: Unit::Cycles, definition, counted_on: CountedOn::AllMachines }
}

/// A counter of machines of several modules.
const fn several(spec: CounterSpec) -> CounterSpec {
    CounterSpec { counted_on: CountedOn::SeveralModules, ..spec }
}

/// A counter of machines with a memory-side L3.
const fn with_l3(spec: CounterSpec) -> CounterSpec {
    CounterSpec { counted_on: CountedOn::MemorySideL3, ..spec }
}

/// A counter of machines with a coherent L3.
const fn coherent_l3(spec: CounterSpec) -> CounterSpec {
    CounterSpec { counted_on: CountedOn::CoherentL3, ..spec }
}

/// A counter of machines whose caches fetch lines by sectors.
const fn sectored(spec: CounterSpec) -> CounterSpec {
    CounterSpec { counted_on: CountedOn::Sectors, ..spec }
}

/// A counter of translation units.
const fn translated(spec: CounterSpec) -> CounterSpec {
    CounterSpec { counted_on: CountedOn::TranslationUnits, ..spec }
}

/// A counter of the commands that shared banks get between kernels.
const fn commanded(spec: CounterSpec) -> CounterSpec {
    CounterSpec { counted_on: CountedOn::BankCommands, ..spec }
}

/// Every counter, in the order of [`Counter`].
pub const COUNTERS: &[CounterSpec] = &[
    count(Counter::Instructions, "core.instructions", "wavefront instructions issued"),
    count(Counter::AluInstructions, "core.alu_instructions", "arithmetic wavefront instructions issued"),
    count(Counter::MemoryInstructions, "core.memory_instructions", "global memory wavefront instructions issued"),
    count(Counter::LdsAccesses, "core.lds_accesses", "local data share accesses issued"),
    count(
        Counter::Fences,
        "core.fences",
        "fences issued by programs or with their atomics (not those at the end of a wavefront)",
    ),
    cycles(Counter::FenceWaitTicks, "core.fence_wait_cycles", "sum over fences of the time from issue to passing"),
    count(Counter::Barriers, "core.barriers", "wavefront arrivals at work-group barriers"),
    count(Counter::L1Accesses, "l1.accesses", "coalesced line accesses accepted by private caches"),
    count(Counter::L1Loads, "l1.loads", "line accesses that load"),
    count(Counter::L1LoadHits, "l1.load_hits", "loads answered by the private cache at once"),
    count(Counter::L1LoadMisses, "l1.load_misses", "loads not answered at once, merged ones included"),
    count(Counter::L1Stores, "l1.stores", "line accesses that store"),
    count(Counter::L1Atomics, "l1.atomics", "line accesses that read-modify-write"),
    cycles(Counter::L1StallTicks, "l1.stall_cycles", "time the head of a private cache's queue could not be accepted"),
    cycles(Counter::LoadLatencyTicks, "l1.load_latency_cycles", "sum over load accesses of the time to their values"),
    count(Counter::LoadsCompleted, "l1.loads_completed", "load accesses whose values have returned"),
    count(Counter::L2Inputs, "l2.inputs", "messages consumed by shared banks"),
    cycles(
        Counter::L2StallTicks,
        "l2.stall_cycles",
        "time the requests of a bank waited behind one it could not serve",
    ),
    count(Counter::DramReads, "dram.reads", "lines read from memory"),
    count(Counter::DramWrites, "dram.writes", "lines written back to memory"),
    count(Counter::DramRowHits, "dram.row_hits", "memory accesses that found their row open"),
    count(Counter::NetworkMessages, "network.messages", "messages sent through the crossbars"),
    cycles(
        Counter::NetworkQueueTicks,
        "network.queue_cycles",
        "sum over messages of the time they waited for a port or for a link",
    ),
    count(Counter::WaveFronts, "core.wavefronts", "wavefronts finished"),
    count(Counter::WorkGroups, "core.work_groups", "work-groups finished"),
    several(count(Counter::Kernels, "core.kernels", "kernels launched")),
    several(count(
        Counter::InterGpuLoads,
        "inter_gpu.loads",
        "loads of lines in another GPU's memory that the private cache did not answer at once",
    )),
    several(count(
        Counter::InterGpuLoadsShared,
        "inter_gpu.loads_shared",
        "those of them to lines that another module of the same GPU accesses too (HMG paper, Figure 3)",
    )),
    several(cycles(
        Counter::PortStallTicks,
        "inter_gpm.stall_cycles",
        "time banks did not take stores and atomics of their own module because too much waited at ports to other modules",
    )),
    sectored(count(Counter::L1LoadSectors, "l1.load_sectors", "sectors of lines that loads need")),
    sectored(count(Counter::L1SectorsFetched, "l1.sectors_fetched", "those of them that private caches fetch")),
    sectored(count(Counter::L1StoreSectors, "l1.store_sectors", "sectors of lines that stores write")),
    sectored(count(
        Counter::L2Sectors,
        "l2.sectors",
        "sectors that private caches fetch from shared banks or write there, and parts of atomics",
    )),
    sectored(count(Counter::DramReadBytes, "dram.read_bytes", "bytes of sectors read from memory")),
    sectored(count(Counter::DramWriteBytes, "dram.write_bytes", "bytes of sectors written to memory")),
    several(count(Counter::L2Lookups, "l2.lookups", "messages of caches whose lines shared banks looked up")),
    several(cycles(
        Counter::L2LookupTicks,
        "l2.lookup_cycles",
        "sum over those messages of the time from their arrival until the tags have been looked up",
    )),
    with_l3(count(Counter::L3Hits, "l3.hits", "fetches of L2 banks whose line the L3 held")),
    with_l3(count(Counter::L3Misses, "l3.misses", "fetches of L2 banks whose line the L3 took from memory")),
    with_l3(count(
        Counter::L1L2Flits,
        "traffic.l1_l2.flits",
        "flits of 16 bytes between private caches and L2 banks of one module: one of a message without data, and those of a whole line more of one with data",
    )),
    with_l3(count(Counter::L2L3Flits, "traffic.l2_l3.flits", "the same between L2 banks and the L3")),
    with_l3(count(Counter::RemoteFlits, "traffic.remote.flits", "the same from module to module")),
    commanded(count(Counter::L2Acquires, "boundary.l2_acquires", "L2s of a module emptied between kernels")),
    commanded(count(
        Counter::L2Releases,
        "boundary.l2_releases",
        "L2s of a module written back, without being emptied, between kernels",
    )),
    commanded(count(
        Counter::L2OperationsElided,
        "boundary.l2_elided",
        "one release and one acquire for each module of each kernel, less those performed before it",
    )),
    commanded(count(
        Counter::LinesWrittenBack,
        "boundary.written_back",
        "dirty lines handed on by L2s that were written back or emptied between kernels",
    )),
    commanded(cycles(
        Counter::BoundaryTicks,
        "boundary.cycles",
        "time that kernels waited, after their launch latency or their last work-group, for the command processor and the L2s",
    )),
    coherent_l3(count(Counter::L3Inputs, "l3.inputs", "messages consumed by banks of the L3")),
    coherent_l3(cycles(
        Counter::L3StallTicks,
        "l3.stall_cycles",
        "time the requests of a bank of the L3 waited behind one it could not serve",
    )),
    translated(count(Counter::TuInputs, "tu.inputs", "messages that translation units took from the network")),
    translated(cycles(
        Counter::TuStallTicks,
        "tu.stall_cycles",
        "sum over messages of the time that translation units could not take them",
    )),
];

/// Counts of one traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub struct Traffic {
    /// Flits through a crossbar.
    pub flits: u64,
    /// Bytes of headers and payloads.
    pub bytes: u64,
    /// Flits times the routers that each passes, on networks with a router at every node.
    pub flit_hops: u64,
}

/// The distance of a message that leaves its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// To another module of its GPU.
    InterGpm,
    /// To a module of another GPU.
    InterGpu,
}

impl Distance {
    /// Every distance, nearest first.
    pub const ALL: [Distance; 2] = [Distance::InterGpm, Distance::InterGpu];

    /// The first part of the keys of its metrics.
    pub fn key(self) -> &'static str {
        match self {
            Distance::InterGpm => "inter_gpm",
            Distance::InterGpu => "inter_gpu",
        }
    }

    /// The two ends of the distance, in words.
    pub fn between(self) -> &'static str {
        match self {
            Distance::InterGpm => "between modules of one GPU",
            Distance::InterGpu => "between GPUs",
        }
    }
}

/// Counts of one traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub struct Sent {
    /// Number of messages sent.
    pub messages: u64,
    /// Bytes of headers and payloads.
    pub bytes: u64,
    /// Bytes of headers and payloads, once for every link that they pass between modules of a GPU, or between GPUs.
    pub link_bytes: u64,
}

/// The values of all counters.
#[derive(Clone, Debug, PartialEq, Eq, Save)]
pub struct Stats {
    counters: [u64; COUNTERS.len()],
    traffic: [Traffic; TrafficClass::COUNT],
    distant: [[Sent; TrafficClass::COUNT]; Distance::ALL.len()],
}

impl Default for Stats {
    fn default() -> Self {
        Stats { counters: [0; COUNTERS.len()], traffic: Default::default(), distant: Default::default() }
    }
}

impl Stats {
    /// Adds to a counter.
    #[inline]
    pub fn add(&mut self, counter: Counter, amount: u64) {
        self.counters[counter as usize] += amount;
    }

    /// The value of a counter.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    /// Counts a message of a module's network.
    pub fn add_traffic(&mut self, class: TrafficClass, flits: u64, bytes: u64) {
        let traffic = &mut self.traffic[class as usize];
        traffic.flits += flits;
        traffic.bytes += bytes;
    }

    /// Counts the routers that the flits of a message pass.
    pub fn add_flit_hops(&mut self, class: TrafficClass, flit_hops: u64) {
        self.traffic[class as usize].flit_hops += flit_hops;
    }

    /// Counts a message that leaves its module and passes so many links.
    #[inline]
    pub fn add_distant(&mut self, distance: Distance, class: TrafficClass, bytes: u64, links: u64) {
        let sent = &mut self.distant[distance as usize][class as usize];
        sent.messages += 1;
        sent.bytes += bytes;
        sent.link_bytes += bytes * links;
    }

    /// The traffic of one class at this distance.
    pub fn distant(&self, distance: Distance, class: TrafficClass) -> Sent {
        self.distant[distance as usize][class as usize]
    }

    /// The traffic of all classes at this distance.
    pub fn total_distant(&self, distance: Distance) -> Sent {
        let all = self.distant[distance as usize].iter();
        all.fold(Sent::default(), |sum, sent| Sent {
            messages: sum.messages + sent.messages,
            bytes: sum.bytes + sent.bytes,
            link_bytes: sum.link_bytes + sent.link_bytes,
        })
    }

    /// The traffic of one class.
    pub fn traffic(&self, class: TrafficClass) -> Traffic {
        self.traffic[class as usize]
    }

    /// The traffic of all classes.
    pub fn total_traffic(&self) -> Traffic {
        self.traffic.iter().fold(Traffic::default(), |sum, traffic| Traffic {
            flits: sum.flits + traffic.flits,
            bytes: sum.bytes + traffic.bytes,
            flit_hops: sum.flit_hops + traffic.flit_hops,
        })
    }

    /// Adds the counts of another part of the machine.
    pub fn add_all(&mut self, other: &Stats) {
        for (value, more) in self.counters.iter_mut().zip(&other.counters) {
            *value += more;
        }
        for (value, more) in self.traffic.iter_mut().zip(&other.traffic) {
            value.flits += more.flits;
            value.bytes += more.bytes;
            value.flit_hops += more.flit_hops;
        }
        for (value, more) in self.distant.iter_mut().flatten().zip(other.distant.iter().flatten()) {
            value.messages += more.messages;
            value.bytes += more.bytes;
            value.link_bytes += more.link_bytes;
        }
    }

    /// The counts since `earlier`.
    pub fn since(&self, earlier: &Stats) -> Stats {
        let mut difference = self.clone();
        for (value, before) in difference.counters.iter_mut().zip(&earlier.counters) {
            *value -= before;
        }
        for (value, before) in difference.traffic.iter_mut().zip(&earlier.traffic) {
            value.flits -= before.flits;
            value.bytes -= before.bytes;
            value.flit_hops -= before.flit_hops;
        }
        for (value, before) in difference.distant.iter_mut().flatten().zip(earlier.distant.iter().flatten()) {
            value.messages -= before.messages;
            value.bytes -= before.bytes;
            value.link_bytes -= before.link_bytes;
        }
        difference
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_declared_in_order_with_unique_keys() {
        for (index, spec) in COUNTERS.iter().enumerate() {
            assert_eq!(spec.counter as usize, index, "{}", spec.key);
            assert!(COUNTERS[..index].iter().all(|earlier| earlier.key != spec.key), "{}", spec.key);
            assert!(!spec.definition.is_empty());
        }
    }
}
