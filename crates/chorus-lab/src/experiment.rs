//! Run matrices and figures as data: `experiments/NAME.toml`.
//!
//! A matrix is every workload under every protocol, in every variant of the machine, for every seed. A figure names the matrices
//! that it draws from, the protocols it shows and what it measures. Several figures may use the same run; it is made once.

use std::collections::BTreeSet;

use chorus_system::Scale;
use serde::Deserialize;

use crate::document::{Document, DocumentError, Name};
use crate::run::RunSpec;
use crate::stats::Mean;

/// The experiments of one paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// The name used on the command line and for the report.
    pub name: String,
    /// The title of the paper.
    pub title: String,
    /// Authors, venue and year.
    pub source: String,
    /// The machine.
    pub system: Name,
    /// What the experiments leave out so far, for the reader of the report.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The runs.
    #[serde(rename = "matrix")]
    pub matrices: Vec<Matrix>,
    /// What is drawn from them.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
}

/// A set of runs: workloads × protocols × variants × seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The name by which figures refer to it.
    pub name: Name,
    /// The programs.
    pub workloads: Vec<Name>,
    /// The protocols.
    pub protocols: Vec<Name>,
    /// The seeds of the generated inputs; figures use the mean over them.
    #[serde(default = "one_seed")]
    pub seeds: Vec<u64>,
    /// Variants of the machine. Without any, the machine as it is.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
}

fn one_seed() -> Vec<u64> {
    vec![1]
}

/// A named change of the machine: one point of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The name by which figures refer to it.
    pub name: Name,
    /// The overrides, `key=value`.
    pub set: Vec<String>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chart {
    /// A group of bars per workload, one bar per series.
    Bars,
    /// The same with each bar split into parts.
    StackedBars,
}

/// What a bar's height is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Cycles of the baseline over cycles.
    SpeedUp,
    /// The metric over that of the baseline.
    Ratio,
    /// The metric per simulated time over that of the baseline: energy becomes power.
    RatioOfRates,
}

/// Which groups a figure shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// One group per workload, then their mean.
    #[default]
    WorkloadsAndMean,
    /// The mean alone.
    Mean,
}

/// A figure of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The paper's number, such as `7a`; claims refer to it.
    pub id: Name,
    /// The title.
    pub title: String,
    /// What the vertical axis shows, with its unit or baseline.
    pub axis: String,
    /// What it shows and what it lacks.
    #[serde(default)]
    pub caption: String,
    /// Whether it is the figure that stands for the paper. An experiment has one.
    #[serde(default)]
    pub headline: bool,
    /// The matrices that it draws from.
    pub matrices: Vec<Name>,
    /// The workloads shown; without any, all of the matrices.
    #[serde(default)]
    pub workloads: Vec<Name>,
    /// How it is drawn.
    pub chart: Chart,
    /// What is measured.
    pub measure: Measure,
    /// The metric of a ratio that is not stacked.
    pub metric: Option<Name>,
    /// The parts of stacked bars, from the bottom.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// The protocol that everything is normalised to.
    pub baseline: Name,
    /// The variant of the machine on which the baseline runs, where it is not the machine as it is.
    pub baseline_variant: Option<Name>,
    /// The bars of each group.
    pub series: Vec<Series>,
    /// The mean over the workloads.
    pub mean: Mean,
    /// Which groups are shown.
    #[serde(default)]
    pub show: Show,
}

/// One part of a stacked bar.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name in the legend.
    pub label: String,
    /// The metric.
    pub metric: String,
}

/// One bar of every group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The name in the legend; the paper's spelling.
    pub label: String,
    /// The protocol.
    pub protocol: Name,
    /// The variant of the machine, where it is not the machine as it is.
    pub variant: Option<Name>,
}

/// The names that experiments may use.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames<'a> {
    /// The systems.
    pub systems: &'a [&'a str],
    /// The protocols.
    pub protocols: &'a [&'a str],
    /// The workloads.
    pub workloads: &'a [&'a str],
}

