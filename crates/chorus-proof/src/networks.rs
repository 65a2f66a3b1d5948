//! The search for the fewest virtual networks: verdicts in words, and the result as JSON.

use chorus_protocol::registry::Protocol;
use chorus_verify::networks::{Attempt, NetworkReport, Sharing, messages, pool_count};
use serde_json::{Value, json};

use crate::JSON_SCHEMA_VERSION;

/// The verdict on one assignment of virtual networks to buffers, in words.
pub fn verdict(attempt: &Attempt) -> &'static str {
    match attempt.sharing {
        Sharing::Free { .. } => "free of deadlock",
        Sharing::Stuck(_) => "deadlock",
        Sharing::Bounded { .. } => "bounded",
    }
}

/// The name of the configuration that decided the verdict; empty for an assignment that is free of deadlock in all of
/// them.
pub fn decider(attempt: &Attempt) -> &'static str {
    match &attempt.sharing {
        Sharing::Free { .. } => "",
        Sharing::Stuck(deadlock) => deadlock.config,
        Sharing::Bounded { config, .. } => config,
    }
}

/// The report of the search as JSON.
pub fn to_json(protocol: &'static dyn Protocol, report: &NetworkReport) -> Value {
    let attempt = |attempt: &Attempt| {
        let replay = match &attempt.sharing {
            Sharing::Stuck(deadlock) => Some(deadlock.replay(report.protocol).to_string()),
            Sharing::Free { .. } | Sharing::Bounded { .. } => None,
        };
        json!({
            "pools": attempt.pools,
            "count": pool_count(&attempt.pools),
            "verdict": verdict(attempt),
            "configuration": Some(decider(attempt)).filter(|name| !name.is_empty()),
            "replay": replay,
        })
    };
    json!({
        "schema_version": JSON_SCHEMA_VERSION,
        "protocol": report.protocol,
        "declared": report.declared,
        "declared_is_free": report.is_declared_free(),
        "smallest": report.smallest,
        "networks": (0..report.declared).map(|network| messages(protocol, network)).collect::<Vec<_>>(),
        "attempts": report.attempts.iter().map(attempt).collect::<Vec<_>>(),
        "chart": report.deadlock().map(|deadlock| deadlock.chart.to_text()),
    })
}
