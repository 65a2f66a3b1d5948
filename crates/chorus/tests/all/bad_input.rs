//! Bad input is refused with exit code 2 and a message that says what is accepted.

use crate::chorus::{Directory, chorus, command, end, experiment};

const SYSTEM: &str = include_str!("../../../../systems/tc.toml");

#[test]
fn an_unknown_protocol_suggests_the_nearest() {
    for arguments in ["run --system tc --protocol gpu-v --workload stn", "check gpu-v", "litmus gpu-v", "table gpu-v"] {
        let ended = chorus(arguments).expect_code(2);
        ended.expect_error(&["unknown protocol `gpu-v`", "`ideal-coh`", "did you mean `gpu-vi`?"]);
    }
}

#[test]
fn an_unknown_workload_suggests_the_nearest() {
    let ended = chorus("run --system tc --protocol gpu-vi --workload saxpi").expect_code(2);
    ended.expect_error(&["unknown workload `saxpi`", "`stn`", "did you mean `saxpy`?"]);
}

#[test]
fn an_unknown_system_suggests_the_nearest() {
    for arguments in ["run --system tcc --protocol gpu-vi --workload stn", "explain tcc --kind system"] {
        chorus(arguments).expect_code(2).expect_error(&["unknown system `tcc`", "did you mean `tc`?"]);
    }
    chorus("explain saxpi")
        .expect_code(2)
        .expect_error(&["unknown system, protocol or workload", "did you mean `saxpy`?"]);
}

#[test]
fn a_protocol_of_one_module_on_a_machine_of_several_is_refused_with_a_hint() {
    let ended = chorus("run --system hmg --protocol gpu-vi --workload saxpy").expect_code(2);
    ended.expect_error(&["GPU-VI is a protocol for the caches of one module", "hint: --set hierarchy.gpus=1"]);
}

#[test]
fn an_unknown_paper_suggests_the_nearest() {
    chorus("reproduce tcc").expect_code(2).expect_error(&["unknown paper `tcc`", "did you mean `tc`?"]);
}

#[test]
fn an_unknown_litmus_test_suggests_the_nearest_in_any_case() {
    let ended = chorus("litmus gpu-vi mp+fence").expect_code(2);
    ended.expect_error(&["unknown litmus test `mp+fence`", "did you mean `MP+fences`?"]);
}

#[test]
fn an_unknown_fault_suggests_the_nearest() {
    let ended = chorus("check gpu-vi --fault lost-invalidatio").expect_code(2);
    ended.expect_error(&["unknown fault of gpu-vi", "did you mean `lost-invalidation`?"]);
}

#[test]
fn an_unknown_benchmark_suggests_the_nearest() {
    chorus("bench hit-heavi").expect_code(2).expect_error(&["unknown benchmark", "did you mean `hit-heavy`?"]);
}

#[test]
fn an_unknown_verb_list_or_scale_says_what_is_accepted() {
    chorus("lst").expect_code(2).expect_error(&["'list'"]);
    chorus("list protocol").expect_code(2).expect_error(&["protocols"]);
    let ended = chorus("explain tc --scale full").expect_code(2);
    ended.expect_error(&["unknown scale `full`; accepted: `quick`, `medium`, `paper`"]);
}

#[test]
fn a_scale_that_the_system_lacks_says_which_it_has() {
    let directory = Directory::new();
    for arguments in [
        "explain tc --scale medium",
        "run --system tc --scale medium --protocol gpu-vi --workload saxpy",
        &format!("reproduce tc --scale medium --out {}", directory.join("out").display()),
    ] {
        let ended = chorus(arguments).expect_code(2);
        ended.expect_error(&["system `tc` has no scale `medium`; it has: `quick`, `paper`"]);
    }
}

