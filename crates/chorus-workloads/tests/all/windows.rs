//! Do results depend on the number of threads, or on how long components run alone? They must not, to the bit.

use chorus_kernel::HostMemory;
use chorus_protocol::registry;
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{Settings, Simulated, simulate_with};
use chorus_system::{Scale, resolve};
use chorus_workloads::workloads;

/// Numbers of threads and longest windows and turns, in ticks, that are compared with one thread and windows and turns
/// as long as possible. Some are longer than windows and shorter than turns.
const WAYS: [(u32, Option<u64>); 3] = [(1, Some(7)), (2, None), (4, Some(150))];

fn settings(protocol: &str, (threads, window): (u32, Option<u64>)) -> Settings {
    Settings { threads, window, ..Settings::defaults(registry::find(protocol).unwrap()) }
}

fn same_in_every_way(name: &str, run: impl Fn((u32, Option<u64>)) -> Simulated) {
    let expected = run((1, None));
    assert!(expected.accesses > 0, "{name} does nothing");
    for way in WAYS {
        let found = run(way);
        for (key, value) in &expected.metrics {
            assert_eq!(found.metrics[key], *value, "{key} of {name} with {way:?}");
        }
        assert_eq!(found, expected, "{name} with {way:?}");
    }
}

fn workload(system: &str, protocol: &str, name: &str) {
    let workload = workloads().find(|workload| workload.name() == name).unwrap();
    same_in_every_way(&format!("{name} under {protocol} on {system}"), |way| {
        let config = resolve(system, Scale::Quick, &[]).unwrap().config;
        let mut memory = HostMemory::default();
        let mut program = workload.prepare(&workload.sizes_at(Scale::Quick), 1, &mut memory);
        let protocol = registry::find(protocol).unwrap();
        simulate_with(&config, protocol, settings(protocol.name(), way), program.as_mut(), memory).unwrap()
    });
}

fn pattern(system: &str, protocol: &str, pattern: Pattern) {
    same_in_every_way(&format!("{} under {protocol} on {system}", pattern.name()), |way| {
        let config = resolve(system, Scale::Quick, &[]).unwrap().config;
        let mut memory = HostMemory::default();
        // Four work-groups on each module, so that some wait for room.
        let groups = 4 * config.hierarchy.modules();
        let mut program = Synthetic::new(pattern, groups, 4, &mut memory);
        let protocol = registry::find(protocol).unwrap();
        simulate_with(&config, protocol, settings(protocol.name(), way), &mut program, memory).unwrap()
    });
}

/// The settings of `way`, with a seed for the variation of memory latencies.
fn jittered(seed: u64, way: (u32, Option<u64>)) -> Simulated {
    let config = resolve("hmg", Scale::Quick, &["timing.jitter=7".to_owned()]).unwrap().config;
    let mut memory = HostMemory::default();
    let mut program = Synthetic::new(Pattern::MissHeavy, 4 * config.hierarchy.modules(), 4, &mut memory);
    let settings = Settings { seed, ..settings("hmg", way) };
    simulate_with(&config, registry::find("hmg").unwrap(), settings, &mut program, memory).unwrap()
}

#[test]
fn with_varying_memory_latencies_which_differ_by_the_seed() {
    same_in_every_way("misses with jitter", |way| jittered(1, way));
    let [one, other] = [1, 2].map(|seed| jittered(seed, (1, None)));
    assert_ne!(one.metrics["l1.load_latency_cycles"], other.metrics["l1.load_latency_cycles"]);
    assert_eq!(one.metrics["dram.reads"], other.metrics["dram.reads"]);
}

#[test]
fn a_jitter_of_zero_changes_nothing() {
    let run = |set: &[String]| {
        let config = resolve("tc", Scale::Quick, set).unwrap().config;
        let mut memory = HostMemory::default();
        let mut program = Synthetic::new(Pattern::MissHeavy, 64, 4, &mut memory);
        let settings = Settings { seed: 5, ..settings("gpu-vi", (1, None)) };
        simulate_with(&config, registry::find("gpu-vi").unwrap(), settings, &mut program, memory).unwrap()
    };
    assert_eq!(run(&[]), run(&["timing.jitter=0".to_owned()]));
}

#[test]
fn on_one_gpu() {
    for protocol in ["gpu-vi", "mesi", "tc-strong", "no-coh"] {
        pattern("tc", protocol, Pattern::ShareHeavy);
        pattern("tc", protocol, Pattern::MissHeavy);
    }
    pattern("tc", "tc-weak", Pattern::AtomicHeavy);
    pattern("tc", "gpu-vi", Pattern::HitHeavy);
    pattern("tc", "ideal-coh", Pattern::ShareHeavy);
    workload("tc", "gpu-vi", "dlb");
    workload("tc", "tc-weak", "hsp");
    // Ports are full most of the time here.
    workload("tc", "no-coh", "saxpy");
    workload("tc", "tc-weak", "saxpy");
}

#[test]
fn on_gpus_of_modules() {
    for protocol in ["hmg", "nhcc", "sw-hier", "ideal"] {
        pattern("hmg", protocol, Pattern::RemoteHeavy);
        pattern("hmg", protocol, Pattern::AtomicHeavy);
    }
    workload("hmg", "hmg", "mst");
}

#[test]
fn on_gpus_of_one_module() {
    for (system, protocol) in [("rec", "rec"), ("rec-8gpu", "dir"), ("rec-16gpu", "rec"), ("rec-nvidia", "dir-hmg")] {
        pattern(system, protocol, Pattern::RemoteHeavy);
        pattern(system, protocol, Pattern::ShareHeavy);
    }
    pattern("rec-64gpu", "rec", Pattern::RemoteHeavy);
    workload("rec", "rec", "st");
}

#[test]
fn on_chiplets() {
    for system in ["cpelide", "cpelide-2", "cpelide-6", "cpelide-7", "cpelide-8", "cpelide-16", "cpelide-mono"] {
        pattern(system, "cpelide", Pattern::ShareHeavy);
    }
    for protocol in ["viper-chiplet", "cpelide", "cpelide-range", "nhcc-wb"] {
        workload("cpelide", protocol, "babelstream");
    }
}

#[test]
fn on_meshes() {
    workload("spandex", "smd", "trns");
    workload("spandex", "sdg", "reuse-o");
    pattern("spandex-hier", "spandex-hier-md", Pattern::ShareHeavy);
}
