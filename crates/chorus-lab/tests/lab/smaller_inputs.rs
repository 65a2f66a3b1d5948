//! Workloads that take too long at a scale: they run with smaller inputs there, and readers are told.

use chorus_lab::experiment::Experiment;
use chorus_system::Scale;

use crate::fake::SHIPPED;

const EXPERIMENT: &str = r#"name = "smaller"
title = "A smaller input"
source = "nobody"
system = "rec"

[[smaller]]
scale = "paper"
workload = "gemm"
set = ["workload.ni=64", "workload.nj=64"]
why = "it takes hours"

[[matrix]]
name = "all"
workloads = ["gemm", "pr"]
protocols = ["dir", "rec"]
baseline = "dir"

[[figure]]
id = "1"
headline = true
title = "Gains"
axis = "speed-up"
matrices = ["all"]
chart = "bars"
measure = "speed-up"
mean = "arithmetic"
series = [{ label = "REC", protocol = "rec" }]
"#;

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::read("smaller.toml", text, &SHIPPED).map_err(|error| error.to_string())
}

fn experiment() -> Experiment {
    read(EXPERIMENT).unwrap_or_else(|message| panic!("{message}"))
}

/// The overrides of the runs of a workload, for every run of the experiment and for its figure.
fn overrides(experiment: &Experiment, workload: &str, scale: Scale) -> Vec<String> {
    let figure = experiment.headline().unwrap();
    let runs = experiment.runs(scale).into_iter().chain(experiment.runs_of(figure, scale));
    let mut sets: Vec<String> = runs.filter(|run| run.workload == workload).map(|run| run.set.join(" ")).collect();
    sets.dedup();
    sets
}

/// Replaces a piece of the experiment and expects a message that ends so.
fn check_message(from: &str, to: &str, end: &str) {
    assert!(EXPERIMENT.contains(from), "{from} is not in the file");
    let message = read(&EXPERIMENT.replacen(from, to, 1)).expect_err(to);
    assert!(message.starts_with("smaller.toml:") && message.ends_with(end), "{message}");
}

#[test]
fn only_the_named_workload_is_smaller_and_only_at_the_named_scale() {
    let experiment = experiment();
    assert_eq!(overrides(&experiment, "gemm", Scale::Paper), ["workload.ni=64 workload.nj=64"]);
    assert_eq!(overrides(&experiment, "gemm", Scale::Quick), [""]);
    assert_eq!(overrides(&experiment, "pr", Scale::Paper), [""]);
}

#[test]
fn readers_are_told() {
    let inputs = experiment().smaller_inputs(Scale::Paper);
    let sentences: Vec<String> = inputs.iter().map(|input| input.sentence(Scale::Paper)).collect();
    let told = "At paper scale gemm has a smaller input (workload.ni=64, workload.nj=64), since it takes hours.";
    assert_eq!(sentences, [told]);
    assert_eq!(experiment().smaller_inputs(Scale::Quick), []);
}

#[test]
fn all_have_their_own_inputs_on_request() {
    let mut experiment = experiment();
    experiment.take_whole_inputs();
    assert_eq!(overrides(&experiment, "gemm", Scale::Paper), [""]);
    assert_eq!(experiment.smaller_inputs(Scale::Paper), []);
}

#[test]
fn mistakes_are_told() {
    check_message("workload = \"gemm\"", "workload = \"gem\"", "did you mean `gemm`? known: `gemm`, `pr`");
    check_message("workload.nj=64", "l2.ways=4", "`l2.ways=4` is no size; expected a key that begins with `workload.`");
    check_message(
        "\"workload.ni=64\", \"workload.nj=64\"",
        "",
        "has no `set`; expected sizes such as `workload.n=1024`",
    );
    check_message("it takes hours", " ", "has no `why`; expected the reason, which pages show");
    let twice =
        "[[smaller]]\nscale = \"paper\"\nworkload = \"gemm\"\nset = [\"workload.ni=8\"]\nwhy = \"so\"\n[[matrix]]";
    check_message("[[matrix]]", twice, "the smaller input of gemm at paper scale is given twice");
}
