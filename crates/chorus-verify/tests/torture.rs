//! Do random steps leave sound protocols alone and find seeded faults, the same for the same seed?

use chorus_protocol::registry::{PROTOCOLS, Protocol, find};
use chorus_verify::faults::find_fault;
use chorus_verify::torture::{Settings, caught_by_torture, torture};

use crate::explored;

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).expect("it is in the registry")
}

#[test]
fn every_protocol_survives_random_steps_with_loads_that_block() {
    for protocol in PROTOCOLS {
        let settings = Settings { steps: 200_000, blocking_loads: true, ..Settings::default() };
        let report = torture(*protocol, None, &settings);
        assert!(report.passed(), "{}\n{}", protocol.name(), report.failure_text(*protocol));
        assert!(report.steps >= 200_000);
    }
}

#[test]
fn every_protocol_survives_random_steps_with_several_loads_in_flight() {
    for protocol in PROTOCOLS {
        let settings = Settings { steps: 200_000, seed: 2, ..Settings::default() };
        let report = torture(*protocol, None, &settings);
        assert!(report.passed(), "{}\n{}", protocol.name(), report.failure_text(*protocol));
    }
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let sound = Settings { steps: 20_000, seed: 5, ..Settings::default() };
    let mesi = protocol("mesi");
    assert_eq!(torture(mesi, None, &sound), torture(mesi, None, &sound));
    assert_ne!(torture(mesi, None, &sound).coverage, torture(mesi, None, &Settings { seed: 6, ..sound }).coverage);
    let fault = find_fault(mesi, "wrong-word");
    assert_eq!(torture(mesi, fault, &sound), torture(mesi, fault, &sound));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let hmg = protocol("hmg");
    let settings = Settings { steps: 100_000, seed: 3, ..Settings::default() };
    let on_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        let fault = find_fault(hmg, "forgotten-writer");
        pool.install(|| [torture(hmg, None, &settings), torture(hmg, fault, &settings)])
    };
    let [alone, three] = [1, 3].map(on_threads);
    assert_eq!(alone, three);
    assert!(alone[0].passed() && !alone[1].passed());
}

#[test]
fn an_episode_alone_fails_as_it_did_among_others() {
    let gpu_vi = protocol("gpu-vi");
    let fault = find_fault(gpu_vi, "stale-refill");
    let settings = Settings { steps: 500_000, shrinks: false, ..Settings::default() };
    let failure = torture(gpu_vi, fault, &settings).failure.expect("the fault is found");
    let alone = torture(gpu_vi, fault, &Settings { episode: Some(failure.episode), ..settings });
    assert_eq!((alone.episodes, alone.failure), (1, Some(failure)));
}

#[test]
fn faults_are_found_and_shrunk_to_a_few_operations() {
    for (name, fault, operations_max) in [
        ("gpu-vi", "lost-invalidation", 12),
        ("gpu-vi", "empty-fence", 12),
        ("no-l1", "lost-ack", 4),
        ("no-coh", "stale-store-hit", 6),
        ("mesi", "lost-write-back", 12),
        ("tc-strong", "hasty-write", 12),
    ] {
        let protocol = protocol(name);
        let settings = Settings { steps: 500_000, blocking_loads: true, ..Settings::default() };
        let report = torture(protocol, find_fault(protocol, fault), &settings);
        let shrunk = report.failure.as_ref().and_then(|failure| failure.shrunk.as_ref());
        let shrunk = shrunk.unwrap_or_else(|| panic!("{fault} of {name} is not found"));
        let operations = shrunk.episode.program.operations();
        assert!(operations <= operations_max, "{fault} of {name}: {}", report.failure_text(protocol));
        assert!(!shrunk.trace.is_empty());
    }
}

#[test]
fn a_catch_says_how_the_fault_showed() {
    let no_coh = protocol("no-coh");
    let fault = find_fault(no_coh, "wrong-word").expect("it is declared");
    let catch = caught_by_torture(no_coh, fault, 100_000).expect("it is found");
    assert_eq!(catch.fault.name, "wrong-word");
    assert!(catch.steps < 100_000);
}

#[test]
fn most_pairs_that_can_be_met_are_met_soon() {
    let gpu_vi = protocol("gpu-vi");
    let report = torture(gpu_vi, None, &Settings { steps: 200_000, ..Settings::default() });
    let comparison = report.coverage.compare(explored::table(gpu_vi));
    assert!(comparison.covered * 10 >= comparison.reachable * 9, "{comparison:?}");
}
