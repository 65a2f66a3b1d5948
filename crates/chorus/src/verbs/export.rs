//! `chorus export`: writes finished runs in formats of other tools.

use std::path::{Path, PathBuf};

use chorus_lab::columns::Content;
use chorus_lab::export::{write_csv, write_csv_file, write_parquet_file};
use chorus_lab::run::Record;
use chorus_lab::store::Store;
use clap::{Args, ValueEnum};

use crate::failure::{Failure, Verdict};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus export > runs.csv
  chorus export results --format parquet --output runs.parquet
  chorus export results --series --output series.parquet";

/// Arguments of `chorus export`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Directory that `chorus reproduce` wrote to, or the results store in it.
    #[arg(default_value = super::arguments::OUT)]
    results: PathBuf,
    /// Format of the output. By default the extension of the output file decides; without one it is CSV.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// File to write. Without it, CSV goes to stdout.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the time series of runs that have one (`chorus run --every N --keep DIR`): the growth of every counter in
    /// every interval.
    #[arg(long)]
    series: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Comma-separated values (RFC 4180).
    Csv,
    /// Apache Parquet, a columnar format.
    Parquet,
}

impl Format {
    fn of_name(path: &Path) -> Format {
        if path.extension().is_some_and(|extension| extension == "parquet") { Format::Parquet } else { Format::Csv }
    }
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let store = Store::open_results(&arguments.results)?;
    let records = store.records()?;
    let content = if arguments.series { Content::Series } else { Content::Metrics };
    let has_series = |record: &Record| record.result().is_some_and(|result| result.notes.series.is_some());
    if arguments.series && !records.iter().any(has_series) {
        return Err(Failure::bad_input(format!(
            "no run in {} has a time series\nhint: `chorus run --every 10000 --keep {}` makes one",
            store.path().display(),
            arguments.results.display()
        )));
    }
    let named = arguments.output.as_deref().map(Format::of_name);
    match (arguments.format.or(named).unwrap_or(Format::Csv), &arguments.output) {
        (Format::Csv, Some(output)) => write_csv_file(&records, content, output)?,
        (Format::Parquet, Some(output)) => write_parquet_file(&records, content, output)?,
        (Format::Csv, None) => {
            let mut text = Vec::new();
            // Writing to memory cannot fail.
            let _ = write_csv(&records, content, &mut text);
            session.output.print(&String::from_utf8_lossy(&text))?;
        }
        (Format::Parquet, None) => {
            return Err(Failure::bad_input("Parquet is not text: it goes to a file\nhint: add --output FILE"));
        }
    }
    Ok(Verdict::Good)
}
