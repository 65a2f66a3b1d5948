//! The speed of the simulator: line accesses per second of processor time. Each benchmark is a synthetic program that
//! exercises one path.
//!
//! Every benchmark runs on one system, for a given time and several times. The fastest repetition counts, because every
//! disturbance makes a measurement slower. Host instructions do not depend on disturbances. Valgrind counts them, where
//! it is installed and somebody asks for them.

use std::path::Path;
use std::process::Command;

use chorus_kernel::{HostMemory, Mismatch};
use chorus_protocol::registry::{Protocol, find};
use chorus_sim::SimError;
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_system::{Scale, SystemConfig, SystemError};
use cpu_time::ThreadTime;
use serde::Serialize;
use serde_json::{Value, json};

/// The version of the JSON that [`Benches::to_json`] writes.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// Work-groups for each compute unit of the machine. Two are enough to keep its memory busy.
const WORK_GROUPS_PER_UNIT: u32 = 2;
/// Number of rounds from which the speed is estimated.
const ROUNDS_TRIED: u32 = 20;
/// The most rounds of a benchmark: the streaming pattern then touches 1.6 GB.
const ROUNDS_MAX: u32 = 4000;

/// Numbers of rounds of the runs in which instructions are counted.
const ROUNDS_COUNTED: [u32; 2] = [40, 80];

/// One benchmark: an access pattern on a system under a protocol.
#[derive(Clone, Copy, Debug)]
struct Subject {
    name: &'static str,
    pattern: Pattern,
    system: &'static str,
    scale: Scale,
    protocol: &'static str,
}

/// Every benchmark. Streaming runs without coherence and again under GPU-VI, where each miss also recalls a line.
fn subjects() -> Vec<Subject> {
    let subject = |name, pattern, protocol| Subject { name, pattern, system: "tc", scale: Scale::Paper, protocol };
    vec![
        subject("hit-heavy", Pattern::HitHeavy, "gpu-vi"),
        subject("miss-heavy", Pattern::MissHeavy, "no-coh"),
        subject("recall-heavy", Pattern::MissHeavy, "gpu-vi"),
        subject("share-heavy", Pattern::ShareHeavy, "gpu-vi"),
        subject("atomic-heavy", Pattern::AtomicHeavy, "gpu-vi"),
        Subject {
            name: "remote-heavy",
            pattern: Pattern::RemoteHeavy,
            system: "hmg",
            // The scale at which the paper's experiments run by default.
            scale: Scale::Quick,
            protocol: "hmg",
        },
    ]
}

/// The length of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Approximate processor time of one repetition, in seconds.
    pub cpu_s: f64,
    /// Number of repetitions; the fastest one counts.
    pub repetitions: u32,
    /// Number of rounds of each repetition. If it is not given, it follows from the processor time.
    pub rounds: Option<u32>,
}

impl Default for Effort {
    fn default() -> Self {
        Effort { cpu_s: 1.5, repetitions: 3, rounds: None }
    }
}

/// The result of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// The name of the benchmark.
    pub name: &'static str,
    /// The name of its system.
    pub system: &'static str,
    /// The name of its protocol.
    pub protocol: &'static str,
    /// Number of coalesced line accesses that were issued to the L1 caches.
    pub accesses: u64,
    /// Processor time of the fastest repetition, in seconds.
    pub cpu_s: f64,
    /// Number of accesses per second of this processor time.
    pub accesses_per_cpu_s: f64,
    /// Memory of the simulated program, in bytes.
    pub footprint_bytes: u64,
    /// Host instructions of an access, if they were counted.
    pub instructions_per_access: Option<f64>,
}

/// The results of all benchmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct Benches {
    /// The result of each benchmark.
    pub benches: Vec<Bench>,
    /// The most memory that the process ever had resident, if the operating system tells it.
    pub peak_resident_bytes: Option<u64>,
}

impl Benches {
    /// The results as `chorus bench --json` prints them.
    pub fn to_json(&self) -> Value {
        json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "benches": self.benches,
            "peak_resident_bytes": self.peak_resident_bytes,
        })
    }
}

/// The reason why a benchmark could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The system cannot be resolved.
    #[error(transparent)]
    System(#[from] SystemError),
    /// A protocol that a benchmark uses does not exist.
    #[error("benchmark {name}: there is no protocol {protocol}")]
    NoProtocol {
        /// The name of the benchmark.
        name: &'static str,
        /// The name of the protocol.
        protocol: &'static str,
    },
    /// The simulation of a benchmark failed.
    #[error("benchmark {name}: {source}")]
    Simulation {
        /// The name of the benchmark.
        name: &'static str,
        /// The error of the simulation.
        source: SimError,
    },
    /// A program computed a wrong result.
    #[error("benchmark {name}: wrong result: {mismatch}")]
    WrongResult {
        /// The name of the benchmark.
        name: &'static str,
        /// The output that is wrong.
        mismatch: Mismatch,
    },
}

