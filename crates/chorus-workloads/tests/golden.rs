//! Are results what they were when they were recorded? Making the simulator faster must not change a single count.
//!
//! `golden.txt` has one line per run: its name, cycles, a hash of every metric of the run and of each of its kernels, and a few metrics in
//! the clear, so that a difference can be understood. `CHORUS_UPDATE_GOLDEN=1` records the results anew.

use std::fmt::Write;
use std::path::Path;

use chorus_protocol::registry::{PROTOCOLS, Promise, Protocol};
use chorus_sim::frontend::{HostMemory, Program};
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{Metrics, Settings, Simulated, simulate_with};
use chorus_system::{Scale, resolve};

const SEED: u64 = 1;
/// What runs under every protocol.
const WORKLOADS: [&str; 5] = ["saxpy", "stn", "dlb", "kmn", "hsp"];
/// Where every workload runs.
const ALL_WORKLOADS_UNDER: [&str; 2] = ["gpu-vi", "tc-weak"];
const IN_THE_CLEAR: [&str; 6] =
    ["core.instructions", "l1.load_hits", "l1.load_misses", "l2.inputs", "dram.reads", "traffic.flits"];

/// FNV-1a: the same on every machine and in every version of the compiler.
fn hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn hash_metrics(start: u64, metrics: &Metrics) -> u64 {
    metrics.iter().fold(start, |sum, (key, value)| hash(hash(sum, key.as_bytes()), &value.to_bits().to_le_bytes()))
}

fn line(name: &str, run: &Simulated) -> String {
    let mut sum = hash_metrics(0xcbf2_9ce4_8422_2325, &run.metrics);
    for kernel in &run.kernels {
        sum = hash_metrics(hash(sum, &kernel.cycles.to_le_bytes()), &kernel.metrics);
    }
    let mut line = format!("{name} cycles={} metrics={sum:016x}", run.cycles);
    for key in IN_THE_CLEAR {
        write!(line, " {key}={}", run.metrics[key]).unwrap();
    }
    line
}

fn run(
    name: &str,
    scale: Scale,
    protocol: &'static dyn Protocol,
    fences: bool,
    prepare: impl FnOnce(&mut HostMemory) -> Box<dyn Program>,
) -> String {
    let config = resolve("tc", scale, &[]).unwrap().config;
    let mut memory = HostMemory::default();
    let mut program = prepare(&mut memory);
    let name = format!("{name}/{}", protocol.name());
    let settings = Settings { fences, ..Settings::defaults(protocol) };
    let run = simulate_with(&config, protocol, settings, program.as_mut(), memory).unwrap();
    assert_eq!(run.check, Ok(()), "{name}");
    line(&name, &run)
}

/// The workloads on the small machine, and the synthetic programs on the large one, where lines are recalled all the time.
fn results() -> String {
    let mut lines = Vec::new();
    for protocol in PROTOCOLS.iter().copied() {
        let everywhere = WORKLOADS.map(|name| chorus_workloads::find(name).unwrap());
        let all = ALL_WORKLOADS_UNDER.contains(&protocol.name());
        for workload in if all { chorus_workloads::WORKLOADS } else { &everywhere } {
            if !workload.communicates() || protocol.promises().contains(&Promise::Communication) {
                let prepare = |memory: &mut HostMemory| workload.prepare(Scale::Quick, SEED, memory);
                lines.push(run(workload.name(), Scale::Quick, protocol, workload.uses_fences(), prepare));
            }
        }
        for pattern in Pattern::OF_ONE_MODULE {
            let prepare =
                |memory: &mut HostMemory| -> Box<dyn Program> { Box::new(Synthetic::new(pattern, 96, 12, memory)) };
            lines.push(run(pattern.name(), Scale::Paper, protocol, true, prepare));
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn results_are_those_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden.txt");
    let results = results();
    if std::env::var_os("CHORUS_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &results).unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (now, then) in results.lines().zip(recorded.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(results.lines().count(), recorded.lines().count(), "another number of runs");
}
