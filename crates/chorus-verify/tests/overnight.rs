//! Does a search beyond memory find the same as one in memory, also after it was killed?

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use chorus_protocol::registry::{Protocol, find};
use chorus_verify::check::{CheckConfig, CheckReport, Verdict, check_with, find_configuration, smoke_configurations};
use chorus_verify::faults::find_fault;
use chorus_verify::overnight::{OvernightError, Reached, STATE_LIMIT, check_overnight};
use chorus_verify::settings::{Bound, Reduction, Settings};

fn settings() -> Settings {
    Settings { bytes: Some(64 << 20), ..Settings::with_states(STATE_LIMIT) }
}

/// An empty directory of its own for each name.
fn empty(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("overnight").join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory).unwrap();
    }
    directory
}

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn smoke() -> CheckConfig {
    smoke_configurations().remove(0)
}

fn overnight(name: &str, config: &CheckConfig, directory: &Path) -> Result<CheckReport, OvernightError> {
    check_overnight(protocol(name), None, config, &settings(), directory, &mut |_| {})
}

/// A report without what depends on the way in which states are kept.
fn comparable(report: &CheckReport) -> CheckReport {
    CheckReport { bytes: 0, omission_probability: None, ..report.clone() }
}

/// Searches until `depth`, and dies there.
fn killed_at(depth: u32, name: &str, config: &CheckConfig, directory: &Path) {
    let mut watch = |reached: Reached| assert!(reached.depth < depth, "killed on purpose");
    let search = || check_overnight(protocol(name), None, config, &settings(), directory, &mut watch);
    assert!(catch_unwind(AssertUnwindSafe(search)).is_err(), "{name} ends before a distance of {depth}");
}

#[test]
fn it_finds_what_a_search_in_memory_finds() {
    // TC-Weak does not keep all symmetries of its machine, so its search begins anew.
    for (name, config) in [("gpu-vi", "smoke"), ("tc-weak", "smoke"), ("hmg", "wide-smoke"), ("smg", "wide-smoke")] {
        let directory = empty(&format!("same-{name}"));
        let config = find_configuration(protocol(name), config).unwrap_or_else(|| panic!("{name} has no {config}"));
        let expected = check_with(protocol(name), None, &config, &Settings::default());
        let report = overnight(name, &config, &directory).unwrap();
        assert_eq!(comparable(&report), comparable(&expected), "{name}");
        assert!(report.omission_probability.is_some_and(|probability| probability < 1e-4), "{}", report.to_text());
        assert!(report.bytes_per_state() <= 6, "{}", report.bytes_per_state());
    }
}

#[test]
fn a_search_that_was_killed_goes_on_and_finds_the_same() {
    for name in ["gpu-vi", "tc-weak"] {
        let (whole, parts) = (empty(&format!("whole-{name}")), empty(&format!("parts-{name}")));
        let expected = overnight(name, &smoke(), &whole).unwrap();
        for depth in [3, 7, 7, 12] {
            killed_at(depth, name, &smoke(), &parts);
        }
        let mut first = None;
        let mut watch = |reached: Reached| _ = first.get_or_insert(reached.depth);
        let report = check_overnight(protocol(name), None, &smoke(), &settings(), &parts, &mut watch).unwrap();
        assert_eq!(first, Some(12), "{name} goes on where it was killed");
        assert_eq!(report, expected);
        assert_eq!(overnight(name, &smoke(), &parts).unwrap(), expected, "a finished search stays finished");
    }
}

#[test]
fn a_mistake_is_found_with_the_same_chart_by_any_number_of_threads() {
    let (gpu_vi, config) = (protocol("gpu-vi"), smoke());
    let fault = find_fault(gpu_vi, "early-ack");
    let expected = check_with(gpu_vi, fault, &config, &Settings::default());
    let Verdict::Violated(expected) = &expected.verdict else { panic!("{}", expected.to_text()) };
    for threads in [1, 2, 3] {
        let directory = empty(&format!("threads-{threads}"));
        let settings = Settings { threads: Some(threads), ..settings() };
        let report = check_overnight(gpu_vi, fault, &config, &settings, &directory, &mut |_| {}).unwrap();
        let Verdict::Violated(chart) = &report.verdict else { panic!("{}", report.to_text()) };
        assert_eq!(
            (chart.violation.to_string(), chart.sequence.moves.len()),
            (expected.violation.to_string(), expected.sequence.moves.len())
        );
    }
}

#[test]
fn a_search_that_meets_a_bound_says_so_and_goes_on_with_a_wider_one() {
    let directory = empty("bounded");
    let bounded = |settings: Settings| {
        let gpu_vi = protocol("gpu-vi");
        check_overnight(gpu_vi, None, &smoke(), &settings, &directory, &mut |_| {}).unwrap()
    };
    let few = bounded(Settings { states: 1_000, ..settings() });
    assert_eq!(few.verdict, Verdict::Bounded(Bound::States(1_000)));
    let small = bounded(Settings { bytes: Some(4_096), ..settings() });
    assert!(matches!(small.verdict, Verdict::Bounded(Bound::Bytes(_))), "{}", small.to_text());
    assert!(bounded(settings()).passed());
    let smaller = bounded(Settings { bytes: Some(4_096), ..settings() });
    assert!(smaller.passed(), "nothing is left to search: {}", smaller.to_text());
}

#[test]
fn records_of_another_search_and_damaged_records_are_refused() {
    let directory = empty("refused");
    let refused = |name: &str, settings: &Settings| {
        let refused = check_overnight(protocol(name), None, &smoke(), settings, &directory, &mut |_| {});
        refused.unwrap_err().to_string()
    };
    killed_at(5, "gpu-vi", &smoke(), &directory);
    assert!(refused("tc-strong", &settings()).contains("belongs to another search: gpu-vi smoke"));
    assert!(refused("gpu-vi", &Settings { reduction: Reduction::None, ..settings() }).contains("another search"));
    let record = directory.join("record");
    let good = fs::read_to_string(&record).unwrap();
    fs::write(&record, good.replace("states ", "states many ")).unwrap();
    assert!(refused("gpu-vi", &settings()).contains("is not a number"));
    let digest = good.lines().find(|line| line.starts_with("digest ")).unwrap();
    fs::write(&record, good.replace(digest, "digest 7")).unwrap();
    assert!(refused("gpu-vi", &settings()).contains("has changed since"));
    fs::write(&record, &good).unwrap();
    fs::write(directory.join("states"), []).unwrap();
    assert!(refused("gpu-vi", &settings()).contains("shorter than the record says"));
}

#[test]
fn two_searches_do_not_share_a_directory() {
    let directory = empty("shared");
    let mut second = None;
    let mut watch = |_: Reached| {
        second.get_or_insert_with(|| overnight("gpu-vi", &smoke(), &directory).unwrap_err().to_string());
    };
    check_overnight(protocol("gpu-vi"), None, &smoke(), &settings(), &directory, &mut watch).unwrap();
    assert!(second.is_some_and(|error| error.contains("another search is running")));
}
