//! Claims against what was measured.

use std::collections::BTreeMap;

use chorus_lab::claim::{self, Evaluation};
use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{FigureData, Results};
use chorus_lab::paper;
use chorus_lab::run::{Outcome, Record, RunResult, RunSpec};
use chorus_lab::verdict::{ClaimGroup, Verdict};
use chorus_registry::PAPERS;
use chorus_system::Scale;

use crate::fake::{cycles, experiment, paper as small_paper, record, registry, result};

const CLAIM: &str = r#"[[claim]]
id = "speed"
source = "section 1"
kind = "result"
text = "It is faster."
value = 1.6
workloads = ["stn", "dlb"]
measured = { figure = "speed", protocol = "ideal-coh", versus = "no-l1", mean = "harmonic" }
"#;

fn figures(experiment: &Experiment, records: &[Record]) -> Vec<FigureData> {
    let results = Results::new(records);
    experiment.figures.iter().map(|figure| FigureData::compute(experiment, figure, Scale::Quick, &results)).collect()
}

fn evaluate(text: &str, facts: &[(&str, f64)]) -> Vec<Evaluation> {
    let experiment = experiment();
    let records: Vec<Record> = experiment.runs(Scale::Quick).iter().map(record).collect();
    let claims = claim::read("claims.toml", text, &experiment).unwrap_or_else(|error| panic!("{error}")).claims;
    let facts: BTreeMap<String, f64> = facts.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    claim::evaluate(&claims, &figures(&experiment, &records), &facts)
}

fn check(text: &str, verdict: Verdict, measured: Option<f64>, reason: &str) {
    let evaluation = evaluate(text, &[("states", 5.0)]).remove(0);
    assert_eq!((evaluation.verdict, evaluation.measured, evaluation.reason.as_str()), (verdict, measured, reason));
}

#[test]
fn a_quotient_is_judged_by_its_effect() {
    // Speed-ups of 4 and 1 have the harmonic mean 1.6.
    let reason = |paper: &str, share: u32| {
        format!("harmonic mean over stn, dlb; +60.0 % where the paper has {paper}: {share} % of the effect")
    };
    check(CLAIM, Verdict::Agrees, Some(1.6), &reason("+60.0 %", 100));
    check(&CLAIM.replace("1.6", "1.51"), Verdict::Agrees, Some(1.6), &reason("+51.0 %", 118));
    check(&CLAIM.replace("1.6", "1.4"), Verdict::Stronger, Some(1.6), &reason("+40.0 %", 150));
    check(&CLAIM.replace("1.6", "2.0"), Verdict::Weaker, Some(1.6), &reason("+100.0 %", 60));
    check(
        &CLAIM.replace("1.6", "0.5"),
        Verdict::Disagrees,
        Some(1.6),
        "harmonic mean over stn, dlb; +60.0 % where the paper has -50.0 %: the opposite effect",
    );
    let evaluation = evaluate(&CLAIM.replace("1.6", "2.0"), &[]).remove(0);
    assert_eq!(
        (evaluation.effect_recovered.map(|share| (share * 10.0).round()), evaluation.group),
        (Some(6.0), ClaimGroup::Results)
    );
}

#[test]
fn a_claim_over_several_seeds_says_whether_its_effect_is_significant() {
    let mut experiment = experiment();
    experiment.repeat(Some(3), Some(4));
    let specs = experiment.runs(Scale::Quick);
    assert!(specs.iter().all(|spec| spec.set[0] == "timing.jitter=4"), "variants have the last word");
    // The baseline takes 8000 cycles, and less with every seed, so that speed-ups of 4 and 1 are smaller.
    let jittered = |spec: &RunSpec| {
        let cycles = cycles(spec) - if spec.protocol == "no-l1" { 80 * spec.seed } else { 0 };
        Record { outcome: Outcome::Finished(Box::new(RunResult { cycles, ..result(spec) })), ..record(spec) }
    };
    let records: Vec<Record> = specs.iter().map(jittered).collect();
    let claims = claim::read("claims.toml", CLAIM, &experiment).unwrap().claims;
    let evaluation = claim::evaluate(&claims, &figures(&experiment, &records), &BTreeMap::new()).remove(0);
    let significance = evaluation.significance.expect("there are several seeds");
    // 1.6 less 1, 2 and 3 per cent.
    assert_eq!(significance.interval.seeds, 3);
    assert!((significance.interval.mean - 1.6 * 0.98).abs() < 1e-9, "{significance:?}");
    assert!((significance.interval.half() - 4.303 * 0.016 / 3.0_f64.sqrt()).abs() < 1e-9, "{significance:?}");
    assert!(significance.significant && significance.includes_paper);
    assert!(evaluation.reason.ends_with("over 3 seeds: significant, with the paper's number in it"), "{evaluation:?}");
}

