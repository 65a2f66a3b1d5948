//! The end of a verb: exit codes and error messages.
//!
//! A message begins with `error: `. It names the wrong input and says what is accepted. It may show the line of the
//! file that is meant. Advice follows after an empty line, in lines that begin with `hint: `.

use std::io::{self, Write};

use chorus_lab::bench::BenchError;
use chorus_lab::catalogue::CatalogueError;
use chorus_lab::checkpoint::CheckpointError;
use chorus_lab::cluster::ClusterError;
use chorus_lab::comparison::CompareError;
use chorus_lab::document::DocumentError;
use chorus_lab::export::ExportError;
use chorus_lab::message;
use chorus_lab::reproduce::ReproduceError;
use chorus_lab::run::{RunError, RunErrorKind};
use chorus_lab::setup::SetupError;
use chorus_lab::store::StoreError;
use chorus_lab::validation::ValidateError;
use chorus_site::SiteError;
use chorus_system::{Place, SystemError};
use chorus_trace::TraceError;
use serde_json::{Value, json};

/// Exit code after a check that failed.
pub const CHECK_FAILED: u8 = 1;
/// Exit code after input that cannot be used.
pub const BAD_INPUT: u8 = 2;
/// Exit code after a defect of Chorus. Rust gives the same code to panics.
pub const DEFECT: u8 = 101;
/// Exit code after Ctrl-C, as shells number it.
pub const INTERRUPTED: u8 = 130;

/// The verdict of a verb that did what it was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong; every check passed.
    Good,
    /// A check failed: a wrong result, a violation or a vacuous test.
    CheckFailed,
    /// Every check that could be made passed, and some of the input could not be used. It has been named already.
    BadInput,
}

impl Verdict {
    /// [`Verdict::Good`] if a check passed, otherwise [`Verdict::CheckFailed`].
    pub fn of(passed: bool) -> Verdict {
        if passed { Verdict::Good } else { Verdict::CheckFailed }
    }

    /// The exit code of the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Verdict::Good => 0,
            Verdict::CheckFailed => CHECK_FAILED,
            Verdict::BadInput => BAD_INPUT,
        }
    }
}

/// The reason why a verb could not do what it was asked to do.
#[derive(Debug)]
pub struct Failure {
    /// The exit code that the process ends with.
    pub exit_code: u8,
    message: String,
    excerpt: Option<String>,
}

impl Failure {
    /// A failure because of input that cannot be used.
    pub fn bad_input(message: impl Into<String>) -> Failure {
        Failure { exit_code: BAD_INPUT, message: message.into(), excerpt: None }
    }

    /// A failure because of a defect of Chorus. Its message has been shown already.
    pub fn defect() -> Failure {
        Failure { exit_code: DEFECT, message: "Chorus itself failed".to_owned(), excerpt: None }
    }

    /// A failure because of a command line that cannot be understood, in the words of the parser.
    pub fn usage(error: &clap::Error) -> Failure {
        let text = error.to_string();
        let message = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::bad_input(message)
    }

    fn check_failed(message: impl Into<String>) -> Failure {
        Failure { exit_code: CHECK_FAILED, message: message.into(), excerpt: None }
    }

    /// A failure because of bad input whose place in a file is known.
    fn at_place(error: &impl std::fmt::Display, place: Option<&Place>) -> Failure {
        Failure { excerpt: place.and_then(Place::excerpt), ..Failure::bad_input(error.to_string()) }
    }

    /// Writes the message to stderr, for people.
    pub fn print(&self) {
        print_error(&self.message, self.excerpt.as_deref());
    }

    /// The message as JSON, for programs.
    pub fn to_json(&self) -> Value {
        let (what, hints) = message::split(&self.message);
        let hints: Vec<&str> = hints.iter().map(|hint| hint.trim_start_matches("hint: ")).collect();
        json!({ "error": what.join("\n"), "hints": hints, "exit_code": self.exit_code })
    }
}

/// Writes an error to stderr. If that fails, nobody is left who could be told.
pub fn print_error(message: &str, excerpt: Option<&str>) {
    let _ = io::stderr().write_all(format!("error: {}", message::shown(message, excerpt)).as_bytes());
}

/// Writes to stderr what does not end a verb, but what its user should know.
pub fn print_warning(message: &str) {
    print_note(&format!("warning: {message}"));
}

/// Writes a line to stderr. If that fails, nobody is left who could be told.
pub fn print_note(message: &str) {
    let _ = io::stderr().write_all(format!("{message}\n").as_bytes());
}

impl From<SystemError> for Failure {
    fn from(error: SystemError) -> Failure {
        Failure::at_place(&error, error.place())
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Failure {
        Failure::at_place(&error, error.place())
    }
}

impl From<CatalogueError> for Failure {
    fn from(error: CatalogueError) -> Failure {
        Failure::at_place(&error, error.place())
    }
}

impl From<DocumentError> for Failure {
    fn from(error: DocumentError) -> Failure {
        Failure::at_place(&error, error.place())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error.kind {
            RunErrorKind::Refused | RunErrorKind::BadInput => Failure::bad_input(error.message),
            RunErrorKind::Stuck | RunErrorKind::Undeclared | RunErrorKind::Defect | RunErrorKind::Stopped => {
                Failure::check_failed(error.message)
            }
        }
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Failure {
        Failure::bad_input(error.to_string())
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

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

impl From<SiteError> for Failure {
    fn from(error: SiteError) -> Failure {
        match error {
            SiteError::System(source) => source.into(),
            SiteError::Experiment(source) => source.into(),
            SiteError::BrokenProtocol { .. } => Failure::check_failed(error.to_string()),
            SiteError::Unwritable { .. } => Failure::bad_input(error.to_string()),
        }
    }
}

impl From<ValidateError> for Failure {
    fn from(error: ValidateError) -> Failure {
        Failure::bad_input(error.to_string())
    }
}

/// Turns a panic into a message for people. A panic in a run of a matrix loses that run alone.
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
