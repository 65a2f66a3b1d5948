//! The extent and the means of an exhaustive search, on the command line.

use chorus_verify::settings::{Orders, Reduction, STATE_LIMIT, Settings, Storage};
use clap::Args;

use super::arguments::whole;

/// Arguments of verbs that search exhaustively.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct SearchArguments {
    /// Most states of one search. A search that meets this bound does not pass.
    #[arg(long, value_name = "N", default_value_t = STATE_LIMIT as u64, value_parser = whole)]
    states: u64,
    /// Most memory of one search, in MiB; by default three quarters of the memory that is available.
    #[arg(long, value_name = "MIB", value_parser = whole)]
    memory: Option<u64>,
    /// Number of threads; by default one for each core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Keep 64 bits of each state instead of the whole state. The report then states the probability that a state was
    /// missed.
    #[arg(long)]
    fingerprints: bool,
    /// Visit symmetric states one by one, instead of one state for all of them.
    #[arg(long)]
    no_symmetry: bool,
    /// Follow every order of messages, also of those that a controller says only count.
    #[arg(long)]
    no_reduction: bool,
}

impl From<&SearchArguments> for Settings {
    fn from(arguments: &SearchArguments) -> Settings {
        Settings {
            reduction: if arguments.no_symmetry { Reduction::None } else { Reduction::Full },
            orders: if arguments.no_reduction { Orders::All } else { Orders::Reduced },
            storage: if arguments.fingerprints { Storage::Fingerprints } else { Storage::Exact },
            states: usize::try_from(arguments.states).unwrap_or(usize::MAX),
            bytes: arguments
                .memory
                .map(|mebibytes| usize::try_from(mebibytes.saturating_mul(1 << 20)).unwrap_or(usize::MAX)),
            threads: arguments.threads.map(usize::from),
        }
    }
}
