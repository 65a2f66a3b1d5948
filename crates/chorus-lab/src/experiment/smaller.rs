//! Smaller inputs: some workloads would take too long at a scale, and run with less there.

use std::collections::BTreeSet;

use chorus_system::Scale;
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::document::{Document, DocumentError, Name};

/// The keys that may make an input smaller begin with this.
const SIZES: &str = "workload.";

/// The input that a workload has at one scale instead of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Smaller {
    workload: Name,
    scale: Scale,
    /// Sizes in the words of `--set`.
    set: Vec<Name>,
    /// The reason, as a clause that follows "since".
    why: Name,
}

/// A workload that ran with a smaller input than its scale stands for, for readers of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SmallerInput {
    /// The program that ran.
    pub workload: String,
    /// The sizes that it ran with, in the words of `--set`.
    pub set: Vec<String>,
    /// The reason, as a clause that follows "since".
    pub why: String,
}

impl SmallerInput {
    /// A sentence about the input at a scale.
    pub fn sentence(&self, scale: Scale) -> String {
        let SmallerInput { workload, set, why } = self;
        format!("At {scale} scale {workload} has a smaller input ({}), since {why}.", set.join(", "))
    }
}

impl Experiment {
    /// The workloads that have smaller inputs at a scale.
    pub fn smaller_inputs(&self, scale: Scale) -> Vec<SmallerInput> {
        let input = |smaller: &Smaller| SmallerInput {
            workload: smaller.workload.to_string(),
            set: smaller.set.iter().map(|size| size.to_string()).collect(),
            why: smaller.why.to_string(),
        };
        self.smaller.iter().filter(|smaller| smaller.scale == scale).map(input).collect()
    }

    /// Gives every workload its own input at every scale.
    pub fn take_whole_inputs(&mut self) {
        self.smaller.clear();
    }

    /// The overrides that give a workload its smaller input at a scale; none where it has its own.
    pub(super) fn smaller_sizes(&self, workload: &str, scale: Scale) -> impl Iterator<Item = String> {
        let found = self.smaller.iter().find(|smaller| &*smaller.workload == workload && smaller.scale == scale);
        found.into_iter().flat_map(|smaller| &smaller.set).map(|size| size.to_string())
    }

    pub(super) fn check_smaller_inputs(&self, document: &Document<'_>) -> Result<(), DocumentError> {
        let of_matrices = self.matrices.iter().flat_map(|matrix| &matrix.workloads).map(|name| &**name);
        let workloads: Vec<&str> = of_matrices.collect::<BTreeSet<&str>>().into_iter().collect();
        for (index, smaller) in self.smaller.iter().enumerate() {
            let Smaller { workload, scale, set, why } = smaller;
            document.check_known("workload of the matrices", workload, &workloads)?;
            let wrong = |message: &str| {
                document.mistake(workload.span(), format!("the smaller input of {workload} at {scale} scale {message}"))
            };
            if set.is_empty() {
                return Err(wrong("has no `set`; expected sizes such as `workload.n=1024`"));
            }
            if why.trim().is_empty() {
                return Err(wrong("has no `why`; expected the reason, which pages show"));
            }
            if let Some(size) = set.iter().find(|size| !size.starts_with(SIZES)) {
                let message = format!("key `set`: `{size}` is no size; expected a key that begins with `{SIZES}`");
                return Err(document.mistake(size.span(), message));
            }
            let is_same = |other: &Smaller| *other.workload == **workload && other.scale == *scale;
            if self.smaller[..index].iter().any(is_same) {
                return Err(wrong("is given twice"));
            }
        }
        Ok(())
    }
}
