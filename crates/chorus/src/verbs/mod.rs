//! The verbs, one file each.

pub mod arguments;
mod bench;
pub mod check;
mod collect;
mod compare;
mod completions;
mod docs;
mod explain;
mod export;
mod list;
pub mod litmus;
mod model;
pub mod mutate;
mod new;
mod ptx;
pub mod reproduce;
mod run;
mod search;
mod table;
pub mod torture;
mod validate;
pub mod why;

use clap::Subcommand;

use crate::failure::{Failure, Verdict};
use crate::session::Session;

/// A verb of the command line with its arguments.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Write a crate of your own that builds on Chorus.
    New(new::Arguments),
    /// List systems, protocols, workloads and experiments.
    List(list::Arguments),
    /// Show everything about a system, protocol or workload: values, their sources, and what follows from them.
    Explain(explain::Arguments),
    /// Simulate one workload under one protocol.
    Run(run::Arguments),
    /// Say where the time of accesses goes: what each waited for, cycle by cycle, or all of them by cause.
    Why(why::Arguments),
    /// Show the kernels of a PTX file: parameters, resources, opcodes, and what is not supported.
    Ptx(ptx::Arguments),
    /// Reproduce papers: make their runs, draw their figures and judge their claims.
    Reproduce(reproduce::Arguments),
    /// Merge what tasks of a cluster have made into the results store.
    Collect(collect::Arguments),
    /// Compare every protocol with every workload, one table per machine.
    Compare(compare::Arguments),
    /// Compare the simulator with measurements of a real GPU.
    Validate(validate::Arguments),
    /// Check a protocol exhaustively in tiny configurations.
    Check(check::Arguments),
    /// Run litmus tests on a protocol and compare the outcomes with its memory model.
    Litmus(litmus::Arguments),
    /// Run a protocol through millions of random steps on random small machines.
    Torture(torture::Arguments),
    /// Make small mistakes in a protocol by machine, and count those that the checks find.
    Mutate(mutate::Arguments),
    /// Show which outcomes of litmus tests a memory model allows.
    Model(model::Arguments),
    /// Print a protocol's transition table, extracted from its running controllers.
    Table(table::Arguments),
    /// Measure the speed of the simulator.
    Bench(bench::Arguments),
    /// Export finished runs as CSV or Parquet.
    Export(export::Arguments),
    /// Write the documentation as a site, with search, and open it in a browser.
    Docs(docs::Arguments),
    /// Print completions for a shell.
    Completions(completions::Arguments),
    /// Print the manual, or write a page of it for each verb.
    Man(completions::ManArguments),
}

impl Verb {
    /// Runs the verb with its arguments.
    pub fn run(&self, session: &mut Session) -> Result<Verdict, Failure> {
        match self {
            Verb::New(arguments) => new::run(arguments, session),
            Verb::List(arguments) => list::run(arguments, session),
            Verb::Explain(arguments) => explain::run(arguments, session),
            Verb::Run(arguments) => run::run(arguments, session),
            Verb::Why(arguments) => why::run(arguments, session),
            Verb::Ptx(arguments) => ptx::run(arguments, session),
            Verb::Reproduce(arguments) => reproduce::run(arguments, session),
            Verb::Collect(arguments) => collect::run(arguments, session),
            Verb::Compare(arguments) => compare::run(arguments, session),
            Verb::Validate(arguments) => validate::run(arguments, session),
            Verb::Check(arguments) => check::run(arguments, session),
            Verb::Litmus(arguments) => litmus::run(arguments, session),
            Verb::Torture(arguments) => torture::run(arguments, session),
            Verb::Mutate(arguments) => mutate::run(arguments, session),
            Verb::Model(arguments) => model::run(arguments, session),
            Verb::Table(arguments) => table::run(arguments, session),
            Verb::Bench(arguments) => bench::run(arguments, session),
            Verb::Export(arguments) => export::run(arguments, session),
            Verb::Docs(arguments) => docs::run(arguments, session),
            Verb::Completions(arguments) => completions::run(arguments, session),
            Verb::Man(arguments) => completions::man(arguments, session),
        }
    }
}
