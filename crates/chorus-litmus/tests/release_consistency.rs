//! Release consistency against the verdicts of an independent checker, where they are at hand beside the project.

use std::path::Path;

use chorus_litmus::model::Model;

use crate::shapes::{PLAIN, Variant, build, shape, verdict};

/// The model and the variant of a column such as `A:ra:blk:pc`: A has atomic writes and B has not; loads block or do
/// not.
fn column(name: &str) -> (Model, Variant) {
    let fields: Vec<&str> = name.split(':').collect();
    let [checker, variant, loads, specials] = fields[..] else { panic!("column {name}") };
    let model = match (checker, specials) {
        ("A", "pc") => Model::RcPc,
        ("A", "sc") => Model::RcSc,
        ("B", "pc") => Model::RcPcNonAtomic,
        ("B", "sc") => Model::RcScNonAtomic,
        _ => panic!("column {name}"),
    };
    let variant = match variant {
        "plain" => PLAIN,
        "ra" => Variant { ends: true, ..PLAIN },
        "allra" => Variant { all: true, ..PLAIN },
        "F" => Variant { fence: Some("fence.sc.gpu"), ..PLAIN },
        _ => panic!("column {name}"),
    };
    // A load that blocks keeps everything behind it, as an acquire does.
    (model, Variant { blocking: loads == "blk", ..variant })
}

#[test]
fn every_shape_has_the_verdicts_of_an_independent_checker() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/litmus/classic/rc-verdicts.txt");
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("absent: {}", path.display());
        return;
    };
    let mut rows = text.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let (mut agreed, mut disagreed) = (0, Vec::new());
    for row in rows.filter(|row| row.len() == head.len()) {
        for (name, expected) in head.iter().zip(&row).skip(1) {
            let (model, variant) = column(name);
            let found = verdict(&build(shape(row[0]), variant), model);
            if found == *expected {
                agreed += 1;
            } else {
                disagreed.push(format!("{} {name}: {found}, expected {expected}", row[0]));
            }
        }
    }
    println!("rc-verdicts.txt: {agreed} agreed");
    assert!(disagreed.is_empty(), "{disagreed:#?}");
    assert!(agreed >= 200, "only {agreed} compared");
}
