//! Figures against numbers worked out by hand.

use chorus_lab::chart::draw;
use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{Bar, FigureData, Results};
use chorus_lab::run::{Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec};
use chorus_system::Scale;

use crate::fake::{EXPERIMENT, KNOWN, experiment, failed, record, result, spec, wrong};

fn compute(id: &str, records: &[Record]) -> FigureData {
    let experiment = experiment();
    let figure = experiment.figures.iter().find(|figure| &*figure.id == id).expect("a figure of the fixture");
    FigureData::compute(&experiment, figure, Scale::Quick, &Results::new(records))
}

fn all() -> Vec<Record> {
    experiment().runs(Scale::Quick).iter().map(record).collect()
}

fn check_near(got: Option<f64>, expected: f64) {
    assert!(got.is_some_and(|got| (got - expected).abs() < 1e-12), "{got:?}, expected {expected}");
}

#[test]
fn a_speed_up_is_baseline_cycles_over_cycles_and_its_mean_is_harmonic() {
    let figure = compute("speed", &all());
    check_near(figure.value("stn", "ideal-coh", None), 8000.0 / 2000.0);
    check_near(figure.value("dlb", "ideal-coh", None), 8000.0 / 8000.0);
    check_near(figure.value("stn", "gpu-vi", None), 2.0);
    check_near(figure.value("dlb", "gpu-vi", None), 1.25);
    check_near(figure.means[0].bars[0].value(), 2.0 / (1.0 / 4.0 + 1.0 / 1.0));
    check_near(figure.means[0].bars[1].value(), 2.0 / (1.0 / 2.0 + 1.0 / 1.25));
    assert_eq!(figure.means[0].label, "HM");
    assert!(figure.notes.is_empty());
}

#[test]
fn the_baseline_is_one_also_where_it_is_not_drawn() {
    check_near(compute("speed", &all()).value("stn", "no-l1", None), 1.0);
    check_near(compute("speed", &all()).value("stn", "baseline", None), 1.0);
    check_near(compute("traffic", &all()).value("kmn", "baseline", None), 1.0);
    assert_eq!(compute("speed", &[]).value("stn", "no-l1", None), None);
}

#[test]
fn parts_of_a_stacked_bar_are_relative_to_the_whole_baseline() {
    let figure = compute("traffic", &all());
    assert_eq!(figure.parts, ["LD", "ST", "ATO", "REQ", "INV", "RCL"]);
    let Bar::Parts(parts) = &figure.workloads[0].bars[1] else { panic!("GPU-VI has a bar") };
    // NO-COH moves 200 + 150 + 10 + 40 = 400 flits; GPU-VI adds 50 of invalidations and 25 of recalls.
    let expected = [200.0, 150.0, 10.0, 40.0, 50.0, 25.0].map(|flits| flits / 400.0);
    assert_eq!(parts.as_slice(), expected);
    check_near(figure.means[0].bars[1].value(), 475.0 / 400.0);
    assert_eq!(figure.means[0].label, "mean");
}

#[test]
fn power_is_energy_over_time() {
    // GPU-VI takes the same 5000 cycles as NO-COH here, so that power goes as energy; at half the time it doubles.
    let energy = compute("energy", &all());
    check_near(energy.value("kmn", "gpu-vi", None), (47.5 + 5.0) / (40.0 + 5.0));
    check_near(compute("power", &all()).value("kmn", "gpu-vi", None), (47.5 + 5.0) / (40.0 + 5.0));
    let hurried = |record: Record| match record.outcome {
        Outcome::Finished(result) if result.spec.protocol == "gpu-vi" => {
            let result = RunResult { simulated_ns: result.simulated_ns / 2.0, ..*result };
            Record { outcome: Outcome::Finished(Box::new(result)), ..record }
        }
        _ => record,
    };
    let hurried: Vec<Record> = all().into_iter().map(hurried).collect();
    check_near(compute("power", &hurried).value("kmn", "gpu-vi", None), 2.0 * (47.5 + 5.0) / (40.0 + 5.0));
}

#[test]
fn a_run_without_a_usable_result_has_no_bar_and_the_figure_says_why() {
    let mut records = all();
    records.retain(|record| record.spec.workload != "dlb");
    records.push(record(&spec("no-l1", "dlb")));
    records.push(wrong(&spec("ideal-coh", "dlb"), "word 3 is 0"));
    records.push(failed(&spec("gpu-vi", "dlb"), RunError::new(RunErrorKind::Stuck, "nobody moves")));
    let figure = compute("speed", &records);
    assert_eq!(
        figure.notes,
        [
            "IDEAL-COH has no bar for dlb (wrong result).",
            "GPU-VI has no bar for dlb (stuck).",
            "HM is over 1 of 2 workloads: stn."
        ]
    );
    check_near(figure.means[0].bars[0].value(), 4.0);
}

