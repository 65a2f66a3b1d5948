//! The litmus tests that a command line means, and what it prints of those that cannot be run.

use chorus_proof::litmus_input::{self, LitmusInput};
use chorus_registry::Registry;
use chorus_verify::litmus::SuiteTest;

use crate::failure::{Failure, Verdict, print_error};
use crate::session::Session;

/// Whether every outcome of every test is shown: if tests are named and they are few.
pub fn are_in_detail(named: &[String], tests: usize) -> bool {
    !named.is_empty() && tests <= 8
}

/// The tests that `names` means, or `all` if there are no names. Files that cannot be used are told on stderr at once.
pub fn read(registry: &Registry, names: &[String], all: Vec<SuiteTest>) -> Result<LitmusInput, Failure> {
    let input = litmus_input::read(registry, names, all).map_err(Failure::bad_input)?;
    input.bad_files.iter().for_each(|bad| print_error(&bad.message, None));
    Ok(input)
}

/// The verdict on everything that was asked for, if the tests that could be run passed or not. A check that failed
/// counts more than a file that could not be used.
pub fn verdict(input: &LitmusInput, passed: bool) -> Verdict {
    match Verdict::of(passed) {
        Verdict::Good if !input.bad_files.is_empty() => Verdict::BadInput,
        verdict => verdict,
    }
}

/// Prints how many files could not be used. What is wrong with each is told on stderr.
pub fn print_bad_files(input: &LitmusInput, session: &mut Session) -> Result<(), Failure> {
    match input.bad_files.len() {
        0 => Ok(()),
        1 => session.output.line("1 file could not be used"),
        several => session.output.line(&format!("{several} files could not be used")),
    }
}

/// Prints how many tests are not supported, and for which reasons.
pub fn print_unsupported(input: &LitmusInput, session: &mut Session) -> Result<(), Failure> {
    let reasons = reasons(input);
    reasons.iter().try_for_each(|(reason, count)| session.output.line(&format!("{count} not supported: {reason}")))
}

/// The number of unsupported tests for each reason, the most frequent reason first.
fn reasons(input: &LitmusInput) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for (_, reason) in &input.unsupported {
        // One reason in different lines of a file counts as one reason.
        let reason = reason.split(" in line ").next().unwrap_or(reason);
        match counts.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None => counts.push((reason.to_owned(), 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
