//! Relaxations that a memory model allows and that some protocols never show, by their nature.
//!
//! A test that must show a relaxation and does not is vacuous: it says nothing about the tests that forbid something. A
//! protocol that cannot show it says why by a [`Promise`]. The tests that the promise excuses are listed here. If one
//! of them shows its relaxation after all, the promise is broken and the test fails.

use chorus_protocol::registry::{Promise, Protocol};

use super::suite::{SuiteTest, find};

/// Shipped tests whose telling outcome no protocol with a promise shows.
struct NotShown {
    promise: Promise,
    tests: &'static [&'static str],
    /// The reason, in a few words for tables.
    reason: &'static str,
}

static NOT_SHOWN: [NotShown; 2] = [
    NotShown {
        promise: Promise::MultiCopyAtomicity,
        tests: &["WRC", "WRC+core", "WWC", "Z6.3+ra", "IRIW", "IRIW+ra"],
        reason: "strong accesses meet at the home of their line, where all see a write at once",
    },
    NotShown {
        promise: Promise::ReleaseAtHomes,
        tests: &["Z6.3+ra"],
        reason: "what comes behind a released write at its home is behind all that was released",
    },
];

/// The reason why a protocol never shows the telling outcome of a test, if it declares one. A test of somebody else
/// with the name of a shipped one is not excused.
pub(super) fn reason(protocol: &dyn Protocol, test: &SuiteTest) -> Option<&'static str> {
    let declared = |row: &&NotShown| row.tests.contains(&test.name()) && protocol.promises().contains(&row.promise);
    let row = NOT_SHOWN.iter().find(declared)?;
    find(test.name()).is_some_and(|shipped| shipped.test.program == test.test.program).then_some(row.reason)
}

#[cfg(test)]
mod tests {
    use chorus_protocol::registry;

    use super::*;

    #[test]
    fn every_listed_test_is_shipped() {
        for name in NOT_SHOWN.iter().flat_map(|row| row.tests) {
            assert!(find(name).is_some(), "there is no test {name}");
        }
    }

    #[test]
    fn only_a_shipped_test_on_a_protocol_with_the_promise_is_excused() {
        let reason_of = |protocol: &str, test: &SuiteTest| reason(registry::find(protocol).unwrap(), test);
        let [wrc, mp] = ["WRC", "MP"].map(|name| find(name).unwrap());
        assert!(reason_of("hmg", &wrc).is_some_and(|reason| reason.contains("home")));
        assert_eq!([reason_of("tc-weak", &wrc), reason_of("ideal", &wrc), reason_of("hmg", &mp)], [None; 3]);
        let mut other = mp;
        other.test.name = "WRC".to_owned();
        assert_eq!(reason_of("hmg", &other), None);
    }
}
