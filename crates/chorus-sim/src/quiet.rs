//! Panics that are caught without their message being printed.
//!
//! Kernels may panic on values that they read, under protocols that promise too little. A run that shows this catches
//! such a panic. The threads of a run are as quiet as the thread that began it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::thread;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Catches a panic of `action`, here or on a thread of a run that it makes, without printing its message.
pub fn quietly<T>(action: impl FnOnce() -> T) -> thread::Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                loud(panic);
            }
        }));
    });
    QUIET.set(true);
    // Unwinding is safe: everything that the action leaves half done is dropped with it.
    let result = catch_unwind(AssertUnwindSafe(action));
    QUIET.set(false);
    result
}

/// Whether panics of this thread are not printed.
pub(crate) fn is_quiet() -> bool {
    QUIET.get()
}

/// Sets whether panics of this thread are not printed.
pub(crate) fn set_quiet(quiet: bool) {
    QUIET.set(quiet);
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::{is_quiet, quietly};

    #[test]
    fn a_panic_is_caught_with_its_message_and_the_thread_is_loud_again() {
        let panic = quietly(|| panic!("index {} out of range", black_box(7))).expect_err("it panics");
        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some("index 7 out of range"));
        assert!(!is_quiet());
        assert_eq!(quietly(is_quiet).ok(), Some(true));
    }
}
