//! The verbs, one file each.

pub mod arguments;
mod bench;
pub mod check;
mod compare;
mod completions;
mod explain;
mod export;
mod list;
pub mod litmus;
mod model;
mod new;
pub mod reproduce;
mod run;
mod search;
mod table;
pub mod torture;

use clap::Subcommand;

use crate::failure::{Failure, Verdict};
use crate::session::Session;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a crate of your own that builds on Chorus.
    New(new::Arguments),
    /// List systems, protocols, workloads and experiments.
    List(list::Arguments),
    /// Show every value of a system: where it comes from, and what follows from it.
    Explain(explain::Arguments),
    /// Simulate one workload under one protocol.
    Run(run::Arguments),
    /// Reproduce papers: make their runs, draw their figures, judge their claims.
    Reproduce(reproduce::Arguments),
    /// Compare every protocol with every workload, one table per machine.
    Compare(compare::Arguments),
    /// Check a protocol exhaustively in tiny configurations.
    Check(check::Arguments),
    /// Run litmus tests on a protocol and compare with its memory model.
    Litmus(litmus::Arguments),
    /// Run millions of random steps of a protocol on random small machines.
    Torture(torture::Arguments),
    /// Ask a memory model what litmus tests may do.
    Model(model::Arguments),
    /// Print a protocol's transition table, extracted from its running controllers.
    Table(table::Arguments),
    /// Measure how fast the simulator is.
    Bench(bench::Arguments),
    /// Export finished runs as CSV or Parquet.
    Export(export::Arguments),
    /// Print completions for a shell.
    Completions(completions::Arguments),
    /// Print the manual page: `chorus man | man -l -`.
    Man,
}

impl Verb {
    /// Does it.
    pub fn run(&self, session: &mut Session) -> Result<Verdict, Failure> {
        match self {
            Verb::New(arguments) => new::run(arguments, session),
            Verb::List(arguments) => list::run(arguments, session),
            Verb::Explain(arguments) => explain::run(arguments, session),
            Verb::Run(arguments) => run::run(arguments, session),
            Verb::Reproduce(arguments) => reproduce::run(arguments, session),
            Verb::Compare(arguments) => compare::run(arguments, session),
            Verb::Check(arguments) => check::run(arguments, session),
            Verb::Litmus(arguments) => litmus::run(arguments, session),
            Verb::Torture(arguments) => torture::run(arguments, session),
            Verb::Model(arguments) => model::run(arguments, session),
            Verb::Table(arguments) => table::run(arguments, session),
            Verb::Bench(arguments) => bench::run(arguments, session),
            Verb::Export(arguments) => export::run(arguments, session),
            Verb::Completions(arguments) => completions::run(arguments, session),
            Verb::Man => completions::man(session),
        }
    }
}
