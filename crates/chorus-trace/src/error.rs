//! Mistakes in traces: each is one message with the file and the line.

use std::fmt;

/// A trace that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The path of the file.
    pub file: String,
    /// The line that the message is about, if it is about one.
    pub line: Option<u64>,
    /// The words of the message.
    pub what: String,
}

impl TraceError {
    /// A message about a whole file.
    pub(crate) fn of_file(file: impl fmt::Display, what: impl Into<String>) -> TraceError {
        TraceError { file: file.to_string(), line: None, what: what.into() }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.what),
            None => write!(f, "{}: {}", self.file, self.what),
        }
    }
}

impl std::error::Error for TraceError {}

/// The most characters of a file that a message quotes.
const QUOTED_MAX: usize = 40;

/// A piece of a file as a message quotes it: short, and without characters that a terminal would act on.
pub(crate) fn quote(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * QUOTED_MAX)]);
    let mut short: String = text.chars().take(QUOTED_MAX).filter(|c| !c.is_control()).collect();
    if text.chars().count() > QUOTED_MAX {
        short.push('…');
    }
    format!("`{short}`")
}
