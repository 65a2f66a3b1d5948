//! The results of every check as JSON.

use chorus_lab::simulate::build;
use chorus_verify::config::Stores;
use chorus_verify::faults::Catch;
use chorus_verify::litmus::Expectation;
use serde_json::{Value, json};

use crate::checked::Checked;
use crate::collect::{Proof, Tested};
use crate::faults::FaultSearch;
use crate::largest::largest;
use crate::sections::paper_networks;
use crate::words::verdict;
use crate::{JSON_SCHEMA_VERSION, Proofs, mutants, networks};

/// The results of all protocols as one JSON document.
pub fn of(all: &Proofs) -> Value {
    let build = build();
    json!({
        "schema_version": JSON_SCHEMA_VERSION,
        "chorus_version": build.chorus_version,
        "git_revision": build.git_revision,
        "date": all.date,
        "extent": all.extent.name(),
        "protocols_asked": all.asked,
        "passed": all.passed(),
        "seconds": all.proofs.iter().map(|proof| proof.seconds).sum::<f64>(),
        "protocols": all.proofs.iter().map(protocol).collect::<Vec<_>>(),
    })
}

fn protocol(proof: &Proof) -> Value {
    let not_run = proof.litmus.not_run.iter().map(|(name, reason)| json!({ "name": name, "reason": reason }));
    let mut networks = networks::to_json(proof.protocol, &proof.networks);
    networks["paper"] = json!(paper_networks(proof.protocol));
    let score = proof.score();
    let largest = largest(&proof.configurations);
    let mut value = json!({
        "name": proof.protocol.name(),
        "title": proof.protocol.title(),
        "memory_model": proof.protocol.model().name(),
        "passed": proof.passed(),
        "states": proof.states(),
        "seconds": proof.seconds,
        "configurations": proof.configurations.iter().map(Checked::to_json).collect::<Vec<_>>(),
        "largest_machines": largest.iter().map(|checked| checked.report.config).collect::<Vec<_>>(),
        "litmus": proof.litmus.tested.iter().map(test).collect::<Vec<_>>(),
        "litmus_not_run": not_run.collect::<Vec<_>>(),
        "networks": networks,
        "random": proof.random.to_json(),
        "mutation": {
            "seeded": score.seeded,
            "caught": score.caught,
            "without_effect": score.without_effect,
            "by_configurations_alone": score.by_configuration,
            "by_litmus_tests_alone": score.by_litmus,
            "by_random_steps_alone": score.by_random,
            "faults": proof.faults.iter().map(fault).collect::<Vec<_>>(),
        },
    });
    if let Some(score) = &proof.mutants {
        value["mutants"] = mutants::to_json(proof.protocol, score);
    }
    value
}

fn test(tested: &Tested) -> Value {
    let result = &tested.result;
    json!({
        "name": result.test.name(),
        "question": result.test.question(),
        "discriminator": tested.is_discriminator(),
        "core": match result.stores {
            Stores::Posted => "posted",
            Stores::Blocking => "blocking",
        },
        "model": result.model.name(),
        "expected": result.expectation.map(Expectation::text),
        "telling_outcome_reached": result.telling_reached(),
        "states": result.states,
        "seconds": tested.seconds,
        "verdict": verdict(result),
        "not_shown": result.not_shown(),
        "replay": result.replay().map(|replay| replay.to_string()),
    })
}

fn fault(fault: &FaultSearch) -> Value {
    let alone = |catch: &Option<Catch>| catch.as_ref().map(|catch| catch.by.words().1.to_owned());
    let look = fault.alone.as_ref();
    json!({
        "name": fault.spec.name,
        "breaks": fault.spec.breaks,
        "caught": fault.caught.as_ref().map(|catch| {
            let (kind, name) = catch.by.words();
            json!({
                "by": kind,
                "name": name,
                "violation": catch.chart.violation.to_string(),
                "replay": catch.replay().to_string(),
            })
        }),
        "changes_nothing": fault.changes_nothing,
        "configuration_alone": look.and_then(|look| alone(&look.by_configuration)),
        "litmus_test_alone": look.and_then(|look| alone(&look.by_litmus)),
        "random_steps_alone": fault.by_random.as_ref().map(|catch| {
            json!({ "steps": catch.steps, "episode": catch.episode, "problem": catch.problem.to_string() })
        }),
    })
}
