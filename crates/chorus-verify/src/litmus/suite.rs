//! Suites of litmus tests: texts in the common syntax, one test behind the other.
//!
//! A test says in a comment what it asks, and in another what is expected of it under each memory model. [`SUITES`] are
//! the suites that Chorus ships, the files `litmus/*.litmus`. Functions that read suites take a slice of them, so that
//! suites of a user's own are read like these.

use chorus_litmus::error::{LitmusError, Position};
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse_all};
use chorus_litmus::test::LitmusTest;
use chorus_protocol::registry::Protocol;
use thiserror::Error;

use super::Expectation;
use crate::heterogeneous;

/// A litmus test with what is expected of its telling outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteTest {
    /// The program and its condition.
    pub test: LitmusTest,
    /// The expectations, for the models that the test speaks of.
    pub expected: Vec<(Model, Expectation)>,
}

impl SuiteTest {
    /// A test with the expectations of its comments. Cells that are no expectation are ignored here, since tests of
    /// others have comments of their own; [`LitmusSuite::read`] refuses them.
    pub fn new(test: LitmusTest) -> SuiteTest {
        let expected = cells(&test).filter_map(expectation).collect();
        SuiteTest { expected, test }
    }

    /// The test's name, by which it is found.
    pub fn name(&self) -> &str {
        &self.test.name
    }

    /// The question that the test asks, in words, or its condition where it has no question.
    pub fn question(&self) -> String {
        let question = self.test.comments.iter().find(|comment| !comment.starts_with(EXPECTED));
        question.cloned().unwrap_or_else(|| self.test.condition_text())
    }

    /// The expectation under a model, if the test speaks of the model.
    pub fn expectation(&self, model: Model) -> Option<Expectation> {
        self.expected.iter().find(|(other, _)| *other == model).map(|(_, expectation)| *expectation)
    }
}

/// A comment that begins with this word holds expectations.
const EXPECTED: &str = "expected:";

/// The cells of a test's expectations: `expected: sc F, rc-pc A` has two.
fn cells(test: &LitmusTest) -> impl Iterator<Item = &str> {
    let lists = test.comments.iter().filter_map(|comment| comment.strip_prefix(EXPECTED));
    lists.flat_map(|list| list.split(',')).map(str::trim)
}

/// Reads one cell: a memory model and a letter.
fn expectation(cell: &str) -> Option<(Model, Expectation)> {
    let (model, letter) = cell.split_once(' ')?;
    Some((Model::from_name(model)?, Expectation::from_letter(letter.trim())?))
}

/// The protocols that a suite is run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo {
    /// The suite is run on every protocol.
    EveryProtocol,
    /// The suite is run on protocols whose machines have CPU cores beside compute units.
    Devices,
}

/// A text with litmus tests, and the protocols that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LitmusSuite {
    /// The name, which messages put in front of a line and a column.
    pub name: &'static str,
    /// The tests, one behind the other.
    pub text: &'static str,
    /// The protocols that the tests are run on.
    pub applies_to: AppliesTo,
}

/// A suite that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SuiteError {
    /// The text is no litmus test, or expects what cannot be expected.
    #[error("{suite}:{error}")]
    Mistake {
        /// The name of the suite.
        suite: &'static str,
        /// The mistake, with its line and column.
        error: LitmusError,
    },
    /// A test uses what Chorus does not model.
    #[error("{suite}: the test `{test}` cannot be run: {reason}")]
    Unsupported {
        /// The name of the suite.
        suite: &'static str,
        /// The name of the test.
        test: String,
        /// The part of the test that is not modelled, and its line.
        reason: String,
    },
    /// Two tests have one name.
    #[error("the litmus test `{test}` is in {} and in {}: give one of them another name", suites[0], suites[1])]
    Clash {
        /// The name of both tests.
        test: String,
        /// The names of their suites, which may be the same one.
        suites: [&'static str; 2],
    },
}

const fn suite(name: &'static str, text: &'static str, applies_to: AppliesTo) -> LitmusSuite {
    LitmusSuite { name, text, applies_to }
}

