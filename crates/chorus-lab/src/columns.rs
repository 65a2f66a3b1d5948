//! Finished runs as columns of values, for exports and for programs that analyse tables.
//!
//! The long form has one row per run and metric. The whole run has its metrics in rows without a kernel. Each of its
//! kernels has rows of its own, with its cycles as the metric `cycles`. A run that gave no result has one row without a
//! metric, so that no run is lost. The time series of runs are a long form by themselves ([`Content`]), with one row
//! per run, metric and interval. The wide forms have one row per run or per kernel, and one column per metric.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::figure::CYCLES;
use crate::run::{KernelResult, Record, RunResult};

/// The part of each run that a long form has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The metrics of the run and of its kernels.
    Metrics,
    /// The growth of counters in each interval, of runs that have a time series.
    Series,
}

/// The values of a column from row to row. Any of them may be missing.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// Text, encoded in UTF-8.
    Text(Vec<Option<Cow<'a, str>>>),
    /// Counts from 0 to 2⁶⁴ - 1.
    Integer(Vec<Option<u64>>),
    /// Floating-point numbers of 64 bits.
    Number(Vec<Option<f64>>),
}

impl Values<'_> {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Number(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A table as its columns from left to right, each with its name. All of them have the same number of rows.
pub type Columns<'a> = Vec<(Cow<'a, str>, Values<'a>)>;

