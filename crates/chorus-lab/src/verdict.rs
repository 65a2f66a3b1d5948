//! How a measured number answers a stated one.
//!
//! Numbers are compared by their effects. A quotient of 1 says that nothing changed, so its effect is what it has more
//! or less than 1. A paper that states 1.33 and a measurement of 1.18 are 11 % apart, but only 54 % of the effect was
//! found, and the verdict is about that. Shares and differences are their own effects.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far effects may lie apart and still agree: five points of per cent.
pub const POINTS: f64 = 0.05;

/// How far an effect may lie from the stated one and still agree, as a share of it.
pub const SHARE: f64 = 0.2;

/// The share of a stated effect below which nothing of it was found.
pub const NOTHING: f64 = 0.15;

/// Decimal numbers are not exact in binary.
const ROUNDING: f64 = 1e-9;

/// How a claim's number is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The effect is about that of this number.
    #[default]
    Approx,
    /// The measured value is no less.
    AtLeast,
    /// The measured value is no more.
    AtMost,
    /// The measured value is strictly more.
    Above,
    /// The measured value is strictly less.
    Below,
    /// The measured value is this very number.
    Exactly,
}

impl Bound {
    /// The sign that stands before the number.
    pub fn sign(self) -> &'static str {
        match self {
            Bound::Approx => "≈ ",
            Bound::AtLeast => "≥ ",
            Bound::AtMost => "≤ ",
            Bound::Above => "> ",
            Bound::Below => "< ",
            Bound::Exactly => "",
        }
    }
}

/// The meaning of a number, which says what its effect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One quantity over another. The effect is the difference from 1.
    Quotient,
    /// A share or a difference. It is its own effect.
    Plain,
    /// Something counted or calculated. It is its own effect, and no points of per cent are allowed.
    Count,
}

impl Reading {
    /// The number that means no effect.
    pub fn no_effect(self) -> f64 {
        match self {
            Reading::Quotient => 1.0,
            Reading::Plain | Reading::Count => 0.0,
        }
    }

    fn effect(self, value: f64) -> f64 {
        value - self.no_effect()
    }

    fn words(self, value: f64) -> String {
        match self {
            Reading::Quotient => format!("{:+.1} %", (value - 1.0) * 100.0),
            Reading::Plain | Reading::Count if value.abs() < 100.0 => {
                format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
            }
            Reading::Plain | Reading::Count => format!("{value:.0}"),
        }
    }
}

/// The verdict on a claim or a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The effect is the stated one, or the number lies within its bound.
    Agrees,
    /// The effect has the stated direction and is smaller.
    Weaker,
    /// The effect has the stated direction and is larger.
    Stronger,
    /// Next to nothing of the stated effect was found.
    NoEffect,
    /// The effect is against the stated direction, or the number lies outside of its bound.
    Disagrees,
    /// It is measured on some of its workloads only.
    Partial,
    /// It is not measured at all.
    NotMeasured,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Verdict; 7] = [
        Verdict::Agrees,
        Verdict::Weaker,
        Verdict::Stronger,
        Verdict::NoEffect,
        Verdict::Disagrees,
        Verdict::Partial,
        Verdict::NotMeasured,
    ];

    /// The verdict on something that is true or not.
    pub fn of(holds: bool) -> Verdict {
        if holds { Verdict::Agrees } else { Verdict::Disagrees }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Agrees => "agrees",
            Verdict::Weaker => "weaker",
            Verdict::Stronger => "stronger",
            Verdict::NoEffect => "no effect",
            Verdict::Disagrees => "disagrees",
            Verdict::Partial => "partial",
            Verdict::NotMeasured => "not measured",
        })
    }
}

/// A measured number beside the stated one.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Whether both numbers agree.
    pub verdict: Verdict,
    /// The measured effect over the stated one, where one is stated.
    pub recovered: Option<f64>,
    /// The comparison in words.
    pub words: String,
}

