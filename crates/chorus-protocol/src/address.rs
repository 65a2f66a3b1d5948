//! Where things are: line addresses, agents and the homes of lines.

use crate::save::{self, Save};

/// A line number: a byte address divided by the line size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub struct LineAddr(pub u64);

/// One controller, or the memory channel beside a bank of the last shared cache.
///
/// Ids are dense. The L1s come first: those of CPU cores, then those of compute units. L2 banks, L3 banks, translation
/// units and memory channels follow, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Save)]
pub struct AgentId(pub u16);

impl AgentId {
    /// Stands for the absence of an agent.
    pub const NOBODY: AgentId = AgentId(u16::MAX);
}

/// The kind of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The private cache of a compute unit or a CPU core.
    L1,
    /// A bank of the cache that the compute units of a module share.
    L2,
    /// A bank of a coherent cache that L2s and CPU cores share.
    L3,
    /// The translation unit between a cache and the network.
    Tu,
    /// A memory channel, beside a bank of the last shared cache.
    Memory,
}

impl Role {
    /// The literature's name for the role.
    pub fn name(self) -> &'static str {
        match self {
            Role::L1 => "L1",
            Role::L2 => "L2",
            Role::L3 => "L3",
            Role::Tu => "TU",
            Role::Memory => "Memory",
        }
    }
}

/// The number of agents of each role, their arrangement in modules and GPUs, and the agent that serves each line.
///
/// A machine has GPUs, a GPU has modules (GPMs, chiplets), and a module has private caches and banks of the shared
/// cache. Caches and banks are numbered module by module. A line number is a physical address: the bits from
/// [`Topology::home_shift`] on say in which module's memory the line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Topology {
    /// Number of GPUs in the machine.
    pub gpus: u16,
    /// Modules of each GPU.
    pub gpms: u16,
    /// Number of private caches in the whole machine.
    pub l1s: u16,
    /// Number of private caches that belong to CPU cores. They are the first ones.
    pub cpus: u16,
    /// Number of banks of the shared cache (L2) in the whole machine. Each has a memory channel of its own, unless
    /// there is an L3.
    pub l2s: u16,
    /// Number of banks of a coherent L3, each with a memory channel of its own. Zero where the L2 is the last shared
    /// cache.
    pub l3s: u16,
    /// The cache that the first translation unit belongs to. The other units belong to the caches that follow it.
    pub first_translated: AgentId,
    /// Number of translation units in the whole machine.
    pub tus: u16,
    /// Number of consecutive lines that one bank of a module serves.
    pub interleave: u32,
    /// Whether the banks of a module take their lines in an order that changes from row to row of them.
    pub is_hashed: bool,
    /// Number of bits of a line number below the bits that name its home module.
    pub home_shift: u8,
}

impl Topology {
    /// One GPU of one module, whose banks are interleaved by line.
    pub const fn one_gpu(l1s: u16, l2s: u16) -> Topology {
        Topology {
            gpus: 1,
            gpms: 1,
            l1s,
            cpus: 0,
            l2s,
            l3s: 0,
            first_translated: AgentId(0),
            tus: 0,
            interleave: 1,
            is_hashed: false,
            home_shift: 32,
        }
    }

    /// Number of controllers in the whole machine.
    pub fn controllers(self) -> u16 {
        self.l1s + self.l2s + self.l3s + self.tus
    }

    /// Number of memory channels in the whole machine: one beside each bank of the last shared cache.
    pub fn channels(self) -> u16 {
        if self.l3s > 0 { self.l3s } else { self.l2s }
    }

    /// Number of controllers and memory channels together.
    pub fn agents(self) -> u16 {
        self.controllers() + self.channels()
    }

    /// Whether private cache `index` belongs to a CPU core.
    pub fn is_cpu(self, index: u16) -> bool {
        index < self.cpus
    }

    /// Number of modules in the whole machine.
    pub fn modules(self) -> u16 {
        self.gpus * self.gpms
    }

    /// Number of shared banks of each module.
    pub fn banks_per_module(self) -> u16 {
        self.l2s / self.modules()
    }