/// One run and one of its metrics.
#[derive(Clone, Copy, Debug)]
struct Row<'a> {
    record: &'a Record,
    kernel: Option<(u64, &'a KernelResult)>,
    metric: Option<(&'a str, f64)>,
    /// The core cycle at which an interval of a time series ends.
    interval_end: Option<u64>,
}

impl<'a> Row<'a> {
    fn of_run(record: &'a Record) -> Row<'a> {
        Row { record, kernel: None, metric: None, interval_end: None }
    }

    fn of_result<T>(&self, read: impl FnOnce(&'a RunResult) -> T) -> Option<T> {
        self.record.result().map(read)
    }
}

/// One column of the long form.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name of the column in the header.
    pub name: &'static str,
    read: Read,
}

/// The type of a column, and the value that a row has in it.
#[derive(Clone, Copy, Debug)]
enum Read {
    Text(for<'a> fn(&Row<'a>) -> Option<Cow<'a, str>>),
    Integer(fn(&Row<'_>) -> Option<u64>),
    Number(fn(&Row<'_>) -> Option<f64>),
}

impl Column {
    const fn text(name: &'static str, read: for<'a> fn(&Row<'a>) -> Option<Cow<'a, str>>) -> Column {
        Column { name, read: Read::Text(read) }
    }

    const fn integer(name: &'static str, read: fn(&Row<'_>) -> Option<u64>) -> Column {
        Column { name, read: Read::Integer(read) }
    }

    const fn number(name: &'static str, read: fn(&Row<'_>) -> Option<f64>) -> Column {
        Column { name, read: Read::Number(read) }
    }

    fn of<'a>(&self, rows: &[Row<'a>]) -> (Cow<'a, str>, Values<'a>) {
        let values = match self.read {
            Read::Text(read) => Values::Text(rows.iter().map(read).collect()),
            Read::Integer(read) => Values::Integer(rows.iter().map(read).collect()),
            Read::Number(read) => Values::Number(rows.iter().map(read).collect()),
        };
        (Cow::Borrowed(self.name), values)
    }
}

/// Columns that tell runs apart.
const IDENTITY: [Column; 11] = [
    Column::text("system", |row| Some(Cow::Borrowed(&row.record.spec.system))),
    Column::text("protocol", |row| Some(Cow::Borrowed(&row.record.spec.protocol))),
    Column::text("workload", |row| Some(Cow::Borrowed(&row.record.spec.workload))),
    Column::text("scale", |row| Some(Cow::Borrowed(row.record.spec.scale.name()))),
    Column::integer("seed", |row| Some(row.record.spec.seed)),
    Column::text("set", |row| Some(Cow::Owned(row.record.spec.set.join(" ")))),
    Column::text("annotate", |row| Some(Cow::Borrowed(row.record.spec.annotate.name()))),
    Column::text("parameters", |row| row.of_result(|run| Cow::Owned(parameters(run)))),
    Column::text("config_hash", |row| Some(Cow::Borrowed(&row.record.config_hash))),
    Column::text("chorus_version", |row| Some(Cow::Borrowed(&row.record.build.chorus_version))),
    Column::text("git_revision", |row| Some(Cow::Borrowed(&row.record.build.git_revision))),
];

/// Columns with the outcome of a run as a whole.
const OUTCOME: [Column; 7] = [
    Column::text("status", |row| Some(Cow::Borrowed(row.record.status()))),
    Column::text("message", |row| row.record.trouble().map(Cow::Borrowed)),
    Column::integer("cycles", |row| row.of_result(|run| run.cycles)),
    Column::number("simulated_ns", |row| row.of_result(|run| run.simulated_ns)),
    Column::number("wall_s", |row| row.of_result(|run| run.wall_s)),
    Column::number("user_s", |row| row.of_result(|run| run.user_s)),
    Column::integer("accesses", |row| row.of_result(|run| run.accesses)),
];

/// Columns with one metric of the run or of one of its kernels.
const METRIC: [Column; 5] = [
    Column::integer("kernel_index", |row| row.kernel.map(|(index, _)| index)),
    Column::text("kernel", |row| row.kernel.map(|(_, kernel)| Cow::Borrowed(kernel.name.as_str()))),
    Column::text("metric", |row| row.metric.map(|(name, _)| Cow::Borrowed(name))),
    Column::number("value", |row| row.metric.map(|(_, value)| value)),
    Column::integer("interval_end", |row| row.interval_end),
];

/// The parameters of a run's protocol as they are set: `lease.cycles=800 timestamp.bits=32`.
fn parameters(run: &RunResult) -> String {
    run.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// The rows of the time series of some runs.
fn series_rows(records: &[Record]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for record in records {
        let Some(series) = record.result().and_then(|result| result.notes.series.as_ref()) else { continue };
        for (name, growth) in &series.counters {
            let row = |(&end, &value)| Row {
                metric: Some((name.as_str(), value)),
                interval_end: Some(end),
                ..Row::of_run(record)
            };
            rows.extend(series.ends.iter().zip(growth).map(row));
        }
    }
    rows
}

/// The rows of the metrics of some runs.
fn metric_rows(records: &[Record]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for record in records {
        let before = rows.len();
        let row = |kernel, metric| Row { kernel, metric: Some(metric), ..Row::of_run(record) };
        if let Some(result) = record.result() {
            rows.extend(result.metrics.iter().map(|(name, &value)| row(None, (name.as_str(), value))));
            for (index, kernel) in (0..).zip(&result.kernels) {
                let of_kernel = Some((index, kernel));
                rows.push(row(of_kernel, (CYCLES, kernel.cycles as f64)));
                rows.extend(kernel.metrics.iter().map(|(name, &value)| row(of_kernel, (name.as_str(), value))));
            }
        }
        if rows.len() == before {
            rows.push(Row::of_run(record));
        }
    }
    rows
}

/// Runs in the long form. The columns are the same for any runs.
pub fn long(records: &[Record], content: Content) -> Columns<'_> {
    let rows = match content {
        Content::Metrics => metric_rows(records),
        Content::Series => series_rows(records),
    };
    IDENTITY.iter().chain(&OUTCOME).chain(&METRIC).map(|column| column.of(&rows)).collect()
}

/// A row per run. After the columns of the outcome come `set.KEY` for every override that some run has, as text,
/// `parameters.KEY` and `sizes.KEY`, and then every metric under its own name.
pub fn runs(records: &[Record]) -> Columns<'_> {
    let rows: Vec<Row<'_>> = records.iter().map(Row::of_run).collect();
    let mut columns: Columns<'_> = IDENTITY.iter().chain(&OUTCOME).map(|column| column.of(&rows)).collect();
    let results: Vec<Option<&RunResult>> = records.iter().map(Record::result).collect();
    let memory = results.iter().map(|result| result.and_then(|result| result.peak_rss_bytes)).collect();
    columns.push((Cow::Borrowed("peak_rss_bytes"), Values::Integer(memory)));
    let sets: Vec<BTreeMap<&str, &str>> = records.iter().map(overrides).collect();
    for key in union(sets.iter().map(|set| set.keys().copied())) {
        let values = sets.iter().map(|set| set.get(key).copied().map(Cow::Borrowed)).collect();
        columns.push((Cow::Owned(format!("set.{key}")), Values::Text(values)));
    }
    let parameters: Vec<_> = results.iter().map(|result| result.map(|result| &result.parameters)).collect();
    let sizes: Vec<_> = results.iter().map(|result| result.map(|result| &result.sizes)).collect();
    for (prefix, maps) in [("parameters", parameters), ("sizes", sizes)] {
        let named = by_key(&maps).map(|(key, values)| (format!("{prefix}.{key}"), values));
        columns.extend(named.map(|(name, values)| (Cow::Owned(name), Values::Integer(values))));
    }
    let metrics: Vec<_> = results.iter().map(|result| result.map(|result| &result.metrics)).collect();
    columns.extend(by_key(&metrics).map(|(key, values)| (Cow::Borrowed(key), Values::Number(values))));
    columns
}

/// A row per kernel of each run: the run that it belongs to, its place, its name, its cycles and its metrics.
pub fn kernels(records: &[Record]) -> Columns<'_> {
    let of_run = |record| {
        let kernels = (0..).zip(record_kernels(record));
        kernels.map(move |kernel| Row { kernel: Some(kernel), ..Row::of_run(record) })
    };
    let rows: Vec<Row<'_>> = records.iter().flat_map(of_run).collect();
    let [index, name, ..] = &METRIC;
    let mut columns: Columns<'_> = IDENTITY.iter().chain([index, name]).map(|column| column.of(&rows)).collect();
    let kernels: Vec<Option<&KernelResult>> = rows.iter().map(|row| row.kernel.map(|(_, kernel)| kernel)).collect();
    let cycles = kernels.iter().map(|kernel| kernel.map(|kernel| kernel.cycles)).collect();
    columns.push((Cow::Borrowed(CYCLES), Values::Integer(cycles)));
    let metrics: Vec<_> = kernels.iter().map(|kernel| kernel.map(|kernel| &kernel.metrics)).collect();
    columns.extend(by_key(&metrics).map(|(key, values)| (Cow::Borrowed(key), Values::Number(values))));
    columns
}

fn record_kernels(record: &Record) -> &[KernelResult] {
    record.result().map_or(&[], |result| &result.kernels)
}

/// The overrides of a run by their keys. Of several for one key the last one counts.
fn overrides(record: &Record) -> BTreeMap<&str, &str> {
    let set = record.spec.set.iter().filter_map(|text| text.split_once('='));
    set.map(|(key, value)| (key.trim(), value.trim())).collect()
}

/// All keys of some maps, each once and in order.
fn union<'a, K: IntoIterator<Item = &'a str>>(keys: impl Iterator<Item = K>) -> BTreeSet<&'a str> {
    keys.flatten().collect()
}

/// The values of some maps by their keys. A map that lacks a key has no value there.
fn by_key<'a, T: Copy>(maps: &[Option<&'a BTreeMap<String, T>>]) -> impl Iterator<Item = (&'a str, Vec<Option<T>>)> {
    let keys = union(maps.iter().flatten().map(|map| map.keys().map(String::as_str)));
    keys.into_iter().map(|key| (key, maps.iter().map(|map| map.and_then(|map| map.get(key).copied())).collect()))
}
