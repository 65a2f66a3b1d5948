//! Are programs right on every kind of network inside modules and between them, is each as far as configured, and do
//! results depend on nothing but the machine?

use chorus_kernel::{HostMemory, Kernel, Verdict};
use chorus_protocol::registry;
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{Settings, SimError, Simulated, simulate, simulate_with};
use chorus_system::{Scale, SystemConfig, resolve};

use crate::histogram::histogram;
use crate::once::Once;

type Set = &'static [&'static str];

/// Networks inside a module.
const INSIDE: [Set; 5] = [
    &["network.kind=ring", "network.hop_cycles=3"],
    &["network.kind=switch", "network.latency_cycles=9"],
    &["network.kind=fully-connected", "network.latency_cycles=9"],
    &["network.kind=mesh", "network.width=3", "network.latency_cycles=3", "network.diameter_cycles=9"],
    &["network.kind=dragonfly", "network.group_size=5", "network.local_cycles=2", "network.global_cycles=11"],
];

/// Networks between four GPUs.
const BETWEEN_GPUS: [Set; 3] = [
    &["inter_gpu.kind=ring", "inter_gpu.hop_cycles=100"],
    &["inter_gpu.kind=mesh", "inter_gpu.width=2", "inter_gpu.hop_cycles=100"],
    &["inter_gpu.kind=dragonfly", "inter_gpu.group_size=2", "inter_gpu.local_cycles=60", "inter_gpu.global_cycles=300"],
];

/// Networks between the four modules of a GPU.
const BETWEEN_MODULES: [Set; 3] = [
    &["inter_gpm.kind=ring", "inter_gpm.hop_cycles=20"],
    &["inter_gpm.kind=mesh", "inter_gpm.width=4", "inter_gpm.hop_cycles=20"],
    &["inter_gpm.kind=dragonfly", "inter_gpm.group_size=2", "inter_gpm.local_cycles=10", "inter_gpm.global_cycles=30"],
];

fn config(system: &str, scale: Scale, set: &[&str]) -> SystemConfig {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    resolve(system, scale, &set).unwrap().config
}

/// The verdict on a program of atomics that all modules share.
fn verdict(system: &str, protocol: &str, set: &[&str]) -> Verdict {
    histogram(&config(system, Scale::Quick, set), registry::find(protocol).unwrap()).check
}

#[test]
fn programs_are_right_on_every_network_inside_a_module() {
    for set in INSIDE {
        for protocol in ["gpu-vi", "mesi", "tc-weak", "no-coh", "ideal-coh"] {
            assert_eq!(verdict("tc", protocol, set), Verdict::Checked, "{protocol} {set:?}");
        }
        for (system, protocol) in
            [("spandex", "smd"), ("spandex-hier", "spandex-hier-md"), ("spandex-hier", "hmesi-gpu")]
        {
            assert_eq!(verdict(system, protocol, set), Verdict::Checked, "{protocol} {set:?}");
        }
        for (system, protocol) in [("hmg", "hmg"), ("hmg", "nhcc"), ("rec", "rec")] {
            assert_eq!(verdict(system, protocol, set), Verdict::Checked, "{protocol} {set:?}");
        }
    }
}

#[test]
fn programs_are_right_on_every_network_between_modules_and_gpus() {
    for (gpus, modules) in BETWEEN_GPUS.into_iter().zip(BETWEEN_MODULES) {
        for set in [gpus.to_vec(), modules.to_vec(), [gpus, modules].concat(), [gpus, modules, INSIDE[0]].concat()] {
            for protocol in ["hmg", "nhcc", "sw-hier", "ideal"] {
                assert_eq!(verdict("hmg", protocol, &set), Verdict::Checked, "{protocol} {set:?}");
            }
        }
        assert_eq!(verdict("rec", "rec", gpus), Verdict::Checked, "{gpus:?}");
        assert_eq!(verdict("cpelide", "cpelide", modules), Verdict::Checked, "{modules:?}");
    }
}

#[test]
fn programs_are_right_where_ports_hold_next_to_nothing() {
    for set in INSIDE {
        let scarce = [set, &["network.vc_buffer_flits=1", "l1.mshrs=1", "l2.mshrs=3", "dram.queue=2"]].concat();
        assert_eq!(verdict("tc", "mesi", &scarce), Verdict::Checked, "{set:?}");
    }
    for set in BETWEEN_GPUS {
        let scarce = [set, &["inter_gpm.queue_bytes=1", "inter_gpu.queue_bytes=1", "l2.mshrs=3"]].concat();
        assert_eq!(verdict("hmg", "hmg", &scarce), Verdict::Checked, "{set:?}");
    }
}