    /// The id of private cache `index`.
    pub fn l1(self, index: u16) -> AgentId {
        AgentId(index)
    }

    /// The id of shared bank `index`.
    pub fn l2(self, index: u16) -> AgentId {
        AgentId(self.l1s + index)
    }

    /// The id of L3 bank `index`.
    pub fn l3(self, index: u16) -> AgentId {
        AgentId(self.l1s + self.l2s + index)
    }

    /// The id of translation unit `index`.
    pub fn tu(self, index: u16) -> AgentId {
        AgentId(self.l1s + self.l2s + self.l3s + index)
    }

    /// The id of memory channel `index`.
    pub fn memory(self, index: u16) -> AgentId {
        AgentId(self.controllers() + index)
    }

    /// The translation unit of a cache, if it has one.
    pub fn tu_of(self, cache: AgentId) -> Option<AgentId> {
        let index = cache.0.checked_sub(self.first_translated.0)?;
        (index < self.tus).then(|| self.tu(index))
    }

    /// The cache that translation unit `index` belongs to.
    pub fn translated(self, index: u16) -> AgentId {
        AgentId(self.first_translated.0 + index)
    }

    /// The bank of the last shared cache that serves `line`.
    pub fn llc(self, line: LineAddr) -> AgentId {
        if self.l3s > 0 { self.l3(self.l3_bank_of(line)) } else { self.home(line) }
    }

    /// The bank of the L3 that serves `line`.
    ///
    /// On a mesh whose tiles have a bank each, numbered row by row, this bank lies in the column of the line's L2 bank.
    /// The lines of an L2 bank are spread over all rows of that column: the bits of the line number above those of the
    /// bank choose the row.
    fn l3_bank_of(self, line: LineAddr) -> u16 {
        let banks = u64::from(self.l3s);
        let block = quotient(line.0, u64::from(self.interleave));
        if !banks.is_power_of_two() {
            return remainder(block, banks) as u16;
        }
        let rows = 1 << (banks.trailing_zeros() / 2);
        let row = remainder(quotient(block, banks), rows);
        remainder(block ^ (row * (banks / rows)), banks) as u16
    }

    /// The agent to which the network takes the requests of private cache or shared bank `cache` for `line`. The
    /// requests of compute units go to the L2. The requests of CPU cores and of the L2 itself go to the last shared
    /// cache.
    pub fn beyond(self, cache: AgentId, line: LineAddr) -> AgentId {
        if cache.0 >= self.cpus && cache.0 < self.l1s { self.home(line) } else { self.llc(line) }
    }

    /// The agent to which private cache or shared bank `cache` sends its requests for `line`: its translation unit if
    /// it has one, otherwise [`Topology::beyond`].
    pub fn upstream(self, cache: AgentId, line: LineAddr) -> AgentId {
        self.tu_of(cache).unwrap_or_else(|| self.beyond(cache, line))
    }

    /// The module that an agent is part of.
    pub fn module_of(self, agent: AgentId) -> u16 {
        match self.role(agent) {
            (Role::L1, index) => index / (self.l1s / self.modules()),
            (Role::L2 | Role::Memory, index) => index / self.banks_per_module(),
            // Machines with an L3 or translation units have one module.
            (Role::L3 | Role::Tu, _) => 0,
        }
    }

    /// The GPU that a module is part of.
    #[inline]
    pub fn gpu_of(self, module: u16) -> u16 {
        quotient(u64::from(module), u64::from(self.gpms)) as u16
    }

    /// The number of a module within its GPU.
    #[inline]
    pub fn place_in_gpu(self, module: u16) -> u16 {
        remainder(u64::from(module), u64::from(self.gpms)) as u16
    }

    /// The module in whose memory `line` lies.
    #[inline]
    pub fn home_module(self, line: LineAddr) -> u16 {
        remainder(line.0 >> self.home_shift, u64::from(self.modules())) as u16
    }

