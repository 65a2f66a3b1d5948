//! Validations: the simulator compared with measurements of a real GPU.
//!
//! A folder `hardware/NAME/` describes a validation: which machine and protocol stand for the GPU, and what was
//! measured on it. Probes are small programs that measure one property each; the suite is kernels whose times and
//! counters are compared. All of them run in the simulator as they ran on the GPU, and a page shows both side by side.

pub mod description;
pub mod measured;
mod page;
pub mod probe;
pub mod reasons;
mod scatter;
pub mod suite;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::description::Description;
use self::measured::{Measured, ProbeRow, SuiteRow, rows};
use self::probe::ProbeResult;
use self::reasons::Reasons;
use self::suite::{Agreement, CaseResult, CounterAgreement};
use crate::document::DocumentError;
use crate::matrix::{Lab, MatrixError};
use crate::run::{Record, RunSpec};

/// The version of the JSON that [`Validated::to_json`] writes.
pub const JSON_SCHEMA_VERSION: u32 = 1;

/// The seed of every run.
const SEED: u64 = 1;

/// The reason why a validation could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// A file of the validation cannot be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The runs could not be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The page or the predictions cannot be written.
    #[error("cannot write {}: {reason}; choose a directory that can be written", path.display())]
    Unwritable {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the operating system gives.
        reason: String,
    },
}

/// One outcome of a litmus test that was seen on the GPU, or that the machine reaches.
#[derive(Clone, Debug, serde::Serialize)]
pub struct LitmusVerdict {
    /// The test with its scope, variant and placement.
    pub test: String,
    /// Outcomes that were seen on the GPU.
    pub seen: usize,
    /// Seen outcomes that the memory model forbids.
    pub seen_forbidden: Vec<String>,
    /// Seen outcomes that the protocol does not reach. None: its machine was not explored.
    pub not_reached: Option<Vec<String>>,
    /// Outcomes that the protocol reaches and the memory model forbids.
    pub reached_forbidden: Vec<String>,
    /// The reason why the test says nothing.
    pub left_out: Option<String>,
}

impl LitmusVerdict {
    /// Whether nothing forbidden was seen or is reached.
    pub fn passes(&self) -> bool {
        self.seen_forbidden.is_empty() && self.reached_forbidden.is_empty()
    }
}

/// The results of a validation.
#[derive(Clone, Debug)]
pub struct Validated {
    /// The machine and the measurements that were compared.
    pub description: Description,
    /// The numbers of all probes, in the order of their list.
    pub probes: Vec<ProbeResult>,
    /// The cases of the suite.
    pub cases: Vec<CaseResult>,
    /// How well the times of the suite agree.
    pub agreements: Vec<Agreement>,
    /// How many cases have counters that agree.
    pub counters: Vec<CounterAgreement>,
    /// Reasons why numbers are off.
    pub reasons: Reasons,
    /// A verdict on each litmus test that ran on the GPU.
    pub litmus: Vec<LitmusVerdict>,
    /// The number of runs that were made now.
    pub ran: usize,
    /// The number of runs that the store already had.
    pub reused: usize,
    /// Whether it was stopped early.
    pub cancelled: bool,
}

/// The run of a program of a validation.
pub(crate) fn spec_of(description: &Description, program: &str, sizes: &str, more: &[String]) -> RunSpec {
    let sizes = sizes.split_whitespace().chain(more.iter().map(String::as_str));
    let set = description.set.iter().cloned().chain(sizes.map(|size| format!("workload.{size}")));
    RunSpec {
        system: description.system.clone(),
        protocol: description.protocol.clone(),
        workload: program.to_owned(),
        scale: description.scale,
        seed: SEED,
        set: set.collect(),
        graph: None,
        annotate: Default::default(),
        observed: false,
    }
}

