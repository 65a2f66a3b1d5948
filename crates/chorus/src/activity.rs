//! Progress of a verb that takes long, shown on stderr.

use std::io::{self, Write};
use std::time::Duration;

use chorus_proof::Steps;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The form in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Progress is not shown.
    Silent,
    /// A bar or spinner for a terminal. It disappears when the verb ends.
    Bar,
    /// One line for each finished step, for logs.
    Lines,
}

/// Progress of a verb that is under way. Dropping this value removes the bar.
#[derive(Debug)]
pub struct Activity {
    style: Style,
    bar: ProgressBar,
}

impl Activity {
    /// Begins to show progress. A bar counts steps if their number is known.
    pub fn new(style: Style, steps: Option<usize>) -> Activity {
        let target = match style {
            Style::Bar => ProgressDrawTarget::stderr(),
            Style::Silent | Style::Lines => ProgressDrawTarget::hidden(),
        };
        let template = match steps {
            Some(_) => "{bar:30} {pos}/{len}, {elapsed} elapsed, {eta} left, {wide_msg}",
            None => "{spinner} {elapsed} {wide_msg}",
        };
        let bar = ProgressBar::with_draw_target(steps.map(|steps| steps as u64), target);
        // The templates are constants. If one of them were wrong, the default style would serve.
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        if style == Style::Bar {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Activity { style, bar }
    }

    /// Shows the name of the step that begins now.
    pub fn begin(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    /// Hides the bar while `write` writes to another stream.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    /// Writes a line to a log in the middle of a step.
    pub fn note(&self, line: &str) {
        if self.style == Style::Lines {
            // A log that cannot be written is no reason to stop the verb.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Counts one step as done. `summary` is its line in a log.
    pub fn finish(&self, summary: &str) {
        self.bar.inc(1);
        let steps = self.bar.length().unwrap_or_default();
        self.note(&format!("[{}/{steps}] {summary}", self.bar.position()));
    }
}

impl Steps for Activity {
    fn begin(&self, what: &str) {
        Activity::begin(self, what);
    }

    fn finish(&self, summary: &str) {
        Activity::finish(self, summary);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
