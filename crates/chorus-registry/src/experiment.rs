//! Experiments as text: the runs and figures of a study, what a paper claims about them, and notes on what was
//! measured.

/// An experiment that can be reproduced by name. Its files are embedded, so it is found from any working directory.
#[derive(Clone, Copy, Debug)]
pub struct NamedExperiment {
    /// The name on the command line.
    pub name: &'static str,
    /// The path of the experiment's file, for messages. Claims and notes lie beside it.
    pub file: &'static str,
    /// The experiment: its runs and figures as TOML.
    pub text: &'static str,
    /// The claims that it is judged by, as TOML; empty where there are none.
    pub claims: &'static str,
    /// The notes of its page, as Markdown; empty where there are none.
    pub notes: &'static str,
    /// Recorded results of the headline figure at larger scales, as CSV; empty where there are none.
    pub results: &'static str,
}

/// The papers that Chorus ships; `papers/NAME/` holds the files of each.
pub static PAPERS: &[NamedExperiment] = &[
    NamedExperiment {
        name: "tc",
        file: "papers/tc/experiment.toml",
        text: include_str!("../papers/tc/experiment.toml"),
        claims: include_str!("../papers/tc/claims.toml"),
        notes: include_str!("../papers/tc/notes.md"),
        results: include_str!("../papers/tc/results.csv"),
    },
    NamedExperiment {
        name: "hmg",
        file: "papers/hmg/experiment.toml",
        text: include_str!("../papers/hmg/experiment.toml"),
        claims: include_str!("../papers/hmg/claims.toml"),
        notes: include_str!("../papers/hmg/notes.md"),
        results: include_str!("../papers/hmg/results.csv"),
    },
    NamedExperiment {
        name: "rec",
        file: "papers/rec/experiment.toml",
        text: include_str!("../papers/rec/experiment.toml"),
        claims: include_str!("../papers/rec/claims.toml"),
        notes: include_str!("../papers/rec/notes.md"),
        results: include_str!("../papers/rec/results.csv"),
    },
    NamedExperiment {
        name: "cpelide",
        file: "papers/cpelide/experiment.toml",
        text: include_str!("../papers/cpelide/experiment.toml"),
        claims: include_str!("../papers/cpelide/claims.toml"),
        notes: include_str!("../papers/cpelide/notes.md"),
        results: include_str!("../papers/cpelide/results.csv"),
    },
    NamedExperiment {
        name: "spandex",
        file: "papers/spandex/experiment.toml",
        text: include_str!("../papers/spandex/experiment.toml"),
        claims: include_str!("../papers/spandex/claims.toml"),
        notes: include_str!("../papers/spandex/notes.md"),
        results: include_str!("../papers/spandex/results.csv"),
    },
];
