//! Mutants of one protocol that were made by machine: the search for them, and its result as JSON.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use chorus_protocol::registry::Protocol;
use chorus_verify::mutate::catalogue::{Mutant, mutants};
use chorus_verify::mutate::hunt::{Effort, Fate, Means};
use chorus_verify::mutate::score::{Score, Tried, sample, score};
use serde_json::{Value, json};

use crate::steps::Steps;

/// The seed of samples, which says with which mutant they begin.
const SEED: u64 = 1;

/// The number of cores, which is the number of mutants that are tried at the same time.
pub fn cores() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Tries a sample of at most `most` mutants, and tells `progress` about each.
pub fn try_sample(protocol: &'static dyn Protocol, most: usize, progress: &dyn Steps) -> Score {
    let sample = sample(mutants(protocol), most, SEED);
    let finished = AtomicUsize::new(0);
    let watch = |_: &Tried| {
        let number = finished.fetch_add(1, Ordering::Relaxed) + 1;
        progress.begin(&format!("{}: {number} of {} mutants", protocol.name(), sample.len()));
    };
    score(protocol, &sample, Effort::default(), cores(), None, &watch)
}

/// A mutant as JSON, with the mistake in words.
pub fn mutant_json(protocol: &dyn Protocol, mutant: &Mutant) -> Value {
    let cell = mutant.mutation.cell;
    json!({
        "id": mutant.id,
        "role": cell.role.name(),
        "device": cell.device,
        "state": cell.state,
        "event": cell.event,
        "operator": mutant.mutation.operator.name(),
        "sentence": mutant.sentence(protocol),
    })
}

/// The fates of mutants as JSON: their numbers, and each mutant.
pub fn to_json(protocol: &dyn Protocol, score: &Score) -> Value {
    let by = Means::ALL.map(|means| (means.name().to_owned(), json!(score.found_by(means))));
    json!({
        "tried": score.tried.len(),
        "found": score.found(),
        "found_by": Value::Object(by.into_iter().collect()),
        "survived": score.survivors().count(),
        "equivalent": score.equivalent(),
        "not_reached": score.not_reached(),
        "left_out": score.left_out,
        "score": score.share(),
        "mutants": score.tried.iter().map(|tried| tried_json(protocol, tried)).collect::<Vec<_>>(),
    })
}

fn tried_json(protocol: &dyn Protocol, tried: &Tried) -> Value {
    let (verdict, by, rule) = match &tried.fate {
        Fate::Found { by, rule } => ("found", Some(by.name()), Some(rule)),
        Fate::Survived { .. } => ("survived", None, None),
        Fate::Equivalent => ("equivalent", None, None),
        Fate::NotReached => ("not reached", None, None),
    };
    let changed = match tried.fate {
        Fate::Survived { explorations, bounded, in_torture } => {
            json!({ "explorations": explorations, "bounded": bounded, "torture": in_torture })
        }
        Fate::Found { .. } | Fate::Equivalent | Fate::NotReached => Value::Null,
    };
    let mut value = mutant_json(protocol, &tried.mutant);
    value["verdict"] = json!(verdict);
    value["by"] = json!(by);
    value["rule"] = json!(rule);
    value["changed_in"] = changed;
    value["seconds"] = json!(tried.time.as_secs_f64());
    value
}
