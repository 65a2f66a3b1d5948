//! What models make of accesses of several words: their order towards other instructions, and none among themselves.

use chorus_litmus::judge::{Verdict, decide};
use chorus_litmus::model::Model;

use crate::shapes::{read, verdict};

/// Models of the columns below.
const COLUMNS: [Model; 8] = [
    Model::Sc,
    Model::Tso,
    Model::RcSc,
    Model::RcPc,
    Model::RcScNonAtomic,
    Model::RcPcNonAtomic,
    Model::PerLocation,
    Model::Ptx,
];

/// A test of threads in work-groups of their own, with `x` and `x1` in one line, `y` and `y1` in another, and `z`.
fn text(threads: &[&str], condition: &str) -> String {
    let columns: Vec<Vec<&str>> = threads.iter().map(|thread| thread.split("; ").collect()).collect();
    let places: Vec<String> = (0..columns.len()).map(|thread| format!("P{thread}@cta {thread},gpu 0")).collect();
    let mut text = format!("PTX t\n{{ x=0; x1 @ line x; y=0; y1 @ line y; z=0; }}\n{} ;\n", places.join(" | "));
    for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = columns.iter().map(|column| column.get(row).copied().unwrap_or_default()).collect();
        text += &format!("{} ;\n", cells.join(" | "));
    }
    format!("{text}exists ({condition})")
}

/// One letter for each of [`COLUMNS`].
fn check(threads: &[&str], condition: &str, expected: &str) {
    let test = read(&text(threads, condition));
    let found: String = COLUMNS.iter().map(|&model| verdict(&test, model)).collect();
    assert_eq!(found, expected, "{test}");
}

const ALLOWED: &str = "AAAAAAAA";
const FORBIDDEN: &str = "FFFFFFFF";
/// By every model that keeps an order between locations.
const KEPT: &str = "FFFFFFAF";

#[test]
fn one_load_of_two_words_may_see_a_flag_without_its_message_whichever_stands_first() {
    for load in ["ld.relaxed.gpu.v2 {r0, r1}, x", "ld.acquire.gpu.v2 {r0, r1}, x"] {
        let up = "st.relaxed.gpu x, 1; fence.sc.gpu; st.relaxed.gpu x1, 1";
        check(&[up, load], r"P1:r0 == 0 /\ P1:r1 == 1", ALLOWED);
        let down = "st.relaxed.gpu x1, 1; fence.sc.gpu; st.relaxed.gpu x, 1";
        check(&[down, load], r"P1:r0 == 1 /\ P1:r1 == 0", ALLOWED);
    }
}

#[test]
fn two_loads_of_one_word_each_may_not() {
    let writer = "st.relaxed.gpu x, 1; fence.sc.gpu; st.relaxed.gpu x1, 1";
    check(&[writer, "ld.relaxed.gpu r1, x1; fence.sc.gpu; ld.relaxed.gpu r0, x"], r"P1:r0 == 0 /\ P1:r1 == 1", KEPT);
}

#[test]
fn the_words_of_one_store_are_seen_in_any_order() {
    for store in ["st.relaxed.gpu.v2 x, {1, 1}", "st.release.gpu.v2 x, {1, 1}"] {
        for (first, second) in [("x", "x1"), ("x1", "x")] {
            let reader = format!("ld.acquire.gpu r0, {first}; fence.sc.gpu; ld.relaxed.gpu r1, {second}");
            check(&[store, &reader], r"P1:r0 == 1 /\ P1:r1 == 0", ALLOWED);
        }
    }
}

#[test]
fn each_word_is_coherent_between_vectors_and_single_accesses() {
    let vector = "ld.relaxed.gpu.v2 {r0, r1}, x";
    let again = "ld.relaxed.gpu.v2 {r2, r3}, x";
    check(&["st.relaxed.gpu x, 1", &format!("{vector}; {again}")], r"P1:r0 == 1 /\ P1:r2 == 0", FORBIDDEN);
    check(&["st.relaxed.gpu x1, 1", &format!("{vector}; {again}")], r"P1:r1 == 1 /\ P1:r3 == 0", FORBIDDEN);
    let single = format!("{vector}; ld.relaxed.gpu r2, x1");
    check(&["st.relaxed.gpu.v2 x, {1, 1}", &single], r"P1:r1 == 1 /\ P1:r2 == 0", FORBIDDEN);
    let before = format!("ld.relaxed.gpu r2, x1; {vector}");
    check(&["st.relaxed.gpu.v2 x, {1, 1}", &before], r"P1:r2 == 1 /\ P1:r1 == 0", FORBIDDEN);
    check(&[&format!("st.relaxed.gpu.v2 x, {{1, 1}}; {vector}")], r"P0:r0 == 0 \/ P0:r1 == 0", FORBIDDEN);
    check(&["st.relaxed.gpu.v2 x, {1, 1}; st.relaxed.gpu x1, 2"], "x1 == 1", FORBIDDEN);
    check(&["st.relaxed.gpu x1, 2; st.relaxed.gpu.v2 x, {1, 1}"], "x1 == 2", FORBIDDEN);
}

#[test]
fn every_word_is_behind_an_acquire_and_before_a_release() {
    let data = ["st.weak.v2 x, {1, 1}; st.release.gpu z, 1", "ld.acquire.gpu r2, z; ld.weak.v2 {r0, r1}, x"];
    check(&data, r"P1:r2 == 1 /\ (P1:r0 == 0 \/ P1:r1 == 0)", KEPT);
}

