//! Which sizes and counts make a machine that can exist.
//!
//! Upper bounds have two purposes. Every product of sizes, counts and cycles stays within the integers that the
//! simulator computes with. A mistyped number does not ask for more memory than there is.

mod networks;

use networks::{check_link, check_network};

use crate::config::{
    Clocks, CommandProcessor, Core, CpuCores, Directory, Dram, DramModel, Gddr5, Hierarchy, L1, L2, L3, L3Kind, Memory,
    MemorySide, SystemConfig, Tu, Watchdog, WorkGroupOrder,
};
use crate::energy::{AccessEnergy, Energy};
use crate::fences::Fences;
use crate::instructions::Instructions;
use crate::networks::NetworkKind;

/// Most modules of a machine: one bit each in a 64-bit word.
const MODULES_MAX: u32 = 64;
/// Most caches of one level in the whole machine, so that all agents have 16-bit names.
const AGENTS_MAX: u32 = 4096;
/// Fewest miss registers of a bank on a machine of several modules: one for its own compute units, one for its GPU, and
/// one for other GPUs.
const MODULES_MSHRS_MIN: u32 = 3;
/// Most lines of a directory entry.
const LINES_PER_ENTRY_MAX: u32 = 8;
/// Most lines in a row that one bank serves.
const INTERLEAVE_LINES_MAX: u32 = 4096;
/// Largest page. A page has at least a line, and at most the bytes that one entry of the largest TLB covers.
const PAGE_BYTES_MAX: u32 = 1 << 30;

/// The least alignment of buffers.
const ALIGNMENT_BYTES_MIN: u32 = 256;
/// The width of a wavefront that kernels are written for.
const LANES: u32 = 32;
/// Most wavefronts of a core: one bit each in a 64-bit word.
const WAVEFRONTS_MAX: u32 = 64;
/// Most banks of a private cache.
const L1_BANKS_MAX: u32 = 64;
/// Most sectors of a line: one bit each in a byte.
const SECTORS_MAX: u32 = 8;
/// Most ways of a set: the recency of a line is a byte.
const WAYS_MAX: u32 = 256;
/// Least room at a DRAM channel: a miss sends a write-back and a fetch.
const DRAM_QUEUE_MIN: u32 = 2;
/// Bound on whatever exists once per core, bank or set.
const COUNT_MAX: u32 = 1024;
/// Bound on queues, buffers and MSHRs.
const ENTRIES_MAX: u32 = 65_536;
/// Most instructions that a compute unit issues in a cycle.
const ISSUE_MAX: u32 = 8;
/// Bound on what an instruction costs, in cycles or hundredths of instructions.
const COST_MAX: u32 = 10_000;
/// Bound on a latency in cycles.
const LATENCY_CYCLES_MAX: u32 = 1_000_000;
/// Bound on a DRAM timing parameter in cycles.
const TIMING_CYCLES_MAX: u32 = 10_000;
/// Most core cycles by which memory latency varies: far more than machines show.
const JITTER_CYCLES_MAX: u32 = 1_000;
/// Line sizes: two words for hand-made cases, and the line sizes of GPUs.
const LINE_BYTES: [u32; 3] = [8, 64, 128];
/// The least common multiple of the clocks stays below this, so that a cycle is never more than a million ticks.
const TICK_MHZ_END: u64 = 1_000_000;
/// Bound on the watchdog: with a million ticks to a cycle, time still fits 64 bits.
const WATCHDOG_CYCLES_MAX: u64 = 1_000_000_000_000;
/// Bound on an energy constant, so that sums stay finite.
const ENERGY_MAX: f64 = 1e12;
/// Longest name of a system.
const NAME_CHARS_MAX: usize = 64;

/// A value with which no machine can exist.
#[derive(Debug)]
pub(crate) struct Violation {
    /// The key whose value is impossible.
    pub(crate) key: String,
    /// The value of the key.
    pub(crate) given: String,
    /// The values that are accepted instead.
    pub(crate) accepted: String,
    /// The other keys that decide what is accepted.
    pub(crate) depends_on: &'static [&'static str],
}

type Check = Result<(), Violation>;

