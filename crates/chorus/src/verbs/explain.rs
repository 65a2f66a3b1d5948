//! `chorus explain`: shows everything about one system, protocol or workload.

use chorus_lab::catalogue;
use chorus_lab::jobs;
use chorus_lab::setup::resolve_system;
use chorus_protocol::registry::Protocol;
use chorus_registry::{Registry, SIZE_PREFIX, unknown};
use chorus_system::{derived, entries};
use chorus_workloads::Workload;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument, ScaleArgument};
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, limit, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus explain tc                             every value of a system and its source
  chorus explain tc --scale paper --set l1.size_bytes=64KiB
  chorus explain my-system.toml --json
  chorus explain stn                            a workload with its sizes
  chorus explain hmg --kind protocol            a name that a system has, too
  chorus explain examples/cuda/bfs/program.toml --kind workload";

/// Columns of the value of a key.
const VALUE_COLUMNS: u16 = 16;

/// Arguments of `chorus explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Name of a system, protocol or workload, or path of a system file; with --kind workload, path of a program file.
    name: String,
    /// Kind that is meant if several kinds have the name. Without it, systems come first, then protocols.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    #[command(flatten)]
    scale: ScaleArgument,
    /// Set a key of the system to another value, as KEY=VALUE. May be repeated; the last value of a key wins.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    #[command(flatten)]
    form: JsonArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A machine that protocols run on.
    System,
    /// A cache coherence protocol.
    Protocol,
    /// A program that runs on a machine.
    Workload,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let (registry, name) = (session.registry, arguments.name.as_str());
    let allows = |kind: Kind| arguments.kind.is_none_or(|asked| asked == kind);
    if allows(Kind::System) && (chorus_system::is_path(name) || registry.find_system(name).is_some()) {
        return system(arguments, session);
    }
    if let Some(protocol) = registry.find_protocol(name).filter(|_| allows(Kind::Protocol)) {
        return explain_protocol(protocol, arguments, session);
    }
    if arguments.kind == Some(Kind::Workload) && chorus_program::is_path(name) {
        return explain_workload(jobs::workload(registry, name).map_err(Failure::bad_input)?, arguments, session);
    }
    if let Some(workload) = registry.find_workload(name).filter(|_| allows(Kind::Workload)) {
        return explain_workload(workload, arguments, session);
    }
    Err(Failure::bad_input(unknown_name(registry, arguments)))
}

fn unknown_name(registry: &Registry, arguments: &Arguments) -> String {
    let name = &arguments.name;
    match arguments.kind {
        Some(Kind::System) => unknown("system", name, &registry.system_names()),
        Some(Kind::Protocol) => unknown("protocol", name, &registry.protocol_names()),
        Some(Kind::Workload) => unknown("workload", name, &registry.workload_names()),
        None => {
            let all = [registry.system_names(), registry.protocol_names(), registry.workload_names()].concat();
            unknown("system, protocol or workload", name, &all)
        }
    }
}

fn system(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let resolved = resolve_system(session.registry, &arguments.name, arguments.scale.scale, &arguments.overrides)?;
    let (entries, derived) = (entries(&resolved), derived(&resolved.config));
    if arguments.form.json {
        let keys: Vec<Value> = entries
            .iter()
            .map(|entry| {
                let origin = entry.origin.to_string();
                json!({ "key": entry.key, "value": entry.value, "origin": origin, "source": entry.source })
            })
            .collect();
        let derived: Vec<Value> = derived
            .iter()
            .map(|figure| json!({ "name": figure.name, "value": figure.value, "how": figure.how }))
            .collect();
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "system": resolved.config.name,
            "scale": resolved.scale.name(),
            "config_hash": resolved.hash,
            "keys": keys,
            "derived": derived,
            "text": resolved.text,
        }))?;
        return Ok(Verdict::Good);
    }
    let config = &resolved.config;
    session.output.paragraph(&format!("{} at scale {}: {}", config.name, resolved.scale, config.title))?;
    session.output.paragraph(&config.source)?;
    session.output.line(&format!("configuration {}\n", resolved.hash))?;
    let mut keys = table(["key", "value", "set by: source"]);
    for entry in entries.iter().filter(|entry| entry.key.contains('.')) {
        let source = entry.source.as_deref().map_or_else(String::new, |source| format!(": {source}"));
        keys.add_row([&entry.key, &entry.value, &format!("{}{source}", entry.origin)]);
    }
    // Most values are numbers; a few are names that may wrap.
    align_right(&mut keys, [1]);
    limit(&mut keys, 1, VALUE_COLUMNS);
    session.output.table(&keys)?;
    session.output.line("")?;
    let mut sizes = table(["derived", "value", "from"]);
    for figure in &derived {
        sizes.add_row([figure.name, &figure.value, &figure.how]);
    }
    align_right(&mut sizes, [1]);
    session.output.table(&sizes)?;
    Ok(Verdict::Good)
}

