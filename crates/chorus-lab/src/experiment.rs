//! Run matrices and figures as data: `papers/NAME/experiment.toml`.
//!
//! A matrix is every workload under every protocol, in every variant, for every seed. A figure names its matrices, its
//! protocols and its measure. Several figures may use the same run, which is made once.

mod check;
mod coverage;
mod multiples;
mod sets;
mod smaller;

use std::collections::{BTreeMap, BTreeSet};

use chorus_system::Scale;
use serde::Deserialize;

use crate::annotate::Annotate;
use crate::document::{Document, DocumentError, Name};
use crate::note::{self, Note};
use crate::run::RunSpec;
use crate::stats::Mean;
use crate::why::stage::Stage;

pub use sets::Sets;
use smaller::Smaller;
pub use smaller::SmallerInput;

/// The name of a protocol in a series that stands for the baseline of each workload, where workloads have different
/// ones.
pub const BASELINE: &str = "baseline";

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
    /// The machine of all runs whose variant names no other.
    pub system: Name,
    /// The notes of the file as they are written.
    #[serde(default, rename = "notes")]
    note_texts: Vec<Name>,
    /// The notes on the page: choices, and explanations of what was measured.
    #[serde(skip)]
    pub notes: Vec<Note>,
    /// Named sets of workloads. A list of workloads contains a set as `"@NAME"`.
    #[serde(default)]
    pub sets: Sets,
    /// The inputs of workloads that would take too long at a scale.
    #[serde(default)]
    smaller: Vec<Smaller>,
    /// The runs, as matrices of workloads and protocols.
    #[serde(rename = "matrix")]
    pub matrices: Vec<Matrix>,
    /// The figures that are drawn from the runs.
    #[serde(rename = "figure")]
    pub figures: Vec<Figure>,
}

/// A set of runs: workloads × protocols × variants × seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// The name by which figures refer to it.
    pub name: Name,
    /// The programs, after their sets are replaced by their workloads.
    pub workloads: Vec<Name>,
    /// The protocols under which every program runs.
    pub protocols: Vec<Name>,
    /// The protocol to which figures without a baseline of their own normalise these workloads.
    pub baseline: Option<Name>,
    /// The seeds of the generated inputs. Figures use the mean over them.
    #[serde(default = "one_seed")]
    pub seeds: Vec<u64>,
    /// Core cycles by which memory latencies vary from seed to seed (`timing.jitter`). They do not unless it is given.
    #[serde(default)]
    pub jitter: u32,
    /// Whether the accesses of its runs are observed, for figures of what they waited for.
    #[serde(default)]
    pub observed: bool,
    /// Variants of the machine or of the protocol's parameters. Without any, both are as they are.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
}

fn one_seed() -> Vec<u64> {
    vec![1]
}

/// A named change of the machine, of the protocol's parameters or of the annotations of kernels: one point of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The name by which figures refer to it.
    pub name: Name,
    /// The machine, where it is not the experiment's.
    pub system: Option<Name>,
    /// The size of machine and input, where it is not the one asked for.
    pub scale: Option<Scale>,
    /// The source of the annotations of kernels, where it is not the workload.
    #[serde(default)]
    pub annotate: Annotate,
    /// Overrides in the words of `--set`: `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Keys of the system whose values are multiplied. Such a sweep fits the machine at every scale.
    #[serde(default)]
    pub times: BTreeMap<String, f64>,
    /// The products of `times` as overrides, at each scale.
    #[serde(skip)]
    multiples: BTreeMap<Scale, Vec<String>>,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chart {
    /// A group of bars per workload, one bar per series.
    Bars,
    /// A group of bars per workload, each bar split into parts.
    StackedBars,
    /// A line per workload with one point per series. Where the series name their `line`, a line of means for each of
    /// these.
    Lines,
    /// A point per workload and series, placed by the figure's marker.
    Scatter,
}

