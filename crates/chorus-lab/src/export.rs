//! Finished runs as CSV and Parquet, in long form: one row per run and metric.
//!
//! The whole run has its metrics in rows without a kernel. Each of its kernels has rows of its own, with its cycles as
//! the metric `cycles`. A run that gave no result has one row without a metric, so that no run is lost. Both formats
//! have the columns of [`COLUMNS`], declared once. The time series of runs are exported by themselves ([`Content`]),
//! with one row per run, metric and interval.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::figure::CYCLES;
use crate::run::{KernelResult, Record, RunResult};

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file cannot be written.
    #[error("cannot write {}: {reason}", path.display())]
    Unwritable {
        /// The file that cannot be written.
        path: PathBuf,
        /// The reason as the system gives it.
        reason: String,
    },
    /// The data cannot be encoded.
    #[error("cannot encode Parquet: {0}")]
    Parquet(#[from] ParquetError),
}

/// The part of each run that an export has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The metrics of the run and of its kernels.
    Metrics,
    /// The growth of counters in each interval, of runs that have a time series.
    Series,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Text, encoded in UTF-8.
    Text,
    /// A count from 0 to 2⁶⁴ - 1.
    Integer,
    /// A floating-point number of 64 bits.
    Number,
}

/// One column of an export. In Parquet every column is optional.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name of the column in the header.
    pub name: &'static str,
    /// The type of its values.
    pub kind: ColumnKind,
    cell: for<'a> fn(&Row<'a>) -> Cell<'a>,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
enum Cell<'a> {
    Empty,
    Text(std::borrow::Cow<'a, str>),
    Integer(u64),
    Number(f64),
}

impl<'a> Cell<'a> {
    fn text(text: &'a str) -> Cell<'a> {
        Cell::Text(text.into())
    }

    fn or_empty<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell<'a>) -> Cell<'a> {
        value.map_or(Cell::Empty, cell)
    }
}

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
    fn result(&self) -> Option<&'a RunResult> {
        self.record.result()
    }
}

const fn column(name: &'static str, kind: ColumnKind, cell: for<'a> fn(&Row<'a>) -> Cell<'a>) -> Column {
    Column { name, kind, cell }
}

/// The columns in order.
pub const COLUMNS: &[Column] = &[
    column("system", ColumnKind::Text, |row| Cell::text(&row.record.spec.system)),
    column("protocol", ColumnKind::Text, |row| Cell::text(&row.record.spec.protocol)),
    column("workload", ColumnKind::Text, |row| Cell::text(&row.record.spec.workload)),
    column("scale", ColumnKind::Text, |row| Cell::text(row.record.spec.scale.name())),
    column("seed", ColumnKind::Integer, |row| Cell::Integer(row.record.spec.seed)),
    column("set", ColumnKind::Text, |row| Cell::Text(row.record.spec.set.join(" ").into())),
    column("annotate", ColumnKind::Text, |row| Cell::text(row.record.spec.annotate.name())),
    column("parameters", ColumnKind::Text, |row| {
        Cell::or_empty(row.result(), |run| Cell::Text(parameters(run).into()))
    }),
    column("config_hash", ColumnKind::Text, |row| Cell::text(&row.record.config_hash)),
    column("chorus_version", ColumnKind::Text, |row| Cell::text(&row.record.build.chorus_version)),
    column("git_revision", ColumnKind::Text, |row| Cell::text(&row.record.build.git_revision)),
    column("status", ColumnKind::Text, |row| Cell::text(row.record.status())),
    column("message", ColumnKind::Text, |row| Cell::or_empty(row.record.trouble(), Cell::text)),
    column("cycles", ColumnKind::Integer, |row| Cell::or_empty(row.result(), |run| Cell::Integer(run.cycles))),
    column("simulated_ns", ColumnKind::Number, |row| {
        Cell::or_empty(row.result(), |run| Cell::Number(run.simulated_ns))
    }),
    column("wall_s", ColumnKind::Number, |row| Cell::or_empty(row.result(), |run| Cell::Number(run.wall_s))),
    column("user_s", ColumnKind::Number, |row| Cell::or_empty(row.result(), |run| Cell::Number(run.user_s))),
    column("accesses", ColumnKind::Integer, |row| Cell::or_empty(row.result(), |run| Cell::Integer(run.accesses))),
    column("kernel_index", ColumnKind::Integer, |row| Cell::or_empty(row.kernel, |(index, _)| Cell::Integer(index))),
    column("kernel", ColumnKind::Text, |row| Cell::or_empty(row.kernel, |(_, kernel)| Cell::text(&kernel.name))),
    column("metric", ColumnKind::Text, |row| Cell::or_empty(row.metric, |(name, _)| Cell::text(name))),
    column("value", ColumnKind::Number, |row| Cell::or_empty(row.metric, |(_, value)| Cell::Number(value))),
    column("interval_end", ColumnKind::Integer, |row| Cell::or_empty(row.interval_end, Cell::Integer)),
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
                record,
                kernel: None,
                metric: Some((name.as_str(), value)),
                interval_end: Some(end),
            };
            rows.extend(series.ends.iter().zip(growth).map(row));
        }
    }
    rows
}

