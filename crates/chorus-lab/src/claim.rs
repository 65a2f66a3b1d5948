//! What a paper states, as data, and the verdict on it: `claims/NAME.toml`.
//!
//! A claim is bound to the data of a figure (a protocol against another, a mean over workloads) or to a named fact about a
//! protocol that the caller counts, such as its number of states. There are no expressions: what a claim means is what its keys
//! say. A claim about workloads that do not all exist yet gets no full verdict.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentError, Name};
use crate::experiment::Experiment;
use crate::figure::FigureData;
use crate::stats::Mean;

/// How far a measured value may lie from an approximate claim and still agree.
pub const TOLERANCE: f64 = 0.15;

/// One statement of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// A name for it.
    pub id: Name,
    /// Where the paper states it: section, and figure or table.
    pub source: String,
    /// How the paper presents it.
    pub kind: Kind,
    /// The statement in our own words.
    pub text: String,
    /// The paper's number: a ratio unless the text says otherwise.
    pub value: f64,
    /// How the number is meant.
    #[serde(default)]
    pub bound: Bound,
    /// The paper's workloads; none for a fact.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The figure's data that answers it.
    pub measured: Option<Measured>,
    /// The counted fact that answers it.
    pub fact: Option<String>,
    /// What the reader must know about the reading of the paper.
    #[serde(default)]
    pub note: String,
}

/// How a paper presents a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// In the abstract, introduction or conclusion.
    Headline,
    /// In the evaluation.
    Result,
    /// Counted or calculated, not measured.
    Arithmetic,
    /// A direction without a number.
    Trend,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Headline => "headline",
            Kind::Result => "result",
            Kind::Arithmetic => "arithmetic",
            Kind::Trend => "trend",
        })
    }
}

/// How a claim's number is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Within [`TOLERANCE`].
    #[default]
    Approx,
    /// No less.
    AtLeast,
    /// No more.
    AtMost,
    /// Strictly more.
    Above,
    /// Strictly less.
    Below,
    /// The very number.
    Exactly,
}

impl Bound {
    /// Whether a measured value agrees with the paper's.
    pub fn holds(self, measured: f64, paper: f64) -> bool {
        match self {
            Bound::Approx => (measured - paper).abs() <= TOLERANCE * paper.abs(),
            Bound::AtLeast => measured >= paper,
            Bound::AtMost => measured <= paper,
            Bound::Above => measured > paper,
            Bound::Below => measured < paper,
            Bound::Exactly => measured == paper,
        }
    }

    /// What stands before the number.
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

/// The figure's data that answers a claim: the mean over the claim's workloads of one protocol's bars over another's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The figure.
    pub figure: Name,
    /// The protocol.
    pub protocol: Name,
    /// Its variant of the machine.
    pub variant: Option<String>,
    /// The protocol that it is compared with.
    pub versus: Name,
    /// Its variant of the machine.
    pub versus_variant: Option<String>,
    /// The mean over the workloads.
    pub mean: Mean,
}

/// A claims file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    #[serde(default, rename = "claim")]
    claims: Vec<Claim>,
}

/// Reads and checks the claims of a paper; `file` is its name in messages.
pub fn read(file: &str, text: &str, experiment: &Experiment) -> Result<Vec<Claim>, DocumentError> {
    let document = Document { name: file, text };
    let Claims { claims } = document.read()?;
    document.check_unique("claim", claims.iter().map(|claim| &claim.id))?;
    let figures: Vec<&str> = experiment.figures.iter().map(|figure| &*figure.id).collect();
    for claim in &claims {
        let wrong = |message: &str| Err(document.mistake(claim.id.span(), format!("claim `{}` {message}", claim.id)));
        match (&claim.measured, &claim.fact) {
            (Some(measured), None) => {
                document.check_known("figure", &measured.figure, &figures)?;
                check_protocols(&document, measured, experiment)?;
                if claim.workloads.is_empty() {
                    return wrong("has no `workloads`; expected those over which the paper states it");
                }
            }
            (None, Some(_)) => {}
            _ => return wrong("takes either `measured` or `fact`"),
        }
    }
    Ok(claims)
}

/// A claim that names a protocol which its figure does not show could never be answered.
fn check_protocols(document: &Document<'_>, measured: &Measured, experiment: &Experiment) -> Result<(), DocumentError> {
    let Some(figure) = experiment.figures.iter().find(|figure| *figure.id == *measured.figure) else { return Ok(()) };
    let shown: Vec<&str> = figure.series.iter().map(|series| &*series.protocol).chain([&*figure.baseline]).collect();
    document.check_known("protocol of the figure", &measured.protocol, &shown)?;
    document.check_known("protocol of the figure", &measured.versus, &shown)
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Measured on all its workloads and within the bound.
    Agrees,
    /// Measured on all its workloads and outside the bound.
    Disagrees,
    /// Measured on some of its workloads only.
    Partial,
    /// Not measured.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Agrees => "agrees",
            Verdict::Disagrees => "disagrees",
            Verdict::Partial => "partial",
            Verdict::NotMeasured => "not measured",
        })
    }
}

