//! The statements of a paper as data, and the verdict on them: `papers/NAME/claims.toml`.
//!
//! A claim is bound to the data of a figure: the mean of a protocol's bars over some workloads, against that of another
//! protocol. Or it is bound to a named fact that the caller counts, such as a protocol's number of states. Or it says
//! why it is not measured. There are no expressions: the keys of a claim say all that it means. A claim some of whose
//! workloads have no usable run gets no full verdict.
//!
//! A prediction is bound like a claim but has no number of the paper to compare with.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentError, Name};
use crate::experiment::{BASELINE, Chart, Experiment, Figure};
use crate::figure::FigureData;
use crate::stats::Mean;
use crate::trend::{self, Trend};

/// How far a measured value may lie from an approximate claim and still agree.
pub const TOLERANCE: f64 = 0.15;

/// How far a measured value may lie from zero and still agree with a claim of zero, of which there is no share.
pub const NEXT_TO_NOTHING: f64 = 0.05;

/// The most workloads that the reason of a verdict names.
const NAMED_MAX: usize = 6;

/// One statement of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The name of the claim. Notes refer to it.
    pub id: Name,
    /// Where the paper states it: section, and figure or table.
    pub source: String,
    /// How the paper presents the claim.
    pub kind: Kind,
    /// The statement in our own words.
    pub text: String,
    /// The paper's number: a ratio, unless the text says otherwise.
    pub value: f64,
    /// How the number is to be compared with a measured one.
    #[serde(default)]
    pub bound: Bound,
    /// The paper's workloads, or sets of them; none for a fact.
    #[serde(default)]
    pub workloads: Vec<Name>,
    /// The data of a figure that answers the claim.
    pub measured: Option<Measured>,
    /// The counted fact that answers the claim.
    pub fact: Option<String>,
    /// The reason why the claim is not measured.
    pub unmeasured: Option<String>,
    /// A remark about the reading of the paper.
    #[serde(default)]
    pub note: String,
}

/// A number that Chorus finds where the paper's is not known.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The name of the prediction. Notes refer to it.
    pub id: Name,
    /// The section and figure in which the paper speaks of it.
    pub source: String,
    /// The prediction in our own words.
    pub text: String,
    /// The paper's workloads, or sets of them.
    pub workloads: Vec<Name>,
    /// The data of a figure that gives the number.
    pub measured: Measured,
}

/// The content of a claims file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statements {
    /// Statements of the paper with a number.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// Statements of the paper about the order of bars.
    #[serde(default, rename = "trend")]
    pub trends: Vec<Trend>,
    /// Numbers that Chorus finds where the paper's are not known.
    #[serde(default, rename = "prediction")]
    pub predictions: Vec<Prediction>,
}

/// How a paper presents a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// In the abstract, introduction or conclusion.
    Headline,
    /// In the evaluation section.
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
    /// Within [`TOLERANCE`], or within [`NEXT_TO_NOTHING`] of zero.
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
    /// Whether a measured value agrees with the paper's.
    pub fn holds(self, measured: f64, paper: f64) -> bool {
        match self {
            Bound::Approx if paper == 0.0 => measured.abs() <= NEXT_TO_NOTHING,
            Bound::Approx => (measured - paper).abs() <= TOLERANCE * paper.abs(),
            Bound::AtLeast => measured >= paper,
            Bound::AtMost => measured <= paper,
            Bound::Above => measured > paper,
            Bound::Below => measured < paper,
            Bound::Exactly => measured == paper,
        }
    }

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

