//! Are results what they were when they were recorded? Making the simulator faster must not change a single count.
//!
//! `golden.txt` has one line per run: its name, cycles, a hash of every metric of the run and of each of its kernels,
//! and a few metrics in the clear, so that a difference can be understood. Lines are sorted, so that their order
//! does not depend on that of the registry. This records the results anew:
//!
//!     CHORUS_UPDATE_GOLDEN=1 cargo test -p chorus-workloads --test all golden

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use chorus_kernel::{HostMemory, Program};
use chorus_protocol::registry::{PROTOCOLS, Promise, Protocol};
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{Metrics, Settings, Simulated, simulate_with};
use chorus_system::{Scale, resolve};
use chorus_workloads::{Workload, workloads};

const SEED: u64 = 1;

/// One machine with the runs that are recorded on it.
struct Recorded {
    system: &'static str,
    protocols: &'static [&'static str],
    /// Workloads that run under every protocol.
    sample: &'static [&'static str],
    /// Workloads that run only under the protocols of `all_under`.
    others: &'static [&'static str],
    all_under: &'static [&'static str],
    /// Synthetic programs that run at paper scale, where lines are recalled all the time.
    patterns: &'static [Pattern],
}

const RECORDED: [Recorded; 6] = [
    Recorded {
        system: "tc",
        protocols: &[
            "no-l1",
            "no-coh",
            "ideal-coh",
            "gpu-vi",
            "gpu-vini",
            "mesi",
            "tc-strong",
            "tc-weak",
            "tc-weak-fixed",
        ],
        sample: &["saxpy", "stn", "dlb", "kmn", "hsp"],
        others: &["bh", "cc", "cl", "vpr", "lps", "ndl", "rg", "sr"],
        all_under: &["gpu-vi", "tc-weak"],
        patterns: &Pattern::OF_ONE_MODULE,
    },
    Recorded {
        system: "hmg",
        protocols: &["no-remote", "sw-flat", "sw-hier", "nhcc", "hmg", "ideal"],
        sample: &["mst", "namd", "minicontact", "rnn-wgrad"],
        others: &[
            "cusolver",
            "comd",
            "hpgmg",
            "miniamr",
            "nekbone",
            "snap",
            "bfs",
            "alexnet",
            "lstm",
            "nw",
            "pathfinder",
        ],
        all_under: &["hmg"],
        patterns: &[],
    },
    Recorded {
        system: "rec",
        protocols: &["dir", "dir-hmg", "rec", "dir-ideal"],
        sample: &["fir", "lu", "st", "bitonic"],
        others: &[],
        all_under: &[],
        patterns: &[],
    },
    Recorded {
        system: "cpelide",
        protocols: &["viper-chiplet", "cpelide", "cpelide-range", "nhcc-wt", "nhcc-wb"],
        sample: &["babelstream", "color", "hotspot3d", "rnn-gru-small", "btree"],
        others: &[
            "backprop",
            "bfs-rodinia",
            "fw",
            "gaussian",
            "hacc",
            "lud",
            "lulesh",
            "pennant",
            "rnn-gru",
            "rnn-lstm-small",
            "rnn-lstm",
            "square",
            "sssp",
            "cnn",
            "dwt2d",
            "hotspot",
            "srad",
        ],
        all_under: &["cpelide"],
        patterns: &[],
    },
    Recorded {
        system: "spandex",
        protocols: &["smg", "smd", "sdg", "sdd", "spandex-mixed", "spandex-adaptive", "smv"],
        sample: &["reuse-o", "reuse-s", "trns"],
        others: &["indirection", "bc", "pr-collab", "hsti", "rsct", "tqh"],
        all_under: &["smd"],
        patterns: &[],
    },
    Recorded {
        system: "spandex-hier",
        protocols: &[
            "hmesi-gpu",
            "hmesi-denovo",
            "spandex-hier-mg",
            "spandex-hier-md",
            "spandex-hier-dg",
            "spandex-hier-dd",
        ],
        sample: &["reuse-o", "trns"],
        others: &["indirection", "bc"],
        all_under: &["hmesi-gpu"],
        patterns: &[],
    },
];
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

