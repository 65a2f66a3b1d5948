//! Work on a thread of its own, while Python goes on.
//!
//! The thread that Python calls from waits without Python's lock. Several times a second it takes the lock, shows the
//! progress and asks whether Ctrl-C was pressed. Then the work is told to stop, and the call ends with
//! `KeyboardInterrupt`. A panic of the work becomes an exception.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use chorus_lab::progress::Progress as MatrixProgress;
use chorus_lab::run::{RunError, RunResult, RunSpec};
use chorus_proof::Steps;
use chorus_sim::{Progress, quietly};
use pyo3::prelude::*;

use crate::failure::Failure;

/// The time between two looks at signals and progress.
const LOOK: Duration = Duration::from_millis(100);
/// The longest wait for work that was told to stop. After it, the work ends by itself, and nobody hears of it.
const PATIENCE: Duration = Duration::from_secs(3);
/// The stack of the thread, as large as that of a program's main thread.
const STACK_BYTES: usize = 8 << 20;

/// The progress of some work, and the flag that ends it.
#[derive(Debug)]
pub struct Course {
    /// The flag that the caller sets to end the work. Searches keep it longer than a call lasts.
    pub stop: &'static AtomicBool,
    /// The progress of a single run.
    pub run: Progress,
    done: AtomicUsize,
    steps: AtomicUsize,
    step: Mutex<String>,
}

impl Course {
    /// The course of work that has not begun. It has a number of steps, or none if it is a single run.
    pub fn new(steps: usize) -> Arc<Course> {
        Arc::new(Course {
            stop: stop_flag(),
            run: Progress::default(),
            done: AtomicUsize::new(0),
            steps: AtomicUsize::new(steps),
            step: Mutex::new(String::new()),
        })
    }

    /// Whether the work was told to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sets how many steps the work has, and how many of them are done already.
    pub fn expect(&self, steps: usize, done: usize) {
        self.steps.store(steps, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
    }

    fn enter(&self, step: &str) {
        step.clone_into(&mut self.step.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn leave(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The steps that are done, the number of all where it is known, and the step that is under way. For a single run
    /// these are its kernels, of which one may be done in part.
    fn standing(&self) -> (f64, Option<f64>, String) {
        let steps = self.steps.load(Ordering::Relaxed);
        if steps > 0 {
            let step = self.step.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return (self.done.load(Ordering::Relaxed) as f64, Some(steps as f64), step);
        }
        let standing = self.run.standing();
        let total = standing.kernels_of.map(|kernels| kernels as f64);
        let of_running = standing.groups as f64 / standing.groups_of.max(1) as f64;
        let what = if standing.cycles == 0 { String::new() } else { format!("cycle {}", standing.cycles) };
        (standing.kernels as f64 + of_running, total, what)
    }
}

/// A flag that lives as long as the process. Each thread of Python has one, and uses it for one call after the other.
fn stop_flag() -> &'static AtomicBool {
    thread_local! {
        static STOP: std::cell::Cell<Option<&'static AtomicBool>> = const { std::cell::Cell::new(None) };
    }
    // Work that did not stop in time still has its flag, which stays set. Then the thread gets another one.
    let free = STOP.get().filter(|stop| !stop.load(Ordering::Relaxed));
    let stop = free.unwrap_or_else(|| Box::leak(Box::new(AtomicBool::new(false))));
    STOP.set(Some(stop));
    stop
}

impl Steps for Course {
    fn begin(&self, what: &str) {
        self.enter(what);
    }

    fn finish(&self, _summary: &str) {
        self.leave();
    }
}

impl MatrixProgress for Course {
    fn begin(&self, total: usize, reused: usize) {
        self.expect(total, reused);
    }

    fn started(&self, spec: &RunSpec) {
        self.enter(&format!("{} on {}", spec.protocol, spec.workload));
    }

    fn finished(&self, _result: &RunResult) {
        self.leave();
    }

    fn failed(&self, _spec: &RunSpec, _error: &RunError) {
        self.leave();
    }

    fn end(&self, _cancelled: bool) {}
}

/// Does some work on a thread of its own. `shown` is called with the progress several times a second.
pub fn perform<T: Send + 'static>(
    py: Python<'_>,
    course: &Arc<Course>,
    shown: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Course) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let (send, receive) = channel();
    let own = Arc::clone(course);
    let work = move || {
        let result = quietly(|| work(&own)).unwrap_or_else(|panic| Err(Failure::Defect(words(&*panic))));
        // Nobody listens any more after an interrupt.
        let _ = send.send(result);
    };
    let thread = thread::Builder::new().name("chorus".to_owned()).stack_size(STACK_BYTES).spawn(work);
    thread.map_err(|error| Failure::input(format!("cannot start a thread: {error}")).into_exception(py))?;
    let receive = Mutex::new(receive);
    let heard = |patience| receive.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(patience);
    loop {
        match py.detach(|| heard(LOOK)) {
            Ok(result) => return result.map_err(|failure| failure.into_exception(py)),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Defect("the work ended without a result".to_owned()).into_exception(py));
            }
            Err(RecvTimeoutError::Timeout) => {
                let looked = py.check_signals().and_then(|()| shown.map_or(Ok(()), |shown| show(shown, course)));
                if let Err(interrupt) = looked {
                    course.stop.store(true, Ordering::Relaxed);
                    if py.detach(|| heard(PATIENCE)).is_ok() {
                        course.stop.store(false, Ordering::Relaxed);
                    }
                    return Err(interrupt);
                }
            }
        }
    }
}

fn show(shown: &Bound<'_, PyAny>, course: &Course) -> PyResult<()> {
    shown.call1(course.standing()).map(drop)
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("Chorus itself failed: {text}\nhint: this is a defect of Chorus; please report it with the call")
}
