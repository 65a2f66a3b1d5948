//! A protocol, a kernel, a machine, an experiment and a litmus test, added to what Chorus ships.

pub mod kernel;
pub mod protocol;

use chorus::{NamedExperiment, Registry};

/// Everything that Chorus ships, and everything of this crate.
pub fn registry() -> Registry {
    Registry::standard()
        .protocol(&protocol::MINE)
        .workload(&kernel::Mine)
        .system("systems/mine.toml", include_str!("../systems/mine.toml"))
        .experiment(NamedExperiment {
            name: "mine",
            file: "experiments/mine.toml",
            text: include_str!("../experiments/mine.toml"),
            claims: "",
            notes: "",
            results: "",
        })
        .litmus("litmus/mine.litmus", include_str!("../litmus/mine.litmus"))
}
