//! Sweeps over machines: variants with a system or a size of their own, and what is drawn and stated about them.

use std::collections::BTreeMap;

use chorus_lab::claim::{self, Evaluation};
use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{FigureData, Results};
use chorus_lab::run::{Outcome, Record, RunResult, RunSpec};
use chorus_lab::verdict::Verdict;
use chorus_system::Scale;

use crate::fake::{SHIPPED, result};

const SWEEP: &str = r#"name = "sweep"
title = "A sweep"
source = "nobody"
system = "rec"

[[matrix]]
name = "plain"
workloads = ["atax", "pr"]
protocols = ["dir", "rec"]
baseline = "dir"

[[matrix]]
name = "machines"
workloads = ["atax", "pr"]
protocols = ["dir", "rec"]
variant = [
  { name = "2x", times = { "directory.entries" = 2 } },
  { name = "hmg", system = "hmg", times = { "directory.entries" = 2 } },
  { name = "paper", scale = "paper", times = { "directory.entries" = 2 } },
]

[[figure]]
id = "gains"
headline = true
title = "Gains"
axis = "speed-up over the same machine"
swept = "entries"
matrices = ["plain", "machines"]
chart = "lines"
measure = "speed-up"
mean = "arithmetic"
mean_over = [{ label = "of two", matrices = ["plain"] }, { label = "of two", matrices = ["plain"], mean = "geometric" }]
series = [
  { label = "1", at = 1, protocol = "rec" },
  { label = "2", at = 2, protocol = "rec", variant = "2x", baseline_variant = "2x" },
]

[[figure]]
id = "misses"
title = "Misses"
axis = "relative to the per-line directory"
matrices = ["plain"]
chart = "bars"
measure = "ratio-of-quotients"
metric = "protocol.l2.misses"
less = ["protocol.l2.cold_misses"]
per = ["protocol.l2.local_loads", "protocol.l2.home_loads"]
mean = "arithmetic"
series = [{ label = "REC", protocol = "rec" }]

[[figure]]
id = "lines"
title = "Lines"
axis = "lines per eviction"
matrices = ["plain"]
chart = "bars"
measure = "average"
metric = "protocol.groups_by_replacement"
per = ["protocol.replacements"]
mean = "arithmetic"
series = [{ label = "REC", protocol = "rec" }, { label = "per line", protocol = "dir" }]

[[figure]]
id = "cost"
title = "Per cost"
axis = "speed-up over cost"
matrices = ["plain"]
chart = "bars"
measure = "speed-up-per-cost"
mean = "arithmetic"
series = [{ label = "REC", protocol = "rec", cost = 2 }]
"#;

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::read("sweep.toml", text, &SHIPPED).map_err(|error| error.to_string())
}

fn sweep() -> Experiment {
    read(SWEEP).unwrap_or_else(|message| panic!("{message}"))
}

/// Replaces a piece of the sweep and expects a message that ends so.
fn check_message(from: &str, to: &str, end: &str) {
    assert!(SWEEP.contains(from), "{from} is not in the file");
    let message = read(&SWEEP.replacen(from, to, 1)).expect_err(to);
    assert!(message.ends_with(end), "{message}");
}

/// Twice the entries make everything twice as fast; REC is 4 times as fast as the baseline on `pr`, as fast on `atax`,
/// and misses half as often.
fn made(spec: &RunSpec) -> Record {
    let plain = result(spec);
    let is_rec = spec.protocol == "rec";
    let faster = if is_rec && spec.workload == "pr" { 4 } else { 1 } * if spec.set.is_empty() { 1 } else { 2 };
    let mut metrics = plain.metrics.clone();
    metrics.insert("protocol.l2.misses".to_owned(), if is_rec { 20.0 } else { 30.0 });
    if is_rec && spec.workload == "pr" {
        metrics.insert("protocol.replacements".to_owned(), 0.0);
        metrics.insert("protocol.groups_by_replacement".to_owned(), 0.0);
    }
    let result = RunResult { cycles: 8000 / faster, metrics, ..plain };
    Record {
        spec: spec.clone(),
        config_hash: result.config_hash.clone(),
        build: crate::fake::build(),
        outcome: Outcome::Finished(Box::new(result)),
    }
}

fn figures() -> Vec<FigureData> {
    let sweep = sweep();
    let records: Vec<Record> = sweep.runs(Scale::Quick).iter().map(made).collect();
    let results = Results::new(&records);
    sweep.figures.iter().map(|figure| FigureData::compute(&sweep, figure, Scale::Quick, &results)).collect()
}