/// The data of a figure that answers a claim: the mean of one protocol's bars over the claim's workloads, divided by
/// that of another protocol where the figure compares protocols. A reader takes the same number from the mean bars of
/// the paper's figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The figure's number in the experiment.
    pub figure: Name,
    /// The protocol whose bars are meant.
    pub protocol: Name,
    /// The variant of that protocol.
    pub variant: Option<Name>,
    /// The protocol that it is compared with, or `baseline` for that of the figure. A figure that is relative to
    /// nothing may do without: its bars are meant themselves.
    pub versus: Option<Name>,
    /// The variant of the protocol that it is compared with.
    pub versus_variant: Option<Name>,
    /// The parts of stacked bars that are meant. Without any, whole bars are. A comparison with the baseline divides by
    /// its whole bar.
    #[serde(default)]
    pub parts: Vec<Name>,
    /// A share of a line's best. Where it is given, the claim is not about the height of a bar, but about the least
    /// value on the horizontal axis at which the protocol reaches this share of its best for the workload.
    pub reaches: Option<f64>,
    /// The mean over the workloads.
    pub mean: Mean,
    /// Whether the mean is taken of the workloads' own quotients, and not the quotient of the means.
    #[serde(default)]
    pub of_quotients: bool,
}

/// Reads and checks the claims of a paper; `file` is its name in messages.
pub fn read(file: &str, text: &str, experiment: &Experiment) -> Result<Statements, DocumentError> {
    let document = Document { name: file, text };
    let mut statements: Statements = document.read()?;
    statements.expand_sets(&document, experiment)?;
    let ids = statements.claims.iter().map(|claim| &claim.id);
    document.check_unique("claim", ids.chain(statements.predictions.iter().map(|prediction| &prediction.id)))?;
    for claim in &statements.claims {
        let wrong = |message: &str| Err(document.mistake(claim.id.span(), format!("claim `{}` {message}", claim.id)));
        match (&claim.measured, &claim.fact, &claim.unmeasured) {
            (Some(measured), None, None) => {
                check_binding(&document, measured, experiment)?;
                if claim.workloads.is_empty() {
                    return wrong("has no `workloads`; expected those over which the paper states it");
                }
            }
            (None, Some(_), None) | (None, None, Some(_)) => {}
            _ => return wrong("takes exactly one of `measured`, `fact` and `unmeasured`"),
        }
    }
    for prediction in &statements.predictions {
        check_binding(&document, &prediction.measured, experiment)?;
    }
    trend::check(&document, &statements.trends, experiment)?;
    Ok(statements)
}

impl Statements {
    fn expand_sets(&mut self, document: &Document<'_>, experiment: &Experiment) -> Result<(), DocumentError> {
        let of_claims = self.claims.iter_mut().map(|claim| &mut claim.workloads);
        let of_trends = self.trends.iter_mut().flat_map(|trend| &mut trend.comparisons).map(|it| &mut it.workloads);
        let of_predictions = self.predictions.iter_mut().map(|prediction| &mut prediction.workloads);
        let mut lists = of_claims.chain(of_trends).chain(of_predictions);
        lists.try_for_each(|workloads| experiment.sets.expand(document, workloads))
    }
}

/// Refuses a statement that names what its figure does not show: it could never be answered.
fn check_binding(document: &Document<'_>, measured: &Measured, experiment: &Experiment) -> Result<(), DocumentError> {
    let figures: Vec<&str> = experiment.figures.iter().map(|figure| &*figure.id).collect();
    document.check_known("figure", &measured.figure, &figures)?;
    let Some(figure) = experiment.figures.iter().find(|figure| *figure.id == *measured.figure) else { return Ok(()) };
    let mut shown: Vec<&str> = Vec::new();
    let drawn = figure.series.iter().map(|series| &*series.protocol);
    let baseline = figure.measure.is_relative().then_some(BASELINE);
    for protocol in drawn.chain(figure.baseline.as_deref()).chain(baseline) {
        if !shown.contains(&protocol) {
            shown.push(protocol);
        }
    }
    let compares = figure.measure.is_relative() && measured.reaches.is_none();
    if measured.versus.is_none() && (compares || measured.versus_variant.is_some()) {
        let message = format!("key `measured`: missing key `versus`; figure `{}` compares protocols", figure.id);
        return Err(document.mistake(measured.figure.span(), message));
    }
    let versus = measured.versus.iter().map(|versus| (versus, &measured.versus_variant));
    for (protocol, variant) in std::iter::once((&measured.protocol, &measured.variant)).chain(versus) {
        document.check_known("protocol of the figure", protocol, &shown)?;
        if let Some(variant) = variant {
            document.check_known("variant of that protocol in the figure", variant, &variants(figure, protocol))?;
        }
    }
    let parts: Vec<&str> = figure.parts.iter().map(|part| part.label.as_str()).collect();
    for part in &measured.parts {
        document.check_known("part of the figure", part, &parts)?;
    }
    let is_bound = measured.variant.is_some() || measured.versus.is_some();
    if measured.reaches.is_some() && (figure.chart != Chart::Lines || is_bound) {
        let message = format!(
            "key `measured`: `reaches` is about a whole line; figure `{}` must have lines, and the claim no `variant` and no `versus`",
            figure.id
        );
        return Err(document.mistake(measured.figure.span(), message));
    }
    Ok(())
}

