//! Do Chorus's own litmus tests expect what is argued elsewhere for each kind of protocol? The argued table is not part
//! of the project.

use std::path::Path;

use chorus_litmus::model::Model;
use chorus_verify::litmus::{self, Expectation};

/// The tables of classic shapes, by the number of their section, with what our tests of that kind are called.
const SECTIONS: [(&str, &str); 3] = [("## 2.", ""), ("## 3.", "+ra"), ("## 4.", "+fences")];

/// The columns of machines without scopes: SC, two that are write-atomic, and TC-Weak.
const COLUMNS: [(usize, Model); 4] = [(2, Model::Sc), (3, Model::RcPc), (4, Model::RcPc), (5, Model::RcPcNonAtomic)];

/// The shapes that a row speaks of: `MP LB S` are three, `W+RWC, Z6.3` are two, and `MP [1,0]` is one.
fn shapes(cell: &str) -> Vec<String> {
    let cell = cell.split('[').next().unwrap_or_default();
    let words = cell.split([',', ' ']).filter(|word| !word.is_empty());
    let shapes: Vec<String> = words.map(str::to_owned).collect();
    // Rows such as `MP release + relaxed reader` are variants with names of their own.
    if shapes.iter().any(|word| word.starts_with(char::is_lowercase)) { Vec::new() } else { shapes }
}

/// Whether our expectation is at least as strict as the cell: a forbidden outcome is forbidden, and one that must be
/// seen must be seen.
fn agrees(cell: &str, ours: Expectation) -> bool {
    match cell.trim().trim_start_matches('*').chars().next() {
        Some('F') => ours == Expectation::Forbidden,
        Some('A') => ours == Expectation::Reachable,
        Some('a') => ours != Expectation::Reachable,
        _ => true,
    }
}

#[test]
fn our_tests_expect_what_is_argued_for_each_kind_of_protocol() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/litmus/expectations.md");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: the table is not here");
        return;
    };
    let mut compared = 0;
    for (section, variant) in SECTIONS {
        let lines = text.lines().skip_while(|line| !line.starts_with(section)).skip(1);
        let rows = lines.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|')).skip(2);
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            for shape in shapes(cells[0]) {
                let name = format!("{shape}{variant}");
                let test = litmus::find(&name).unwrap_or_else(|| panic!("there is no test {name}"));
                for (column, model) in COLUMNS {
                    let ours = test.expectation(model).unwrap_or_else(|| panic!("{name} says nothing of {model:?}"));
                    assert!(
                        agrees(cells[column], ours),
                        "{name} under {}: {ours:?}, argued {}",
                        model.name(),
                        cells[column]
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 140, "only {compared} cells compared");
    println!("{compared} cells agree");
}
