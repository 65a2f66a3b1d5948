//! The tests that tell the memory models apart.

use chorus_litmus::judge::{TooLarge, Verdict, allowed, decide};
use chorus_litmus::model::Model;

use crate::shapes::{PLAIN, Variant, build, read, shape, verdict};

const RA: Variant = Variant { ends: true, ..PLAIN };
const ALL_RA: Variant = Variant { all: true, ..PLAIN };
const FENCED: Variant = Variant { fence: Some("fence.sc.gpu"), ..PLAIN };
const HALF_FENCED: Variant = Variant { fence: Some("fence.acq_rel.gpu"), ..PLAIN };
const WEAK: Variant = Variant { other: "weak", ..PLAIN };

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

/// One letter for each of [`COLUMNS`].
fn check(name: &str, variant: Variant, expected: &str) {
    let test = build(shape(name), variant);
    let found: String = COLUMNS.iter().map(|&model| verdict(&test, model)).collect();
    assert_eq!(found, expected, "{test}");
}

#[test]
fn plain_accesses_are_kept_in_order_by_sequential_consistency_only() {
    check("SB", PLAIN, "FAAAAAAA");
    check("MP", PLAIN, "FFAAAAAA");
    check("LB", PLAIN, "FFAAAAAA");
    check("2+2W", PLAIN, "FFAAAAAA");
    check("R", PLAIN, "FAAAAAAA");
    check("IRIW", PLAIN, "FFAAAAAA");
}

#[test]
fn one_location_is_coherent_everywhere_but_for_weak_accesses_of_ptx() {
    check("CoRR", PLAIN, "FFFFFFFF");
    check("CoRR", WEAK, "FFFFFFFA");
    check("CoWR2", WEAK, "FFFFFFFA");
    check("CoRW1", WEAK, "FFFFFFFF");
    check("CoWW", WEAK, "FFFFFFFF");
}

#[test]
fn release_and_acquire_order_messages_but_not_all_stores() {
    check("MP", RA, "FFFFFFAF");
    check("SB", ALL_RA, "FAFAFAAA");
    check("S", RA, "FFFFFFAF");
    check("2+2W", RA, "FFFFFFAA");
}

#[test]
fn writes_that_are_not_atomic_reach_threads_at_different_times() {
    check("WRC", RA, "FFFFAAAF");
    check("IRIW", ALL_RA, "FFFFAAAA");
    check("IRIW", FENCED, "FFFFAAAF");
    check("RWC", FENCED, "FFFFAAAF");
    check("ISA2", RA, "FFFFFFAF");
}

#[test]
fn fences_restore_order_and_ptx_tells_their_kinds_apart() {
    check("SB", FENCED, "FFFFFFAF");
    check("SB", HALF_FENCED, "FFFFFFAA");
    check("R", FENCED, "FFFFFFAF");
    check("LB", HALF_FENCED, "FFFFFFAF");
}

/// The four verdicts of a test: HRF-direct, HRF-indirect, DRF and PTX.
fn check_scopes(text: &str, expected: [&str; 4]) {
    let test = read(text);
    let models = [Model::ScForHrfDirect, Model::ScForHrfIndirect, Model::ScForDrf, Model::Ptx];
    assert_eq!(models.map(|model| verdict(&test, model)), expected, "{test}");
}

/// A message from one thread to another, who reads the data only if it has come, with the flag's orders and the
/// reader's place.
fn message(write: &str, read: &str, work_group: u32) -> String {
    format!(
        "PTX message
        {{ data = 0; flag = 0; }}
        P0@cta 0,gpu 0         | P1@cta {work_group},gpu 0 ;
        st.weak data, 1        | ld.{read} seen, flag      ;
        st.{write} flag, 1     | bne seen, 1, end          ;
                               | ld.weak got, data         ;
                               | end:                      ;
        exists (P1:seen == 1 /\\ P1:got == 0)"
    )
}

#[test]
fn a_message_at_a_scope_that_covers_both_is_safe_everywhere() {
    check_scopes(&message("release.gpu", "acquire.gpu", 1), ["F", "F", "F", "F"]);
    check_scopes(&message("release.cta", "acquire.cta", 0), ["F", "F", "F", "F"]);
}

#[test]
fn a_reader_that_does_not_wait_for_the_message_races_with_it() {
    let test = build(shape("MP"), Variant { other: "weak", ..RA });
    assert_eq!(verdict(&test, Model::ScForDrf), "U");
}

