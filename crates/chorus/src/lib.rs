//! The command line of Chorus: arguments, progress and exit codes. Everything else is in the crates below.
//!
//! Chorus is a library so that a crate of your own can build on it. Such a crate adds its protocols, workloads, systems
//! and experiments to a [`Registry`] and passes it to [`main_with`]. `chorus new DIR` writes such a crate. It needs no
//! other dependency, since the crates below are re-exported.
//!
//! ```no_run
//! use chorus::Registry;
//!
//! fn main() -> std::process::ExitCode {
//!     chorus::main_with(Registry::standard().system("tiny.toml", "base = \"tc\"\nname = \"tiny\"\ntitle = \"tiny\""))
//! }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `verbs/` | one file per verb: its arguments and its output |
//! | `session.rs` | the context of a verb: registry, stdout, and the form of progress |
//! | `failure.rs` | the end of a verb: exit codes and error messages |
//! | `output.rs` | stdout that may close early; tables and numbers for people |
//! | `activity.rs` | progress of a verb that takes long |
//! | `run_progress.rs` | how far one run has come |
//! | `watching.rs` | what a run notes beside its counters: options, tables and charts |
//! | `interrupt.rs` | Ctrl-C while a matrix runs |
//! | `proof.rs` | every check of every protocol, as a page |
//! | `reference.rs` | the command line as data |
//! | `replays.rs` | a violation taken step by step again, and drawn |
//! | `virtual_networks.rs` | the search for the fewest virtual networks |
//! | `litmus_input.rs` | the litmus tests that a command line means: names, files, folders |
//! | `definitions.rs` | the definitions of the metrics |
//! | `chains.rs` | what single accesses waited for |
//! | `stack.rs` | the time of all accesses by cause |
//! | `timelines.rs` | timelines that runs write |
//! | `date.rs` | today's date |

mod activity;
mod chains;
mod checkpoints;
mod date;
mod definitions;
mod drawings;
mod elisions;
mod explored;
mod failure;
mod interrupt;
mod litmus_input;
mod output;
mod overnight;
mod proof;
mod reference;
mod replays;
mod run_progress;
mod session;
mod stack;
mod timelines;
mod validated_litmus;
mod verbs;
mod virtual_networks;
mod watching;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

pub use chorus_kernel as kernel;
pub use chorus_lab as lab;
pub use chorus_litmus as litmus;
pub use chorus_protocol as protocol;
pub use chorus_registry::{NamedExperiment, Registry};
pub use chorus_sim as sim;
pub use chorus_system as system;
pub use chorus_trace as trace;
pub use chorus_verify as verify;
pub use chorus_workloads as workloads;
use clap::Parser;

use crate::failure::Failure;
use crate::output::Output;
use crate::session::Session;
use crate::verbs::Verb;

const EXAMPLES: &str = "\
Examples:
  chorus list                                                what there is
  chorus run --system tc --protocol gpu-vi --workload stn    one simulation
  chorus reproduce                                           the headline figure of each paper, as a report
  chorus compare --minutes 10                                every protocol with every workload, one table per machine
  chorus check gpu-vi                                        every interleaving of tiny machines
  chorus check --all                                         every check of every protocol, as a report
  chorus litmus gpu-vi MP SB                                 litmus tests against the memory model
  chorus torture gpu-vi                                      millions of random steps, with coverage
  chorus mutate gpu-vi --budget 60                           mistakes by machine, and those that no check finds
  chorus docs                                                the documentation, as a site

Exit codes: 0 good; 1 a check failed (wrong result, violation, stuck program); 2 bad input; 130 stopped by Ctrl-C.
Data goes to stdout; progress and errors go to stderr. NO_COLOR is respected.";

/// A laboratory for GPU cache coherence: simulate, check and compare protocols.
#[derive(Debug, Parser)]
#[command(name = "chorus", version, after_help = EXAMPLES)]
struct Cli {
    /// Show no progress on stderr.
    #[arg(long, global = true)]
    no_progress: bool,
    #[command(subcommand)]
    verb: Verb,
}

/// Runs the command line of this process with everything that is in `registry`.
pub fn main_with(registry: Registry) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse_usage(&error),
    };
    failure::install_panic_message();
    if let Some(error) = registry.errors().first() {
        return end(&Failure::bad_input(error.to_string()));
    }
    // Verbs run on several threads and refer to the registry until the process ends.
    let registry: &'static Registry = Box::leak(Box::new(registry));
    let mut session = Session::new(registry, !cli.no_progress);
    // The message of a panic has been printed already.
    match catch_unwind(AssertUnwindSafe(|| cli.verb.run(&mut session))) {
        Ok(Ok(verdict)) => ExitCode::from(verdict.exit_code()),
        Ok(Err(error)) => end(&error),
        Err(_) => {
            let error = Failure::defect();
            print_json(&error);
            ExitCode::from(error.exit_code)
        }
    }
}

/// Shows an error to people on stderr, and on stdout to programs that asked for JSON.
fn end(error: &Failure) -> ExitCode {
    error.print();
    print_json(error);
    ExitCode::from(error.exit_code)
}

/// Help and version end with code 0. Everything else that the parser reports is an error.
fn refuse_usage(error: &clap::Error) -> ExitCode {
    // If the stream is closed, nobody is left who could be told.
    let _ = error.print();
    if error.use_stderr() {
        print_json(&Failure::usage(error));
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Prints an error as JSON, for programs that asked for JSON.
fn print_json(error: &Failure) {
    if std::env::args_os().any(|argument| argument == "--json") {
        // If stdout is closed, nobody reads this error.
        let _ = Output::default().json_line(&error.to_json());
    }
}
