//! Arguments that several verbs take.

use std::path::PathBuf;

use chorus_system::Scale;
use clap::Args;

/// Reads a whole number: `1000`, `1e6`, `2^20` or `64KiB`.
pub fn whole(text: &str) -> Result<u64, String> {
    chorus_system::parse_whole(text).map_err(|error| error.to_string())
}

/// The version of the JSON that verbs print themselves.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// The default directory of results.
pub const OUT: &str = "results";

/// The largest number of jobs that is accepted. It is far above any machine, so that a larger number is a mistake.
const JOBS_MAX: i64 = 1024;

/// The size of the machine and its inputs.
#[derive(Debug, Args)]
pub struct ScaleArgument {
    /// `quick` (shrunk in proportion, for answers within seconds), `medium` (about four times `quick`; not every system
    /// has it) or `paper` (as the paper describes it).
    #[arg(long, value_name = "quick|medium|paper", default_value_t = Scale::Quick)]
    pub scale: Scale,
}

/// The output directory of a study and its number of parallel runs.
#[derive(Debug, Args)]
pub struct StudyArguments {
    /// Directory of the results store and the pages.
    #[arg(long, value_name = "DIR", default_value = OUT)]
    pub out: PathBuf,
    /// Number of simulations at the same time; by default one for each core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=JOBS_MAX))]
    jobs: Option<u32>,
}

impl StudyArguments {
    /// Number of simulations at the same time; 0 means one for each core.
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