#[test]
fn an_unknown_key_in_a_system_file_is_shown_with_its_line() {
    let directory = Directory::new();
    let misspelt = SYSTEM.replace("size_bytes = 32768", "sise_bytes = 32768");
    assert_ne!(misspelt, SYSTEM);
    let line = misspelt.lines().position(|line| line.starts_with("sise_bytes")).expect("it was put there") + 1;
    let path = directory.file("misspelt.toml", &misspelt);
    let path = path.display().to_string();
    for arguments in [format!("explain {path}"), format!("run --system {path} --protocol gpu-vi --workload saxpy")] {
        chorus(&arguments).expect_code(2).expect_error(&[
            &format!("{path}:{line}:1: unknown key `l1.sise_bytes`; did you mean `size_bytes`? accepted in [l1]:"),
            &format!(" {line} | sise_bytes = 32768"),
            "| ^^^^^^^^^^\n",
        ]);
    }
}

#[test]
fn an_impossible_geometry_says_what_is_accepted() {
    let run = "run --system tc --protocol gpu-vi --workload saxpy";
    let ended = chorus(&format!("{run} --set l1.size_bytes=1000")).expect_code(2);
    ended.expect_error(&["--set l1.size_bytes=1000", "key `l1.size_bytes` is 1000; accepted: "]);
    chorus("explain tc --set l2.banks=0").expect_code(2).expect_error(&["key `l2.banks` is 0; accepted: "]);
}

#[test]
fn an_override_of_the_wrong_type_says_what_is_expected() {
    let ended = chorus("explain tc --set l1.ways=four").expect_code(2);
    ended.expect_error(&[
        "--set l1.ways=four: key `l1.ways` is given as `four`; expected a whole number from 0 to 4294967295",
    ]);
    let ended = chorus("explain tc --set l1.ways").expect_code(2);
    ended.expect_error(&["--set l1.ways: expected KEY=VALUE"]);
    let ended = chorus("explain tc --set core.scheduler=loose-round-robbin").expect_code(2);
    ended.expect_error(&["did you mean `loose-round-robin`?"]);
}

#[test]
fn a_value_that_a_parameter_does_not_take_says_what_it_takes() {
    for given in ["many", "-1", "1.5", "1000001"] {
        let run = "run --system tc --protocol tc-weak-fixed --workload saxpy";
        chorus(&format!("{run} --set lease.cycles={given}")).expect_code(2).expect_error(&[&format!(
            "--set lease.cycles={given}: parameter `lease.cycles` of tc-weak-fixed is given as `{given}`; expected a whole \
             number from 0 to 1000000 (length of a lease, in core cycles)"
        )]);
    }
}

#[test]
fn a_parameter_of_another_protocol_says_whose_it_is() {
    let owners = "`lease.cycles` is a parameter of tc-strong, tc-weak-fixed";
    let run = "run --system tc --workload saxpy --set lease.cycles=400 --protocol";
    chorus(&format!("{run} gpu-vi")).expect_code(2).expect_error(&[owners, "; gpu-vi has none"]);
    let others = "; gpu-vini has `directory.ratio`, `directory.associativity`";
    chorus(&format!("{run} gpu-vini")).expect_code(2).expect_error(&[owners, others]);
    let ended = chorus("explain tc --set lease.cycles=400").expect_code(2);
    ended.expect_error(&[owners, ", not a key of a system"]);
}

#[test]
fn a_misspelt_parameter_suggests_the_nearest() {
    let ended = chorus("run --system tc --protocol tc-strong --workload saxpy --set lease.cycels=400").expect_code(2);
    ended.expect_error(&[
        "--set lease.cycels=400: unknown key `lease.cycels`",
        "did you mean `lease.cycles`?",
        "\nhint: the parameters of tc-strong are `lease.cycles`, `timestamp.bits`",
    ]);
}

