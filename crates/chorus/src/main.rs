//! The command line of Chorus: arguments, progress and exit codes. Everything else is in the crates below.
//!
//! | file | subject |
//! |---|---|
//! | `verbs/` | one file per verb: its arguments, and what it prints |
//! | `session.rs` | what every verb gets: stdout, and how progress is shown |
//! | `failure.rs` | how a verb ends: exit codes and error messages |
//! | `output.rs` | stdout that may close early; tables and numbers for people |
//! | `activity.rs` | progress of a verb that takes long |
//! | `interrupt.rs` | Ctrl-C while a matrix runs |
//! | `names.rs` | what exists: systems, protocols, workloads |
//! | `proof/` | every check of every protocol, as a page |
//! | `litmus_input.rs` | which litmus tests are meant: names, files, folders |
//! | `facts.rs` | what Chorus counts in its own controllers and machines, for the claims of the papers |
//! | `definitions.rs` | what the metrics mean |
//! | `date.rs` | today |

mod activity;
mod date;
mod definitions;
mod facts;
mod failure;
mod interrupt;
mod litmus_input;
mod names;
mod output;
mod proof;
mod replays;
mod session;
mod verbs;
mod virtual_networks;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

use crate::failure::Verdict;
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

fn main() -> ExitCode {
    let cli = Cli::parse();
    failure::install_panic_message();
    let mut session = Session::new(!cli.no_progress);
    // The message of a panic has been printed by then.
    match catch_unwind(AssertUnwindSafe(|| cli.verb.run(&mut session))) {
        Ok(Ok(Verdict::Good)) => ExitCode::SUCCESS,
        Ok(Ok(Verdict::CheckFailed)) => ExitCode::from(failure::CHECK_FAILED),
        Ok(Err(error)) => {
            error.print();
            ExitCode::from(error.exit_code)
        }
        Err(_) => ExitCode::from(failure::DEFECT),
    }
}
