//! `chorus run --program` and `chorus ptx`: programs of users, from PTX to a checked result.

use std::path::Path;

use serde_json::Value;

use crate::chorus::{Directory, Ended, chorus};

/// A kernel that writes past the end of its buffer where `words` is too large, and prints.
const MODULE: &str = include_str!("programs/store.ptx");

const PROGRAM: &str = r#"
modules = ["store.ptx"]
[sizes]
n = { quick = 64, medium = 128, paper = 256 }
[buffers]
x = { type = "u32", length = 64 }
again = { type = "u32", length = 1 }
[[steps]]
repeat = 2
counter = "i"
[[steps.steps]]
launch = "store"
grid = 1
block = 32
args = ["x", "n", "i"]
access = { x = "write" }
[[steps.steps]]
set = { buffer = "again", index = 0, value = "i + 1" }
[[checks]]
buffer = "x"
flat = true
[[checks]]
buffer = "again"
equals = 2
"#;

const ON_TC: &str = "run --system tc --protocol gpu-vi";

/// The path of a program that Chorus ships.
fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cuda").join(name).join("program.toml");
    path.canonicalize().expect("the program is shipped").display().to_string()
}

/// Runs the program of this test with one text replaced by another.
fn run(from: &str, to: &str, command: &str) -> Ended {
    let directory = Directory::new();
    directory.file("store.ptx", MODULE);
    let program = directory.file("program.toml", &PROGRAM.replacen(from, to, 1));
    chorus(&command.replace("FILE", &program.display().to_string()))
}

/// Systems, and the protocols that programs run under there.
const PROTOCOLS: [(&str, &[&str]); 6] = [
    ("tc", &["no-l1", "ideal-coh", "gpu-vi", "gpu-vini", "mesi", "tc-strong", "tc-weak", "tc-weak-fixed"]),
    ("hmg", &["no-remote", "sw-flat", "sw-hier", "nhcc", "hmg", "hopper", "ideal"]),
    ("rec", &["dir", "dir-hmg", "rec", "dir-ideal"]),
    ("cpelide", &["viper-chiplet", "cpelide", "cpelide-range", "nhcc-wt", "nhcc-wb"]),
    ("spandex", &["smg", "smd", "sdg", "sdd", "spandex-mixed", "spandex-adaptive", "smv"]),
    (
        "spandex-hier",
        &["hmesi-gpu", "hmesi-denovo", "spandex-hier-mg", "spandex-hier-md", "spandex-hier-dg", "spandex-hier-dd"],
    ),
];

/// Programs whose work-groups communicate, which a protocol can get wrong.
const COMMUNICATING: [&str; 6] =
    ["grid_barrier", "pipeline_flags", "scan_lookback", "spin_lock_lanes", "ticket_lock", "work_queue"];

#[test]
fn shipped_programs_are_right_under_every_protocol_that_communicates() {
    let mut programs = COMMUNICATING.into_iter().cycle();
    for (system, protocols) in PROTOCOLS {
        for protocol in protocols {
            for name in programs.by_ref().take(2) {
                let program = example(name);
                let ended = chorus(&format!("run --system {system} --protocol {protocol} --program {program}"));
                let ended = ended.expect_code(0);
                assert!(ended.stdout.contains("result          pass"), "{name} under {protocol}: {}", ended.stdout);
            }
        }
    }
    let listed: Value = serde_json::from_str(&chorus("list protocols --json").expect_code(0).stdout).unwrap();
    let named = |name: &str| PROTOCOLS.iter().any(|(_, protocols)| protocols.contains(&name)) || name == "no-coh";
    let names = listed["protocols"].as_array().unwrap().iter().map(|protocol| protocol["name"].as_str().unwrap());
    names.for_each(|name| assert!(named(name), "{name} has no place in this test"));
}

#[test]
fn programs_run_beside_workloads_and_each_other() {
    let programs = format!("{}+square+{}@1", example("saxpy"), example("fir"));
    let ended = chorus(&format!("run --system cpelide --protocol cpelide --workload {programs} --json")).expect_code(0);
    let json = ended.json();
    let kernels: Vec<&str> =
        json["kernels"].as_array().into_iter().flatten().filter_map(|it| it["name"].as_str()).collect();
    assert!(kernels.contains(&"saxpy") && kernels.contains(&"fir"), "{kernels:?}");
}

