//! Sizes and bandwidths that follow from a configuration, each with its calculation.

use crate::config::{DramModel, SystemConfig};
use crate::geometry::tick_mhz;
use crate::networks::{Link, Mesh, NetworkKind};

/// A figure that no file states because other values determine it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// The name of the quantity.
    pub name: &'static str,
    /// The value with its unit.
    pub value: String,
    /// The calculation, in keys of the configuration.
    pub how: String,
}

fn figure(name: &'static str, value: impl ToString, how: impl Into<String>) -> Derived {
    Derived { name, value: value.to_string(), how: how.into() }
}

/// The derived figures of a machine, from the cores outwards.
pub fn derived(config: &SystemConfig) -> Vec<Derived> {
    [
        compute(config),
        caches(config),
        directory(config),
        links(config),
        network(config),
        last_level(config),
        memory(config),
        clocks(config),
    ]
    .concat()
}

fn compute(config: &SystemConfig) -> Vec<Derived> {
    let core = &config.core;
    let hierarchy = &config.hierarchy;
    let modules = hierarchy.modules();
    let cores = u64::from(modules) * u64::from(core.count);
    let wavefronts = cores * u64::from(core.wavefronts);
    let resident = u64::from(core.wavefronts) * u64::from(core.lanes);
    vec![
        figure(
            "modules",
            modules,
            format!("hierarchy.gpus x hierarchy.gpms = {} x {}", hierarchy.gpus, hierarchy.gpms),
        ),
        figure("compute units", cores, format!("modules x core.count = {modules} x {}", core.count)),
        figure(
            "wavefront slots",
            wavefronts,
            format!("compute units x core.wavefronts = {cores} x {}", core.wavefronts),
        ),
        figure(
            "threads",
            wavefronts * u64::from(core.lanes),
            format!("compute units x core.wavefronts x core.lanes = {cores} x {} x {}", core.wavefronts, core.lanes),
        ),
        figure(
            "registers per thread at full occupancy",
            u64::from(core.registers) / resident.max(1),
            format!("core.registers / (core.wavefronts x core.lanes) = {} / {resident}, rounded down", core.registers),
        ),
    ]
}

fn caches(config: &SystemConfig) -> Vec<Derived> {
    let (l1, l2) = (&config.l1, &config.l2);
    let modules = u64::from(config.hierarchy.modules());
    let l1_bytes = modules * u64::from(config.core.count) * u64::from(l1.size_bytes);
    let l2_bytes = modules * u64::from(l2.banks) * u64::from(l2.bank_bytes);
    vec![
        figure("L1 sets", sets(l1.size_bytes, l1.ways, l1.line_bytes), "l1.size_bytes / (l1.ways x l1.line_bytes)"),
        figure(
            "L2 sets per bank",
            sets(l2.bank_bytes, l2.ways, l1.line_bytes),
            "l2.bank_bytes / (l2.ways x l1.line_bytes)",
        ),
        figure(
            "aggregate L1",
            bytes(l1_bytes),
            format!(
                "modules x core.count x l1.size_bytes = {modules} x {} x {}",
                config.core.count,
                bytes(l1.size_bytes.into())
            ),
        ),
        figure(
            "aggregate L2",
            bytes(l2_bytes),
            format!("modules x l2.banks x l2.bank_bytes = {modules} x {} x {}", l2.banks, bytes(l2.bank_bytes.into())),
        ),
        figure(
            "L2 : L1 capacity",
            format!("{:.2}", l2_bytes as f64 / l1_bytes.max(1) as f64),
            "aggregate L2 / aggregate L1",
        ),
    ]
}

