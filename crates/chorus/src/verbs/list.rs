//! `chorus list`: the systems, protocols, workloads and experiments of the registry.

use chorus_lab::catalogue;
use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;
use chorus_workloads::Workload;
use clap::{Args, ValueEnum};
use comfy_table::Table;
use serde_json::{Map, Value};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, keep_whole, leave_out, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus list
  chorus list protocols --long       with sources and parameters
  chorus list workloads --long       with sources and sizes
  chorus list workloads --json
  chorus explain stn                 everything about one of them";

/// Arguments of `chorus list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Kind of entry to list; by default all kinds.
    kind: Option<Kind>,
    /// Show sources, parameters of protocols and sizes of workloads, too.
    #[arg(long)]
    long: bool,
    #[command(flatten)]
    form: JsonArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Machines that protocols run on.
    Systems,
    /// Cache coherence protocols and their parameters.
    Protocols,
    /// Programs that run on a machine.
    Workloads,
    /// Papers and other experiments that can be reproduced.
    Experiments,
}

impl Kind {
    /// The kind as the catalogue calls it.
    fn of_catalogue(self) -> catalogue::Kind {
        match self {
            Kind::Systems => catalogue::Kind::Systems,
            Kind::Protocols => catalogue::Kind::Protocols,
            Kind::Workloads => catalogue::Kind::Workloads,
            Kind::Experiments => catalogue::Kind::Experiments,
        }
    }

    fn name(self) -> &'static str {
        self.of_catalogue().name()
    }

    /// The entries as JSON. People see `name` and `summary` first.
    fn entries(self, registry: &Registry) -> Result<Vec<Value>, Failure> {
        Ok(self.of_catalogue().entries(registry)?)
    }
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let registry = session.registry;
    let kinds = arguments.kind.map_or_else(|| Kind::value_variants().to_vec(), |kind| vec![kind]);
    if arguments.form.json {
        let mut lists = Map::from_iter([("schema_version".to_owned(), Value::from(JSON_SCHEMA_VERSION))]);
        for kind in kinds {
            lists.insert(kind.name().to_owned(), Value::from(kind.entries(registry)?));
        }
        session.output.json(&Value::from(lists))?;
        return Ok(Verdict::Good);
    }
    let columns: &[&str] = if arguments.long { &["name", "summary", "source"] } else { &["name", "summary"] };
    for (index, kind) in kinds.iter().enumerate() {
        if index > 0 {
            session.output.line("")?;
        }
        let mut table = table([]);
        table.set_header(std::iter::once(kind.name()).chain(columns.iter().skip(1).copied()));
        for entry in kind.entries(registry)? {
            table.add_row(columns.iter().map(|&column| entry[column].as_str().unwrap_or_default()));
        }
        session.output.table(&table)?;
        match kind {
            Kind::Protocols if arguments.long => {
                session.output.line("\nParameters, set with `--set KEY=VALUE`:\n")?;
                session.output.table(&parameters(registry.protocols()))?;
            }
            Kind::Workloads if arguments.long => {
                session.output.line("\nSizes, set with `--set workload.SIZE=VALUE`:\n")?;
                session.output.table(&sizes(registry.workloads()))?;
            }
            Kind::Systems | Kind::Protocols | Kind::Workloads | Kind::Experiments => {}
        }
    }
    Ok(Verdict::Good)
}

/// A table of the parameters that these protocols declare.
fn parameters(protocols: &[&'static dyn Protocol]) -> Table {
    let mut parameters = table(["protocol", "parameter", "default", "accepted", "meaning"]);
    for protocol in protocols {
        for parameter in protocol.parameters() {
            parameters.add_row([
                protocol.name(),
                parameter.key,
                &parameter.default.to_string(),
                &format!("{} to {}", parameter.min, parameter.max),
                parameter.meaning,
            ]);
        }
    }
    keep_whole(&mut parameters, [1, 3]);
    align_right(&mut parameters, [2]);
    leave_out(&mut parameters, &[3], &[(4, 24)]);
    parameters
}

/// A table of the sizes that these workloads declare.
fn sizes(workloads: &[&'static dyn Workload]) -> Table {
    let mut sizes = table(["workload", "size", "quick", "medium", "paper", "meaning"]);
    for workload in workloads {
        for size in workload.sizes() {
            let [quick, medium, paper] = size.defaults.map(|value| value.to_string());
            sizes.add_row([workload.name(), size.key, &quick, &medium, &paper, size.meaning]);
        }
    }
    keep_whole(&mut sizes, [1]);
    align_right(&mut sizes, 2..5);
    leave_out(&mut sizes, &[3], &[(5, 24)]);
    sizes
}
