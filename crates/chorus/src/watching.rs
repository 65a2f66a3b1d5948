//! Everything that `chorus run` notes of a run beside its counters: options, tables and charts.

use std::fs;
use std::path::PathBuf;

use chorus_lab::notes::{Latency, Notes, Series, Sharing};
use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::run::{Record, RunResult};
use chorus_lab::run_page::{self, CHARTED};
use chorus_lab::store::Store;
use chorus_sim::observe::SharedObserver;
use chorus_sim::sharing_profile::Class;
use chorus_sim::{Progress, Watch};
use clap::{Args, ValueEnum};
use comfy_table::Table;

use crate::failure::{Failure, print_note};
use crate::output::{Output, align_right, count, percent, table};
use crate::verbs::arguments::whole;

/// The longest interval of a time series: as long as any run.
const EVERY_MAX: u64 = 1_000_000_000_000;

/// The width of the chart of a counter, in columns.
const CHART_COLUMNS: usize = 40;

/// Options that ask for more than counters.
#[derive(Debug, Args)]
pub struct WatchArguments {
    /// Note how much every counter grows in every interval of so many core cycles. The intervals add up to the counters
    /// of the run.
    #[arg(long, value_name = "CYCLES", value_parser = every, allow_negative_numbers = true)]
    every: Option<u64>,
    /// Note the latencies of all accesses, and print their percentiles: of the whole run, or by kernel or buffer. JSON
    /// has all of them.
    #[arg(long, value_name = "PARTS", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    distributions: Option<Parts>,
    /// Note who accesses which lines, and print how they are shared.
    #[arg(long)]
    sharing: bool,
    /// Write the run as a page, too: its counters, with charts of what was noted over time, of latencies and of
    /// sharing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Keep the run in the results store in DIR, from which `chorus export` writes its metrics and its time series.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["allow_incoherent", "trace"])]
    keep: Option<PathBuf>,
}

/// The parts of a run whose latencies are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Parts {
    /// The run as a whole.
    All,
    /// Each kernel by itself.
    Kernel,
    /// Each buffer by itself.
    Buffer,
}

fn every(text: &str) -> Result<u64, String> {
    let cycles = whole(text)?;
    match (1..=EVERY_MAX).contains(&cycles) {
        true => Ok(cycles),
        false => Err(format!("expected core cycles from 1 to {EVERY_MAX}")),
    }
}

impl WatchArguments {
    /// The choice of what is shown and noted of the run.
    pub fn watch<'p>(&self, progress: &'p Progress, observer: Option<&'p SharedObserver>) -> Watch<'p> {
        Watch {
            progress: Some(progress),
            every: self.every,
            distributions: self.distributions.is_some(),
            sharing: self.sharing,
            observer,
            ..Watch::default()
        }
    }

    /// Opens the store that keeps the run, before anything is computed.
    pub fn open_store(&self) -> Result<Option<Store>, Failure> {
        Ok(self.keep.as_ref().map(|directory| Store::open(&directory.join(STORE_FILE))).transpose()?)
    }

    /// Writes the page of the run, if somebody asks for one.
    pub fn write_page(&self, result: &RunResult) -> Result<(), Failure> {
        let Some(path) = &self.html else { return Ok(()) };
        fs::write(path, run_page::page(result)).map_err(|error| {
            Failure::bad_input(format!("cannot write {}: {}", path.display(), error.to_string().to_lowercase()))
        })
    }

    /// Prints everything that was noted.
    pub fn print(&self, notes: &Notes, output: &mut Output) -> Result<(), Failure> {
        if let Some(series) = &notes.series {
            print_series(series, output)?;
        }
        if let Some(parts) = self.distributions {
            print_latencies(&notes.distributions, parts, output)?;
        }
        if let Some(sharing) = &notes.sharing {
            print_sharing(sharing, output)?;
        }
        Ok(())
    }
}

/// Keeps a finished run.
pub fn keep(store: &Store, result: &RunResult) -> Result<(), Failure> {
    store.insert(&Record::of(result.clone()))?;
    print_note(&format!("the run is kept in {}", store.path().display()));
    Ok(())
}

fn print_series(series: &Series, output: &mut Output) -> Result<(), Failure> {
    let intervals = count(series.ends.len() as u64);
    output.line(&format!("\n{intervals} intervals of {} cycles\n", count(series.every)))?;
    for key in CHARTED {
        if let Some(growth) = series.counters.get(key) {
            let most = growth.iter().copied().fold(0.0, f64::max);
            output.line(&format!("  {key:<18} {}  at most {}", chart(growth), count(most as u64)))?;
        }
    }
    Ok(())
}

/// A line of bars, one for each interval, or for the mean of several where there are more than fit.
fn chart(growth: &[f64]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let columns = growth.len().min(CHART_COLUMNS);
    let mean = |column: usize| {
        let part = &growth[column * growth.len() / columns..(column + 1) * growth.len() / columns];
        part.iter().sum::<f64>() / part.len() as f64
    };
    let means: Vec<f64> = (0..columns).map(mean).collect();
    let most = means.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    means.iter().map(|mean| BARS[((mean / most).max(0.0) * 8.0).ceil() as usize]).collect()
}

