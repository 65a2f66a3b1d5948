//! Figures against numbers worked out by hand.

use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{Bar, FigureData, Results};
use chorus_lab::paper;
use chorus_lab::run::{Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec};
use chorus_system::Scale;

use crate::fake::{KNOWN, failed, record, result, spec, wrong};

fn tc() -> Experiment {
    paper::load("tc", &KNOWN).unwrap().experiment
}

fn compute(id: &str, records: &[Record]) -> FigureData {
    let experiment = tc();
    let figure = experiment.figures.iter().find(|figure| &*figure.id == id).expect("a figure of the paper");
    FigureData::compute(&experiment, figure, Scale::Quick, &Results::new(records))
}

fn all() -> Vec<Record> {
    tc().runs(Scale::Quick).iter().map(record).collect()
}

fn check_near(got: Option<f64>, expected: f64) {
    assert!(got.is_some_and(|got| (got - expected).abs() < 1e-12), "{got:?}, expected {expected}");
}

#[test]
fn a_speed_up_is_baseline_cycles_over_cycles_and_its_mean_is_harmonic() {
    let figure = compute("1a", &all());
    check_near(figure.value("stn", "ideal-coh", None), 8000.0 / 2000.0);
    check_near(figure.value("dlb", "ideal-coh", None), 8000.0 / 8000.0);
    check_near(figure.value("stn", "gpu-vi", None), 2.0);
    check_near(figure.value("dlb", "gpu-vi", None), 1.25);
    check_near(figure.mean.bars[0].value(), 2.0 / (1.0 / 4.0 + 1.0 / 1.0));
    check_near(figure.mean.bars[1].value(), 2.0 / (1.0 / 2.0 + 1.0 / 1.25));
    assert_eq!(figure.mean.label, "HM");
    assert!(figure.notes.is_empty());
}

#[test]
fn the_baseline_is_one_also_where_it_is_not_drawn() {
    check_near(compute("1a", &all()).value("stn", "no-l1", None), 1.0);
    check_near(compute("7a", &all()).value("stn", "no-l1", None), 1.0);
    assert_eq!(compute("1a", &[]).value("stn", "no-l1", None), None);
}

#[test]
fn parts_of_a_stacked_bar_are_relative_to_the_whole_baseline() {
    let figure = compute("8b", &all());
    assert_eq!(figure.parts, ["LD", "ST", "ATO", "REQ", "INV", "RCL"]);
    let Bar::Parts(parts) = &figure.workloads[0].bars[1] else { panic!("GPU-VI has a bar") };
    // NO-COH moves 200 + 150 + 10 + 40 = 400 flits; GPU-VI adds 50 of invalidations and 25 of recalls.
    let expected = [200.0, 150.0, 10.0, 40.0, 50.0, 25.0].map(|flits| flits / 400.0);
    assert_eq!(parts.as_slice(), expected);
    check_near(figure.mean.bars[1].value(), 475.0 / 400.0);
    assert_eq!(figure.mean.label, "mean");
}

#[test]
fn power_is_energy_over_time() {
    // GPU-VI takes the same 5000 cycles as NO-COH here, so that power goes as energy; at half the time it doubles.
    let energy = compute("9-energy-intra", &all());
    check_near(energy.value("kmn", "gpu-vi", None), (47.5 + 5.0) / (40.0 + 5.0));
    check_near(compute("9-power-intra", &all()).value("kmn", "gpu-vi", None), (47.5 + 5.0) / (40.0 + 5.0));
    let hurried = |record: Record| match record.outcome {
        Outcome::Finished(result) if result.spec.protocol == "gpu-vi" => {
            let result = RunResult { simulated_ns: result.simulated_ns / 2.0, ..*result };
            Record { outcome: Outcome::Finished(Box::new(result)), ..record }
        }
        _ => record,
    };
    let hurried: Vec<Record> = all().into_iter().map(hurried).collect();
    check_near(compute("9-power-intra", &hurried).value("kmn", "gpu-vi", None), 2.0 * (47.5 + 5.0) / (40.0 + 5.0));
}

#[test]
fn a_run_without_a_usable_result_has_no_bar_and_the_figure_says_why() {
    let mut records = all();
    records.retain(|record| record.spec.workload != "dlb");
    records.push(record(&spec("no-l1", "dlb")));
    records.push(wrong(&spec("ideal-coh", "dlb"), "word 3 is 0"));
    records.push(failed(&spec("gpu-vi", "dlb"), RunError::new(RunErrorKind::Stuck, "nobody moves")));
    let figure = compute("1a", &records);
    assert_eq!(
        figure.notes,
        [
            "IDEAL-COH has no bar for dlb (wrong result).",
            "GPU-VI has no bar for dlb (stuck).",
            "Means are over 1 of 2 workloads: stn."
        ]
    );
    check_near(figure.mean.bars[0].value(), 4.0);
}

#[test]
fn means_are_over_the_workloads_that_all_series_have() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec != spec("gpu-vi", "dlb")).collect();
    let figure = compute("1a", &records);
    check_near(figure.mean.bars[0].value(), 4.0);
    check_near(figure.mean.bars[1].value(), 2.0);
    assert_eq!(figure.notes, ["GPU-VI has no bar for dlb (not run).", "Means are over 1 of 2 workloads: stn."]);
}

#[test]
fn a_series_without_any_bar_leaves_the_means_of_the_others_alone() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec.protocol != "gpu-vi").collect();
    let figure = compute("1a", &records);
    check_near(figure.mean.bars[0].value(), 1.6);
    assert_eq!(figure.mean.bars[1], Bar::Missing("no data".to_owned()));
}

#[test]
fn without_its_baseline_a_workload_has_no_bars() {
    let records: Vec<Record> = all().into_iter().filter(|record| record.spec.protocol != "no-l1").collect();
    let figure = compute("1a", &records);
    let expected = Bar::Missing("baseline not run".to_owned());
    assert!(figure.workloads.iter().flat_map(|group| &group.bars).all(|bar| *bar == expected));
    assert_eq!(figure.mean.bars[0], Bar::Missing("no data".to_owned()));
}

#[test]
fn several_seeds_count_as_their_mean() {
    let text = chorus_lab::paper::PAPERS[0].experiments.replace("seeds = [1]", "seeds = [1, 2]");
    let experiment = Experiment::read("tc.toml", &text, &KNOWN).unwrap();
    let timed = |spec: &RunSpec| {
        let cycles = if spec.seed == 1 { 1000 } else { 3000 } * if spec.protocol == "no-l1" { 2 } else { 1 };
        Record { outcome: Outcome::Finished(Box::new(RunResult { cycles, ..result(spec) })), ..record(spec) }
    };
    let records: Vec<Record> = experiment.runs(Scale::Quick).iter().map(timed).collect();
    let figure = experiment.headline().unwrap();
    let figure = FigureData::compute(&experiment, figure, Scale::Quick, &Results::new(&records));
    check_near(figure.value("stn", "gpu-vi", None), 4000.0 / 2000.0);
}