#[test]
fn a_program_is_identified_by_its_contents_and_takes_sizes_annotations_and_seeds() {
    let json = |from: &str, to: &str, more: &str| {
        run(from, to, &format!("{ON_TC} --program FILE --json {more}")).expect_code(0).json()
    };
    let hash = |json: &Value| json["config_hash"].as_str().map(str::to_owned);
    let first = json("modules", "modules", "");
    assert_eq!(hash(&first), hash(&json("modules", "modules", "--seed 2")));
    assert_ne!(hash(&first), hash(&json("modules", "\nmodules", "")));
    assert_ne!(hash(&first), hash(&json("modules", "modules", "--set workload.n=32")));
    for annotate in ["hand", "auto", "none"] {
        let command = format!("run --system cpelide --protocol cpelide --program FILE --annotate {annotate}");
        run("modules", "modules", &command).expect_code(0);
    }
    let wrong = run("x = \"write\"", "x = \"read\"", "run --system cpelide --protocol cpelide --program FILE");
    wrong.expect_code(1).expect_error(&["kernel store writes word"]);
}

#[test]
fn what_threads_print_is_shown_once_and_in_order() {
    for more in ["", "--annotate auto"] {
        let ended = run("modules", "modules", &format!("{ON_TC} --program FILE {more}")).expect_code(0);
        assert_eq!(ended.stderr.lines().collect::<Vec<_>>(), ["pass 0", "pass 1"], "{more}");
    }
}

#[test]
fn mistakes_in_programs_and_failures_of_kernels_are_errors_of_one_line() {
    let ended = run("block", "blok", &format!("{ON_TC} --program FILE")).expect_code(2);
    ended.expect_error(&["program.toml:", "there is no key `block`, but `blok`"]);
    let ended = run("[\"x\", \"n\"", "[\"x\", \"n + 64\"", &format!("{ON_TC} --program FILE")).expect_code(2);
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    ended.expect_error(&["error: kernel store, ", "store.ptx:"]);
    let ended = run("equals = 2", "equals = 3", &format!("{ON_TC} --program FILE")).expect_code(1);
    assert!(ended.stderr.contains("wrong result: again[0] is 2 instead of 3"), "{}", ended.stderr);
    let until = "until = { buffer = \"again\", index = 0, equals = 9 }\nat_most = 3";
    let ended = run("repeat = 2", until, &format!("{ON_TC} --program FILE")).expect_code(2);
    ended.expect_error(&["the loop has not ended after 3 passes"]);
    let forever = MODULE.replace("ret;", "LOOP: bra LOOP;");
    let directory = Directory::new();
    directory.file("store.ptx", &forever);
    let program = directory.file("program.toml", &PROGRAM.replace("flat = true", "equals = 0"));
    let ended = chorus(&format!("{ON_TC} --program {}", program.display())).expect_code(1);
    ended.expect_error(&["kernel store is livelocked", "store.ptx:", ", lane 0, last operation"]);
    chorus(&format!("{ON_TC} --program no/such.toml"))
        .expect_code(2)
        .expect_error(&["no/such.toml: it cannot be read"]);
    let ended = chorus(&format!("run --system tc --protocol no-coh --program {}", example("spin_lock"))).expect_code(2);
    ended.expect_error(&["does not run under no-coh", "hint: --allow-incoherent"]);
}

#[test]
fn experiments_name_programs_that_lie_beside_them() {
    let directory = Directory::new();
    directory.file("store.ptx", MODULE);
    directory.file("mine.toml", PROGRAM);
    let path = crate::chorus::experiment(&directory, 1);
    let text = std::fs::read_to_string(&path).expect("it was written").replace("\"saxpy\"", "\"saxpy\", \"mine.toml\"");
    directory.file("small.toml", &text);
    let out = directory.join("out").display().to_string();
    let ended = chorus(&format!("reproduce {} --out {out} --jobs 1", path.display())).expect_code(0);
    assert!(ended.stderr.contains("mine.toml"), "{}", ended.stderr);
    directory.file("small.toml", &text.replace("mine.toml", "yours/mine.toml"));
    let ended = chorus(&format!("reproduce {} --out {out} --jobs 1", path.display())).expect_code(2);
    ended.expect_error(&["small.toml:", "yours/mine.toml: it cannot be read"]);
}

#[test]
fn a_module_is_described_with_what_is_not_supported() {
    let directory = Directory::new();
    let good = directory.file("store.ptx", MODULE).display().to_string();
    let json = chorus(&format!("ptx {good} --json")).expect_code(0).json();
    assert_eq!(json["entries"][0]["parameters"][1]["bytes"], 4);
    assert_eq!(json["opcodes"]["ret"], 1);
    assert!(chorus(&format!("ptx {good}")).expect_code(0).stdout.contains("u64, u32, u32"));
    let odd = MODULE.replace("add.s64", "wmma.mma.s64");
    let odd = directory.file("odd.ptx", &odd).display().to_string();
    let ended = chorus(&format!("ptx {odd}")).expect_code(0);
    assert!(ended.stdout.contains("not supported: store: "), "{}", ended.stdout);
    let bad = directory.file("bad.ptx", "no PTX").display().to_string();
    chorus(&format!("ptx {bad}")).expect_code(2).expect_error(&["bad.ptx:1:"]);
}
