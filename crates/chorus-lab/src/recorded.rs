//! Results of a headline figure at larger scales, recorded beside the experiment.
//!
//! Runs at the paper's size take hours, and few readers repeat them. `papers/NAME/results.csv` keeps what such runs
//! gave and cost, a row per run, with the revision and the configuration that gave it. Pages show these results beside
//! those at hand, and estimates of other runs are made from their costs.

use std::path::Path;

use chorus_system::Scale;
use serde::{Deserialize, Serialize};

use crate::annotate::Annotate;
use crate::claim::{self, Claim, Evaluation};
use crate::document::{Document, DocumentError};
use crate::experiment::Experiment;
use crate::export::ExportError;
use crate::figure::{FigureData, Results};
use crate::run::{Build, CheckResult, Outcome, Record, RunResult, RunSpec};

/// A run: what it was, what it gave and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The size of machine and input.
    pub scale: Scale,
    /// The machine on which it ran.
    pub system: String,
    /// The protocol that kept the caches coherent.
    pub protocol: String,
    /// The program that ran.
    pub workload: String,
    /// The seed of the input.
    pub seed: u64,
    /// Overrides, separated by spaces.
    pub changes: String,
    /// Core cycles that the program took.
    pub cycles: u64,
    /// Accesses to lines by all cores.
    pub accesses: u64,
    /// Processor time in seconds.
    pub processor_s: f64,
    /// The most memory that the process had used by the end of the run, in MiB.
    pub peak_mib: Option<u64>,
    /// The hash of the configuration.
    pub configuration: String,
    /// The version of Chorus.
    pub version: String,
    /// The git revision of Chorus.
    pub revision: String,
}

/// The recorded results of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    rows: Vec<Row>,
}

/// The headline figure at a recorded scale, what it says about the claims, and what it cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AtScale {
    /// The recorded scale of machine and inputs.
    pub scale: Scale,
    /// The headline figure at this scale.
    pub figure: FigureData,
    /// The claims that this figure answers.
    pub claims: Vec<Evaluation>,
    /// The number of runs.
    pub runs: usize,
    /// The processor time of all runs, in seconds.
    pub processor_s: f64,
    /// Accesses to lines of all runs.
    pub accesses: u64,
    /// The most memory that a process used, in MiB.
    pub peak_mib: Option<u64>,
    /// The revisions that made the runs.
    pub revisions: Vec<String>,
}

/// How far a ratio at one scale may lie from that at another for the smaller scale to be trusted.
pub const TOLERANCE: f64 = 0.1;

/// A bar of the headline figure at two scales.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TwoScales {
    /// The workload, or the name of the mean.
    pub workload: String,
    /// Whether it is a mean.
    pub is_mean: bool,
    /// The name of the bar.
    pub series: String,
    /// The height on this page.
    pub here: f64,
    /// The height at the recorded scale.
    pub there: f64,
}

impl TwoScales {
    /// How far the height on this page lies from the recorded one, as a share of that.
    pub fn error(&self) -> f64 {
        self.here / self.there - 1.0
    }

    /// Whether the two lie so near to each other that one predicts the other.
    pub fn predicts(&self) -> bool {
        self.error().abs() <= TOLERANCE
    }
}

/// The workloads of which a recorded figure has fewer bars than another: those that were not run at its scale.
pub fn missing(here: &FigureData, there: &FigureData) -> Vec<String> {
    let bars = |figure: &FigureData, label: &str| {
        let group = figure.workloads.iter().find(|group| group.label == label);
        group.map_or(0, |group| group.bars.iter().filter(|bar| bar.value().is_some()).count())
    };
    let labels = here.workloads.iter().map(|group| &group.label);
    labels.filter(|label| bars(there, label) < bars(here, label)).cloned().collect()
}