/// The latency of one load by a compute unit that hits in the L2, after another compute unit has loaded the line.
fn latency(protocol: &str, config: &SystemConfig, reader: u32, line: u32) -> f64 {
    let mut memory = HostMemory::default();
    let words = config.l1.line_bytes / 4;
    let data = memory.alloc::<u32>((words * (line + 1)) as usize);
    let groups = config.core.count * config.hierarchy.modules();
    let kernel = |unit: u32| {
        Kernel::new("load", groups, 1, move |w| async move {
            if w.work_group() == unit {
                w.load_one(data, line * words).await;
            }
        })
    };
    // The first unit of the first module, which makes that module the home, or another one of a single module.
    let first = if config.hierarchy.modules() == 1 { (reader + 1) % groups } else { 0 };
    let mut program = Once { kernels: vec![kernel(reader), kernel(first)], check: |_: &HostMemory| Ok(()) };
    let result = simulate(config, registry::find(protocol).unwrap(), &mut program, memory).unwrap();
    result.kernels[1].metrics["l1.load_latency_cycles"]
}

/// The latency of a load by each of six compute units from each of two banks, beyond that of a network without any.
/// Compute units lie on nodes 0, 1, 3, 4, 5 and 7, and banks on nodes 2 and 6.
fn beyond_nothing(set: &[&str]) -> [[f64; 2]; 6] {
    let machine = |set: &[&str]| {
        let common = ["core.count=6", "l2.banks=2", "clocks.network_mhz=1400", "clocks.l2_mhz=1400"];
        config("tc", Scale::Quick, &[&common[..], set].concat())
    };
    let (near, other) = (machine(&["network.latency_cycles=1"]), machine(set));
    [0, 1, 2, 3, 4, 5].map(|unit| {
        [0, 1].map(|bank| latency("gpu-vi", &other, unit, bank) - (latency("gpu-vi", &near, unit, bank) - 2.0))
    })
}

#[test]
fn on_a_ring_inside_a_module_every_hop_there_and_back_counts() {
    let hops = [[2, 2], [1, 3], [1, 3], [2, 2], [3, 1], [3, 1]];
    let expected = hops.map(|hops| hops.map(|hops| f64::from(2 * 3 * hops)));
    assert_eq!(beyond_nothing(&["network.kind=ring", "network.hop_cycles=3"]), expected);
}

#[test]
fn all_are_as_far_inside_a_module_where_a_switch_or_links_join_them() {
    assert_eq!(beyond_nothing(&["network.kind=switch", "network.latency_cycles=9"]), [[18.0; 2]; 6]);
    assert_eq!(beyond_nothing(&["network.kind=fully-connected", "network.latency_cycles=9"]), [[18.0; 2]; 6]);
}

#[test]
fn a_dragonfly_inside_a_module_is_near_in_a_group_and_far_between_groups() {
    // Nodes 0 to 3 and 4 to 7; the link between the groups joins nodes 0 and 4.
    let set =
        ["kind=dragonfly", "group_size=4", "local_cycles=2", "global_cycles=11"].map(|key| format!("network.{key}"));
    let hops = [[2, 13], [2, 15], [2, 15], [13, 2], [15, 2], [15, 2]];
    let expected = hops.map(|latency| latency.map(|latency| f64::from(2 * latency)));
    assert_eq!(beyond_nothing(&set.each_ref().map(String::as_str)), expected);
}

/// The latency of a load by a compute unit of each module from the L2 of the first module, beyond that of the same with
/// links that take no time. Links between GPUs take one cycle for a request and two for an answer, other links one.
fn beyond_links(modules: [u32; 3], set: &[&str]) -> [f64; 3] {
    let machine = config("hmg", Scale::Paper, set);
    let direct = config("hmg", Scale::Paper, &[]);
    let units = machine.core.count;
    modules.map(|module| {
        let link = if module < 4 { 2.0 * (40.0 + 1.0) } else { 2.0 * 400.0 + 1.0 + 2.0 };
        latency("nhcc", &machine, module * units, 0) - (latency("nhcc", &direct, module * units, 0) - link)
    })
}

#[test]
fn between_gpus_every_link_there_and_back_counts() {
    let link = |latency: u32, links: u32| f64::from(2 * latency + links + 2 * links);
    let [ring, mesh, dragonfly] = BETWEEN_GPUS;
    assert_eq!(beyond_links([4, 8, 12], ring), [link(100, 1), link(200, 2), link(100, 1)]);
    assert_eq!(beyond_links([4, 8, 12], mesh), [link(100, 1), link(100, 1), link(200, 2)]);
    assert_eq!(beyond_links([4, 8, 12], dragonfly), [link(60, 1), link(300, 1), link(360, 2)]);
}

#[test]
fn between_modules_every_link_there_and_back_counts() {
    let link = |latency: u32, links: u32| f64::from(2 * latency + 2 * links);
    let [ring, mesh, dragonfly] = BETWEEN_MODULES;
    assert_eq!(beyond_links([1, 2, 3], ring), [link(20, 1), link(40, 2), link(20, 1)]);
    assert_eq!(beyond_links([1, 2, 3], mesh), [link(20, 1), link(40, 2), link(60, 3)]);
    assert_eq!(beyond_links([1, 2, 3], dragonfly), [link(10, 1), link(30, 1), link(40, 2)]);
}

