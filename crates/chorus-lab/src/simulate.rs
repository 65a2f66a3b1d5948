//! One run on the simulator: names are resolved, the program is run and timed, and its result is checked.

use std::any::Any;
use std::time::{Duration, Instant};

use chorus_kernel::{HostMemory, Kernel, Mismatch, Program, Verdict};
use chorus_protocol::registry::{Promise, Protocol};
use chorus_registry::Registry;
use chorus_sim::{Checkpoints, Noted, Settings, SimError, Simulated, Stream, Watch, quietly};
use chorus_trace::Recorder;
use cpu_time::{ProcessTime, ThreadTime};

use crate::checkpoint::{Checkpoint, Keeper, Keeping};
use crate::jobs::Job;
use crate::run::{Build, CheckResult, KernelResult, RunError, RunErrorKind, RunResult, RunSpec};
use crate::setup::{self, Setup};
use crate::why;

/// The version and git revision of the Chorus that is running.
pub fn build() -> Build {
    Build {
        chorus_version: env!("CARGO_PKG_VERSION").to_owned(),
        git_revision: option_env!("CHORUS_GIT_REVISION").unwrap_or("unknown").to_owned(),
    }
}

/// The manner in which a run is made. No result depends on threads and windows, so they are no part of the run's
/// specification.
#[derive(Clone, Copy)]
pub struct Manner<'r> {
    /// Whether a workload whose work-groups communicate within a kernel runs under a protocol that does not promise to
    /// carry their writes. Its result then shows what goes wrong. Otherwise the protocol refuses it.
    pub allow_incoherent: bool,
    /// The number of threads that share the run.
    pub threads: u32,
    /// The longest time for which components run alone, in ticks, or nothing for as long as possible.
    pub window: Option<u64>,
    /// The recorder that writes down what the programs do.
    pub recorder: Option<&'r Recorder>,
    /// The choice of what is shown and noted of the run.
    pub watch: Watch<'r>,
    /// The checkpoints that the run keeps.
    pub keeping: Option<Keeping<'r>>,
    /// The checkpoint that the run goes on from.
    pub resume: Option<&'r Checkpoint>,
}

impl Default for Manner<'_> {
    fn default() -> Self {
        Manner {
            allow_incoherent: false,
            threads: 1,
            window: None,
            recorder: None,
            watch: Watch::default(),
            keeping: None,
            resume: None,
        }
    }
}

/// Makes one run on this thread. `allow_incoherent` has the meaning that it has in a [`Manner`].
pub fn simulate(registry: &Registry, spec: &RunSpec, allow_incoherent: bool) -> Result<RunResult, RunError> {
    let setup =
        setup::resolve(registry, spec).map_err(|error| RunError::new(RunErrorKind::BadInput, error.to_string()))?;
    let manner = Manner { allow_incoherent, ..Manner::default() };
    if spec.observed { why::observe(spec, &setup, manner) } else { simulate_on(spec, &setup, manner) }
}

/// Makes one run in some manner on the setup that `spec` has been resolved to.
pub fn simulate_on(spec: &RunSpec, setup: &Setup, manner: Manner<'_>) -> Result<RunResult, RunError> {
    let protocol = setup.protocol;
    let refused = refusal(protocol, &setup.jobs);
    let lacks_coherence = refused.is_some();
    if let Some(refusal) = refused.filter(|_| !manner.allow_incoherent) {
        return Err(refusal);
    }
    let watches = Stopwatches::new(&manner);
    let keeper = manner.keeping.map(|keeping| Keeper::new(keeping, spec, setup, &manner, &watches));
    let checkpoints = keeper.as_ref().map(|keeper| keeper as &dyn Checkpoints);
    let watch = Watch { checkpoints, resume: manner.resume.map(Checkpoint::state), ..manner.watch };
    let run = || run(setup, spec, Manner { watch, ..manner });
    // Programs of users may do anything, and any program may under incoherent caches.
    let is_own = setup.jobs.iter().any(|job| job.workload.own_file().is_some());
    let (simulated, noted) = match lacks_coherence || is_own {
        true => quietly(run).unwrap_or_else(|panic| Err(crash(&*panic, lacks_coherence))),
        false => run(),
    }?;
    let Build { chorus_version, git_revision } = build();
    let [wall_s, user_s] = watches.elapsed();
    Ok(RunResult {
        spec: spec.clone(),
        parameters: setup.parameter_values(),
        sizes: setup.size_values(),
        graph: setup.graph.as_ref().map(|own| own.identity.clone()),
        config_hash: setup.config_hash.clone(),
        config_text: setup.config_text.clone(),
        chorus_version,
        git_revision,
        cycles: simulated.cycles,
        simulated_ns: simulated.simulated_ns,
        wall_s,
        user_s,
        peak_rss_bytes: peak_rss_bytes(),
        accesses: simulated.accesses,
        result: match simulated.check {
            Verdict::Checked => CheckResult::Pass,
            Verdict::Unchecked => CheckResult::Unchecked,
            Verdict::Wrong(Mismatch(message)) => CheckResult::Fail(message),
        },
        metrics: simulated.metrics,
        kernels: simulated
            .kernels
            .into_iter()
            .map(|kernel| KernelResult { name: kernel.name, cycles: kernel.cycles, metrics: kernel.metrics })
            .collect(),
        readings: simulated.readings,
        notes: noted.into(),
    })
}

