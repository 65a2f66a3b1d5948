//! The search for the fewest virtual networks, as data.

use chorus_protocol::registry::Protocol;
use chorus_verify::networks::{Attempt, NetworkReport, Sharing, messages, pool_count};
use serde_json::{Value, json};

use crate::JSON_SCHEMA_VERSION;

/// What came of an assignment, in words.
pub fn verdict(attempt: &Attempt) -> &'static str {
    match attempt.sharing {
        Sharing::Free { .. } => "free of deadlock",
        Sharing::Stuck(_) => "deadlock",
        Sharing::Bounded { .. } => "bounded",
    }
}

/// The configuration that decided, if one did.
pub fn decider(attempt: &Attempt) -> &'static str {
    match &attempt.sharing {
        Sharing::Free { .. } => "",
        Sharing::Stuck(deadlock) => deadlock.config,
        Sharing::Bounded { config } => config,
    }
}

/// The report as JSON.
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