/// The bars that a figure has at both scales. Means are compared only if they are over the same workloads.
pub fn two_scales(here: &FigureData, there: &FigureData) -> Vec<TwoScales> {
    let means: &[_] = if missing(here, there).is_empty() { &here.means } else { &[] };
    let groups = here.workloads.iter().map(|group| (group, false)).chain(means.iter().map(|group| (group, true)));
    let bars = groups.flat_map(|(group, is_mean)| {
        let other = there.workloads.iter().chain(&there.means).find(|other| other.label == group.label);
        here.series.iter().enumerate().filter_map(move |(index, series)| {
            let (here, there) = (group.bars.get(index)?.value()?, other?.bars.get(index)?.value()?);
            Some(TwoScales { workload: group.label.clone(), is_mean, series: series.full_label(), here, there })
        })
    });
    bars.collect()
}

impl AtScale {
    /// The cost of the runs, in a sentence without its full stop.
    pub fn cost(&self) -> String {
        let memory = self.peak_mib.map_or_else(String::new, |mib| format!(", {:.1} GiB at most", mib as f64 / 1024.0));
        format!(
            "{} runs, {:.1} processor hours, {:.1} billion accesses{memory}, revision {}",
            self.runs,
            self.processor_s / 3600.0,
            self.accesses as f64 / 1e9,
            self.revisions.join(", ")
        )
    }
}

impl Row {
    /// The run that the row is about.
    fn run(&self) -> (Scale, &str, &str, &str, u64, &str) {
        (self.scale, &self.workload, &self.protocol, &self.system, self.seed, &self.changes)
    }

    /// The row of a run that gave a right result.
    fn of(record: &Record) -> Option<Row> {
        let result = record.result().filter(|_| record.trouble().is_none())?;
        let RunSpec { system, protocol, workload, scale, seed, set, .. } = &record.spec;
        Some(Row {
            scale: *scale,
            system: system.clone(),
            protocol: protocol.clone(),
            workload: workload.clone(),
            seed: *seed,
            changes: set.join(" "),
            cycles: result.cycles,
            accesses: result.accesses,
            processor_s: (result.user_s * 100.0).round() / 100.0,
            peak_mib: result.peak_rss_bytes.map(|bytes| bytes >> 20),
            configuration: record.config_hash.clone(),
            version: record.build.chorus_version.clone(),
            revision: record.build.git_revision.clone(),
        })
    }

    fn spec(&self) -> RunSpec {
        RunSpec {
            system: self.system.clone(),
            protocol: self.protocol.clone(),
            workload: self.workload.clone(),
            scale: self.scale,
            seed: self.seed,
            set: self.changes.split_whitespace().map(str::to_owned).collect(),
            graph: None,
            annotate: Annotate::Hand,
            observed: false,
        }
    }

    /// The run with what is known of its result. Its counters were not recorded.
    fn record(&self) -> Record {
        let build = Build { chorus_version: self.version.clone(), git_revision: self.revision.clone() };
        let result = RunResult {
            spec: self.spec(),
            parameters: Default::default(),
            sizes: Default::default(),
            graph: None,
            config_hash: self.configuration.clone(),
            config_text: String::new(),
            chorus_version: self.version.clone(),
            git_revision: self.revision.clone(),
            cycles: self.cycles,
            simulated_ns: 0.0,
            wall_s: self.processor_s,
            user_s: self.processor_s,
            peak_rss_bytes: self.peak_mib.map(|mib| mib << 20),
            accesses: self.accesses,
            result: CheckResult::Pass,
            metrics: Default::default(),
            kernels: Vec::new(),
            readings: Default::default(),
            notes: crate::notes::Notes::default(),
        };
        let config_hash = self.configuration.clone();
        Record { spec: self.spec(), config_hash, build, outcome: Outcome::Finished(Box::new(result)) }
    }
}

impl Recorded {
    /// Reads rows from CSV; `file` is its name in messages.
    pub fn read(file: &str, text: &str) -> Result<Recorded, DocumentError> {
        let document = Document { name: file, text };
        let mistake = |error: csv::Error| {
            let start = error.position().map_or(0, |position| position.byte() as usize).min(text.len());
            document.mistake(start..start, format!("not a row of recorded results: {error}"))
        };
        let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize().collect::<Result<Vec<Row>, _>>();
        Ok(Recorded { rows: rows.map_err(mistake)? })
    }

