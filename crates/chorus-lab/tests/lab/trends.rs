//! Statements of papers about the order of bars, and bars that are the best of several.

use chorus_lab::claim;
use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{FigureData, Results};
use chorus_lab::run::{Record, RunError, RunErrorKind};
use chorus_lab::trend::{self, TrendResult};
use chorus_lab::verdict::Verdict;
use chorus_system::Scale;

use crate::fake::{EXPERIMENT, KNOWN, failed, record};

const FIGURE: &str = r#"
[[figure]]
id = "times"
title = "Times"
axis = "time relative to NO-L1"
matrices = ["inter"]
chart = "bars"
measure = "ratio"
metric = "cycles"
baseline = "no-l1"
mean = "arithmetic"
series = [
  { label = "A", protocol = "ideal-coh" },
  { label = "B", protocol = "gpu-vi" },
  { label = "best", protocol = "best", best_of = ["ideal-coh", "gpu-vi"] },
]
"#;

const TREND: &str = r#"[[trend]]
id = "order"
source = "section 1"
text = "A is faster than B."
holds = [{ figure = "times", workloads = ["stn"], of = ["A"], over = ["B"], at_most = 0.9 }]
"#;

fn experiment() -> Experiment {
    Experiment::read("e.toml", &format!("{EXPERIMENT}{FIGURE}"), &KNOWN).unwrap_or_else(|error| panic!("{error}"))
}

fn figures(records: &[Record]) -> Vec<FigureData> {
    let (experiment, results) = (experiment(), Results::new(records));
    experiment.figures.iter().map(|figure| FigureData::compute(&experiment, figure, Scale::Quick, &results)).collect()
}

fn records() -> Vec<Record> {
    experiment().runs(Scale::Quick).iter().map(record).collect()
}

fn judge(text: &str, records: &[Record]) -> TrendResult {
    let statements = claim::read("c.toml", text, &experiment()).unwrap_or_else(|error| panic!("{error}"));
    trend::evaluate(&statements.trends, &figures(records)).remove(0)
}

fn check_message(from: &str, to: &str, expected: &str) {
    let text = TREND.replace(from, to);
    let message = claim::read("c.toml", &text, &experiment()).expect_err("it is refused").to_string();
    assert!(message.contains(expected), "{message}");
}

#[test]
fn an_ordering_agrees_where_every_quotient_is_as_expected() {
    let judged = judge(TREND, &records());
    assert_eq!((judged.verdict, judged.comparisons[0].measured), (Verdict::Agrees, Some((0.5, 0.5))));
    // On dlb A takes 8000 cycles, B 6400.
    let both = judge(&TREND.replace(r#"["stn"]"#, r#"["stn", "dlb"]"#), &records());
    assert_eq!((both.verdict, both.comparisons[0].measured), (Verdict::Disagrees, Some((0.5, 1.25))));
}

#[test]
fn bars_are_compared_with_all_others_or_with_the_one_at_the_same_place() {
    let of = |of: &str, over: &str, more: &str| {
        let text =
            TREND.replace(r#"of = ["A"], over = ["B"], at_most = 0.9"#, &format!("of = {of}, over = {over}, {more}"));
        judge(&text, &records()).comparisons.remove(0)
    };
    let all = of(r#"["A", "B"]"#, r#"["A", "B"]"#, "at_least = 0.4");
    assert_eq!((all.measured, all.holds), (Some((0.5, 2.0)), Some(true)));
    let pairs = of(r#"["A", "B"]"#, r#"["A", "B"]"#, "pairwise = true, at_least = 1.0, at_most = 1.0");
    assert_eq!((pairs.measured, pairs.holds), (Some((1.0, 1.0)), Some(true)));
    assert_eq!(of(r#"["A"]"#, r#"["A"]"#, "below = 1.0").holds, Some(false), "equal is not below");
}

#[test]
fn an_ordering_of_bars_that_are_missing_is_not_judged() {
    let broken = |record: Record| match record.spec.protocol.as_str() {
        "gpu-vi" => failed(&record.spec, RunError::new(RunErrorKind::Stuck, "no progress")),
        _ => record,
    };
    let judged = judge(TREND, &records().into_iter().map(broken).collect::<Vec<_>>());
    assert_eq!((judged.verdict, judged.comparisons[0].holds), (Verdict::NotMeasured, None));
}

#[test]
fn an_ordering_names_what_its_figure_shows() {
    check_message("times", "tines", "unknown figure `tines`");
    check_message(r#"["A"]"#, r#"["C"]"#, "unknown label of the figure's series `C`");
    check_message(r#"["stn"]"#, r#"["hsp"]"#, "unknown workload of the figure `hsp`");
    check_message("at_most = 0.9", "pairwise = true", "expects nothing");
    check_message(r#"["B"], at_most"#, r#"["A", "B"], pairwise = true, at_most"#, "take as many names");
}

#[test]
fn the_best_of_several_is_the_fastest_for_each_workload() {
    let figures = figures(&records());
    let times = figures.iter().find(|figure| figure.id == "times").expect("the figure is made");
    let best = |workload: &str| times.value(workload, "best", None);
    assert_eq!([best("stn"), best("dlb")], [Some(0.25), Some(0.8)]);
}

#[test]
fn a_claim_may_be_about_the_mean_of_quotients() {
    let claim = r#"[[claim]]
id = "speed"
source = "section 1"
kind = "result"
text = "A takes less time than B."
value = 0.875
workloads = ["stn", "dlb"]
measured = { figure = "times", protocol = "ideal-coh", versus = "gpu-vi", mean = "arithmetic", of_quotients = true }
"#;
    let measured = |text: &str| {
        let claims = claim::read("c.toml", text, &experiment()).unwrap_or_else(|error| panic!("{error}")).claims;
        claim::evaluate(&claims, &figures(&records()), &Default::default())[0].measured
    };
    assert_eq!(measured(claim), Some(0.875));
    assert_eq!(measured(&claim.replace("arithmetic", "smallest")), Some(0.5));
}