#[test]
fn a_message_at_too_small_a_scope_races() {
    check_scopes(&message("release.cta", "acquire.cta", 1), ["U", "U", "F", "A"]);
}

#[test]
fn unequal_scopes_that_include_each_other_satisfy_ptx_only() {
    check_scopes(&message("release.cta", "acquire.gpu", 0), ["U", "U", "F", "F"]);
}

#[test]
fn a_message_without_order_races() {
    check_scopes(&message("weak", "weak", 1), ["U", "U", "U", "A"]);
}

#[test]
fn a_chain_may_change_its_scope_unless_it_has_to_be_direct() {
    check_scopes(
        "PTX relay
        { data = 0; near = 0; far = 0; }
        P0@cta 0,gpu 0        | P1@cta 0,gpu 0        | P2@cta 1,gpu 0       ;
        st.weak data, 1       | ld.acquire.cta a, near | ld.acquire.gpu b, far ;
        st.release.cta near, 1 | bne a, 1, end         | bne b, 1, end         ;
                               | st.release.gpu far, 1 | ld.weak c, data       ;
                               | end:                  | end:                  ;
        exists (P1:a == 1 /\\ P2:b == 1 /\\ P2:c == 0)",
        ["U", "F", "F", "F"],
    );
}

#[test]
fn synchronisation_that_stores_before_it_loads_needs_a_fence_in_ptx_only() {
    let test = build(shape("SB"), ALL_RA);
    let models = [Model::ScForHrfDirect, Model::ScForHrfIndirect, Model::ScForDrf, Model::Ptx];
    assert_eq!(models.map(|model| verdict(&test, model)), ["F", "F", "F", "A"]);
}

#[test]
fn fences_synchronise_at_their_own_scope() {
    let fenced = |near: &str| {
        format!(
            "PTX fenced message
            {{ data = 0; flag = 0; }}
            P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
            st.weak data, 1        | ld.relaxed.gpu a, flag  ;
            fence.sc.gpu           | bne a, 1, end           ;
            st.relaxed.gpu flag, 1 | fence.sc.{near}         ;
                                   | ld.weak b, data         ;
                                   | end:                    ;
            exists (P1:a == 1 /\\ P1:b == 0)"
        )
    };
    check_scopes(&fenced("gpu"), ["F", "F", "F", "F"]);
    check_scopes(&fenced("cta"), ["U", "U", "F", "A"]);
}

#[test]
fn a_race_is_told_in_words() {
    let test = read(&message("weak", "weak", 1));
    let Ok(Verdict::Racy(race)) = decide(&test, Model::ScForDrf) else { panic!("no race") };
    assert_eq!(race.describe(&test.program), "`st.weak data, 1` of P0 and `ld.weak got, data` of P1 are not ordered");
}

/// Store buffering over a barrier; the threads may name different ones, or be in different work-groups.
fn over_barrier(other: u32, work_group: u32) -> String {
    format!(
        "PTX meeting
        {{ x = 0; y = 0; }}
        P0@cta 0,gpu 0  | P1@cta {work_group},gpu 0  ;
        st.weak x, 1    | st.weak y, 1    ;
        bar.cta.sync 0  | bar.cta.sync {other} ;
        ld.weak r0, y   | ld.weak r0, x   ;
        exists (P0:r0 == 0 /\\ P1:r0 == 0)"
    )
}

#[test]
fn a_barrier_orders_those_who_meet() {
    for model in Model::ALL.into_iter().filter(|&model| model != Model::PerLocation) {
        assert_eq!(verdict(&read(&over_barrier(0, 0)), model), "F", "{}", model.name());
    }
}

#[test]
fn threads_that_do_not_meet_are_not_ordered() {
    assert_eq!(verdict(&read(&over_barrier(1, 0)), Model::Ptx), "A");
    assert_eq!(verdict(&read(&over_barrier(0, 1)), Model::Ptx), "A");
    assert_eq!(verdict(&read(&over_barrier(0, 1)), Model::ScForHrfDirect), "U");
}

#[test]
fn barriers_that_wait_for_each_other_leave_no_execution() {
    let text = "PTX crossed
        { x = 0; }
        P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;
        bar.cta.sync 0 | bar.cta.sync 1 ;
        ld.weak r0, x  | st.weak x, 1   ;
        bar.cta.sync 1 | bar.cta.sync 0 ;
        exists (true)";
    for model in Model::ALL.into_iter().filter(|&model| model != Model::PerLocation) {
        assert_eq!(verdict(&read(text), model), "F", "{}", model.name());
    }
}