fn pattern(system: &str, protocol: &str, set: &[&str], pattern: Pattern, (threads, window): Way) -> Simulated {
    let config = config(system, Scale::Quick, set);
    let mut memory = HostMemory::default();
    let mut program = Synthetic::new(pattern, 2 * config.core.count * config.hierarchy.modules(), 8, &mut memory);
    let protocol = registry::find(protocol).unwrap();
    let settings = Settings { threads, window, ..Settings::defaults(protocol) };
    simulate_with(&config, protocol, settings, &mut program, memory).unwrap()
}

/// A number of threads, and the longest time that components run alone.
type Way = (u32, Option<u64>);

fn same_in_every_way(system: &str, protocol: &str, set: &[&str], kind: Pattern) {
    let expected = pattern(system, protocol, set, kind, (1, None));
    assert!(expected.accesses > 0 && !matches!(expected.check, Verdict::Wrong(_)), "{protocol} {set:?}");
    for way in [(1, Some(7)), (2, None), (4, None), (4, Some(7))] {
        assert_eq!(pattern(system, protocol, set, kind, way), expected, "{protocol} {set:?} {way:?}");
    }
}

#[test]
fn neither_threads_nor_windows_show_inside_a_module() {
    for set in INSIDE {
        same_in_every_way("tc", "mesi", set, Pattern::ShareHeavy);
        same_in_every_way("tc", "gpu-vi", set, Pattern::AtomicHeavy);
        same_in_every_way("hmg", "hmg", set, Pattern::RemoteHeavy);
    }
}

#[test]
fn neither_threads_nor_windows_show_between_gpus() {
    for set in BETWEEN_GPUS {
        same_in_every_way("hmg", "hmg", set, Pattern::RemoteHeavy);
        same_in_every_way("hmg", "nhcc", set, Pattern::AtomicHeavy);
        same_in_every_way("rec", "rec", set, Pattern::ShareHeavy);
    }
}

#[test]
fn neither_threads_nor_windows_show_between_modules() {
    for (modules, gpus) in BETWEEN_MODULES.into_iter().zip(BETWEEN_GPUS) {
        same_in_every_way("cpelide", "cpelide", modules, Pattern::ShareHeavy);
        same_in_every_way("hmg", "hmg", &[modules, gpus].concat(), Pattern::RemoteHeavy);
    }
}

#[test]
fn links_move_what_is_configured_and_no_more() {
    for set in BETWEEN_GPUS {
        let narrow = [set, &["inter_gpu.megabytes_per_second=1000"]].concat();
        let [slow, fast] = [&narrow, set].map(|set| pattern("hmg", "no-remote", set, Pattern::RemoteHeavy, (1, None)));
        let used = slow.metrics["inter_gpu.utilisation"];
        assert!((0.5..=1.0).contains(&used), "{set:?}: {used}");
        assert!(slow.cycles > 2 * fast.cycles, "{set:?}: {} and {}", slow.cycles, fast.cycles);
    }
}

#[test]
fn a_flit_counts_at_every_router_of_a_ring() {
    let load = |set: &[&str]| {
        let mut memory = HostMemory::default();
        let data = memory.alloc::<u32>(1);
        let kernel = Kernel::new("load", 1, 1, move |w| async move {
            w.load_one(data, 0).await;
        });
        let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
        let machine = config("tc", Scale::Quick, &[&["core.count=6", "l2.banks=2"], set].concat());
        simulate(&machine, registry::find("gpu-vi").unwrap(), &mut program, memory).unwrap().metrics
    };
    // The first compute unit is two hops from the first bank, so messages pass three routers.
    let ring = load(INSIDE[0]);
    assert_eq!(ring["traffic.flit_hops"], 3.0 * ring["traffic.flits"]);
    assert!(!load(INSIDE[1]).contains_key("traffic.flit_hops"));
}

#[test]
fn networks_of_too_many_nodes_are_refused() {
    let refused = |set: &[&str]| {
        let machine = config("tc", Scale::Quick, set);
        let mut program = Once { kernels: Vec::new(), check: |_: &HostMemory| Ok(()) };
        simulate(&machine, registry::find("nhcc").unwrap(), &mut program, HostMemory::default())
    };
    let error = refused(&["core.count=300", "network.kind=ring", "network.hop_cycles=1"]).unwrap_err();
    assert!(matches!(error, SimError::Unsupported(_)));
    let text = error.to_string();
    assert!(
        text.starts_with(
            "a network of kind ring has at most 256 nodes in the simulator; a module of the system tc has 304"
        ),
        "{text}"
    );
    assert!(text.contains("hint: --set network.kind=crossbar"), "{text}");
    assert!(refused(&["core.count=300"]).is_ok());
    assert!(refused(&["core.count=252", "network.kind=ring", "network.hop_cycles=1"]).is_ok());
}