/// The meaning of a bar's height, or of the height of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Cycles of the baseline over cycles.
    SpeedUp,
    /// The metric over that of the baseline.
    Ratio,
    /// The metric per simulated time over that of the baseline: energy becomes power.
    RatioOfRates,
    /// The metric over the sum of others of the same run, those of `per`. It is zero where nothing was counted at all.
    Quotient,
    /// A quotient that does not exist where nothing was counted: so many of one thing for each of another.
    Average,
    /// A quotient over that of the baseline.
    RatioOfQuotients,
    /// The speed-up over the `cost` of the series, in multiples of the baseline's.
    SpeedUpPerCost,
    /// The metric per nanosecond of simulated time: bytes become GB/s.
    Rate,
    /// The metric itself, relative to nothing.
    Count,
    /// The cycles of latency of all accesses over those of the baseline, by what the accesses waited for. Such bars are
    /// stacked, and their parts are [`Stage::ALL`].
    Latency,
}

impl Measure {
    /// Whether it compares with a baseline.
    pub fn is_relative(self) -> bool {
        match self {
            Measure::SpeedUp
            | Measure::SpeedUpPerCost
            | Measure::Ratio
            | Measure::RatioOfRates
            | Measure::RatioOfQuotients
            | Measure::Latency => true,
            Measure::Quotient | Measure::Average | Measure::Rate | Measure::Count => false,
        }
    }

    /// Whether it divides by other metrics of the same run.
    pub fn is_quotient(self) -> bool {
        matches!(self, Measure::Quotient | Measure::Average | Measure::RatioOfQuotients)
    }

    /// Whether it is about time alone and takes no metric.
    pub fn is_of_time(self) -> bool {
        matches!(self, Measure::SpeedUp | Measure::SpeedUpPerCost)
    }
}

/// Which groups a figure shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// One group per workload, then their means.
    #[default]
    WorkloadsAndMean,
    /// One group per workload, and no mean.
    Workloads,
    /// The means, and no workload.
    Mean,
}

/// A figure of the paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The paper's number, such as `7a`. Claims and notes refer to it.
    pub id: Name,
    /// The title above the figure.
    pub title: String,
    /// The title of the vertical axis, with its unit or baseline.
    pub axis: String,
    /// The title of the horizontal axis of lines and points, with its unit.
    pub swept: Option<String>,
    /// A remark below the figure: the meaning of its bars, and its differences from the paper's figure.
    #[serde(default)]
    pub caption: String,
    /// Whether it is the figure that stands for the paper. An experiment has exactly one.
    #[serde(default)]
    pub headline: bool,
    /// Whether it stands beside the headline figure, and is made whenever that is.
    #[serde(default)]
    pub beside_headline: bool,
    /// The matrices that it draws from.
    pub matrices: Vec<Name>,
    /// The workloads shown. Without any, all of the matrices are.
    #[serde(default)]
    pub workloads: Vec<Name>,
    /// How it is drawn.
    pub chart: Chart,
    /// The meaning of the heights of bars and points.
    pub measure: Measure,
    /// The metric of points and of bars that are not stacked.
    pub metric: Option<Name>,
    /// Metrics that are subtracted from `metric`.
    #[serde(default)]
    pub less: Vec<Name>,
    /// The metrics by whose sum a quotient divides.
    #[serde(default)]
    pub per: Vec<Name>,
    /// The parts of stacked bars, from the bottom.
    #[serde(default, rename = "part")]
    pub parts: Vec<Part>,
    /// The protocol to which everything is normalised. Without it, each workload is normalised to the baseline of its
    /// matrix.
    pub baseline: Option<Name>,
    /// The variant in which the baseline runs, where it runs in one.
    pub baseline_variant: Option<Name>,
    /// The bars of each group, or the points of each line.
    pub series: Vec<Series>,
    /// The mean that is taken over workloads.
    pub mean: Mean,
    /// Groups of workloads, each with a mean of its own. Without any, there is one mean over all workloads.
    #[serde(default)]
    pub mean_over: Vec<MeanOver>,
    /// A place on each line, or the place of each point on the horizontal axis.
    pub marker: Option<Marker>,
    /// The groups that are shown: workloads, means or both.
    #[serde(default)]
    pub show: Show,
}