/// Compares a measured number with the one that a paper states.
pub fn judge(bound: Bound, reading: Reading, paper: f64, measured: f64) -> Judgement {
    let directed = |holds| {
        let words = if holds { "in the stated direction" } else { "against the stated direction" };
        Judgement { verdict: Verdict::of(holds), recovered: None, words: words.to_owned() }
    };
    match bound {
        Bound::Approx => judge_effect(reading, paper, measured),
        Bound::AtLeast => directed(measured >= paper),
        Bound::AtMost => directed(measured <= paper),
        Bound::Above => directed(measured > paper),
        Bound::Below => directed(measured < paper),
        Bound::Exactly => {
            let words = if measured == paper { "equal" } else { "different" };
            Judgement { verdict: Verdict::of(measured == paper), recovered: None, words: words.to_owned() }
        }
    }
}

fn judge_effect(reading: Reading, paper: f64, measured: f64) -> Judgement {
    let [stated, found] = [paper, measured].map(|value| reading.effect(value));
    let apart = (found - stated).abs() - ROUNDING;
    let recovered = (stated.abs() > ROUNDING).then(|| found / stated);
    let verdict = match recovered {
        _ if apart <= SHARE * stated.abs() => Verdict::Agrees,
        _ if apart <= POINTS && reading != Reading::Count => Verdict::Agrees,
        None => Verdict::Disagrees,
        Some(share) if share.abs() < NOTHING => Verdict::NoEffect,
        Some(share) if share < 0.0 => Verdict::Disagrees,
        Some(share) if share < 1.0 => Verdict::Weaker,
        Some(_) => Verdict::Stronger,
    };
    let numbers = format!("{} where the paper has {}", reading.words(measured), reading.words(paper));
    let words = match recovered {
        Some(share) if share >= 0.0 => format!("{numbers}: {:.0} % of the effect", share * 100.0),
        Some(_) => format!("{numbers}: the opposite effect"),
        None => numbers,
    };
    Judgement { verdict, recovered, words }
}

/// The sorts of statements that are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimGroup {
    /// Numbers in the abstract, introduction or conclusion.
    Headlines,
    /// Numbers of the evaluation.
    Results,
    /// Directions and orderings without a number.
    Directions,
    /// Numbers that are counted or calculated without a simulation.
    Facts,
}

impl ClaimGroup {
    /// All groups, in the order in which they are shown.
    pub const ALL: [ClaimGroup; 4] =
        [ClaimGroup::Headlines, ClaimGroup::Results, ClaimGroup::Directions, ClaimGroup::Facts];
}

impl fmt::Display for ClaimGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ClaimGroup::Headlines => "headlines",
            ClaimGroup::Results => "results",
            ClaimGroup::Directions => "directions",
            ClaimGroup::Facts => "facts",
        })
    }
}

/// The verdicts on the statements of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The group of these statements.
    pub group: ClaimGroup,
    verdicts: Vec<Verdict>,
}

impl Tally {
    /// A tally for each group, from the verdicts on statements.
    pub fn of(verdicts: impl Iterator<Item = (ClaimGroup, Verdict)> + Clone) -> Vec<Tally> {
        let tally = |group| Tally {
            group,
            verdicts: verdicts.clone().filter(|(of, _)| *of == group).map(|(_, verdict)| verdict).collect(),
        };
        ClaimGroup::ALL.into_iter().map(tally).collect()
    }

    /// The number of statements.
    pub fn total(&self) -> usize {
        self.verdicts.len()
    }