/// Checks a whole machine and reports its first violation in the order of the schema.
pub(crate) fn check(config: &SystemConfig) -> Check {
    check_names(config)?;
    check_hierarchy(&config.hierarchy)?;
    let modules = config.hierarchy.modules();
    check_clocks(&config.clocks)?;
    check_core(&config.core, modules)?;
    check_issue(config)?;
    check_cpu(config)?;
    check_l1(&config.l1, &config.core, config.cpus())?;
    check_l2(&config.l2, config.l1.line_bytes, modules)?;
    check_tables(config)?;
    if let Some(directory) = &config.directory {
        check_directory(directory, &config.l2)?;
        check_range(config, directory)?;
    }
    check_network(&config.network)?;
    check_tu(&config.tu)?;
    check_link("inter_gpm", config.inter_gpm.as_ref(), config.hierarchy.gpms)?;
    check_link("inter_gpu", config.inter_gpu.as_ref(), config.hierarchy.gpus)?;
    check_memory(&config.memory, config.l1.line_bytes)?;
    if let Some(l3) = &config.l3 {
        check_l3(l3, &config.l2, config.l1.line_bytes)?;
        check_coherent_l3(config)?;
    }
    check_dram(&config.dram, config.l1.line_bytes)?;
    check_fetch(config)?;
    if let Some(timing) = &config.timing {
        between("timing.jitter", timing.jitter, 0, JITTER_CYCLES_MAX)?;
    }
    check_command_processor(&config.command_processor)?;
    check_energy(&config.energy)?;
    config.access_energy.as_ref().map_or(Ok(()), check_access_energy)?;
    check_watchdog(&config.watchdog)
}

/// The tick of the simulator: the least common multiple of the clocks. The clock of CPU cores counts where there are
/// any, and a compute unit that issues several instructions in a cycle issues one in a part of it.
pub(crate) fn tick_mhz(clocks: &Clocks, issue_width: u32, cpu: Option<&CpuCores>) -> u64 {
    [clocks.core_mhz, clocks.network_mhz, clocks.l2_mhz, clocks.dram_mhz]
        .into_iter()
        .chain(cpu.map(|cpu| cpu.clock_mhz))
        .fold(u64::from(clocks.core_mhz) * u64::from(issue_width), |tick, mhz| lcm(tick, mhz.into()))
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor.max(1)).saturating_mul(b)
}

fn require(holds: bool, key: &str, given: impl ToString, accepted: impl Into<String>) -> Check {
    require_with(holds, key, given, accepted, &[])
}

fn require_with(
    holds: bool,
    key: &str,
    given: impl ToString,
    accepted: impl Into<String>,
    depends_on: &'static [&'static str],
) -> Check {
    if holds {
        return Ok(());
    }
    Err(Violation { key: key.to_owned(), given: given.to_string(), accepted: accepted.into(), depends_on })
}

fn between(key: &str, value: u32, min: u32, max: u32) -> Check {
    require((min..=max).contains(&value), key, value, format!("{min} to {max}"))
}

fn power_of_two(key: &'static str, value: u32, max: u32) -> Check {
    let holds = value.is_power_of_two() && value <= max;
    require(holds, key, value, format!("a power of two from 1 to {max}"))
}