    /// The module of GPU `gpu` that requests for `line` pass on their way to its home: the home itself if it is in this
    /// GPU, otherwise the module with the same number within this GPU.
    pub fn gpu_home_module(self, gpu: u16, line: LineAddr) -> u16 {
        gpu * self.gpms + self.place_in_gpu(self.home_module(line))
    }

    /// The number, within a module, of the bank that serves `line` in every module.
    pub fn bank_in_module(self, line: LineAddr) -> u16 {
        let banks = u64::from(self.banks_per_module());
        remainder(quotient(line.0, u64::from(self.interleave)) + self.turn(line), banks) as u16
    }

    /// The banks by which the row of a line is turned: that of one block of lines in each bank. Strides that are
    /// multiples of a power of two then meet all banks.
    #[inline]
    pub fn turn(self, line: LineAddr) -> u64 {
        if !self.is_hashed {
            return 0;
        }
        let local = line.0 & ((1 << self.home_shift) - 1);
        let row = local / (u64::from(self.interleave) * u64::from(self.banks_per_module()));
        row.wrapping_mul(GOLDEN_RATIO) >> 32
    }

    /// The bank of module `module` that serves `line` there.
    pub fn bank_of_module(self, module: u16, line: LineAddr) -> AgentId {
        self.l2(module * self.banks_per_module() + self.bank_in_module(line))
    }

    /// The index, in the whole machine, of the bank that is the home of `line`.
    pub fn bank_of(self, line: LineAddr) -> u16 {
        self.home_module(line) * self.banks_per_module() + self.bank_in_module(line)
    }

    /// The number of `line` among the lines of its home bank.
    pub fn line_in_bank(self, line: LineAddr) -> u64 {
        let banks = u64::from(self.banks_per_module());
        let local = if self.modules() == 1 { line.0 } else { line.0 & ((1 << self.home_shift) - 1) };
        let interleave = u64::from(self.interleave);
        quotient(local, interleave * banks) * interleave + remainder(local, interleave)
    }

    /// The shared bank that is the home of `line`.
    pub fn home(self, line: LineAddr) -> AgentId {
        self.l2(self.bank_of(line))
    }

    /// The largest number of stations between a line's memory and an agent.
    pub const STATIONS_MAX: u8 = 3;

    /// The largest number of stations that a request of `agent` for `line` has to pass. It is zero from the home bank,
    /// one from the bank that is the line's home within another GPU, and the maximum from a private cache.
    pub fn stations(self, agent: AgentId, line: LineAddr) -> u8 {
        let module = self.module_of(agent);
        match self.role(agent).0 {
            Role::Memory | Role::L3 => 0,
            Role::L2 if self.l3s > 0 => 1,
            Role::L2 if module == self.home_module(line) => 0,
            Role::L2 if module == self.gpu_home_module(self.gpu_of(module), line) => 1,
            Role::L2 => 2,
            Role::L1 | Role::Tu => Topology::STATIONS_MAX,
        }
    }

    /// The role of `agent`, and its index within that role.
    #[inline]
    pub fn role(self, agent: AgentId) -> (Role, u16) {
        let mut index = agent.0;
        for (role, count) in [(Role::L1, self.l1s), (Role::L2, self.l2s), (Role::L3, self.l3s), (Role::Tu, self.tus)] {
            if index < count {
                return (role, index);
            }
            index -= count;
        }
        (Role::Memory, index)
    }

    /// A short name for people: `L1.0`, `L2.3`, `Memory.1`.
    pub fn name(self, agent: AgentId) -> String {
        let (role, index) = self.role(agent);
        format!("{}.{index}", role.name())
    }
}

/// 2^64 over the golden ratio: products with it spread over all bits.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The agents to which one cache sends its requests, prepared for many lines ([`Topology::upstream`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Upstream {
    topology: Topology,
    cache: AgentId,
    /// Whether requests go straight to the home of their line.
    is_direct: bool,
    banks_per_module: u16,
    modules: Divisor,
    banks: Divisor,
    interleave: Divisor,
}

