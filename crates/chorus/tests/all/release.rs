//! Is everything ready to be published: versions, metadata of the crates, and the manual that a package has?

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::chorus::{Directory, chorus};
use crate::tidy::{assert_none, files, root};

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_citation_and_the_changelog_have_the_version_of_the_program() {
    assert!(text("CITATION.cff").lines().any(|line| line == format!("version: {VERSION}")), "CITATION.cff");
    let changelog = text("CHANGELOG.md");
    let is_version = |line: &str| line == "## [Unreleased]" || line.starts_with(&format!("## [{VERSION}]"));
    assert!(changelog.lines().any(is_version), "CHANGELOG.md has neither [Unreleased] nor [{VERSION}]");
}

#[test]
fn every_paper_is_among_the_references_of_the_citation() {
    let citation = text("CITATION.cff");
    for paper in chorus_registry::PAPERS {
        let title = paper.text.lines().find_map(|line| line.strip_prefix("title = ")).unwrap_or_default();
        assert!(citation.contains(title.trim_matches('"')), "CITATION.cff lacks {title}");
    }
}

/// The crates of the workspace that are published, as cargo describes them.
fn published() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .expect("cargo runs, since it runs this test");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().cloned().unwrap_or_default();
    packages.into_iter().filter(|package| package["publish"] != Value::Array(Vec::new())).collect()
}

#[test]
fn crates_have_the_metadata_to_be_published() {
    let mut complaints = Vec::new();
    for package in published() {
        let name = package["name"].as_str().unwrap_or_default();
        for key in ["description", "license", "readme", "rust_version"] {
            if package[key].as_str().is_none_or(str::is_empty) {
                complaints.push(format!("{name}: Cargo.toml has no `{key}`"));
            }
        }
        for key in ["keywords", "categories", "authors"] {
            if package[key].as_array().is_none_or(Vec::is_empty) {
                complaints.push(format!("{name}: Cargo.toml has no `{key}`"));
            }
        }
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let is_path_alone = dependency["path"].is_string() && dependency["req"] == "*";
            if is_path_alone {
                complaints.push(format!("{name}: the dependency {} has a path and no version", dependency["name"]));
            }
        }
    }
    assert_none(complaints);
}

/// A package has the files below its own folder, and those that links inside it lead to.
#[test]
fn crates_include_nothing_from_outside_their_folders() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust() && file.path.split('/').nth(2) == Some("src")) {
        let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
        // Folders between the file and the root of its crate.
        let depth = folder.components().count().saturating_sub(2);
        for start in ["include_str!(\"", "include_bytes!(\""] {
            for included in file.text().split(start).skip(1).filter_map(|rest| rest.split('"').next()) {
                if included.matches("../").count() > depth {
                    complaints.push(format!("{}: includes {included}, which no package has", file.path));
                }
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn the_manual_has_a_page_for_every_verb() {
    let directory = Directory::new();
    let out = directory.join("man1");
    let said = chorus(&format!("man --out {}", out.display())).expect_code(0).stdout;
    let pages: BTreeSet<String> = std::fs::read_dir(&out)
        .expect("the pages were written")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    for verb in ["chorus.1", "chorus-run.1", "chorus-docs.1", "chorus-man.1"] {
        assert!(pages.contains(verb), "{pages:?}");
    }
    assert!(said.starts_with(&format!("manual: {} pages in ", pages.len())), "{said}");
    let page = std::fs::read_to_string(out.join("chorus-run.1")).expect("the page was written");
    assert!(page.contains(".TH chorus-run 1") && page.contains("\\-\\-workload"), "{page}");
    let printed = chorus("man").expect_code(0).stdout;
    assert!(printed.contains(&page), "the printed manual has all pages");
    let file = directory.file("file", "");
    chorus(&format!("man --out {}/below", file.display()))
        .expect_code(2)
        .expect_error(&["cannot write", "choose a directory"]);
}
