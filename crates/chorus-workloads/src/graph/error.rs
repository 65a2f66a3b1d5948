//! Mistakes in graph files, with their places.

use std::fmt;

/// Characters of a file that a message shows.
const EXCERPT_CHARS_MAX: usize = 40;

/// A mistake in a graph file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError {
    /// The file as it was named.
    pub file: String,
    /// The line, counted from one; one past the last where something is missing at the end.
    pub line: usize,
    /// The mistake in a few words.
    pub message: String,
    /// The text that stands there.
    pub found: String,
    /// The text that would be accepted there.
    pub accepted: String,
}

impl std::error::Error for GraphError {}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GraphError { file, line, message, found, accepted } = self;
        write!(f, "{file}:{line}: {message}: found {found}; accepted: {accepted}")
    }
}

/// The start of a text in quotes, on one line; an ellipsis stands for the rest.
pub(super) fn excerpt(text: &str) -> String {
    let mut line: String = text.chars().take(EXCERPT_CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(EXCERPT_CHARS_MAX).is_some() {
        line.push('…');
    }
    format!("`{line}`")
}
