//! The verb `chorus why`, and the timelines of `chorus run`: do causes add up, and does every mistake get one message?

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::chorus::{Directory, chorus, command};

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

/// The kinds of the events in a timeline, packet by packet; nothing for a packet without an event. The last packet may
/// be cut.
fn kinds_of_events(mut bytes: &[u8]) -> Vec<Option<u64>> {
    /// Takes the key of a field, and its number or its bytes.
    fn field<'b>(bytes: &mut &'b [u8]) -> Option<(u64, u64, &'b [u8])> {
        fn number(bytes: &mut &[u8]) -> Option<u64> {
            let length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
            let (own, rest) = bytes.split_at(length);
            *bytes = rest;
            Some(own.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)))
        }
        let key = number(bytes)?;
        let (value, length) = match key & 7 {
            0 => (number(bytes)?, 0),
            1 => (0, 8),
            2 => (0, number(bytes)? as usize),
            kind => panic!("wire type {kind}"),
        };
        let (own, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some((key >> 3, value, own))
    }
    fn find(mut message: &[u8], wanted: u64) -> Option<(u64, &[u8])> {
        while let Some((key, value, own)) = field(&mut message) {
            if key == wanted {
                return Some((value, own));
            }
        }
        None
    }
    let mut kinds = Vec::new();
    while let Some((_, _, packet)) = field(&mut bytes) {
        kinds.push(find(packet, 11).and_then(|(_, event)| find(event, 9)).map(|(kind, _)| kind));
    }
    assert!(bytes.len() < 1000, "{} bytes are no packet", bytes.len());
    kinds
}

#[test]
fn a_timeline_whose_run_was_killed_opens_up_to_there() {
    let directory = Directory::new();
    let file = directory.join("killed.pftrace");
    let arguments = format!(
        "run --system hmg --protocol hmg --workload mst --timeline {} --timeline-window 0..1e9",
        file.display()
    );
    let mut run = command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let begin = Instant::now();
    while std::fs::metadata(&file).map_or(0, |file| file.len()) < 8 << 20 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the timeline does not grow");
        assert!(run.try_wait().expect("it can be waited for").is_none(), "the run ended too early");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().expect("it can be killed");
    run.wait().expect("it ends");
    let kinds = kinds_of_events(&std::fs::read(&file).expect("the file is there"));
    for (kind, what) in [(1, "beginnings"), (2, "ends"), (3, "moments"), (4, "counters")] {
        assert!(kinds.iter().filter(|found| **found == Some(kind)).count() > 100, "few {what}");
    }
}

#[test]
fn a_disk_that_fills_up_costs_the_timeline_and_not_the_run() {
    let run = chorus(&format!("{RUN} --timeline /dev/full --timeline-window 0..1e6")).expect_code(1);
    let run = run.expect_error(&["the timeline /dev/full is not whole: no space left on device", "its result holds"]);
    assert!(run.stdout.contains("cycles"), "{}", run.stdout);
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
