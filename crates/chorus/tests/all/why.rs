//! The verb `chorus why`, and the timelines of `chorus run`: do causes add up, and does every mistake get one message?

use serde_json::Value;

use crate::chorus::{Directory, chorus};

const WHY: &str = "why --system tc --protocol gpu-vi --workload saxpy";
const RUN: &str = "run --system tc --protocol gpu-vi --workload saxpy";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no whole number: {value}"))
}

#[test]
fn the_intervals_of_an_access_adjoin_and_a_number_finds_it_again() {
    let json = chorus(&format!("{WHY} --slowest 4 --json")).expect_code(0).json();
    let accesses = json["runs"][0]["accesses"].as_array().cloned().unwrap_or_default();
    assert_eq!(accesses.len(), 4);
    for access in &accesses {
        let mut now = number(&access["issued"]);
        for interval in access["intervals"].as_array().into_iter().flatten() {
            assert_eq!(number(&interval["from"]), now);
            now = number(&interval["until"]);
        }
        assert_eq!(now, number(&access["ended"]));
    }
    let again = chorus(&format!("{WHY} --load {} --json", number(&accesses[2]["number"]))).expect_code(0).json();
    assert_eq!(again["runs"][0]["accesses"], Value::from(vec![accesses[2].clone()]));
}

#[test]
fn the_stack_of_loads_is_the_latency_that_the_run_reports() {
    let stack = chorus(&format!("{WHY} --aggregate --json")).expect_code(0).json();
    let (run, metrics) = (&stack["runs"][0], chorus(&format!("{RUN} --json")).expect_code(0).json());
    let loads = &run["stacks"][0];
    let layers: u64 = loads["layers"].as_object().into_iter().flatten().map(|(_, time)| number(&time["ticks"])).sum();
    assert_eq!((layers, loads["purpose"].as_str()), (number(&loads["ticks"]), Some("loads")));
    let cycles = layers / number(&run["ticks_per_cycle"]);
    assert_eq!(Some(cycles as f64), metrics["metrics"]["l1.load_latency_cycles"].as_f64());
    for split in ["by_kernel", "by_buffer"] {
        let parts: u64 = loads[split].as_object().into_iter().flatten().map(|(_, sum)| number(&sum["ticks"])).sum();
        assert_eq!(parts, layers, "{split}");
    }
}

#[test]
fn two_protocols_are_compared_and_written_as_a_page() {
    let directory = Directory::new();
    let page = directory.join("why.html");
    let text = chorus(&format!("{WHY} --against no-l1 --html {}", page.display())).expect_code(0).stdout;
    assert!(text.contains("times as many") && text.contains("difference"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let page = std::fs::read_to_string(page).unwrap_or_default();
    assert!(page.contains("gpu-vi on saxpy") && page.contains("no-l1 on saxpy"));
}

#[test]
fn accesses_that_do_not_exist_are_refused() {
    chorus(&format!("{WHY} --load 123456789")).expect_code(2).expect_error(&["no access of number 123456789", "hint"]);
    chorus(&format!("{WHY} --line 0xfffffff0")).expect_code(2).expect_error(&["0xfffffff0", "ends at"]);
    chorus(&format!("{WHY} --wave 99.1")).expect_code(2).expect_error(&["slot 1 of L1.99"]);
    chorus(&format!("{WHY} --wave seven")).expect_code(2).expect_error(&["such as 3.7"]);
}

#[test]
fn a_timeline_is_written_and_its_bounds_are_checked() {
    let directory = Directory::new();
    let file = directory.join("run.pftrace");
    let run = |more: &str| chorus(&format!("{RUN} --timeline {} {more}", file.display()));
    let size = || std::fs::metadata(&file).map_or(0, |metadata| metadata.len());
    let all = run("--json").expect_code(0);
    assert!(all.stderr.contains("takes about") && all.json()["result"] == "pass", "{}", all.stderr);
    let whole = size();
    assert!(run("--timeline-window 0..500").expect_code(0).stderr.contains("events"));
    assert!(size() > 0 && size() < whole);
    run("--timeline-window 1e9..2e9").expect_code(2).expect_error(&["the window begins at cycle 1,000,000,000"]);
    run("--timeline-window 7..7").expect_code(2).expect_error(&["ends before it begins"]);
    run("--timeline-kernel nobody").expect_code(2).expect_error(&["no kernel `nobody`", "saxpy"]);
    run("--timeline-line 0xfffffff0").expect_code(2).expect_error(&["0xfffffff0"]);
    chorus(&format!("{RUN} --timeline-window 0..500")).expect_code(2).expect_error(&["--timeline"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_timeline_and_not_the_run() {
    let ended = chorus(&format!("{RUN} --timeline /dev/full --json")).expect_code(1);
    assert_eq!(ended.json()["result"], "pass");
    assert!(ended.stderr.contains("error: the timeline /dev/full is not whole"), "{}", ended.stderr);
}
