//! Graphs that users bring along: read once, known by their contents.

use std::fmt;
use std::path::Path;

use chorus_registry::{Registry, unknown};
use chorus_workloads::Workload;
use chorus_workloads::graph::{Graph, GraphError, GraphFormat, parse};
use chorus_workloads::registry::OnGraph;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::document::quoted;

/// Bytes of a file that is read.
const FILE_BYTES_MAX: u64 = 8 << 30;

/// The graph that a run asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GraphFile {
    /// Where it lies.
    pub path: String,
    /// The name of its format; its ending tells where there is none.
    pub format: Option<String>,
}

/// Which graph a run was made on. The contents say it, wherever the file may lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphIdentity {
    /// The file as it was named.
    pub file: String,
    /// The name of the format that it was read in.
    pub format: String,
    /// The hash of its contents, in hexadecimal digits.
    pub sha256: String,
    /// Nodes of the graph.
    pub nodes: u32,
    /// Arcs of the graph, as the file has them.
    pub arcs: u32,
}

impl GraphIdentity {
    /// What two runs on the same graph have in common.
    pub(crate) fn contents(&self) -> String {
        format!("{} {}", self.format, self.sha256)
    }

    /// A table of the stored configuration.
    pub(crate) fn text(&self) -> String {
        let GraphIdentity { file, format, sha256, nodes, arcs } = self;
        let file = toml::Value::from(file.as_str());
        format!(
            "\n[graph]\nfile = {file}\nformat = \"{format}\"\nsha256 = \"{sha256}\"\nnodes = {nodes}\narcs = {arcs}\n"
        )
    }
}

/// A graph and how a workload is built on it.
pub struct OwnGraph {
    /// Which graph it is.
    pub identity: GraphIdentity,
    /// The graph.
    pub graph: Graph,
    /// The workload on a graph.
    pub build: OnGraph,
}

/// Why a run on a user's graph cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnGraphError {
    /// The workload takes no graph.
    NotTaken {
        /// The workload.
        workload: &'static str,
        /// The workloads that take one.
        takers: Vec<&'static str>,
    },
    /// No format of that name.
    UnknownFormat {
        /// What was given.
        given: String,
    },
    /// Neither the ending of the file nor anything else tells its format.
    NoFormat {
        /// The file.
        path: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file is not in the format.
    Contents(GraphError),
}

impl std::error::Error for OwnGraphError {}

impl fmt::Display for OwnGraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OwnGraphError::NotTaken { workload, takers } => {
                write!(f, "--graph: workload {workload} takes no graph; those that do: {}", quoted(takers))
            }
            OwnGraphError::UnknownFormat { given } => {
                let known = GraphFormat::ALL.map(|format| format.name());
                f.write_str(&unknown("graph format", given, &known))
            }
            OwnGraphError::NoFormat { path } => {
                let endings =
                    GraphFormat::ALL.map(|format| format!("`.{}` ({})", format.extension(), format.name())).join(", ");
                writeln!(f, "{path}: the ending of the file does not tell its format; accepted: {endings}")?;
                write!(f, "hint: --graph-format names the format of a file with another ending")
            }
            OwnGraphError::Unreadable { path, reason } => write!(f, "{path}: cannot be read as a graph: {reason}"),
            OwnGraphError::Contents(error) => error.fmt(f),
        }
    }
}

/// Reads the graph of a run.
pub fn read(registry: &Registry, file: &GraphFile, workload: &dyn Workload) -> Result<OwnGraph, OwnGraphError> {
    let build = workload.on_graph().ok_or_else(|| not_taken(registry, workload))?;
    let path = Path::new(&file.path);
    let format = match &file.format {
        Some(name) => {
            GraphFormat::from_name(name).ok_or_else(|| OwnGraphError::UnknownFormat { given: name.clone() })?
        }
        None => GraphFormat::of_path(path).ok_or_else(|| OwnGraphError::NoFormat { path: file.path.clone() })?,
    };
    let bytes = contents(path).map_err(|reason| OwnGraphError::Unreadable { path: file.path.clone(), reason })?;
    let graph = parse(format, &file.path, &bytes).map_err(OwnGraphError::Contents)?;
    let identity = GraphIdentity {
        file: file.path.clone(),
        format: format.name().to_owned(),
        sha256: Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect(),
        nodes: graph.nodes(),
        arcs: graph.arcs(),
    };
    Ok(OwnGraph { identity, graph, build })
}

fn not_taken(registry: &Registry, workload: &dyn Workload) -> OwnGraphError {
    let takers = registry.workloads().iter().filter(|workload| workload.on_graph().is_some());
    OwnGraphError::NotTaken { workload: workload.name(), takers: takers.map(|workload| workload.name()).collect() }
}

/// The contents of a plain file: a device or pipe may never end.
fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no plain file".to_owned());
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(format!("it has {} bytes; accepted: at most {FILE_BYTES_MAX}", metadata.len()));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}