#[test]
fn a_bad_parameter_in_an_experiment_is_found_before_the_first_run() {
    let directory = Directory::new();
    let text = std::fs::read_to_string(experiment(&directory, 1)).expect("it was written");
    let variant = "seeds = [1]\nvariant = [{ name = \"short\", set = [\"lease.cycles=few\"] }]";
    let swept = text.replace("seeds = [1]", variant).replace("gpu-vi\" }", "tc-strong\", variant = \"short\" }");
    let swept = swept.replace("gpu-vi", "tc-strong").replace("mean =", "baseline_variant = \"short\"\nmean =");
    let path = directory.file("swept.toml", &swept);
    let ended = chorus(&format!("reproduce {} --out {}", path.display(), directory.join("out").display()));
    let ended = ended.expect_code(2).expect_error(&["no-l1 on saxpy", "`lease.cycles` is a parameter of tc-strong"]);
    assert!(!ended.stderr.contains("[1/"), "{}", ended.stderr);
}

#[test]
fn an_unknown_key_in_an_experiment_file_is_shown_with_its_line() {
    let directory = Directory::new();
    let path = experiment(&directory, 1);
    let text = std::fs::read_to_string(&path).expect("it was written").replace("workloads =", "worklods =");
    let path = directory.file("misspelt.toml", &text);
    let ended = chorus(&format!("reproduce {} --out {}", path.display(), directory.join("out").display()));
    ended.expect_code(2).expect_error(&[":9:1: unknown key `worklods`", "did you mean `workloads`?", " 9 | worklods"]);
}

#[test]
fn an_output_directory_that_cannot_be_written_is_named_before_anything_runs() {
    let directory = Directory::new();
    let file = directory.file("file", "not a directory");
    let out = file.join("out");
    let ended = chorus(&format!("reproduce --out {}", out.display())).expect_code(2);
    ended.expect_error(&["cannot write results store", "file/out/results.sqlite", "not a directory"]);
}

#[test]
fn a_results_file_of_another_version_is_refused_and_left_alone() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    let reproduce = format!("reproduce {} --out {}", small.display(), out.display());
    chorus(&reproduce).expect_code(0);
    let store = out.join("results.sqlite");
    let mut bytes = std::fs::read(&store).expect("the store is there");
    // The user version of an SQLite file is the big-endian word at byte 60.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&store, &bytes).expect("the store can be written");
    let accepted = "is a results store of format 99; this version of Chorus accepts format";
    chorus(&reproduce).expect_code(2).expect_error(&[accepted]);
    chorus(&format!("export {}", out.display())).expect_code(2).expect_error(&[accepted]);
    assert_eq!(std::fs::read(&store).expect("the store is there"), bytes);
}

#[test]
fn a_file_that_is_no_results_store_is_refused() {
    let directory = Directory::new();
    let path = directory.file("results.sqlite", "something else entirely");
    let ended = chorus(&format!("export {}", path.display())).expect_code(2);
    ended.expect_error(&["is not a Chorus results store"]);
    let ended = chorus(&format!("export {}", directory.join("nowhere").display())).expect_code(2);
    ended.expect_error(&["nowhere holds no results", "hint: `chorus reproduce --out"]);
}

#[test]
fn absurd_numbers_of_threads_are_refused() {
    for threads in ["0", "-1", "257", "many"] {
        let ended = chorus(&format!("run --system tc --protocol gpu-vi --workload saxpy --threads={threads}"));
        ended.expect_code(2).expect_error(&["--threads <N>"]);
    }
    chorus("run --system tc --protocol gpu-vi --workload saxpy --window=0").expect_code(2).expect_error(&["--window"]);
}

#[test]
fn absurd_numbers_of_jobs_are_refused() {
    for jobs in ["0", "-1", "100000", "many"] {
        let mut command = command("reproduce");
        command.arg(format!("--jobs={jobs}"));
        end(command).expect_code(2).expect_error(&["--jobs <N>"]);
    }
}

#[test]
fn a_machine_that_no_kernel_fits_is_refused() {
    let run = "run --system tc --protocol gpu-vi --workload saxpy";
    chorus(&format!("{run} --set core.lanes=16")).expect_code(2).expect_error(&["core.lanes", "32"]);
}