/// One part of a stacked bar.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name of the part in the legend.
    pub label: String,
    /// The metric that is the height of the part.
    pub metric: Name,
}

/// One bar of every group, or one point of every line.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The name in the legend, or below the axis of lines, in the paper's spelling.
    pub label: String,
    /// The protocol, or [`BASELINE`].
    pub protocol: Name,
    /// Protocols to choose from. Where there are any, the bar of a workload is that of the fastest one, and `protocol`
    /// is a name for the choice.
    #[serde(default)]
    pub best_of: Vec<Name>,
    /// The variant in which the protocol runs, where it runs in one.
    pub variant: Option<Name>,
    /// The variant in which the baseline of the series runs, where it is not the figure's.
    pub baseline_variant: Option<Name>,
    /// The cost of the series, in multiples of the baseline's.
    pub cost: Option<f64>,
    /// The place on the horizontal axis, where the chart has lines.
    pub at: Option<f64>,
    /// The line of the point, where lines are not those of workloads.
    pub line: Option<String>,
}

/// Workloads over which a mean is taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanOver {
    /// The name of these workloads.
    pub label: String,
    /// The matrices whose workloads they are.
    pub matrices: Vec<Name>,
    /// The mean, where it is not the figure's.
    pub mean: Option<Mean>,
}

/// A place on the horizontal axis for each workload: one metric of another protocol's run over a second metric of that
/// run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// The meaning of the place, for the legend.
    pub label: String,
    /// The protocol whose run gives the place.
    pub protocol: Name,
    /// The metric that is divided.
    pub metric: Name,
    /// The metric by which it is divided.
    pub per: Name,
}

/// The names that experiments may use.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames<'a> {
    /// The names of all systems.
    pub systems: &'a [&'a str],
    /// The names of all protocols.
    pub protocols: &'a [&'a str],
    /// The names of all workloads.
    pub workloads: &'a [&'a str],
    /// The names of all metrics.
    pub metrics: &'a [&'a str],
}

impl Experiment {
    /// Reads and checks an experiment; `file` is its name in messages.
    pub fn read(file: &str, text: &str, known: &KnownNames<'_>) -> Result<Experiment, DocumentError> {
        let document = Document { name: file, text };
        let mut experiment: Experiment = document.read()?;
        experiment.expand_sets(&document, known)?;
        experiment.figures.iter_mut().for_each(Figure::add_stages);
        experiment.check(&document, known)?;
        experiment.find_multiples(&document)?;
        experiment.notes = note::read_strings(&document, &experiment.note_texts, &experiment)?;
        Ok(experiment)
    }

    fn expand_sets(&mut self, document: &Document<'_>, known: &KnownNames<'_>) -> Result<(), DocumentError> {
        self.sets.settle(document, known)?;
        let of_matrices = self.matrices.iter_mut().map(|matrix| &mut matrix.workloads);
        let mut lists = of_matrices.chain(self.figures.iter_mut().map(|figure| &mut figure.workloads));
        lists.try_for_each(|workloads| self.sets.expand(document, workloads))
    }

    /// Repeats every run with `seeds` seeds, from 1 on, whose memory latencies vary by up to `jitter` core cycles. What
    /// is not given stays as it is.
    pub fn repeat(&mut self, seeds: Option<u64>, jitter: Option<u32>) {
        for matrix in &mut self.matrices {
            if let Some(seeds) = seeds {
                matrix.seeds = (1..=seeds).collect();
            }
            matrix.jitter = jitter.unwrap_or(matrix.jitter);
        }
    }

