//! `chorus check --all`: the page with every check.

use std::fs;

use crate::chorus::{Directory, chorus};

#[test]
fn everything_about_a_protocol_goes_into_a_page_and_its_data() {
    let directory = Directory::new();
    let out = directory.join("proof");
    let ended = chorus(&format!("check --all no-l1 --quick --mutants 3 --out {}", out.display())).expect_code(0);
    for part in [
        "configurations pass",
        "litmus tests pass",
        "free of deadlock",
        "random steps",
        "seeded faults caught",
        "mutants found",
    ] {
        assert!(ended.stdout.contains(part), "no `{part}` in {}", ended.stdout);
    }
    let page = fs::read_to_string(out.join("proof.html")).expect("a page");
    for part in ["<h2 id=\"summary\">", "<h2 id=\"largest\">", "<h2 id=\"mutants\">", "<h2 id=\"no-l1\">"] {
        assert!(page.contains(part), "no `{part}` in the page");
    }
    for part in ["IRIW+fences", "lost-ack", "<svg", "Table 4", "GPUs × modules", "Mistakes by machine"] {
        assert!(page.contains(part), "no `{part}` in the page");
    }
    for reference in ["<link", "src=", "@import", "http-equiv"] {
        assert!(!page.contains(reference), "`{reference}` in the page");
    }
    let data = fs::read_to_string(out.join("proof.json")).expect("the data");
    let data: serde_json::Value = serde_json::from_str(&data).expect("JSON");
    assert_eq!((&data["passed"], &data["extent"]), (&true.into(), &"quick".into()));
    let protocol = &data["protocols"][0];
    assert_eq!(protocol["mutation"]["seeded"], protocol["mutation"]["caught"]);
    assert_eq!(protocol["networks"]["paper"], 2);
    let tests = protocol["litmus"].as_array().expect("a list");
    // Eight of the nine tests that tell protocols apart: one compares scopes, which all mean the same in one module.
    assert!(["posted", "blocking"].iter().all(|core| tests.iter().filter(|test| test["core"] == *core).count() == 8));
    check_machines(protocol);
    assert!(protocol["mutants"]["tried"].as_u64().is_some_and(|tried| (1..=3).contains(&tried)));
    let left: Vec<_> = fs::read_dir(&out).expect("a directory").collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// Every configuration has the size of its machine, and the largest ones are among them.
fn check_machines(protocol: &serde_json::Value) {
    let configurations = protocol["configurations"].as_array().expect("a list");
    assert!(configurations.iter().all(|config| config["machine"]["operations_per_thread"].as_u64() >= Some(1)));
    let largest = protocol["largest_machines"].as_array().expect("a list");
    assert!(!largest.is_empty() && largest.iter().all(|name| configurations.iter().any(|c| c["name"] == *name)));
}

#[test]
fn stdout_is_the_data_where_asked() {
    let directory = Directory::new();
    let out = directory.join("proof");
    let json = chorus(&format!("check --all no-l1 --quick --json --out {}", out.display())).expect_code(0).json();
    assert_eq!(json["protocols"][0]["name"], "no-l1");
    assert!(json["protocols"][0]["random"]["coverage"]["covered"].as_u64().is_some_and(|covered| covered > 0));
    assert_eq!(json["protocols"][0].get("mutants"), None, "none are tried unless somebody asks");
    let page = fs::read_to_string(out.join("proof.html")).expect("a page");
    assert!(!page.contains("mutant") && !page.contains("Mistakes by machine"));
}

#[test]
fn what_cannot_be_is_refused() {
    chorus("check --all gpu-v --quick").expect_code(2).expect_error(&["unknown protocol `gpu-v`", "did you mean"]);
    chorus("check --all gpu-vi --smoke").expect_code(2).expect_error(&["--smoke"]);
    chorus("check --all gpu-vi --states 10").expect_code(2).expect_error(&["--states"]);
    chorus("check gpu-vi --mutants 5").expect_code(2).expect_error(&["--all"]);
    chorus("check gpu-vi --quick").expect_code(2).expect_error(&["--all"]);
    chorus("check gpu-vi mesi").expect_code(2).expect_error(&["2 protocols", "--all"]);
    chorus("check").expect_code(2).expect_error(&["<PROTOCOL>"]);
    let directory = Directory::new();
    let file = directory.file("occupied", "");
    let ended = chorus(&format!("check --all no-l1 --quick --out {}", file.display())).expect_code(2);
    ended.expect_error(&["occupied", "choose a directory"]);
}