/// The variants in which a figure shows a protocol.
fn variants<'f>(figure: &'f Figure, protocol: &str) -> Vec<&'f str> {
    let series = figure.series.iter().filter(|series| *series.protocol == *protocol);
    let baseline = figure.baseline.as_ref().filter(|name| ***name == *protocol).and(figure.baseline_variant.as_ref());
    series.filter_map(|series| series.variant.as_deref()).chain(baseline.map(|name| &**name)).collect()
}

/// The verdict on a claim or a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is measured on all its workloads and lies within the bound.
    Agrees,
    /// It is measured on all its workloads and lies outside of the bound.
    Disagrees,
    /// It is measured on some of its workloads only.
    Partial,
    /// It is not measured at all.
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
    /// The name of the claim.
    pub id: String,
    /// The section and figure or table where the paper states it.
    pub source: String,
    /// How the paper presents it.
    pub kind: Kind,
    /// The statement in our own words.
    pub text: String,
    /// A remark about the reading of the paper.
    pub note: String,
    /// The number that the paper states.
    pub paper: f64,
    /// How it is meant.
    pub bound: Bound,
    /// The measured number; none where it is not measured.
    pub measured: Option<f64>,
    /// The measured number over the paper's.
    pub ratio: Option<f64>,
    /// Whether the measured number agrees with the paper's.
    pub verdict: Verdict,
    /// The reason of the verdict in words.
    pub reason: String,
}

/// A prediction with its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// The name of the prediction.
    pub id: String,
    /// Where the paper speaks of it.
    pub source: String,
    /// The prediction in our own words.
    pub text: String,
    /// The measured number; none where a run is missing.
    pub measured: Option<f64>,
    /// Over which workloads, or why there is no value.
    pub reason: String,
}