#[test]
fn means_are_over_the_workloads_that_all_series_have() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec != spec("gpu-vi", "dlb")).collect();
    let figure = compute("speed", &records);
    check_near(figure.means[0].bars[0].value(), 4.0);
    check_near(figure.means[0].bars[1].value(), 2.0);
    assert_eq!(figure.notes, ["GPU-VI has no bar for dlb (not run).", "HM is over 1 of 2 workloads: stn."]);
}

#[test]
fn a_series_without_any_bar_leaves_the_means_of_the_others_alone() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec.protocol != "gpu-vi").collect();
    let figure = compute("speed", &records);
    check_near(figure.means[0].bars[0].value(), 1.6);
    assert_eq!(figure.means[0].bars[1], Bar::Missing("no data".to_owned()));
}

#[test]
fn without_its_baseline_a_workload_has_no_bars() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec.protocol != "no-l1").collect();
    let figure = compute("speed", &records);
    let expected = Bar::Missing("baseline not run".to_owned());
    assert!(figure.workloads.iter().flat_map(|group| &group.bars).all(|bar| *bar == expected));
    assert_eq!(figure.means[0].bars[0], Bar::Missing("no data".to_owned()));
}

#[test]
fn several_seeds_count_as_their_mean() {
    let text = EXPERIMENT.replace("seeds = [1]", "seeds = [1, 2]");
    let experiment = Experiment::read("fixture.toml", &text, &KNOWN).unwrap();
    let timed = |spec: &RunSpec| {
        let cycles = match (spec.seed, spec.protocol.as_str()) {
            (1, "no-l1") => 2000,
            (1, _) => 1000,
            (_, "no-l1") => 6000,
            (_, _) => 4000,
        };
        Record { outcome: Outcome::Finished(Box::new(RunResult { cycles, ..result(spec) })), ..record(spec) }
    };
    let records: Vec<Record> = experiment.runs(Scale::Quick).iter().map(timed).collect();
    let figure = experiment.headline().unwrap();
    let figure = FigureData::compute(&experiment, figure, Scale::Quick, &Results::new(&records));
    check_near(figure.value("stn", "gpu-vi", None), 4000.0 / 2500.0);
    assert_eq!(figure.workloads[0].by_seed[1], [2.0, 1.5]);
    assert_eq!(figure.workloads[0].range(1), Some((1.5, 2.0)));
    assert_eq!(figure.means[0].range(1), Some((1.5, 2.0)));
    // The mean of the quotients by seed, and t times the root of their variance over 2.
    let interval = figure.workloads[0].interval(1).unwrap();
    assert_eq!((interval.seeds, interval.mean), (2, 1.75));
    check_near(Some(interval.half()), 12.706 * 0.25);
    let drawing = draw(&figure, "f0", &[0, 1]).markup;
    assert!(drawing.contains("stn, GPU-VI: 1.5000 to 2.0000 over the seeds"), "{drawing}");
}

#[test]
fn one_seed_has_no_range() {
    let figure = compute("speed", &all());
    assert_eq!((figure.workloads[0].range(0), figure.means[0].range(0)), (None, None));
    assert_eq!((figure.workloads[0].interval(0), figure.means[0].interval(0)), (None, None));
    assert!(!draw(&figure, "f0", &[0, 1]).markup.contains("class=\"range\""));
}

#[test]
fn each_workload_is_relative_to_the_baseline_of_its_matrix() {
    let figure = compute("speed-means", &all());
    check_near(figure.value("stn", "gpu-vi", None), 8000.0 / 4000.0);
    check_near(figure.value("kmn", "gpu-vi", None), 5000.0 / 5000.0);
    let baselines: Vec<Option<&str>> = figure.workloads.iter().map(|group| group.baseline.as_deref()).collect();
    assert_eq!(baselines, [Some("no-l1"), Some("no-l1"), Some("no-coh"), Some("no-coh")]);
    assert!(figure.workloads.iter().all(|group| group.bars[0].value() == Some(1.0)));
}

#[test]
fn means_may_be_over_the_workloads_of_some_matrices() {
    let figure = compute("speed-means", &all());
    let labels: Vec<&str> = figure.means.iter().map(|mean| mean.label.as_str()).collect();
    assert_eq!(labels, ["HM inter", "HM intra", "HM all"]);
    check_near(figure.means[0].bars[1].value(), 2.0 / (1.0 / 2.0 + 1.0 / 1.25));
    check_near(figure.means[1].bars[1].value(), 1.0);
    check_near(figure.means[2].bars[1].value(), 4.0 / (1.0 / 2.0 + 1.0 / 1.25 + 2.0));
    assert!(figure.shown().0.is_empty() && figure.shown().1.len() == 3);
}