    /// The runs of the headline figure, and of the figures beside it.
    pub fn runs_of_headline(&self, scale: Scale) -> Vec<RunSpec> {
        let figures = self.figures.iter().filter(|figure| figure.is_of_headline());
        without_repetition(figures.flat_map(|figure| self.runs_of(figure, scale)).collect())
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
                for machine in self.machines(matrix, scale) {
                    runs.extend(matrix.seeds.iter().map(|&seed| self.run(&machine, workload, protocol, seed)));
                }
            }
        }
        without_repetition(runs)
    }

    /// The runs that one figure needs, without repetition.
    pub fn runs_of(&self, figure: &Figure, scale: Scale) -> Vec<RunSpec> {
        let series = figure
            .series
            .iter()
            .flat_map(|series| series.protocols().into_iter().map(|protocol| (protocol, series.variant.as_deref())));
        let marked = figure.marker.iter().map(|marker| (&*marker.protocol, None));
        let relative = figure.series.iter().filter(|_| figure.measure.is_relative());
        let baselines = relative.map(|series| (BASELINE, figure.baseline_variant_of(series)));
        let shown: Vec<_> = series.chain(baselines).chain(marked).collect();
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

    /// The workloads of a figure over which one of its means is taken.
    pub fn workloads_of_mean(&self, figure: &Figure, over: &MeanOver) -> Vec<String> {
        let of_matrices = |workload: &String| {
            let named = |matrix: &&Matrix| over.matrices.iter().any(|name| **name == *matrix.name);
            self.matrices.iter().filter(named).any(|matrix| has(&matrix.workloads, workload))
        };
        self.workloads_of(figure).into_iter().filter(of_matrices).collect()
    }

    /// The means of a figure: the kind, the label and the workloads of each.
    pub fn means_of(&self, figure: &Figure) -> Vec<(Mean, String, Vec<String>)> {
        if figure.show == Show::Workloads {
            return Vec::new();
        }
        let named = figure.mean_over.iter().map(|over| {
            let mean = over.mean.unwrap_or(figure.mean);
            (mean, format!("{} {}", mean.abbreviation(), over.label), self.workloads_of_mean(figure, over))
        });
        let means: Vec<(Mean, String, Vec<String>)> = named.collect();
        if means.is_empty() {
            let over = self.workloads_of(figure);
            return vec![(figure.mean, figure.mean.abbreviation().to_owned(), over)];
        }
        means
    }

    /// The protocol that a workload of a figure is normalised to.
    pub fn baseline_of<'a>(&'a self, figure: &'a Figure, workload: &str) -> Option<&'a str> {
        let of_matrix = || {
            let matrices = self.matrices_of(figure).into_iter().filter(|matrix| has(&matrix.workloads, workload));
            matrices.filter_map(|matrix| matrix.baseline.as_ref()).next()
        };
        figure.baseline.as_ref().or_else(of_matrix).map(|name| &**name)
    }

    /// The runs behind one bar of a figure, one per seed. There are none where no matrix of the figure has that point.
    pub fn runs_for(
        &self,
        figure: &Figure,
        workload: &str,
        protocol: &str,
        variant: Option<&str>,
        scale: Scale,
    ) -> Vec<RunSpec> {
        let baseline = if protocol == BASELINE { self.baseline_of(figure, workload) } else { None };
        let protocol = baseline.unwrap_or(protocol);
        for matrix in self.matrices_of(figure) {
            let machine = match variant {
                None => matrix.variants.is_empty().then(|| self.machine(matrix, None, scale)),
                Some(name) => {
                    let found = matrix.variants.iter().find(|variant| &*variant.name == name);
                    found.map(|variant| self.machine(matrix, Some(variant), scale))
                }
            };
            let is_there = has(&matrix.workloads, workload) && has(&matrix.protocols, protocol);
            if let Some(machine) = machine.filter(|_| is_there) {
                return matrix.seeds.iter().map(|&seed| self.run(&machine, workload, protocol, seed)).collect();
            }
        }
        Vec::new()
    }

    fn matrices_of(&self, figure: &Figure) -> Vec<&Matrix> {
        let named = |name: &Name| self.matrices.iter().find(move |matrix| *matrix.name == **name);
        figure.matrices.iter().filter_map(named).collect()
    }

    /// The machines of a matrix: one for each variant, or the experiment's own.
    fn machines(&self, matrix: &Matrix, scale: Scale) -> Vec<Machine> {
        if matrix.variants.is_empty() {
            vec![self.machine(matrix, None, scale)]
        } else {
            matrix.variants.iter().map(|variant| self.machine(matrix, Some(variant), scale)).collect()
        }
    }

    /// The machine of a variant of a matrix where `scale` is asked for.
    fn machine(&self, matrix: &Matrix, variant: Option<&Variant>, scale: Scale) -> Machine {
        let scale = variant.and_then(|variant| variant.scale).unwrap_or(scale);
        let jitter = (matrix.jitter > 0).then(|| format!("timing.jitter={}", matrix.jitter));
        let set = jitter.into_iter().chain(variant.into_iter().flat_map(|variant| variant.overrides(scale))).collect();
        let annotate = variant.map_or(Annotate::Hand, |variant| variant.annotate);
        let system = self.system_of(variant).to_string();
        Machine { system, scale, set, annotate, observed: matrix.observed }
    }

    /// One run on a machine, with the input that the workload has at its scale.
    fn run(&self, machine: &Machine, workload: &str, protocol: &str, seed: u64) -> RunSpec {
        let Machine { system, scale, set, annotate, observed } = machine;
        RunSpec {
            system: system.clone(),
            protocol: protocol.to_owned(),
            workload: workload.to_owned(),
            scale: *scale,
            seed,
            graph: None,
            annotate: *annotate,
            observed: *observed,
            set: set.iter().cloned().chain(self.smaller_sizes(workload, *scale)).collect(),
        }
    }

    /// The system of a variant.
    fn system_of<'a>(&'a self, variant: Option<&'a Variant>) -> &'a Name {
        variant.and_then(|variant| variant.system.as_ref()).unwrap_or(&self.system)
    }
}

