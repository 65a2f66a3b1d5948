//! Is ARCHITECTURE.md a true map of the tree? It has one table per crate, with a row for every file and folder.

use std::collections::BTreeSet;
use std::fs;

use crate::tidy::{assert_none, files, root};

const MAP: &str = "ARCHITECTURE.md";

/// The paths in the first column of the tables under a heading that names a crate.
fn mapped(crate_name: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(root().join(MAP)).unwrap_or_default();
    let heading = format!("### `{crate_name}`");
    let section = text.lines().skip_while(|line| *line != heading).skip(1).take_while(|line| !line.starts_with('#'));
    let rows = section.filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(path, _)| path.to_owned()).collect()
}

/// The files and folders right below `src` and in the test suites of a crate, as the map writes them.
fn present(crate_name: &str) -> BTreeSet<String> {
    let folder = format!("crates/{crate_name}/");
    let mut found = BTreeSet::new();
    for file in files() {
        let Some(path) = file.path.strip_prefix(&folder) else { continue };
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["src", "lib.rs" | "main.rs"] | ["tests", .., "main.rs"] => None,
            ["src", name] if name.ends_with(".rs") => Some((*name).to_owned()),
            ["src", folder, _, ..] => Some(format!("{folder}/")),
            ["tests", name] if name.ends_with(".rs") => Some(format!("tests/{name}")),
            ["tests", "all" | "lab", name] if name.ends_with(".rs") => Some(format!("tests/{}/{name}", parts[1])),
            ["python", package, name] if name.ends_with(".py") => Some(format!("python/{package}/{name}")),
            ["tests", name] if name.ends_with(".py") => Some(format!("tests/{name}")),
            ["build.rs"] => Some("build.rs".to_owned()),
            ["template", ..] => Some("template/".to_owned()),
            _ => None,
        }
        .into_iter()
        .for_each(|entry| {
            found.insert(entry);
        });
    }
    // A folder beside a file of the same name holds parts of that file's subject: one row is enough.
    let folders: Vec<String> = found.iter().filter(|entry| entry.ends_with('/')).cloned().collect();
    for folder in folders {
        if found.contains(&format!("{}.rs", folder.trim_end_matches('/'))) {
            found.remove(&folder);
        }
    }
    found
}

#[test]
fn every_file_has_a_row_and_every_row_a_file() {
    let crates: BTreeSet<String> = files()
        .iter()
        .filter_map(|file| file.path.strip_prefix("crates/")?.split_once('/').map(|(name, _)| name.to_owned()))
        .filter(|name| name != "cargo-version")
        .collect();
    let mut complaints = Vec::new();
    for name in &crates {
        let (mapped, present) = (mapped(name), present(name));
        complaints.extend(present.difference(&mapped).map(|path| format!("{MAP}: the table of {name} lacks `{path}`")));
        complaints.extend(mapped.difference(&present).map(|path| format!("{MAP}: {name} has no `{path}`")));
    }
    assert_none(complaints);
}
