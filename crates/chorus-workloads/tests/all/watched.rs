//! Is what is noted of a run exact, the same for any number of threads, and without influence on the run?

use std::sync::atomic::AtomicBool;

use chorus_kernel::HostMemory;
use chorus_protocol::registry;
use chorus_sim::distribution::{Kind, Source};
use chorus_sim::sharing_profile::{Class, Level};
use chorus_sim::{Noted, Progress, Settings, SimError, Simulated, Stream, Watch, simulate_watched};
use chorus_system::{Scale, resolve};
use chorus_workloads::workloads;

/// Numbers of threads and longest windows, in ticks, that are compared with one thread and the longest windows.
const WAYS: [(u32, Option<u64>); 2] = [(1, Some(40)), (4, Some(150))];

type Run<'r> = (&'r str, &'r str, &'r str);

fn run(of: Run<'_>, way: (u32, Option<u64>), watch: Watch<'_>) -> (Simulated, Noted) {
    try_run(of, way, watch).unwrap()
}

fn try_run(
    (system, protocol, name): Run<'_>,
    (threads, window): (u32, Option<u64>),
    watch: Watch<'_>,
) -> Result<(Simulated, Noted), SimError> {
    let config = resolve(system, Scale::Quick, &[]).unwrap().config;
    let workload = workloads().find(|workload| workload.name() == name).unwrap();
    let mut memory = HostMemory::aligned(config.memory.alignment_bytes);
    let mut program = workload.prepare(&workload.sizes_at(Scale::Quick), 1, &mut memory);
    let protocol = registry::find(protocol).unwrap();
    let settings = Settings { threads, window, ..Settings::defaults(protocol) };
    let modules = 0..config.hierarchy.modules() as u16;
    let mut streams = [Stream { program: program.as_mut(), modules }];
    simulate_watched(&config, protocol, settings, watch, &mut streams, memory)
}

