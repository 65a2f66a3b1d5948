//! Mistakes in litmus files, with their places.

use std::fmt;

use thiserror::Error;

/// A place in a text, counted from one. Columns are counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, counted from one.
    pub line: usize,
    /// The column in characters, counted from one.
    pub column: usize,
}

/// A mistake in a litmus file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct LitmusError {
    /// A description of the mistake.
    pub message: String,
    /// The place of the mistake.
    pub position: Position,
    /// The text at this place.
    pub found: String,
    /// The texts that would be accepted at this place.
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