/// Refuses a scale or an override for anything but a system.
fn refuse_overrides(what: &str, arguments: &Arguments) -> Result<(), Failure> {
    match arguments.overrides.first() {
        Some(set) => Err(Failure::bad_input(format!(
            "--set {set}: `{}` is a {what}; only systems are explained with other values",
            arguments.name
        ))),
        None => Ok(()),
    }
}

fn explain_protocol(
    protocol: &'static dyn Protocol,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<Verdict, Failure> {
    refuse_overrides("protocol", arguments)?;
    if arguments.form.json {
        let mut entry = catalogue::protocol_entry(protocol);
        entry["schema_version"] = Value::from(JSON_SCHEMA_VERSION);
        session.output.json(&entry)?;
        return Ok(Verdict::Good);
    }
    session.output.line(&format!("{}: {}", protocol.name(), protocol.title()))?;
    session.output.paragraph(protocol.summary())?;
    session.output.paragraph(protocol.citation())?;
    session.output.line("")?;
    session.output.line(&format!("memory model      {}", protocol.model().name()))?;
    session.output.line(&format!("virtual networks  {}\n", protocol.virtual_networks()))?;
    if !protocol.parameters().is_empty() {
        let mut parameters = table(["parameter", "default", "accepted", "meaning", "source"]);
        for parameter in protocol.parameters() {
            let accepted = format!("{} to {}", parameter.min, parameter.max);
            let default = parameter.default.to_string();
            parameters.add_row([parameter.key, &default, &accepted, parameter.meaning, parameter.source]);
        }
        align_right(&mut parameters, [1]);
        session.output.table(&parameters)?;
        session.output.line("")?;
    }
    let mut faults = table(["seeded fault", "what the faulty controller does"]);
    for fault in protocol.faults() {
        faults.add_row([fault.name, fault.breaks]);
    }
    session.output.table(&faults)?;
    Ok(Verdict::Good)
}

fn explain_workload(
    workload: &'static dyn Workload,
    arguments: &Arguments,
    session: &mut Session,
) -> Result<Verdict, Failure> {
    refuse_overrides("workload", arguments)?;
    if arguments.form.json {
        let mut entry = catalogue::workload_entry(workload);
        entry["schema_version"] = Value::from(JSON_SCHEMA_VERSION);
        session.output.json(&entry)?;
        return Ok(Verdict::Good);
    }
    let papers: Vec<&str> = workload.papers().iter().map(|paper| paper.name()).collect();
    session.output.line(&format!("{}: {}", workload.name(), workload.title()))?;
    session.output.paragraph(workload.summary())?;
    session.output.paragraph(workload.source())?;
    session.output.line("")?;
    session.output.line(&format!("suite         {}", workload.suite().title()))?;
    session
        .output
        .line(&format!("papers        {}", if papers.is_empty() { "none".into() } else { papers.join(", ") }))?;
    let communicates = if workload.communicates() { "yes, within a kernel" } else { "between kernels only" };
    session.output.line(&format!("communicates  {communicates}"))?;
    session
        .output
        .line(&format!("graph         {}\n", if workload.on_graph().is_some() { "--graph FILE" } else { "none" }))?;
    let mut sizes = table(["size", "quick", "medium", "paper", "range", "meaning and source"]);
    for size in workload.sizes() {
        let [quick, medium, paper] = size.defaults.map(|value| value.to_string());
        let accepted = match size.multiple_of {
            1 => format!("{}–{}", size.min, size.max),
            step => format!("{}–{} by {step}", size.min, size.max),
        };
        let meaning = format!("{}; {}", size.meaning, size.source);
        sizes.add_row([&format!("{SIZE_PREFIX}{}", size.key), &quick, &medium, &paper, &accepted, &meaning]);
    }
    align_right(&mut sizes, 1..4);
    session.output.table(&sizes)?;
    Ok(Verdict::Good)
}