#[test]
fn every_word_acquires_and_releases() {
    for flag in ["y", "y1"] {
        let writer = format!("st.relaxed.gpu z, 1; st.release.gpu {flag}, 1");
        let reader = "ld.acquire.gpu.v2 {r0, r1}, y; ld.relaxed.gpu r2, z";
        check(&[&writer, reader], r"(P1:r0 == 1 \/ P1:r1 == 1) /\ P1:r2 == 0", KEPT);
        let writer = "st.relaxed.gpu z, 1; st.release.gpu.v2 y, {1, 1}";
        let reader = format!("ld.acquire.gpu r0, {flag}; ld.relaxed.gpu r2, z");
        check(&[writer, &reader], r"P1:r0 == 1 /\ P1:r2 == 0", KEPT);
    }
}

#[test]
fn a_fence_stands_between_all_words() {
    let (first, second) = ("st.relaxed.gpu.v2 x, {1, 1}", "ld.relaxed.gpu.v2 {r0, r1}, y");
    let (other, last) = ("st.relaxed.gpu.v2 y, {1, 1}", "ld.relaxed.gpu.v2 {r0, r1}, x");
    let missed = r"(P0:r0 == 0 \/ P0:r1 == 0) /\ (P1:r0 == 0 \/ P1:r1 == 0)";
    let fenced = [format!("{first}; fence.sc.gpu; {second}"), format!("{other}; fence.sc.gpu; {last}")];
    check(&[&fenced[0], &fenced[1]], r"P0:r1 == 0 /\ P1:r1 == 0", KEPT);
    let plain = [format!("{first}; {second}"), format!("{other}; {last}")];
    check(&[&plain[0], &plain[1]], missed, "FAAAAAAA");
}

#[test]
fn an_exchange_of_two_words_is_indivisible_word_by_word_only() {
    let exchanges = ["atom.relaxed.gpu.exch.v2 {r0, r1}, x, {1, 1}", "atom.relaxed.gpu.exch.v2 {r0, r1}, x, {2, 2}"];
    check(&exchanges, r"P0:r0 == 2 /\ P1:r1 == 1", ALLOWED);
    check(&exchanges, r"P0:r0 == 0 /\ P0:r1 == 2", ALLOWED);
    check(&exchanges, r"P0:r0 == 2 /\ P1:r0 == 1", FORBIDDEN);
    check(&exchanges, r"P0:r1 == 0 /\ P1:r1 == 0", FORBIDDEN);
    check(&exchanges, r"P0:r1 == 2 /\ x1 == 2", FORBIDDEN);
}

#[test]
fn neither_word_of_a_reduction_is_lost() {
    let adds = ["red.relaxed.gpu.add.v2 x, {1, 2}", "red.relaxed.gpu.add.v2 x, {4, 8}"];
    check(&adds, r"x != 5 \/ x1 != 10", FORBIDDEN);
}

/// P1 learns from P0 with one word and tells P2 with the other. Only if it does so one after the other does P0's
/// message come before what P2 does.
#[test]
fn a_chain_does_not_pass_from_one_word_to_the_other() {
    let chain = |middle: &str| {
        let writer = "st.weak z, 1; st.release.sys x, 1";
        let reader = "ld.acquire.sys r0, x1; bne r0, 1, L; ld.relaxed.sys r1, x; bne r1, 2, L; ld.weak r2, z; L:";
        read(&text(&[writer, middle, reader], "P2:r2 == 1"))
    };
    let vector = chain("atom.acq_rel.sys.add.v2 {r0, r1}, x, {1, 1}");
    let single = chain("atom.acq_rel.sys.add r0, x, 1; atom.acq_rel.sys.add r1, x1, 1");
    for model in [Model::ScForHrfDirect, Model::ScForHrfIndirect] {
        assert_eq!(decide(&single, model), Ok(Verdict::Holds), "{}", model.name());
        assert!(matches!(decide(&vector, model), Ok(Verdict::Racy(_))), "{}", model.name());
    }
}

#[test]
fn a_race_names_the_whole_access() {
    let racy = read(&text(&["st.weak x1, 1", "st.weak.v2 x, {1, 2}"], "x1 == 1"));
    let Ok(Verdict::Racy(race)) = decide(&racy, Model::ScForDrf) else { panic!("no race") };
    assert_eq!(race.describe(&racy.program), "`st.weak x1, 1` of P0 and `st.weak.v2 x, {1, 2}` of P1 are not ordered");
}

/// Words of one access need no order to be judged by sequential consistency, which keeps none between them either.
#[test]
fn synchronisation_by_vectors_counts_as_kept_in_order() {
    let (x, y) = ("st.relaxed.sys x, 1", "st.relaxed.sys y, 1");
    let readers = [
        "ld.acquire.sys.v2 {r0, r1}, x; ld.relaxed.sys.v2 {r2, r3}, y",
        "ld.acquire.sys.v2 {r0, r1}, y; ld.relaxed.sys.v2 {r2, r3}, x",
    ];
    let outcome = r"P2:r0 == 1 /\ P2:r2 == 0 /\ P3:r0 == 1 /\ P3:r2 == 0";
    let kept = read(&text(&[x, y, readers[0], readers[1]], outcome));
    assert_eq!(decide(&kept, Model::ScForDrfOrRc), Ok(Verdict::Fails));
    let relaxed = readers.map(|reader| reader.replace("acquire", "relaxed"));
    let open = read(&text(&[x, y, &relaxed[0], &relaxed[1]], outcome));
    assert_eq!(decide(&open, Model::ScForDrfOrRc), Ok(Verdict::Holds));
}