impl Experiment {
    /// Reads and checks an experiment; `file` is its name in messages.
    pub fn read(file: &str, text: &str, known: &KnownNames<'_>) -> Result<Experiment, DocumentError> {
        let document = Document { name: file, text };
        let experiment: Experiment = document.read()?;
        experiment.check(&document, known)?;
        Ok(experiment)
    }

    fn check(&self, document: &Document<'_>, known: &KnownNames<'_>) -> Result<(), DocumentError> {
        // The name becomes that of the report's file.
        let safe = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(safe) {
            return Err(document.mistake(0..0, "key `name`: expected lower-case letters, digits and hyphens"));
        }
        if !is_path(&self.system) {
            document.check_known("system", &self.system, known.systems)?;
        }
        document.check_unique("matrix", self.matrices.iter().map(|matrix| &matrix.name))?;
        document.check_unique("figure", self.figures.iter().map(|figure| &figure.id))?;
        for matrix in &self.matrices {
            matrix.check(document, known)?;
        }
        for figure in &self.figures {
            self.check_figure(figure, document)?;
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

    fn check_figure(&self, figure: &Figure, document: &Document<'_>) -> Result<(), DocumentError> {
        let names: Vec<&str> = self.matrices.iter().map(|matrix| &*matrix.name).collect();
        for matrix in &figure.matrices {
            document.check_known("matrix", matrix, &names)?;
        }
        let matrices = self.matrices_of(figure);
        let workloads: Vec<&str> = matrices.iter().flat_map(|matrix| &matrix.workloads).map(|name| &**name).collect();
        let protocols: BTreeSet<&str> =
            matrices.iter().flat_map(|matrix| &matrix.protocols).map(|name| &**name).collect();
        let protocols: Vec<&str> = protocols.into_iter().collect();
        let variants: Vec<&str> =
            matrices.iter().flat_map(|matrix| &matrix.variants).map(|variant| &*variant.name).collect();
        for workload in &figure.workloads {
            document.check_known("workload of the figure's matrices", workload, &workloads)?;
        }
        for protocol in figure.series.iter().map(|series| &series.protocol).chain([&figure.baseline]) {
            document.check_known("protocol of the figure's matrices", protocol, &protocols)?;
        }
        let named = figure.series.iter().filter_map(|series| series.variant.as_ref());
        for variant in named.chain(&figure.baseline_variant) {
            document.check_known("variant of the figure's matrices", variant, &variants)?;
        }
        let wrong =
            |message: &str| Err(document.mistake(figure.id.span(), format!("figure `{}` {message}", figure.id)));
        match (figure.chart, figure.measure, &figure.metric, figure.parts.len()) {
            _ if figure.series.is_empty() => wrong("has no `series`; expected at least one"),
            _ if figure.matrices.is_empty() => wrong("has no `matrices`; expected at least one"),
            (Chart::Bars, Measure::SpeedUp, None, 0) => Ok(()),
            (_, Measure::SpeedUp, ..) => wrong("is a speed-up: it takes `chart = \"bars\"`, no `metric` and no `part`"),
            (Chart::Bars, _, Some(_), 0) => Ok(()),
            (Chart::Bars, ..) => wrong("is a ratio in plain bars: it takes a `metric` and no `part`"),
            (Chart::StackedBars, _, None, 1..) if figure.mean == Mean::Arithmetic => Ok(()),
            (Chart::StackedBars, ..) => wrong(
                "is stacked: it takes `part`s, no `metric`, and `mean = \"arithmetic\"`, under which parts add up",
            ),
        }
    }

    /// The figure that stands for the paper.
    pub fn headline(&self) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.headline)
    }

    /// Every run of every matrix, without repetition, in the order of the file.
    pub fn runs(&self, scale: Scale) -> Vec<RunSpec> {
        let mut runs = Vec::new();
        for matrix in &self.matrices {
            for (workload, protocol) in matrix
                .workloads
                .iter()
                .flat_map(|workload| matrix.protocols.iter().map(move |protocol| (workload, protocol)))
            {
                for set in matrix.sets() {
                    runs.extend(matrix.seeds.iter().map(|&seed| self.run(workload, protocol, set, seed, scale)));
                }
            }
        }
        without_repetition(runs)
    }