/// Makes the runs of a validation and compares them with what was measured.
pub fn validate(
    description: Description,
    measured: &Measured,
    quick: bool,
    litmus: Vec<LitmusVerdict>,
    lab: &Lab<'_>,
) -> Result<Validated, ValidateError> {
    let probe_rows: Vec<ProbeRow> = rows(&description.path(&description.probes))?;
    let suite_rows: Vec<SuiteRow> = rows(&description.path(&description.suite))?;
    let reasons = reasons(&description, &probe_rows, &suite_rows, measured)?;
    let probes = probe::probes(&description, probe_rows, measured, quick);
    let cases = suite::cases(&description, suite_rows, quick);
    let specs = probes.iter().map(|probe| &probe.spec).chain(cases.iter().map(|case| &case.spec));
    let made = lab.run_all(&specs.cloned().collect::<Vec<_>>())?;
    let records: BTreeMap<&RunSpec, &Record> = made.records.iter().map(|record| (&record.spec, record)).collect();
    let probes: Vec<ProbeResult> =
        probes.iter().map(|probe| probe.judge(&description, measured, records.get(&probe.spec).copied())).collect();
    let cases: Vec<CaseResult> =
        cases.iter().map(|case| case.judge(&description, measured, records.get(&case.spec).copied())).collect();
    let agreements = suite::agreements(&cases);
    let counters = suite::counter_agreements(&cases, &description);
    let (ran, reused, cancelled) = (made.ran, made.reused, made.cancelled);
    Ok(Validated { description, probes, cases, agreements, counters, reasons, litmus, ran, reused, cancelled })
}

/// The reasons of a description. They may name every row of its lists, also those that `--quick` leaves out.
fn reasons(
    description: &Description,
    probes: &[ProbeRow],
    suite: &[SuiteRow],
    measured: &Measured,
) -> Result<Reasons, DocumentError> {
    let Some(file) = &description.reasons else { return Ok(Reasons::default()) };
    let is_measured = |row: &&ProbeRow| measured.row(&row.group, &row.name, row.param).is_some();
    let mut titles: Vec<String> = probes.iter().filter(is_measured).map(ProbeRow::title).collect();
    titles.extend(suite.iter().flat_map(|row| suite::titles(description, row)));
    Reasons::read(&description.path(file), &titles)
}

impl Validated {
    /// The groups of probes in order, with the probes of each.
    pub fn groups(&self) -> Vec<(&str, Vec<&ProbeResult>)> {
        let mut groups: Vec<(&str, Vec<&ProbeResult>)> = Vec::new();
        for probe in &self.probes {
            match groups.iter_mut().find(|(group, _)| *group == probe.group) {
                Some((_, probes)) => probes.push(probe),
                None => groups.push((&probe.group, vec![probe])),
            }
        }
        groups
    }

    /// Writes the page and the predictions into a directory. Returns their paths.
    pub fn write(&self, directory: &Path, name: &str, date: &str) -> Result<[PathBuf; 2], ValidateError> {
        let page = directory.join(format!("validation-{name}.html"));
        let predictions = directory.join(format!("predictions-{name}.csv"));
        let write = |path: &Path, text: String| {
            std::fs::create_dir_all(directory).and_then(|()| std::fs::write(path, text)).map_err(|error| {
                ValidateError::Unwritable { path: path.to_owned(), reason: error.to_string().to_lowercase() }
            })
        };
        write(&page, page::page(self, date))?;
        write(&predictions, suite::predictions(&self.cases))?;
        Ok([page, predictions])
    }

    /// The results as `chorus validate --json` prints them.
    pub fn to_json(&self) -> Value {
        json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "title": self.description.title,
            "system": self.description.system,
            "protocol": self.description.protocol,
            "probes": self.probes,
            "suite": self.cases,
            "agreement": self.agreements,
            "counters": self.counters,
            "litmus": self.litmus,
            "ran": self.ran,
            "reused": self.reused,
            "cancelled": self.cancelled,
        })
    }
}