    /// The number of statements with one verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.iter().filter(|other| **other == verdict).count()
    }

    /// The verdicts but agreement, each with its number, where it is not zero.
    pub fn others(&self) -> String {
        let others = Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Agrees);
        let counted = others.map(|verdict| (self.count(verdict), verdict)).filter(|(count, _)| *count > 0);
        counted.map(|(count, verdict)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {} agree", self.count(Verdict::Agrees), self.total(), self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn approx(reading: Reading, paper: f64, measured: f64) -> (Verdict, Option<f64>) {
        let Judgement { verdict, recovered, .. } = judge(Bound::Approx, reading, paper, measured);
        (verdict, recovered.map(|share| (share * 100.0).round() / 100.0))
    }

    #[test]
    fn a_quotient_is_judged_by_what_it_has_more_than_one() {
        assert_eq!(approx(Reading::Quotient, 1.327, 1.177), (Verdict::Weaker, Some(0.54)));
        assert_eq!(approx(Reading::Quotient, 1.327, 1.4), (Verdict::Stronger, Some(1.22)));
        assert_eq!(approx(Reading::Quotient, 1.5, 1.6), (Verdict::Agrees, Some(1.2)));
        assert_eq!(approx(Reading::Quotient, 1.327, 1.04), (Verdict::NoEffect, Some(0.12)));
        assert_eq!(approx(Reading::Quotient, 1.327, 0.9), (Verdict::Disagrees, Some(-0.31)));
        assert_eq!(approx(Reading::Quotient, 0.5, 0.7), (Verdict::Weaker, Some(0.6)));
    }

    #[test]
    fn five_points_agree_however_small_the_effect_is() {
        assert_eq!(approx(Reading::Quotient, 0.97, 1.02).0, Verdict::Agrees);
        assert_eq!(approx(Reading::Quotient, 0.97, 0.9).0, Verdict::Stronger);
        assert_eq!(approx(Reading::Quotient, 1.0, 1.05), (Verdict::Agrees, None));
        assert_eq!(approx(Reading::Quotient, 1.0, 1.06), (Verdict::Disagrees, None));
        assert_eq!(approx(Reading::Plain, 0.0, 0.05).0, Verdict::Agrees);
        assert_eq!(approx(Reading::Plain, 0.0, 0.06).0, Verdict::Disagrees);
    }

    #[test]
    fn shares_and_counts_are_their_own_effects() {
        assert_eq!(approx(Reading::Plain, 0.8, 0.5), (Verdict::Weaker, Some(0.63)));
        assert_eq!(approx(Reading::Plain, 0.1, 0.14).0, Verdict::Agrees);
        assert_eq!(approx(Reading::Count, 0.03, 0.07).0, Verdict::Stronger);
        assert_eq!(approx(Reading::Count, 65536.0, 65536.0).0, Verdict::Agrees);
    }

    #[test]
    fn a_machine_that_changes_nothing_agrees_with_no_effect_of_more_than_five_points() {
        for paper in [0.5, 0.8, 0.94, 1.06, 1.1, 1.3, 2.0] {
            assert_eq!(approx(Reading::Quotient, paper, 1.0), (Verdict::NoEffect, Some(0.0)), "{paper}");
        }
    }

    #[test]
    fn bounds_mean_what_they_say() {
        for (bound, below, equal, above) in [
            (Bound::AtLeast, false, true, true),
            (Bound::AtMost, true, true, false),
            (Bound::Above, false, false, true),
            (Bound::Below, true, false, false),
            (Bound::Exactly, false, true, false),
        ] {
            let verdicts = [0.9, 1.0, 1.1].map(|measured| judge(bound, Reading::Quotient, 1.0, measured).verdict);
            assert_eq!(verdicts, [below, equal, above].map(Verdict::of), "{bound:?}");
        }
    }

    #[test]
    fn groups_are_counted_apart() {
        let verdicts = [
            (ClaimGroup::Facts, Verdict::Agrees),
            (ClaimGroup::Headlines, Verdict::Weaker),
            (ClaimGroup::Headlines, Verdict::Agrees),
            (ClaimGroup::Headlines, Verdict::Weaker),
        ];
        let tallies = Tally::of(verdicts.into_iter());
        assert_eq!(tallies[0].to_string(), "1 of 3 headlines agree");
        assert_eq!(tallies[0].others(), "2 weaker");
        assert_eq!(tallies[3].to_string(), "1 of 1 facts agree");
        assert_eq!((tallies[1].total(), tallies[1].others()), (0, String::new()));
    }
}
