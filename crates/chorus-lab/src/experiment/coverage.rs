//! Do the matrices of a figure have the runs that it needs? A bar without runs, or without a baseline, would stay empty
//! however long the experiment runs, so such a figure is refused before anything runs.

use super::{BASELINE, Experiment, Figure, Matrix, Series, has};
use chorus_system::Scale;

impl Experiment {
    /// Every series has a bar for some workload, every workload has a bar, and every bar has the run that it is
    /// relative to.
    pub(super) fn check_coverage(&self, figure: &Figure) -> Result<(), String> {
        let workloads = self.workloads_of(figure);
        let has_bar = |series: &Series, workload: &str| {
            let variant = series.variant.as_deref();
            series.protocols().iter().all(|protocol| self.is_run(figure, workload, protocol, variant))
        };
        for series in &figure.series {
            let shown: Vec<&String> = workloads.iter().filter(|workload| has_bar(series, workload)).collect();
            if shown.is_empty() {
                return Err(self.no_bar(figure, series, &workloads));
            }
            let variant = figure.baseline_variant_of(series);
            let alone = shown.iter().find(|workload| !self.is_run(figure, workload, BASELINE, variant));
            if let Some(workload) = alone.filter(|_| figure.measure.is_relative()) {
                return Err(self.no_baseline(figure, series, workload, &workloads));
            }
        }
        match workloads.iter().find(|workload| !figure.series.iter().any(|series| has_bar(series, workload))) {
            Some(workload) => Err(format!("shows {workload}, for which its matrices run none of its `series`")),
            None => Ok(()),
        }
    }

    fn is_run(&self, figure: &Figure, workload: &str, protocol: &str, variant: Option<&str>) -> bool {
        // The scale decides about the machine of a run, not about its place in a matrix.
        !self.runs_for(figure, workload, protocol, variant, Scale::Quick).is_empty()
    }

    fn no_bar(&self, figure: &Figure, series: &Series, workloads: &[String]) -> String {
        let protocols: Vec<&str> = match workloads.first() {
            Some(workload) if &*series.protocol == BASELINE => self.baseline_of(figure, workload).into_iter().collect(),
            _ => series.protocols(),
        };
        let label = series.full_label();
        match self.advice(figure, &protocols, series.variant.as_deref(), workloads, "variant") {
            Some(advice) => format!("would have no bar for series `{label}`: {advice}"),
            None => format!("would have no bar for series `{label}`: no matrix of it runs {}", protocols.join(", ")),
        }
    }

    fn no_baseline(&self, figure: &Figure, series: &Series, workload: &str, workloads: &[String]) -> String {
        let label = series.full_label();
        let start = format!("would have no baseline for series `{label}` on {workload}");
        let Some(baseline) = self.baseline_of(figure, workload) else { return start };
        let variant = figure.baseline_variant_of(series);
        match self.advice(figure, &[baseline], variant, workloads, "baseline_variant") {
            Some(advice) => format!("{start}: {advice}"),
            None => format!("{start}: no matrix of it runs {baseline} on {workload}"),
        }
    }

    /// Advice on what to write where protocols run, but in other variants than the one that is named by `key`.
    fn advice(
        &self,
        figure: &Figure,
        protocols: &[&str],
        named: Option<&str>,
        workloads: &[String],
        key: &str,
    ) -> Option<String> {
        let runs = |matrix: &&Matrix| {
            protocols.iter().all(|protocol| has(&matrix.protocols, protocol))
                && workloads.iter().any(|workload| has(&matrix.workloads, workload))
        };
        let matrix = self.matrices_of(figure).into_iter().find(runs)?;
        let protocols = protocols.join(", ");
        let variants: Vec<String> = matrix.variants.iter().map(|variant| format!("`{}`", &*variant.name)).collect();
        match (named, variants.is_empty()) {
            (Some(variant), true) => Some(format!(
                "matrix `{}` runs {protocols} without variants; leave out `{key} = \"{variant}\"`",
                &*matrix.name
            )),
            (_, false) => Some(format!(
                "matrix `{}` runs {protocols} in {} only; expected one of them as `{key}`",
                &*matrix.name,
                variants.join(", ")
            )),
            (None, true) => None,
        }
    }
}
