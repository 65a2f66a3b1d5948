//! The statements of a paper as data, and the verdict on them: `papers/NAME/claims.toml`.
//!
//! A claim is bound to the data of a figure: the mean of a protocol's bars over some workloads, against that of another
//! protocol. Or it is bound to a named fact that the caller counts, such as a protocol's number of states. Or it says
//! why it is not measured. There are no expressions: the keys of a claim say all that it means. A claim some of whose
//! workloads have no usable run gets no full verdict.
//!
//! A prediction is bound like a claim but has no number of the paper to compare with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentError, Name};
use crate::experiment::{BASELINE, Chart, Experiment, Figure};
use crate::figure::FigureData;
use crate::interval::Significance;
use crate::stats::Mean;
use crate::trend::{self, Trend};
use crate::verdict::{Bound, ClaimGroup, Judgement, Reading, Verdict, judge};

/// The most workloads that the reason of a verdict names. Predictions name all of theirs.
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

impl Claim {
    /// The statements among which the claim is counted. What is counted without a simulation is a fact, wherever the
    /// paper has it.
    fn group(&self) -> ClaimGroup {
        match self.kind {
            _ if self.fact.is_some() => ClaimGroup::Facts,
            Kind::Headline => ClaimGroup::Headlines,
            Kind::Result => ClaimGroup::Results,
            Kind::Trend => ClaimGroup::Directions,
            Kind::Arithmetic => ClaimGroup::Facts,
        }
    }
}

impl Measured {
    /// Bars that are divided by others are quotients. Without a divisor they are meant as they are.
    fn reading(&self) -> Reading {
        if self.versus.is_some() { Reading::Quotient } else { Reading::Plain }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bar = |protocol: &Name, variant: &Option<Name>| match variant {
            Some(variant) => format!("{protocol} {variant}"),
            None => protocol.to_string(),
        };
        let what = bar(&self.protocol, &self.variant);
        let parts: Vec<&str> = self.parts.iter().map(|part| &**part).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(" + ")) };
        let over = self.versus.as_ref().map(|versus| bar(versus, &self.versus_variant));
        match (self.reaches, over) {
            (Some(share), _) => {
                write!(f, "where {what} reaches {:.0} % of its best, {} mean", share * 100.0, self.mean)?
            }
            (None, None) => write!(f, "{} of {what}{parts}", self.mean)?,
            (None, Some(over)) if self.of_quotients => write!(f, "{} of {what}{parts} over {over}", self.mean)?,
            (None, Some(over)) => write!(f, "{} of {what}{parts} over that of {over}", self.mean)?,
        }
        write!(f, ", figure {}", self.figure)
    }
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
    /// The measured effect over the paper's; none where it is not measured, or no effect is stated.
    pub effect_recovered: Option<f64>,
    /// Whether the measured number agrees with the paper's.
    pub verdict: Verdict,
    /// The significance of its effect; none where there is only one seed, or the number is not of whole bars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub significance: Option<Significance>,
    /// The statements among which it is counted.
    pub group: ClaimGroup,
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
    /// The mean, the bars and the baseline that are compared.
    pub compared: String,
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
            let Answer { measured, effect_recovered, verdict, significance, reason } = answer(claim, figures, facts);
            Evaluation {
                id: claim.id.to_string(),
                source: claim.source.clone(),
                kind: claim.kind,
                text: claim.text.clone(),
                note: claim.note.clone(),
                paper: claim.value,
                bound: claim.bound,
                measured,
                effect_recovered,
                verdict,
                significance,
                group: claim.group(),
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
            let (measured, reason) = match measure(&prediction.measured, &prediction.workloads, figures, usize::MAX) {
                Ok(Measurement { value, over, absent, .. }) if absent.is_empty() => (Some(value), over),
                Ok(Measurement { value, over, absent, .. }) => {
                    (Some(value), format!("{over}; without {}", absent.join(", ")))
                }
                Err(why) => (None, why),
            };
            Predicted {
                id: prediction.id.to_string(),
                source: prediction.source.clone(),
                text: prediction.text.clone(),
                compared: compared(prediction, figures),
                measured,
                reason,
            }
        })
        .collect()
}

/// The comparison of a prediction in words. `baseline` is named by the protocols that it stands for.
fn compared(prediction: &Prediction, figures: &[FigureData]) -> String {
    let figure = figures.iter().find(|figure| figure.id == *prediction.measured.figure);
    let groups = figure.iter().flat_map(|figure| &figure.workloads);
    let baselines: BTreeSet<&str> = groups.filter_map(|group| group.baseline.as_deref()).collect();
    let compared = prediction.measured.to_string();
    match baselines.is_empty() || prediction.measured.versus.as_deref() != Some(BASELINE) {
        true => compared,
        false => format!("{compared}; the baseline is {}", baselines.into_iter().collect::<Vec<_>>().join(" or ")),
    }
}

/// The findings about a claim.
struct Answer {
    measured: Option<f64>,
    effect_recovered: Option<f64>,
    verdict: Verdict,
    significance: Option<Significance>,
    reason: String,
}

