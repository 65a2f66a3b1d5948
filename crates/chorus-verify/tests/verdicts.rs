//! The axioms against verdicts that another checker of release consistency gave on the classic shapes.

use std::path::Path;

use chorus_verify::axioms::{Model, allowed};
use chorus_verify::litmus;

/// The column of the verdicts that a variant of a shape is compared with.
fn column_of(variant: &str) -> Option<&'static str> {
    match variant {
        "" => Some("A:plain:nb:pc"),
        "fences" => Some("A:F:blk:pc"),
        "ra" => Some("A:allra:blk:pc"),
        _ => None,
    }
}

#[test]
fn release_consistency_agrees_with_an_independent_checker() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/litmus/classic/rc-verdicts.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: the verdicts are not here");
        return;
    };
    let mut rows = text.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let head = rows.next().unwrap();
    let rows: Vec<Vec<&str>> = rows.collect();
    let mut compared = 0;
    for test in litmus::tests() {
        let Some(row) = rows.iter().filter(|row| test.name.starts_with(row[0])).max_by_key(|row| row[0].len()) else {
            continue;
        };
        let variant = test.name[row[0].len()..].trim_start_matches('+');
        let position = |name: &str| head.iter().position(|column| *column == name);
        let Some(column) = column_of(variant).and_then(position) else { continue };
        let outcomes = allowed(&test.program, Model::WriteAtomicRc, test.program.lines());
        let permitted = outcomes.iter().any(|outcome| test.telling.holds(&test.program, outcome));
        assert_eq!(if permitted { "A" } else { "F" }, row[column], "{}", test.name);
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} verdicts compared");
}