fn check_names(config: &SystemConfig) -> Check {
    let kebab = |name: &str| {
        !name.is_empty()
            && name.len() <= NAME_CHARS_MAX
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let accepted = format!("1 to {NAME_CHARS_MAX} lower-case letters, digits and hyphens");
    require(kebab(&config.name), "name", format!("{:?}", config.name), accepted)?;
    for (key, line) in [("title", &config.title), ("source", &config.source)] {
        let one_line = !line.trim().is_empty() && !line.contains(char::is_control);
        require(one_line, key, format!("{line:?}"), "one line of text")?;
    }
    Ok(())
}

fn check_clocks(clocks: &Clocks) -> Check {
    const KEYS: &[&str] = &["clocks.core_mhz", "clocks.network_mhz", "clocks.l2_mhz", "clocks.dram_mhz"];
    let mut tick = 1;
    for (&key, mhz) in KEYS.iter().zip([clocks.core_mhz, clocks.network_mhz, clocks.l2_mhz, clocks.dram_mhz]) {
        require(mhz >= 1, key, mhz, "1 MHz or more")?;
        tick = lcm(tick, mhz.into());
        let accepted = format!(
            "a frequency whose least common multiple with the clocks before it is below {TICK_MHZ_END} MHz (it is {tick})"
        );
        require_with(tick < TICK_MHZ_END, key, mhz, accepted, KEYS)?;
    }
    Ok(())
}

fn check_hierarchy(hierarchy: &Hierarchy) -> Check {
    between("hierarchy.gpus", hierarchy.gpus, 1, MODULES_MAX)?;
    let max = MODULES_MAX / hierarchy.gpus;
    let gpus = hierarchy.gpus;
    let accepted =
        format!("1 to {max}, so that hierarchy.gpus x hierarchy.gpms = {gpus} x gpms is at most {MODULES_MAX}");
    require_with((1..=max).contains(&hierarchy.gpms), "hierarchy.gpms", hierarchy.gpms, accepted, &["hierarchy.gpus"])
}

/// Checks that a machine of several modules says what joins them.
fn check_tables(config: &SystemConfig) -> Check {
    let Hierarchy { gpus, gpms } = config.hierarchy;
    let require = |holds: bool, key: &str, given: u32, table: &str| {
        let accepted = format!("1 without the table [{table}], which machines with more of them have");
        require_with(holds, key, given, accepted, &["hierarchy.gpus", "hierarchy.gpms"])
    };
    require(gpus == 1 || config.inter_gpu.is_some(), "hierarchy.gpus", gpus, "inter_gpu")?;
    require(gpms == 1 || config.inter_gpm.is_some(), "hierarchy.gpms", gpms, "inter_gpm")?;
    let several = if gpus > 1 { ("hierarchy.gpus", gpus) } else { ("hierarchy.gpms", gpms) };
    require(several.1 == 1 || config.directory.is_some(), several.0, several.1, "directory")
}

/// Bounds the agents of all modules together, which are named with 16 bits.
fn check_agents(key: &'static str, per_module: u32, modules: u32) -> Check {
    let max = AGENTS_MAX / modules.max(1);
    let accepted = format!("at most {max}, so that {modules} modules have at most {AGENTS_MAX}");
    require_with(per_module <= max, key, per_module, accepted, &["hierarchy.gpus", "hierarchy.gpms"])
}

fn check_core(core: &Core, modules: u32) -> Check {
    between("core.count", core.count, 1, COUNT_MAX)?;
    check_agents("core.count", core.count, modules)?;
    between("core.wavefronts", core.wavefronts, 1, WAVEFRONTS_MAX)?;
    require(core.lanes == LANES, "core.lanes", core.lanes, format!("{LANES}, the width that kernels are written for"))?;
    require(core.registers >= 1, "core.registers", core.registers, "1 or more")?;
    between("core.work_groups", core.work_groups, 1, COUNT_MAX)?;
    between("core.loads_in_flight", core.loads_in_flight, 1, COUNT_MAX)?;
    between("core.lsu_queue", core.lsu_queue, 1, ENTRIES_MAX)?;
    between("core.lds_latency_cycles", core.lds_latency_cycles, 0, LATENCY_CYCLES_MAX)?;
    between("core.launch_latency_cycles", core.launch_latency_cycles, 0, LATENCY_CYCLES_MAX)?;
    between("core.store_buffer_entries", core.store_buffer_entries, 0, ENTRIES_MAX)
}

/// Checks the number of instructions of a cycle, and what instructions cost.
fn check_issue(config: &SystemConfig) -> Check {
    let width = config.core.issue_width();
    between("core.issue_per_cycle", width, 1, ISSUE_MAX)?;
    let tick = tick_mhz(&config.clocks, width, None);
    let accepted = format!(
        "a number with which the least common multiple of clocks.core_mhz x core.issue_per_cycle and the other clocks \
         is below {TICK_MHZ_END} MHz (it is {tick})"
    );
    require_with(tick < TICK_MHZ_END, "core.issue_per_cycle", width, accepted, &["clocks.core_mhz"])?;
    let instructions = config.instructions.iter().flat_map(Instructions::keys).map(|key| ("instructions", key));
    let mut costs = instructions.chain(config.fences.iter().flat_map(Fences::keys).map(|key| ("fences", key)));
    costs.try_for_each(|(table, (key, value))| between(&format!("{table}.{key}"), value, 0, COST_MAX))?;
    between("l1.atomic_percent", config.l1.atomic_percent.unwrap_or(100), 1, COST_MAX)?;
    between("l2.atomic_percent", config.l2.atomic_percent.unwrap_or(100), 1, COST_MAX)?;
    between("l2.repeat_percent", config.l2.repeat_percent.unwrap_or(100), 1, COST_MAX)?;
    between("l2.store_percent", config.l2.store_percent.unwrap_or(100), 1, COST_MAX)?;
    between("l1.sectors_in_flight", config.l1.sectors_in_flight.unwrap_or(1), 1, ENTRIES_MAX)?;
    between("core.barrier_cycles", config.core.barrier_cycles.unwrap_or(0), 0, COST_MAX)?;
    between("core.barrier_wave_cycles", config.core.barrier_wave_cycles.unwrap_or(0), 0, COST_MAX)?;
    let started = config.core.work_groups_per_1000_cycles.unwrap_or(1);
    between("core.work_groups_per_1000_cycles", started, 1, ENTRIES_MAX)?;
    let in_turn = config.core.work_group_order == Some(WorkGroupOrder::InTurn);
    require_with(
        !in_turn || config.hierarchy.gpus == 1,
        "core.work_group_order",
        "`in-turn`",
        "`blocks`, since programs know which GPU has which block of work-groups",
        &["hierarchy.gpus"],
    )
}

/// Checks the CPU cores, which share the network of the machine's only module.
fn check_cpu(config: &SystemConfig) -> Check {
    let Some(cpu) = &config.cpu else { return Ok(()) };
    let modules = config.hierarchy.modules();
    between("cpu.count", cpu.count, 1, COUNT_MAX)?;
    let accepted = format!(
        "no table [cpu], since hierarchy.gpus x hierarchy.gpms is {modules} and CPU cores share the network of one module"
    );
    require_with(modules == 1, "cpu.count", cpu.count, accepted, &["hierarchy.gpus", "hierarchy.gpms"])?;
    require(cpu.clock_mhz >= 1, "cpu.clock_mhz", cpu.clock_mhz, "1 MHz or more")?;
    let tick = tick_mhz(&config.clocks, config.core.issue_width(), Some(cpu));
    let accepted =
        format!("a frequency whose least common multiple with the clocks is below {TICK_MHZ_END} MHz (it is {tick})");
    require_with(tick < TICK_MHZ_END, "cpu.clock_mhz", cpu.clock_mhz, accepted, &["cpu.count"])?;
    between("cpu.store_buffer_entries", cpu.store_buffer_entries, 0, ENTRIES_MAX)
}

fn check_l1(l1: &L1, core: &Core, cpus: u32) -> Check {
    let line = l1.line_bytes;
    require(LINE_BYTES.contains(&line), "l1.line_bytes", line, "8, 64 or 128")?;
    between("l1.ways", l1.ways, 1, WAYS_MAX)?;
    check_capacity("l1.size_bytes", l1.size_bytes, ("l1.ways", l1.ways), line, &["l1.ways", "l1.line_bytes"])?;
    let cores = match cpus {
        0 => ("core.count", core.count),
        cpus => ("core.count + cpu.count", core.count + cpus),
    };
    check_total("l1.size_bytes", l1.size_bytes, cores, &["core.count", "cpu.count"])?;
    between("l1.banks", l1.banks, 1, L1_BANKS_MAX)?;
    between("l1.mshrs", l1.mshrs, 1, ENTRIES_MAX)?;
    between("l1.latency_cycles", l1.latency_cycles, 1, LATENCY_CYCLES_MAX)?;
    let sector = l1.sector_bytes.unwrap_or(line);
    let holds = sector.is_power_of_two() && sector <= line && line <= sector.saturating_mul(SECTORS_MAX);
    let accepted = format!("a power of two from {} to {line}", line.div_ceil(SECTORS_MAX));
    require_with(holds, "l1.sector_bytes", sector, accepted, &["l1.line_bytes"])
}

fn check_l2(l2: &L2, line_bytes: u32, modules: u32) -> Check {
    between("l2.banks", l2.banks, 1, COUNT_MAX)?;
    check_agents("l2.banks", l2.banks, modules)?;
    power_of_two("l2.interleave_lines", l2.interleave_lines, INTERLEAVE_LINES_MAX)?;
    between("l2.ways", l2.ways, 1, WAYS_MAX)?;
    check_capacity("l2.bank_bytes", l2.bank_bytes, ("l2.ways", l2.ways), line_bytes, &["l2.ways", "l1.line_bytes"])?;
    check_total("l2.bank_bytes", l2.bank_bytes, ("l2.banks", l2.banks), &["l2.banks"])?;
    // With fewer, misses that wait for other modules could hold all the registers that these modules wait for.
    let mshrs_min = if modules == 1 { 1 } else { MODULES_MSHRS_MIN };
    between("l2.mshrs", l2.mshrs, mshrs_min, ENTRIES_MAX)?;
    between("l2.tag_latency_cycles", l2.tag_latency_cycles, 1, LATENCY_CYCLES_MAX)?;
    between("l2.data_latency_cycles", l2.data_latency_cycles, 0, LATENCY_CYCLES_MAX)
}

/// Checks the range of directory entries. On one module nothing is remote, and no directory is used.
fn check_range(config: &SystemConfig, directory: &Directory) -> Check {
    let (l2, line_bytes) = (&config.l2, config.l1.line_bytes);
    let range_bytes = directory.range_bytes(line_bytes);
    let lines = range_bytes / line_bytes;
    let most = u64::from(l2.interleave_lines) * u64::from(line_bytes);
    require_with(
        config.hierarchy.modules() == 1 || l2.banks == 1 || lines <= l2.interleave_lines,
        "directory.range",
        format!("{range_bytes} bytes"),
        format!(
            "at most l2.interleave_lines x l1.line_bytes = {} x {line_bytes} = {most}, since an entry belongs to one of the l2.banks = {}; \
             --set l2.interleave_lines={lines} makes room for it",
            l2.interleave_lines, l2.banks
        ),
        &["l1.line_bytes", "l2.interleave_lines", "l2.banks"],
    )
}

fn check_directory(directory: &Directory, l2: &L2) -> Check {
    between("directory.ways", directory.ways, 1, WAYS_MAX)?;
    power_of_two("directory.lines_per_entry", directory.lines_per_entry, LINES_PER_ENTRY_MAX)?;
    require_with(
        l2.banks == 1 || directory.lines_per_entry <= l2.interleave_lines,
        "directory.lines_per_entry",
        directory.lines_per_entry,
        format!(
            "at most l2.interleave_lines = {}, since an entry belongs to one of the l2.banks = {}",
            l2.interleave_lines, l2.banks
        ),
        &["l2.interleave_lines", "l2.banks"],
    )?;
    let set = u64::from(directory.ways) * u64::from(l2.banks);
    require_with(
        directory.entries > 0 && u64::from(directory.entries).is_multiple_of(set),
        "directory.entries",
        directory.entries,
        format!("a multiple of directory.ways x l2.banks = {} x {} = {set}", directory.ways, l2.banks),
        &["directory.ways", "l2.banks"],
    )
}

fn check_memory(memory: &Memory, line_bytes: u32) -> Check {
    power_of_two("memory.page_bytes", memory.page_bytes, PAGE_BYTES_MAX)?;
    require_with(
        memory.page_bytes >= line_bytes,
        "memory.page_bytes",
        memory.page_bytes,
        format!("at least l1.line_bytes = {line_bytes}"),
        &["l1.line_bytes"],
    )?;
    power_of_two("memory.alignment_bytes", memory.alignment_bytes, PAGE_BYTES_MAX)?;
    require(
        memory.alignment_bytes >= ALIGNMENT_BYTES_MIN,
        "memory.alignment_bytes",
        memory.alignment_bytes,
        "256 or more, so that two buffers never share a line",
    )
}

/// Checks that a cache has a whole number of sets.
fn check_capacity(
    key: &'static str,
    size_bytes: u32,
    (ways_key, ways): (&str, u32),
    line_bytes: u32,
    depends_on: &'static [&'static str],
) -> Check {
    let set_bytes = u64::from(ways) * u64::from(line_bytes);
    let whole = size_bytes > 0 && u64::from(size_bytes).is_multiple_of(set_bytes);
    let accepted = format!("a multiple of {ways_key} x l1.line_bytes = {ways} x {line_bytes} = {set_bytes}");
    require_with(whole, key, size_bytes, accepted, depends_on)
}

