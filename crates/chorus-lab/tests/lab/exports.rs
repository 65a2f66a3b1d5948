//! CSV and Parquet hold every run and every metric.

use std::fs::File;

use chorus_lab::columns::{self, Content, Values};
use chorus_lab::export;
use chorus_lab::notes::{Notes, Series};
use chorus_lab::run::{Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, RowAccessor};

use crate::fake::{Directory, failed, record, result, spec, wrong};

fn records() -> Vec<Record> {
    vec![
        record(&spec("gpu-vi", "stn")),
        wrong(&spec("no-coh", "stn"), "word 7 is 1, \"expected\" 2"),
        failed(&spec("no-coh", "dlb"), RunError::new(RunErrorKind::Refused, "needs coherence,\nand has none")),
    ]
}

const HEADER: &str = "system protocol workload scale seed set annotate parameters config_hash chorus_version \
                      git_revision status message cycles simulated_ns wall_s user_s accesses kernel_index kernel \
                      metric value interval_end";

/// The place of a column of the long form.
fn column(name: &str) -> usize {
    HEADER.split(' ').position(|column| column == name).unwrap()
}

/// Rows of one finished run: its metrics, then cycles and metrics of its one kernel.
fn rows_per_run() -> usize {
    2 * result(&spec("gpu-vi", "stn")).metrics.len() + 1
}

/// A reader of CSV that knows quotes.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    rows
}

fn csv() -> Vec<Vec<String>> {
    let mut bytes = Vec::new();
    export::write_csv(&records(), Content::Metrics, &mut bytes).unwrap();
    parse(&String::from_utf8(bytes).unwrap())
}

#[test]
fn csv_has_a_header_and_a_row_per_run_and_metric() {
    let rows = csv();
    assert_eq!(rows[0].join(" "), HEADER);
    assert_eq!(rows.len(), 1 + 2 * rows_per_run() + 1);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
}

#[test]
fn csv_keeps_texts_with_quotes_and_line_breaks() {
    let rows = csv();
    let message = column("message");
    assert_eq!(rows[1 + rows_per_run()][message], "word 7 is 1, \"expected\" 2");
    assert_eq!(rows.last().unwrap()[message], "needs coherence,\nand has none");
}

#[test]
fn a_time_series_has_a_row_for_each_counter_and_interval() {
    let spec = spec("gpu-vi", "stn");
    let counters = [("dram.reads".to_owned(), vec![3.0, 4.0])].into();
    let notes = Notes { series: Some(Series { every: 100, ends: vec![100, 150], counters }), ..Notes::default() };
    let outcome = Outcome::Finished(Box::new(RunResult { notes, ..result(&spec) }));
    let mut bytes = Vec::new();
    export::write_csv(&[record(&spec), Record { outcome, ..record(&spec) }], Content::Series, &mut bytes).unwrap();
    let rows = parse(&String::from_utf8(bytes).unwrap());
    let shown = |row: &Vec<String>| ["metric", "value", "interval_end"].map(|name| row[column(name)].clone());
    assert_eq!(
        rows[1..].iter().map(shown).collect::<Vec<_>>(),
        [["dram.reads", "3", "100"], ["dram.reads", "4", "150"]]
    );
}

#[test]
fn parquet_reads_back_as_the_same_rows_as_csv() {
    let directory = Directory::new();
    let path = directory.join("runs.parquet");
    export::write_parquet_file(&records(), Content::Metrics, &path).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let text = |(_, field): (&String, &Field)| match field {
            Field::Null => String::new(),
            Field::Str(text) => text.clone(),
            Field::ULong(value) => value.to_string(),
            Field::Double(value) => value.to_string(),
            other => panic!("a column of another kind: {other:?}"),
        };
        rows.push(row.get_column_iter().map(text).collect::<Vec<String>>());
    }
    assert_eq!(rows, csv()[1..]);
}

#[test]
fn parquet_columns_are_typed() {
    let directory = Directory::new();
    let path = directory.join("runs.parquet");
    export::write_parquet_file(&records(), Content::Metrics, &path).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    let row = reader.get_row_iter(None).unwrap().next().unwrap().unwrap();
    assert_eq!(row.get_string(column("protocol")).unwrap(), "gpu-vi");
    assert_eq!(row.get_ulong(column("cycles")).unwrap(), 4000);
    assert_eq!(row.get_double(column("value")).unwrap(), 47.5);
}

#[test]
fn the_wide_form_has_a_row_per_run_and_a_column_per_metric() {
    let swept = |value: &str, spec: RunSpec| RunSpec { set: vec![format!("l1.ways={value}")], ..spec };
    let records = [record(&swept("8", spec("gpu-vi", "stn"))), records().pop().unwrap()];
    let columns = columns::runs(&records);
    let of = |name: &str| &columns.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("{name}")).1;
    assert!(columns.iter().all(|(_, values)| values.len() == 2));
    assert_eq!(of("cycles"), &Values::Integer(vec![Some(4000), None]), "a run without a result has no cycles");
    assert_eq!(of("set.l1.ways"), &Values::Text(vec![Some("8".into()), None]));
    assert_eq!(of("status"), &Values::Text(vec![Some("pass".into()), Some("refused".into())]));
    let result = records[0].result().unwrap();
    for (name, &value) in &result.metrics {
        assert_eq!(of(name), &Values::Number(vec![Some(value), None]), "{name}");
    }
    let mut names: Vec<&str> = columns.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
}

#[test]
fn kernels_have_rows_of_their_own() {
    let records = records();
    let columns = columns::kernels(&records);
    let cycles = columns.iter().find(|(name, _)| name == "cycles").unwrap();
    let kernels = records.iter().filter_map(Record::result).flat_map(|result| &result.kernels);
    let expected: Vec<Option<u64>> = kernels.map(|kernel| Some(kernel.cycles)).collect();
    assert_eq!(expected.len(), 2, "two of the runs finished");
    assert_eq!(cycles.1, Values::Integer(expected));
}

#[test]
fn nothing_exports_as_a_header_alone() {
    let directory = Directory::new();
    let path = directory.join("runs.parquet");
    export::write_parquet_file(&[], Content::Metrics, &path).unwrap();
    let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    let mut bytes = Vec::new();
    export::write_csv(&[], Content::Metrics, &mut bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap().lines().count(), 1);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let directory = Directory::new();
    let path = directory.join("absent/runs.csv");
    let message = export::write_csv_file(&records(), Content::Metrics, &path).unwrap_err().to_string();
    assert!(message.contains("absent/runs.csv: no such file or directory"), "{message}");
}
