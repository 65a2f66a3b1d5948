//! Statements of a paper about the order of bars, and the verdict on them.
//!
//! A trend is a list of comparisons of the bars of a figure for some workloads. Each bar of one list is divided by each
//! bar of another, or by the one at the same place, and the quotients lie between bounds. A trend agrees where every
//! comparison holds. Bars are meant by their labels.

use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentError, Name};
use crate::experiment::Experiment;
use crate::figure::{Bar, FigureData};
use crate::verdict::Verdict;

/// A statement of a paper about the order of bars, without a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trend {
    /// The name of the trend.
    pub id: Name,
    /// The section and figure where the paper states it.
    pub source: String,
    /// The statement in our own words.
    pub text: String,
    /// A remark about the reading of the paper.
    #[serde(default)]
    pub note: String,
    /// The comparisons of bars that the statement means. All of them must hold.
    #[serde(rename = "holds")]
    pub comparisons: Vec<Comparison>,
}

/// Quotients of bars for each of some workloads, with bounds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The figure's number in the experiment.
    pub figure: Name,
    /// The workloads for which the bars are compared.
    pub workloads: Vec<Name>,
    /// The labels of the bars that are divided.
    pub of: Vec<Name>,
    /// The labels of the bars by which they are divided.
    pub over: Vec<Name>,
    /// Whether a bar is compared only with the one at the same place of the other list, and not with all.
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
    /// The name of the trend.
    pub id: String,
    /// The section and figure where the paper states it.
    pub source: String,
    /// The statement in our own words.
    pub text: String,
    /// A remark about the reading of the paper.
    pub note: String,
    /// The outcome of each comparison.
    pub comparisons: Vec<Compared>,
    /// Whether all comparisons hold.
    pub verdict: Verdict,
}

/// A comparison beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The compared bars, with the title of the figure's axis.
    pub what: String,
    /// The bounds that are expected of the quotients.
    pub expected: String,
    /// The smallest and the largest quotient. There are none where a bar is missing.
    pub measured: Option<(f64, f64)>,
    /// Whether the quotients are as expected. It is not known where a bar is missing.
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

    /// Every quotient of the comparison, or none where a bar is missing.
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
