//! Are results what they were when they were recorded? Making the simulator faster must not change a single count.
//!
//! `golden_records/SYSTEM.txt` has every metric of every run on a machine, a line each, and a hash of the metrics of
//! its kernels. There is a test per machine, which names each value that differs. This records the results anew:
//!
//!     CHORUS_UPDATE_GOLDEN=1 cargo test -p chorus-workloads --test all golden
//!
//! This compares two records, of which one may come from another revision:
//!
//!     cargo run -p chorus-workloads --example compare_golden -- OLD_FOLDER NEW_FOLDER

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

use crate::golden_record::{Record, Values, number, parse, relative};

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

const RECORDED: [Recorded; 7] = [
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
    Recorded {
        system: "h200",
        protocols: &["hopper"],
        sample: &["saxpy", "stn", "dlb"],
        others: &[],
        all_under: &[],
        patterns: &[],
    },
];
/// The most differences that a test lists. It gives the number of the others.
const LISTED: usize = 60;

/// FNV-1a: the same on every machine and in every version of the compiler.
fn hash(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

fn hash_metrics(start: u64, metrics: &Metrics) -> u64 {
    metrics.iter().fold(start, |sum, (key, value)| hash(hash(sum, key.as_bytes()), &value.to_bits().to_le_bytes()))
}

/// The values of a run that are recorded.
fn values(run: &Simulated) -> Values {
    let kernels = run.kernels.iter().fold(0xcbf2_9ce4_8422_2325, |sum, kernel| {
        hash_metrics(hash(sum, &kernel.cycles.to_le_bytes()), &kernel.metrics)
    });
    let metrics = run.metrics.iter().filter(|(_, value)| **value != 0.0);
    let metrics = metrics.map(|(key, value)| (key.clone(), value.to_string()));
    let beside = [("cycles", run.cycles.to_string()), ("hash_of_kernels", format!("{kernels:016x}"))];
    metrics.chain(beside.map(|(key, value)| (key.to_owned(), value))).collect()
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
    /// Makes the run. Returns its workload, its protocol and its values.
    fn result(self) -> ((String, String), Values) {
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
        let settings = Settings { fences, ..Settings::defaults(self.protocol) };
        let run = simulate_with(&config, self.protocol, settings, program.as_mut(), memory).unwrap();
        assert!(!run.check.is_wrong(), "{name} under {}: {:?}", self.protocol.name(), run.check);
        ((name.to_owned(), self.protocol.name().to_owned()), values(&run))
    }
}

/// Every recorded run of a machine, protocol by protocol.
fn runs(machine: &Recorded) -> Vec<Run> {
    let mut runs = Vec::new();
    for protocol in PROTOCOLS.iter().copied().filter(|protocol| machine.protocols.contains(&protocol.name())) {
        let all = machine.all_under.contains(&protocol.name());
        let chosen = workloads().filter(|workload| {
            let name = workload.name();
            machine.sample.contains(&name) || (all && machine.others.contains(&name))
        });
        let kept =
            chosen.filter(|workload| !workload.communicates() || protocol.promises().contains(&Promise::Communication));
        let patterns = machine.patterns.iter().map(|&pattern| Subject::Synthetic(pattern));
        let subjects = kept.map(Subject::Workload).chain(patterns);
        runs.extend(subjects.map(|subject| Run { system: machine.system, protocol, subject }));
    }
    runs
}

/// The results of all runs of a machine, which share the processor's cores.
fn results(machine: &Recorded) -> Record {
    let runs = runs(machine);
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        taken.map_while(|index| runs.get(index)).map(|run| run.result()).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

/// The text of a record.
fn to_text(record: &Record) -> String {
    let mut text = String::new();
    for ((workload, protocol), values) in record {
        let _ = writeln!(text, "[{workload} {protocol}]");
        values.iter().for_each(|(key, value)| {
            let _ = writeln!(text, "{key} {value}");
        });
    }
    text
}

/// Every value that differs, a line each: workload, protocol, key, the old and the new value, and the difference.
fn differences(old: &Record, new: &Record) -> Vec<String> {
    let runs: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut lines = Vec::new();
    for run in runs {
        let (workload, protocol) = run;
        match (old.get(run), new.get(run)) {
            (Some(old), Some(new)) => lines.extend(
                of_run(old, new).into_iter().map(|difference| format!("{workload} under {protocol}: {difference}")),
            ),
            (None, _) => lines.push(format!("{workload} under {protocol} is not recorded")),
            (_, None) => lines.push(format!("{workload} under {protocol} is recorded and was not run")),
        }
    }
    lines
}

/// The differences between two records of one run.
fn of_run(old: &Values, new: &Values) -> Vec<String> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let text = |values: &Values, key: &str| values.get(key).map_or_else(|| "0".to_owned(), String::clone);
    let differ = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
    differ
        .map(|key| {
            let percent = 100.0 * relative(number(old, key), number(new, key));
            format!("{key} {} -> {} ({percent:+.3} %)", text(old, key), text(new, key))
        })
        .collect()
}

/// Compares the results of a machine with its record.
fn expect_recorded(system: &str) {
    let machine = RECORDED.iter().find(|machine| machine.system == system).expect("a test is of a recorded machine");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/all/golden_records/{system}.txt"));
    let results = results(machine);
    if std::env::var_os("CHORUS_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, to_text(&results)).unwrap();
    }
    let recorded = parse(&std::fs::read_to_string(&path).unwrap_or_default());
    let differences = differences(&recorded, &results);
    let (listed, more) = differences.split_at(differences.len().min(LISTED));
    assert!(
        differences.is_empty(),
        "{system}: results differ from those recorded (old -> new):\n{}\nand {} more",
        listed.join("\n"),
        more.len()
    );
}

#[test]
fn tc() {
    expect_recorded("tc");
}

#[test]
fn hmg() {
    expect_recorded("hmg");
}

#[test]
fn rec() {
    expect_recorded("rec");
}

#[test]
fn cpelide() {
    expect_recorded("cpelide");
}

#[test]
fn spandex() {
    expect_recorded("spandex");
}

#[test]
fn spandex_hier() {
    expect_recorded("spandex-hier");
}

#[test]
fn h200() {
    expect_recorded("h200");
}

#[test]
fn a_difference_names_run_key_values_and_percentage() {
    let old = parse("[stn gpu-vi]\ncycles 200\nl1.loads 7\n[kmn mesi]\ncycles 1\n");
    assert_eq!(parse(&to_text(&old)), old);
    let new = parse("[stn gpu-vi]\ncycles 250\n[vpr mesi]\ncycles 1\n");
    let expected = [
        "kmn under mesi is recorded and was not run",
        "stn under gpu-vi: cycles 200 -> 250 (+25.000 %)",
        "stn under gpu-vi: l1.loads 7 -> 0 (-100.000 %)",
        "vpr under mesi is not recorded",
    ];
    assert_eq!(differences(&old, &new), expected);
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
