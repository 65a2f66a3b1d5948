//! A runner that simulates nothing, and places to put files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use chorus_lab::annotate::Annotate;
use chorus_lab::claim;
use chorus_lab::experiment::{Experiment, KnownNames};
use chorus_lab::paper::{self, Paper};
use chorus_lab::recorded::Recorded;
use chorus_lab::run::{Build, CheckResult, KernelResult, Outcome, Record, RunError, RunResult, RunSpec};
use chorus_lab::setup;
use chorus_lab::why::stage::Stage;
use chorus_registry::Registry;
use chorus_system::Scale;

pub const KNOWN: KnownNames<'static> = KnownNames {
    systems: &["tc"],
    protocols: &["no-l1", "no-coh", "ideal-coh", "mesi", "gpu-vi", "gpu-vini", "tc-strong", "tc-weak-fixed", "tc-weak"],
    workloads: &["bh", "cc", "cl", "dlb", "stn", "vpr", "hsp", "kmn", "lps", "ndl", "rg", "sr", "saxpy"],
    metrics: &[
        "a",
        "b",
        "cycles",
        "energy.dynamic_nj",
        "energy.static_nj",
        "protocol.groups_by_replacement",
        "protocol.l2.misses",
        "protocol.lease_cycles",
        "protocol.leases",
        "traffic.flits",
        "traffic.flits.ato",
        "traffic.flits.inv",
        "traffic.flits.ld",
        "traffic.flits.rcl",
        "traffic.flits.req",
        "traffic.flits.st",
    ],
};

/// Every name that a shipped paper may use.
pub static SHIPPED: LazyLock<KnownNames<'static>> = LazyLock::new(|| KnownNames {
    systems: registry().system_names().leak(),
    protocols: registry().protocol_names().leak(),
    workloads: registry().workload_names().leak(),
    metrics: paper::metric_names(registry()).into_iter().map(|name| &*name.leak()).collect::<Vec<_>>().leak(),
});

/// Everything that Chorus ships.
pub fn registry() -> &'static Registry {
    static STANDARD: LazyLock<Registry> = LazyLock::new(Registry::standard);
    &STANDARD
}

/// The text of the small experiment.
pub const EXPERIMENT: &str = include_str!("fixture.toml");

/// The text of its claims.
pub const CLAIMS: &str = include_str!("fixture_claims.toml");

/// The small experiment, read from its text.
pub fn experiment() -> Experiment {
    Experiment::read("fixture.toml", EXPERIMENT, &KNOWN).unwrap_or_else(|error| panic!("{error}"))
}

/// The small experiment with its claims.
pub fn paper() -> Paper {
    let experiment = experiment();
    let statements = claim::read("fixture_claims.toml", CLAIMS, &experiment).unwrap_or_else(|error| panic!("{error}"));
    Paper { experiment, statements, recorded: Recorded::default() }
}

pub fn build() -> Build {
    Build { chorus_version: "0.1.0".to_owned(), git_revision: "0123abcd".to_owned() }
}

pub fn spec(protocol: &str, workload: &str) -> RunSpec {
    RunSpec {
        system: "tc".to_owned(),
        protocol: protocol.to_owned(),
        workload: workload.to_owned(),
        scale: Scale::Quick,
        seed: 1,
        graph: None,
        annotate: Annotate::Hand,
        observed: false,
        set: Vec::new(),
    }
}

/// Core cycles by protocol and workload, chosen so that quotients are easy to check by hand.
pub fn cycles(spec: &RunSpec) -> u64 {
    match (spec.protocol.as_str(), spec.workload.as_str()) {
        ("no-l1", _) => 8000,
        ("ideal-coh", "stn") => 2000,
        ("ideal-coh", _) => 8000,
        ("gpu-vi", "stn") => 4000,
        ("gpu-vi", "dlb") => 6400,
        ("tc-weak-fixed", _) if spec.set == ["lease.cycles=0"] => 10_000,
        ("tc-weak-fixed", "stn") => 3200,
        _ => 5000,
    }
}

