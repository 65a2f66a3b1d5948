//! How a verb ends: exit codes and error messages.
//!
//! A message begins with `error: `, names what was given and what is accepted, and may show the line of the file that is meant.
//! Advice follows after an empty line, as lines that begin with `hint: `.

use std::io::{self, Write};

use chorus_lab::bench::BenchError;
use chorus_lab::comparison::CompareError;
use chorus_lab::document::DocumentError;
use chorus_lab::export::ExportError;
use chorus_lab::reproduce::ReproduceError;
use chorus_lab::run::{RunError, RunErrorKind};
use chorus_lab::setup::SetupError;
use chorus_lab::store::StoreError;
use chorus_system::SystemError;
use miette::Diagnostic;
use serde_json::{Value, json};

/// Exit code: a check said no.
pub const CHECK_FAILED: u8 = 1;
/// Exit code: what was asked for cannot be.
pub const BAD_INPUT: u8 = 2;
/// Exit code: Chorus itself went wrong. The one that Rust gives to panics.
pub const DEFECT: u8 = 101;
/// Exit code: stopped by Ctrl-C, as shells number it.
pub const INTERRUPTED: u8 = 130;

/// How a verb ended that did what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All is well.
    Good,
    /// A check said no: a wrong result, a violation, a vacuous test.
    CheckFailed,
}

impl Verdict {
    /// Good where a check passed.
    pub fn of(passed: bool) -> Verdict {
        if passed { Verdict::Good } else { Verdict::CheckFailed }
    }
}

/// Why a verb could not do what it was asked to.
#[derive(Debug)]
pub struct Failure {
    /// The exit code of the process.
    pub exit_code: u8,
    message: String,
    excerpt: Option<String>,
}

impl Failure {
    /// What was asked for cannot be.
    pub fn bad_input(message: impl Into<String>) -> Failure {
        Failure { exit_code: BAD_INPUT, message: message.into(), excerpt: None }
    }

    /// Chorus itself went wrong; the message has been shown.
    pub fn defect() -> Failure {
        Failure { exit_code: DEFECT, message: "Chorus itself failed".to_owned(), excerpt: None }
    }

    /// A command line that cannot be understood, in the words of the parser.
    pub fn usage(error: &clap::Error) -> Failure {
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::bad_input(message)
    }

    fn check_failed(message: impl Into<String>) -> Failure {
        Failure { exit_code: CHECK_FAILED, message: message.into(), excerpt: None }
    }

    /// Bad input of which the place in a file is known.
    fn at_place(error: &(impl Diagnostic + std::fmt::Display)) -> Failure {
        Failure { excerpt: excerpt(error), ..Failure::bad_input(error.to_string()) }
    }

    /// Writes the message to stderr.
    pub fn print(&self) {
        print_error(&self.message, self.excerpt.as_deref());
    }

    /// The message for programs.
    pub fn to_json(&self) -> Value {
        let (what, hints) = split(&self.message);
        let hints: Vec<&str> = hints.iter().map(|hint| hint.trim_start_matches("hint: ")).collect();
        json!({ "error": what.join("\n"), "hints": hints, "exit_code": self.exit_code })
    }
}

/// Writes an error to stderr. Where that fails there is nobody left to tell.
pub fn print_error(message: &str, excerpt: Option<&str>) {
    let (what, advice) = split(message);
    let mut text = format!("error: {}\n", what.join("\n"));
    text.push_str(excerpt.unwrap_or_default());
    if !advice.is_empty() {
        text.push_str(&format!("\n{}\n", advice.join("\n")));
    }
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The lines of a message up to its first hint, and the hints.
fn split(message: &str) -> (Vec<&str>, Vec<&str>) {
    let mut lines: Vec<&str> = message.lines().collect();
    let advice_at = lines.iter().position(|line| line.starts_with("hint: ")).unwrap_or(lines.len());
    let advice = lines.split_off(advice_at);
    (lines, advice)
}

/// The line of a file that an error points at, with the place underlined.
fn excerpt(error: &impl Diagnostic) -> Option<String> {
    let label = error.labels()?.next()?;
    // Without a line of context miette reads the label alone.
    let contents = error.source_code()?.read_span(label.inner(), 1, 1).ok()?;
    let text = std::str::from_utf8(contents.data()).ok()?;
    let start = label.offset().checked_sub(contents.span().offset())?;
    let before = text.get(..start)?;
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(line_start..)?.lines().next()?;
    let number = (contents.line() + before.matches('\n').count() + 1).to_string();
    // What lies before and under the mark is counted in characters, since that is what a terminal shows.
    let indent = before.get(line_start..)?.chars().count();
    let marked = text.get(start..start + label.len())?.lines().next().map_or(0, |marked| marked.chars().count());
    let (margin, indent, mark) = (" ".repeat(number.len()), " ".repeat(indent), "^".repeat(marked.max(1)));
    Some(format!(" {number} | {line}\n {margin} | {indent}{mark}\n"))
}

impl From<SystemError> for Failure {
    fn from(error: SystemError) -> Failure {
        Failure::at_place(&error)
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Failure {
        Failure::at_place(&error)
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Failure {
        Failure::at_place(&error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error.kind {
            RunErrorKind::Refused | RunErrorKind::BadInput => Failure::bad_input(error.message),
            RunErrorKind::Stuck | RunErrorKind::Undeclared | RunErrorKind::Defect => {
                Failure::check_failed(error.message)
            }
        }
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Failure {
        Failure::check_failed(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Failure {
        match error {
            CompareError::Setup(source) => source.into(),
            other => Failure::bad_input(other.to_string()),
        }
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

/// Makes a panic a message for people. Where it happens in a run of a matrix, that run alone is lost.
pub fn install_panic_message() {
    std::panic::set_hook(Box::new(|panic| {
        let what = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map_or_else(String::new, |place| format!(" ({place})"));
        let advice = "hint: this is a defect of Chorus; please report it with the command line";
        print_error(&format!("Chorus itself failed: {what}{place}\n{advice}"), None);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_annotation_is_a_check_that_said_no() {
        let failure = Failure::from(RunError::new(RunErrorKind::Undeclared, "kernel copy writes word 5"));
        assert_eq!((failure.exit_code, failure.message.as_str()), (CHECK_FAILED, "kernel copy writes word 5"));
    }
}
