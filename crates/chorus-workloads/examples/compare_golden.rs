//! Compares two golden records, each a file of one machine or a folder of such files.
//!
//!     cargo run -p chorus-workloads --example compare_golden -- OLD NEW
//!
//! It prints how cycles and traffic are distributed, and every run in which one of them differs by more than 3 %.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

#[path = "../tests/all/golden_record.rs"]
mod golden_record;

use golden_record::{Record, number, parse, relative};

/// The metrics that are compared.
const COMPARED: [&str; 2] = ["cycles", "traffic.bytes"];
/// Runs that differ by more than this are listed.
const LISTED_FROM: f64 = 0.03;

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [old, new] = paths.as_slice() else {
        eprintln!("expected two golden records: OLD NEW");
        return ExitCode::from(2);
    };
    match (read(Path::new(old)), read(Path::new(new))) {
        (Ok(old), Ok(new)) => {
            compare(&old, &new);
            ExitCode::SUCCESS
        }
        (old, new) => {
            [old, new].into_iter().filter_map(Result::err).for_each(|error| eprintln!("{error}"));
            ExitCode::from(2)
        }
    }
}

/// The records of a file or of all files of a folder, by machine.
fn read(path: &Path) -> io::Result<BTreeMap<String, Record>> {
    let read_file = |path: &Path| -> io::Result<(String, Record)> {
        let text =
            fs::read_to_string(path).map_err(|error| io::Error::other(format!("{}: {error}", path.display())))?;
        let machine = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((machine, parse(&text)))
    };
    if !path.is_dir() {
        return Ok(BTreeMap::from([read_file(path)?]));
    }
    fs::read_dir(path)?.map(|entry| read_file(&entry?.path())).collect()
}

/// Prints the differences of all runs that both records have.
fn compare(old: &BTreeMap<String, Record>, new: &BTreeMap<String, Record>) {
    for key in COMPARED {
        let mut differences = Vec::new();
        for (machine, runs) in old {
            for (run, values) in runs {
                let Some(now) = new.get(machine).and_then(|record| record.get(run)) else { continue };
                let (then, now) = (number(values, key), number(now, key));
                differences.push((relative(then, now), then, now, format!("{} under {} on {machine}", run.0, run.1)));
            }
        }
        differences.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let at = |share: f64| {
            let last = differences.len().saturating_sub(1) as f64;
            differences.get((last * share).round() as usize).map_or(0.0, |difference| 100.0 * difference.0.abs())
        };
        let [median, high, largest] = [0.5, 0.95, 1.0].map(at);
        let runs = differences.len();
        println!("{key}, {runs} runs: median {median:.3} %, 95th percentile {high:.3} %, largest {largest:.3} %");
        for (difference, then, now, run) in differences.iter().rev().filter(|run| run.0.abs() > LISTED_FROM) {
            println!("  {run}: {then} -> {now} ({:+.2} %)", 100.0 * difference);
        }
    }
}
