//! What every verb gets: stdout, and how progress is shown.

use std::env;
use std::io::{self, IsTerminal};

use chorus_lab::progress::{self, Progress, Silent};
use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;

use crate::activity::{Activity, Style};
use crate::failure::Failure;
use crate::output::Output;

/// One invocation.
#[derive(Debug)]
pub struct Session {
    /// Everything that can be named. It lives as long as the process.
    pub registry: &'static Registry,
    /// Where data goes.
    pub output: Output,
    style: Style,
}

impl Session {
    /// An invocation that shows progress or does not: as a bar where stderr is a terminal and neither `NO_COLOR` nor `CI` is set,
    /// otherwise as lines.
    pub fn new(registry: &'static Registry, shows_progress: bool) -> Session {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let style = match shows_progress {
            false => Style::Silent,
            true if io::stderr().is_terminal() && !set("NO_COLOR") && !set("CI") => Style::Bar,
            true => Style::Lines,
        };
        Session { registry, output: Output::default(), style }
    }

    /// The protocol of this name.
    pub fn protocol(&self, name: &str) -> Result<&'static dyn Protocol, Failure> {
        self.registry.expect_protocol(name).map_err(Failure::bad_input)
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
