//! Measurements of a GPU as CSV files hold them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::description::Description;
use crate::document::{Document, DocumentError, read_file};

/// A row of the ladder: one number that a probe measured.
#[derive(Clone, Debug, Deserialize)]
pub struct LadderRow {
    /// The kind of probe.
    pub group: String,
    /// The name of the probe in its group.
    pub name: String,
    /// The value of what was varied: bytes, lanes, blocks.
    pub param: f64,
    /// The number that the GPU gave.
    pub value: f64,
    /// The unit of the number.
    pub unit: String,
}

/// A probe of the list, with the row that it is compared with.
#[derive(Clone, Debug, Deserialize)]
pub struct ProbeRow {
    /// The group of the row.
    pub group: String,
    /// The name of the row.
    pub name: String,
    /// The parameter of the row.
    pub param: f64,
    /// The program, relative to the list.
    pub program: String,
    /// The sizes of the program, as `key=value` with spaces between.
    pub sizes: String,
    /// How the number follows from the run.
    pub value: String,
    /// Whether `--quick` makes it as well.
    pub quick: bool,
}

impl ProbeRow {
    /// The title of the row in tables.
    pub fn title(&self) -> String {
        probe_title(&self.group, &self.name, self.param)
    }
}

/// The title of a probe in tables.
pub(super) fn probe_title(group: &str, name: &str, param: f64) -> String {
    format!("{group}: {name}, {param}")
}

/// A case of the suite's list.
#[derive(Clone, Debug, Deserialize)]
pub struct SuiteRow {
    /// The name of the kernel.
    pub kernel: String,
    /// The number of the size: 0, 1 or 2.
    pub size: u32,
    /// The program, relative to the list.
    pub program: String,
    /// The sizes of the program, as `key=value` with spaces between.
    pub sizes: String,
}

/// The times of a case of the suite.
#[derive(Clone, Debug, Deserialize)]
pub struct TimeRow {
    kernel: String,
    size: u32,
    us_warm_median: f64,
    us_cold_median: f64,
}

/// An outcome of a litmus test on the GPU.
#[derive(Clone, Debug, Deserialize)]
pub struct OutcomeRow {
    /// The name of the test.
    pub test: String,
    /// The scope of its operations, or `-`.
    pub scope: String,
    /// The kind of its operations.
    pub variant: String,
    /// Where its threads ran.
    pub placement: String,
    /// The values that it read, as `y=1;x=0`.
    pub outcome: String,
    /// How often it was seen.
    pub count: u64,
}

/// The state of the caches before a case of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caches {
    /// The kernel has run before.
    Warm,
    /// Nothing that the kernel needs is in a cache.
    Cold,
}

impl Caches {
    /// The word for it in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Caches::Warm => "warm",
            Caches::Cold => "cold",
        }
    }
}

/// A case of the suite: kernel, size and caches.
pub type CaseKey = (String, u32, Caches);

/// Everything that was measured.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The rows that probes are compared with.
    pub ladder: Vec<LadderRow>,
    /// Times of the suite in microseconds.
    pub times: BTreeMap<CaseKey, f64>,
    /// Counters of the suite by column.
    pub counters: BTreeMap<CaseKey, BTreeMap<String, f64>>,
    /// Outcomes of litmus tests.
    pub outcomes: Vec<OutcomeRow>,
}

impl Measured {
    /// Reads every file that a description names.
    pub fn read(description: &Description) -> Result<Measured, DocumentError> {
        let mut measured = Measured::default();
        for file in &description.ladder {
            measured.ladder.extend(rows::<LadderRow>(&description.path(file))?);
        }
        for row in rows::<TimeRow>(&description.path(&description.suite_time))? {
            measured.times.insert((row.kernel.clone(), row.size, Caches::Warm), row.us_warm_median);
            measured.times.insert((row.kernel, row.size, Caches::Cold), row.us_cold_median);
        }
        measured.counters = counters(&description.path(&description.suite_ncu))?;
        if let Some(file) = &description.litmus {
            measured.outcomes = rows(&description.path(file))?;
        }
        Ok(measured)
    }

    /// The mean of the rows with this group, name and parameter.
    pub fn row(&self, group: &str, name: &str, param: f64) -> Option<(f64, &str)> {
        let fits = |row: &&LadderRow| row.group == group && row.name == name && row.param == param;
        let found: Vec<&LadderRow> = self.ladder.iter().filter(fits).collect();
        let unit = &found.first()?.unit;
        Some((found.iter().map(|row| row.value).sum::<f64>() / found.len() as f64, unit))
    }
}

/// The rows of a CSV file as values of one type.
pub(super) fn rows<T: DeserializeOwned>(path: &str) -> Result<Vec<T>, DocumentError> {
    let text = read_file(path)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().collect::<Result<Vec<T>, _>>().map_err(|error| mistake(path, &text, &error))
}

fn mistake(path: &str, text: &str, error: &csv::Error) -> DocumentError {
    let start = error.position().map_or(0, |position| position.byte() as usize).min(text.len());
    Document { name: path, text }.mistake(start..start, format!("not a row of this file: {error}"))
}

/// The profiler's counters. Files that it wrote may have more columns in a row than in the header.
fn counters(path: &str) -> Result<BTreeMap<CaseKey, BTreeMap<String, f64>>, DocumentError> {
    let text = read_file(path)?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let failed = |error: csv::Error| mistake(path, &text, &error);
    let headers = reader.headers().map_err(failed)?.clone();
    let mut all = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(failed)?;
        let columns: BTreeMap<&str, &str> = headers.iter().zip(&record).collect();
        let text_of = |column: &str| columns.get(column).copied().unwrap_or_default();
        let caches = if text_of("caches") == "warm" { Caches::Warm } else { Caches::Cold };
        let key = (text_of("kernel").to_owned(), text_of("size").parse().unwrap_or(0), caches);
        let numbers = columns.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.parse().ok()?)));
        all.insert(key, numbers.collect());
    }
    Ok(all)
}