    /// The runs that gave a right result.
    pub fn of(records: &[Record]) -> Recorded {
        Recorded { rows: records.iter().filter_map(Row::of).collect() }
    }

    /// These rows, and the newer ones, each in place of the row of the same run. Runs that take long can thus be made
    /// on several days. Each row names its revision.
    pub fn updated(self, newer: Recorded) -> Recorded {
        let is_replaced = |row: &Row| newer.rows.iter().any(|new| new.run() == row.run());
        let mut rows: Vec<Row> = self.rows.into_iter().filter(|row| !is_replaced(row)).collect();
        rows.extend(newer.rows);
        rows.sort_by(|a, b| a.run().cmp(&b.run()));
        Recorded { rows }
    }

    /// Writes all rows as CSV.
    pub fn write(&self, path: &Path) -> Result<(), ExportError> {
        let unwritable = |reason: String| ExportError::Unwritable { path: path.to_owned(), reason };
        let mut writer = csv::Writer::from_path(path).map_err(|error| unwritable(error.to_string()))?;
        self.rows.iter().try_for_each(|row| writer.serialize(row)).map_err(|error| unwritable(error.to_string()))?;
        writer.flush().map_err(|error| unwritable(error.to_string()))
    }

    /// The runs, as far as their results were recorded.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.rows.iter().map(Row::record)
    }

    /// The headline figure at every recorded scale, or at all but one.
    pub fn figures(&self, experiment: &Experiment, claims: &[Claim], but: Option<Scale>) -> Vec<AtScale> {
        let recorded = |scale: &Scale| Some(*scale) != but && self.rows.iter().any(|row| row.scale == *scale);
        Scale::ALL.into_iter().filter(recorded).filter_map(|scale| self.at(experiment, claims, scale)).collect()
    }

    fn at(&self, experiment: &Experiment, claims: &[Claim], scale: Scale) -> Option<AtScale> {
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.scale == scale).collect();
        let records: Vec<Record> = rows.iter().map(|row| row.record()).collect();
        let figure = experiment.headline()?;
        let is_answered = |claim: &&Claim| claim.measured.as_ref().is_some_and(|it| *it.figure == *figure.id);
        let claims: Vec<Claim> = claims.iter().filter(is_answered).cloned().collect();
        let figure = FigureData::compute(experiment, figure, scale, &Results::new(&records));
        let mut revisions: Vec<String> = rows.iter().map(|row| row.revision.clone()).collect();
        revisions.sort();
        revisions.dedup();
        Some(AtScale {
            scale,
            claims: claim::evaluate(&claims, std::slice::from_ref(&figure), &Default::default()),
            figure,
            runs: rows.len(),
            processor_s: rows.iter().map(|row| row.processor_s).sum(),
            accesses: rows.iter().map(|row| row.accesses).sum(),
            peak_mib: rows.iter().filter_map(|row| row.peak_mib).max(),
            revisions,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "scale,system,protocol,workload,seed,changes,cycles,accesses,processor_s,peak_mib,\
                          configuration,version,revision\n";

    fn rows(lines: &[&str]) -> Recorded {
        Recorded::read("results.csv", &format!("{HEADER}{}\n", lines.join("\n"))).unwrap()
    }

    #[test]
    fn a_run_replaces_its_own_row_and_no_other() {
        let older = rows(&[
            "paper,tc,mesi,bh,1,,440,60,0.3,118,69dd,0.1.0,aaa",
            "paper,tc,no-l1,bh,1,,970,60,0.3,118,69dd,0.1.0,aaa",
            "quick,tc,mesi,bh,1,,44,6,0.1,18,69dd,0.1.0,aaa",
        ]);
        let newer = rows(&["paper,tc,mesi,bh,1,,450,60,0.3,118,70dd,0.1.0,bbb"]);
        let updated = older.updated(newer);
        let cycles: Vec<(Scale, u64)> = updated.rows.iter().map(|row| (row.scale, row.cycles)).collect();
        assert_eq!(cycles, [(Scale::Quick, 44), (Scale::Paper, 450), (Scale::Paper, 970)]);
    }
}
