//! Errors in PTX: what is wrong, and where.

use std::fmt;

/// A place in a file of PTX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1 on.
    pub line: u32,
    /// The column, from 1 on, in characters.
    pub column: u32,
}

/// A file of PTX that cannot be run, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PtxError {
    /// The file, as it was named.
    pub file: String,
    /// Where it is wrong, or where it asks for something that is not supported.
    pub at: Place,
    /// A sentence that says what is wrong and what would be accepted.
    pub message: String,
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.at.line, self.at.column, self.message)
    }
}

/// An error whose file is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Place,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(at: Place, message: impl Into<String>) -> Fault {
        Fault { at, message: message.into() }
    }

    pub(crate) fn in_file(self, file: &str) -> PtxError {
        PtxError { file: file.to_owned(), at: self.at, message: self.message }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Fault>;
