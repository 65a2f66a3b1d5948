//! Every protocol meets every workload on every machine: what can run is run once, what cannot says why.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use chorus_lab::comparison::{Cell, Comparison, Quantity, Request, Selection, compare};
use chorus_lab::progress::Silent;
use chorus_lab::run::{RunError, RunErrorKind, RunResult, RunSpec, Runner};
use chorus_system::Scale;

use crate::fake::{Directory, build, registry, result};
use crate::pages::check_well_formed;

fn selection(systems: &[&str], protocols: &[&str], workloads: &[&str]) -> Selection {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Selection {
        systems: owned(systems),
        protocols: owned(protocols),
        workloads: owned(workloads),
        baselines: BTreeMap::from([("tc".to_owned(), "no-l1".to_owned()), ("hmg".to_owned(), "no-remote".to_owned())]),
        scale: Scale::Quick,
    }
}

fn small() -> Selection {
    selection(&["tc", "hmg"], &["no-l1", "gpu-vi", "no-remote", "ideal"], &["stn", "dlb", "hsp"])
}

fn make(selection: &Selection, out: &Path, runner: &Runner<'_>, deadline: Option<Instant>) -> Comparison {
    make_until(selection, out, runner, deadline, &AtomicBool::new(false))
}

fn make_until(
    selection: &Selection,
    out: &Path,
    runner: &Runner<'_>,
    deadline: Option<Instant>,
    cancel: &AtomicBool,
) -> Comparison {
    let build = build();
    let request = Request {
        registry: registry(),
        selection,
        out,
        jobs: 1,
        runner,
        build: &build,
        cancel,
        deadline,
        progress: &Silent,
        date: "2000-01-02",
    };
    compare(&request).unwrap_or_else(|error| panic!("{error}"))
}

fn good(spec: &RunSpec) -> Result<RunResult, RunError> {
    Ok(result(spec))
}

fn page(comparison: &Comparison) -> String {
    std::fs::read_to_string(&comparison.page).expect("a page is written")
}

#[test]
fn protocols_that_a_machine_cannot_have_are_named_with_the_reason() {
    let directory = Directory::new();
    let made = make(&small(), directory.path(), &good, None);
    let [tc, hmg] = made.tables.as_slice() else { panic!("two machines") };
    assert_eq!(tc.protocols, ["no-l1", "gpu-vi", "no-remote", "ideal"]);
    assert_eq!(hmg.protocols, ["no-remote", "ideal"]);
    assert_eq!(hmg.refused.iter().map(|(protocol, _)| protocol.as_str()).collect::<Vec<_>>(), ["no-l1", "gpu-vi"]);
    assert!(hmg.refused[1].1.contains("one module"), "{:?}", hmg.refused);
}

#[test]
fn a_cell_is_relative_to_the_baseline_and_the_mean_is_geometric() {
    let directory = Directory::new();
    let made = make(&small(), directory.path(), &good, None);
    let tc = &made.tables[0];
    let ratio = |row: usize, column| tc.ratio(&tc.rows[row], column, Quantity::Time);
    assert_eq!([ratio(0, 0), ratio(0, 1), ratio(1, 1)], [Some(1.0), Some(0.5), Some(0.8)]);
    let mean = tc.average(1, Quantity::Time);
    let expected = (0.5_f64 * 0.8 * 0.625).cbrt();
    assert!(mean.workloads == 3 && mean.mean.is_some_and(|mean| (mean - expected).abs() < 1e-12), "{mean:?}");
    assert_eq!(tc.traffic().map(|quantity| quantity.metric().0), Some("traffic.flits"));
    assert_eq!(made.tables[1].traffic().map(|quantity| quantity.metric().0), Some("inter_gpu.bytes"));
}

