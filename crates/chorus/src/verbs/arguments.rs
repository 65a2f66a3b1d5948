//! Arguments that several verbs take.

use chorus_system::Scale;
use clap::Args;

/// The version of the JSON that verbs print themselves.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// How large the machine and its inputs are.
#[derive(Debug, Args)]
pub struct ScaleArgument {
    /// `quick` (shrunk in proportion, for answers within seconds), `medium` (about four times that, where a system has it) or `paper` (as the paper describes it).
    #[arg(long, value_name = "quick|medium|paper", default_value_t = Scale::Quick)]
    pub scale: Scale,
}

/// The form of the output.
#[derive(Debug, Args)]
pub struct JsonArgument {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}
