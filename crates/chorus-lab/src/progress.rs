//! Progress of a matrix, shown on stderr so that data on stdout stays clean.

use std::env;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::run::{CheckResult, RunError, RunResult, RunSpec};
use crate::store::StoreError;

/// A display that is told what happens in a matrix. Calls come from several threads.
pub trait Progress: Sync {
    /// The matrix begins. It has `total` runs, and the store already has `reused` of them.
    fn begin(&self, total: usize, reused: usize);
    /// A run starts on some thread.
    fn started(&self, spec: &RunSpec);
    /// A run has finished and is kept.
    fn finished(&self, result: &RunResult);
    /// A run gave no result. Its error is kept.
    fn failed(&self, spec: &RunSpec, error: &RunError);
    /// A finished run waits until the store can be written. That is said once.
    fn waits(&self, _spec: &RunSpec, _error: &StoreError) {}
    /// The matrix ends, or was stopped early.
    fn end(&self, cancelled: bool);
}

/// The message about a finished run that cannot be written for the moment.
fn waiting(spec: &RunSpec, error: &StoreError) -> String {
    format!("{error}; {spec} is finished and waits until then")
}

/// The message after a matrix that was stopped early.
const STOPPED: &str = "stopped early; finished runs are kept";

/// A display that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn begin(&self, _total: usize, _reused: usize) {}
    fn started(&self, _spec: &RunSpec) {}
    fn finished(&self, _result: &RunResult) {}
    fn failed(&self, _spec: &RunSpec, _error: &RunError) {}
    fn end(&self, _cancelled: bool) {}
}

/// A bar with an estimate of the time left, for a terminal.
#[derive(Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// Makes a bar on stderr.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let template = "{bar:30} {pos}/{len} runs, {elapsed} elapsed, {left}, {wide_msg}";
        let style = ProgressStyle::with_template(template).map(|style| style.with_key("left", write_time_left));
        // The template is a constant. If it were wrong, the default style would serve.
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar(bar)
    }
}

/// Writes the estimate of the time left, as soon as a finished run gives one.
fn write_time_left(state: &ProgressState, text: &mut dyn fmt::Write) {
    let left = state.eta();
    // If the text cannot be written, the bar lacks it.
    let _ = if left.is_zero() { write!(text, "estimating") } else { write!(text, "{:#} left", HumanDuration(left)) };
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bar {
    fn begin(&self, total: usize, reused: usize) {
        self.0.set_length(total as u64);
        self.0.set_position(reused as u64);
        // Reused runs took no time, so they must not enter the estimate.
        self.0.reset_eta();
        self.0.enable_steady_tick(Duration::from_millis(200));
    }

    fn started(&self, spec: &RunSpec) {
        self.0.set_message(format!("{} on {}", spec.protocol, spec.workload));
    }

    fn finished(&self, result: &RunResult) {
        if let CheckResult::Fail(message) = &result.result {
            self.0.println(format!("{}: wrong result: {message}", result.spec));
        }
        self.0.inc(1);
    }

    fn failed(&self, spec: &RunSpec, error: &RunError) {
        self.0.println(format!("{spec}: {}: {error}", error.kind.name()));
        self.0.inc(1);
    }

    fn waits(&self, spec: &RunSpec, error: &StoreError) {
        self.0.println(waiting(spec, error));
    }

    fn end(&self, cancelled: bool) {
        if cancelled {
            self.0.println(STOPPED);
        }
        self.0.finish_and_clear();
    }
}

/// One line per finished run, for logs.
#[derive(Debug)]
pub struct Lines<W> {
    out: std::sync::Mutex<W>,
    total: AtomicUsize,
    done: AtomicUsize,
}

impl<W: Write> Lines<W> {
    /// Writes the lines to `out`.
    pub fn new(out: W) -> Self {
        Lines { out: std::sync::Mutex::new(out), total: AtomicUsize::new(0), done: AtomicUsize::new(0) }
    }

    /// Writes a line. A log that cannot be written is no reason to stop the runs.
    fn line(&self, text: &str) {
        let mut out = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = writeln!(out, "{text}");
    }

    fn count(&self) -> String {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        format!("[{done}/{}]", self.total.load(Ordering::Relaxed))
    }
}

impl<W: Write + Send> Progress for Lines<W> {
    fn begin(&self, total: usize, reused: usize) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(reused, Ordering::Relaxed);
        if reused > 0 {
            self.line(&format!("{reused} of {total} runs are there already"));
        }
    }

    fn started(&self, _spec: &RunSpec) {}

    fn finished(&self, result: &RunResult) {
        let (spec, cycles, wall_s) = (&result.spec, result.cycles, result.wall_s);
        let status = result.result.name();
        self.line(&format!("{} {spec}: {status}, {cycles} cycles, {wall_s:.1} s", self.count()));
    }

    fn failed(&self, spec: &RunSpec, error: &RunError) {
        self.line(&format!("{} {spec}: {}: {error}", self.count(), error.kind.name()));
    }

    fn waits(&self, spec: &RunSpec, error: &StoreError) {
        self.line(&waiting(spec, error));
    }

    fn end(&self, cancelled: bool) {
        if cancelled {
            self.line(STOPPED);
        }
    }
}

/// The display for stderr: a bar if it is a terminal and neither `NO_COLOR` nor `CI` is set, otherwise lines.
pub fn for_stderr() -> Box<dyn Progress> {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    if io::stderr().is_terminal() && !set("NO_COLOR") && !set("CI") {
        Box::new(Bar::new())
    } else {
        Box::new(Lines::new(io::stderr()))
    }
}