/// The names of all benchmarks.
pub fn names() -> Vec<&'static str> {
    subjects().iter().map(|subject| subject.name).collect()
}

/// Runs the benchmarks of these names. `begin` and `finish` are told about each of them.
pub fn run(
    names: &[&str],
    effort: Effort,
    begin: &dyn Fn(&str),
    finish: &dyn Fn(&Bench),
) -> Result<Benches, BenchError> {
    let mut benches = Vec::new();
    for subject in subjects().iter().filter(|subject| names.contains(&subject.name)) {
        begin(subject.name);
        let config = chorus_system::resolve(subject.system, subject.scale, &[])?.config;
        let bench = measure(subject, &config, effort)?;
        finish(&bench);
        benches.push(bench);
    }
    Ok(Benches { benches, peak_resident_bytes: peak_resident_bytes() })
}

fn measure(subject: &Subject, config: &SystemConfig, effort: Effort) -> Result<Bench, BenchError> {
    let &Subject { name, protocol, .. } = subject;
    let found = find(protocol).ok_or(BenchError::NoProtocol { name, protocol })?;
    if let Some(rounds) = effort.rounds {
        return once(subject, config, found, rounds.clamp(1, ROUNDS_MAX));
    }
    let tried = once(subject, config, found, ROUNDS_TRIED)?;
    let rounds = (f64::from(ROUNDS_TRIED) * effort.cpu_s / tried.cpu_s.max(1e-6)) as u32;
    let rounds = rounds.clamp(1, ROUNDS_MAX);
    let mut best: Option<Bench> = None;
    for _ in 0..effort.repetitions.max(1) {
        let bench = once(subject, config, found, rounds)?;
        if best.as_ref().is_none_or(|best| bench.cpu_s < best.cpu_s) {
            best = Some(bench);
        }
    }
    Ok(best.unwrap_or(tried))
}

fn once(
    subject: &Subject,
    config: &SystemConfig,
    protocol: &'static dyn Protocol,
    rounds: u32,
) -> Result<Bench, BenchError> {
    let name = subject.name;
    let mut memory = HostMemory::default();
    let work_groups = WORK_GROUPS_PER_UNIT * config.core.count * config.hierarchy.modules();
    let mut program = Synthetic::new(subject.pattern, work_groups, rounds, &mut memory);
    let footprint_bytes = memory.bytes() as u64;
    let start = ThreadTime::now();
    let simulated = chorus_sim::simulate(config, protocol, &mut program, memory)
        .map_err(|source| BenchError::Simulation { name, source })?;
    let cpu_s = start.elapsed().as_secs_f64();
    simulated.check.not_wrong().map_err(|mismatch| BenchError::WrongResult { name, mismatch })?;
    let accesses = simulated.accesses;
    let accesses_per_cpu_s = accesses as f64 / cpu_s.max(1e-9);
    let &Subject { system, .. } = subject;
    Ok(Bench {
        name,
        system,
        protocol: subject.protocol,
        accesses,
        cpu_s,
        accesses_per_cpu_s,
        footprint_bytes,
        instructions_per_access: None,
    })
}

/// Host instructions for each access of a benchmark, from runs of the binary `chorus` under valgrind. They are the
/// difference between two runs, so that starting up cancels out. There are none where valgrind is not installed.
pub fn count_instructions(chorus: &Path, name: &str) -> Option<f64> {
    let [less, more] = ROUNDS_COUNTED.map(|rounds| under_valgrind(chorus, name, rounds));
    let ((less, fewer_accesses), (more, more_accesses)) = (less?, more?);
    let accesses = more_accesses.checked_sub(fewer_accesses).filter(|&accesses| accesses > 0)?;
    Some(more.checked_sub(less)? as f64 / accesses as f64)
}

/// The instructions and the accesses of one run of a benchmark.
fn under_valgrind(chorus: &Path, name: &str, rounds: u32) -> Option<(u64, u64)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(chorus)
        .args(["bench", name, "--json", "--rounds", &rounds.to_string()])
        .output()
        .ok()?;
    let benches: Value = serde_json::from_slice(&output.stdout).ok()?;
    Some((instructions_of(&String::from_utf8_lossy(&output.stderr))?, benches["benches"][0]["accesses"].as_u64()?))
}

/// The number of instructions that callgrind reports at its end, such as `==7== Collected : 285132347`.
fn instructions_of(report: &str) -> Option<u64> {
    let (_, number) = report.lines().find_map(|line| line.split_once("Collected : "))?;
    number.trim().parse().ok()
}

/// The most resident memory of this process. Linux states it in `/proc/self/status`, in kilobytes.
fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::instructions_of;

    #[test]
    fn the_number_of_instructions_is_read_from_the_report() {
        let report = "==7== Events    : Ir\n==7== Collected : 285132347\n==7== \n==7== I   refs:      285,132,347\n";
        assert_eq!(instructions_of(report), Some(285_132_347));
        assert_eq!(instructions_of("valgrind: cannot execute"), None);
    }
}