/// Checks the capacity of all caches of a level together, which is counted with 32 bits.
fn check_total(
    key: &'static str,
    size_bytes: u32,
    (count_key, count): (&str, u32),
    depends_on: &'static [&'static str],
) -> Check {
    let max = u32::MAX / count.max(1);
    let accepted = format!("at most {max}, so that {count_key} = {count} of them stay within {} bytes", u32::MAX);
    require_with(size_bytes <= max, key, size_bytes, accepted, depends_on)
}

fn check_tu(tu: &Tu) -> Check {
    between("tu.latency_cycles", tu.latency_cycles, 0, LATENCY_CYCLES_MAX)
}

/// Checks a coherent L3, which belongs to one module. Its banks talk to the banks of the L2, and a crossbar does not
/// connect banks with banks.
fn check_coherent_l3(config: &SystemConfig) -> Check {
    let modules = config.hierarchy.modules();
    require_with(
        !config.has_coherent_l3() || modules == 1,
        "l3.kind",
        "coherent",
        format!("`memory-side` on machines of several modules; this one has {modules}"),
        &["hierarchy.gpus", "hierarchy.gpms"],
    )?;
    require_with(
        !config.has_coherent_l3() || !matches!(config.network.kind, NetworkKind::Crossbar(_)),
        "l3.kind",
        "coherent",
        format!("`memory-side` where network.kind is `{}`", config.network.kind.name()),
        &["network.kind"],
    )
}

