//! The shipped papers, and experiment files of one's own.

use crate::claim::{self, Statements};
use crate::document::{DocumentError, excerpt, nearest, read_file};
use crate::experiment::{Experiment, KnownNames};
use crate::note;

/// A paper that is part of Chorus. Its files are embedded, so it is found from any working directory.
#[derive(Clone, Copy, Debug)]
pub struct ShippedPaper {
    /// The name used on the command line.
    pub name: &'static str,
    /// The text of `papers/NAME/experiment.toml`: runs and figures.
    pub experiments: &'static str,
    /// The text of `papers/NAME/claims.toml`: the paper's statements.
    pub claims: &'static str,
    /// The text of `papers/NAME/notes.md`: remarks on what was measured.
    pub notes: &'static str,
}

/// Every paper that is part of Chorus.
pub const PAPERS: &[ShippedPaper] = &[
    ShippedPaper {
        name: "tc",
        experiments: include_str!("../../../papers/tc/experiment.toml"),
        claims: include_str!("../../../papers/tc/claims.toml"),
        notes: include_str!("../../../papers/tc/notes.md"),
    },
    ShippedPaper {
        name: "hmg",
        experiments: include_str!("../../../papers/hmg/experiment.toml"),
        claims: include_str!("../../../papers/hmg/claims.toml"),
        notes: include_str!("../../../papers/hmg/notes.md"),
    },
    ShippedPaper {
        name: "rec",
        experiments: include_str!("../../../papers/rec/experiment.toml"),
        claims: include_str!("../../../papers/rec/claims.toml"),
        notes: include_str!("../../../papers/rec/notes.md"),
    },
    ShippedPaper {
        name: "cpelide",
        experiments: include_str!("../../../papers/cpelide/experiment.toml"),
        claims: include_str!("../../../papers/cpelide/claims.toml"),
        notes: include_str!("../../../papers/cpelide/notes.md"),
    },
    ShippedPaper {
        name: "spandex",
        experiments: include_str!("../../../papers/spandex/experiment.toml"),
        claims: include_str!("../../../papers/spandex/claims.toml"),
        notes: include_str!("../../../papers/spandex/notes.md"),
    },
];

/// A paper: its experiments and its statements.
#[derive(Clone, Debug)]
pub struct Paper {
    /// The runs and figures.
    pub experiment: Experiment,
    /// Its statements and predictions. An experiment file of one's own has none.
    pub statements: Statements,
}

/// Finds a paper by its name, or reads the experiment file at a path: whatever ends in `.toml` or contains a separator.
pub fn load(name_or_path: &str, known: &KnownNames<'_>) -> Result<Paper, DocumentError> {
    if let Some(shipped) = PAPERS.iter().find(|shipped| shipped.name == name_or_path) {
        let name = shipped.name;
        let mut experiment = Experiment::read(&format!("papers/{name}/experiment.toml"), shipped.experiments, known)?;
        let statements = claim::read(&format!("papers/{name}/claims.toml"), shipped.claims, &experiment)?;
        experiment.notes = note::read(&format!("papers/{name}/notes.md"), shipped.notes, &experiment, &statements)?;
        return Ok(Paper { experiment, statements });
    }
    if name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\']) {
        let experiment = Experiment::read(name_or_path, &read_file(name_or_path)?, known)?;
        return Ok(Paper { experiment, statements: Statements::default() });
    }
    let names: Vec<String> = PAPERS.iter().map(|shipped| shipped.name.to_owned()).collect();
    Err(DocumentError::UnknownPaper {
        given: excerpt(name_or_path),
        nearest: nearest(name_or_path, &names),
        known: names,
    })
}
