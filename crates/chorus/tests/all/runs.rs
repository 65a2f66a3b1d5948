//! The verbs `chorus run` and `chorus explain`.

use serde_json::Value;

use crate::chorus::chorus;

const SAXPY: &str = "run --system tc --protocol gpu-vi --workload saxpy";

#[test]
fn run_json_has_every_field() {
    let json = chorus(&format!("{SAXPY} --seed 3 --set l1.ways=8 --json")).expect_code(0).json();
    let texts =
        [("system", "tc"), ("protocol", "gpu-vi"), ("workload", "saxpy"), ("scale", "quick"), ("result", "pass")];
    for (key, expected) in texts {
        assert_eq!(json[key], expected, "{key}");
    }
    assert_eq!(json["seed"], 3);
    assert_eq!(json["set"], serde_json::json!(["l1.ways=8"]));
    assert_eq!(json["config_hash"].as_str().map(str::len), Some(16));
    for key in ["schema_version", "cycles", "simulated_ns", "wall_s", "user_s", "accesses"] {
        assert!(json[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {}", json[key]);
    }
    for key in ["l1.accesses", "l1.load_hits", "traffic.flits.ld", "traffic.bytes.rcl", "energy.nj", "dram.reads"] {
        assert!(json["metrics"][key].is_number(), "{key}");
    }
    assert_eq!(json["metrics"]["l1.accesses"].as_f64(), json["accesses"].as_f64());
}

/// The JSON of a run without the time and the memory that it took of the host.
fn measured(mut json: Value) -> Value {
    for key in ["wall_s", "user_s", "peak_rss_bytes"] {
        json[key] = Value::Null;
    }
    json
}

#[test]
fn the_same_run_gives_the_same_statistics() {
    let run = || measured(chorus(&format!("{SAXPY} --json")).expect_code(0).json());
    assert_eq!(run(), run());
}

#[test]
fn the_result_depends_neither_on_threads_nor_on_windows() {
    for run in [SAXPY, "run --system hmg --protocol hmg --workload saxpy"] {
        let json = |more: &str| measured(chorus(&format!("{run} --json {more}")).expect_code(0).json());
        let plain = json("");
        for more in ["--threads 1", "--threads 2", "--threads 4", "--window 7", "--threads 2 --window 7"] {
            assert_eq!(json(more), plain, "{run} {more}");
        }
    }
}

#[test]
fn overrides_matter() {
    let cycles = |more: &str| chorus(&format!("{SAXPY} --json {more}")).expect_code(0).json()["cycles"].clone();
    let plain = cycles("");
    assert_ne!(plain, cycles("--set network.latency_cycles=200"));
    assert_eq!(plain, cycles("--set l1.ways=4"), "the value that it has anyway");
}

#[test]
fn parameters_of_the_protocol_matter_and_are_shown() {
    let run = "run --system tc --protocol tc-strong --workload saxpy";
    let json = |more: &str| chorus(&format!("{run} --json {more}")).expect_code(0).json();
    let (plain, short) = (json(""), json("--set lease.cycles=100 --set l1.ways=4"));
    assert_eq!(plain["parameters"], serde_json::json!({ "lease.cycles": 800, "timestamp.bits": 32 }));
    assert_eq!(short["parameters"]["lease.cycles"], 100);
    assert_ne!(plain["config_hash"], short["config_hash"]);
    let leased = |json: &Value| json["metrics"]["protocol.lease_cycles"].as_f64().expect("a sum");
    assert!(leased(&plain) > leased(&short) && leased(&short) > 0.0, "{} and {}", leased(&plain), leased(&short));
    let text = chorus(&format!("{run} --set lease.cycles=1_600")).expect_code(0).stdout;
    assert!(text.contains("parameters      lease.cycles=1600, timestamp.bits=32"), "{text}");
}

#[test]
fn a_summary_is_for_people() {
    let ended = chorus(SAXPY).expect_code(0);
    for part in
        ["gpu-vi on saxpy (tc, quick, seed 1)", "result          pass", "cycles", "L1 load hits", " REQ ", " all "]
    {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_workload_that_needs_coherence_is_refused_without_it() {
    for workload in ["bh", "cc", "cl", "dlb", "stn", "vpr"] {
        let ended = chorus(&format!("run --system tc --protocol no-coh --workload {workload}")).expect_code(2);
        let refusal = format!("{workload} does not run under no-coh");
        ended.expect_error(&[&refusal, "\nhint: --allow-incoherent"]);
    }
}

#[test]
fn a_workload_that_needs_coherence_goes_wrong_without_it() {
    for workload in ["stn", "dlb"] {
        // Giving up earlier than by default saves time. Thieves of `dlb` go on trying, which is no idleness.
        let patience = "--set watchdog.idle_cycles=200000 --set watchdog.cycles=3000000";
        let arguments =
            format!("run --system tc --protocol no-coh --workload {workload} --allow-incoherent {patience}");
        let message = |threads: u32| {
            let ended = chorus(&format!("{arguments} --threads {threads}")).expect_code(1).expect_error(&[]);
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            ended.stderr
        };
        assert_eq!(message(1), message(2), "{workload}");
    }
}

#[test]
fn a_stuck_program_names_its_wavefronts() {
    let ended = chorus(&format!("{SAXPY} --set watchdog.cycles=3000")).expect_code(1);
    ended.expect_error(&["kernel saxpy is not finished", "work-group 0 wavefront 0", "\nhint: watchdog.idle_cycles"]);
}

#[test]
fn explain_gives_every_value_with_its_origin_and_source() {
    let ended = chorus("explain tc --set l1.size_bytes=65536").expect_code(0);
    let line = |key: &str| {
        let found = ended.stdout.lines().find(|line| line.trim_start().starts_with(key));
        found.unwrap_or_else(|| panic!("no {key} in {}", ended.stdout)).to_owned()
    };
    assert!(line("l1.size_bytes").contains("65536") && line("l1.size_bytes").contains("--set"));
    assert!(line("core.count").contains("scale quick"));
    assert!(line("l1.ways").contains("Table 4"));
    assert!(line("aggregate L1").contains("512 KiB"));
}

#[test]
fn explain_json_hashes_as_run_does() {
    let explained = chorus("explain tc --json").expect_code(0).json();
    let ran = chorus(&format!("{SAXPY} --json")).expect_code(0).json();
    assert_eq!(explained["config_hash"], ran["config_hash"]);
    assert!(explained["keys"].as_array().is_some_and(|keys| keys.iter().all(|key| key["value"].is_string())));
}

#[test]
fn bench_json_has_a_rate_for_every_pattern() {
    let json = chorus("bench --seconds 0.01 --json").expect_code(0).json();
    let benches = json["benches"].as_array().expect("a list");
    let names: Vec<&str> = benches.iter().filter_map(|bench| bench["name"].as_str()).collect();
    assert_eq!(names, ["hit-heavy", "miss-heavy", "recall-heavy", "share-heavy", "atomic-heavy", "remote-heavy"]);
    for bench in benches {
        for key in ["accesses", "cpu_s", "accesses_per_cpu_s"] {
            assert!(bench[key].as_f64().is_some_and(|value| value > 0.0), "{key} of {bench}");
        }
        assert!(bench["protocol"].is_string());
    }
}

#[test]
fn what_is_noted_of_a_run_depends_neither_on_threads_nor_changes_it() {
    let run = "run --system hmg --protocol hmg --workload saxpy --json";
    let noted = |more: &str| {
        let watched = format!("{run} --every 1000 --distributions --sharing {more}");
        measured(chorus(&watched).expect_code(0).json())
    };
    let mut one = noted("");
    assert_eq!(noted("--threads 4"), one);
    let growth =
        one["series"]["counters"]["dram.reads"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap());
    assert_eq!(growth.sum::<f64>(), one["metrics"]["dram.reads"].as_f64().unwrap());
    let loads = one["distributions"].as_array().unwrap().iter().find(|row| row["kind"] == "load").unwrap();
    assert_eq!(loads["count"].as_f64(), one["metrics"]["l1.loads_completed"].as_f64());
    assert!(one["sharing"]["lines"].as_u64().unwrap() > 0);
    for key in ["series", "distributions", "sharing"] {
        one.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(one, measured(chorus(run).expect_code(0).json()));
}

#[test]
fn what_is_noted_is_printed_for_people() {
    let ended = chorus(&format!("{SAXPY} --every 10000 --distributions=kernel --sharing")).expect_code(0);
    for part in
        ["intervals of 10,000 cycles", "dram.reads", "p99.9", "kernel saxpy", "by compute-units", "falsely-shared"]
    {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let noted = ended.stdout.lines().skip_while(|line| !line.contains("intervals of"));
    noted.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
    assert_eq!(ended.stderr, "", "a short run shows no progress");
}

#[test]
fn a_time_series_is_kept_and_exported() {
    let directory = crate::chorus::Directory::new();
    let results = directory.join("results").display().to_string();
    chorus(&format!("{SAXPY} --keep {results}")).expect_code(0);
    let ended = chorus(&format!("export {results} --series")).expect_code(2);
    ended.expect_error(&["has a time series", "hint: `chorus run --every 10000 --keep"]);
    let json = chorus(&format!("{SAXPY} --every 20000 --keep {results} --json")).expect_code(0).json();
    let csv = chorus(&format!("export {results} --series")).expect_code(0).stdout;
    let reads = csv.lines().filter(|line| line.contains(",dram.reads,"));
    let value = |line: &str| line.rsplit(',').nth(1).unwrap().parse::<f64>().unwrap();
    assert_eq!(Some(reads.map(value).sum::<f64>()), json["metrics"]["dram.reads"].as_f64());
}
