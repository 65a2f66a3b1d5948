//! Numbers and verdicts in words, the same on pages and on terminals.

pub use chorus_lab::html::count;
use chorus_verify::config::Stores;
use chorus_verify::litmus::LitmusResult;
use chorus_verify::mutate::hunt::Means;
use chorus_verify::mutate::score as mutate;

use crate::collect::{Litmus, Score};
use crate::tortured::Tortured;

/// The verdict on a litmus test, in a word or two.
pub fn verdict(result: &LitmusResult) -> &'static str {
    match () {
        () if result.not_shown().is_some() => "not shown",
        () if result.passed() => "pass",
        () if result.bounded => "bounded",
        () if result.vacuous() => "vacuous",
        () if result.is_wrongly_declared() => "wrongly declared",
        () => "fail",
    }
}

/// How many litmus tests pass, in words.
pub fn litmus_words(litmus: &Litmus) -> String {
    let passed = |stores: Stores| {
        let all = litmus.beside(stores).count();
        (litmus.beside(stores).filter(|tested| tested.result.passed()).count(), all)
    };
    let (good, all) = passed(Stores::Posted);
    let words = format!("{good} of {all} litmus tests pass");
    match passed(Stores::Blocking) {
        (_, 0) => words,
        (good, all) => format!("{words}, {good} of {all} beside cores that wait for their stores"),
    }
}

/// How much of the transition table random steps met, in words.
pub fn coverage_words(random: &Tortured) -> String {
    let words = |covered, reachable| format!(", {covered} of {reachable} pairs of state and event");
    random.comparison.as_ref().map_or(String::new(), |coverage| words(coverage.covered, coverage.reachable))
}

/// How many seeded faults were caught, in words.
pub fn score_words(score: &Score) -> String {
    let Score { seeded, caught, by_random, .. } = score;
    let alone = match (score.by_configuration, score.by_litmus) {
        (Some(configurations), Some(litmus)) => {
            format!("{configurations} by configurations, {litmus} by litmus tests and ")
        }
        _ => String::new(),
    };
    let idle = match score.without_effect {
        0 => String::new(),
        idle => format!("; {idle} change nothing here"),
    };
    format!("{caught} of {seeded} seeded faults caught; alone, {alone}{by_random} by random steps{idle}")
}

/// A share as a percentage; a dash if there is nothing to share.
pub fn share_words(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// The number of mutants that were found, by each kind of check and of all that make a difference, in words.
pub fn mutant_words(score: &mutate::Score) -> String {
    let survivors = score.survivors().count();
    let (found, share) = (score.found(), share_words(score.share()));
    let ways = Means::ALL.map(|means| format!("{} by {}", score.found_by(means), means.name())).join(", ");
    format!(
        "{found} of {} mutants found ({share}): {ways}; of {} tried, {} make no difference, {} were never reached",
        found + survivors,
        score.tried.len(),
        score.equivalent(),
        score.not_reached()
    )
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }
}
