//! Places in a program file. Messages about values that are computed later name them, too.

use std::sync::Arc;

use crate::error::ProgramError;

/// A line of a program file, and the key that is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    file: Arc<str>,
    line: usize,
    key: String,
}

impl Place {
    /// The place of the byte `at` of a file's text.
    pub(crate) fn new(file: &Arc<str>, text: &str, at: usize, key: String) -> Place {
        let before = text.as_bytes().iter().take(at);
        Place { file: Arc::clone(file), line: 1 + before.filter(|&&byte| byte == b'\n').count(), key }
    }

    /// The mistake at this place.
    pub(crate) fn mistake(&self, message: impl Into<String>) -> ProgramError {
        let (file, line, key) = (self.file.to_string(), self.line, self.key.clone());
        ProgramError { file, line, key, message: message.into() }
    }
}