impl Series {
    /// The name of a bar or point where it stands alone: `LINE, LABEL` where it is a point of a named line.
    pub fn full_label(&self) -> String {
        full_label(&self.line, &self.label)
    }

    /// The protocol of the series, or those that it chooses from.
    pub fn protocols(&self) -> Vec<&str> {
        match self.best_of.as_slice() {
            [] => vec![&*self.protocol],
            choices => choices.iter().map(|name| &**name).collect(),
        }
    }
}

impl Figure {
    /// Gives a figure of latency its parts, unless it has some by mistake.
    fn add_stages(&mut self) {
        if self.measure == Measure::Latency && self.parts.is_empty() {
            let metric = |stage: Stage| self.id.renamed(stage.metric().to_owned());
            let part = |stage: Stage| Part { label: stage.name().to_owned(), metric: metric(stage) };
            self.parts = Stage::ALL.map(part).into();
        }
    }

    /// Whether it is made where only headlines are.
    pub fn is_of_headline(&self) -> bool {
        self.headline || self.beside_headline
    }

    /// The variant in which the baseline of a series runs.
    pub fn baseline_variant_of<'a>(&'a self, series: &'a Series) -> Option<&'a str> {
        series.baseline_variant.as_ref().or(self.baseline_variant.as_ref()).map(|name| &**name)
    }
}

/// A machine with everything that a run on it has besides workload, protocol and seed.
struct Machine {
    system: String,
    scale: Scale,
    set: Vec<String>,
    annotate: Annotate,
    observed: bool,
}

impl Variant {
    /// The overrides of the variant: those of `set`, then the products of `times`.
    fn overrides(&self, scale: Scale) -> Vec<String> {
        self.set.iter().chain(self.multiples.get(&scale).into_iter().flatten()).cloned().collect()
    }
}

/// The name of a bar or point where it stands alone.
pub(crate) fn full_label(line: &Option<String>, label: &str) -> String {
    match line {
        Some(line) => format!("{line}, {label}"),
        None => label.to_owned(),
    }
}

fn has(names: &[Name], name: &str) -> bool {
    names.iter().any(|candidate| &**candidate == name)
}

fn without_repetition(runs: Vec<RunSpec>) -> Vec<RunSpec> {
    let mut seen = BTreeSet::new();
    runs.into_iter().filter(|run| seen.insert(run.clone())).collect()
}
