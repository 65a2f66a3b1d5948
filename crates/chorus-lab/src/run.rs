//! One run: its specification, its result, and its possible failures.

use std::collections::BTreeMap;
use std::fmt;

use chorus_system::Scale;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::annotate::Annotate;
use crate::notes::Notes;
use crate::own_graph::{GraphFile, GraphIdentity};

/// The version of the JSON that [`RunResult::to_json`] writes.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// The specification of a run: everything that decides its result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RunSpec {
    /// The machine: the name of a system, or the path of a system file.
    pub system: String,
    /// The name of the coherence protocol.
    pub protocol: String,
    /// The names of the workloads, as on the command line.
    pub workload: String,
    /// The size of machine and input.
    pub scale: Scale,
    /// The seed of the generated input.
    pub seed: u64,
    /// Overrides of the machine, of the protocol's parameters and of the workload's sizes. An override is `key=value`;
    /// of several for one key the last one wins.
    pub set: Vec<String>,
    /// The user's own graph, which the workload uses instead of a generated one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<GraphFile>,
    /// The source of the annotations that say what kernels access.
    #[serde(default, skip_serializing_if = "Annotate::is_hand")]
    pub annotate: Annotate,
    /// Whether its accesses are observed, so that its metrics also say what they waited for ([`crate::why`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
}

impl RunSpec {
    /// A string that identifies this run and its configuration. It is the same in every process and on every machine.
    pub fn key(&self, config_hash: &str) -> String {
        let mut key =
            format!("{}/{}/{}/{}/{}/{config_hash}", self.system, self.protocol, self.workload, self.scale, self.seed);
        for set in &self.set {
            key.push('/');
            key.push_str(set);
        }
        if self.observed {
            key.push_str("/observed");
        }
        key
    }

    /// The command line that makes this run again.
    pub fn command(&self) -> String {
        let verb = if self.observed { "why" } else { "run" };
        let mut words = vec![format!(
            "chorus {verb} --system {} --protocol {} --workload {}",
            shell_word(&self.system),
            shell_word(&self.protocol),
            shell_word(&self.workload)
        )];
        if self.scale != Scale::Quick {
            words.push(format!("--scale {}", self.scale));
        }
        if self.seed != 1 {
            words.push(format!("--seed {}", self.seed));
        }
        words.extend(self.set.iter().map(|set| format!("--set {}", shell_word(set))));
        words.extend(self.graph.iter().map(|graph| format!("--graph {}", shell_word(&graph.path))));
        if !self.annotate.is_hand() {
            words.push(format!("--annotate {}", self.annotate));
        }
        if self.observed {
            words.push("--aggregate".to_owned());
        }
        words.join(" ")
    }
}

/// A word of a command line, quoted where a shell would not take it as it is.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./=+@:,^%".contains(character);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The run for people: `gpu-vi on stn (tc, quick, seed 1)`.
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
        if self.observed {
            f.write_str(", observed")?;
        }
        f.write_str(")")
    }
}

/// Whether the outputs of the program agree with its reference on the host.
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

/// The result of one kernel of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelResult {
    /// The name of the kernel.
    pub name: String,
    /// Core cycles from the kernel's launch to its end.
    pub cycles: u64,
    /// The kernel's share of the counters, by name.
    pub metrics: BTreeMap<String, f64>,
}