impl Upstream {
    /// Prepares the agents to which `cache` sends its requests.
    pub fn new(topology: Topology, cache: AgentId) -> Upstream {
        let at_l2 = topology.l3s == 0 || (topology.cpus..topology.l1s).contains(&cache.0);
        let divisor = |value: u16| Divisor::new(u32::from(value));
        Upstream {
            topology,
            cache,
            is_direct: at_l2 && topology.tu_of(cache).is_none(),
            banks_per_module: topology.banks_per_module(),
            modules: divisor(topology.modules()),
            banks: divisor(topology.banks_per_module()),
            interleave: Divisor::new(topology.interleave),
        }
    }

    /// The agent to which the cache sends its requests for `line`.
    #[inline]
    pub fn of(&self, line: LineAddr) -> AgentId {
        if !self.is_direct {
            return self.topology.upstream(self.cache, line);
        }
        let module = self.modules.remainder(line.0 >> self.topology.home_shift) as u16;
        let block = self.interleave.quotient(line.0) + self.topology.turn(line);
        let bank = self.banks.remainder(block) as u16;
        AgentId(self.topology.l1s + module * self.banks_per_module + bank)
    }
}

/// A divisor that is known long before it is needed. Powers of two divide by shifts and masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Divisor {
    value: u32,
    /// The exponent of a power of two.
    shift: Option<u8>,
    /// The bits of a remainder, for a power of two.
    mask: u32,
}

impl Divisor {
    /// Prepares to divide by `value`.
    pub const fn new(value: u32) -> Divisor {
        let shift = if value.is_power_of_two() { Some(value.trailing_zeros() as u8) } else { None };
        Divisor { value, shift, mask: value.wrapping_sub(1) }
    }

    /// The quotient of `number` and the divisor.
    #[inline]
    pub const fn quotient(self, number: u64) -> u64 {
        match self.shift {
            Some(shift) => number >> shift,
            None => number / self.value as u64,
        }
    }

    /// The remainder of `number` for the divisor.
    #[inline]
    pub const fn remainder(self, number: u64) -> u64 {
        match self.shift {
            Some(_) => number & self.mask as u64,
            None => number % self.value as u64,
        }
    }
}

/// `number / divisor`, by a shift where the divisor is a power of two.
#[inline]
fn quotient(number: u64, divisor: u64) -> u64 {
    if divisor.is_power_of_two() { number >> divisor.trailing_zeros() } else { number / divisor }
}