fn check_l3(l3: &L3, l2: &L2, line_bytes: u32) -> Check {
    between("l3.ways", l3.ways, 1, WAYS_MAX)?;
    check_capacity("l3.bank_bytes", l3.bank_bytes, ("l3.ways", l3.ways), line_bytes, &["l3.ways", "l1.line_bytes"])?;
    check_total("l3.bank_bytes", l3.bank_bytes, ("l2.banks", l2.banks), &["l2.banks"])?;
    match &l3.kind {
        L3Kind::MemorySide(MemorySide { latency_cycles, bytes_per_cycle, write_policy: _ }) => {
            between("l3.latency_cycles", *latency_cycles, 1, LATENCY_CYCLES_MAX)?;
            between("l3.bytes_per_cycle", *bytes_per_cycle, 1, COUNT_MAX)
        }
        L3Kind::Coherent => Ok(()),
    }
}

fn check_command_processor(processor: &CommandProcessor) -> Check {
    between("command_processor.unicast_cycles", processor.unicast_cycles, 0, LATENCY_CYCLES_MAX)?;
    between("command_processor.broadcast_cycles", processor.broadcast_cycles, 0, LATENCY_CYCLES_MAX)?;
    between("command_processor.mhz", processor.mhz, 1, LATENCY_CYCLES_MAX)?;
    between("command_processor.memory_cycles", processor.memory_cycles, 0, LATENCY_CYCLES_MAX)?;
    between("command_processor.elide_ns", processor.elide_ns, 0, LATENCY_CYCLES_MAX)?;
    between("command_processor.rows", processor.rows, 1, ENTRIES_MAX)?;
    between("command_processor.structures_per_kernel", processor.structures_per_kernel, 1, COUNT_MAX)?;
    between("command_processor.sets", processor.sets, 1, COUNT_MAX)
}

