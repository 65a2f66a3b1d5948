//! Do programs compute their references under the variants that protocols offer as parameters, and on the variants of a
//! machine?

use chorus_protocol::registry;

use crate::run::cycles;

/// Runs a workload and returns its cycles.
fn run(system: &str, set: &[&str], protocol: &str, parameters: &[(&str, u64)], workload: &str) -> u64 {
    let overrides: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    let (protocol, workload) = (registry::find(protocol).unwrap(), chorus_workloads::find(workload).unwrap());
    cycles(system, &overrides, protocol, parameters, workload)
}

#[test]
fn results_are_right_whichever_caches_keep_lines_of_other_gpus() {
    let cycles = [0, 1, 2].map(|value| run("rec", &[], "dir", &[("remote_caching", value)], "j2d"));
    assert!(cycles[0] > cycles[1] && cycles[1] > cycles[2], "{cycles:?}");
}

#[test]
fn results_are_right_on_more_gpus_and_on_larger_ones() {
    for system in ["rec-8gpu", "rec-16gpu", "rec-64gpu", "rec-nvidia"] {
        run(system, &[], "rec", &[], "fir");
    }
}

#[test]
fn results_are_right_with_directories_of_ranges_below_a_hierarchy() {
    let banks: [&[&str]; 2] =
        [&[], &["l2.banks=2", "l2.bank_bytes=98304", "l2.interleave_lines=16", "directory.range=2kB"]];
    for (set, workload) in banks.into_iter().zip(["mst", "pathfinder"]) {
        for protocol in ["nhcc", "hmg"] {
            run("hmg", set, protocol, &[("ranges", 1)], workload);
        }
    }
}

#[test]
fn results_are_right_under_the_variants_of_the_cpelide_paper() {
    let (kept, passed_on) = (("remote_reads", 1), ("remote_at_home", 0));
    for workload in ["hotspot3d", "color", "rnn-gru-small"] {
        run("cpelide", &[], "viper-chiplet", &[("boundaries", 0)], workload);
        run("cpelide", &[], "viper-chiplet", &[kept], workload);
        run("cpelide", &[], "viper-chiplet", &[passed_on], workload);
        run("cpelide", &[], "cpelide", &[kept], workload);
        run("cpelide", &[], "cpelide", &[kept, passed_on], workload);
        run("cpelide", &[], "cpelide-range", &[kept], workload);
        run("cpelide", &[], "nhcc-wb", &[("elide", 1)], workload);
    }
    let [one, two] = ["1", "2"]
        .map(|sets| run("cpelide", &[&format!("command_processor.sets={sets}")], "cpelide", &[], "hotspot3d"));
    assert!(one < two, "{one} {two}");
}