/// The time and the processor time that a run takes, with what it took before the checkpoint that it goes on from.
pub(crate) struct Stopwatches {
    wall: Instant,
    processor: Stopwatch,
    before: [f64; 2],
}

impl Stopwatches {
    fn new(manner: &Manner<'_>) -> Stopwatches {
        let before = manner.resume.map_or([0.0; 2], Checkpoint::took);
        Stopwatches { wall: Instant::now(), processor: Stopwatch::new(manner.threads), before }
    }

    /// The time and the processor time so far, in seconds.
    pub(crate) fn elapsed(&self) -> [f64; 2] {
        let [wall, processor] = self.before;
        [wall + self.wall.elapsed().as_secs_f64(), processor + self.processor.elapsed().as_secs_f64()]
    }
}

/// The processor time that a run takes: that of its thread, or of the whole process where the run has several.
enum Stopwatch {
    Thread(ThreadTime),
    Process(ProcessTime),
}

impl Stopwatch {
    fn new(threads: u32) -> Stopwatch {
        if threads > 1 { Stopwatch::Process(ProcessTime::now()) } else { Stopwatch::Thread(ThreadTime::now()) }
    }

    fn elapsed(&self) -> Duration {
        match self {
            Stopwatch::Thread(begin) => begin.elapsed(),
            Stopwatch::Process(begin) => begin.elapsed(),
        }
    }
}

/// The most memory that this process has used, as Linux tells it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// The refusal of a workload by a protocol: the work-groups of the workload communicate within a kernel, and the
/// protocol does not carry their writes.
pub fn refusal(protocol: &dyn Protocol, jobs: &[Job]) -> Option<RunError> {
    let communicating = jobs.iter().map(|job| job.workload).find(|workload| workload.communicates())?;
    if protocol.promises().contains(&Promise::Communication) {
        return None;
    }
    let message = format!(
        "{} does not run under {}: its work-groups communicate within a kernel, and {} does not carry their writes to each other\n\
         hint: --allow-incoherent runs it all the same and shows what goes wrong",
        communicating.name(),
        protocol.name(),
        protocol.title()
    );
    Some(RunError::new(RunErrorKind::Refused, message))
}

/// Begins the message of a panic of a kernel in PTX that does what no GPU allows.
const KERNEL_PANIC: &str = "kernel ";

/// A program without kernels.
struct Nothing;

impl Program for Nothing {
    fn next_kernel(&mut self, _memory: &HostMemory) -> Option<Kernel> {
        None
    }

    fn check(&self, _memory: &HostMemory) -> Verdict {
        Verdict::Unchecked
    }
}

/// Builds a machine and runs nothing on it. The error says why the machine cannot have the protocol.
pub fn try_machine(setup: &Setup) -> Result<(), RunError> {
    let settings = Settings { parameters: setup.parameters, ..Settings::defaults(setup.protocol) };
    let memory = HostMemory::aligned(setup.system.config.memory.alignment_bytes);
    let tried = chorus_sim::simulate_with(&setup.system.config, setup.protocol, settings, &mut Nothing, memory);
    tried.map(|_| ()).map_err(failure)
}

