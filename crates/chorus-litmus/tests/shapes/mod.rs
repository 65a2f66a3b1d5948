//! The classic shapes in every variant that tests ask for.

use chorus_litmus::judge::{Verdict, decide};
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::LitmusTest;

/// A shape: name, accesses of each thread (`Wx1` writes 1 to x, `Rx` reads it into the next register of the test), and
/// the telling outcome.
pub type Shape = (&'static str, &'static str, &'static str);

/// The classic shapes of litmus tests.
pub const SHAPES: [Shape; 20] = [
    ("CoRR", "Wx1 | Rx Rx", r"P1:r0 == 1 /\ P1:r1 == 0"),
    ("CoWW", "Wx1 Wx2", "x == 1"),
    ("CoWR", "Wx1 Rx", "P0:r0 == 0"),
    ("CoWR2", "Wx1 Rx | Wx2", r"P0:r0 == 2 /\ x == 1"),
    ("CoRW1", "Rx Wx1", "P0:r0 == 1"),
    ("CoRW2", "Rx Wx1 | Wx2", r"P0:r0 == 2 /\ x == 2"),
    ("CoRR2", "Wx1 | Wx2 | Rx Rx | Rx Rx", r"P2:r0 == 1 /\ P2:r1 == 2 /\ P3:r2 == 2 /\ P3:r3 == 1"),
    ("MP", "Wx1 Wy1 | Ry Rx", r"P1:r0 == 1 /\ P1:r1 == 0"),
    ("SB", "Wx1 Ry | Wy1 Rx", r"P0:r0 == 0 /\ P1:r1 == 0"),
    ("LB", "Rx Wy1 | Ry Wx1", r"P0:r0 == 1 /\ P1:r1 == 1"),
    ("S", "Wx2 Wy1 | Ry Wx1", r"P1:r0 == 1 /\ x == 2"),
    ("R", "Wx1 Wy1 | Wy2 Rx", r"P1:r0 == 0 /\ y == 2"),
    ("2+2W", "Wx1 Wy2 | Wy1 Wx2", r"x == 1 /\ y == 1"),
    ("WRC", "Wx1 | Rx Wy1 | Ry Rx", r"P1:r0 == 1 /\ P2:r1 == 1 /\ P2:r2 == 0"),
    ("ISA2", "Wx1 Wy1 | Ry Wz1 | Rz Rx", r"P1:r0 == 1 /\ P2:r1 == 1 /\ P2:r2 == 0"),
    ("IRIW", "Wx1 | Wy1 | Rx Ry | Ry Rx", r"P2:r0 == 1 /\ P2:r1 == 0 /\ P3:r2 == 1 /\ P3:r3 == 0"),
    ("RWC", "Wx1 | Rx Ry | Wy1 Rx", r"P1:r0 == 1 /\ P1:r1 == 0 /\ P2:r2 == 0"),
    ("WWC", "Wx2 | Rx Wy1 | Ry Wx1", r"P1:r0 == 2 /\ P2:r1 == 1 /\ x == 2"),
    ("W+RWC", "Wx1 Wy1 | Ry Rz | Wz1 Rx", r"P1:r0 == 1 /\ P1:r1 == 0 /\ P2:r2 == 0"),
    ("Z6.3", "Wx1 Wy1 | Wy2 Wz1 | Rz Rx", r"P2:r0 == 1 /\ P2:r1 == 0 /\ y == 2"),
];

/// How the accesses of a shape are made.
#[derive(Clone, Copy)]
pub struct Variant {
    /// The order of reads that come first in a thread of two, and of writes that come last: acquire and release.
    pub ends: bool,
    /// All reads acquire and all writes release.
    pub all: bool,
    /// The fence between two accesses of a thread.
    pub fence: Option<&'static str>,
    /// Every read holds back what follows.
    pub blocking: bool,
    /// The order of all other accesses.
    pub other: &'static str,
    /// The scope of whatever has one.
    pub scope: &'static str,
}

/// Relaxed accesses of one GPU.
pub const PLAIN: Variant =
    Variant { ends: false, all: false, fence: None, blocking: false, other: "relaxed", scope: "gpu" };

/// A shape in a variant, with each thread in a work-group of its own.
pub fn build(shape: Shape, variant: Variant) -> LitmusTest {
    let (name, threads, outcome) = shape;
    let mut register = 0;
    let mut columns = Vec::new();
    for accesses in threads.split('|').map(|thread| thread.split_whitespace().collect::<Vec<_>>()) {
        let mut column = Vec::new();
        for (place, access) in accesses.iter().enumerate() {
            if let Some(fence) = variant.fence.filter(|_| place > 0) {
                column.push(fence.to_string());
            }
            let reads = access.starts_with('R');
            let end = accesses.len() > 1 && if reads { place == 0 } else { place > 0 };
            let special = variant.all || (variant.ends && end) || (reads && variant.blocking);
            let order = match (special, reads) {
                (true, true) => "acquire",
                (true, false) => "release",
                (false, _) => variant.other,
            };
            let strength = if order == "weak" { order.to_string() } else { format!("{order}.{}", variant.scope) };
            let location = &access[1..2];
            column.push(if reads {
                register += 1;
                format!("ld.{strength} r{}, {location}", register - 1)
            } else {
                format!("st.{strength} {location}, {}", &access[2..])
            });
        }
        columns.push(column);
    }
    let places: Vec<String> = (0..columns.len()).map(|thread| format!("P{thread}@cta {thread},gpu 0")).collect();
    let mut text = format!("PTX {name}\n{{ x=0; y=0; z=0; }}\n{} ;\n", places.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = columns.iter().map(|column| column.get(row).map_or("", String::as_str)).collect();
        text += &format!("{} ;\n", cells.join(" | "));
    }
    read(&format!("{text}exists ({outcome})"))
}

/// A test that must be readable.
pub fn read(text: &str) -> LitmusTest {
    match parse(text) {
        Ok(Parsed::Test(test)) => test,
        Ok(Parsed::Unsupported { reason, .. }) => panic!("{reason}:\n{text}"),
        Err(error) => panic!("{error}:\n{text}"),
    }
}

/// `A` if the telling outcome is allowed, `F` if it is forbidden, `U` if nothing is promised.
pub fn verdict(test: &LitmusTest, model: Model) -> &'static str {
    match decide(test, model) {
        Ok(Verdict::Holds) => "A",
        Ok(Verdict::Fails) => "F",
        Ok(Verdict::Racy(_)) => "U",
        Err(too_large) => panic!("{}: {too_large}", test.name),
    }
}

/// The shape of a name.
pub fn shape(name: &str) -> Shape {
    SHAPES.into_iter().find(|shape| shape.0 == name).unwrap_or_else(|| panic!("no shape {name}"))
}
