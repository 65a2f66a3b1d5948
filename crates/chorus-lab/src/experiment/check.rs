//! The rules that an experiment keeps beyond the types of its keys: its names exist, and its figures make sense.

use std::collections::BTreeSet;

use super::{BASELINE, Chart, Experiment, Figure, KnownNames, Matrix, Measure, Series, Show};
use crate::document::{Document, DocumentError, Name};
use crate::stats::Mean;
use crate::why::stage::Stage;

impl Experiment {
    pub(super) fn check(&self, document: &Document<'_>, known: &KnownNames<'_>) -> Result<(), DocumentError> {
        // The name becomes that of the report's file.
        let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(safe) {
            return Err(document.mistake(0..0, "key `name`: expected lower-case letters, digits and hyphens"));
        }
        check_system(document, &self.system, known)?;
        document.check_unique("matrix", self.matrices.iter().map(|matrix| &matrix.name))?;
        document.check_unique("figure", self.figures.iter().map(|figure| &figure.id))?;
        for matrix in &self.matrices {
            matrix.check(document, known)?;
            self.sets.check_workloads(document, &matrix.workloads, known)?;
        }
        self.check_smaller_inputs(document)?;
        for figure in &self.figures {
            self.check_figure(figure, document, known)?;
        }
        match self.figures.iter().filter(|figure| figure.headline).collect::<Vec<_>>().as_slice() {
            [_] => Ok(()),
            [] => Err(document.mistake(0..0, "no figure has `headline = true`; expected exactly one")),
            [_, second, ..] => Err(document.mistake(
                second.id.span(),
                format!("figure `{}` is a second one with `headline = true`; expected exactly one", second.id),
            )),
        }
    }

    fn check_figure(
        &self,
        figure: &Figure,
        document: &Document<'_>,
        known: &KnownNames<'_>,
    ) -> Result<(), DocumentError> {
        self.check_names(figure, document)?;
        check_metrics(figure, document, known)?;
        let wrong =
            |message: &str| Err(document.mistake(figure.id.span(), format!("figure `{}` {message}", figure.id)));
        if figure.series.is_empty() {
            return wrong("has no `series`; expected at least one");
        }
        if figure.matrices.is_empty() {
            return wrong("has no `matrices`; expected at least one");
        }
        self.check_baseline(figure).or_else(|message| wrong(&message))?;
        self.check_coverage(figure).or_else(|message| wrong(&message))?;
        if figure.measure == Measure::Latency && !self.matrices_of(figure).iter().all(|matrix| matrix.observed) {
            return wrong("shows latency: its `matrices` take `observed = true`");
        }
        check_chart(figure).or_else(wrong)?;
        check_measure(figure).or_else(wrong)
    }

    /// A relative figure has a baseline for each workload, and no other figure has any.
    fn check_baseline(&self, figure: &Figure) -> Result<(), String> {
        let workloads = self.workloads_of(figure);
        let without = workloads.iter().find(|workload| self.baseline_of(figure, workload).is_none());
        let has_variant = figure.series.iter().any(|series| figure.baseline_variant_of(series).is_some());
        match (figure.measure.is_relative(), without) {
            (true, Some(workload)) => Err(format!("has no `baseline`, and no matrix of it has one for {workload}")),
            (false, _) if figure.baseline.is_some() || has_variant => {
                Err("is relative to nothing: it takes no `baseline` and no `baseline_variant`".to_owned())
            }
            (false, _) if figure.series.iter().any(|series| &*series.protocol == BASELINE) => {
                Err("is relative to nothing: its `series` name their protocols, not `baseline`".to_owned())
            }
            (true | false, _) => Ok(()),
        }
    }

