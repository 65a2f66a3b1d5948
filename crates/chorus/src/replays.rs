//! `--replay STRING`: the steps to a violation are taken again, and drawn.

use chorus_proof::checking::fault;
use chorus_protocol::registry::Protocol;
use chorus_registry::unknown;
use chorus_verify::check::configurations;
use chorus_verify::config::MachineConfig;
use chorus_verify::faults::programs_of;
use chorus_verify::litmus::SuiteTest;
use chorus_verify::networks::Networks;
use chorus_verify::pressure;
use chorus_verify::replay::{Replay, Replayed};
use serde_json::json;

use crate::drawings::Drawings;
use crate::failure::{Failure, Verdict};
use crate::session::Session;
use crate::verbs::arguments::JSON_SCHEMA_VERSION;

/// Takes the steps that `text` describes, in one of `tests` or in a configuration of Chorus. Draws them if asked to.
/// The check fails if they end in a violation.
pub fn run(
    text: &str,
    protocol: &'static dyn Protocol,
    tests: &[SuiteTest],
    drawings: &Drawings,
    as_json: bool,
    session: &mut Session,
) -> Result<Verdict, Failure> {
    let replayed = replayed(text, protocol, tests)?;
    drawings.write(protocol, &replayed.sequence, replayed.violation.as_ref())?;
    if as_json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "protocol": protocol.name(),
            "replay": text,
            "moves": replayed.sequence.moves.len(),
            "violation": replayed.violation.as_ref().map(ToString::to_string),
            "chart": replayed.to_text(),
        }))?;
    } else {
        session.output.print(&replayed.to_text())?;
    }
    Ok(Verdict::of(replayed.violation.is_none()))
}

fn replayed(text: &str, protocol: &'static dyn Protocol, tests: &[SuiteTest]) -> Result<Replayed, Failure> {
    let replay: Replay = text.parse().map_err(|error| Failure::bad_input(format!("{error}")))?;
    if replay.protocol != protocol.name() {
        let (given, asked) = (&replay.protocol, protocol.name());
        return Err(Failure::bad_input(format!("the replay is of protocol `{given}`, not of `{asked}`")));
    }
    if let Networks::Finite { pools, .. } = &replay.networks {
        let declared = usize::from(protocol.virtual_networks());
        if pools.len() != declared || pools.iter().any(|&pool| usize::from(pool) >= declared) {
            let (given, name) = (pools.len(), protocol.name());
            let message = format!("the replay has {given} networks; {name} has {declared}, in pools from 0 on");
            return Err(Failure::bad_input(message));
        }
    }
    let fault = replay.fault.as_deref().map(|name| fault(protocol, name)).transpose().map_err(Failure::bad_input)?;
    let machine = machine(protocol, &replay.test, tests)?;
    replay.run(protocol, fault, &machine).map_err(|impossible| Failure::bad_input(impossible.to_string()))
}

fn machine(protocol: &dyn Protocol, test: &str, tests: &[SuiteTest]) -> Result<MachineConfig, Failure> {
    Replay::machine_of(protocol, test, tests).ok_or_else(|| {
        let configurations =
            [configurations(protocol), pressure::configurations_of(protocol), programs_of(protocol)].concat();
        let names = configurations.iter().map(|config| config.name);
        let known: Vec<&str> = names.chain(tests.iter().map(SuiteTest::name)).collect();
        Failure::bad_input(unknown("configuration or litmus test", test, &known))
    })
}
