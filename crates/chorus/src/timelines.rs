//! Timelines that `chorus run` writes: their arguments, their file, and what can be wrong with them.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use chorus_lab::run::RunResult;
use chorus_lab::timeline::{self, Bounds, Shown};
use chorus_sim::observe::SharedObserver;
use clap::Args;

use crate::failure::{Failure, Verdict, print_error, print_note};
use crate::output::count;
use crate::verbs::arguments::whole;

/// Bytes of a timeline for each access of a run, and for each message, on average.
const BYTES_PER_ACCESS: u64 = 310;
const BYTES_PER_MESSAGE: u64 = 420;

/// The timeline that a run writes, and what of the run is in it.
#[derive(Debug, Args)]
pub struct TimelineArguments {
    /// Write a timeline for Perfetto (ui.perfetto.dev): what every wavefront, cache, port, bank and memory channel did
    /// when. The run has one thread then, and is made twice if nothing bounds the timeline, to say how large it is.
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Show only these core cycles, such as 10000..20000.
    #[arg(long, value_name = "A..B", value_parser = window, requires = "timeline")]
    timeline_window: Option<Range<u64>>,
    /// Show only accesses and messages about the line with this address of the program's memory.
    #[arg(long, value_name = "ADDR", value_parser = whole, requires = "timeline")]
    timeline_line: Option<u64>,
    /// Show only what kernels of this name do.
    #[arg(long, value_name = "NAME", requires = "timeline")]
    timeline_kernel: Option<String>,
}

/// Reads a window of cycles: `10000..20000`.
fn window(text: &str) -> Result<Range<u64>, String> {
    let expected = || "expected two numbers of cycles, such as 10000..20000".to_owned();
    let (begin, end) = text.split_once("..").ok_or_else(expected)?;
    let [begin, end] = [whole(begin)?, whole(end)?];
    if begin < end { Ok(begin..end) } else { Err("the window ends before it begins".to_owned()) }
}

impl TimelineArguments {
    fn bounds(&self) -> Bounds {
        Bounds {
            window: self.timeline_window.clone(),
            address: self.timeline_line,
            kernel: self.timeline_kernel.clone(),
        }
    }

    /// Makes a run, with a timeline if somebody asks for one. `run` makes it once for each observer.
    pub fn observe(
        &self,
        run: impl Fn(Option<&SharedObserver>) -> Result<RunResult, Failure>,
    ) -> Result<(RunResult, Option<io::Result<Shown>>), Failure> {
        let Some(path) = &self.timeline else { return Ok((run(None)?, None)) };
        let cannot =
            |error: io::Error| Failure::bad_input(format!("cannot write {}: {}", path.display(), text(&error)));
        let file = File::create(path).map_err(cannot)?;
        let bounds = self.bounds();
        let mut cycles = None;
        if bounds.is_everything() {
            let result = run(None)?;
            print_estimate(&result);
            cycles = Some(result.cycles);
        }
        let (result, shown) = timeline::observe(file, bounds, cycles, |observer| run(Some(observer)));
        Ok((result?, Some(shown)))
    }

    /// Says what became of the timeline of a run, after the result of the run.
    pub fn conclude(&self, result: &RunResult, shown: Option<io::Result<Shown>>) -> Result<Verdict, Failure> {
        let (Some(path), Some(shown)) = (&self.timeline, shown) else { return Ok(Verdict::Good) };
        let path = path.display();
        let shown = match shown {
            Ok(shown) => shown,
            Err(error) => {
                let why = text(&error);
                print_error(
                    &format!("the timeline {path} is not whole: {why}; the run is, and its result holds"),
                    None,
                );
                return Ok(Verdict::CheckFailed);
            }
        };
        if let Some(wrong) = self.wrong(result, shown.touches_line) {
            return Err(Failure::bad_input(wrong));
        }
        let (events, bytes) = shown.size;
        print_note(&format!("{path}: {} events, {}; open it at ui.perfetto.dev", count(events), size(bytes)));
        Ok(Verdict::Good)
    }

    /// The bound that holds for nothing, if there is one.
    fn wrong(&self, result: &RunResult, touches_line: bool) -> Option<String> {
        if let Some(window) = self.timeline_window.as_ref().filter(|window| window.start >= result.cycles) {
            let (begin, cycles) = (count(window.start), count(result.cycles));
            return Some(format!("the window begins at cycle {begin}, and the run ends at cycle {cycles}"));
        }
        if let Some(name) = &self.timeline_kernel
            && result.kernels.iter().all(|kernel| kernel.name != *name)
        {
            let mut names: Vec<&str> = result.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            return Some(format!("the run has no kernel `{name}`; its kernels are {}", names.join(", ")));
        }
        let address = self.timeline_line.filter(|_| !touches_line)?;
        Some(format!("no access that is shown touches the line of address {address:#x}"))
    }
}

/// Says how large a timeline of the whole run is.
fn print_estimate(result: &RunResult) {
    let messages = ["network.messages", "inter_gpm.messages", "inter_gpu.messages"];
    let messages: f64 = messages.iter().filter_map(|key| result.metrics.get(*key)).sum();
    let bytes = result.accesses * BYTES_PER_ACCESS + messages as u64 * BYTES_PER_MESSAGE;
    print_note(&format!(
        "the timeline of the whole run takes about {}; --timeline-window, --timeline-line and --timeline-kernel bound it",
        size(bytes)
    ));
}

fn size(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn text(error: &io::Error) -> String {
    error.to_string().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::window;

    #[test]
    fn windows_are_two_numbers_in_order() {
        assert_eq!(window("1000..2e3"), Ok(1000..2000));
        assert!(["5", "7..7", "9..2", "a..b", ".."].into_iter().all(|text| window(text).is_err()));
    }
}
