//! What every verb gets: stdout, and how progress is shown.

use std::env;
use std::io::{self, IsTerminal};

use chorus_lab::progress::{self, Progress, Silent};

use crate::activity::{Activity, Style};
use crate::output::Output;

/// One invocation.
#[derive(Debug)]
pub struct Session {
    /// Where data goes.
    pub output: Output,
    style: Style,
}

impl Session {
    /// An invocation that shows progress or does not: as a bar where stderr is a terminal and neither `NO_COLOR` nor `CI` is set,
    /// otherwise as lines.
    pub fn new(shows_progress: bool) -> Session {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let style = match shows_progress {
            false => Style::Silent,
            true if io::stderr().is_terminal() && !set("NO_COLOR") && !set("CI") => Style::Bar,
            true => Style::Lines,
        };
        Session { output: Output::default(), style }
    }

    /// Progress through so many steps; without a number, of something that is one step.
    pub fn activity(&self, steps: Option<usize>) -> Activity {
        Activity::new(self.style, steps)
    }

    /// Progress of a matrix.
    pub fn matrix_progress(&self) -> Box<dyn Progress> {
        match self.style {
            Style::Silent => Box::new(Silent),
            Style::Bar | Style::Lines => progress::for_stderr(),
        }
    }
}