/// The result of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The specification of the run.
    pub spec: RunSpec,
    /// The values of the protocol's parameters by their keys.
    #[serde(default)]
    pub parameters: BTreeMap<String, u64>,
    /// The values of the workload's sizes by their keys.
    #[serde(default)]
    pub sizes: BTreeMap<String, u64>,
    /// The user's own graph that the workload used instead of a generated one.
    #[serde(default)]
    pub graph: Option<GraphIdentity>,
    /// The hash of the resolved configuration.
    pub config_hash: String,
    /// The resolved configuration as TOML: the machine, the protocol's parameters, changed sizes, the graph and the
    /// source of annotations.
    pub config_text: String,
    /// The version of Chorus that made the run.
    pub chorus_version: String,
    /// The git revision of Chorus that made the run.
    pub git_revision: String,
    /// Core cycles from the first launch to the end of the last kernel.
    pub cycles: u64,
    /// The simulated time of these cycles, in nanoseconds.
    pub simulated_ns: f64,
    /// Wall-clock time of the run, in seconds.
    pub wall_s: f64,
    /// Processor time of the run on all its threads, in seconds.
    pub user_s: f64,
    /// The most memory that the process had used by the end of the run, where the system tells. Where several runs are
    /// made at the same time, that is the memory of all of them.
    #[serde(default)]
    pub peak_rss_bytes: Option<u64>,
    /// Number of coalesced line accesses that were issued to the L1 caches.
    pub accesses: u64,
    /// Whether the program computed the right result.
    pub result: CheckResult,
    /// Counters by name, over the whole run.
    pub metrics: BTreeMap<String, f64>,
    /// The kernels in order of launch.
    pub kernels: Vec<KernelResult>,
    /// Numbers that the program has measured about itself, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readings: BTreeMap<String, Vec<f64>>,
    /// Everything that was noted of the run beside its counters.
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
}

impl RunResult {
    /// The result as `chorus run --json` prints it.
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
            "peak_rss_bytes": self.peak_rss_bytes,
            "accesses": self.accesses,
            "result": self.result.name(),
            "metrics": self.metrics,
            "kernels": self.kernels,
        });
        if let Value::Object(fields) = &mut json {
            if let CheckResult::Fail(message) = &self.result {
                fields.insert("message".to_owned(), Value::from(message.as_str()));
            }
            if !self.readings.is_empty() {
                fields.insert("readings".to_owned(), json!(self.readings));
            }
            if let Value::Object(notes) = json!(self.notes) {
                fields.extend(notes);
            }
        }
        json
    }

    /// Everything but the time and the memory that the run took. No two runs take the same.
    fn without_cost(&self) -> RunResult {
        RunResult { wall_s: 0.0, user_s: 0.0, peak_rss_bytes: None, ..self.clone() }
    }

    /// The name of a number that is infinite or undefined. No sound counter has such a value, and JSON cannot hold it.
    pub fn unsound_number(&self) -> Option<&str> {
        let times = [("simulated_ns", self.simulated_ns), ("wall_s", self.wall_s), ("user_s", self.user_s)];
        let counters = std::iter::once(&self.metrics).chain(self.kernels.iter().map(|kernel| &kernel.metrics));
        let counters = counters.flatten().map(|(name, value)| (name.as_str(), *value));
        times.into_iter().chain(counters).find(|(_, value)| !value.is_finite()).map(|(name, _)| name)
    }
}

/// The kinds of failure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunErrorKind {
    /// The protocol refuses the workload.
    Refused,
    /// The program made no progress.
    Stuck,
    /// A kernel accessed something that it does not declare.
    Undeclared,
    /// The run that was asked for cannot exist.
    BadInput,
    /// Chorus itself has a defect.
    Defect,
    /// Somebody stopped the run before its end. No store keeps that.
    Stopped,
}

impl RunErrorKind {
    /// Every kind of failure.
    pub const ALL: [RunErrorKind; 6] = [
        RunErrorKind::Refused,
        RunErrorKind::Stuck,
        RunErrorKind::Undeclared,
        RunErrorKind::BadInput,
        RunErrorKind::Defect,
        RunErrorKind::Stopped,
    ];

    /// The word for this kind in the store, in exports and in reports.
    pub fn name(self) -> &'static str {
        match self {
            RunErrorKind::Refused => "refused",
            RunErrorKind::Stuck => "stuck",
            RunErrorKind::Undeclared => "undeclared",
            RunErrorKind::BadInput => "bad-input",
            RunErrorKind::Defect => "defect",
            RunErrorKind::Stopped => "stopped",
        }
    }
}

/// The failure of a run that gave no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// The message for people.
    pub message: String,
    /// The kind of the failure.
    pub kind: RunErrorKind,
}

impl RunError {
    /// A failure of this kind with a message.
    pub fn new(kind: RunErrorKind, message: impl Into<String>) -> Self {
        RunError { message: message.into(), kind }
    }
}

/// A function that makes one run.
pub type Runner<'a> = dyn Fn(&RunSpec) -> Result<RunResult, RunError> + Sync + 'a;

