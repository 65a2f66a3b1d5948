//! Accesses and their time as JSON.

use std::collections::BTreeMap;

use chorus_sim::observe::Scene;
use serde_json::{Value, json};

use super::stack::Sum;
use super::{Kept, Told};

/// The slowest of the accesses that were asked for, each with its chain.
pub fn chains(told: &Told) -> Value {
    let scene = told.why.scene.as_ref();
    let accesses: Vec<Value> =
        scene.iter().flat_map(|scene| told.why.kept.iter().map(|kept| kept_to_json(kept, scene))).collect();
    json!({
        "run": told.result.spec.to_string(),
        "cycles": told.result.cycles,
        "result": told.result.result.name(),
        "ticks_per_cycle": scene.map(|scene| scene.cycle),
        "accesses": accesses,
    })
}

fn kept_to_json(kept: &Kept, scene: &Scene) -> Value {
    let access = &kept.access;
    let intervals = kept.chain.iter().map(|interval| {
        json!({
            "from": interval.from,
            "until": interval.until,
            "cause": interval.cause.key(),
            "at": scene.topology.name(interval.place),
            "message": interval.message.map(|_| scene.message_name(interval)),
            "probe": interval.is_probe,
            "for": interval.other.map(|other| other.number.0),
        })
    });
    json!({
        "number": access.served.number.0,
        "purpose": access.served.purpose.one(),
        "cache": scene.topology.name(access.served.cache),
        "slot": access.served.wave,
        "kernel": &*access.kernel,
        "address": access.line.map(|line| line * u64::from(scene.line_bytes)),
        "buffer": access.line.and_then(|line| scene.buffer_of(line)),
        "issued": access.issued,
        "ended": access.ended,
        "intervals": intervals.collect::<Vec<_>>(),
    })
}

/// The time of all accesses by cause, with splits by kernel and by buffer.
pub fn stacks(told: &Told) -> Value {
    let stack = &told.why.stack;
    let purposes = told.sums().map(|(purpose, sum)| {
        let kernels = stack.split(purpose, |group| group.kernel.to_string());
        let buffers = stack.split(purpose, |group| group.buffer.map_or_else(String::new, |buffer| buffer.to_string()));
        let split = |sums: BTreeMap<String, Sum>| -> BTreeMap<String, Value> {
            sums.into_iter().map(|(name, sum)| (name, sum_to_json(&sum))).collect()
        };
        let mut value = sum_to_json(&sum);
        value["purpose"] = json!(purpose.name());
        value["by_kernel"] = json!(split(kernels));
        value["by_buffer"] = json!(split(buffers));
        value
    });
    json!({
        "run": told.result.spec.to_string(),
        "cycles": told.result.cycles,
        "result": told.result.result.name(),
        "ticks_per_cycle": told.cycle(),
        "stacks": purposes.collect::<Vec<_>>(),
    })
}

fn sum_to_json(sum: &Sum) -> Value {
    let layers: BTreeMap<String, Value> = sum
        .layers()
        .map(|(layer, time)| (layer.key(), json!({ "ticks": time.ticks, "for_others": time.for_others })))
        .collect();
    json!({ "accesses": sum.accesses, "ticks": sum.ticks(), "layers": layers })
}
