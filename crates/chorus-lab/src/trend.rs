//! What a paper states about its figures in words: orderings of bars, and the verdict on them.
//!
//! A trend is a list of comparisons of the bars of a figure for some workloads: each bar of one list over each of another, or over the one at the same place, lies
//! between bounds. It agrees where every one of them does. Bars are meant by their labels.

use serde::{Deserialize, Serialize};

use crate::claim::Verdict;
use crate::document::{Document, DocumentError, Name};
use crate::experiment::Experiment;
use crate::figure::{Bar, FigureData};

/// A statement of a paper without a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// A name for it.
    pub id: Name,
    /// Where the paper states it: section, and figure.
    pub source: String,
    /// The statement in our own words.
    pub text: String,
    /// What the reader must know about the reading of the paper.
    #[serde(default)]
    pub note: String,
    /// What it says about the bars.
    #[serde(rename = "holds")]
    pub comparisons: Vec<Comparison>,
}

/// Bars over others, for each of some workloads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The figure.
    pub figure: Name,
    /// The workloads.
    pub workloads: Vec<Name>,
    /// The bars.
    pub of: Vec<Name>,
    /// Those that they are divided by.
    pub over: Vec<Name>,
    /// Whether a bar is compared with the one at the same place alone, and not with all.
    #[serde(default)]
    pub pairwise: bool,
    /// No quotient is below this.
    pub at_least: Option<f64>,
    /// No quotient is above this.
    pub at_most: Option<f64>,
    /// Every quotient is below this.
    pub below: Option<f64>,
}

/// A trend beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrendResult {
    /// The trend's name.
    pub id: String,
    /// Where the paper states it.
    pub source: String,
    /// The statement.
    pub text: String,
    /// What the reader must know about the reading of the paper.
    pub note: String,
    /// What became of each comparison.
    pub comparisons: Vec<Compared>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A comparison beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// What is compared, with the title of the figure's axis.
    pub what: String,
    /// What is expected of it.
    pub expected: String,
    /// The smallest and the largest quotient; none where a bar is missing.
    pub measured: Option<(f64, f64)>,
    /// Whether they are as expected; not known where a bar is missing.
    pub holds: Option<bool>,
}

/// Checks that trends name what their figures show; `document` is the file of the claims.
pub(crate) fn check(document: &Document<'_>, trends: &[Trend], experiment: &Experiment) -> Result<(), DocumentError> {
    document.check_unique("trend", trends.iter().map(|trend| &trend.id))?;
    let figures: Vec<&str> = experiment.figures.iter().map(|figure| &*figure.id).collect();
    for trend in trends {
        let wrong = |message: &str| Err(document.mistake(trend.id.span(), format!("trend `{}` {message}", trend.id)));
        if trend.comparisons.is_empty() {
            return wrong("says nothing: it takes at least one comparison in `holds`");
        }
        for comparison in &trend.comparisons {
            document.check_known("figure", &comparison.figure, &figures)?;
            let Some(figure) = experiment.figures.iter().find(|figure| *figure.id == *comparison.figure) else {
                continue;
            };
            let labels: Vec<&str> = figure.series.iter().map(|series| series.label.as_str()).collect();
            for label in comparison.of.iter().chain(&comparison.over) {
                document.check_known("label of the figure's series", label, &labels)?;
            }
            let workloads = experiment.workloads_of(figure);
            for workload in &comparison.workloads {
                document.check_known("workload of the figure", workload, &workloads)?;
            }
            let Comparison { of, over, workloads, at_least, at_most, below, pairwise, .. } = comparison;
            if of.is_empty() || over.is_empty() || workloads.is_empty() {
                return wrong("compares nothing: `of`, `over` and `workloads` take at least one name each");
            }
            if *pairwise && of.len() != over.len() {
                return wrong("compares bars pairwise: `of` and `over` take as many names");
            }
            if at_least.is_none() && at_most.is_none() && below.is_none() {
                return wrong("expects nothing: a comparison takes `at_least`, `at_most` or `below`");
            }
        }
    }
    Ok(())
}

/// Judges trends by figures.
pub fn evaluate(trends: &[Trend], figures: &[FigureData]) -> Vec<TrendResult> {
    let judge = |trend: &Trend| {
        let comparisons: Vec<Compared> = trend.comparisons.iter().map(|it| it.compare(figures)).collect();
        let known = comparisons.iter().filter(|compared| compared.holds.is_some()).count();
        let verdict = if comparisons.iter().any(|compared| compared.holds == Some(false)) {
            // One that does not hold is enough, whatever the others would show.
            Verdict::Disagrees
        } else if known == comparisons.len() {
            Verdict::Agrees
        } else if known > 0 {
            Verdict::Partial
        } else {
            Verdict::NotMeasured
        };
        TrendResult {
            id: trend.id.to_string(),
            source: trend.source.clone(),
            text: trend.text.clone(),
            note: trend.note.clone(),
            comparisons,
            verdict,
        }
    };
    trends.iter().map(judge).collect()
}

impl Comparison {
    fn compare(&self, figures: &[FigureData]) -> Compared {
        let join = |names: &[Name]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
        let figure = figures.iter().find(|figure| figure.id == *self.figure);
        let pairs = if self.pairwise { " pairwise" } else { "" };
        let axis = figure.map_or_else(|| format!("figure {}", self.figure), |figure| figure.axis.clone());
        let what = format!("{} over {}{pairs} ({}; {axis})", join(&self.of), join(&self.over), join(&self.workloads));
        let quotients = figure.and_then(|figure| self.quotients(figure));
        Compared {
            what,
            expected: self.expected(),
            measured: quotients.as_ref().and_then(|quotients| {
                Some((quotients.iter().copied().reduce(f64::min)?, quotients.iter().copied().reduce(f64::max)?))
            }),
            holds: quotients.map(|quotients| quotients.iter().all(|&quotient| self.allows(quotient))),
        }
    }

    /// Every quotient; none where a bar is missing.
    fn quotients(&self, figure: &FigureData) -> Option<Vec<f64>> {
        let mut quotients = Vec::new();
        for workload in &self.workloads {
            let group = figure.workloads.iter().find(|group| group.label == **workload)?;
            let bar = |label: &Name| {
                let index = figure.series.iter().position(|series| series.label == **label)?;
                group.bars.get(index).and_then(Bar::value)
            };
            for (place, of) in self.of.iter().enumerate() {
                for (other, over) in self.over.iter().enumerate() {
                    if !self.pairwise || place == other {
                        quotients.push(bar(of)? / bar(over)?);
                    }
                }
            }
        }
        Some(quotients).filter(|quotients| quotients.iter().all(|quotient| quotient.is_finite()))
    }

    fn allows(&self, quotient: f64) -> bool {
        self.at_least.is_none_or(|bound| quotient >= bound)
            && self.at_most.is_none_or(|bound| quotient <= bound)
            && self.below.is_none_or(|bound| quotient < bound)
    }

    fn expected(&self) -> String {
        let bounds = [("≥", self.at_least), ("≤", self.at_most), ("<", self.below)];
        let bounds = bounds.into_iter().filter_map(|(sign, bound)| bound.map(|bound| format!("{sign} {bound}")));
        bounds.collect::<Vec<_>>().join(" and ")
    }
}
