//! Tests that each rule of the model matters: leaving it out changes the verdict of some test.

use std::ops::ControlFlow;

use crate::execution::path::{Path, paths};
use crate::execution::skeleton::Skeleton;
use crate::judge::for_each_combination;
use crate::parse::{Parsed, parse};
use crate::ptx::rules::Rules;
use crate::ptx::search;
use crate::search::{Search, Stop};
use crate::test::{Condition, LitmusTest, Quantifier};

/// Tests, each with the model's answer to its question.
const TESTS: [(&str, bool); 23] = [
    (
        "PTX message
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.acquire.gpu a, flag  ;
        st.release.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        false,
    ),
    (
        "PTX message to a relaxed reader
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.relaxed.gpu a, flag  ;
        st.release.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message from a relaxed writer
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.acquire.gpu a, flag  ;
        st.relaxed.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message between work-groups at the scope of one
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.acquire.cta a, flag  ;
        st.release.cta flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message between GPUs at the scope of one
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 0,gpu 1          ;
        st.weak data, 1        | ld.acquire.gpu a, flag  ;
        st.release.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message that only the writer means for all
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.acquire.cta a, flag  ;
        st.release.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message between fences
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.relaxed.gpu a, flag  ;
        fence.acq_rel.gpu      | fence.acq_rel.gpu       ;
        st.relaxed.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        false,
    ),
    (
        "PTX message from a full fence to an acquire
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.acquire.gpu a, flag  ;
        fence.sc.gpu           |                         ;
        st.relaxed.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        false,
    ),
    (
        "PTX message whose flag is too small for its fences
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.relaxed.cta a, flag  ;
        fence.acq_rel.gpu      | fence.acq_rel.gpu       ;
        st.relaxed.cta flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message whose fences are too small for its flag
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.relaxed.gpu a, flag  ;
        fence.acq_rel.cta      | fence.acq_rel.cta       ;
        st.relaxed.gpu flag, 1 | ld.weak b, data         ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message whose flag is raised again
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 1        | ld.acquire.gpu a, flag  ;
        st.release.gpu flag, 1 | ld.weak b, data         ;
        st.relaxed.gpu flag, 2 |                         ;
        exists (P1:a == 2 /\\ P1:b == 0)",
        false,
    ),
    (
        "PTX message through a counter
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0                  | P2@cta 2,gpu 0         ;
        st.weak data, 1        | atom.relaxed.gpu.add c, flag, 1 | ld.acquire.gpu a, flag ;
        st.release.gpu flag, 1 |                                 | ld.weak b, data        ;
        exists (P2:a == 2 /\\ P2:b == 0)",
        false,
    ),
    (
        "PTX message to a reduction
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0               ;
        st.weak data, 1        | red.acq_rel.gpu.add flag, 1  ;
        st.release.gpu flag, 1 | ld.weak b, data              ;
        exists (flag == 2 /\\ P1:b == 0)",
        true,
    ),
    (
        "PTX message that is overwritten
        { data = 0; flag = 0; }
        P0@cta 0,gpu 0         | P1@cta 1,gpu 0          ;
        st.weak data, 2        | ld.acquire.gpu a, flag  ;
        st.release.gpu flag, 1 | st.weak data, 1         ;
        exists (P1:a == 1 /\\ data == 2)",
        false,
    ),
    (
        "PTX news of another's write
        { x = 0; y = 0; }
        P0@cta 0,gpu 0      | P1@cta 1,gpu 0      | P2@cta 2,gpu 0      ;
        st.relaxed.gpu x, 1 | ld.relaxed.gpu a, x | ld.acquire.gpu b, y ;
                            | st.release.gpu y, 1 | ld.relaxed.gpu c, x ;
        exists (P1:a == 1 /\\ P2:b == 1 /\\ P2:c == 0)",
        false,
    ),
    (
        "PTX stores before loads
        { x = 0; y = 0; }
        P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
        st.weak x, 1   | st.weak y, 1   ;
        fence.sc.gpu   | fence.sc.gpu   ;
        ld.weak a, y   | ld.weak a, x   ;
        exists (P0:a == 0 /\\ P1:a == 0)",
        false,
    ),
    (
        "PTX stores before loads over half a fence
        { x = 0; y = 0; }
        P0@cta 0,gpu 0    | P1@cta 1,gpu 0    ;
        st.weak x, 1      | st.weak y, 1      ;
        fence.acq_rel.gpu | fence.acq_rel.gpu ;
        ld.weak a, y      | ld.weak a, x      ;
        exists (P0:a == 0 /\\ P1:a == 0)",
        true,
    ),
    (
        "PTX stores before loads over a barrier
        { x = 0; y = 0; }
        P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;
        st.weak x, 1   | st.weak y, 1   ;
        bar.cta.sync 0 | bar.cta.sync 0 ;
        ld.weak a, y   | ld.weak a, x   ;
        exists (P0:a == 0 /\\ P1:a == 0)",
        false,
    ),
    (
        "PTX two counts
        { n = 0; }
        P0@cta 0,gpu 0               | P1@cta 1,gpu 0               ;
        atom.relaxed.gpu.add a, n, 1 | atom.relaxed.gpu.add a, n, 1 ;
        forall (n == 2)",
        true,
    ),
    (
        "PTX two counts at the scope of work-groups
        { n = 0; }
        P0@cta 0,gpu 0               | P1@cta 1,gpu 0               ;
        atom.relaxed.cta.add a, n, 1 | atom.relaxed.cta.add a, n, 1 ;
        forall (n == 2)",
        false,
    ),
    (
        "PTX two opinions on two writes
        { x = 0; }
        P0@cta 0,gpu 0      | P1@cta 1,gpu 0      | P2@cta 2,gpu 0      | P3@cta 3,gpu 0      ;
        st.relaxed.gpu x, 1 | st.relaxed.gpu x, 2 | ld.relaxed.gpu a, x | ld.relaxed.gpu a, x ;
                            |                     | ld.relaxed.gpu b, x | ld.relaxed.gpu b, x ;
        exists (P2:a == 1 /\\ P2:b == 2 /\\ P3:a == 2 /\\ P3:b == 1)",
        false,
    ),
    (
        "PTX each if the other
        { x = 0; y = 0; }
        P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
        ld.weak a, x   | ld.weak a, y   ;
        beq a, 0, end  | beq a, 0, end  ;
        st.weak y, 1   | st.weak x, 1   ;
        end:           | end:           ;
        exists (P0:a == 1 /\\ P1:a == 1)",
        false,
    ),
    (
        "PTX newer and then older
        { x = 0; }
        P0@cta 0,gpu 0      | P1@cta 1,gpu 0      ;
        st.relaxed.gpu x, 1 | ld.relaxed.gpu a, x ;
                            | ld.weak b, x        ;
        exists (P1:a == 1 /\\ P1:b == 0)",
        false,
    ),
];