/// A claim beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// The claim's name.
    pub id: String,
    /// Where the paper states it.
    pub source: String,
    /// How the paper presents it.
    pub kind: Kind,
    /// The statement.
    pub text: String,
    /// What the reader must know about the reading of the paper.
    pub note: String,
    /// The paper's number.
    pub paper: f64,
    /// How it is meant.
    pub bound: Bound,
    /// What was measured.
    pub measured: Option<f64>,
    /// Measured over paper.
    pub ratio: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// Evaluates claims against figures and counted facts.
pub fn evaluate(claims: &[Claim], figures: &[FigureData], facts: &BTreeMap<String, f64>) -> Vec<Evaluation> {
    claims
        .iter()
        .map(|claim| {
            let (measured, verdict, reason) = match (&claim.measured, &claim.fact) {
                (Some(binding), _) => evaluate_figure(claim, binding, figures),
                (None, Some(fact)) => evaluate_fact(claim, fact, facts),
                (None, None) => (None, Verdict::NotMeasured, "it is bound to nothing".to_owned()),
            };
            Evaluation {
                id: claim.id.to_string(),
                source: claim.source.clone(),
                kind: claim.kind,
                text: claim.text.clone(),
                note: claim.note.clone(),
                paper: claim.value,
                bound: claim.bound,
                measured,
                ratio: measured.map(|measured| measured / claim.value).filter(|ratio| ratio.is_finite()),
                verdict,
                reason,
            }
        })
        .collect()
}

fn evaluate_fact(claim: &Claim, fact: &str, facts: &BTreeMap<String, f64>) -> (Option<f64>, Verdict, String) {
    match facts.get(fact) {
        Some(&counted) => {
            let holds = claim.bound.holds(counted, claim.value);
            (Some(counted), whole(holds), format!("counted by Chorus, {}", distance(claim, counted)))
        }
        None => (None, Verdict::NotMeasured, "Chorus did not count it in this run".to_owned()),
    }
}

fn evaluate_figure(claim: &Claim, binding: &Measured, figures: &[FigureData]) -> (Option<f64>, Verdict, String) {
    let Some(figure) = figures.iter().find(|figure| figure.id == *binding.figure) else {
        return (None, Verdict::NotMeasured, format!("figure {} is not part of this report", binding.figure));
    };
    let value = |workload: &str| -> Option<f64> {
        let value = figure.value(workload, &binding.protocol, binding.variant.as_deref())?;
        let versus = figure.value(workload, &binding.versus, binding.versus_variant.as_deref())?;
        Some(value / versus).filter(|quotient| quotient.is_finite())
    };
    let (mut found, mut absent, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for workload in &claim.workloads {
        match value(workload) {
            Some(value) => {
                found.push(workload.as_str());
                values.push(value);
            }
            None => absent.push(workload.as_str()),
        }
    }
    let Some(measured) = binding.mean.of(&values) else {
        return (None, Verdict::NotMeasured, format!("no usable run of {}", claim.workloads.join(", ")));
    };
    let over = format!("{} over {}, {}", binding.mean, found.join(", "), distance(claim, measured));
    if absent.is_empty() {
        return (Some(measured), whole(claim.bound.holds(measured, claim.value)), over);
    }
    let reason =
        format!("{} of {} workloads: {over}; without {}", found.len(), claim.workloads.len(), absent.join(", "));
    (Some(measured), Verdict::Partial, reason)
}

fn whole(holds: bool) -> Verdict {
    if holds { Verdict::Agrees } else { Verdict::Disagrees }
}

/// How a measured value lies to the paper's, in words.
fn distance(claim: &Claim, measured: f64) -> String {
    let holds = claim.bound.holds(measured, claim.value);
    match claim.bound {
        Bound::Approx => {
            let percent = (measured / claim.value - 1.0) * 100.0;
            let side = if holds { "within" } else { "outside" };
            format!("{percent:+.0} %, {side} {:.0} %", TOLERANCE * 100.0)
        }
        Bound::AtLeast | Bound::AtMost | Bound::Above | Bound::Below => {
            if holds { "in the stated direction" } else { "against the stated direction" }.to_owned()
        }
        Bound::Exactly => if holds { "equal" } else { "different" }.to_owned(),
    }
}
