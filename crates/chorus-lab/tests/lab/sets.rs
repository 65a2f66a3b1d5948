//! Named sets of workloads in experiments and claims.

use chorus_lab::claim;
use chorus_lab::experiment::Experiment;

use crate::fake::KNOWN;

const EXPERIMENT: &str = r#"name = "small"
title = "A small paper"
source = "nobody"
system = "tc"

[sets]
inter = ["stn", "dlb"]
both = ["@inter", "kmn"]

[[matrix]]
name = "plain"
workloads = ["@both", "hsp"]
protocols = ["no-l1", "gpu-vi"]

[[figure]]
id = "1"
headline = true
title = "Figure 1"
axis = "speed-up over NO-L1"
matrices = ["plain"]
workloads = ["@inter"]
chart = "bars"
measure = "speed-up"
baseline = "no-l1"
mean = "harmonic"
series = [{ label = "GPU-VI", protocol = "gpu-vi" }]
"#;

const CLAIMS: &str = r#"[[claim]]
id = "speed"
source = "section 1"
kind = "result"
text = "It is faster."
value = 1.6
workloads = ["@inter"]
measured = { figure = "1", protocol = "gpu-vi", versus = "no-l1", mean = "harmonic" }

[[trend]]
id = "order"
source = "section 2"
text = "It is not slower."
holds = [{ figure = "1", workloads = ["@inter"], of = ["GPU-VI"], over = ["GPU-VI"], at_least = 1.0 }]
"#;

fn read(text: &str) -> Result<Experiment, String> {
    Experiment::read("small.toml", text, &KNOWN).map_err(|error| error.to_string())
}

/// Replaces a piece of the experiment and expects a message.
fn check_message(from: &str, to: &str, expected: &str) {
    assert!(EXPERIMENT.contains(from), "{from} is not in the file");
    assert_eq!(read(&EXPERIMENT.replacen(from, to, 1)).expect_err(to), expected);
}

#[test]
fn a_set_stands_for_its_workloads_in_matrices_figures_and_other_sets() {
    let experiment = read(EXPERIMENT).unwrap();
    let workloads: Vec<&str> = experiment.matrices[0].workloads.iter().map(|name| &**name).collect();
    assert_eq!(workloads, ["stn", "dlb", "kmn", "hsp"]);
    assert_eq!(experiment.workloads_of(experiment.headline().unwrap()), ["stn", "dlb"]);
}

#[test]
fn claims_and_trends_use_the_sets_of_their_experiment() {
    let experiment = read(EXPERIMENT).unwrap();
    let statements = claim::read("claims.toml", CLAIMS, &experiment).unwrap_or_else(|error| panic!("{error}"));
    for workloads in [&statements.claims[0].workloads, &statements.trends[0].comparisons[0].workloads] {
        assert_eq!(workloads.iter().map(|name| &**name).collect::<Vec<_>>(), ["stn", "dlb"]);
    }
    let message = claim::read("claims.toml", &CLAIMS.replacen("@inter", "@intra", 1), &experiment).unwrap_err();
    assert_eq!(
        message.to_string(),
        "claims.toml:7:14: key `workloads`: unknown set of workloads `@intra`; did you mean `@inter`? \
         known: `@both`, `@inter`"
    );
}

#[test]
fn an_unknown_set_is_named_with_its_place_and_the_sets_that_there_are() {
    check_message(
        "workloads = [\"@both\"",
        "workloads = [\"@bth\"",
        "small.toml:12:14: key `workloads`: unknown set of workloads `@bth`; did you mean `@both`? \
         known: `@both`, `@inter`",
    );
    check_message(
        "both = [\"@inter\"",
        "both = [\"@intre\"",
        "small.toml:8:9: key `both`: unknown set of workloads `@intre`; did you mean `@inter`? known: `@both`, `@inter`",
    );
    let without = EXPERIMENT.replace("[sets]\ninter = [\"stn\", \"dlb\"]\nboth = [\"@inter\", \"kmn\"]\n", "");
    let message = read(&without).unwrap_err();
    assert!(message.ends_with("unknown set of workloads `@both`; known: none"), "{message}");
}

#[test]
fn a_forgotten_mark_is_suggested() {
    let message = read(&EXPERIMENT.replace("workloads = [\"@both\"", "workloads = [\"both\"")).unwrap_err();
    assert!(
        message.starts_with("small.toml:12:14: key `workloads`: unknown workload `both`; did you mean `@both`?"),
        "{message}"
    );
}

#[test]
fn a_set_has_workloads_that_exist_and_stand_in_it_once() {
    let message = read(&EXPERIMENT.replace("\"kmn\"]", "\"kmm\"]")).unwrap_err();
    assert!(
        message.starts_with("small.toml:8:19: key `both`: unknown workload `kmm`; did you mean `kmn`?"),
        "{message}"
    );
    check_message("\"kmn\"]", "\"stn\"]", "small.toml:8:19: workload `stn` is given twice");
    check_message("\"@both\", \"hsp\"", "\"@both\", \"@inter\"", "small.toml:12:23: workload `stn` is given twice");
    check_message(
        "inter = [\"stn\", \"dlb\"]",
        "inter = []",
        "small.toml:1:1: key `sets.inter` is empty; expected at least one workload",
    );
}

#[test]
fn a_set_does_not_contain_itself() {
    check_message(
        "\"stn\", \"dlb\"]\n",
        "\"stn\", \"@both\"]\n",
        "small.toml:7:17: key `inter`: set `@both` contains itself",
    );
}