#[test]
fn a_claim_about_missing_workloads_is_partial() {
    check(
        &CLAIM.replace("\"dlb\"]", "\"dlb\", \"bh\", \"cc\"]"),
        Verdict::Partial,
        Some(1.6),
        "2 of 4 workloads: harmonic mean over stn, dlb; +60.0 % where the paper has +60.0 %: 100 % of the effect; without bh, cc",
    );
}

#[test]
fn a_claim_whose_workloads_are_all_missing_is_not_measured() {
    check(&CLAIM.replace("\"stn\", \"dlb\"", "\"bh\""), Verdict::NotMeasured, None, "no usable run of bh");
}

#[test]
fn a_claim_may_compare_two_protocols_that_are_no_baseline() {
    // GPU-VI against IDEAL-COH: the mean of 2 and 1.25 over that of 4 and 1.
    let text = CLAIM.replace("1.6", "0.9\nbound = \"below\"").replace(
        "\"ideal-coh\", versus = \"no-l1\", mean = \"harmonic\"",
        "\"gpu-vi\", versus = \"ideal-coh\", mean = \"arithmetic\"",
    );
    check(
        &text,
        Verdict::Agrees,
        Some((2.0 + 1.25) / (4.0 + 1.0)),
        "arithmetic mean over stn, dlb; in the stated direction",
    );
}

#[test]
fn a_fact_is_compared_exactly_where_the_claim_says_so() {
    let fact = |value: &str, name: &str| {
        let text = CLAIM.replace("1.6", value).replace("workloads = [\"stn\", \"dlb\"]", "bound = \"exactly\"");
        let start = text.find("measured").unwrap();
        format!("{}fact = \"{name}\"\n", &text[..start])
    };
    check(&fact("5", "states"), Verdict::Agrees, Some(5.0), "counted by Chorus; equal");
    check(&fact("6", "states"), Verdict::Disagrees, Some(5.0), "counted by Chorus; different");
    assert_eq!(evaluate(&fact("5", "states"), &[("states", 5.0)])[0].group, ClaimGroup::Facts);
    check(&fact("5", "networks"), Verdict::NotMeasured, None, "Chorus did not count it in this run");
}

#[test]
fn a_claim_may_be_about_some_parts_of_stacked_bars() {
    let text = |versus: &str, parts: &str| {
        let binding = "figure = \"speed\", protocol = \"ideal-coh\", versus = \"no-l1\", mean = \"harmonic\"";
        let other = format!(
            "figure = \"traffic\", protocol = \"gpu-vi\", versus = \"{versus}\", parts = [{parts}], mean = \"arithmetic\""
        );
        CLAIM.replace(binding, &other).replace("[\"stn\", \"dlb\"]", "[\"kmn\", \"hsp\"]")
    };
    let measured = |text: &str| evaluate(text, &[]).remove(0).measured;
    // Against the baseline, parts are relative to its whole bar of 400 flits; against a protocol, to its parts.
    assert_eq!(measured(&text("baseline", "\"INV\", \"RCL\"")), Some(75.0 / 400.0));
    assert_eq!(measured(&text("no-coh", "\"ST\", \"INV\"")), Some(200.0 / 150.0));
    let nothing = evaluate(&text("no-coh", "\"INV\""), &[]).remove(0);
    assert_eq!(nothing.measured, None);
    assert_eq!(nothing.reason, "the arithmetic mean of no-coh is zero or does not exist");
}

#[test]
fn a_claim_may_be_about_bars_that_are_relative_to_nothing() {
    let binding = "figure = \"speed\", protocol = \"ideal-coh\", versus = \"no-l1\", mean = \"harmonic\"";
    let absolute = "figure = \"invalidations\", protocol = \"gpu-vi\", mean = \"arithmetic\"";
    let text = CLAIM.replace(binding, absolute).replace("[\"stn\", \"dlb\"]", "[\"kmn\", \"hsp\"]");
    assert_eq!(evaluate(&text, &[]).remove(0).measured, Some(75.0 / 350.0));
    let message = claim::read("claims.toml", &CLAIM.replace("versus = \"no-l1\", ", ""), &experiment()).unwrap_err();
    assert_eq!(
        message.to_string(),
        "claims.toml:8:23: key `measured`: missing key `versus`; figure `speed` compares protocols"
    );
}

#[test]
fn a_claim_about_one_workload_names_no_mean() {
    let text = CLAIM.replace("[\"stn\", \"dlb\"]", "[\"stn\"]").replace("1.6", "4.0");
    check(&text, Verdict::Agrees, Some(4.0), "stn; +300.0 % where the paper has +300.0 %: 100 % of the effect");
}