fn check_dram(dram: &Dram, line_bytes: u32) -> Check {
    between("dram.bytes_per_cycle", dram.bytes_per_cycle, 1, COUNT_MAX)?;
    between("dram.queue", dram.queue, DRAM_QUEUE_MIN, ENTRIES_MAX)?;
    between("dram.latency_cycles", dram.latency_cycles, 0, LATENCY_CYCLES_MAX)?;
    match &dram.model {
        DramModel::Fixed => Ok(()),
        DramModel::Gddr5(gddr5) => check_gddr5(gddr5, line_bytes),
    }
}

/// Checks the part of a line that memory moves.
fn check_fetch(config: &SystemConfig) -> Check {
    let (line, sector) = (config.l1.line_bytes, config.l1.sector_bytes.unwrap_or(config.l1.line_bytes));
    let fetch = config.dram.fetch_bytes.unwrap_or(sector);
    require_with(
        fetch.is_power_of_two() && (sector..=line).contains(&fetch),
        "dram.fetch_bytes",
        fetch,
        format!("a power of two from {sector} to {line}"),
        &["l1.sector_bytes", "l1.line_bytes"],
    )
}

fn check_gddr5(gddr5: &Gddr5, line_bytes: u32) -> Check {
    between("dram.banks", gddr5.banks, 1, COUNT_MAX)?;
    require_with(
        gddr5.row_bytes > 0 && gddr5.row_bytes.is_multiple_of(line_bytes),
        "dram.row_bytes",
        gddr5.row_bytes,
        format!("a multiple of l1.line_bytes = {line_bytes}"),
        &["l1.line_bytes"],
    )?;
    let timing = &gddr5.timing;
    for (key, cycles) in [
        ("dram.timing.t_cl", timing.t_cl),
        ("dram.timing.t_rp", timing.t_rp),
        ("dram.timing.t_rc", timing.t_rc),
        ("dram.timing.t_ras", timing.t_ras),
        ("dram.timing.t_ccd", timing.t_ccd),
        ("dram.timing.t_wl", timing.t_wl),
        ("dram.timing.t_rcd", timing.t_rcd),
        ("dram.timing.t_rrd", timing.t_rrd),
        ("dram.timing.t_cdlr", timing.t_cdlr),
        ("dram.timing.t_wr", timing.t_wr),
        ("dram.timing.t_ccdl", timing.t_ccdl),
        ("dram.timing.t_rtpl", timing.t_rtpl),
    ] {
        between(key, cycles, 0, TIMING_CYCLES_MAX)?;
    }
    Ok(())
}

