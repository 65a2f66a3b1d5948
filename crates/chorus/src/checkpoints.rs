//! Checkpoints of one run: their options, Ctrl-C, and what is said about them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chorus_lab::checkpoint::{Checkpoint, Keeping, Kept, try_path};
use chorus_lab::run::RunSpec;
use chorus_lab::setup::Setup;
use chorus_lab::simulate::Manner;
use clap::Args;

use crate::failure::{Failure, INTERRUPTED, print_note, print_warning};

/// The name of the file, where none is given.
const FILE: &str = "chorus.checkpoint";

/// Whether Ctrl-C was pressed: the last checkpoint is written as soon as possible.
static INTERRUPT: AtomicBool = AtomicBool::new(false);

/// The file of the checkpoints of a run, how often one is written, and the one to go on from.
#[derive(Debug, Args)]
pub struct CheckpointArguments {
    /// Write the whole state of the run to a file every so often, as 90s, 10min or 2h, and on Ctrl-C. A run that was
    /// killed goes on from there with `--resume`. Programs in PTX and traces are written down at any time. Kernels that
    /// are async functions cannot be, so a checkpoint that is due waits until the kernels that run have ended.
    #[arg(long, value_name = "TIME", value_parser = period, conflicts_with_all = ["record_trace", "timeline"])]
    checkpoint_every: Option<Duration>,
    /// File of the checkpoint. Each replaces the one before. By default it is the file of `--resume`, or
    /// `chorus.checkpoint`.
    #[arg(long, value_name = "FILE", requires = "checkpoint_every")]
    checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint in this file. All other options must be those of the run that wrote it, and the result
    /// is the one that it would have had.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record_trace", "timeline"])]
    resume: Option<PathBuf>,
}

/// Reads a time such as 90s, 10min or 2h.
pub fn period(text: &str) -> Result<Duration, String> {
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    match number.parse::<u32>() {
        Ok(number) if number > 0 && milliseconds > 0 => Ok(Duration::from_millis(u64::from(number) * milliseconds)),
        Ok(_) | Err(_) => Err("expected a whole number of seconds, minutes or hours, as 90s, 10min or 2h".to_owned()),
    }
}

impl CheckpointArguments {
    /// Reads the checkpoint that the run goes on from, if there is one.
    pub fn open(&self, spec: &RunSpec, setup: &Setup, manner: &Manner<'_>) -> Result<Option<Checkpoint>, Failure> {
        let open = |path: &PathBuf| Checkpoint::open(path, spec, setup, manner);
        Ok(self.resume.as_ref().map(open).transpose()?)
    }

    /// The checkpoints that the run keeps, if it is to keep any. From then on, Ctrl-C asks for a last one.
    pub fn keeping(&self) -> Result<Option<Keeping<'_>>, Failure> {
        let Some(every) = self.checkpoint_every else { return Ok(None) };
        let path = self.checkpoint.as_deref().or(self.resume.as_deref()).unwrap_or(Path::new(FILE));
        let cannot = |error| Failure::bad_input(format!("cannot write the checkpoint {}: {error}", path.display()));
        try_path(path).map_err(cannot)?;
        // If no handler can be installed, Ctrl-C ends the process as it does by default.
        let _ = ctrlc::set_handler(|| {
            if INTERRUPT.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
            print_note("a last checkpoint is written when the state allows it; Ctrl-C again ends the run without it");
        });
        Ok(Some(Keeping { path, every, at_once: &INTERRUPT, told: &tell }))
    }
}

/// Says so if a checkpoint cannot be written.
pub fn tell_failure(kept: Kept<'_>) {
    match kept {
        Kept::Written(..) => {}
        Kept::Failed(path, error) => {
            print_warning(&format!("cannot write the checkpoint {}: {error}", path.display()));
        }
    }
}

/// Says what became of a checkpoint. After Ctrl-C, it is the last one.
fn tell(kept: Kept<'_>) {
    let is_last = INTERRUPT.load(Ordering::Relaxed);
    match kept {
        Kept::Written(path, _) if is_last => {
            let path = path.display();
            print_note(&format!("the same command with --resume {path} goes on from here"));
        }
        Kept::Written(..) | Kept::Failed(..) => tell_failure(kept),
    }
    if is_last {
        std::process::exit(INTERRUPTED.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_a_unit() {
        let read = |text: &str| period(text).map(|period| period.as_millis());
        let expected = [Ok(20), Ok(90_000), Ok(600_000), Ok(7_200_000)];
        assert_eq!(["20ms", "90s", "10min", "2h"].map(read), expected);
        for text in ["", "10", "min", "0s", "-1s", "1d", "1.5h", "99999999999s", "1 0s"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