/// The verdict on a claim that is bound so.
fn evaluate(measured: &str) -> Evaluation {
    let text = format!(
        "[[claim]]\nid = \"one\"\nsource = \"here\"\nkind = \"result\"\ntext = \"So it is.\"\nvalue = 1\n\
         workloads = [\"atax\", \"pr\"]\nmeasured = {{ {measured} }}\n"
    );
    let claims = claim::read("claims.toml", &text, &sweep()).unwrap_or_else(|error| panic!("{error}")).claims;
    claim::evaluate(&claims, &figures(), &BTreeMap::new()).remove(0)
}

#[test]
fn a_variant_may_have_a_system_and_a_scale_of_its_own_and_multiplies_what_they_have() {
    let runs = sweep().runs(Scale::Quick);
    let of = |system: &str, scale: Scale| {
        let found = runs.iter().filter(|run| run.system == system && run.scale == scale && !run.set.is_empty());
        found.map(|run| run.set.concat()).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(of("rec", Scale::Quick), ["directory.entries=256"]);
    assert_eq!(of("hmg", Scale::Quick), ["directory.entries=1536"]);
    assert_eq!(of("rec", Scale::Paper), ["directory.entries=16384"]);
    assert_eq!(runs.len(), 2 * 2 * 4);
}

#[test]
fn the_system_of_a_variant_must_exist() {
    check_message("system = \"hmg\"", "system = \"hmgg\"", "and 5 more (`chorus list systems`)");
}

#[test]
fn a_point_is_relative_to_the_machine_that_it_names() {
    let gains = &figures()[0];
    assert_eq!(gains.value("pr", "rec", None), Some(4.0));
    assert_eq!(gains.value("pr", "rec", Some("2x")), Some(4.0));
    assert_eq!(gains.notes, [] as [&str; 0]);
}

#[test]
fn a_figure_may_show_two_means() {
    let means = &figures()[0].means;
    let shown = means.iter().map(|mean| (mean.label.as_str(), mean.bars[0].value())).collect::<Vec<_>>();
    assert_eq!(shown, [("mean of two", Some(2.5)), ("GM of two", Some(2.0))]);
}

#[test]
fn metrics_are_taken_off_before_quotients_are_compared() {
    assert_eq!(figures()[1].value("atax", "rec", None), Some((20.0 - 10.0) / (30.0 - 10.0)));
}

#[test]
fn an_average_of_nothing_has_no_bar_and_every_mean_is_over_those_there_are() {
    let lines = &figures()[2];
    assert_eq!([lines.value("atax", "rec", None), lines.value("pr", "rec", None)], [Some(10.0), None]);
    assert_eq!([0, 1].map(|series| lines.means[0].bars[series].value()), [Some(10.0); 2]);
    assert_eq!(lines.notes, ["REC has no bar for pr (nothing to count)."]);
}

#[test]
fn a_speed_up_is_divided_by_its_cost() {
    let cost = &figures()[3];
    assert_eq!([cost.value("pr", "rec", None), cost.value("pr", "dir", None)], [Some(2.0), Some(1.0)]);
}

#[test]
fn keys_that_a_measure_would_ignore_are_refused() {
    check_message(", cost = 2", "", "is a speed-up per cost: each of its `series` takes a `cost` above zero");
    check_message("speed-up-per-cost", "speed-up", "is no speed-up per cost: its `series` take no `cost`");
    check_message("metric = \"protocol.l2.misses\"\n", "", "has no `metric` to take anything off: it takes no `less`");
}

#[test]
fn the_largest_of_all_workloads_stands_for_up_to() {
    let largest = "figure = \"gains\", protocol = \"rec\", versus = \"baseline\", mean = \"largest\"";
    assert_eq!(evaluate(largest).measured, Some(4.0));
}

/// `atax` is at its best from the first point on.
#[test]
fn a_line_reaches_its_best_at_its_first_point_within_the_share() {
    let reached = evaluate("figure = \"gains\", protocol = \"rec\", reaches = 0.99, mean = \"arithmetic\"");
    assert_eq!((reached.measured, reached.verdict), (Some(1.0), Verdict::Agrees));
}

#[test]
fn what_reaches_its_best_is_a_whole_line() {
    let text = "[[prediction]]\nid = \"one\"\nsource = \"here\"\ntext = \"So it is.\"\nworkloads = [\"pr\"]\n\
                measured = { figure = \"cost\", protocol = \"rec\", reaches = 0.99, mean = \"largest\" }\n";
    let message = claim::read("claims.toml", text, &sweep()).expect_err("bars").to_string();
    assert!(message.contains("`reaches` is about a whole line"), "{message}");
}