fn check_energy(energy: &Energy) -> Check {
    check_finite("energy.flit_pj", energy.flit_pj)?;
    check_finite("energy.vc_buffer_uw", energy.vc_buffer_uw)?;
    between("energy.vcs_per_network", energy.vcs_per_network, 1, COUNT_MAX)
}

fn check_access_energy(energy: &AccessEnergy) -> Check {
    for (key, value) in [
        ("access_energy.l1i_pj", energy.l1i_pj),
        ("access_energy.l1d_pj", energy.l1d_pj),
        ("access_energy.lds_pj", energy.lds_pj),
        ("access_energy.l2_pj", energy.l2_pj),
        ("access_energy.l1_l2_flit_pj", energy.l1_l2_flit_pj),
        ("access_energy.l2_l3_flit_pj", energy.l2_l3_flit_pj),
        ("access_energy.remote_flit_pj", energy.remote_flit_pj),
        ("access_energy.dram_pj", energy.dram_pj),
    ] {
        check_finite(key, value)?;
    }
    between("access_energy.l1i_instructions", energy.l1i_instructions, 1, COUNT_MAX)
}

fn check_finite(key: &'static str, value: f64) -> Check {
    require((0.0..=ENERGY_MAX).contains(&value), key, value, format!("a finite number from 0 to {ENERGY_MAX:e}"))
}

fn check_watchdog(watchdog: &Watchdog) -> Check {
    for (key, cycles) in [("watchdog.idle_cycles", watchdog.idle_cycles), ("watchdog.cycles", watchdog.cycles)] {
        require((1..=WATCHDOG_CYCLES_MAX).contains(&cycles), key, cycles, format!("1 to {WATCHDOG_CYCLES_MAX}"))?;
    }
    Ok(())
}
