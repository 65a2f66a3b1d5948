//! Reasons why numbers of the simulator are off, in words, from a file beside the measurements.

use serde::Deserialize;

use super::measured::rows;
use crate::document::{Document, DocumentError, read_file};

/// A row of the file.
#[derive(Clone, Debug, Deserialize)]
struct Reason {
    /// The beginning of the titles of the rows that it explains.
    rows: String,
    reason: String,
}

/// Reasons by the titles of rows.
#[derive(Clone, Debug, Default)]
pub struct Reasons(Vec<Reason>);

impl Reasons {
    /// Reads a file of reasons. Each must explain at least one of the rows that exist, whose titles are given.
    pub(super) fn read(path: &str, titles: &[String]) -> Result<Reasons, DocumentError> {
        let reasons: Vec<Reason> = rows(path)?;
        let explains_nothing = |reason: &&Reason| !titles.iter().any(|title| title.starts_with(&reason.rows));
        let Some(reason) = reasons.iter().find(explains_nothing) else { return Ok(Reasons(reasons)) };
        let text = read_file(path)?;
        let start = text.find(&reason.rows).unwrap_or(0);
        let message = format!(
            "no probe and no kernel has a title that begins with `{}`; titles are those of the table of largest errors",
            reason.rows
        );
        Err(Document { name: path, text: &text }.mistake(start..start + reason.rows.len(), message))
    }

    /// The reason for a row. The most precise one counts.
    pub fn of(&self, title: &str) -> Option<&str> {
        let fitting = self.0.iter().filter(|reason| title.starts_with(&reason.rows));
        fitting.max_by_key(|reason| reason.rows.len()).map(|reason| reason.reason.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_title_gives_its_reason() {
        let reason = |rows: &str, reason: &str| Reason { rows: rows.to_owned(), reason: reason.to_owned() };
        let reasons = Reasons(vec![reason("fence: ", "loops"), reason("fence: fence.sc", "order")]);
        assert_eq!(reasons.of("fence: fence.sc.cta, 1"), Some("order"));
        assert_eq!(reasons.of("fence: fence.acq_rel.cta, 1"), Some("loops"));
        assert_eq!(reasons.of("chase: ld.ca, 8192"), None);
    }
}
