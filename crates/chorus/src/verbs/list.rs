//! `chorus list`: what there is.

use chorus_lab::paper::{self, PAPERS};
use chorus_protocol::registry::{PROTOCOLS, Protocol};
use chorus_system::{SYSTEMS, Scale};
use chorus_workloads::workloads;
use clap::{Args, ValueEnum};
use comfy_table::Table;
use serde_json::{Map, Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict};
use crate::names::Names;
use crate::output::{align_right, table};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus list
  chorus list protocols
  chorus list workloads --json";

/// Arguments of `chorus list`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What to list; without it, everything.
    kind: Option<Kind>,
    #[command(flatten)]
    form: JsonArgument,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Machines.
    Systems,
    /// Coherence protocols.
    Protocols,
    /// Programs.
    Workloads,
    /// Papers that can be reproduced.
    Experiments,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Systems => "systems",
            Kind::Protocols => "protocols",
            Kind::Workloads => "workloads",
            Kind::Experiments => "experiments",
        }
    }

    /// The entries as JSON; `name` and `summary` are what people see first.
    fn entries(self) -> Result<Vec<Value>, Failure> {
        match self {
            Kind::Systems => SYSTEMS.iter().map(|system| system_entry(system.name)).collect(),
            Kind::Protocols => Ok(PROTOCOLS.iter().map(|protocol| protocol_entry(*protocol)).collect()),
            Kind::Workloads => Ok(workloads()
                .map(|workload| {
                    json!({
                        "name": workload.name(),
                        "title": workload.title(),
                        "summary": workload.summary(),
                        "source": workload.source(),
                        "communicates_within_a_kernel": workload.communicates(),
                    })
                })
                .collect()),
            Kind::Experiments => PAPERS.iter().map(|shipped| experiment_entry(shipped.name)).collect(),
        }
    }
}

fn protocol_entry(protocol: &dyn Protocol) -> Value {
    let parameters: Vec<Value> = protocol
        .parameters()
        .iter()
        .map(|parameter| {
            json!({
                "key": parameter.key,
                "default": parameter.default,
                "min": parameter.min,
                "max": parameter.max,
                "meaning": parameter.meaning,
                "source": parameter.source,
            })
        })
        .collect();
    json!({
        "name": protocol.name(),
        "title": protocol.title(),
        "summary": protocol.summary(),
        "source": protocol.citation(),
        "memory_model": protocol.model().name(),
        "virtual_networks": protocol.virtual_networks(),
        "parameters": parameters,
        "faults": protocol.faults().iter().map(|fault| fault.name).collect::<Vec<_>>(),
    })
}

fn system_entry(name: &str) -> Result<Value, Failure> {
    let config = chorus_system::resolve(name, Scale::Paper, &[])?.config;
    Ok(json!({ "name": name, "title": config.title, "summary": config.title, "source": config.source }))
}

fn experiment_entry(name: &str) -> Result<Value, Failure> {
    let paper = paper::load(name, &Names::all().known())?;
    let experiment = &paper.experiment;
    let (figures, claims) = (experiment.figures.len(), paper.statements.claims.len());
    let runs = experiment.runs(Scale::Quick).len();
    Ok(json!({
        "name": name,
        "title": experiment.title,
        "summary": format!("{}: {figures} figures from {runs} runs, {claims} claims", experiment.title),
        "source": experiment.source,
        "system": &*experiment.system,
        "headline_figure": experiment.headline().map(|figure| &*figure.id),
        "figures": figures,
        "runs": runs,
        "claims": claims,
        "predictions": paper.statements.predictions.len(),
    }))
}

/// Runs `chorus list`.
pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let kinds = arguments.kind.map_or_else(|| Kind::value_variants().to_vec(), |kind| vec![kind]);
    if arguments.form.json {
        let mut lists = Map::from_iter([("schema_version".to_owned(), Value::from(JSON_SCHEMA_VERSION))]);
        for kind in kinds {
            lists.insert(kind.name().to_owned(), Value::from(kind.entries()?));
        }
        session.output.json(&Value::from(lists))?;
        return Ok(Verdict::Good);
    }
    for (index, kind) in kinds.iter().enumerate() {
        if index > 0 {
            session.output.line("")?;
        }
        // Sources are long; whoever asks for one list wants them.
        let columns = if kinds.len() == 1 { &["name", "summary", "source"][..] } else { &["name", "summary"] };
        let mut table = table([]);
        table.set_header(std::iter::once(kind.name()).chain(columns.iter().skip(1).copied()));
        for entry in kind.entries()? {
            table.add_row(columns.iter().map(|&column| entry[column].as_str().unwrap_or_default()));
        }
        session.output.table(&table)?;
    }
    if arguments.kind == Some(Kind::Protocols) {
        session.output.line("\nParameters, set with `--set KEY=VALUE`:\n")?;
        session.output.table(&parameters())?;
    }
    Ok(Verdict::Good)
}

/// The parameters of all protocols that have any.
fn parameters() -> Table {
    let mut parameters = table(["protocol", "parameter", "default", "accepted", "meaning", "source"]);
    for protocol in PROTOCOLS {
        for parameter in protocol.parameters() {
            parameters.add_row([
                protocol.name(),
                parameter.key,
                &parameter.default.to_string(),
                &format!("{} to {}", parameter.min, parameter.max),
                parameter.meaning,
                parameter.source,
            ]);
        }
    }
    align_right(&mut parameters, [2]);
    parameters
}
