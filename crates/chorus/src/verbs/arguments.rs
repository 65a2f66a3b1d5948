//! Arguments that several verbs take.

use std::path::PathBuf;

use chorus_system::Scale;
use clap::Args;

/// A whole number: `1000`, `1e6`, `2^20` or `64KiB`.
pub fn whole(text: &str) -> Result<u64, String> {
    chorus_system::parse_whole(text).map_err(|error| error.to_string())
}

/// The version of the JSON that verbs print themselves.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// Where results go unless told otherwise.
pub const OUT: &str = "results";

/// Far above any machine; a bound for numbers that are mistakes.
const JOBS_MAX: i64 = 1024;

/// How large the machine and its inputs are.
#[derive(Debug, Args)]
pub struct ScaleArgument {
    /// `quick` (shrunk in proportion, for answers within seconds), `medium` (about four times that, where a system has it) or `paper` (as the paper describes it).
    #[arg(long, value_name = "quick|medium|paper", default_value_t = Scale::Quick)]
    pub scale: Scale,
}

/// Where a study goes, and how much of it happens at once.
#[derive(Debug, Args)]
pub struct StudyArguments {
    /// Where the results store and the pages go.
    #[arg(long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// Simulations at the same time; by default as many as there are cores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX))]
    jobs: Option<u32>,
}

impl StudyArguments {
    /// Simulations at the same time; 0 for as many as there are cores.
    pub fn jobs(&self) -> usize {
        self.jobs.map_or(0, |jobs| jobs as usize)
    }
}

/// The form of the output.
#[derive(Debug, Args)]
pub struct JsonArgument {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