/// A table for each part of the run.
fn print_latencies(rows: &[Latency], parts: Parts, output: &mut Output) -> Result<(), Failure> {
    let is_asked = |row: &Latency| match parts {
        Parts::All => row.kernel.is_none() && row.buffer.is_none(),
        Parts::Kernel => row.kernel.is_some(),
        Parts::Buffer => row.buffer.is_some(),
    };
    for part in rows.chunk_by(|row, next| (&row.kernel, row.buffer) == (&next.kernel, next.buffer)) {
        if let Some(first) = part.first().filter(|row| is_asked(row)) {
            output.line("")?;
            if let Some(kernel) = &first.kernel {
                output.line(&format!("kernel {kernel}\n"))?;
            }
            if let Some(buffer) = first.buffer {
                output.line(&format!("buffer {buffer}\n"))?;
            }
            output.table(&latencies(part))?;
        }
    }
    Ok(())
}

fn latencies(rows: &[Latency]) -> Table {
    let mut table = table(["access", "from", "count", "mean", "p50", "p90", "p99", "p99.9", "max"]);
    for row in rows {
        let source = row.source.as_deref().unwrap_or("all");
        let kind = if row.source.is_none() { row.kind.as_str() } else { "" };
        let numbers = [row.p50, row.p90, row.p99, row.p999, row.max].map(count);
        let [p50, p90, p99, p999, max] = &numbers;
        table.add_row([kind, source, &count(row.count), &format!("{:.0}", row.mean), p50, p90, p99, p999, max]);
    }
    align_right(&mut table, 2..9);
    table
}

fn print_sharing(sharing: &Sharing, output: &mut Output) -> Result<(), Failure> {
    output.line(&format!("\n{} lines were accessed\n", count(sharing.lines)))?;
    output.table(&classes(sharing))?;
    output.line("")?;
    output.table(&numbers_of_sharers(sharing))?;
    output.line("")?;
    output.table(&buffers(sharing))?;
    if !sharing.false_sharing.is_empty() {
        output.line("\nFalse sharing: lines of which no word is shared, those with the most accesses first\n")?;
        let mut lines = table(["line", "buffer", "compute units", "accesses"]);
        for line in &sharing.false_sharing {
            let numbers = [line.line, line.buffer as u64, line.units as u64, line.accesses].map(count);
            lines.add_row(numbers);
        }
        align_right(&mut lines, 0..4);
        output.table(&lines)?;
    }
    Ok(())
}

/// A row for each class of lines, a column for each kind of sharer.
fn classes(sharing: &Sharing) -> Table {
    let mut classes = table([]);
    let levels = sharing.levels.iter().map(|level| format!("by {}", level.sharers));
    classes.set_header(std::iter::once("lines".to_owned()).chain(levels).collect::<Vec<_>>());
    for class in Class::ALL {
        let lines = |level: &chorus_lab::notes::SharingLevel| {
            let lines = level.classes.get(class.name()).copied().unwrap_or_default();
            format!("{}  {:>7}", count(lines), percent(lines as f64, sharing.lines as f64))
        };
        let row = std::iter::once(class.name().to_owned()).chain(sharing.levels.iter().map(lines));
        classes.add_row(row.collect::<Vec<_>>());
    }
    align_right(&mut classes, 1..=sharing.levels.len());
    classes
}

/// A row for each range of numbers of sharers, a column for each kind of sharer.
fn numbers_of_sharers(sharing: &Sharing) -> Table {
    let mut numbers = table([]);
    let levels = sharing.levels.iter().map(|level| level.sharers.clone());
    numbers.set_header(std::iter::once("sharers".to_owned()).chain(levels).collect::<Vec<_>>());
    let most = sharing.levels.iter().filter_map(|level| level.by_number.keys().last()).copied().max().unwrap_or(0);
    let mut least = 1;
    while least <= most {
        // 1, 2, 3 to 4, 5 to 8, and so on.
        let greatest = least.next_power_of_two();
        let name = if least == greatest { least.to_string() } else { format!("{least} to {greatest}") };
        let lines = |level: &chorus_lab::notes::SharingLevel| {
            count(level.by_number.range(least..=greatest).map(|(_, lines)| lines).sum())
        };
        numbers.add_row(std::iter::once(name).chain(sharing.levels.iter().map(lines)).collect::<Vec<_>>());
        least = greatest + 1;
    }
    align_right(&mut numbers, 1..=sharing.levels.len());
    numbers
}

/// A row for each buffer that was accessed, a column for each class of lines.
fn buffers(sharing: &Sharing) -> Table {
    let mut buffers = table(["buffer", "private", "read-only", "read-write", "migratory", "falsely-shared"]);
    let accessed = sharing.buffers.iter().enumerate().filter(|(_, classes)| classes.values().any(|&lines| lines > 0));
    for (number, classes) in accessed {
        let lines = Class::ALL.iter().map(|class| count(classes.get(class.name()).copied().unwrap_or_default()));
        buffers.add_row(std::iter::once(number.to_string()).chain(lines).collect::<Vec<_>>());
    }
    align_right(&mut buffers, 0..6);
    buffers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_has_a_bar_for_each_interval_or_for_several() {
        assert_eq!(chart(&[0.0, 1.0, 8.0]), " ▁█");
        assert_eq!(chart(&[1.0; 4000]), "█".repeat(CHART_COLUMNS));
        assert_eq!(chart(&[0.0; 3]), "   ");
    }
}
