//! Claims against what was measured.

use std::collections::BTreeMap;

use chorus_lab::claim::{self, Bound, Evaluation, Verdict};
use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{FigureData, Results};
use chorus_lab::paper::{self, PAPERS};
use chorus_lab::run::Record;
use chorus_system::Scale;

use crate::fake::{KNOWN, record};

const CLAIM: &str = r#"[[claim]]
id = "speed"
source = "section 1"
kind = "result"
text = "It is faster."
value = 1.6
workloads = ["stn", "dlb"]
measured = { figure = "1a", protocol = "ideal-coh", versus = "no-l1", mean = "harmonic" }
"#;

fn experiment() -> Experiment {
    paper::load("tc", &KNOWN).unwrap().experiment
}

fn figures(experiment: &Experiment, records: &[Record]) -> Vec<FigureData> {
    let results = Results::new(records);
    experiment.figures.iter().map(|figure| FigureData::compute(experiment, figure, Scale::Quick, &results)).collect()
}

fn evaluate(text: &str, facts: &[(&str, f64)]) -> Vec<Evaluation> {
    let experiment = experiment();
    let records: Vec<Record> = experiment.runs(Scale::Quick).iter().map(record).collect();
    let claims = claim::read("claims.toml", text, &experiment).unwrap_or_else(|error| panic!("{error}"));
    let facts: BTreeMap<String, f64> = facts.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    claim::evaluate(&claims, &figures(&experiment, &records), &facts)
}

fn check(text: &str, verdict: Verdict, measured: Option<f64>, reason: &str) {
    let evaluation = evaluate(text, &[("states", 5.0)]).remove(0);
    assert_eq!((evaluation.verdict, evaluation.measured, evaluation.reason.as_str()), (verdict, measured, reason));
}

#[test]
fn a_value_within_fifteen_per_cent_agrees() {
    // Speed-ups of 4 and 1 have the harmonic mean 1.6.
    check(CLAIM, Verdict::Agrees, Some(1.6), "harmonic mean over stn, dlb, +0 %, within 15 %");
    check(&CLAIM.replace("1.6", "1.4"), Verdict::Agrees, Some(1.6), "harmonic mean over stn, dlb, +14 %, within 15 %");
}

#[test]
fn a_value_further_away_disagrees() {
    check(
        &CLAIM.replace("1.6", "2.0"),
        Verdict::Disagrees,
        Some(1.6),
        "harmonic mean over stn, dlb, -20 %, outside 15 %",
    );
}

#[test]
fn a_claim_about_missing_workloads_is_partial() {
    check(
        &CLAIM.replace("\"dlb\"]", "\"dlb\", \"bh\", \"cc\"]"),
        Verdict::Partial,
        Some(1.6),
        "2 of 4 workloads: harmonic mean over stn, dlb, +0 %, within 15 %; without bh, cc",
    );
}

#[test]
fn a_claim_whose_workloads_are_all_missing_is_not_measured() {
    check(&CLAIM.replace("\"stn\", \"dlb\"", "\"bh\""), Verdict::NotMeasured, None, "no usable run of bh");
}

#[test]
fn a_claim_may_compare_two_protocols_that_are_no_baseline() {
    // GPU-VI over IDEAL-COH: 2 / 4 and 1.25 / 1.
    let text = CLAIM.replace("1.6", "0.9\nbound = \"below\"").replace(
        "\"ideal-coh\", versus = \"no-l1\", mean = \"harmonic\"",
        "\"gpu-vi\", versus = \"ideal-coh\", mean = \"arithmetic\"",
    );
    check(&text, Verdict::Agrees, Some((0.5 + 1.25) / 2.0), "arithmetic mean over stn, dlb, in the stated direction");
}

#[test]
fn a_fact_is_compared_exactly_where_the_claim_says_so() {
    let fact = |value: &str, name: &str| {
        let text = CLAIM.replace("1.6", value).replace("workloads = [\"stn\", \"dlb\"]", "bound = \"exactly\"");
        let start = text.find("measured").unwrap();
        format!("{}fact = \"{name}\"\n", &text[..start])
    };
    check(&fact("5", "states"), Verdict::Agrees, Some(5.0), "counted by Chorus, equal");
    check(&fact("6", "states"), Verdict::Disagrees, Some(5.0), "counted by Chorus, different");
    check(&fact("5", "networks"), Verdict::NotMeasured, None, "Chorus did not count it in this run");
}

#[test]
fn bounds_mean_what_they_say() {
    for (bound, below, equal, above) in [
        (Bound::Approx, true, true, true),
        (Bound::AtLeast, false, true, true),
        (Bound::AtMost, true, true, false),
        (Bound::Above, false, false, true),
        (Bound::Below, true, false, false),
        (Bound::Exactly, false, true, false),
    ] {
        let holds = [0.9, 1.0, 1.1].map(|measured| bound.holds(measured, 1.0));
        assert_eq!(holds, [below, equal, above], "{bound:?}");
    }
    assert!(!Bound::Approx.holds(0.84, 1.0) && !Bound::Approx.holds(1.16, 1.0));
}

#[test]
fn a_claim_that_no_figure_can_answer_is_refused() {
    let message = |text: &str| claim::read("claims.toml", text, &experiment()).unwrap_err().to_string();
    assert_eq!(
        message(&CLAIM.replace("\"ideal-coh\"", "\"no-coh\"")),
        "claims.toml:8:40: key `protocol`: unknown protocol of the figure `no-coh`; known: `ideal-coh`, `gpu-vi`, `no-l1`"
    );
    assert_eq!(
        message(&CLAIM.replace("measured", "fact = \"states\"\nmeasured")),
        "claims.toml:2:6: claim `speed` takes either `measured` or `fact`"
    );
}

/// The paper's numbers, as the reference copy has them. Where that copy is absent, the test says so and passes.
#[test]
fn shipped_numbers_are_those_of_the_reference_copy() {
    for shipped in PAPERS {
        let path = format!("{}/../../../shared/claims/{}.toml", env!("CARGO_MANIFEST_DIR"), shipped.name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            println!("skipped: there is no reference copy of the claims of {}", shipped.name);
            continue;
        };
        let reference: toml::Table = text.parse().unwrap();
        let entry = |id: &str| {
            let claims = reference["claim"].as_array().unwrap();
            claims.iter().find(|claim| claim["id"].as_str() == Some(id)).cloned()
        };
        for claim in paper::load(shipped.name, &KNOWN).unwrap().claims {
            if claim.kind == claim::Kind::Trend {
                assert_eq!(claim.value, 1.0, "{}: a direction has no number of its own", claim.id);
                continue;
            }
            let reference = entry(&claim.id).unwrap_or_else(|| panic!("{} is no claim of the paper", claim.id));
            let value = reference["value"].as_float().or(reference["value"].as_integer().map(|value| value as f64));
            assert_eq!(value, Some(claim.value), "{}", claim.id);
        }
    }
}