/// `number % divisor`, by a mask where the divisor is a power of two.
#[inline]
fn remainder(number: u64, divisor: u64) -> u64 {
    if divisor.is_power_of_two() { number & (divisor - 1) } else { number % divisor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_divide_whether_they_are_powers_of_two_or_not() {
        for value in 1..20 {
            let divisor = Divisor::new(value);
            for number in 0..100 {
                let parts = (divisor.quotient(number), divisor.remainder(number));
                assert_eq!(parts, (number / u64::from(value), number % u64::from(value)));
            }
        }
    }

    const FOUR_BY_FOUR: Topology = Topology { gpus: 4, gpms: 4, interleave: 4, ..Topology::one_gpu(32, 32) };

    const HASHED: Topology = Topology { gpms: 2, interleave: 4, is_hashed: true, ..Topology::one_gpu(4, 6) };

    #[test]
    fn hashed_banks_share_lines_evenly_and_give_each_a_number_of_its_own() {
        let lines = (0..2u64).flat_map(|module| (0..1200).map(move |line| LineAddr(module << 32 | line)));
        let places: std::collections::BTreeSet<(u16, u64)> =
            lines.map(|line| (HASHED.bank_of(line), HASHED.line_in_bank(line))).collect();
        assert_eq!(places.len(), 2400);
        assert_eq!(places.iter().map(|&(_, number)| number).max(), Some(399));
        let column: std::collections::BTreeSet<u16> = (0..32).map(|row| HASHED.bank_of(LineAddr(row * 12))).collect();
        assert_eq!(column.len(), 3, "lines of one column lie in all banks");
    }

    #[test]
    fn prepared_agents_are_those_of_the_topology() {
        let one = Topology { cpus: 1, ..Topology::one_gpu(4, 3) };
        let translated = Topology { l3s: 2, first_translated: AgentId(1), tus: 1, ..one };
        for topology in [one, translated, FOUR_BY_FOUR, HASHED] {
            for cache in (0..4).map(|index| topology.l1(index)) {
                let upstream = Upstream::new(topology, cache);
                for line in (0..64).map(|line| LineAddr((line << 32) | (line * 7))) {
                    assert_eq!(upstream.of(line), topology.upstream(cache, line));
                }
            }
        }
    }

    #[test]
    fn ids_are_dense_and_invertible() {
        let topology = Topology::one_gpu(3, 2);
        assert_eq!(topology.role(topology.l1(2)), (Role::L1, 2));
        assert_eq!(topology.role(topology.l2(1)), (Role::L2, 1));
        assert_eq!(topology.role(topology.memory(0)), (Role::Memory, 0));
        assert_eq!(topology.name(topology.home(LineAddr(5))), "L2.1");
    }

    #[test]
    fn compute_units_reach_the_last_cache_through_the_l2_and_cpu_cores_do_not() {
        let two = Topology { cpus: 1, ..Topology::one_gpu(2, 1) };
        let three = Topology { l3s: 1, first_translated: AgentId(1), tus: 1, ..two };
        let line = LineAddr(0);
        assert_eq!([0, 1].map(|cache| two.upstream(AgentId(cache), line)), [two.l2(0); 2]);
        assert_eq!(
            [0, 1, 2].map(|cache| three.upstream(AgentId(cache), line)),
            [three.l3(0), three.tu(0), three.l3(0)]
        );
        assert_eq!(three.beyond(AgentId(1), line), three.l2(0));
        assert_eq!(three.translated(0), three.l1(1));
        assert_eq!((three.role(three.tu(0)), three.agents()), ((Role::Tu, 0), 6));
    }

    #[test]
    fn every_l3_bank_serves_one_of_as_many_lines_in_a_row_as_there_are_banks() {
        let topology = Topology { l3s: 16, ..Topology::one_gpu(2, 16) };
        for first in [0, 16, 48, 1024] {
            let mut banks: Vec<AgentId> = (first..first + 16).map(|line| topology.llc(LineAddr(line))).collect();
            banks.sort_unstable();
            assert_eq!(banks, (0..16).map(|bank| topology.l3(bank)).collect::<Vec<_>>());
        }
        assert_eq!(
            [0, 16, 32, 48].map(|line| topology.llc(LineAddr(line))),
            [0, 4, 8, 12].map(|bank| topology.l3(bank))
        );
    }

    #[test]
    fn agents_lie_in_modules_and_modules_in_gpus() {
        let modules = [0, 1, 2, 31].map(|cache| FOUR_BY_FOUR.module_of(FOUR_BY_FOUR.l1(cache)));
        assert_eq!(modules, [0, 0, 1, 15]);
        assert_eq!(FOUR_BY_FOUR.module_of(FOUR_BY_FOUR.l2(31)), 15);
        assert_eq!(FOUR_BY_FOUR.gpu_of(7), 1);
    }

    #[test]
    fn a_line_has_one_home_and_a_home_in_every_gpu() {
        let line = LineAddr(6 << 32 | 13);
        assert_eq!(FOUR_BY_FOUR.home_module(line), 6);
        assert_eq!([0, 1, 2, 3].map(|gpu| FOUR_BY_FOUR.gpu_home_module(gpu, line)), [2, 6, 10, 14]);
        assert_eq!(FOUR_BY_FOUR.bank_in_module(line), 1);
        assert_eq!(FOUR_BY_FOUR.home(line), FOUR_BY_FOUR.l2(13));
    }

    #[test]
    fn the_lines_of_a_bank_are_numbered_without_gaps() {
        let home = |line: u64| FOUR_BY_FOUR.bank_of(LineAddr(3 << 32 | line));
        let mut numbers: Vec<u64> = (0..64)
            .filter(|&line| home(line) == home(0))
            .map(|line| FOUR_BY_FOUR.line_in_bank(LineAddr(3 << 32 | line)))
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..32).collect::<Vec<u64>>());
    }
}
