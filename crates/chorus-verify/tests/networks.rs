//! Are the declared virtual networks free of deadlock, and are they as few as the papers say?

use chorus_protocol::registry::{PROTOCOLS, find};
use chorus_verify::heterogeneous::refused_reads;
use chorus_verify::networks::{Sharing, assignments, default_settings, try_configuration, try_with_room};
use chorus_verify::pressure::{configurations, configurations_of};
use chorus_verify::violation::Violation;

use crate::{explored, recorded};

#[test]
fn the_declared_networks_of_every_protocol_are_free_of_deadlock() {
    for protocol in PROTOCOLS {
        let report = explored::networks(*protocol);
        assert!(report.is_declared_free(), "{}", report.to_text());
    }
}

#[test]
fn the_declared_networks_stay_free_of_deadlock_with_more_room() {
    for protocol in PROTOCOLS {
        let declared: Vec<u8> = (0..protocol.virtual_networks()).collect();
        let configurations = configurations_of(*protocol);
        for (config, room) in configurations.iter().flat_map(|config| [(config, 2), (config, 3)]) {
            let sharing = try_with_room(*protocol, &declared, config, room, &default_settings());
            let name = (protocol.name(), config.name);
            assert!(matches!(sharing, Sharing::Free { .. }), "{name:?} with room for {room}: {sharing:?}");
        }
    }
}

/// A refused read is asked for again. If that had to find room first, the refusals here would wait for requests that
/// wait for room for answers.
#[test]
fn refusals_do_not_wait_for_requests() {
    let sharing = try_configuration(find("smg").unwrap(), &[0, 1, 2, 3], &refused_reads(), &default_settings());
    assert!(matches!(sharing, Sharing::Free { .. }), "{sharing:?}");
}

#[track_caller]
fn check_smallest(protocol: &str, paper: u8) {
    let report = explored::networks(find(protocol).unwrap());
    assert_eq!(report.undecided().count(), 0, "{report:?}");
    assert_eq!((report.declared, report.smallest), (paper, Some(paper)), "{}", report.to_text());
    let deadlock = report.deadlock().expect("one network fewer is too few");
    assert!(matches!(deadlock.chart.violation, Violation::Deadlock(_)), "{}", deadlock.chart);
}

#[test]
fn non_coherent_machines_need_the_papers_two_networks() {
    check_smallest("no-l1", 2);
    check_smallest("no-coh", 2);
}

#[test]
fn temporal_coherence_needs_the_papers_two_networks() {
    check_smallest("tc-strong", 2);
    check_smallest("tc-weak", 2);
    check_smallest("tc-weak-fixed", 2);
}

#[test]
fn gpu_vi_and_gpu_vini_need_the_papers_four_networks() {
    check_smallest("gpu-vi", 4);
    check_smallest("gpu-vini", 4);
}

#[test]
fn mesi_needs_the_papers_five_networks() {
    check_smallest("mesi", 5);
}

#[test]
fn acknowledgements_behind_the_requests_that_wait_for_them_deadlock() {
    let stores = configurations().into_iter().find(|config| config.name == "stores").unwrap();
    let Sharing::Stuck(deadlock) =
        try_configuration(find("gpu-vi").unwrap(), &[0, 1, 2, 0], &stores, &default_settings())
    else {
        panic!("acknowledgements share with requests");
    };
    recorded::expect("networks", "acknowledgements-behind-requests", &deadlock.chart.to_text());
}

#[test]
fn every_deadlock_replays_to_itself() {
    let protocol = find("mesi").unwrap();
    for pools in assignments(5, 4) {
        for config in configurations() {
            let Sharing::Stuck(deadlock) = try_configuration(protocol, &pools, &config, &default_settings()) else {
                continue;
            };
            if deadlock.chart.sequence.rows.is_empty() {
                continue;
            }
            let replay = deadlock.replay(protocol.name());
            let replayed = replay.run(protocol, None, &config.machine).unwrap();
            assert_eq!(replayed.violation, Some(deadlock.chart.violation), "{replay}");
            assert_eq!(replayed.sequence, deadlock.chart.sequence, "{replay}");
        }
    }
}
