//! Ctrl-C while a matrix runs: finished runs are kept, and runs under way are given up at once.
//!
//! Every finished run is on disk before it is counted, so the process may end at any moment without losing one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use chorus_lab::progress::Progress;
use chorus_lab::run::{RunError, RunResult, RunSpec};
use chorus_lab::store::StoreError;

use crate::failure::INTERRUPTED;

enum Event {
    Finished,
    Interrupted,
}

/// Does some work on another thread. Ctrl-C sets `cancel`, calls `stopped` and ends the process.
pub fn interruptible<T: Send>(cancel: &AtomicBool, work: impl FnOnce() -> T + Send, stopped: impl FnOnce()) -> T {
    let (sender, events) = mpsc::channel();
    let interrupts = sender.clone();
    // If no handler can be installed, Ctrl-C ends the process as it does by default.
    let _ = ctrlc::set_handler(move || {
        let _ = interrupts.send(Event::Interrupted);
    });
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(work));
            // Sending cannot fail: the receiver lives until the worker has ended.
            let _ = sender.send(Event::Finished);
            result
        });
        if let Ok(Event::Interrupted) = events.recv() {
            cancel.store(true, Ordering::Relaxed);
            stopped();
            std::process::exit(INTERRUPTED.into());
        }
        worker.join().and_then(|result| result).unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Counts the runs of a matrix, and passes all progress on to a display.
pub struct Tally {
    shown: Box<dyn Progress>,
    total: AtomicUsize,
    kept: AtomicUsize,
}

impl Tally {
    /// Counts all progress and passes it on to `shown`.
    pub fn new(shown: Box<dyn Progress>) -> Tally {
        Tally { shown, total: AtomicUsize::new(0), kept: AtomicUsize::new(0) }
    }

    /// The number of runs that are kept, and the number of all runs.
    pub fn counts(&self) -> (usize, usize) {
        (self.kept.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Ends the display, if a matrix has begun.
    pub fn stop(&self) {
        if self.total.load(Ordering::Relaxed) > 0 {
            self.shown.end(false);
        }
    }
}

impl Progress for Tally {
    fn begin(&self, total: usize, reused: usize) {
        self.total.store(total, Ordering::Relaxed);
        self.kept.store(reused, Ordering::Relaxed);
        self.shown.begin(total, reused);
    }

    fn started(&self, spec: &RunSpec) {
        self.shown.started(spec);
    }

    fn finished(&self, result: &RunResult) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        self.shown.finished(result);
    }

    fn failed(&self, spec: &RunSpec, error: &RunError) {
        self.kept.fetch_add(1, Ordering::Relaxed);
        self.shown.failed(spec, error);
    }

    fn waits(&self, spec: &RunSpec, error: &StoreError) {
        self.shown.waits(spec, error);
    }

    fn end(&self, cancelled: bool) {
        self.shown.end(cancelled);
    }
}
