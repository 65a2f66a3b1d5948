//! Help, lists, and output whose reader stops early.

use std::io::Read;
use std::process::Stdio;

use crate::chorus::{chorus, command, end};

/// The verbs that the help lists, without those that clap adds and `man`, which takes no arguments.
fn verbs() -> Vec<String> {
    let help = chorus("--help").expect_code(0).stdout;
    let commands = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = commands.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help" && name != "man").collect()
}

#[test]
fn every_help_has_examples_that_name_the_verb() {
    let verbs = verbs();
    assert!(verbs.len() >= 14, "{verbs:?}");
    for verb in verbs {
        let help = chorus(&format!("{verb} --help")).expect_code(0).stdout;
        let examples = help.split_once("Examples:").map(|(_, examples)| examples.to_owned());
        assert!(examples.is_some_and(|examples| examples.contains(&format!("chorus {verb}"))), "{verb}: {help}");
    }
    let help = chorus("--help").expect_code(0).stdout;
    assert!(help.contains("Exit codes: 0 good; 1 a check failed"), "{help}");
}

#[test]
fn no_verb_is_bad_input() {
    chorus("").expect_code(2);
}

#[test]
fn lists_name_what_there_is() {
    let all = chorus("list").expect_code(0).stdout;
    for name in ["tc", "no-l1", "mesi", "gpu-vini", "tc-strong", "tc-weak", "tc-weak-fixed", "bh", "sr", "saxpy"] {
        assert!(all.lines().any(|line| line.split_whitespace().next() == Some(name)), "no {name} in {all}");
    }
    let protocols = chorus("list protocols --long").expect_code(0).stdout;
    assert!(protocols.contains("4.2"), "{protocols}");
    assert!(!protocols.contains("saxpy"), "{protocols}");
}

#[test]
fn the_list_of_protocols_shows_their_parameters() {
    let text = chorus("list protocols --long").expect_code(0).stdout;
    let row = text.lines().find(|line| line.contains("tc-strong") && line.contains("lease.cycles")).expect("a row");
    for part in ["800", "length of a lease"] {
        assert!(row.contains(part), "no `{part}` in {row}");
    }
    let json = chorus("list protocols --json").expect_code(0).json();
    let protocols = json["protocols"].as_array().expect("a list");
    let named = |name: &str| protocols.iter().find(|protocol| protocol["name"] == name).expect("a protocol");
    let lease = &named("tc-weak-fixed")["parameters"][0];
    assert_eq!((&lease["key"], &lease["default"]), (&"lease.cycles".into(), &3200.into()));
    for key in ["min", "max", "meaning", "source"] {
        assert!(!lease[key].is_null(), "{key} of {lease}");
    }
    assert_eq!(named("gpu-vi")["parameters"], serde_json::json!([]));
}

#[test]
fn lists_are_json_too() {
    let json = chorus("list --json").expect_code(0).json();
    for kind in ["systems", "protocols", "workloads", "experiments"] {
        let entries = json[kind].as_array().expect("a list");
        assert!(!entries.is_empty(), "{kind}");
        for entry in entries {
            assert!(["name", "title", "source"].iter().all(|key| entry[key].is_string()), "{entry}");
        }
    }
    let json = chorus("list workloads --json").expect_code(0).json();
    assert!(json.get("protocols").is_none());
}

#[test]
fn lists_and_tables_fit_80_columns_where_there_is_no_terminal() {
    let verbs = ["list", "list workloads --long", "explain tc", "explain stn", "explain tc-strong", "model"];
    let longer = ["check no-l1 --smoke --no-progress", "torture no-l1 --steps 200000"];
    for arguments in verbs.into_iter().chain(longer) {
        let text = chorus(arguments).expect_code(0).stdout;
        let table = text.lines().take_while(|line| !line.contains("pairs that"));
        for line in table {
            assert!(line.chars().count() <= 80, "{arguments}: {} columns: {line}", line.chars().count());
        }
    }
}

#[test]
fn sizes_of_workloads_are_listed_and_explained() {
    let listed = chorus("list workloads --long").expect_code(0).stdout;
    let row = listed.lines().find(|line| line.contains("saxpy") && line.contains("262000")).expect("a row");
    assert!(row.contains("elements of each vector"), "{row}");
    let explained = chorus("explain saxpy").expect_code(0).stdout;
    for part in ["SAXPY", "suite         tutorial", "workload.elements", "262000", "elements of each"] {
        assert!(explained.contains(part), "no `{part}` in {explained}");
    }
    let json = chorus("explain saxpy --json").expect_code(0).json();
    assert_eq!(json["sizes"][0]["quick"], 262_000);
}

#[test]
fn names_of_several_kinds_are_told_apart() {
    assert!(chorus("explain hmg").expect_code(0).stdout.starts_with("hmg at scale quick"));
    assert!(chorus("explain hmg --kind protocol").expect_code(0).stdout.starts_with("hmg: HMG\n"));
}

#[test]
fn completions_and_the_manual_page_know_the_verbs() {
    for shell in ["bash", "zsh", "fish"] {
        let script = chorus(&format!("completions {shell}")).expect_code(0).stdout;
        assert!(script.contains("reproduce") && script.contains("torture"), "{shell}");
    }
    let manual = chorus("man").expect_code(0).stdout;
    assert!(manual.contains(".TH") && manual.contains("reproduce"), "{manual}");
}

#[test]
fn nothing_is_coloured_under_no_color() {
    for arguments in ["list", "explain tc", "--help", "run --help", "run", "check gpu-v", "check no-l1 --smoke"] {
        let mut command = command(arguments);
        // NO_COLOR wins over everything that asks for colour.
        command.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1");
        let ended = end(command);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains('\x1b'), "{arguments}: {}", ended.stdout);
    }
}

#[test]
fn progress_is_silent_where_asked() {
    let loud = chorus("check no-l1 --smoke").expect_code(0);
    assert!(loud.stderr.contains("[1/"), "{}", loud.stderr);
    let silent = chorus("check no-l1 --smoke --no-progress").expect_code(0);
    assert_eq!(silent.stderr, "");
}

#[test]
fn a_reader_who_stops_early_is_no_error() {
    for arguments in ["list", "explain tc --scale paper", "table no-l1", "check no-l1 --smoke --no-progress"] {
        let mut command = command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        // The pipe is closed before the first write, so that nobody ever reads.
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().expect("stderr is a pipe").read_to_string(&mut stderr).expect("stderr is text");
        let status = child.wait().expect("the binary ends");
        assert_eq!((status.code(), stderr.as_str()), (Some(0), ""), "{arguments}");
    }
}

#[test]
fn the_verdict_survives_a_reader_who_stops_early() {
    let mut command = command("check gpu-vi --smoke --fault lost-invalidation --no-progress");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("the binary ends").code(), Some(1));
}
