//! One run: what was asked for, what came out, and how it can fail.

use std::collections::BTreeMap;
use std::fmt;

use chorus_system::Scale;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::annotate::Annotate;
use crate::own_graph::{GraphFile, GraphIdentity};

/// The version of the JSON that [`RunResult::to_json`] writes.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunSpec {
    /// The machine: a shipped system or the path of a system file.
    pub system: String,
    /// The coherence protocol.
    pub protocol: String,
    /// The program.
    pub workload: String,
    /// The size of machine and input.
    pub scale: Scale,
    /// The seed of the generated input.
    pub seed: u64,
    /// Overrides of the machine and of the protocol's parameters, `key=value`; later ones win.
    pub set: Vec<String>,
    /// The graph that the program works on instead of a generated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphFile>,
    /// Who says what its kernels access.
    #[serde(default, skip_serializing_if = "Annotate::is_hand")]
    pub annotate: Annotate,
}

impl RunSpec {
    /// A string that names this run and the configuration it resolves to, the same in every process and on every machine.
    pub fn key(&self, config_hash: &str) -> String {
        let mut key =
            format!("{}/{}/{}/{}/{}/{config_hash}", self.system, self.protocol, self.workload, self.scale, self.seed);
        for set in &self.set {
            key.push('/');
            key.push_str(set);
        }
        key
    }
}

/// For people: `gpu-vi on stn (tc, quick, seed 1)`.
impl fmt::Display for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ({}, {}, seed {}", self.protocol, self.workload, self.system, self.scale, self.seed)?;
        for set in &self.set {
            write!(f, ", {set}")?;
        }
        if let Some(graph) = &self.graph {
            write!(f, ", graph {}", graph.path)?;
        }
        if !self.annotate.is_hand() {
            write!(f, ", annotate {}", self.annotate)?;
        }
        f.write_str(")")
    }
}

/// Whether the program computed what its host reference says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckResult {
    /// Every output word is right.
    Pass,
    /// Some output is wrong; the text says which.
    Fail(String),
    /// The workload has no reference.
    Unchecked,
}

impl CheckResult {
    /// The word used in JSON, exports and reports.
    pub fn name(&self) -> &'static str {
        match self {
            CheckResult::Pass => "pass",
            CheckResult::Fail(_) => "fail",
            CheckResult::Unchecked => "unchecked",
        }
    }
}

/// One kernel of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelResult {
    /// Its name.
    pub name: String,
    /// Core cycles from its launch to its end.
    pub cycles: u64,
    /// Its share of the counters.
    pub metrics: BTreeMap<String, f64>,
}

/// What a finished run measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// What was run.
    pub spec: RunSpec,
    /// The values of the protocol's parameters by their keys.
    #[serde(default)]
    pub parameters: BTreeMap<String, u64>,
    /// The values of the workload's sizes by their keys.
    #[serde(default)]
    pub sizes: BTreeMap<String, u64>,
    /// The graph that the program worked on instead of a generated one.
    #[serde(default)]
    pub graph: Option<GraphIdentity>,
    /// The hash of the resolved configuration.
    pub config_hash: String,
    /// The resolved configuration as TOML: the machine, the protocol's parameters, the graph, and who annotates.
    pub config_text: String,
    /// The version of Chorus that ran it.
    pub chorus_version: String,
    /// The git revision of Chorus that ran it.
    pub git_revision: String,
    /// Core cycles from the first launch to the end of the last kernel.
    pub cycles: u64,
    /// The same in nanoseconds of simulated time.
    pub simulated_ns: f64,
    /// Seconds that the run took.
    pub wall_s: f64,
    /// Seconds of processor time that the run took.
    pub user_s: f64,
    /// Coalesced line accesses issued to the L1s.
    pub accesses: u64,
    /// Whether the program computed the right result.
    pub result: CheckResult,
    /// Counters by name, over the whole run.
    pub metrics: BTreeMap<String, f64>,
    /// The kernels in order of launch.
    pub kernels: Vec<KernelResult>,
}

