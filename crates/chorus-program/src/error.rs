//! Mistakes in program files, with their places.

use std::fmt;

/// A program that cannot be run, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ProgramError {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1 on; 0 if the file as a whole is meant.
    pub line: usize,
    /// The key, with those of the tables around it; empty if no key is meant.
    pub key: String,
    /// The mistake, with what would be accepted.
    pub message: String,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        f.write_str(": ")?;
        if !self.key.is_empty() {
            write!(f, "key `{}`: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// A part of a program file, or the mistake in it.
pub(crate) type Result<T> = std::result::Result<T, ProgramError>;