#[test]
fn a_claim_may_say_why_it_is_not_measured() {
    let start = CLAIM.find("workloads").unwrap();
    let text = format!("{}unmeasured = \"nobody can\"\n", &CLAIM[..start]);
    check(&text, Verdict::NotMeasured, None, "nobody can");
}

#[test]
fn a_prediction_has_a_value_and_no_verdict() {
    let paper = small_paper();
    let records: Vec<Record> = paper.experiment.runs(Scale::Quick).iter().map(record).collect();
    let predicted = claim::predict(&paper.statements.predictions, &figures(&paper.experiment, &records));
    let [speed, traffic] = predicted.as_slice() else { panic!("two predictions") };
    assert_eq!((speed.measured, speed.reason.as_str()), (Some(2.0 / (0.5 + 0.8)), "harmonic mean over stn, dlb"));
    assert_eq!(speed.compared, "harmonic mean of gpu-vi over that of baseline, figure speed; the baseline is no-l1");
    let over = "arithmetic mean over kmn, hsp; without lps";
    assert_eq!((traffic.measured, traffic.reason.as_str()), (Some(475.0 / 400.0), over));
    let nothing = claim::predict(&paper.statements.predictions, &[]);
    assert_eq!((nothing[0].measured, nothing[0].reason.as_str()), (None, "figure speed is not part of this report"));
}

#[test]
fn a_claim_that_no_figure_can_answer_is_refused() {
    let message = |text: &str| claim::read("claims.toml", text, &experiment()).unwrap_err().to_string();
    assert_eq!(
        message(&CLAIM.replace("\"ideal-coh\"", "\"no-coh\"")),
        "claims.toml:8:43: key `protocol`: unknown protocol of the figure `no-coh`; known: `ideal-coh`, `gpu-vi`, `no-l1`, \
         `baseline`"
    );
    assert_eq!(
        message(&CLAIM.replace("measured", "fact = \"states\"\nmeasured")),
        "claims.toml:2:6: claim `speed` takes exactly one of `measured`, `fact` and `unmeasured`"
    );
    let lines = CLAIM.replace(
        "figure = \"speed\", protocol = \"ideal-coh\"",
        "figure = \"lifetimes\", protocol = \"tc-weak-fixed\", variant = \"lung\"",
    );
    let message = message(&lines.replace("versus = \"no-l1\"", "versus = \"baseline\""));
    assert!(
        message.ends_with(
            "unknown variant of that protocol in the figure `lung`; did you mean `long`? known: `none`, `long`"
        ),
        "{message}"
    );
}

/// A claim of the paper may be split into several of ours, whose names begin with its own.
fn is_of(ours: &str, paper: &str) -> bool {
    ours.strip_prefix(paper).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The paper's claims, as the reference copy has them: kind and number by name.
fn reference(paper: &str) -> Option<BTreeMap<String, (String, f64)>> {
    let path = format!("{}/../../../shared/claims/{paper}.toml", env!("CARGO_MANIFEST_DIR"));
    let table: toml::Table = std::fs::read_to_string(&path).ok()?.parse().unwrap();
    let claims = table["claim"].as_array().unwrap().iter();
    let entry = |claim: &toml::Value| {
        let text = |key: &str| claim[key].as_str().unwrap().to_owned();
        let value = claim["value"].as_float().or(claim["value"].as_integer().map(|value| value as f64));
        (text("id"), (text("kind"), value.unwrap()))
    };
    Some(claims.map(entry).collect())
}

/// Where the reference copy is absent, the test says so and passes.
#[test]
fn shipped_claims_are_those_of_the_reference_copy_with_its_numbers() {
    for shipped in PAPERS {
        let Some(reference) = reference(shipped.name) else {
            println!("skipped: there is no reference copy of the claims of {}", shipped.name);
            continue;
        };
        let claims = paper::load(registry(), shipped.name).unwrap().statements.claims;
        for (id, (kind, value)) in &reference {
            let longer = |ours: &str| reference.keys().any(|other| other.len() > id.len() && is_of(ours, other));
            let ours: Vec<_> = claims.iter().filter(|claim| is_of(&claim.id, id) && !longer(&claim.id)).collect();
            assert!(!ours.is_empty(), "{id} is missing");
            for claim in ours {
                assert_eq!((claim.kind.to_string(), claim.value), (kind.clone(), *value), "{}", claim.id);
            }
        }
        for claim in claims {
            match claim.kind {
                claim::Kind::Trend => {
                    assert!([0.0, 1.0].contains(&claim.value), "{}: a direction has no number of its own", claim.id);
                }
                _ => assert!(reference.keys().any(|id| is_of(&claim.id, id)), "{} is no claim of the paper", claim.id),
            }
        }
    }
}