/// Evaluates claims against figures and counted facts.
pub fn evaluate(claims: &[Claim], figures: &[FigureData], facts: &BTreeMap<String, f64>) -> Vec<Evaluation> {
    claims
        .iter()
        .map(|claim| {
            let (measured, verdict, reason) = match (&claim.measured, &claim.fact, &claim.unmeasured) {
                (Some(binding), ..) => evaluate_figure(claim, binding, figures),
                (None, Some(fact), _) => evaluate_fact(claim, fact, facts),
                (None, None, Some(why)) => (None, Verdict::NotMeasured, why.clone()),
                (None, None, None) => (None, Verdict::NotMeasured, "it is bound to nothing".to_owned()),
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

/// Gives predictions their values.
pub fn predict(predictions: &[Prediction], figures: &[FigureData]) -> Vec<Predicted> {
    predictions
        .iter()
        .map(|prediction| {
            let (measured, reason) = match measure(&prediction.measured, &prediction.workloads, figures) {
                Ok(Measurement { value, over, absent }) if absent.is_empty() => (Some(value), over),
                Ok(Measurement { value, over, absent }) => {
                    (Some(value), format!("{over}; without {}", absent.join(", ")))
                }
                Err(why) => (None, why),
            };
            Predicted {
                id: prediction.id.to_string(),
                source: prediction.source.clone(),
                text: prediction.text.clone(),
                measured,
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
    match measure(binding, &claim.workloads, figures) {
        Err(why) => (None, Verdict::NotMeasured, why),
        Ok(Measurement { value, over, absent }) => {
            let over = format!("{over}, {}", distance(claim, value));
            if absent.is_empty() {
                return (Some(value), whole(claim.bound.holds(value, claim.value)), over);
            }
            let all = claim.workloads.len();
            let found = all - absent.len();
            let reason = format!("{found} of {all} workloads: {over}; without {}", absent.join(", "));
            (Some(value), Verdict::Partial, reason)
        }
    }
}

/// The number that a binding gives.
struct Measurement<'a> {
    value: f64,
    /// Which mean, over which workloads.
    over: String,
    /// Workloads without a usable run.
    absent: Vec<&'a str>,
}

fn measure<'a>(binding: &Measured, workloads: &'a [Name], figures: &[FigureData]) -> Result<Measurement<'a>, String> {
    let figure = figures.iter().find(|figure| figure.id == *binding.figure);
    let figure = figure.ok_or_else(|| format!("figure {} is not part of this report", binding.figure))?;
    let parts: Vec<&str> = binding.parts.iter().map(|part| &**part).collect();
    let bar = |workload: &str, protocol: &str, variant: &Option<Name>| {
        if let Some(share) = binding.reaches {
            figure.reaches(workload, protocol, share)
        // Parts are relative to the whole bar of the baseline.
        } else if parts.is_empty() || protocol == BASELINE {
            figure.value(workload, protocol, variant.as_deref())
        } else {
            figure.value_of_parts(workload, protocol, variant.as_deref(), &parts)
        }
    };
    let (mut found, mut absent, mut values, mut versus) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for workload in workloads {
        let other = match &binding.versus {
            Some(versus) => bar(workload, versus, &binding.versus_variant),
            None => Some(1.0),
        };
        match bar(workload, &binding.protocol, &binding.variant).zip(other) {
            Some((value, other)) => {
                found.push(&**workload);
                values.push(value);
                versus.push(other);
            }
            None => absent.push(&**workload),
        }
    }
    let quotient = if binding.of_quotients {
        let quotients: Vec<f64> = values.iter().zip(&versus).map(|(value, versus)| value / versus).collect();
        binding.mean.of(&quotients)
    } else {
        binding.mean.of(&values).zip(binding.mean.of(&versus)).map(|(value, versus)| value / versus)
    };
    match quotient.filter(|quotient| quotient.is_finite()) {
        Some(value) => {
            let over = match found.as_slice() {
                [one] => (*one).to_owned(),
                few if few.len() <= NAMED_MAX => format!("{} over {}", binding.mean, few.join(", ")),
                many => format!("{} over {} workloads", binding.mean, many.len()),
            };
            Ok(Measurement { value, over, absent })
        }
        None if found.is_empty() => Err(format!("no usable run of {}", absent.join(", "))),
        None => {
            let of = binding.versus.as_ref().unwrap_or(&binding.protocol);
            Err(format!("the {} of {of} is zero or does not exist", binding.mean))
        }
    }
}

fn whole(holds: bool) -> Verdict {
    if holds { Verdict::Agrees } else { Verdict::Disagrees }
}

/// The distance of a measured value from the paper's, in words.
fn distance(claim: &Claim, measured: f64) -> String {
    let holds = claim.bound.holds(measured, claim.value);
    match claim.bound {
        Bound::Approx if claim.value == 0.0 => {
            format!("{} {NEXT_TO_NOTHING}", if holds { "no more than" } else { "more than" })
        }
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
