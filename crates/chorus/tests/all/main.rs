//! All test suites of this crate in one binary. They test the command line with the real program, the documentation,
//! and the rules of the source tree.
//!
//! `cargo test -p chorus SUITE::` runs one suite.

mod annotations;
mod bad_input;
mod browser;
mod checkpoints;
mod checks;
mod chorus;
mod clusters;
mod docs;
mod layering;
mod litmus_files;
mod map;
#[path = "../../../chorus-verify/tests/pages/markdown.rs"]
mod markdown;
mod matrices;
mod mutate;
mod outputs;
mod own_graphs;
#[path = "../../../chorus-verify/tests/pages/mod.rs"]
mod pages;
mod programs;
mod proof;
mod prose;
mod release;
mod replays;
mod runs;
mod site;
mod slurm;
mod template;
mod tidy;
mod torture;
mod traces;
mod validate;
mod why;
