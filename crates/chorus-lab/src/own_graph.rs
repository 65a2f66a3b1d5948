//! Graphs that users provide. They are read once, and identified by their contents.

use std::fmt;
use std::path::Path;

use chorus_registry::{Registry, unknown};
use chorus_workloads::Workload;
use chorus_workloads::graph::{Graph, GraphError, GraphFormat, parse};
use chorus_workloads::registry::OnGraph;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::document::quoted;

/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 8 << 30;

/// The graph file that a run asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GraphFile {
    /// The path of the file.
    pub path: String,
    /// The name of the file's format. If there is none, the extension of the file decides.
    pub format: Option<String>,
}

/// The identity of the graph that a run was made on. The contents decide, wherever the file lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphIdentity {
    /// The path of the file as it was given.
    pub file: String,
    /// The name of the file's format.
    pub format: String,
    /// The SHA-256 of its contents, in hexadecimal digits.
    pub sha256: String,
    /// Number of nodes of the graph.
    pub nodes: u32,
    /// Number of arcs of the graph, as the file has them.
    pub arcs: u32,
}

impl GraphIdentity {
    /// A text that is equal for two runs on the same graph.
    pub(crate) fn contents(&self) -> String {
        format!("{} {}", self.format, self.sha256)
    }

    /// The identity as a table of the stored configuration.
    pub(crate) fn text(&self) -> String {
        let GraphIdentity { file, format, sha256, nodes, arcs } = self;
        let file = toml::Value::from(file.as_str());
        format!(
            "\n[graph]\nfile = {file}\nformat = \"{format}\"\nsha256 = \"{sha256}\"\nnodes = {nodes}\narcs = {arcs}\n"
        )
    }
}

/// A graph, and the function that builds a workload on it.
pub struct OwnGraph {
    /// The identity of the graph's file.
    pub identity: GraphIdentity,
    /// The graph that was read.
    pub graph: Graph,
    /// Builds the workload on the graph.
    pub build: OnGraph,
}

/// The reason why a run on a user's own graph is impossible.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OwnGraphError {
    /// The workload does not take a graph.
    NotTaken {
        /// The name of the workload.
        workload: &'static str,
        /// The names of the workloads that take a graph.
        takers: Vec<&'static str>,
    },
    /// There is no format of this name.
    UnknownFormat {
        /// The name that was given.
        given: String,
    },
    /// The format is not given, and the extension of the file does not tell it.
    NoFormat {
        /// The path of the file.
        path: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The path of the file.
        path: String,
        /// The reason why it cannot be read.
        reason: String,
    },
    /// The contents of the file do not follow its format.
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

/// Reads the graph that a run asks for.
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

/// The contents of a regular file. Other files are refused, because a device or pipe may never end.
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
