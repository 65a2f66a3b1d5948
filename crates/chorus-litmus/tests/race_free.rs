//! Tests of the model that gives SC to programs without data races and release consistency to others.

use chorus_litmus::judge::{Verdict, decide};
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse_all};
use chorus_litmus::test::LitmusTest;

fn read(text: &str) -> LitmusTest {
    match parse_all(text).unwrap().remove(0) {
        Parsed::Test(test) => test,
        Parsed::Unsupported { reason, .. } => panic!("{reason}"),
    }
}

fn allowed(text: &str) -> bool {
    decide(&read(text), Model::ScForDrfOrRc) == Ok(Verdict::Holds)
}

fn iriw(load: &str) -> String {
    format!(
        "PTX IRIW
        {{ x = 0; y = 0; }}
        P0@cta 0,gpu 0      | P1@cta 1,gpu 0      | P2@cta 2,gpu 0 | P3@cta 3,gpu 0 ;
        st.relaxed.sys x, 1 | st.relaxed.sys y, 1 | {load} r0, x   | {load} r0, y   ;
                            |                     | {load} r1, y   | {load} r1, x   ;
        exists (P2:r0 == 1 /\\ P2:r1 == 0 /\\ P3:r0 == 1 /\\ P3:r1 == 0)"
    )
}

#[test]
fn synchronisation_that_is_kept_in_order_is_sequentially_consistent() {
    assert!(!allowed(&iriw("ld.acquire.sys")));
}

#[test]
fn synchronisation_that_is_not_kept_in_order_is_not() {
    assert!(allowed(&iriw("ld.relaxed.sys")));
}

fn message(data: &str, flag: &str) -> String {
    format!(
        "PTX MP
        {{ x = 0; y = 0; }}
        P0@cta 0,gpu 0  | P1@cta 1,gpu 0 ;
        st.{data} x, 1  | ld.acquire.{flag} r0, y ;
        st.release.{flag} y, 1 | bne r0, 1, L ;
                        | ld.{data} r1, x ;
                        | L: ;
        exists (P1:r0 == 1 /\\ P1:r1 == 0)"
    )
}

#[test]
fn data_behind_a_flag_is_seen() {
    assert!(!allowed(&message("weak", "sys")));
}

#[test]
fn a_flag_for_a_work_group_orders_nothing_for_others() {
    assert!(allowed(&message("weak", "cta")));
}

#[test]
fn data_without_synchronisation_is_promised_release_consistency() {
    let text = |second: &str| {
        format!(
            "PTX racy
            {{ x = 0; y = 0; }}
            P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
            st.weak x, 1   | ld.weak r0, {second} ;
            st.weak y, 1   | ld.weak r1, x ;
            exists (P1:r0 == 1 /\\ P1:r1 == 0)"
        )
    };
    assert!(allowed(&text("y")));
    assert!(!allowed(&text("x")), "loads of one word stay in order");
}
