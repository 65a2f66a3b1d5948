//! Lines and fields of a text file that may hold anything.

use std::ops::RangeInclusive;
use std::str::SplitWhitespace;

use super::error::{GraphError, excerpt};
use super::{EDGES_MAX, Edge, NODES_MAX};

/// Bytes of the shortest line with an edge: two digits, a blank and a line end.
const EDGE_BYTES_MIN: usize = 4;

/// The lines of a file, and its size, which limits the numbers of nodes and edges that it can hold.
pub(super) struct Lines<'a> {
    file: &'a str,
    bytes: usize,
    rest: Option<&'a [u8]>,
    number: usize,
}

/// A line, and its place for messages.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    file: &'a str,
    number: usize,
    /// Its text without blanks around it.
    pub text: &'a str,
}

impl<'a> Lines<'a> {
    pub fn new(file: &'a str, bytes: &'a [u8]) -> Lines<'a> {
        Lines { file, bytes: bytes.len(), rest: Some(bytes), number: 0 }
    }

    /// The next line that is not blank, or nothing at the end.
    pub fn next(&mut self) -> Result<Option<Line<'a>>, GraphError> {
        while let Some(rest) = self.rest {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let line = &rest[..end.unwrap_or(rest.len())];
            self.rest = end.map(|end| &rest[end + 1..]);
            self.number += 1;
            let text = std::str::from_utf8(line).map_err(|_| {
                let start = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
                self.end().error("no text", excerpt(&start), "UTF-8 text; compressed files must be unpacked first")
            })?;
            if !text.trim().is_empty() {
                return Ok(Some(Line { file: self.file, number: self.number, text: text.trim() }));
            }
        }
        Ok(None)
    }

    /// The place that reading has come to, for messages about something that is missing.
    pub fn end(&self) -> Line<'a> {
        Line { file: self.file, number: self.number.max(1), text: "" }
    }

    /// The greatest number of nodes that a header may announce. A file of few bytes that announces many is wrong, and
    /// no memory is reserved for them.
    pub fn nodes_max(&self) -> u64 {
        u64::from(NODES_MAX).min(self.bytes as u64)
    }

    /// The greatest number of edges that a header may announce.
    pub fn edges_max(&self) -> u64 {
        u64::from(EDGES_MAX).min((self.bytes / EDGE_BYTES_MIN) as u64)
    }
}

impl<'a> Line<'a> {
    pub fn error(&self, message: &str, found: impl Into<String>, accepted: impl Into<String>) -> GraphError {
        GraphError {
            file: self.file.to_owned(),
            line: self.number,
            message: message.to_owned(),
            found: found.into(),
            accepted: accepted.into(),
        }
    }

    /// The fields of the line, which blanks separate.
    pub fn fields(&self) -> Fields<'a> {
        Fields { line: *self, fields: self.text.split_whitespace() }
    }
}

/// The fields of a line, taken one after the other.
pub(super) struct Fields<'a> {
    line: Line<'a>,
    fields: SplitWhitespace<'a>,
}

impl<'a> Fields<'a> {
    /// The next field, called `what`.
    pub fn text(&mut self, what: &str, accepted: &str) -> Result<&'a str, GraphError> {
        self.fields.next().ok_or_else(|| self.line.error(what, "the end of the line", accepted))
    }

    /// The next field, which is one of `words` in any case; gives its place among them.
    pub fn word(&mut self, what: &str, words: &[&str]) -> Result<usize, GraphError> {
        let accepted = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let given = self.text(what, &accepted)?;
        let found = words.iter().position(|word| word.eq_ignore_ascii_case(given));
        found.ok_or_else(|| self.line.error(what, excerpt(given), accepted))
    }

    /// The next field, which is a whole number.
    pub fn whole(&mut self, what: &str, range: RangeInclusive<u64>) -> Result<u32, GraphError> {
        let accepted = || format!("a whole number from {} to {}", range.start(), range.end());
        let Some(given) = self.fields.next() else {
            return Err(self.line.error(what, "the end of the line", accepted()));
        };
        let value = given.parse::<u64>().ok().filter(|value| range.contains(value));
        let value = value.and_then(|value| u32::try_from(value).ok());
        value.ok_or_else(|| self.line.error(what, excerpt(given), accepted()))
    }

    /// The next field, which is a finite number.
    pub fn real(&mut self, what: &str) -> Result<f64, GraphError> {
        const ACCEPTED: &str = "a finite number";
        let given = self.text(what, ACCEPTED)?;
        let value = given.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| self.line.error(what, excerpt(given), ACCEPTED))
    }

    /// Checks that no field is left.
    pub fn end(mut self) -> Result<(), GraphError> {
        match self.fields.next() {
            None => Ok(()),
            Some(more) => Err(self.line.error("line too long", excerpt(more), "the end of the line")),
        }
    }
}

/// Edges that a header has announced, as they come.
pub(super) struct Announced {
    count: u32,
    edges: Vec<Edge>,
}

impl Announced {
    /// `count` edges, which the size of the file allows.
    pub fn new(count: u32) -> Announced {
        Announced { count, edges: Vec::with_capacity(count as usize) }
    }

    /// One more, which stands in `line`.
    pub fn push(&mut self, line: &Line<'_>, edge: Edge) -> Result<(), GraphError> {
        if self.edges.len() == self.count as usize {
            let accepted = format!("the {} edges that the header announces", self.count);
            return Err(line.error("too many edges", excerpt(line.text), accepted));
        }
        self.edges.push(edge);
        Ok(())
    }

    /// All of them, at the end of the file.
    pub fn all(self, end: &Line<'_>) -> Result<Vec<Edge>, GraphError> {
        if self.edges.len() < self.count as usize {
            let found = format!("the end of the file after {} edges", self.edges.len());
            return Err(end.error("too few edges", found, format!("the {} that the header announces", self.count)));
        }
        Ok(self.edges)
    }
}