/// Figures of the directory. A machine of one module has none, since nothing is remote there.
fn directory(config: &SystemConfig) -> Vec<Derived> {
    let Some(directory) = config.directory.as_ref().filter(|_| config.hierarchy.modules() > 1) else {
        return Vec::new();
    };
    let reach = u64::from(directory.entries) * u64::from(directory.lines_per_entry);
    vec![
        figure(
            "directory sets per bank",
            directory.entries / config.l2.banks.max(1) / directory.ways.max(1),
            "directory.entries / (l2.banks x directory.ways)",
        ),
        figure(
            "directory reach per module",
            bytes(reach * u64::from(config.l1.line_bytes)),
            format!(
                "directory.entries x directory.lines_per_entry x l1.line_bytes = {reach} x {}",
                config.l1.line_bytes
            ),
        ),
    ]
}

/// Figures of the links between modules and between GPUs, where there are several.
fn links(config: &SystemConfig) -> Vec<Derived> {
    let (gpus, gpms) = (config.hierarchy.gpus, config.hierarchy.gpms);
    let modules = config.inter_gpm.as_ref().filter(|_| gpms > 1).map(|link| {
        let formula = format!("hierarchy.gpms x 2 directions x inter_gpm.megabytes_per_second, with {gpms} modules");
        links_of("links between modules, per GPU", link, gpms, formula)
    });
    let devices = config.inter_gpu.as_ref().filter(|_| gpus > 1).map(|link| {
        let formula = format!("hierarchy.gpus x 2 directions x inter_gpu.megabytes_per_second, with {gpus} GPUs");
        links_of("links between GPUs, in all", link, gpus, formula)
    });
    modules.into_iter().chain(devices).collect()
}

/// The bandwidth of all links of a network. `formula` holds where every node has one port in each direction.
fn links_of(name: &'static str, link: &Link, nodes: u32, formula: String) -> Derived {
    if !link.kind.is_routed() {
        return figure(name, gigabytes_per_second([nodes, 2, link.megabytes_per_second]), formula);
    }
    let pairs = link.kind.ports(nodes) / 2;
    figure(
        name,
        gigabytes_per_second([pairs, 2, link.megabytes_per_second]),
        format!("{pairs} links of the {} x 2 directions x megabytes_per_second", link.kind.name()),
    )
}

fn network(config: &SystemConfig) -> Vec<Derived> {
    let network = &config.network;
    let data_flits = config.l1.line_bytes.div_ceil(network.flit_bytes.max(1));
    let mut figures = network.mesh().map_or_else(|| crossbars(config), mesh);
    figures.push(figure(
        "flits of a whole line",
        1 + u64::from(data_flits),
        format!("one header flit + l1.line_bytes / network.flit_bytes = 1 + {data_flits}"),
    ));
    figures
}

fn crossbars(config: &SystemConfig) -> Vec<Derived> {
    let NetworkKind::Crossbar(_) = config.network.kind else { return Vec::new() };
    let network = &config.network;
    let ports = config.core.count.min(config.l2.banks);
    vec![figure(
        "crossbar peak per direction",
        gigabytes_per_second([ports, network.flit_bytes, config.clocks.network_mhz]),
        format!(
            "min(core.count, l2.banks) x network.flit_bytes x clocks.network_mhz = {ports} x {} B x {} MHz",
            network.flit_bytes, config.clocks.network_mhz
        ),
    )]
}

fn mesh(mesh: &Mesh) -> Vec<Derived> {
    let width = mesh.width;
    vec![
        figure("tiles", width * width, format!("network.width x network.width = {width} x {width}")),
        figure(
            "network cycles of a leg",
            format!("{} to {}", mesh.latency_cycles, mesh.latency_cycles + mesh.diameter_cycles),
            "network.latency_cycles, and with network.diameter_cycles from corner to corner",
        ),
    ]
}

