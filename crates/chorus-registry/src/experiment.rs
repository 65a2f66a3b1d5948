//! Experiments as text: the runs and figures of a study, and what a paper claims about them.

/// An experiment that can be reproduced by name. Its files are embedded, so it is found from any working directory.
#[derive(Clone, Copy, Debug)]
pub struct NamedExperiment {
    /// The name of the experiment on the command line.
    pub name: &'static str,
    /// The path of the experiment's file, for messages.
    pub file: &'static str,
    /// The experiment: its runs and figures as TOML.
    pub text: &'static str,
    /// The claims that the experiment is judged by, as TOML. The text is empty for an experiment without claims.
    pub claims: &'static str,
}

/// Every paper that Chorus ships.
pub static PAPERS: &[NamedExperiment] = &[
    NamedExperiment {
        name: "tc",
        file: "experiments/tc.toml",
        text: include_str!("../../../experiments/tc.toml"),
        claims: include_str!("../../../claims/tc.toml"),
    },
    NamedExperiment {
        name: "hmg",
        file: "experiments/hmg.toml",
        text: include_str!("../../../experiments/hmg.toml"),
        claims: include_str!("../../../claims/hmg.toml"),
    },
    NamedExperiment {
        name: "rec",
        file: "experiments/rec.toml",
        text: include_str!("../../../experiments/rec.toml"),
        claims: include_str!("../../../claims/rec.toml"),
    },
    NamedExperiment {
        name: "cpelide",
        file: "experiments/cpelide.toml",
        text: include_str!("../../../experiments/cpelide.toml"),
        claims: include_str!("../../../claims/cpelide.toml"),
    },
    NamedExperiment {
        name: "spandex",
        file: "experiments/spandex.toml",
        text: include_str!("../../../experiments/spandex.toml"),
        claims: include_str!("../../../claims/spandex.toml"),
    },
];