/// The build of Chorus that makes the runs. Results of one build are never mixed with those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// The version of Chorus.
    pub chorus_version: String,
    /// The git revision of the source tree.
    pub git_revision: String,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The run came to its end, with a right or a wrong result.
    Finished(Box<RunResult>),
    /// The run gave no result.
    Failed(RunError),
}

/// A run and its outcome, as the store keeps them.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The specification of the run.
    pub spec: RunSpec,
    /// The hash of the resolved configuration.
    pub config_hash: String,
    /// The build of Chorus that made the run.
    pub build: Build,
    /// The outcome of the run.
    pub outcome: Outcome,
}

impl Record {
    /// The record of a finished run.
    pub fn of(result: RunResult) -> Record {
        let RunResult { chorus_version, git_revision, .. } = &result;
        Record {
            spec: result.spec.clone(),
            config_hash: result.config_hash.clone(),
            build: Build { chorus_version: chorus_version.clone(), git_revision: git_revision.clone() },
            outcome: Outcome::Finished(Box::new(result)),
        }
    }

    /// The record as `chorus run --json` prints it. A run that gave no result has its kind of failure as `result`, and
    /// a message.
    pub fn to_json(&self) -> Value {
        match &self.outcome {
            Outcome::Finished(result) => result.to_json(),
            Outcome::Failed(error) => json!({
                "schema_version": JSON_SCHEMA_VERSION,
                "system": self.spec.system,
                "protocol": self.spec.protocol,
                "workload": self.spec.workload,
                "scale": self.spec.scale.name(),
                "seed": self.spec.seed,
                "set": self.spec.set,
                "annotate": self.spec.annotate.name(),
                "config_hash": self.config_hash,
                "chorus_version": self.build.chorus_version,
                "git_revision": self.build.git_revision,
                "result": error.kind.name(),
                "message": error.message,
            }),
        }
    }

    /// The result of a finished run; none for a run that failed.
    pub fn result(&self) -> Option<&RunResult> {
        match &self.outcome {
            Outcome::Finished(result) => Some(result),
            Outcome::Failed(_) => None,
        }
    }

    /// Whether the record is final. A run that met a defect of Chorus is tried again; every other result is
    /// deterministic.
    pub fn is_settled(&self) -> bool {
        !matches!(&self.outcome, Outcome::Failed(RunError { kind: RunErrorKind::Defect, .. }))
    }

    /// Whether two records of one run have the same outcome. They may differ in what the run cost.
    pub fn agrees_with(&self, other: &Record) -> bool {
        match (&self.outcome, &other.outcome) {
            (Outcome::Finished(one), Outcome::Finished(two)) => one.without_cost() == two.without_cost(),
            (one, two) => one == two,
        }
    }

    /// The status in one word: `pass`, `fail`, `unchecked`, or the kind of failure.
    pub fn status(&self) -> &'static str {
        match &self.outcome {
            Outcome::Finished(result) => result.result.name(),
            Outcome::Failed(error) => error.kind.name(),
        }
    }

    /// The reason why the run cannot be used: it gave no result, or a wrong one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_run_names_what_differs_and_quotes_what_a_shell_would_read() {
        let plain = RunSpec {
            system: "tc".to_owned(),
            protocol: "gpu-vi".to_owned(),
            workload: "stn".to_owned(),
            scale: Scale::Quick,
            seed: 1,
            set: Vec::new(),
            graph: None,
            annotate: Annotate::Hand,
            observed: false,
        };
        assert_eq!(plain.command(), "chorus run --system tc --protocol gpu-vi --workload stn");
        let other = RunSpec {
            system: "my system.toml".to_owned(),
            scale: Scale::Paper,
            seed: 7,
            set: vec!["lease.cycles=100".to_owned()],
            annotate: Annotate::Auto,
            ..plain.clone()
        };
        let expected = "chorus run --system 'my system.toml' --protocol gpu-vi --workload stn --scale paper --seed 7 \
                        --set lease.cycles=100 --annotate auto";
        assert_eq!(other.command(), expected);
        let observed = RunSpec { observed: true, ..plain };
        assert_eq!(observed.command(), "chorus why --system tc --protocol gpu-vi --workload stn --aggregate");
    }
}
