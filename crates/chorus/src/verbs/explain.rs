//! `chorus explain`: every value of a system, where it comes from, and what follows from it.

use chorus_lab::setup::resolve_system;
use chorus_system::{derived, entries};
use clap::Args;
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument, ScaleArgument};
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus explain tc
  chorus explain tc --scale paper --set l1.size_bytes=65536
  chorus explain my-system.toml --json";

/// Arguments of `chorus explain`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A system by name, or the path of a system file.
    system: String,
    #[command(flatten)]
    scale: ScaleArgument,
    /// Set one key of the system to another value; may be given several times, later ones win.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    #[command(flatten)]
    form: JsonArgument,
}

/// Runs `chorus explain`.
pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let resolved = resolve_system(&arguments.system, arguments.scale.scale, &arguments.overrides)?;
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
    session.output.line(&format!("{} at scale {}: {}", config.name, resolved.scale, config.title))?;
    session.output.line(&format!("{}\nconfiguration {}\n", config.source, resolved.hash))?;
    let mut keys = table(["key", "value", "set by", "source"]);
    for entry in entries.iter().filter(|entry| entry.key.contains('.')) {
        let source = entry.source.clone().unwrap_or_default();
        keys.add_row([&entry.key, &entry.value, &entry.origin.to_string(), &source]);
    }
    align_right(&mut keys, [1]);
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
