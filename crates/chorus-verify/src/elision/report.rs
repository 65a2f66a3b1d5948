//! The result of exploring a table with its L2s.

use std::fmt::Write as _;

use super::account::Reason;
use super::search::{Finding, REASONS};

/// A launch of a history in words, with what the command processor ordered before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The stream, where there are several.
    pub stream: Option<usize>,
    /// Whether a kernel of another stream may still run.
    pub overlaps: bool,
    /// The kernel's accesses, in words.
    pub kernel: String,
    /// The operations before it.
    pub plan: Vec<String>,
}

/// The size of a search, and the operations that it met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Histories of any length up to the longest.
    pub histories: u64,
    /// States of the caches.
    pub states: usize,
    /// Moves from one of these states to another.
    pub transitions: u64,
    /// Operations that the table asked for, at all launches of all histories.
    pub operations: u64,
    /// Operations among the least that are sound.
    pub least: u64,
    /// Operations beyond the least, by [`Reason`].
    pub excess: [u64; REASONS],
}

/// The result of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElisionReport {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The name of the configuration.
    pub config: &'static str,
    /// One sentence on what the configuration varies.
    pub description: String,
    /// The size of the search.
    pub counts: Counts,
    /// The first history that went wrong, if one did.
    pub finding: Option<Finding>,
}

impl Line {
    /// The launch in one line of text.
    pub fn to_text(&self) -> String {
        let stream = self.stream.map_or(String::new(), |stream| format!("stream {stream}, "));
        let overlaps = if self.overlaps { "beside the other, " } else { "" };
        let plan = if self.plan.is_empty() { "nothing".to_owned() } else { self.plan.join(", ") };
        format!("{stream}{overlaps}{}; before it: {plan}", self.kernel)
    }
}

impl Counts {
    /// The operations beyond the least, with their reasons.
    pub fn excess(&self) -> impl Iterator<Item = (Reason, u64)> {
        Reason::ALL.into_iter().zip(self.excess).filter(|(_, count)| *count > 0)
    }
}

impl ElisionReport {
    /// Whether no history went wrong.
    pub fn passed(&self) -> bool {
        self.finding.is_none()
    }

    /// The verdict in one word.
    pub fn verdict(&self) -> &'static str {
        if self.passed() { "pass" } else { "violated" }
    }

    /// The operations beyond the least in words: how many, and why.
    pub fn excess_text(&self) -> String {
        let parts: Vec<String> =
            self.counts.excess().map(|(reason, count)| format!("{count} {}", reason.name())).collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    }

    /// The report in words, with the history of a violation.
    pub fn to_text(&self) -> String {
        let Counts { histories, states, operations, least, .. } = self.counts;
        let mut text = format!("{}, {}: {}\n", self.protocol, self.config, self.description);
        let _ = writeln!(text, "  {histories} histories, {states} states: {}", self.verdict());
        let _ = writeln!(text, "  {operations} operations, {least} needed, beyond: {}", self.excess_text());
        if let Some(finding) = &self.finding {
            for (number, line) in finding.history.iter().enumerate() {
                let _ = writeln!(text, "  kernel {}: {}", number + 1, line.to_text());
            }
            let _ = writeln!(text, "  {}", finding.wrong);
        }
        text
    }
}
