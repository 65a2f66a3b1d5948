//! `chorus check P --networks`: the smallest number of virtual networks that keeps a protocol free of deadlock.

use chorus_proof::networks::{decider, to_json, verdict};
use chorus_protocol::registry::Protocol;
use chorus_verify::networks::{NetworkReport, Sharing, describe, messages, pool_count, smallest};
use chorus_verify::settings::Settings;

use crate::drawings::Drawings;
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, table};
use crate::session::Session;

/// Tries every assignment of virtual networks to shared buffers. The check fails if the declared networks can deadlock.
pub fn run(
    protocol: &'static dyn Protocol,
    settings: &Settings,
    drawings: &Drawings,
    as_json: bool,
    session: &mut Session,
) -> Result<Verdict, Failure> {
    let report = smallest(protocol, settings);
    if as_json {
        session.output.json(&to_json(protocol, &report))?;
    } else {
        print(protocol, &report, session)?;
    }
    drawings.write_first(protocol, report.deadlock().map(|deadlock| &deadlock.chart), as_json, session)?;
    Ok(Verdict::of(report.is_declared_free()))
}

fn print(protocol: &'static dyn Protocol, report: &NetworkReport, session: &mut Session) -> Result<(), Failure> {
    for network in 0..report.declared {
        session.output.line(&format!("network {network}: {}", messages(protocol, network).join(" ")))?;
    }
    session.output.line("")?;
    let mut table = table(["networks", "sharing", "states", "moves", "verdict", "configuration"]);
    for attempt in &report.attempts {
        let (states, moves) = match &attempt.sharing {
            Sharing::Free { states } => (count(*states as u64), String::new()),
            Sharing::Stuck(deadlock) => (String::new(), deadlock.chart.sequence.moves.len().to_string()),
            Sharing::Bounded { .. } => (String::new(), String::new()),
        };
        table.add_row([
            pool_count(&attempt.pools).to_string(),
            describe(&attempt.pools),
            states,
            moves,
            verdict(attempt).to_owned(),
            decider(attempt).to_owned(),
        ]);
    }
    align_right(&mut table, 2..4);
    session.output.table(&table)?;
    session.output.print(&format!("\n{}", report.to_text()))
}