/// Figures of the L3. A machine without an L3 has none.
fn last_level(config: &SystemConfig) -> Vec<Derived> {
    let Some(l3) = &config.l3 else { return Vec::new() };
    let slices = config.hierarchy.modules() * config.l2.banks;
    let mut figures = vec![
        figure(
            "aggregate L3",
            bytes(u64::from(slices) * u64::from(l3.bank_bytes)),
            format!("modules x l2.banks x l3.bank_bytes = {slices} x {}", bytes(l3.bank_bytes.into())),
        ),
        figure(
            if config.has_coherent_l3() { "L3 sets per bank" } else { "L3 sets per slice" },
            sets(l3.bank_bytes, l3.ways, config.l1.line_bytes),
            "l3.bank_bytes / (l3.ways x l1.line_bytes)",
        ),
    ];
    figures.extend(config.memory_side_l3().map(|(_, way)| {
        figure(
            "L2 to L3 peak per direction",
            gigabytes_per_second([slices, way.bytes_per_cycle, config.clocks.core_mhz]),
            format!(
                "modules x l2.banks x l3.bytes_per_cycle x clocks.core_mhz = {slices} x {} B x {} MHz",
                way.bytes_per_cycle, config.clocks.core_mhz
            ),
        )
    }));
    figures
}

fn memory(config: &SystemConfig) -> Vec<Derived> {
    let dram = &config.dram;
    let channels = config.hierarchy.modules() * config.l2.banks;
    let mut figures = vec![
        figure("DRAM channels", channels, "one beside each bank of the last cache: modules x l2.banks"),
        figure(
            "DRAM peak",
            gigabytes_per_second([channels, dram.bytes_per_cycle, config.clocks.dram_mhz]),
            format!(
                "modules x l2.banks x dram.bytes_per_cycle x clocks.dram_mhz = {channels} x {} B x {} MHz",
                dram.bytes_per_cycle, config.clocks.dram_mhz
            ),
        ),
        figure(
            "DRAM cycles of a line",
            config.l1.line_bytes.div_ceil(dram.bytes_per_cycle.max(1)),
            "l1.line_bytes / dram.bytes_per_cycle, rounded up",
        ),
    ];
    if let DramModel::Gddr5(gddr5) = &dram.model {
        let lines = gddr5.row_bytes / config.l1.line_bytes.max(1);
        figures.push(figure("lines per DRAM row", lines, "dram.row_bytes / l1.line_bytes"));
    }
    figures
}

fn clocks(config: &SystemConfig) -> Vec<Derived> {
    let SystemConfig { clocks, cpu, .. } = config;
    let tick = tick_mhz(clocks, config.core.issue_width(), cpu.as_ref());
    let ticks = |mhz: u32| tick / u64::from(mhz.max(1));
    let (core, network) = (ticks(clocks.core_mhz), ticks(clocks.network_mhz));
    let (l2, dram) = (ticks(clocks.l2_mhz), ticks(clocks.dram_mhz));
    let of_cpu = cpu.as_ref().map_or_else(String::new, |cpu| format!(", CPU {}", ticks(cpu.clock_mhz)));
    vec![
        figure("tick frequency", format!("{tick} MHz"), "least common multiple of the clocks"),
        figure(
            "ticks per cycle",
            format!("core {core}, network {network}, L2 {l2}, DRAM {dram}{of_cpu}"),
            "tick frequency / each clock",
        ),
    ]
}

fn sets(size_bytes: u32, ways: u32, line_bytes: u32) -> u64 {
    u64::from(size_bytes) / (u64::from(ways) * u64::from(line_bytes)).max(1)
}

/// Bytes in the largest binary unit that divides them.
fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.into_iter().find(|&(unit, _)| count >= unit && count.is_multiple_of(unit)) {
        Some((unit, name)) => format!("{} {name}", count / unit),
        None => format!("{count} B"),
    }
}

/// The product of a count, bytes per cycle and MHz. A GB is a thousand million bytes, as in the papers.
fn gigabytes_per_second(factors: [u32; 3]) -> String {
    format!("{:.1} GB/s", factors.into_iter().map(f64::from).product::<f64>() / 1000.0)
}
