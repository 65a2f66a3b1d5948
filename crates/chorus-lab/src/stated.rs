//! The numbers that a paper's text gives for bars of its figures, so that they stand beside the measured ones.
//!
//! A claim states the height of a bar where it compares the bar with the figure's baseline, or, in a figure without a
//! baseline, with nothing. It is about one workload, or about the workloads of one of the figure's means. Where a claim
//! compares two bars of a figure, it gives the height that one would have beside the measured other.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::claim::{Claim, Measured};
use crate::experiment::{BASELINE, Experiment, Figure};
use crate::figure::FigureData;
use crate::verdict::Bound;

/// The height that the paper gives a bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stated {
    /// The position of the bar's group: workloads first, then means.
    pub group: usize,
    /// The position of the bar in its group.
    pub series: usize,
    /// The height that the paper states.
    pub value: f64,
    /// The claim that states it.
    pub claim: String,
    /// The position of the bar that the claim compares with. The height is then the stated multiple of that measured
    /// bar; otherwise the paper states the height itself.
    pub beside: Option<usize>,
}

/// The heights that claims state for bars of a figure.
pub fn stated(claims: &[Claim], experiment: &Experiment, figure: &Figure, data: &FigureData) -> Vec<Stated> {
    let in_figure = |claim: &Claim| {
        let measured = claim.measured.as_ref().filter(|measured| *measured.figure == *figure.id)?;
        let is_of_bars = claim.bound == Bound::Approx && measured.reaches.is_none() && measured.parts.is_empty();
        let series = data.position(&measured.protocol, measured.variant.as_deref()).filter(|_| is_of_bars)?;
        let group = group_of(claim, measured, experiment, figure, data)?;
        let stated = |value, beside| Some(Stated { group, series, value, claim: claim.id.to_string(), beside });
        if is_height(measured, figure, data) {
            return stated(claim.value, None);
        }
        let beside = data.position(measured.versus.as_deref()?, measured.versus_variant.as_deref())?;
        let bars = &data.workloads.iter().chain(&data.means).nth(group)?.bars;
        // The mean of quotients is no quotient of means.
        let is_multiple = !measured.of_quotients || claim.workloads.len() == 1;
        stated(claim.value * bars.get(beside)?.value()?, Some(beside)).filter(|_| is_multiple)
    };
    claims.iter().filter_map(in_figure).collect()
}

/// Whether a number is the height of a whole bar.
fn is_height(measured: &Measured, figure: &Figure, data: &FigureData) -> bool {
    let is_baseline = |versus: &str| {
        let named = data.workloads.iter().all(|group| group.baseline.as_deref() == Some(versus));
        let variant = measured.versus_variant.as_deref();
        versus == BASELINE || (named && variant == data.baseline_variant.as_deref())
    };
    match &measured.versus {
        Some(versus) => figure.measure.is_relative() && is_baseline(versus),
        None => !figure.measure.is_relative(),
    }
}

/// The group that a claim is about.
fn group_of(
    claim: &Claim,
    measured: &Measured,
    experiment: &Experiment,
    figure: &Figure,
    data: &FigureData,
) -> Option<usize> {
    if let [workload] = claim.workloads.as_slice() {
        return data.workloads.iter().position(|group| group.label == **workload);
    }
    let stated: BTreeSet<&str> = claim.workloads.iter().map(|workload| &**workload).collect();
    let is_it = |(mean, _, over): &(_, String, Vec<String>)| {
        *mean == measured.mean && over.iter().map(String::as_str).collect::<BTreeSet<_>>() == stated
    };
    experiment.means_of(figure).iter().position(is_it).map(|mean| data.workloads.len() + mean)
}