fn read(text: &str) -> LitmusTest {
    match parse(text) {
        Ok(Parsed::Test(test)) => test,
        other => panic!("{other:?}"),
    }
}

/// Whether the claim of a test is true under some of the rules.
fn holds(test: &LitmusTest, rules: &Rules) -> bool {
    let forall = test.quantifier == Quantifier::Forall;
    let goal = if forall { Condition::Not(Box::new(test.condition.clone())) } else { test.condition.clone() };
    let mut found = Search::new(&test.program, Some(goal));
    let ways: Vec<Vec<Path>> = test.program.threads.iter().map(|thread| paths(thread).expect("few paths")).collect();
    let _ = for_each_combination(&ways, &mut Vec::new(), &mut |chosen| {
        let skeleton = Skeleton::new(&test.program, chosen).expect("few events");
        match search(&skeleton, rules, &mut found) {
            Ok(()) => ControlFlow::Continue(()),
            Err(Stop::Found) => ControlFlow::Break(Stop::Found),
            Err(stop) => panic!("{stop:?}"),
        }
    });
    found.found != forall
}

/// The names of tests whose verdict is not the model's.
fn noticed_by(rules: &Rules) -> Vec<String> {
    let wrong = TESTS.iter().map(|(text, expected)| (read(text), expected));
    wrong.filter(|(test, expected)| holds(test, rules) != **expected).map(|(test, _)| test.name).collect()
}

/// The model without one rule.
fn without(leave_out: impl Fn(&mut Rules)) -> Rules {
    let mut rules = Rules::default();
    leave_out(&mut rules);
    rules
}

#[test]
fn the_model_gives_every_verdict() {
    assert_eq!(noticed_by(&Rules::default()), Vec::<String>::new());
}

#[test]
fn every_rule_that_is_left_out_is_noticed() {
    let mutants: [(&str, Rules); 21] = [
        ("coherence", without(|rules| rules.coherence = false)),
        ("fence_sc", without(|rules| rules.fence_sc = false)),
        ("atomicity", without(|rules| rules.atomicity = false)),
        ("no_thin_air", without(|rules| rules.no_thin_air = false)),
        ("causality", without(|rules| rules.causality = false)),
        ("causality_of_overwritten", without(|rules| rules.causality_of_overwritten = false)),
        ("strong_writes_ordered", without(|rules| rules.strong_writes_ordered = false)),
        ("barriers", without(|rules| rules.barriers = false)),
        ("observation_is_strong", without(|rules| rules.observation_is_strong = false)),
        ("scopes_count", without(|rules| rules.scopes_count = false)),
        ("work_groups_count", without(|rules| rules.work_groups_count = false)),
        ("inclusion_is_mutual", without(|rules| rules.inclusion_is_mutual = false)),
        ("observation_through_atomics", without(|rules| rules.observation_through_atomics = false)),
        ("fences_in_patterns", without(|rules| rules.fences_in_patterns = false)),
        ("later_writes_in_patterns", without(|rules| rules.later_writes_in_patterns = false)),
        ("causality_is_transitive", without(|rules| rules.causality_is_transitive = false)),
        ("observation_causes", without(|rules| rules.observation_causes = false)),
        ("relaxed_does_not_acquire", without(|rules| rules.relaxed_does_not_acquire = false)),
        ("relaxed_does_not_release", without(|rules| rules.relaxed_does_not_release = false)),
        ("synchronisation_is_strong", without(|rules| rules.synchronisation_is_strong = false)),
        ("reductions_do_not_acquire", without(|rules| rules.reductions_do_not_acquire = false)),
    ];
    for (name, rules) in mutants {
        let noticed = noticed_by(&rules);
        println!("{name}: {noticed:?}");
        assert!(!noticed.is_empty(), "no test notices that {name} is left out");
    }
}

/// Coherence of each location follows from causality, which program order within a location is part of since PTX 7.5.
#[test]
fn coherence_of_each_location_follows_from_the_other_axioms() {
    assert_eq!(noticed_by(&without(|rules| rules.sc_per_location = false)), Vec::<String>::new());
}