/// Flits by traffic class.
pub fn flits(spec: &RunSpec) -> [(&'static str, f64); 6] {
    let coherence = if spec.protocol == "gpu-vi" { 50.0 } else { 0.0 };
    let loads = if spec.protocol == "no-l1" { 600.0 } else { 200.0 };
    [("ld", loads), ("st", 150.0), ("ato", 10.0), ("req", 40.0), ("inv", coherence), ("rcl", coherence / 2.0)]
}

/// Metrics that machines of several modules count besides.
fn between_modules(spec: &RunSpec) -> Vec<(String, f64)> {
    let mut metrics = Vec::new();
    for distance in ["inter_gpm", "inter_gpu"] {
        for (class, flits) in flits(spec) {
            metrics.push((format!("{distance}.bytes.{class}"), flits * 16.0));
            metrics.push((format!("{distance}.messages.{class}"), flits));
        }
        metrics.push((format!("{distance}.bytes"), 6400.0 + spec.workload.len() as f64));
        metrics.push((format!("{distance}.messages"), 400.0 + spec.workload.len() as f64));
    }
    let counted = [
        ("inter_gpu.loads", 10.0),
        ("inter_gpu.loads_shared", spec.workload.len() as f64 / 2.0),
        ("protocol.stores_on_shared", 4.0),
        ("protocol.lines_by_store", 6.0),
        ("protocol.replacements", 0.0),
        ("protocol.lines_by_replacement", 0.0),
    ];
    metrics.extend(counted.map(|(key, value)| (key.to_owned(), value)));
    let of_directories = [
        ("protocol.replacements", 4.0),
        ("protocol.lines_by_replacement", 24.0),
        ("protocol.groups_by_replacement", 40.0),
        ("protocol.l2.misses", 30.0),
        ("protocol.l2.cold_misses", 10.0),
        ("protocol.l2.local_loads", 80.0),
        ("protocol.l2.home_loads", 20.0),
        ("l2.lookups", 100.0),
        ("l2.lookup_cycles", 1200.0),
    ];
    if spec.system != "hmg" {
        metrics.extend(of_directories.map(|(key, value)| (key.to_owned(), value)));
    }
    metrics
}

/// Metrics that machines of chiplets with an L3 and a command processor count besides.
const OF_CHIPLETS: [(&str, f64); 18] = [
    ("core.kernels", 5.0),
    ("l3.hits", 20.0),
    ("l3.misses", 10.0),
    ("traffic.l1_l2.flits", 500.0),
    ("traffic.l2_l3.flits", 300.0),
    ("traffic.remote.flits", 200.0),
    ("energy.l1i_nj", 1.0),
    ("energy.l1d_nj", 2.0),
    ("energy.lds_nj", 3.0),
    ("energy.l2_nj", 4.0),
    ("energy.noc_nj", 5.0),
    ("energy.dram_nj", 6.0),
    ("boundary.cycles", 100.0),
    ("boundary.l2_acquires", 8.0),
    ("boundary.l2_releases", 12.0),
    ("boundary.written_back", 300.0),
    ("table.rows_max", 7.0),
    ("table.structures", 15.0),
];

/// The classes by which machines of Spandex count their traffic.
const REQUESTS: [&str; 8] = ["reqv", "reqs", "reqwt", "reqo", "reqwt_data", "reqo_data", "reqwb", "probe"];

pub fn result(spec: &RunSpec) -> RunResult {
    let setup = setup::resolve(registry(), spec).expect("the fake runs on real systems");
    let cycles = cycles(spec);
    let mut metrics = BTreeMap::new();
    let mut total = 0.0;
    for (class, flits) in flits(spec) {
        metrics.insert(format!("traffic.flits.{class}"), flits);
        total += flits;
    }
    metrics.insert("traffic.flits".to_owned(), total);
    metrics.insert("energy.dynamic_nj".to_owned(), total / 10.0);
    metrics.insert("energy.static_nj".to_owned(), cycles as f64 / 1000.0);
    if spec.observed {
        metrics.extend(Stage::ALL.map(|stage| (stage.metric().to_owned(), cycles as f64)));
    }
    if spec.protocol == "tc-weak" {
        metrics.insert("protocol.leases".to_owned(), 10.0);
        metrics.insert("protocol.lease_cycles".to_owned(), 8000.0);
    }
    if spec.system.starts_with("spandex") {
        metrics.extend(REQUESTS.map(|class| (format!("traffic.flit_hops.{class}"), class.len() as f64)));
        metrics.insert("traffic.flit_hops".to_owned(), 51.0);
    } else if spec.system != "tc" {
        metrics.extend(between_modules(spec));
    }
    if spec.system.starts_with("cpelide") {
        metrics.extend(OF_CHIPLETS.map(|(key, value)| (key.to_owned(), value)));
        metrics.insert("table.structures_max".to_owned(), 4.0);
    }
    RunResult {
        sizes: BTreeMap::new(),
        spec: spec.clone(),
        parameters: setup.parameter_values(),
        graph: None,
        config_hash: setup.config_hash,
        config_text: setup.config_text,
        chorus_version: build().chorus_version,
        git_revision: build().git_revision,
        cycles,
        simulated_ns: cycles as f64 / 1.4,
        wall_s: 0.25,
        peak_rss_bytes: None,
        user_s: 0.2,
        accesses: 1000,
        result: CheckResult::Pass,
        kernels: vec![KernelResult { name: "step".to_owned(), cycles, metrics: metrics.clone() }],
        readings: BTreeMap::new(),
        notes: chorus_lab::notes::Notes::default(),
        metrics,
    }
}

pub fn record(spec: &RunSpec) -> Record {
    let result = result(spec);
    Record {
        spec: spec.clone(),
        config_hash: result.config_hash.clone(),
        build: build(),
        outcome: Outcome::Finished(Box::new(result)),
    }
}

pub fn failed(spec: &RunSpec, error: RunError) -> Record {
    Record { outcome: Outcome::Failed(error), ..record(spec) }
}

pub fn wrong(spec: &RunSpec, message: &str) -> Record {
    let result = RunResult { result: CheckResult::Fail(message.to_owned()), ..result(spec) };
    Record { outcome: Outcome::Finished(Box::new(result)), ..record(spec) }
}

/// A directory of its own that goes when it is dropped.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("chorus-lab-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the directory for temporary files can be written");
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory left behind harms no other test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
