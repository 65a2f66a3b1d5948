//! Finished runs as CSV and Parquet, in the long form of [`crate::columns`].

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

use crate::columns::{Columns, Content, Values, long};
use crate::run::Record;

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

/// Writes runs as CSV (RFC 4180, with a header).
pub fn write_csv(records: &[Record], content: Content, mut out: impl Write) -> io::Result<()> {
    let columns = long(records, content);
    let names: Vec<&str> = columns.iter().map(|(name, _)| &**name).collect();
    write!(out, "{}\r\n", names.join(","))?;
    for row in 0..columns.first().map_or(0, |(_, values)| values.len()) {
        for (index, (_, values)) in columns.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            match values {
                Values::Text(texts) => texts[row].iter().try_for_each(|text| write!(out, "{}", csv_field(text)))?,
                Values::Integer(values) => values[row].iter().try_for_each(|value| write!(out, "{value}"))?,
                Values::Number(values) => values[row].iter().try_for_each(|value| write!(out, "{value}"))?,
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

/// Writes runs as a Parquet file, in which every column is optional.
pub fn write_parquet_file(records: &[Record], content: Content, path: &Path) -> Result<(), ExportError> {
    let columns = long(records, content);
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let mut writer = SerializedFileWriter::new(create(path)?, Arc::new(schema(&columns)?), properties)?;
    let mut group = writer.next_row_group()?;
    for (_, values) in &columns {
        write_column(&mut group, values)?;
    }
    group.close()?;
    writer.close()?;
    Ok(())
}

fn schema(columns: &Columns<'_>) -> Result<Type, ParquetError> {
    let fields = columns.iter().map(|(name, values)| {
        let (physical, logical) = match values {
            Values::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            Values::Integer(_) => (PhysicalType::INT64, Some(LogicalType::integer(64, false))),
            Values::Number(_) => (PhysicalType::DOUBLE, None),
        };
        let field = Type::primitive_type_builder(name, physical);
        let field = field.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build()?;
        Ok(Arc::new(field))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Type::group_type_builder("run").with_fields(fields).build()
}

fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &Values<'_>,
) -> Result<(), ParquetError> {
    let Some(mut writer) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than are written".to_owned()));
    };
    match values {
        Values::Text(texts) => {
            let bytes: Vec<ByteArray> = texts.iter().flatten().map(|text| ByteArray::from(&**text)).collect();
            writer.typed::<ByteArrayType>().write_batch(&bytes, Some(&present(texts)), None)?;
        }
        Values::Integer(values) => {
            let integers: Vec<i64> = values.iter().flatten().map(|value| value.cast_signed()).collect();
            writer.typed::<Int64Type>().write_batch(&integers, Some(&present(values)), None)?;
        }
        Values::Number(values) => {
            let numbers: Vec<f64> = values.iter().flatten().copied().collect();
            writer.typed::<DoubleType>().write_batch(&numbers, Some(&present(values)), None)?;
        }
    }
    writer.close()
}

/// The definition levels of a column: 1 says that the value is there.
fn present<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

fn create(path: &Path) -> Result<File, ExportError> {
    File::create(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> ExportError {
    ExportError::Unwritable { path: path.to_owned(), reason: error.to_string().to_lowercase() }
}
