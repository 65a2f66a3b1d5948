//! Chorus's own litmus tests, in `litmus/*.litmus`: each is a test in the common syntax that says in a comment what it asks, and in another
//! what is expected of it under each memory model.

use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse_all};
use chorus_litmus::test::LitmusTest;
use chorus_protocol::registry::Protocol;

use super::Expectation;
use crate::heterogeneous;

/// A test with what is expected of its telling outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteTest {
    /// The test.
    pub test: LitmusTest,
    /// What is expected, for those models that the test speaks of.
    pub expected: Vec<(Model, Expectation)>,
}

impl SuiteTest {
    /// A test with what its comments expect; comments that are not understood expect nothing.
    pub fn new(test: LitmusTest) -> SuiteTest {
        let expected = test.comments.iter().filter_map(|comment| comment.strip_prefix(EXPECTED)).flat_map(expectations);
        SuiteTest { expected: expected.collect(), test }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.test.name
    }

    /// What it asks, in words; its condition where it does not say.
    pub fn question(&self) -> String {
        let question = self.test.comments.iter().find(|comment| !comment.starts_with(EXPECTED));
        question.cloned().unwrap_or_else(|| self.test.condition_text())
    }

    /// What is expected under a model.
    pub fn expectation(&self, model: Model) -> Option<Expectation> {
        self.expected.iter().find(|(other, _)| *other == model).map(|(_, expectation)| *expectation)
    }
}

/// A comment that begins so says what is expected.
const EXPECTED: &str = "expected:";

/// `sc F, rc-pc A`: a model and what it makes of the telling outcome, again and again.
fn expectations(text: &str) -> impl Iterator<Item = (Model, Expectation)> {
    text.split(',').filter_map(|cell| {
        let (model, letter) = cell.trim().split_once(' ')?;
        Some((Model::from_name(model)?, Expectation::from_letter(letter.trim())?))
    })
}

/// The files.
static FILES: [(&str, &str); 12] = [
    ("coherence", include_str!("../../../../litmus/coherence.litmus")),
    ("words", include_str!("../../../../litmus/words.litmus")),
    ("atomics", include_str!("../../../../litmus/atomics.litmus")),
    ("message-passing", include_str!("../../../../litmus/message-passing.litmus")),
    ("store-buffering", include_str!("../../../../litmus/store-buffering.litmus")),
    ("load-buffering", include_str!("../../../../litmus/load-buffering.litmus")),
    ("write-order", include_str!("../../../../litmus/write-order.litmus")),
    ("causality", include_str!("../../../../litmus/causality.litmus")),
    ("iriw", include_str!("../../../../litmus/iriw.litmus")),
    ("scopes", include_str!("../../../../litmus/scopes.litmus")),
    ("barriers", include_str!("../../../../litmus/barriers.litmus")),
    ("leases", include_str!("../../../../litmus/leases.litmus")),
];

/// The smallest set of tests that tells kinds of protocols apart: sequential consistency from everything weaker (`MP`), ordered releases
/// and acquires from unordered ones (`SB+ra`), atomic writes from others (`WRC+ra`, `IRIW+fences`), hardware invalidation from
/// self-invalidation (`MP+release+weak-reader`), strong loads that leave stale copies (`CoRR+strong-weak`), cumulativity over scopes
/// (`ISA2+cta-gpu`), scopes that are honoured (`MP+cta+across`), and write masks (`two-words`).
pub const DISCRIMINATORS: [&str; 9] = [
    "MP",
    "SB+ra",
    "WRC+ra",
    "IRIW+fences",
    "MP+release+weak-reader",
    "CoRR+strong-weak",
    "ISA2+cta-gpu",
    "MP+cta+across",
    "two-words",
];

/// The tests made for CPU cores and compute units that work together: data that is handed over, in every shape.
const DEVICES: (&str, &str) = ("devices", include_str!("../../../../litmus/devices.litmus"));

/// The tests made for machines with CPU cores.
pub fn device_tests() -> Vec<SuiteTest> {
    of_file(DEVICES.0, DEVICES.1)
}

/// The tests that a protocol is run on.
pub fn tests_of(protocol: &dyn Protocol) -> Vec<SuiteTest> {
    if heterogeneous::applies(protocol) { [device_tests(), tests()].concat() } else { tests() }
}

/// Every test that is made for all protocols.
pub fn tests() -> Vec<SuiteTest> {
    FILES.iter().flat_map(|(name, text)| of_file(name, text)).collect()
}

/// The test called `name`.
pub fn find(name: &str) -> Option<SuiteTest> {
    tests().into_iter().chain(device_tests()).find(|test| test.name() == name)
}

/// The tests of one of the files, which are part of the program: what is wrong with them shows in its tests.
fn of_file(name: &str, text: &str) -> Vec<SuiteTest> {
    let parsed = parse_all(text).unwrap_or_else(|error| panic!("{}", error.render(name)));
    let test = |parsed| match parsed {
        Parsed::Test(test) => SuiteTest::new(test),
        Parsed::Unsupported { name, reason } => panic!("{name}: {reason}"),
    };
    parsed.into_iter().map(test).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chorus_litmus::judge::{Verdict, decide};

    use super::*;

    #[test]
    fn every_test_has_a_name_of_its_own_a_question_and_expectations() {
        let all = [tests(), device_tests()].concat();
        let names: BTreeSet<&str> = all.iter().map(SuiteTest::name).collect();
        assert_eq!(names.len(), all.len());
        for test in &all {
            assert!(test.question().ends_with('?'), "{}", test.name());
            let cells: usize = test.test.comments.iter().map(|comment| comment.matches(',').count()).sum();
            assert!(
                test.expected.len() >= 5 && test.expected.len() <= cells + 1,
                "{}: {:?}",
                test.name(),
                test.expected
            );
        }
    }

    #[test]
    fn telling_outcomes_are_expected_to_be_forbidden_exactly_where_the_model_forbids_them() {
        let mut wrong = Vec::new();
        for test in tests().into_iter().chain(device_tests()) {
            for &(model, expectation) in &test.expected {
                let found = match decide(&test.test, model).unwrap() {
                    Verdict::Holds if expectation == Expectation::Permitted => Expectation::Permitted,
                    Verdict::Holds => Expectation::Reachable,
                    Verdict::Fails => Expectation::Forbidden,
                    Verdict::Racy(_) => Expectation::Unspecified,
                };
                if found != expectation {
                    wrong.push(format!("{} under {}: {found:?}, expected {expectation:?}", test.name(), model.name()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
