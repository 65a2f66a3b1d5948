//! Arguments that several verbs take.

use std::path::PathBuf;

use chorus_lab::annotate::Annotate;
use chorus_lab::own_graph::GraphFile;
use chorus_lab::run::RunSpec;
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

/// Everything that decides a run beside its workload.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// System to simulate: a name, or the path of a system file.
    #[arg(long)]
    system: String,
    /// Coherence protocol of the caches.
    #[arg(long)]
    pub protocol: String,
    #[command(flatten)]
    scale: ScaleArgument,
    /// Seed of the generated input.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole, allow_negative_numbers = true)]
    seed: u64,
    /// Set a key of the system, a parameter of the protocol or a size of the workload (`workload.KEY`) to another
    /// value, as KEY=VALUE. May be repeated; the last value of a key wins. `chorus explain NAME` shows all keys.
    /// Numbers may be written as 64KiB, 1e6 or 2^20.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Graph of your own for the workload, instead of a generated one: DIMACS shortest paths (.gr), Matrix Market
    /// (.mtx) or a SNAP edge list (.txt). The scale then chooses only the machine.
    #[arg(long, value_name = "FILE")]
    graph: Option<String>,
    /// Format of the graph, if the extension of its file does not tell: dimacs, matrix-market or snap.
    #[arg(long, value_name = "FORMAT", requires = "graph")]
    graph_format: Option<String>,
    /// Source of the annotations that say what kernels access, for protocols that rely on them: `hand` (the workload's
    /// own), `auto` (a recording of the workload on flat memory) or `none` (every kernel may access anything).
    #[arg(long, value_name = "hand|auto|none", default_value_t = Annotate::Hand)]
    annotate: Annotate,
    /// Allow a workload that needs coherence under a protocol without it, to see what goes wrong.
    #[arg(long)]
    pub allow_incoherent: bool,
}

impl RunArguments {
    /// The run of a workload under a protocol.
    pub fn spec(&self, protocol: &str, workload: String) -> RunSpec {
        RunSpec {
            system: self.system.clone(),
            protocol: protocol.to_owned(),
            workload,
            scale: self.scale.scale,
            seed: self.seed,
            set: self.overrides.clone(),
            graph: self.graph.clone().map(|path| GraphFile { path, format: self.graph_format.clone() }),
            annotate: self.annotate,
            observed: false,
        }
    }
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