/// The rows of some runs.
fn rows(records: &[Record], content: Content) -> Vec<Row<'_>> {
    if content == Content::Series {
        return series_rows(records);
    }
    let mut rows = Vec::new();
    for record in records {
        let before = rows.len();
        let row = |kernel, metric| Row { record, kernel, metric: Some(metric), interval_end: None };
        if let Some(result) = record.result() {
            rows.extend(result.metrics.iter().map(|(name, &value)| row(None, (name.as_str(), value))));
            for (index, kernel) in (0..).zip(&result.kernels) {
                let of_kernel = Some((index, kernel));
                rows.push(row(of_kernel, (CYCLES, kernel.cycles as f64)));
                rows.extend(kernel.metrics.iter().map(|(name, &value)| row(of_kernel, (name.as_str(), value))));
            }
        }
        if rows.len() == before {
            rows.push(Row { record, kernel: None, metric: None, interval_end: None });
        }
    }
    rows
}

/// Writes runs as CSV (RFC 4180, with a header).
pub fn write_csv(records: &[Record], content: Content, mut out: impl Write) -> io::Result<()> {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    write!(out, "{}\r\n", names.join(","))?;
    for row in rows(records, content) {
        for (index, column) in COLUMNS.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            match (column.cell)(&row) {
                Cell::Empty => {}
                Cell::Text(text) => out.write_all(csv_field(&text).as_bytes())?,
                Cell::Integer(value) => write!(out, "{value}")?,
                Cell::Number(value) => write!(out, "{value}")?,
            }
        }
        out.write_all(b"\r\n")?;
    }
    out.flush()
}

/// A field of a line, quoted where it must be.
pub(crate) fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// Writes runs as a CSV file.
pub fn write_csv_file(records: &[Record], content: Content, path: &Path) -> Result<(), ExportError> {
    create(path).and_then(|file| {
        write_csv(records, content, io::BufWriter::new(file)).map_err(|error| unwritable(path, &error))
    })
}

/// Writes runs as a Parquet file.
pub fn write_parquet_file(records: &[Record], content: Content, path: &Path) -> Result<(), ExportError> {
    let rows = rows(records, content);
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let mut writer = SerializedFileWriter::new(create(path)?, Arc::new(schema()?), properties)?;
    let mut group = writer.next_row_group()?;
    for column in COLUMNS {
        write_column(&mut group, column, &rows)?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn schema() -> Result<Type, ParquetError> {
    let fields = COLUMNS.iter().map(|column| {
        let (physical, logical) = match column.kind {
            ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnKind::Integer => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            ColumnKind::Number => (PhysicalType::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(column.name, physical);
        let field = field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Type::group_type_builder("run").with_fields(fields).build()
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &Column,
    rows: &[Row<'_>],
) -> Result<(), ParquetError> {
    let cells: Vec<Cell<'_>> = rows.iter().map(|row| (column.cell)(row)).collect();
    // A definition level of 1 says that the value is there.
    let present: Vec<i16> = cells.iter().map(|cell| i16::from(*cell != Cell::Empty)).collect();
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than are written".to_owned()));
    };
    match column.kind {
        ColumnKind::Text => {
            let texts: Vec<ByteArray> = cells
                .iter()
                .filter_map(|cell| match cell {
                    Cell::Text(text) => Some(ByteArray::from(&**text)),
                    Cell::Empty | Cell::Integer(_) | Cell::Number(_) => None,
                })
                .collect();
            writer.typed::<ByteArrayType>().write_batch(&texts, Some(&present), None)?;
        }
        ColumnKind::Integer => {
            let integers: Vec<i64> = cells
                .iter()
                .filter_map(|cell| match cell {
                    Cell::Integer(value) => Some(value.cast_signed()),
                    Cell::Empty | Cell::Text(_) | Cell::Number(_) => None,
                })
                .collect();
            writer.typed::<Int64Type>().write_batch(&integers, Some(&present), None)?;
        }
        ColumnKind::Number => {
            let numbers: Vec<f64> = cells
                .iter()
                .filter_map(|cell| match cell {
                    Cell::Number(value) => Some(*value),
                    Cell::Empty | Cell::Text(_) | Cell::Integer(_) => None,
                })
                .collect();
            writer.typed::<DoubleType>().write_batch(&numbers, Some(&present), None)?;
        }
    }
    writer.close()
}

fn create(path: &Path) -> Result<File, ExportError> {
    File::create(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> ExportError {
    ExportError::Unwritable { path: path.to_owned(), reason: error.to_string().to_lowercase() }
}
