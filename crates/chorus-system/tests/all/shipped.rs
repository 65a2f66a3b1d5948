//! Are the shipped systems complete, sourced, and the machines that their papers describe?

use std::path::PathBuf;

use chorus_system::{
    Directory, DirectoryReplacement, DramModel, Entry, Link, LinkKind, NetworkKind, Origin, Placement, Replacement,
    SYSTEMS, Scale, Scheduler, SystemConfig, WritePolicy, derived, entries, resolve, resolve_text, scales,
};

fn systems_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../systems")
}

fn tc(scale: Scale, overrides: &[&str]) -> chorus_system::Resolved {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    resolve("tc", scale, &overrides).expect("the shipped system resolves")
}

fn entry(scale: Scale, overrides: &[&str], key: &str) -> Entry {
    entries(&tc(scale, overrides)).into_iter().find(|entry| entry.key == key).expect("the key has an entry")
}

#[test]
fn every_shipped_system_resolves_at_each_of_its_scales_and_its_text_reads_back() {
    for shipped in SYSTEMS {
        for scale in scales(shipped.name).unwrap_or_else(|error| panic!("{error}")) {
            let resolved = resolve(shipped.name, scale, &[]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(resolved.config.name, shipped.name);
            assert_eq!(resolved.scale, scale);
            let text = format!("{}\n[scale.{scale}]\n", resolved.text);
            let read_back = resolve_text("resolved.toml", &text, scale, &[]).expect("the resolved text is a system");
            assert_eq!((read_back.config, read_back.hash), (resolved.config, resolved.hash));
        }
    }
}

#[test]
fn every_file_in_the_folder_is_shipped() {
    for file in std::fs::read_dir(systems_folder()).expect("the folder of systems can be listed") {
        let path = file.expect("a folder entry").path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a UTF-8 name");
        assert!(SYSTEMS.iter().any(|shipped| shipped.name == name), "{name} is not in SYSTEMS");
    }
}

#[test]
fn every_value_of_a_shipped_system_states_its_source_on_its_line() {
    for shipped in SYSTEMS {
        for (index, line) in shipped.text.lines().enumerate() {
            let Some((key, value)) = line.split_once(" = ") else { continue };
            if line.starts_with('#') || ["base", "name", "title", "source"].contains(&key) {
                continue;
            }
            let source = value.split_once(" # source: ").map(|(_, source)| source.trim()).unwrap_or_default();
            assert!(source.len() > 4, "systems/{}.toml:{}: `{key}` has no `# source:`", shipped.name, index + 1);
            let reasoned = !source.starts_with("not given") || source.starts_with("not given: ");
            assert!(reasoned, "systems/{}.toml:{}: `not given` without a reason", shipped.name, index + 1);
        }
    }
}

#[test]
fn the_machine_of_the_tc_paper_is_that_of_its_table_4() {
    let config = tc(Scale::Paper, &[]).config;
    assert_eq!((config.clocks.core_mhz, config.clocks.network_mhz), (1400, 700));
    assert_eq!((config.clocks.l2_mhz, config.clocks.dram_mhz), (700, 1400));
    assert_eq!((config.core.count, config.core.wavefronts, config.core.lanes), (16, 48, 32));
    assert_eq!((config.core.registers, config.core.lds_bytes), (32_768, 48 << 10));
    assert_eq!(config.core.scheduler, Scheduler::LooseRoundRobin);
    assert_eq!((config.l1.size_bytes, config.l1.ways, config.l1.line_bytes, config.l1.mshrs), (32 << 10, 4, 128, 128));
    assert_eq!((config.l2.banks, config.l2.bank_bytes, config.l2.ways, config.l2.mshrs), (8, 128 << 10, 8, 128));
    assert_eq!((config.l1.replacement, config.l2.replacement), (Replacement::Lru, Replacement::Lru));
    assert_eq!((config.network.flit_bytes, config.network.vc_buffer_flits), (32, 8));
    assert_eq!(config.dram.queue, 32);
    let DramModel::Gddr5(gddr5) = &config.dram.model else { panic!("{:?}", config.dram) };
    let timing = &gddr5.timing;
    assert_eq!((timing.t_cl, timing.t_rp, timing.t_rc, timing.t_ras, timing.t_ccd), (12, 12, 40, 28, 2));
    assert_eq!((timing.t_wl, timing.t_rcd, timing.t_rrd, timing.t_cdlr, timing.t_wr), (4, 12, 6, 5, 12));
    assert_eq!((timing.t_ccdl, timing.t_rtpl), (3, 2));
}

fn directory(config: &SystemConfig) -> &Directory {
    config.directory.as_ref().expect("the machine has a directory")
}

fn inter_gpm(config: &SystemConfig) -> &Link {
    config.inter_gpm.as_ref().expect("the machine has links between modules")
}

fn inter_gpu(config: &SystemConfig) -> &Link {
    config.inter_gpu.as_ref().expect("the machine has links between GPUs")
}

fn hmg(scale: Scale) -> SystemConfig {
    resolve("hmg", scale, &[]).expect("the shipped system resolves").config
}

#[test]
fn the_machine_of_the_hmg_paper_is_that_of_its_table_ii() {
    let config = hmg(Scale::Paper);
    assert_eq!((config.hierarchy.gpus, config.hierarchy.gpms, config.core.count), (4, 4, 32));
    assert_eq!((config.clocks.core_mhz, config.core.wavefronts), (1300, 64));
    assert_eq!((config.l1.size_bytes, config.l1.line_bytes), (128 << 10, 128));
    assert_eq!(config.hierarchy.gpms * config.l2.banks * config.l2.bank_bytes, 12 << 20);
    assert_eq!((config.l2.ways, config.memory.page_bytes), (16, 2 << 20));
    assert_eq!((directory(&config).entries, directory(&config).lines_per_entry), (12 << 10, 4));
    assert_eq!(config.memory.placement, Placement::FirstTouch);
    assert_eq!(config.hierarchy.gpms * inter_gpm(&config).megabytes_per_second * 2, 2_000_000);
    assert_eq!(inter_gpu(&config).megabytes_per_second * 2, 200_000);
    assert_eq!(inter_gpu(&config).latency_cycles(), 10 * inter_gpm(&config).latency_cycles());
}

#[test]
fn the_quick_scale_of_the_hmg_machine_is_a_sixteenth_of_every_module() {
    let (quick, paper) = (hmg(Scale::Quick), hmg(Scale::Paper));
    assert_eq!(quick.hierarchy, paper.hierarchy);
    let module = |config: &SystemConfig| {
        [
            config.core.count,
            config.l2.banks * config.l2.bank_bytes,
            directory(config).entries,
            inter_gpm(config).megabytes_per_second,
            inter_gpu(config).megabytes_per_second,
            config.l2.banks * config.dram.bytes_per_cycle,
        ]
    };
    assert_eq!(module(&quick).map(|value| value * 16), module(&paper));
    assert_eq!(inter_gpm(&quick).latency_cycles(), inter_gpm(&paper).latency_cycles());
}

fn rec(scale: Scale) -> SystemConfig {
    resolve("rec", scale, &[]).expect("the shipped system resolves").config
}

#[test]
fn the_machine_of_the_rec_paper_is_that_of_its_table_2() {
    let config = rec(Scale::Paper);
    assert_eq!((config.hierarchy.gpus, config.hierarchy.gpms, config.core.count), (4, 1, 64));
    assert_eq!((config.l1.size_bytes, config.l1.ways, config.l1.line_bytes), (16 << 10, 4, 64));
    assert_eq!((config.l2.banks * config.l2.bank_bytes, config.l2.banks, config.l2.ways), (2 << 20, 16, 16));
    assert_eq!((directory(&config).entries, directory(&config).ways), (8192, 8));
    assert_eq!(directory(&config).replacement, DirectoryReplacement::Own);
    assert_eq!((config.memory.page_bytes, config.memory.placement), (4096, Placement::Buffer));
    assert_eq!(inter_gpu(&config).megabytes_per_second * 2, 300_000);
}

/// The number of each thing in a GPU. A smaller scale has a part of all of them.
fn shares_of_a_gpu(config: &SystemConfig) -> [u32; 9] {
    let units = |each: u32| config.core.count * each;
    [
        units(config.l1.size_bytes),
        units(config.l1.mshrs),
        units(config.core.wavefronts),
        units(config.core.registers),
        units(config.core.lds_bytes),
        config.l2.banks * config.l2.bank_bytes,
        config.l2.banks * config.l2.mshrs,
        config.l2.banks * config.dram.bytes_per_cycle,
        directory(config).entries,
    ]
}

#[test]
fn smaller_scales_of_the_rec_machines_are_a_sixteenth_and_a_64th_of_every_gpu() {
    for name in ["rec", "rec-8gpu", "rec-16gpu", "rec-64gpu", "rec-nvidia"] {
        let [quick, medium, paper] = Scale::ALL.map(|scale| resolve(name, scale, &[]).expect("resolves").config);
        for (config, divisor) in [(&medium, 16), (&quick, 64)] {
            let times = shares_of_a_gpu(config).map(|value| value * divisor);
            assert_eq!(times, shares_of_a_gpu(&paper), "{name}, a {divisor}th");
            let [link, whole] = [config, &paper].map(|config| f64::from(inter_gpu(config).megabytes_per_second));
            assert!((link * f64::from(divisor) / whole - 1.0).abs() < 0.001, "{name}, a {divisor}th");
            assert_eq!(inter_gpu(config).queue_bytes * divisor, inter_gpu(&paper).queue_bytes);
            assert_eq!(inter_gpu(config).latency_cycles(), inter_gpu(&paper).latency_cycles());
        }
        assert_eq!((medium.core.count * 16, quick.core.count * 32), (paper.core.count, paper.core.count));
        assert_eq!((&medium.l1, medium.l2.bank_bytes), (&paper.l1, paper.l2.bank_bytes));
    }
}

#[test]
fn machines_of_8_16_and_64_gpus_are_otherwise_that_of_4() {
    for (name, gpus) in [("rec-8gpu", 8), ("rec-16gpu", 16), ("rec-64gpu", 64)] {
        for scale in Scale::ALL {
            let mut config = resolve(name, scale, &[]).expect("the shipped system resolves").config;
            assert_eq!((config.name.as_str(), config.hierarchy.gpus), (name, gpus));
            let of_four = rec(scale);
            config.hierarchy.gpus = of_four.hierarchy.gpus;
            (config.name, config.title, config.source) =
                (of_four.name.clone(), of_four.title.clone(), of_four.source.clone());
            assert_eq!(config, of_four, "{name} at scale {scale}");
        }
    }
}

#[test]
fn the_nvidia_like_machine_is_that_of_section_5_4() {
    let paper = resolve("rec-nvidia", Scale::Paper, &[]).expect("resolves").config;
    assert_eq!((paper.hierarchy.gpus, paper.core.count), (4, 128));
    assert_eq!((paper.l1.size_bytes, paper.l1.line_bytes), (128 << 10, 128));
    assert_eq!(paper.l2.banks * paper.l2.bank_bytes, 72 << 20);
    assert_eq!((directory(&paper).entries, directory(&paper).range_bytes(128) / paper.l1.line_bytes), (8192, 16));
    assert_eq!(paper.l2.interleave_lines * paper.l1.line_bytes, 4096);
}

#[test]
fn values_of_a_base_keep_their_sources_and_give_way_in_the_same_table_only() {
    let nvidia = resolve("rec-nvidia", Scale::Medium, &[]).expect("resolves");
    let entry = |key: &str| entries(&nvidia).into_iter().find(|entry| entry.key == key).expect("the key has an entry");
    assert_eq!(entry("l2.ways").source.as_deref(), Some("Table 2"));
    assert_eq!(entry("l2.bank_bytes").value, "4718592");
    assert_eq!((entry("l2.banks").value.as_str(), entry("l2.banks").origin), ("1", Origin::Scale(Scale::Medium)));
    assert_eq!((entry("core.count").value.as_str(), entry("core.count").origin), ("8", Origin::Scale(Scale::Medium)));
}

#[test]
fn only_the_machines_of_rec_cpelide_and_spandex_have_a_medium_scale() {
    let has_medium = |name: &&str| scales(name).expect("the shipped system is read").contains(&Scale::Medium);
    let names: Vec<&str> = SYSTEMS.iter().map(|shipped| shipped.name).filter(has_medium).collect();
    let of = |paper: &str| names.iter().filter(|name| name.starts_with(paper)).count();
    assert_eq!((of("rec"), of("cpelide"), of("spandex"), names.len()), (5, 7, 2, 14), "{names:?}");
}

fn cpelide(name: &str, scale: Scale) -> SystemConfig {
    resolve(name, scale, &[]).expect("the shipped system resolves").config
}

#[test]
fn the_machine_of_the_cpelide_paper_is_that_of_its_table_i() {
    let config = cpelide("cpelide", Scale::Paper);
    assert_eq!((config.hierarchy.gpus, config.hierarchy.gpms, config.core.count), (1, 4, 60));
    assert_eq!((config.clocks.core_mhz, config.core.registers, config.core.lds_bytes), (1801, 65_536, 64 << 10));
    assert_eq!((config.l1.size_bytes, config.l1.ways, config.l1.line_bytes), (16 << 10, 16, 64));
    assert_eq!((config.l1.latency_cycles, config.core.lds_latency_cycles), (140, 65));
    assert_eq!((config.l2.banks * config.l2.bank_bytes, config.l2.ways), (8 << 20, 32));
    let (l3, way) = config.memory_side_l3().expect("the machine has an L3");
    assert_eq!((4 * config.l2.banks * l3.bank_bytes, l3.ways), (16 << 20, 16));
    assert_eq!((4 * config.l2.banks * way.bytes_per_cycle, way.write_policy), (16 * 64, WritePolicy::WriteThrough));
    assert_eq!((inter_gpm(&config).megabytes_per_second, directory(&config).entries), (768_000, 12 << 10));
    assert_eq!(config.core.launch_latency_cycles, 2 * config.clocks.core_mhz);
    let processor = &config.command_processor;
    assert_eq!((processor.unicast_cycles, processor.broadcast_cycles, processor.mhz), (65, 100, 1500));
    assert_eq!((processor.memory_cycles, processor.elide_ns, processor.rows, processor.sets), (31, 6000, 64, 1));
}

#[test]
fn the_l3_and_the_hbm_of_cpelide_are_the_devices_however_many_chiplets_there_are() {
    for name in SYSTEMS.iter().map(|shipped| shipped.name).filter(|name| name.starts_with("cpelide")) {
        let config = cpelide(name, Scale::Paper);
        let banks = config.hierarchy.modules() * config.l2.banks;
        let megabytes = f64::from(banks * config.l3.as_ref().map_or(0, |l3| l3.bank_bytes)) / f64::from(1 << 20);
        assert!((megabytes - 16.0).abs() < 0.1, "{name} has {megabytes} MB of L3");
        let gigabytes = f64::from(banks * config.dram.bytes_per_cycle * config.clocks.dram_mhz) / 1000.0;
        // Whole bytes per cycle and channel are coarse where channels are many.
        assert!((gigabytes / 512.0 - 1.0).abs() < 0.2, "{name} has {gigabytes} GB/s of HBM");
    }
}

#[test]
fn scales_of_the_cpelide_machine_are_a_sixteenth_and_a_quarter_of_a_chiplet() {
    let paper = cpelide("cpelide", Scale::Paper);
    for (scale, part, units) in [(Scale::Quick, 16, 4), (Scale::Medium, 4, 16)] {
        let config = cpelide("cpelide", scale);
        let chiplet = |config: &SystemConfig| {
            [
                config.l2.banks,
                directory(config).entries,
                inter_gpm(config).megabytes_per_second,
                inter_gpm(config).queue_bytes,
            ]
        };
        assert_eq!(chiplet(&config).map(|value| value * part), chiplet(&paper), "{scale}");
        assert_eq!((config.core.count, &config.l3, &config.dram), (units, &paper.l3, &paper.dram), "{scale}");
        assert_eq!((config.l2.bank_bytes, &config.l1), (paper.l2.bank_bytes, &paper.l1), "{scale}");
    }
}

#[test]
fn the_monolithic_machine_has_what_the_four_chiplets_of_cpelide_have() {
    for scale in Scale::ALL {
        let (mono, chiplets) = (cpelide("cpelide-mono", scale), cpelide("cpelide", scale));
        assert_eq!(mono.hierarchy.modules(), 1);
        assert_eq!((mono.core.count, mono.l2.banks), (4 * chiplets.core.count, 4 * chiplets.l2.banks), "{scale}");
        assert_eq!((mono.l2.bank_bytes, mono.l3, mono.dram), (chiplets.l2.bank_bytes, chiplets.l3, chiplets.dram));
    }
}

#[test]
fn machines_have_no_table_for_what_they_lack() {
    for name in ["tc", "hmg", "rec", "rec-8gpu"] {
        let config = resolve(name, Scale::Quick, &[]).expect("the shipped system resolves").config;
        assert_eq!((&config.l3, &config.access_energy, &config.cpu), (&None, &None, &None), "{name}");
    }
    let tc = tc(Scale::Paper, &[]).config;
    assert_eq!((tc.directory, tc.inter_gpm, tc.inter_gpu), (None, None, None));
    assert_eq!(cpelide("cpelide", Scale::Paper).inter_gpu, None);
}

#[test]
fn no_value_of_a_shipped_system_is_unused() {
    for shipped in SYSTEMS {
        let resolved = resolve(shipped.name, Scale::Paper, &[]).expect("the shipped system resolves");
        for entry in entries(&resolved) {
            assert!(!entry.source.unwrap_or_default().contains("unused"), "{}: {}", shipped.name, entry.key);
        }
    }
}

#[test]
fn networks_are_of_the_kinds_that_the_papers_describe() {
    let kind = |name: &str| resolve(name, Scale::Paper, &[]).expect("the shipped system resolves").config.network.kind;
    assert!(matches!(kind("tc"), NetworkKind::Crossbar(_)));
    assert!(matches!(kind("spandex"), NetworkKind::Mesh(mesh) if mesh.bank_latency_cycles.is_none()));
    assert!(matches!(kind("spandex-hier"), NetworkKind::Mesh(mesh) if mesh.bank_latency_cycles == Some(3)));
    assert!(matches!(inter_gpm(&hmg(Scale::Paper)).kind, LinkKind::FullyConnected(_)));
    assert!(matches!(inter_gpu(&hmg(Scale::Paper)).kind, LinkKind::Switch(_)));
}

#[test]
fn a_file_of_one_module_need_not_say_so() {
    let entry = entry(Scale::Paper, &[], "hierarchy.gpus");
    assert_eq!((entry.value.as_str(), entry.origin.to_string().as_str()), ("1", "default"));
    assert_eq!(tc(Scale::Paper, &[]).config.memory.placement, Placement::Single);
}

#[test]
fn the_quick_scale_keeps_capacity_and_bandwidth_per_core() {
    let (quick, paper) = (tc(Scale::Quick, &[]).config, tc(Scale::Paper, &[]).config);
    assert_eq!((quick.core.count, quick.l2.banks), (8, 4));
    assert_eq!(quick.core.count * paper.l2.banks, paper.core.count * quick.l2.banks);
    assert_eq!((quick.l1, quick.network), (paper.l1, paper.network));
}

#[test]
fn derived_figures_of_the_tc_machine_match_the_paper() {
    let derived = derived(&tc(Scale::Paper, &[]).config);
    for (name, value) in [
        ("threads", "24576"),
        ("L1 sets", "64"),
        ("L2 sets per bank", "128"),
        ("aggregate L1", "512 KiB"),
        ("aggregate L2", "1 MiB"),
        ("L2 : L1 capacity", "2.00"),
        // The paper rounds both to about 175 GB/s.
        ("crossbar peak per direction", "179.2 GB/s"),
        ("DRAM peak", "179.2 GB/s"),
        ("flits of a whole line", "5"),
        ("lines per DRAM row", "16"),
        ("tick frequency", "1400 MHz"),
        ("ticks per cycle", "core 1, network 2, L2 2, DRAM 1"),
    ] {
        let figure = derived.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no figure {name}"));
        assert_eq!(figure.value, value, "{name}");
    }
}

#[test]
fn an_entry_of_the_file_carries_its_source() {
    let entry = entry(Scale::Paper, &[], "l2.bank_bytes");
    assert_eq!((entry.value.as_str(), entry.origin), ("131072", Origin::System));
    assert_eq!(entry.source.as_deref(), Some("Table 4, L2 shared bank"));
}

#[test]
fn an_entry_of_a_scale_carries_the_source_of_the_scale() {
    let entry = entry(Scale::Quick, &[], "core.count");
    assert_eq!((entry.value.as_str(), entry.origin.to_string().as_str()), ("8", "scale quick"));
    assert_eq!(entry.source.as_deref(), Some("not given: half of Table 4, chosen so that a run takes seconds"));
}

#[test]
fn an_overridden_entry_names_the_override_as_origin() {
    let entry = entry(Scale::Quick, &["core.count=4", "core.count=2"], "core.count");
    assert_eq!((entry.value.as_str(), entry.origin.to_string().as_str(), entry.source), ("2", "--set", None));
}

#[test]
fn entries_follow_the_schema_and_cover_every_key() {
    let resolved = tc(Scale::Paper, &[]);
    let keys: Vec<String> = entries(&resolved).into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys.first().map(String::as_str), Some("name"));
    assert_eq!(keys.last().map(String::as_str), Some("watchdog.cycles"));
    let values = resolved.text.lines().filter(|line| line.contains(" = ")).count();
    assert_eq!(keys.len(), values);
}

#[test]
fn overrides_take_toml_and_bare_words() {
    let config = tc(
        Scale::Paper,
        &["core.scheduler=greedy-then-oldest", "dram.model=\"fixed\"", "l1.size_bytes = 0x10000", "energy.flit_pj=3"],
    )
    .config;
    assert_eq!(config.core.scheduler, Scheduler::GreedyThenOldest);
    assert_eq!(config.dram.model, DramModel::Fixed);
    assert_eq!(config.l1.size_bytes, 65_536);
    assert_eq!(config.energy.flit_pj, 3.0);
}

#[test]
fn a_path_finds_a_file_of_ones_own() {
    let path = systems_folder().join("tc.toml");
    let by_path = resolve(path.to_str().expect("a UTF-8 path"), Scale::Quick, &[]).expect("the file resolves");
    assert_eq!(by_path.hash, tc(Scale::Quick, &[]).hash);
}