impl Answer {
    fn none(reason: String) -> Answer {
        Answer { measured: None, effect_recovered: None, verdict: Verdict::NotMeasured, significance: None, reason }
    }

    fn new(measured: f64, judgement: Judgement, over: &str) -> Answer {
        let Judgement { verdict, recovered, words } = judgement;
        let reason = format!("{over}; {words}");
        Answer { measured: Some(measured), effect_recovered: recovered, verdict, significance: None, reason }
    }

    /// Adds the significance of the effect.
    fn with(self, significance: Option<Significance>) -> Answer {
        let words = significance.iter().map(|significance| format!("; {}", significance.words()));
        Answer { reason: std::iter::once(self.reason).chain(words).collect(), significance, ..self }
    }
}

fn answer(claim: &Claim, figures: &[FigureData], facts: &BTreeMap<String, f64>) -> Answer {
    match (&claim.measured, &claim.fact, &claim.unmeasured) {
        (Some(binding), ..) => answer_by_figure(claim, binding, figures),
        (None, Some(fact), _) => match facts.get(fact) {
            Some(&counted) => {
                let judgement = judge(claim.bound, Reading::Count, claim.value, counted);
                Answer::new(counted, judgement, "counted by Chorus")
            }
            None => Answer::none("Chorus did not count it in this run".to_owned()),
        },
        (None, None, Some(why)) => Answer::none(why.clone()),
        (None, None, None) => Answer::none("it is bound to nothing".to_owned()),
    }
}

fn answer_by_figure(claim: &Claim, binding: &Measured, figures: &[FigureData]) -> Answer {
    let Measurement { value, over, absent, by_seed } = match measure(binding, &claim.workloads, figures, NAMED_MAX) {
        Ok(measurement) => measurement,
        Err(why) => return Answer::none(why),
    };
    let reading = binding.reading();
    let significance = Significance::of(&by_seed, reading.no_effect(), claim.value);
    let answer = Answer::new(value, judge(claim.bound, reading, claim.value, value), &over).with(significance);
    if absent.is_empty() {
        return answer;
    }
    let all = claim.workloads.len();
    let reason = format!("{} of {all} workloads: {}; without {}", all - absent.len(), answer.reason, absent.join(", "));
    Answer { verdict: Verdict::Partial, reason, ..answer }
}

/// The number that a binding gives.
struct Measurement<'a> {
    value: f64,
    /// Which mean, over which workloads.
    over: String,
    /// Workloads without a usable run.
    absent: Vec<&'a str>,
    /// The number for each seed; empty where there is only one, or it is not of whole bars.
    by_seed: Vec<f64>,
}

/// The quotient of the means over some workloads, or the mean of their quotients.
fn quotient(binding: &Measured, values: &[f64], versus: &[f64]) -> Option<f64> {
    if binding.of_quotients {
        let quotients: Vec<f64> = values.iter().zip(versus).map(|(value, versus)| value / versus).collect();
        return binding.mean.of(&quotients);
    }
    binding.mean.of(values).zip(binding.mean.of(versus)).map(|(value, versus)| value / versus)
}

/// The number of a binding for each seed that all bars have.
fn by_seed(binding: &Measured, workloads: &[&str], figure: &FigureData) -> Vec<f64> {
    if binding.reaches.is_some() || !binding.parts.is_empty() {
        return Vec::new();
    }
    let of_seed = |seed: usize| {
        let bar = |workload: &str, protocol: &Name, variant: &Option<Name>| {
            figure.value_of_seed(workload, protocol, variant.as_deref(), seed)
        };
        let pair = |workload: &&str| {
            let versus = binding.versus.as_ref();
            let other = versus.map_or(Some(1.0), |versus| bar(workload, versus, &binding.versus_variant));
            bar(workload, &binding.protocol, &binding.variant).zip(other)
        };
        let (values, versus): (Vec<f64>, Vec<f64>) =
            workloads.iter().map(pair).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        quotient(binding, &values, &versus)
    };
    (0..).map_while(of_seed).collect()
}

fn measure<'a>(
    binding: &Measured,
    workloads: &'a [Name],
    figures: &[FigureData],
    named_max: usize,
) -> Result<Measurement<'a>, String> {
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
    match quotient(binding, &values, &versus).filter(|quotient| quotient.is_finite()) {
        Some(value) => {
            let over = match found.as_slice() {
                [one] => (*one).to_owned(),
                few if few.len() <= named_max => format!("{} over {}", binding.mean, few.join(", ")),
                many => format!("{} over {} workloads", binding.mean, many.len()),
            };
            Ok(Measurement { value, over, absent, by_seed: by_seed(binding, &found, figure) })
        }
        None if found.is_empty() => Err(format!("no usable run of {}", absent.join(", "))),
        None => {
            let of = binding.versus.as_ref().unwrap_or(&binding.protocol);
            Err(format!("the {} of {of} is zero or does not exist", binding.mean))
        }
    }
}
