//! The extent and the means of an exhaustive search, on the command line.

use chorus_verify::settings::{Orders, Reduction, Settings, Storage};
use clap::Args;

use super::arguments::whole;

/// Arguments of verbs that search exhaustively.
#[derive(Debug, Args)]
#[command(next_help_heading = "Search")]
pub struct SearchArguments {
    /// Most states of one search; by default 20,000,000 for a configuration, 4,294,967,294 with `--overnight`,
    /// 200,000,000 for a litmus test, and 400,000 with `--networks`. A search that meets this bound does not pass.
    #[arg(long, value_name = "N", value_parser = whole)]
    states: Option<u64>,
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

impl SearchArguments {
    /// The settings of a search that visits at most `states` states unless the arguments say otherwise.
    pub fn settings(&self, states: usize) -> Settings {
        Settings {
            reduction: if self.no_symmetry { Reduction::None } else { Reduction::Full },
            orders: if self.no_reduction { Orders::All } else { Orders::Reduced },
            storage: if self.fingerprints { Storage::Fingerprints } else { Storage::Exact },
            states: self.states.map_or(states, |states| usize::try_from(states).unwrap_or(usize::MAX)),
            bytes: self
                .memory
                .map(|mebibytes| usize::try_from(mebibytes.saturating_mul(1 << 20)).unwrap_or(usize::MAX)),
            threads: self.threads.map(usize::from),
            stop: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use chorus_verify::settings::STATE_LIMIT;
    use chorus_verify::{litmus, networks, overnight};

    #[test]
    fn the_help_names_the_bounds_that_hold() {
        let grouped = chorus_proof::words::count;
        let help = include_str!("search.rs").split("states: Option<u64>").next().unwrap_or_default().to_owned();
        for limit in [STATE_LIMIT, litmus::STATE_LIMIT, networks::STATE_LIMIT, overnight::STATE_LIMIT] {
            assert!(help.contains(&grouped(limit as u64)), "{limit}");
        }
    }
}
