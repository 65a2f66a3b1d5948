//! What is wrong with a litmus file, and where.

use std::fmt;

use thiserror::Error;

/// A place in a text, counted from one; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A mistake in a litmus file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct LitmusError {
    /// What is wrong.
    pub message: String,
    /// Where.
    pub position: Position,
    /// What stands there.
    pub found: String,
    /// What would be accepted there.
    pub accepted: String,
}

impl LitmusError {
    pub(crate) fn new(
        position: Position,
        message: impl Into<String>,
        found: impl Into<String>,
        accepted: impl Into<String>,
    ) -> LitmusError {
        LitmusError { message: message.into(), position, found: found.into(), accepted: accepted.into() }
    }

    /// The message with the name of the file in front, as compilers print it.
    pub fn render(&self, file: &str) -> String {
        format!("{file}:{self}")
    }
}

impl fmt::Display for LitmusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "{line}:{column}: {}: found {}, accepted: {}", self.message, self.found, self.accepted)
    }
}
