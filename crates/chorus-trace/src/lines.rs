//! Lines of a trace, read one by one with a bound on their length.

use std::io::BufRead;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::{TraceError, quote};

/// The longest line that is read. A line of 32 addresses has 700 bytes, the mangled name of a kernel may have many
/// thousands.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// The lines of a file, with their numbers and their places.
pub(crate) struct Lines<R> {
    reader: R,
    file: Arc<str>,
    line: Vec<u8>,
    /// The number of the line that was read last, from 1 on.
    number: u64,
    /// Where that line begins, and where the next one does.
    start: u64,
    end: u64,
    /// Collects the contents, if somebody wants to know whether two files are the same.
    digest: Option<Sha256>,
}

impl<R: BufRead> Lines<R> {
    /// All lines of a file.
    pub(crate) fn new(reader: R, file: Arc<str>) -> Lines<R> {
        Lines::from_place(reader, file, (0, 1))
    }

    /// The lines of a file from a place on: the number of its byte and of its line.
    pub(crate) fn from_place(reader: R, file: Arc<str>, (offset, number): (u64, u64)) -> Lines<R> {
        let number = number.saturating_sub(1);
        Lines { reader, file, line: Vec::new(), number, start: offset, end: offset, digest: None }
    }

    /// Adds what is read from now on to `digest`.
    pub(crate) fn digested(self, digest: Sha256) -> Lines<R> {
        Lines { digest: Some(digest), ..self }
    }

    /// The digest with everything that was read.
    pub(crate) fn into_digest(self) -> Sha256 {
        self.digest.unwrap_or_default()
    }

    /// Reads the next line that is not blank. Returns whether there is one.
    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        while self.read()? {
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line that was read last, without blanks around it.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The place of the line that was read last, for [`Lines::from_place`].
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.start, self.number)
    }

    /// A message about the line that was read last.
    pub(crate) fn error(&self, what: impl Into<String>) -> TraceError {
        TraceError { file: self.file.to_string(), line: Some(self.number.max(1)), what: what.into() }
    }

    /// A message about what was found in the line that was read last, and what is accepted there.
    pub(crate) fn unexpected(&self, accepted: &str) -> TraceError {
        self.error(format!("found {}; accepted: {accepted}", quote(&self.line)))
    }

    fn read(&mut self) -> Result<bool, TraceError> {
        self.line.clear();
        self.start = self.end;
        self.number += 1;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.error(format!("cannot be read: {error}"))),
            };
            let newline = chunk.iter().position(|&byte| byte == b'\n');
            let taken = newline.map_or(chunk.len(), |at| at + 1);
            if let Some(digest) = &mut self.digest {
                digest.update(&chunk[..taken]);
            }
            let room = LINE_BYTES_MAX + 1 - self.line.len();
            self.line.extend_from_slice(&chunk[..taken.min(room)]);
            self.reader.consume(taken);
            self.end += taken as u64;
            if self.line.len() > LINE_BYTES_MAX {
                return Err(self.error(format!("has more than {LINE_BYTES_MAX} bytes in one line")));
            }
            if newline.is_some() || taken == 0 {
                let found = taken > 0 || self.start < self.end;
                let blank = |byte: &u8| byte.is_ascii_whitespace();
                let kept = self.line.iter().rposition(|byte| !blank(byte)).map_or(0, |last| last + 1);
                self.line.truncate(kept);
                let leading = self.line.iter().position(|byte| !blank(byte)).unwrap_or(0);
                self.line.drain(..leading);
                return Ok(found);
            }
        }
    }
}