#[test]
fn as_many_as_a_quorum_says_meet() {
    let text = |quorum: u32| {
        format!(
            "PTX quorum
            {{ x = 0; }}
            P0@cta 0,gpu 0               | P1@cta 0,gpu 0               | P2@cta 0,gpu 0 ;
            st.weak x, 1                 | bar.cta.sync 0, 0, {quorum}  | bar.cta.sync 0, 0, {quorum} ;
            bar.cta.sync 0, 0, {quorum}  | ld.weak r0, x                | ;
            exists (P1:r0 == 0)"
        )
    };
    for model in [Model::Sc, Model::RcPcNonAtomic, Model::Ptx] {
        assert_eq!(verdict(&read(&text(2)), model), "A", "{}: P2 may come first", model.name());
        assert_eq!(verdict(&read(&text(3)), model), "F", "{}: all must come", model.name());
        assert_eq!(verdict(&read(&text(4)), model), "F", "{}: nobody goes on", model.name());
    }
}

#[test]
fn atomics_count_every_increment_where_they_include_each_other() {
    let counter = |scope: &str| {
        read(&format!(
            "PTX counter
            {{ n = 0; }}
            P0@cta 0,gpu 0                | P1@cta 1,gpu 0                ;
            atom.relaxed.{scope}.add r, n, 1 | red.relaxed.{scope}.add n, 1  ;
            forall (n == 2)"
        ))
    };
    for model in Model::ALL {
        assert_eq!(decide(&counter("gpu"), model), Ok(Verdict::Holds), "{}", model.name());
    }
    assert_eq!(decide(&counter("cta"), Model::Ptx), Ok(Verdict::Fails));
    assert_eq!(decide(&counter("cta"), Model::Sc), Ok(Verdict::Holds));
}

#[test]
fn values_never_come_out_of_nowhere() {
    let text = "PTX circle
        { x = 0; y = 0; }
        P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
        ld.weak r0, x  | ld.weak r0, y  ;
        add r0, r0, 1  | st.weak x, r0  ;
        st.weak y, r0  |                ;
        forall (P0:r0 <= 1)";
    for model in Model::ALL.into_iter().filter(|model| !model.needs_race_freedom()) {
        assert_eq!(decide(&read(text), model), Ok(Verdict::Holds), "{}", model.name());
    }
}

#[test]
fn a_loop_is_left_before_its_second_round() {
    let text = "PTX spin
        { flag = 0; }
        P0@cta 0,gpu 0        | P1@cta 0,gpu 0          ;
        st.relaxed.gpu flag, 1 | again:                 ;
                               | ld.relaxed.gpu r, flag ;
                               | beq r, 0, again        ;
        forall (P1:r == 1)";
    for model in Model::ALL {
        assert_eq!(decide(&read(text), model), Ok(Verdict::Holds), "{}", model.name());
    }
}

#[test]
fn a_filter_hides_executions() {
    let text = |filter: &str| {
        read(&format!(
            "PTX filtered
            {{ x = 0; }}
            P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
            st.weak x, 1   | ld.weak r, x   ;
            {filter} forall (P1:r == 1)"
        ))
    };
    assert_eq!(decide(&text(""), Model::Sc), Ok(Verdict::Fails));
    assert_eq!(decide(&text("filter (P1:r != 0)"), Model::Sc), Ok(Verdict::Holds));
}

#[test]
fn every_outcome_is_listed() {
    let test = build(shape("SB"), PLAIN);
    let outcomes = |model| allowed(&test.program, model).expect("small").outcomes.len();
    assert_eq!((outcomes(Model::Sc), outcomes(Model::Tso), outcomes(Model::Ptx)), (3, 4, 4));
}

#[test]
fn a_large_program_is_refused_and_not_tried() {
    let row = "st.weak x, 1 | st.weak x, 2 | st.weak x, 3 | st.weak x, 4 ;\n".repeat(12);
    let places = "P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 | P3@cta 3,gpu 0 ;";
    let test = read(&format!("PTX many\n{{ x = 0; }}\n{places}\n{row}exists (x == 5)"));
    assert!(matches!(decide(&test, Model::Sc), Err(TooLarge::Steps { .. })));
    let test = read(&format!("PTX too many\n{{ x = 0; }}\n{places}\n{row}{row}exists (x == 5)"));
    assert!(matches!(decide(&test, Model::Ptx), Err(TooLarge::Events { .. })));
}