    /// Every name of a figure occurs in its matrices, or is the name of a matrix.
    fn check_names(&self, figure: &Figure, document: &Document<'_>) -> Result<(), DocumentError> {
        let names: Vec<&str> = self.matrices.iter().map(|matrix| &*matrix.name).collect();
        for matrix in &figure.matrices {
            document.check_known("matrix", matrix, &names)?;
        }
        let matrices = self.matrices_of(figure);
        let workloads: Vec<&str> = matrices.iter().flat_map(|matrix| &matrix.workloads).map(|name| &**name).collect();
        for workload in &figure.workloads {
            document.check_known("workload of the figure's matrices", workload, &workloads)?;
        }
        let protocols: BTreeSet<&str> =
            matrices.iter().flat_map(|matrix| &matrix.protocols).map(|name| &**name).collect();
        let protocols: Vec<&str> = protocols.into_iter().collect();
        let alone = figure.series.iter().filter(|series| series.best_of.is_empty()).map(|series| &series.protocol);
        let chosen = figure.series.iter().flat_map(|series| &series.best_of);
        let drawn = alone.chain(chosen).filter(|name| &***name != BASELINE);
        let marked = figure.marker.iter().map(|marker| &marker.protocol);
        for protocol in drawn.chain(&figure.baseline).chain(marked) {
            document.check_known("protocol of the figure's matrices", protocol, &protocols)?;
        }
        let variants: Vec<&str> =
            matrices.iter().flat_map(|matrix| &matrix.variants).map(|variant| &*variant.name).collect();
        let named = figure.series.iter().flat_map(|series| series.variant.iter().chain(&series.baseline_variant));
        for variant in named.chain(&figure.baseline_variant) {
            document.check_known("variant of the figure's matrices", variant, &variants)?;
        }
        let of_figure: Vec<&str> = figure.matrices.iter().map(|name| &**name).collect();
        for matrix in figure.mean_over.iter().flat_map(|over| &over.matrices) {
            document.check_known("matrix of the figure", matrix, &of_figure)?;
        }
        Ok(())
    }
}

impl Matrix {
    fn check(&self, document: &Document<'_>, known: &KnownNames<'_>) -> Result<(), DocumentError> {
        for (key, empty) in [
            ("workloads", self.workloads.is_empty()),
            ("protocols", self.protocols.is_empty()),
            ("seeds", self.seeds.is_empty()),
        ] {
            if empty {
                let message = format!("matrix `{}`: key `{key}` is empty; expected at least one", self.name);
                return Err(document.mistake(self.name.span(), message));
            }
        }
        for protocol in &self.protocols {
            document.check_known("protocol", protocol, known.protocols)?;
        }
        document.check_unique("workload", &self.workloads)?;
        document.check_unique("protocol", &self.protocols)?;
        if let Some(baseline) = &self.baseline {
            let protocols: Vec<&str> = self.protocols.iter().map(|name: &Name| &**name).collect();
            document.check_known("protocol of the matrix", baseline, &protocols)?;
        }
        for system in self.variants.iter().filter_map(|variant| variant.system.as_ref()) {
            check_system(document, system, known)?;
        }
        document.check_unique("variant", self.variants.iter().map(|variant| &variant.name))
    }
}

/// Every metric of a figure is one that runs count.
fn check_metrics(figure: &Figure, document: &Document<'_>, known: &KnownNames<'_>) -> Result<(), DocumentError> {
    let of_marker = figure.marker.iter().flat_map(|marker| [&marker.metric, &marker.per]);
    // The parts of latency are not those of the file.
    let parts = figure.parts.iter().filter(|_| figure.measure != Measure::Latency);
    let of_parts = parts.map(|part| &part.metric);
    let mut metrics = figure.metric.iter().chain(&figure.less).chain(&figure.per).chain(of_parts).chain(of_marker);
    metrics.try_for_each(|metric| document.check_known("metric", metric, known.metrics))
}

/// The chart has the keys that it needs, and none that it would ignore.
fn check_chart(figure: &Figure) -> Result<(), &'static str> {
    let lines = lines_of(&figure.series);
    match figure.chart {
        Chart::Lines if !lines.iter().all(|line| is_rising(line)) => {
            Err("has lines: each of its `series` takes `at`, in rising order")
        }
        Chart::Lines if figure.swept.is_none() => {
            Err("has lines: it takes `swept`, which says what the horizontal axis shows")
        }
        Chart::Lines if figure.series.iter().any(|series| series.line.is_some()) => {
            check_lines_of_means(figure, &lines)
        }
        Chart::Scatter if figure.marker.is_none() || figure.swept.is_none() => Err(
            "has points: it takes `marker`, which places them, and `swept`, which says what the horizontal axis shows",
        ),
        Chart::Bars | Chart::StackedBars | Chart::Scatter
            if figure.series.iter().any(|series| series.at.is_some() || series.line.is_some()) =>
        {
            Err("has no lines: its `series` take no `at` and no `line`")
        }
        Chart::Bars | Chart::StackedBars if figure.marker.is_some() || figure.swept.is_some() => {
            Err("has bars: it takes no `marker` and no `swept`")
        }
        Chart::Lines | Chart::Bars | Chart::StackedBars | Chart::Scatter => Ok(()),
    }
}

