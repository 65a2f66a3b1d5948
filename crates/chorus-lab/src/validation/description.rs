//! Descriptions of validations: which machine is compared with which measurements.

use std::path::{Path, PathBuf};

use chorus_system::Scale;
use serde::Deserialize;

use super::measured::Caches;
use crate::document::{Document, DocumentError, read_file};

/// The file of a description in its folder.
pub const FILE: &str = "validation.toml";

/// The folder that holds a folder for each GPU that was measured.
const FOLDER: &str = "hardware";

/// A description as it is written in `validation.toml`. Paths are relative to the folder of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name of the GPU for people.
    pub title: String,
    /// The simulated machine: the name of a system, or the path of a system file.
    pub system: String,
    /// The protocol of its caches.
    pub protocol: String,
    /// The size of the machine.
    pub scale: Scale,
    /// Overrides of every run.
    #[serde(default)]
    pub set: Vec<String>,
    /// The list of probes.
    pub probes: String,
    /// The list of the kernels of the suite with their sizes.
    pub suite: String,
    /// Files of measured rows that probes are compared with.
    pub ladder: Vec<String>,
    /// Times of the suite.
    pub suite_time: String,
    /// Counters of the suite.
    pub suite_ncu: String,
    /// Outcomes of litmus tests.
    pub litmus: Option<String>,
    /// Why rows are off, row by row.
    pub reasons: Option<String>,
    /// The time between two events around a launch that no clock of the GPU sees, in microseconds.
    pub between_events_us: f64,
    /// The time between two events around a launch that finds cold caches, if it is another one.
    pub between_events_cold_us: Option<f64>,
    /// MiB that a profiler reads before it replays a launch, if it counted while it did so.
    pub replay_mib: Option<u64>,
    /// A load that takes fewer cycles hits in the L1, in probes that tell hits from misses.
    pub hit_below: f64,
    /// A load of `l2_probe` that takes more cycles went to the far half of the L2.
    pub far_above: f64,
    /// The largest relative error that a group of probes may have.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// Counters of the suite that are compared.
    #[serde(default)]
    pub counters: Vec<CounterPair>,
    /// The folder of the file.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// The largest relative error that a group of probes may have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The group of probes, as the list names it.
    pub group: String,
    /// The relative error: 0.1 is 10 %.
    pub within: f64,
}

/// A counter of the suite: what the profiler counted beside what the simulator counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CounterPair {
    /// The name that tables and predictions give it.
    pub name: String,
    /// The columns of the profiler that are added up.
    pub measured: Vec<String>,
    /// The metrics of a run that are added up.
    pub simulated: Vec<String>,
    /// A difference that says nothing: what the profiler counts while a kernel does nothing.
    #[serde(default)]
    pub noise: f64,
}

impl Description {
    /// The description with a name, or at a path.
    pub fn load(given: &str) -> Result<Description, DocumentError> {
        let path = match given.ends_with(".toml") || given.contains('/') {
            true => PathBuf::from(given),
            false => Path::new(FOLDER).join(given).join(FILE),
        };
        let name = path.display().to_string();
        let text = read_file(&name).map_err(|error| match error {
            DocumentError::Unreadable { path, reason } if !given.contains('/') => DocumentError::Unreadable {
                path: format!("{path}, which describes the validation `{given}`"),
                reason: format!("{reason}; run it in the folder that has `{FOLDER}`, or give the path of a {FILE}"),
            },
            other => other,
        })?;
        let document = Document { name: &name, text: &text };
        let read: Description = document.read()?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Description { folder, ..read })
    }

    /// The path of a file that the description names.
    pub fn path(&self, named: &str) -> String {
        beside(&self.folder, named)
    }

    /// The time between two events around a launch that no clock of the GPU sees, in microseconds.
    pub(super) fn between_events(&self, caches: Caches) -> f64 {
        let cold = self.between_events_cold_us.filter(|_| caches == Caches::Cold);
        cold.unwrap_or(self.between_events_us)
    }

    /// The largest relative error that a group of probes may have.
    pub fn limit(&self, group: &str) -> f64 {
        self.limits.iter().find(|limit| limit.group == group).map_or(0.1, |limit| limit.within)
    }
}

/// The path of a file as another one in a folder names it, without steps up where that is possible.
pub(super) fn beside(folder: &Path, named: &str) -> String {
    let mut path = PathBuf::new();
    for part in folder.join(named).components() {
        let named_last =
            path.components().next_back().is_some_and(|last| matches!(last, std::path::Component::Normal(_)));
        match part {
            std::path::Component::ParentDir if named_last => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_beside_a_file_have_no_needless_steps_up() {
        assert_eq!(beside(Path::new("hardware/h200"), "../probe/probes.csv"), "hardware/probe/probes.csv");
        assert_eq!(beside(Path::new(""), "../probe"), "../probe");
    }
}