const RUNS: [Run<'static>; 4] =
    [("tc", "gpu-vi", "dlb"), ("tc", "tc-weak", "hsp"), ("hmg", "hmg", "mst"), ("cpelide", "cpelide", "babelstream")];

/// An interval that is no multiple of any window, and long enough for a quick test.
const EVERY: u64 = 4_321;

#[test]
fn watching_changes_nothing_and_notes_the_same_in_every_way() {
    for of in RUNS {
        let progress = Progress::default();
        let watch = Watch {
            progress: Some(&progress),
            every: Some(EVERY),
            distributions: true,
            sharing: true,
            ..Watch::default()
        };
        let (bare, nothing) = run(of, (1, None), Watch::default());
        assert_eq!(nothing, Noted::default());
        let (simulated, noted) = run(of, (1, None), watch);
        assert_eq!(simulated, bare, "{of:?}");
        assert_eq!(progress.standing().kernels, simulated.kernels.len() as u64, "{of:?}");
        for way in WAYS {
            let (other, also) = run(of, way, watch);
            assert_eq!(other, bare, "{of:?} with {way:?}");
            let [expected, found] = [&noted, &also].map(|noted| noted.series.as_ref().unwrap());
            assert_eq!(found.ends, expected.ends, "{of:?} with {way:?}");
            for (expected, found) in expected.counters.iter().zip(&found.counters) {
                assert_eq!(found, expected, "{of:?} with {way:?}");
            }
            assert_eq!(also, noted, "{of:?} with {way:?}");
        }
    }
}

#[test]
fn a_run_that_is_stopped_ends_at_the_next_turn_with_all_its_threads() {
    for threads in [1, 4] {
        let (progress, stop) = (Progress::default(), AtomicBool::new(true));
        let watch = Watch { progress: Some(&progress), stop: Some(&stop), ..Watch::default() };
        let stopped = try_run(("hmg", "hmg", "mst"), (threads, None), watch);
        assert!(matches!(stopped, Err(SimError::Stopped)), "{threads}: {stopped:?}");
        assert_eq!(progress.standing().kernels, 0, "{threads}");
    }
}

#[test]
fn intervals_add_up_to_the_counters_of_the_run() {
    for of in RUNS {
        let (simulated, noted) = run(of, (1, None), Watch { every: Some(EVERY), ..Watch::default() });
        let series = noted.series.unwrap();
        let last = series.ends.len() - 1;
        assert!(series.ends[..last].iter().zip(1..).all(|(&end, number)| end == EVERY * number), "{of:?}");
        assert!(series.ends[last] >= simulated.cycles, "{of:?}");
        for (key, growth) in &series.counters {
            assert_eq!(growth.iter().sum::<f64>(), simulated.metrics[key], "{key} of {of:?}");
        }
        let counted = simulated.metrics.iter().filter(|(key, value)| {
            let is_total = key.starts_with("energy.") || key.starts_with("table.") || key.ends_with(".utilisation");
            **value != 0.0 && !is_total
        });
        assert_eq!(counted.count(), series.counters.len(), "{of:?}");
    }
}

#[test]
fn distributions_have_every_access_once() {
    for of in RUNS {
        let (simulated, noted) = run(of, (1, None), Watch { distributions: true, ..Watch::default() });
        let distributions = noted.distributions.unwrap();
        let all = distributions.all();
        let metric = |key: &str| simulated.metrics[key];
        let loads = all.of_kind(Kind::Load);
        assert_eq!(loads.count() as f64, metric("l1.loads_completed"), "{of:?}");
        assert_eq!(all.get(Kind::Load, Source::Private).count() as f64, metric("l1.load_hits"), "{of:?}");
        assert_eq!(all.of_kind(Kind::Atomic).count() as f64, metric("l1.atomics"), "{of:?}");
        assert!(all.of_kind(Kind::Store).count() as f64 <= metric("l1.stores"), "{of:?}");
        // Latencies are whole cycles here, and ticks in the counter.
        let apart = metric("l1.load_latency_cycles") - loads.mean() * loads.count() as f64;
        assert!(apart >= 0.0 && apart <= loads.count() as f64, "{of:?}: {apart}");
        let of_buffers: u64 = distributions.buffers.iter().map(|buffer| buffer.of_kind(Kind::Load).count()).sum();
        assert_eq!(of_buffers, loads.count(), "{of:?}");
        let nearer = all.get(Kind::Load, Source::Private).permille(500);
        let farther = all.get(Kind::Load, Source::Memory).permille(500);
        assert!(nearer < farther, "{of:?}: {nearer} and {farther}");
    }
}

#[test]
fn answers_of_other_modules_and_gpus_are_told_apart() {
    let (_, noted) = run(("hmg", "hmg", "mst"), (1, None), Watch { distributions: true, ..Watch::default() });
    let all = noted.distributions.unwrap().all();
    let median = |source| all.get(Kind::Load, source).permille(500);
    let [module, gpu, system] = [Source::Module, Source::OtherModule, Source::OtherGpu].map(median);
    assert!(0 < module && module < gpu && gpu < system, "{module}, {gpu}, {system}");
}

#[test]
fn the_sharing_of_a_program_hardly_depends_on_the_protocol() {
    let report = |protocol| run(("tc", protocol, "hsp"), (1, None), Watch { sharing: true, ..Watch::default() });
    let report = |protocol| report(protocol).1.sharing.unwrap();
    let (one, other) = (report("gpu-vi"), report("no-l1"));
    assert_eq!(one.lines, other.lines);
    for class in Class::ALL {
        let [one, other] = [&one, &other].map(|report| report.classes[Level::Units as usize].get(class) as f64);
        assert!((one - other).abs() <= 0.2 * one.max(100.0), "{class:?}: {one} and {other}");
    }
    let lines: u64 = Class::ALL.iter().map(|&class| one.classes[Level::Units as usize].get(class)).sum();
    assert_eq!(lines, one.lines);
    assert_eq!(one.classes[Level::Modules as usize].get(Class::Private), one.lines, "there is one module");
}