impl RunResult {
    /// The run as `chorus run --json` prints it.
    pub fn to_json(&self) -> Value {
        let mut json = json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "system": self.spec.system,
            "protocol": self.spec.protocol,
            "workload": self.spec.workload,
            "scale": self.spec.scale.name(),
            "seed": self.spec.seed,
            "set": self.spec.set,
            "annotate": self.spec.annotate.name(),
            "parameters": self.parameters,
            "sizes": self.sizes,
            "graph": self.graph,
            "config_hash": self.config_hash,
            "chorus_version": self.chorus_version,
            "git_revision": self.git_revision,
            "cycles": self.cycles,
            "simulated_ns": self.simulated_ns,
            "wall_s": self.wall_s,
            "user_s": self.user_s,
            "accesses": self.accesses,
            "result": self.result.name(),
            "metrics": self.metrics,
            "kernels": self.kernels,
        });
        if let (CheckResult::Fail(message), Value::Object(fields)) = (&self.result, &mut json) {
            fields.insert("message".to_owned(), Value::from(message.as_str()));
        }
        json
    }

    /// The name of a number that is infinite or undefined, which no sound counter is and which JSON cannot hold.
    pub fn unsound_number(&self) -> Option<&str> {
        let times = [("simulated_ns", self.simulated_ns), ("wall_s", self.wall_s), ("user_s", self.user_s)];
        let counters = std::iter::once(&self.metrics).chain(self.kernels.iter().map(|kernel| &kernel.metrics));
        let counters = counters.flatten().map(|(name, value)| (name.as_str(), *value));
        times.into_iter().chain(counters).find(|(_, value)| !value.is_finite()).map(|(name, _)| name)
    }
}

/// Why a run gave no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunErrorKind {
    /// The protocol cannot run the workload and says so.
    Refused,
    /// The program made no progress.
    Stuck,
    /// A kernel accessed what it does not declare.
    Undeclared,
    /// The run as asked for cannot exist.
    BadInput,
    /// Chorus itself went wrong.
    Defect,
}

impl RunErrorKind {
    /// Every kind.
    pub const ALL: [RunErrorKind; 5] = [
        RunErrorKind::Refused,
        RunErrorKind::Stuck,
        RunErrorKind::Undeclared,
        RunErrorKind::BadInput,
        RunErrorKind::Defect,
    ];

    /// The word used in the store, exports and reports.
    pub fn name(self) -> &'static str {
        match self {
            RunErrorKind::Refused => "refused",
            RunErrorKind::Stuck => "stuck",
            RunErrorKind::Undeclared => "undeclared",
            RunErrorKind::BadInput => "bad-input",
            RunErrorKind::Defect => "defect",
        }
    }
}

/// A run that gave no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// What happened, for people.
    pub message: String,
    /// Which sort of failure it is.
    pub kind: RunErrorKind,
}

impl RunError {
    /// A failure of a kind with its message.
    pub fn new(kind: RunErrorKind, message: impl Into<String>) -> Self {
        RunError { message: message.into(), kind }
    }
}

/// Makes one run.
pub type Runner<'a> = dyn Fn(&RunSpec) -> Result<RunResult, RunError> + Sync + 'a;

/// Which Chorus makes the runs. Results of one build are never mixed with those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The version.
    pub chorus_version: String,
    /// The git revision.
    pub git_revision: String,
}

/// What became of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It ran to its end, with the right result or a wrong one.
    Finished(Box<RunResult>),
    /// It gave no result.
    Failed(RunError),
}

/// A run and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What was run.
    pub spec: RunSpec,
    /// The hash of the resolved configuration.
    pub config_hash: String,
    /// Which Chorus ran it.
    pub build: Build,
    /// What became of it.
    pub outcome: Outcome,
}

impl Record {
    /// The result, where the run finished.
    pub fn result(&self) -> Option<&RunResult> {
        match &self.outcome {
            Outcome::Finished(result) => Some(result),
            Outcome::Failed(_) => None,
        }
    }

    /// `pass`, `fail`, `unchecked`, or the kind of failure.
    pub fn status(&self) -> &'static str {
        match &self.outcome {
            Outcome::Finished(result) => result.result.name(),
            Outcome::Failed(error) => error.kind.name(),
        }
    }

    /// Why the run cannot be used: no result, or a wrong one.
    pub fn trouble(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Finished(result) => match &result.result {
                CheckResult::Fail(message) => Some(message),
                CheckResult::Pass | CheckResult::Unchecked => None,
            },
            Outcome::Failed(error) => Some(&error.message),
        }
    }
}
