//! The parser and the PTX model, compared with tests of known verdicts. These run only if the tests lie beside the
//! project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chorus_litmus::judge::{Verdict, decide};
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::LitmusTest;

fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/litmus")
}

fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        println!("absent: {}", path.display());
    }
    text
}

fn parsed(path: &Path, text: &str) -> Parsed {
    parse(text).unwrap_or_else(|error| panic!("{}", error.render(&path.display().to_string())))
}

fn holds(test: &LitmusTest) -> bool {
    match decide(test, Model::Ptx) {
        Ok(verdict) => verdict == Verdict::Holds,
        Err(too_large) => panic!("{}: {too_large}", test.name),
    }
}

/// Compares every test that a list of expected results names and that is there.
fn compare_with_expected(list: &str) {
    let root = shared().join("dat3m");
    let Some(expected) = read(&root.join("expected").join(list)) else { return };
    let start = Instant::now();
    let (mut agreed, mut missing, mut disagreed) = (0, 0, Vec::new());
    let mut unsupported: BTreeMap<String, usize> = BTreeMap::new();
    for line in expected.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
        let (path, result) = line.rsplit_once(',').expect("a path and a result");
        let path = root.join(path);
        let Ok(text) = std::fs::read_to_string(&path) else {
            missing += 1;
            continue;
        };
        match parsed(&path, &text) {
            Parsed::Unsupported { reason, .. } => {
                let kind = reason.split(':').next().unwrap_or_default().to_string();
                *unsupported.entry(kind).or_default() += 1;
            }
            Parsed::Test(test) if holds(&test) == (result == "1") => agreed += 1,
            Parsed::Test(_) => disagreed.push(path.display().to_string()),
        }
    }
    let took = start.elapsed().as_millis();
    println!("{list}: {agreed} agreed, {unsupported:?} unsupported, {missing} not here, in {took} ms");
    assert!(disagreed.is_empty(), "{} disagree: {disagreed:#?}", disagreed.len());
    assert!(agreed > 100, "only {agreed} compared");
}

#[test]
fn every_supported_test_of_version_6_0_has_its_expected_result() {
    compare_with_expected("PTXv6_0.csv");
}

#[test]
fn every_supported_test_of_version_7_5_has_its_expected_result() {
    compare_with_expected("PTXv7_5.csv");
}

/// Compares classic tests, each named by a file and a verdict, with the model.
fn compare_with_verdicts(list: &str, name_and_verdict: impl Fn(&[&str]) -> (String, String)) {
    let root = shared().join("classic");
    let Some(verdicts) = read(&root.join(list)) else { return };
    let (mut agreed, mut disagreed) = (0, Vec::new());
    for line in verdicts.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let (name, verdict) = name_and_verdict(&fields);
        let path = root.join(format!("{name}.litmus"));
        let Some(text) = read(&path) else { continue };
        let Parsed::Test(test) = parsed(&path, &text) else { panic!("{name} is not supported") };
        if holds(&test) == (verdict == "A") {
            agreed += 1;
        } else {
            disagreed.push(name);
        }
    }
    println!("{list}: {agreed} agreed");
    assert!(disagreed.is_empty(), "{} disagree: {disagreed:#?}", disagreed.len());
    assert!(agreed >= 70, "only {agreed} compared");
}

#[test]
fn classic_shapes_have_the_verdicts_of_an_independent_checker() {
    compare_with_verdicts("ptx-verdicts.csv", |fields| (format!("{}+{}", fields[0], fields[1]), fields[2].to_string()));
}

#[test]
fn classic_shapes_have_the_verdicts_of_the_relational_model() {
    compare_with_verdicts("alloy-verdicts.csv", |fields| (fields[0].to_string(), fields[1].to_string()));
}

#[test]
fn every_file_is_read_and_printed_and_read_again() {
    let (mut same, mut unsupported) = (0, 0);
    let mut open = vec![shared()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("absent: {}", folder.display());
            return;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                let text = std::fs::read_to_string(&path).expect("a readable file");
                match parsed(&path, &text) {
                    Parsed::Unsupported { .. } => unsupported += 1,
                    Parsed::Test(test) => {
                        assert_eq!(parse(&test.to_string()), Ok(Parsed::Test(test)), "{}", path.display());
                        same += 1;
                    }
                }
            }
        }
    }
    println!("{same} files read again, {unsupported} not supported");
}
