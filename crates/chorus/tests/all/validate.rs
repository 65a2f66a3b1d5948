//! The verb `chorus validate`.

use std::path::Path;

use crate::chorus::{Directory, Ended, chorus};

const DESCRIPTION: &str = r#"
title = "a small GPU"
system = "tc"
protocol = "gpu-vi"
scale = "quick"
probes = "probes.csv"
suite = "suite.csv"
ladder = ["ladder.csv"]
suite_time = "times.csv"
suite_ncu = "counters.csv"
litmus = "litmus.csv"
between_events_us = 1.5
hit_below = 100.0
far_above = 400.0
[[counters]]
name = "stores"
measured = ["stores"]
simulated = ["l1.stores"]
"#;

const LADDER: &str = "\
group,name,param,value,unit
chase,ld.ca,8192,30,cycles
l1_probe,nothing,0,28,cycles_per_load
l1_probe,fence.acq_rel.gpu,2,272,cycles_per_load
chase,not in the list,1,1,cycles
";

const TIMES: &str = "\
kernel,size,params,launches,us_warm_median,us_warm_p10,us_warm_p90,us_cold_median,us_cold_p10,us_cold_p90,check
saxpy,0,n=4096,1,5,5,5,6,6,6,ok
";

const COUNTERS: &str = "kernel,size,params,launches,caches,stores\nsaxpy,0,n=4096,1,warm,128\n";

const LITMUS: &str = "\
test,scope,variant,placement,outcome,count,kind,instances
MP,gpu,acq-rel,different SMs,y=1;x=1,5,,9
MP,gpu,acq-rel,different SMs,y=1;x=0,1,weak,9
MP,gpu,relaxed,different SMs,y=0;x=0,7,,9
";

/// The path of a folder of the source tree.
fn shipped(folder: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).canonicalize().unwrap().display().to_string()
}

/// Validates a small GPU against what it is said to have measured.
pub fn validate(directory: &Directory, more: &str) -> Ended {
    let (probe, cuda) = (shipped("hardware/probe"), shipped("examples/cuda"));
    let row = |group: &str, name: &str, param: u32, program: &str, rule: &str| {
        format!("{group},{name},{param},{probe}/{program}/program.toml,{rule},true\n")
    };
    let probes = [
        "group,name,param,program,sizes,value,quick\n".to_owned(),
        row("chase", "ld.ca", 8192, "chase", "kib=8 steps=64,cycles"),
        row("chase", "never measured", 8192, "chase", "kib=8,cycles"),
        row("l1_probe", "nothing", 0, "l1_probe", "op=0,cycles"),
        row("l1_probe", "nothing", 0, "l1_probe", "op=0 each=1,hits lines"),
        row("l1_probe", "fence.acq_rel.gpu", 2, "l1_probe", "op=2,cycles"),
    ];
    let case = |size: u32, n: u32| format!("saxpy,{size},{cuda}/saxpy/program.toml,n={n}\n");
    let suite = format!("kernel,size,program,sizes\n{}{}", case(0, 4096), case(1, 8192));
    directory.file("probes.csv", &probes.concat());
    directory.file("suite.csv", &suite);
    for (name, text) in [("ladder", LADDER), ("times", TIMES), ("counters", COUNTERS), ("litmus", LITMUS)] {
        directory.file(&format!("{name}.csv"), text);
    }
    let file = directory.file("validation.toml", DESCRIPTION);
    chorus(&format!("validate {} --out {} {more}", file.display(), directory.join("out").display()))
}

#[test]
fn probes_kernels_and_outcomes_are_compared_with_measurements() {
    let directory = Directory::new();
    let json = validate(&directory, "--json").expect_code(1).json();
    let probes = json["probes"].as_array().unwrap();
    assert_eq!(probes.len(), 4, "rows without a measurement are left out");
    assert_eq!((&probes[0]["name"], probes[0]["simulated"].as_f64()), (&"ld.ca".into(), Some(30.0)));
    assert_eq!((probes[1]["same_hits"].as_bool(), probes[2]["simulated"].as_f64()), (Some(true), Some(64.0)));
    assert_eq!(
        probes[3]["same_hits"].as_bool(),
        Some(false),
        "the fence empties the L1 of the GPU, and not that of the machine"
    );
    let suite = json["suite"].as_array().unwrap();
    assert_eq!(suite.len(), 4);
    let (warm, cold) = (&suite[0], &suite[1]);
    assert_eq!((&warm["caches"], &cold["caches"]), (&"warm".into(), &"cold".into()));
    let time = |case: &serde_json::Value| case["microseconds"]["simulated"].as_f64().unwrap();
    assert!(time(warm) > 1.5 && time(warm) < time(cold), "{warm} {cold}");
    assert_eq!(warm["counters"][0][1], serde_json::json!({ "measured": 128.0, "simulated": 128.0 }));
    let litmus = json["litmus"].as_array().unwrap();
    assert_eq!(litmus[0]["seen_forbidden"], serde_json::json!(["y=1;x=0"]));
    assert_eq!(litmus[1]["not_reached"], serde_json::json!([]));

    let text = validate(&directory, "").expect_code(1).stdout;
    assert!(text.contains("0 runs made, 6 there already") && text.contains("1 of 2 tests keep to"), "{text}");
    let folder = directory.join("").file_name().unwrap().to_string_lossy().into_owned();
    let page = std::fs::read_to_string(directory.join(&format!("out/validation-{folder}.html"))).unwrap();
    assert!(page.contains("Predictions") && page.contains("<svg"), "{page}");
    let predictions = std::fs::read_to_string(directory.join(&format!("out/predictions-{folder}.csv"))).unwrap();
    let lines: Vec<&str> = predictions.lines().collect();
    assert_eq!(lines[0], "kernel,size,caches,microseconds,stores");
    assert!(lines[1].starts_with("saxpy,1,warm,") && lines.len() == 3, "{predictions}");
}

#[test]
fn a_validation_that_is_not_there_is_named() {
    chorus("validate no-such-gpu").expect_code(2).expect_error(&["no-such-gpu", "validation.toml"]);
}

#[test]
fn every_row_of_the_shipped_lists_names_a_program_that_takes_its_sizes() {
    let folder = shipped("hardware/probe");
    // Names in front may have commas, so columns are counted from the end.
    for (list, [program, sizes]) in [("probes.csv", [3, 2]), ("suite.csv", [1, 0])] {
        let text = std::fs::read_to_string(format!("{folder}/{list}")).unwrap();
        for row in text.lines().skip(1).map(|line| line.rsplit(',').collect::<Vec<_>>()) {
            let path = format!("{folder}/{}", row[program]);
            let loaded = chorus_program::load(&path).unwrap_or_else(|error| panic!("{error}"));
            let mut values = chorus_workloads::Workload::sizes_at(loaded, chorus_system::Scale::Paper);
            for size in row[sizes].split_whitespace() {
                let (key, value) = size.split_once('=').unwrap();
                assert!(values.set(key, value.parse().unwrap()).is_ok(), "{list}: {path}: {size}");
            }
            assert_eq!(chorus_workloads::Workload::misfit(loaded, &values), None, "{list}: {path}");
        }
    }
}