/// A program of a recorded run.
#[derive(Clone, Copy)]
enum Subject {
    Workload(&'static dyn Workload),
    Synthetic(Pattern),
}

/// One run whose result is recorded.
#[derive(Clone, Copy)]
struct Run {
    system: &'static str,
    protocol: &'static dyn Protocol,
    subject: Subject,
}

impl Run {
    /// Makes the run and describes it in one line.
    fn result(self) -> String {
        let mut memory = HostMemory::default();
        let (name, scale, fences, mut program): (_, _, _, Box<dyn Program>) = match self.subject {
            Subject::Workload(workload) => {
                let program = workload.prepare(&workload.sizes_at(Scale::Quick), SEED, &mut memory);
                (workload.name(), Scale::Quick, workload.communicates(), program)
            }
            Subject::Synthetic(pattern) => {
                (pattern.name(), Scale::Paper, true, Box::new(Synthetic::new(pattern, 96, 12, &mut memory)))
            }
        };
        let config = resolve(self.system, scale, &[]).unwrap().config;
        let name = format!("{name}/{}", self.protocol.name());
        let settings = Settings { fences, ..Settings::defaults(self.protocol) };
        let run = simulate_with(&config, self.protocol, settings, program.as_mut(), memory).unwrap();
        assert!(!run.check.is_wrong(), "{name}: {:?}", run.check);
        line(&name, &run)
    }
}

/// Every recorded run, the machines in turn, protocol by protocol.
fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for machine in &RECORDED {
        for protocol in PROTOCOLS.iter().copied().filter(|protocol| machine.protocols.contains(&protocol.name())) {
            let all = machine.all_under.contains(&protocol.name());
            let chosen = workloads().filter(|workload| {
                let name = workload.name();
                machine.sample.contains(&name) || (all && machine.others.contains(&name))
            });
            let kept = chosen
                .filter(|workload| !workload.communicates() || protocol.promises().contains(&Promise::Communication));
            let patterns = machine.patterns.iter().map(|&pattern| Subject::Synthetic(pattern));
            let subjects = kept.map(Subject::Workload).chain(patterns);
            runs.extend(subjects.map(|subject| Run { system: machine.system, protocol, subject }));
        }
    }
    runs
}

/// The lines of all runs, sorted. The runs share the processor's cores.
fn results() -> Vec<String> {
    let runs = runs();
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        taken.map_while(|index| runs.get(index)).map(|run| run.result()).collect::<Vec<String>>()
    };
    let mut lines: Vec<String> = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    lines.sort_unstable();
    lines
}

#[test]
fn results_are_those_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/golden.txt");
    let results = results();
    if std::env::var_os("CHORUS_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, results.join("\n") + "\n").unwrap();
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let (now, then): (BTreeSet<&str>, BTreeSet<&str>) =
        (results.iter().map(String::as_str).collect(), recorded.lines().collect());
    let mut differences: Vec<(&str, char)> = now.difference(&then).map(|&line| (line, '+')).collect();
    differences.extend(then.difference(&now).map(|&line| (line, '-')));
    differences.sort_unstable();
    let differences: Vec<String> = differences.into_iter().map(|(line, sign)| format!("{sign} {line}")).collect();
    assert!(differences.is_empty(), "results (+) differ from those recorded (-):\n{}", differences.join("\n"));
}

#[test]
fn every_registered_protocol_has_a_recorded_run() {
    let is_recorded = |name: &str| RECORDED.iter().any(|machine| machine.protocols.contains(&name));
    let missing: Vec<&str> = PROTOCOLS.iter().map(|it| it.name()).filter(|name| !is_recorded(name)).collect();
    assert!(
        missing.is_empty(),
        "no golden run of {}: add the names to a machine of RECORDED in this file, then record with the command at its top",
        missing.join(", ")
    );
}
