//! Where the text goes that the threads of a program print.

use std::cell::Cell;
use std::io::{self, Write as _};

thread_local! {
    static PRINTS: Cell<bool> = const { Cell::new(false) };
}

/// Programs that are built by `action` on this thread write what their threads print to stderr, or nowhere. Nowhere is
/// the rule, since many runs of a matrix would write into each other.
pub fn with_printing<T>(prints: bool, action: impl FnOnce() -> T) -> T {
    let before = PRINTS.replace(prints);
    let result = action();
    PRINTS.set(before);
    result
}

pub(crate) fn prints() -> bool {
    PRINTS.get()
}

/// Writes printed text to stderr. If that fails, nobody is left who could be told.
pub(crate) fn print(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