    /// The runs that one figure needs, without repetition.
    pub fn runs_of(&self, figure: &Figure, scale: Scale) -> Vec<RunSpec> {
        let series = figure.series.iter().map(|series| (&*series.protocol, series.variant.as_deref()));
        let shown: Vec<_> = series.chain([(&*figure.baseline, figure.baseline_variant.as_deref())]).collect();
        let workloads = self.workloads_of(figure);
        let runs = workloads.iter().flat_map(|workload| {
            shown.iter().flat_map(|&(protocol, variant)| self.runs_for(figure, workload, protocol, variant, scale))
        });
        without_repetition(runs.collect())
    }

    /// The workloads of a figure, in the order in which it shows them.
    pub fn workloads_of(&self, figure: &Figure) -> Vec<String> {
        let mut workloads: Vec<String> = Vec::new();
        let all = self.matrices_of(figure).into_iter().flat_map(|matrix| &matrix.workloads);
        let chosen: Vec<&Name> =
            if figure.workloads.is_empty() { all.collect() } else { figure.workloads.iter().collect() };
        for workload in chosen {
            if !workloads.iter().any(|seen| **seen == **workload) {
                workloads.push(workload.to_string());
            }
        }
        workloads
    }

    /// The runs behind one bar of a figure, one per seed; none where no matrix of the figure has that point.
    pub fn runs_for(
        &self,
        figure: &Figure,
        workload: &str,
        protocol: &str,
        variant: Option<&str>,
        scale: Scale,
    ) -> Vec<RunSpec> {
        let has = |names: &[Name], name: &str| names.iter().any(|candidate| &**candidate == name);
        for matrix in self.matrices_of(figure) {
            let set = match variant {
                None if matrix.variants.is_empty() => Some(&[] as &[String]),
                None => None,
                Some(name) => {
                    let found = matrix.variants.iter().find(|variant| &*variant.name == name);
                    found.map(|variant| variant.set.as_slice())
                }
            };
            if let Some(set) = set.filter(|_| has(&matrix.workloads, workload) && has(&matrix.protocols, protocol)) {
                return matrix.seeds.iter().map(|&seed| self.run(workload, protocol, set, seed, scale)).collect();
            }
        }
        Vec::new()
    }

    fn matrices_of(&self, figure: &Figure) -> Vec<&Matrix> {
        let named = |name: &Name| self.matrices.iter().find(move |matrix| *matrix.name == **name);
        figure.matrices.iter().filter_map(named).collect()
    }

    fn run(&self, workload: &str, protocol: &str, set: &[String], seed: u64, scale: Scale) -> RunSpec {
        RunSpec {
            system: self.system.to_string(),
            protocol: protocol.to_owned(),
            workload: workload.to_owned(),
            scale,
            seed,
            set: set.to_vec(),
        }
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
        for workload in &self.workloads {
            document.check_known("workload", workload, known.workloads)?;
        }
        for protocol in &self.protocols {
            document.check_known("protocol", protocol, known.protocols)?;
        }
        document.check_unique("workload", &self.workloads)?;
        document.check_unique("protocol", &self.protocols)?;
        document.check_unique("variant", self.variants.iter().map(|variant| &variant.name))
    }

    /// The overrides of each variant; a single empty one without variants.
    fn sets(&self) -> Vec<&[String]> {
        if self.variants.is_empty() {
            vec![&[]]
        } else {
            self.variants.iter().map(|variant| variant.set.as_slice()).collect()
        }
    }
}

/// Whether a system is given as a file and not by name, by the rule of `chorus-system`.
fn is_path(system: &str) -> bool {
    system.ends_with(".toml") || system.contains(['/', '\\'])
}

fn without_repetition(runs: Vec<RunSpec>) -> Vec<RunSpec> {
    let mut seen = BTreeSet::new();
    runs.into_iter().filter(|run| seen.insert(run.clone())).collect()
}