fn run(setup: &Setup, spec: &RunSpec, manner: Manner<'_>) -> Result<(Simulated, Noted), RunError> {
    let jobs = &setup.jobs;
    let traced_fences = setup.trace.as_ref().is_some_and(|trace| trace.has_fences());
    let fences = traced_fences || jobs.iter().any(|job| job.workload.communicates());
    let Manner { threads, window, .. } = manner;
    let defaults = Settings::defaults(setup.protocol);
    let settings = Settings { parameters: setup.parameters, fences, threads, window, seed: spec.seed, ..defaults };
    let config = &setup.system.config;
    let mut memory = HostMemory::aligned(config.memory.alignment_bytes);
    let prepare = |memory: &mut HostMemory| -> Vec<Box<dyn Program>> {
        match (&setup.trace, &setup.graph) {
            (Some(trace), _) => vec![Box::new(trace.program(memory))],
            (None, Some(own)) => vec![Box::new((own.build)(&own.graph, spec.seed, memory))],
            (None, None) => jobs.iter().map(|job| job.workload.prepare(&job.sizes, spec.seed, memory)).collect(),
        }
    };
    let modules = config.hierarchy.modules() as u16;
    let ranges: Vec<_> = match &setup.trace {
        Some(_) => std::iter::once(0..modules).collect(),
        None => jobs.iter().map(|job| job.modules(modules)).collect(),
    };
    let shares: Vec<u32> = ranges.iter().map(|range| range.len() as u32).collect();
    let programs = spec.annotate.programs(&prepare, config.hierarchy.gpus, &shares, &mut memory);
    let mut programs = programs.map_err(|wrong| {
        RunError::new(RunErrorKind::Stuck, format!("{} cannot be recorded: {wrong}", spec.workload))
    })?;
    if let Some(recorder) = manner.recorder {
        programs = programs.into_iter().map(|program| recorder.record(program)).collect();
    }
    let streams = programs.iter_mut().zip(ranges);
    let mut streams: Vec<Stream<'_>> =
        streams.map(|(program, modules)| Stream { program: program.as_mut(), modules }).collect();
    let simulated = chorus_sim::simulate_watched(config, setup.protocol, settings, manner.watch, &mut streams, memory);
    match setup.trace.as_ref().and_then(|trace| trace.failure()) {
        Some(error) => Err(RunError::new(RunErrorKind::BadInput, error.to_string())),
        None => simulated.map_err(failure),
    }
}

fn failure(error: SimError) -> RunError {
    let kind = match &error {
        SimError::Stuck(_) => RunErrorKind::Stuck,
        SimError::Stopped => RunErrorKind::Stopped,
        SimError::Unspecified(_) | SimError::Waits(_) => RunErrorKind::Defect,
        SimError::Unsupported(_) | SimError::Damaged(_) => RunErrorKind::BadInput,
        SimError::Undeclared(_) | SimError::ReadOnlyWritten(_) => RunErrorKind::Undeclared,
    };
    RunError::new(kind, error.to_string())
}

/// The error of a program that panicked. A program that computes addresses from stale values can end anywhere. To its
/// user, it is a program that never finished. With coherent caches, a kernel that fails is a mistake of the program,
/// and anything else is a defect.
fn crash(panic: &(dyn Any + Send), lacks_coherence: bool) -> RunError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    if lacks_coherence {
        return RunError::new(RunErrorKind::Stuck, format!("the program crashed on values that it read: {text}"));
    }
    if let Some(mistake) = text.strip_prefix(chorus_program::PANIC) {
        return RunError::new(RunErrorKind::BadInput, mistake);
    }
    if text.starts_with(KERNEL_PANIC) {
        return RunError::new(RunErrorKind::BadInput, text);
    }
    RunError::new(RunErrorKind::Defect, format!("Chorus itself failed: {text}"))
}

#[cfg(test)]
mod tests {
    use chorus_sim::quietly;

    use super::crash;
    use crate::run::RunErrorKind;

    #[test]
    fn a_crash_of_the_program_is_a_stuck_run_with_its_message() {
        let panic = quietly(|| panic!("index {} out of range", 7)).expect_err("it panics");
        let error = crash(&*panic, true);
        assert_eq!(error.kind, RunErrorKind::Stuck);
        assert!(error.message.ends_with("index 7 out of range"), "{error}");
        assert_eq!(crash(&*panic, false).kind, RunErrorKind::Defect);
    }
}