/// Lines of means share their points.
fn check_lines_of_means(figure: &Figure, lines: &[Vec<&Series>]) -> Result<(), &'static str> {
    let places = |line: &Vec<&Series>| line.iter().map(|series| series.at).collect::<Vec<_>>();
    let same = lines.iter().all(|line| places(line) == places(&lines[0]));
    if figure.series.iter().any(|series| series.line.is_none()) || !same {
        return Err("has lines of means: all of its `series` take `line`, and every line the same places `at`");
    }
    if figure.show != Show::Mean || figure.mean_over.len() > 1 || figure.marker.is_some() {
        return Err("has lines of means: it takes `show = \"mean\"`, one mean and no `marker`");
    }
    Ok(())
}

/// The measure has the metrics that it needs.
fn check_measure(figure: &Figure) -> Result<(), &'static str> {
    match (figure.measure.is_quotient(), figure.per.is_empty()) {
        (true, true) => return Err("is a quotient: it takes `per`, the metrics to divide by"),
        (false, false) => return Err("is no quotient: it takes no `per`"),
        (true, false) | (false, true) => {}
    }
    let has_cost = |series: &Series| series.cost.is_some_and(|cost| cost.is_finite() && cost > 0.0);
    match figure.measure {
        Measure::SpeedUpPerCost if !figure.series.iter().all(has_cost) => {
            return Err("is a speed-up per cost: each of its `series` takes a `cost` above zero");
        }
        Measure::SpeedUpPerCost => {}
        _ if figure.series.iter().any(|series| series.cost.is_some()) => {
            return Err("is no speed-up per cost: its `series` take no `cost`");
        }
        _ => {}
    }
    let is_of_stages = figure.parts.iter().map(|part| &*part.metric).eq(Stage::ALL.map(Stage::metric));
    if figure.measure == Measure::Latency && !is_of_stages {
        return Err("shows latency: it takes no `part`, since its parts are what accesses waited for");
    }
    if figure.metric.is_none() && !figure.less.is_empty() {
        return Err("has no `metric` to take anything off: it takes no `less`");
    }
    let is_stacked = figure.chart == Chart::StackedBars;
    let of_mean = figure.mean_over.iter().filter_map(|over| over.mean);
    let is_sum = of_mean.chain([figure.mean]).all(|mean| mean == Mean::Arithmetic);
    match (figure.measure.is_of_time(), &figure.metric, figure.parts.len()) {
        (true, None, 0) if !is_stacked => Ok(()),
        (true, ..) => Err("is a speed-up: its bars are not stacked, it takes no `metric` and no `part`"),
        (false, Some(_), 0) if !is_stacked => Ok(()),
        (false, None, 1..) if is_stacked && is_sum => Ok(()),
        _ if is_stacked => {
            Err("is stacked: it takes `part`s, no `metric`, and `mean = \"arithmetic\"`, under which parts add up")
        }
        _ => Err("is of one metric and not stacked: it takes a `metric` and no `part`"),
    }
}

/// The series of each line, in order of their first points; one line for those that name none.
fn lines_of(series: &[Series]) -> Vec<Vec<&Series>> {
    let mut lines: Vec<Vec<&Series>> = Vec::new();
    for point in series {
        match lines.iter_mut().find(|line| line[0].line == point.line) {
            Some(line) => line.push(point),
            None => lines.push(vec![point]),
        }
    }
    lines
}

/// Whether every series has a place on the axis, to the right of the one before.
fn is_rising(series: &[&Series]) -> bool {
    let places: Option<Vec<f64>> = series.iter().map(|series| series.at.filter(|at| at.is_finite())).collect();
    places.is_some_and(|places| places.is_sorted_by(|left, right| left < right))
}

fn check_system(document: &Document<'_>, system: &Name, known: &KnownNames<'_>) -> Result<(), DocumentError> {
    if chorus_system::is_path(system) { Ok(()) } else { document.check_known("system", system, known.systems) }
}