/// The suites that Chorus ships. The last one is for CPU cores and compute units that work together: data that is
/// handed over, in every shape.
pub static SUITES: &[LitmusSuite] = &[
    suite("coherence", include_str!("../../litmus/coherence.litmus"), AppliesTo::EveryProtocol),
    suite("words", include_str!("../../litmus/words.litmus"), AppliesTo::EveryProtocol),
    suite("vectors", include_str!("../../litmus/vectors.litmus"), AppliesTo::EveryProtocol),
    suite("atomics", include_str!("../../litmus/atomics.litmus"), AppliesTo::EveryProtocol),
    suite("message-passing", include_str!("../../litmus/message-passing.litmus"), AppliesTo::EveryProtocol),
    suite("store-buffering", include_str!("../../litmus/store-buffering.litmus"), AppliesTo::EveryProtocol),
    suite("load-buffering", include_str!("../../litmus/load-buffering.litmus"), AppliesTo::EveryProtocol),
    suite("write-order", include_str!("../../litmus/write-order.litmus"), AppliesTo::EveryProtocol),
    suite("causality", include_str!("../../litmus/causality.litmus"), AppliesTo::EveryProtocol),
    suite("iriw", include_str!("../../litmus/iriw.litmus"), AppliesTo::EveryProtocol),
    suite("scopes", include_str!("../../litmus/scopes.litmus"), AppliesTo::EveryProtocol),
    suite("barriers", include_str!("../../litmus/barriers.litmus"), AppliesTo::EveryProtocol),
    suite("leases", include_str!("../../litmus/leases.litmus"), AppliesTo::EveryProtocol),
    suite("devices", include_str!("../../litmus/devices.litmus"), AppliesTo::Devices),
];

/// The smallest set of tests that tells kinds of protocols apart: sequential consistency from everything weaker (`MP`),
/// ordered releases and acquires from unordered ones (`SB+ra`), atomic writes from others (`WRC+ra`, `IRIW+fences`),
/// hardware invalidation from self-invalidation (`MP+release+weak-reader`), strong loads that leave stale copies
/// (`CoRR+strong-weak`), cumulativity over scopes (`ISA2+cta-gpu`), scopes that are honoured (`MP+cta+across`), and
/// write masks (`two-words`).
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

impl LitmusSuite {
    /// Reads the tests of the suite, in their order.
    pub fn read(&self) -> Result<Vec<SuiteTest>, SuiteError> {
        let mistake = |error| SuiteError::Mistake { suite: self.name, error };
        let read = |parsed| match parsed {
            Parsed::Unsupported { name: test, reason } => {
                Err(SuiteError::Unsupported { suite: self.name, test, reason })
            }
            Parsed::Test(test) => {
                let bad = cells(&test).find(|cell| expectation(cell).is_none());
                let bad = bad.map(|cell| mistake(self.bad_expectation(&test, cell)));
                bad.map_or_else(|| Ok(SuiteTest::new(test)), Err)
            }
        };
        parse_all(self.text).map_err(mistake)?.into_iter().map(read).collect()
    }

    /// The mistake of a test whose expectations have this cell.
    fn bad_expectation(&self, test: &LitmusTest, cell: &str) -> LitmusError {
        let is_header = |line: &str| line.trim().strip_prefix("PTX ").is_some_and(|name| name.trim() == test.name);
        let lines = (1..).zip(self.text.lines()).skip_while(|(_, line)| !is_header(line));
        let mut places =
            lines.filter_map(|(number, line)| Some((number, line, line.split_once(EXPECTED)?.1.find(cell)?)));
        let position = places.next().map_or(Position { line: 1, column: 1 }, |(line, text, after)| {
            let before = text.len() - text.split_once(EXPECTED).map_or(0, |(_, list)| list.len()) + after;
            Position { line, column: 1 + text[..before].chars().count() }
        });
        let models: Vec<&str> = Model::ALL.iter().map(|model| model.name()).collect();
        LitmusError {
            message: format!("the test `{}` expects what cannot be expected", test.name),
            position,
            found: format!("`{cell}`"),
            accepted: format!("F, A, a or U behind one of {}", models.join(", ")),
        }
    }
}