#[test]
fn parquet_needs_a_file() {
    let directory = Directory::new();
    let (small, out) = (experiment(&directory, 1), directory.join("out"));
    chorus(&format!("reproduce {} --out {}", small.display(), out.display())).expect_code(0);
    let ended = chorus(&format!("export {} --format parquet", out.display())).expect_code(2);
    ended.expect_error(&["Parquet is not text", "\nhint: add --output FILE"]);
}

#[test]
fn a_nearest_name_comes_before_the_list_and_only_where_one_is_near() {
    let ended = chorus("model ptxx").expect_code(2);
    ended.expect_error(&["unknown memory model `ptxx`; did you mean `ptx`? known: `sc`"]);
    let ended = chorus("model foo").expect_code(2);
    assert!(!ended.stderr.contains("did you mean"), "{}", ended.stderr);
}

#[test]
fn a_size_that_cannot_be_is_refused_with_the_range() {
    let run = "run --system tc --protocol gpu-vi --workload saxpy --set";
    for given in ["0", "many", "1.5", "1e12"] {
        let ended = chorus(&format!("{run} workload.elements={given}")).expect_code(2);
        ended.expect_error(&["size `elements` of saxpy is given as", "a whole number from 1 to 268435456"]);
    }
    let ended = chorus(&format!("{run} workload.element=5")).expect_code(2);
    ended.expect_error(&["saxpy has no size `element`", "did you mean `workload.elements`?"]);
}

#[test]
fn numbers_are_accepted_in_the_same_forms_everywhere() {
    let run = "run --system tc --protocol gpu-vi --workload saxpy --seed 2^3 --json --set l1.size_bytes=64KiB";
    let json = chorus(&format!("{run} --set workload.elements=1e4")).expect_code(0).json();
    assert_eq!((&json["sizes"]["elements"], &json["seed"]), (&10_000.into(), &8.into()));
    let ended = chorus("run --system tc --protocol gpu-vi --workload saxpy --seed -1").expect_code(2);
    ended.expect_error(&["invalid value '-1' for '--seed <N>'", "whole number"]);
}

#[test]
fn errors_are_json_where_json_is_asked_for() {
    let ended = chorus("run --system tc --protocol gpu-v --workload stn --json").expect_code(2);
    let json = ended.json();
    assert!(json["error"].as_str().is_some_and(|text| text.starts_with("unknown protocol `gpu-v`")), "{json}");
    assert_eq!(json["exit_code"], 2);
    assert!(ended.stderr.starts_with("error: unknown protocol"), "{}", ended.stderr);
    let json = chorus("list nothing --json").expect_code(2).json();
    assert!(json["error"].as_str().is_some_and(|text| text.contains("invalid value 'nothing'")), "{json}");
    let json = chorus("run --system tc --protocol no-coh --workload stn --json").expect_code(2).json();
    assert!(json["hints"][0].as_str().is_some_and(|hint| hint.starts_with("--allow-incoherent")), "{json}");
}

#[test]
fn intervals_and_variations_that_cannot_be_are_refused() {
    let saxpy = "run --system tc --protocol gpu-vi --workload saxpy";
    for given in ["0", "-1", "often", "2e12"] {
        chorus(&format!("{saxpy} --every {given}")).expect_code(2).expect_error(&["--every", given]);
    }
    let ended = chorus("run --system tc --protocol gpu-vi --workload stn --every 1").expect_code(2);
    ended.expect_error(&["the time series has 100000 intervals", "hint: a larger --every"]);
    chorus(&format!("{saxpy} --distributions=wave")).expect_code(2).expect_error(&["wave", "kernel", "buffer"]);
    let ended = chorus(&format!("{saxpy} --set timing.jitter=1001")).expect_code(2);
    ended.expect_error(&["key `timing.jitter` is 1001; accepted: 0 to 1000"]);
    for more in ["--seeds 0", "--seeds 1001", "--jitter 1001", "--jitter -1"] {
        chorus(&format!("reproduce tc {more}")).expect_code(2).expect_error(&[more.split(" ").next().unwrap()]);
    }
}
