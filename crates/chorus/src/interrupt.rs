//! Ctrl-C while a matrix runs: what is finished is kept, what is running is given up at once.
//!
//! Every finished run is on disk before it is counted, so the process may end at any moment without losing one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use chorus_lab::progress::Progress;
use chorus_lab::run::{RunError, RunResult, RunSpec};

use crate::failure::INTERRUPTED;

/// Does some work on another thread. After Ctrl-C it sets `cancel`, calls `stopped` and ends the process.
///
/// Where no handler can be installed, Ctrl-C ends the process as it does by default.
pub fn interruptible<T: Send>(cancel: &AtomicBool, work: impl FnOnce() -> T + Send, stopped: impl FnOnce()) -> T {
    enum Event<T> {
        Finished(thread::Result<T>),
        Interrupted,
    }
    let (sender, receiver) = mpsc::channel();
    let finished = sender.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // The receiver lives until it has received this.
            let _ = finished.send(Event::Finished(result));
        });
        let (interrupted, interrupts) = mpsc::channel();
        let _ = ctrlc::set_handler(move || {
            let _ = interrupted.send(());
        });
        // This thread ends with the process: it is not part of the scope.
        forward(interrupts, move || sender.send(Event::Interrupted).is_ok());
        match receiver.recv() {
            Ok(Event::Finished(Ok(result))) => result,
            Ok(Event::Finished(Err(panic))) => std::panic::resume_unwind(panic),
            Ok(Event::Interrupted) | Err(_) => {
                cancel.store(true, Ordering::Relaxed);
                stopped();
                std::process::exit(INTERRUPTED.into());
            }
        }
    })
}