#[test]
fn a_smaller_mean_is_named() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec != spec("gpu-vi", "dlb")).collect();
    let figure = compute("speed-means", &records);
    assert_eq!(
        figure.notes,
        [
            "GPU-VI has no bar for dlb (not run).",
            "HM inter is over 1 of 2 workloads: stn.",
            "HM all is over 3 of 4 workloads: stn, kmn, hsp."
        ]
    );
}

#[test]
fn a_line_has_a_point_per_variant_and_a_marker_where_another_protocol_puts_it() {
    let figure = compute("lifetimes", &all());
    check_near(figure.value("stn", "tc-weak-fixed", Some("none")), 8000.0 / 10_000.0);
    check_near(figure.value("stn", "tc-weak-fixed", Some("long")), 8000.0 / 3200.0);
    assert_eq!(figure.value("stn", "tc-weak-fixed", None), None);
    let markers = figure.markers.expect("the figure has a marker");
    assert_eq!((markers.label.as_str(), markers.at), ("average lease", vec![Some(800.0), Some(800.0)]));
    let without: Vec<Record> = all().into_iter().filter(|record| record.spec != spec("tc-weak", "dlb")).collect();
    assert_eq!(compute("lifetimes", &without).markers.unwrap().at, [Some(800.0), None]);
}

#[test]
fn a_figure_needs_the_runs_of_its_points_baseline_and_marker() {
    let experiment = experiment();
    let figure = experiment.figures.iter().find(|figure| &*figure.id == "lifetimes").unwrap();
    let runs = experiment.runs_of(figure, Scale::Quick);
    let swept = |workload: &str, set: &str| RunSpec { set: vec![set.to_owned()], ..spec("tc-weak-fixed", workload) };
    let of = |workload: &str| {
        let points = ["lease.cycles=0", "lease.cycles=6400"].map(|set| swept(workload, set));
        points.into_iter().chain(["no-l1", "tc-weak"].map(|protocol| spec(protocol, workload))).collect::<Vec<_>>()
    };
    assert_eq!(runs, [of("stn"), of("dlb")].concat());
}

#[test]
fn parts_of_a_bar_add_up() {
    let figure = compute("traffic", &all());
    check_near(figure.value_of_parts("kmn", "gpu-vi", None, &["INV", "RCL"]), 75.0 / 400.0);
    assert_eq!(figure.value_of_parts("kmn", "gpu-vi", None, &["INV", "XYZ"]), None);
}

#[test]
fn a_quotient_is_of_one_run_and_zero_where_nothing_was_counted() {
    let figure = compute("invalidations", &all());
    assert!(!figure.is_relative && figure.workloads.iter().all(|group| group.baseline.is_none()));
    assert_eq!(figure.workloads[0].bars[1], Bar::Parts(vec![50.0 / 350.0, 25.0 / 350.0]));
    check_near(figure.value("kmn", "no-coh", None), 0.0);
    assert_eq!(figure.value("kmn", "baseline", None), None, "it is relative to nothing");
    assert_eq!(
        figure.metrics.last().map(String::as_str),
        Some("traffic.flits.st"),
        "what it divides by is defined too"
    );
    let without = |record: Record| match record.outcome {
        Outcome::Finished(mut result) => {
            for class in ["ld", "st"] {
                result.metrics.insert(format!("traffic.flits.{class}"), 0.0);
            }
            Record { outcome: Outcome::Finished(result), ..record }
        }
        Outcome::Failed(_) => record,
    };
    let figure = compute("invalidations", &all().into_iter().map(without).collect::<Vec<_>>());
    check_near(figure.value("kmn", "no-coh", None), 0.0);
    assert_eq!(figure.workloads[0].bars[1], Bar::Missing("divided by zero".to_owned()));
}

#[test]
fn a_rate_is_per_nanosecond() {
    check_near(compute("bandwidth", &all()).value("kmn", "gpu-vi", None), 475.0 / (5000.0 / 1.4));
}

#[test]
fn lines_of_means_share_their_points() {
    let figure = compute("leases", &all());
    let points: Vec<&str> = figure.points().iter().map(|series| series.label.as_str()).collect();
    assert_eq!(points, ["0", "6400"]);
    let lines = figure.lines_of_means();
    let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(labels, ["fixed", "predicted"]);
    check_near(lines[0].bars[0].value(), 0.8);
    check_near(lines[1].bars[1].value(), 1.6);
    assert_eq!(compute("lifetimes", &all()).lines_of_means(), []);
}

#[test]
fn points_lie_where_their_markers_are() {
    let figure = compute("leases-and-traffic", &all());
    assert_eq!(figure.markers.as_ref().map(|markers| markers.at.as_slice()), Some(&[Some(800.0), Some(800.0)][..]));
    assert_eq!(figure.correlations, [None], "two points do not correlate");
}