#[test]
fn nothing_is_run_twice_and_what_cannot_run_is_not_tried() {
    let directory = Directory::new();
    let calls = AtomicUsize::new(0);
    let counted = |spec: &RunSpec| {
        calls.fetch_add(1, Ordering::Relaxed);
        good(spec)
    };
    let selection = selection(&["tc"], &["no-coh", "gpu-vi"], &["stn", "hsp"]);
    let first = make(&selection, directory.path(), &counted, None);
    assert_eq!((first.ran, first.reused, first.open), (3, 0, 0));
    let row = &first.tables[0].rows[0];
    assert!(matches!(&row.cells[0], Cell::Cannot(error) if error.kind == RunErrorKind::Refused), "{row:?}");
    assert!(first.troubled().is_empty(), "a refusal is no trouble");
    let second = make(&selection, directory.path(), &counted, None);
    assert_eq!((second.ran, second.reused, calls.load(Ordering::Relaxed)), (0, 3, 3));
    assert_eq!(first.tables, second.tables);
}

#[test]
fn a_row_without_its_baseline_is_relative_to_the_first_that_ran_and_in_no_mean() {
    let directory = Directory::new();
    let mut selection = selection(&["tc"], &["no-coh", "gpu-vi", "mesi"], &["stn", "hsp"]);
    selection.baselines.insert("tc".to_owned(), "no-coh".to_owned());
    let made = make(&selection, directory.path(), &good, None);
    let table = &made.tables[0];
    let [stn, hsp] = table.rows.as_slice() else { panic!("two rows") };
    assert_eq!((table.reference(stn), table.has_baseline(stn)), (Some(1), false));
    assert_eq!((table.reference(hsp), table.has_baseline(hsp)), (Some(0), true));
    assert_eq!(table.average(1, Quantity::Time).workloads, 1);
    assert!(page(&made).contains("over gpu-vi"));
}

#[test]
fn after_the_deadline_no_run_starts_and_the_page_shows_what_there_is() {
    let directory = Directory::new();
    let past = Instant::now();
    let nothing = make(&small(), directory.path(), &good, Some(past));
    assert_eq!((nothing.ran, nothing.open), (0, 18));
    assert!(page(&nothing).contains("·"));
    // The deadline passes while the first run is made, which is kept.
    let cancel = AtomicBool::new(false);
    let late = |spec: &RunSpec| {
        cancel.store(true, Ordering::Relaxed);
        good(spec)
    };
    let some = make_until(&small(), directory.path(), &late, None, &cancel);
    assert_eq!((some.ran, some.open), (1, 17));
    let rest = make(&small(), directory.path(), &good, None);
    assert_eq!((rest.ran, rest.reused, rest.open), (some.open, some.ran, 0));
}

#[test]
fn what_goes_wrong_is_listed_and_makes_no_number() {
    let directory = Directory::new();
    let hostile = |spec: &RunSpec| match (spec.protocol.as_str(), spec.workload.as_str()) {
        ("gpu-vi", "stn") => Err(RunError::new(RunErrorKind::Stuck, "<b>no progress</b>")),
        ("gpu-vi", "hsp") => Err(RunError::new(RunErrorKind::BadInput, "a work-group needs 9 wavefronts\nhint: none")),
        _ => good(spec),
    };
    let made = make(&small(), directory.path(), &hostile, None);
    assert_eq!(made.troubled().len(), 1, "what does not fit is no trouble");
    let page = page(&made);
    check_well_formed(&page);
    assert!(
        page.contains("stn under gpu-vi") && page.contains("&lt;b&gt;no progress") && !page.contains("<b>no progress")
    );
    assert!(page.contains("a work-group needs 9 wavefronts") && !page.contains("hint:"));
}

#[test]
fn json_and_csv_have_a_record_for_every_cell() {
    let directory = Directory::new();
    let made = make(&small(), directory.path(), &good, None);
    let json = made.to_json();
    let cell = &json["systems"][0]["workloads"][0]["cells"][1];
    assert_eq!((cell["protocol"].as_str(), cell["time"].as_f64()), (Some("gpu-vi"), Some(0.5)));
    assert_eq!(json["systems"][1]["refused"][0]["name"], "no-l1");
    let csv = std::fs::read_to_string(&made.csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 18);
    assert!(csv.contains("tc,stn,gpu-vi,measured,no-l1,4000,0.5,traffic.flits,475,0.59375,\r\n"), "{csv}");
    let index = std::fs::read_to_string(&made.index).unwrap();
    assert!(index.contains("comparison.html"), "{index}");
}