/// Reads the tests of all suites. Two tests of one name are an error, since tests are found by name.
pub fn read_suites(suites: &[LitmusSuite]) -> Result<Vec<SuiteTest>, SuiteError> {
    let mut read: Vec<(&'static str, SuiteTest)> = Vec::new();
    for suite in suites {
        for test in suite.read()? {
            if let Some((other, _)) = read.iter().find(|(_, other)| other.name() == test.name()) {
                return Err(SuiteError::Clash { test: test.test.name, suites: [other, suite.name] });
            }
            read.push((suite.name, test));
        }
    }
    Ok(read.into_iter().map(|(_, test)| test).collect())
}

/// Reads the tests that a protocol is run on, first those of suites that are made for its kind of machine.
pub fn read_for(suites: &[LitmusSuite], protocol: &dyn Protocol) -> Result<Vec<SuiteTest>, SuiteError> {
    let applying = |applies_to| suites.iter().copied().filter(move |suite| suite.applies_to == applies_to);
    let special = applying(AppliesTo::Devices).filter(|_| heterogeneous::applies(protocol));
    read_suites(&special.chain(applying(AppliesTo::EveryProtocol)).collect::<Vec<_>>())
}

/// The test called `name` in any of the suites.
pub fn find_in(suites: &[LitmusSuite], name: &str) -> Result<Option<SuiteTest>, SuiteError> {
    Ok(read_suites(suites)?.into_iter().find(|test| test.name() == name))
}

/// The shipped tests that a protocol is run on.
pub fn tests_of(protocol: &dyn Protocol) -> Vec<SuiteTest> {
    shipped(read_for(SUITES, protocol))
}

/// The shipped tests that are made for all protocols.
pub fn tests() -> Vec<SuiteTest> {
    shipped_for(AppliesTo::EveryProtocol)
}

/// The shipped tests that are made for machines with CPU cores.
pub fn device_tests() -> Vec<SuiteTest> {
    shipped_for(AppliesTo::Devices)
}

/// The shipped test called `name`.
pub fn find(name: &str) -> Option<SuiteTest> {
    shipped(find_in(SUITES, name))
}

fn shipped_for(applies_to: AppliesTo) -> Vec<SuiteTest> {
    let suites: Vec<LitmusSuite> = SUITES.iter().copied().filter(|suite| suite.applies_to == applies_to).collect();
    shipped(read_suites(&suites))
}

/// Shipped suites are part of the program: a test of this module reads them all.
fn shipped<T>(read: Result<T, SuiteError>) -> T {
    read.unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chorus_litmus::judge::{Verdict, decide};
    use chorus_protocol::registry;

    use super::*;

    /// Tests with accesses of four words. They are no suite, since lines of explorations have two words.
    const VECTORS: [LitmusSuite; 1] =
        [suite("four-words", include_str!("../../litmus/vectors/four-words.litmus"), AppliesTo::EveryProtocol)];

    fn with_vectors() -> Vec<SuiteTest> {
        read_suites(&[SUITES, &VECTORS].concat()).unwrap()
    }

    #[test]
    fn every_test_has_a_name_of_its_own_a_question_and_expectations() {
        for test in with_vectors() {
            assert!(test.question().ends_with('?'), "{}", test.name());
            let models: BTreeSet<Model> = test.expected.iter().map(|(model, _)| *model).collect();
            assert!(models.len() >= 5 && models.len() == test.expected.len(), "{}: {:?}", test.name(), test.expected);
        }
    }

    #[test]
    fn suites_for_devices_come_first_and_only_where_there_are_devices() {
        let first = |protocol: &str| tests_of(registry::find(protocol).unwrap())[0].name().to_owned();
        assert_eq!((first("smg"), first("gpu-vi")), ("MP+data".to_owned(), tests()[0].name().to_owned()));
        assert_eq!(tests_of(registry::find("smg").unwrap()).len(), tests().len() + device_tests().len());
    }

    /// A test in which a word is replaced.
    fn with(old: &str, new: &str) -> LitmusSuite {
        const TEXT: &str =
            "PTX own\n\"expected: sc F, ptx A\"\n{ x=0; }\nP0@cta 0,gpu 0 ;\nst.weak x, 1 ;\nexists (x == 1)\n";
        let text: &'static str = Box::leak(TEXT.replace(old, new).into_boxed_str());
        suite("mine", text, AppliesTo::EveryProtocol)
    }

    #[track_caller]
    fn check_refused(suites: &[LitmusSuite], expected: &str) {
        let message = read_suites(suites).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }

    #[test]
    fn a_suite_of_ones_own_is_read_like_the_shipped_ones() {
        let own = with("", "");
        let expected = vec![(Model::Sc, Expectation::Forbidden), (Model::Ptx, Expectation::Reachable)];
        assert_eq!(own.read().unwrap()[0].expected, expected);
        let suites = [SUITES, &[own]].concat();
        assert_eq!(find_in(&suites, "own").unwrap().unwrap().name(), "own");
        assert_eq!(find_in(&suites, "none").unwrap(), None);
    }

    #[test]
    fn a_bad_suite_is_refused_with_its_place() {
        check_refused(&[with("st.weak", "st.strong")], "mine:5:1: ");
        check_refused(
            &[with("sc F", "scc F")],
            "mine:2:12: the test `own` expects what cannot be expected: found `scc F`",
        );
        check_refused(
            &[with("ptx A", "ptx B")],
            "mine:2:18: the test `own` expects what cannot be expected: found `ptx B`",
        );
        check_refused(&[with("own", "MP"), SUITES[4]], "the litmus test `MP` is in mine and in message-passing");
        check_refused(&[with("", ""), with("", "")], "the litmus test `own` is in mine and in mine");
    }

    #[test]
    fn telling_outcomes_are_expected_to_be_forbidden_exactly_where_the_model_forbids_them() {
        let mut wrong = Vec::new();
        for test in with_vectors() {
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
