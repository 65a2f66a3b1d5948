//! Papers and other experiments, found by name in the registry or read from a file.

use chorus_registry::Registry;

use crate::claim::{self, Statements};
use crate::document::{DocumentError, excerpt, nearest, read_file};
use crate::experiment::{Experiment, KnownNames};

/// A paper: its experiments and what it states.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The runs and figures.
    pub experiment: Experiment,
    /// What it states, and what is predicted; nothing for an experiment file of one's own.
    pub statements: Statements,
}

/// Finds an experiment by its name, or reads the experiment file at a path: whatever ends in `.toml` or contains a separator.
pub fn load(registry: &Registry, name_or_path: &str) -> Result<Paper, DocumentError> {
    let known = KnownNames {
        systems: &registry.system_names(),
        protocols: &registry.protocol_names(),
        workloads: &registry.workload_names(),
    };
    if let Some(found) = registry.find_experiment(name_or_path) {
        let experiment = Experiment::read(found.file, found.text, &known)?;
        let statements = match found.claims {
            "" => Statements::default(),
            claims => claim::read(&format!("claims/{name_or_path}.toml"), claims, &experiment)?,
        };
        return Ok(Paper { experiment, statements });
    }
    if name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\']) {
        let experiment = Experiment::read(name_or_path, &read_file(name_or_path)?, &known)?;
        return Ok(Paper { experiment, statements: Statements::default() });
    }
    let names: Vec<String> = registry.experiment_names().into_iter().map(str::to_owned).collect();
    Err(DocumentError::UnknownPaper {
        given: excerpt(name_or_path),
        nearest: nearest(name_or_path, &names),
        known: names,
    })
}
