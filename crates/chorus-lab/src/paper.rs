//! Papers and other experiments, found by name in the registry or read from a file.

use std::path::Path;

use chorus_registry::Registry;
use chorus_sim::definitions::definitions;

use crate::claim::{self, Statements};
use crate::document::{DocumentError, excerpt, nearest, read_file};
use crate::experiment::{Experiment, KnownNames};
use crate::figure::CYCLES;
use crate::note;
use crate::recorded::Recorded;
use crate::why::stage;

/// A paper: its experiments and its statements.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The runs and figures.
    pub experiment: Experiment,
    /// Its statements and predictions. An experiment file of one's own has none.
    pub statements: Statements,
    /// Results of its headline figure at larger scales.
    pub recorded: Recorded,
}

/// Finds an experiment by its name, or reads the experiment file at a path: whatever ends in `.toml` or contains a
/// separator.
pub fn load(registry: &Registry, name_or_path: &str) -> Result<Paper, DocumentError> {
    let metrics = metric_names(registry);
    let known = KnownNames {
        systems: &registry.system_names(),
        protocols: &registry.protocol_names(),
        workloads: &registry.workload_names(),
        metrics: &metrics.iter().map(String::as_str).collect::<Vec<_>>(),
    };
    if let Some(found) = registry.find_experiment(name_or_path) {
        let beside = |name: &str| Path::new(found.file).with_file_name(name).display().to_string();
        let mut experiment = Experiment::read(found.file, found.text, &known)?;
        let statements = match found.claims {
            "" => Statements::default(),
            claims => claim::read(&beside("claims.toml"), claims, &experiment)?,
        };
        if !found.notes.is_empty() {
            experiment.notes = note::read(&beside("notes.md"), found.notes, &experiment, &statements)?;
        }
        let recorded = Recorded::read(&beside("results.csv"), found.results)?;
        return Ok(Paper { experiment, statements, recorded });
    }
    if chorus_system::is_path(name_or_path) {
        let experiment = Experiment::read(name_or_path, &read_file(name_or_path)?, &known)?;
        return Ok(Paper { experiment, statements: Statements::default(), recorded: Recorded::default() });
    }
    let names: Vec<String> = registry.experiment_names().into_iter().map(str::to_owned).collect();
    Err(DocumentError::UnknownPaper {
        given: excerpt(name_or_path),
        nearest: nearest(name_or_path, &names),
        known: names,
    })
}

/// Every metric that a run may have, and its cycles.
pub fn metric_names(registry: &Registry) -> Vec<String> {
    let counted = definitions(registry.protocols()).into_iter().chain(stage::definitions());
    let counted = counted.map(|definition| definition.key);
    std::iter::once(CYCLES.to_owned()).chain(counted).collect()
}
