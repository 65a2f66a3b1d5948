//! The context of a verb: the registry, stdout, and the form in which progress is shown.

use std::env;
use std::io::{self, IsTerminal};

use chorus_lab::progress::{self, Progress, Silent};
use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;

use crate::activity::{Activity, Style};
use crate::failure::Failure;
use crate::output::Output;

/// One invocation of the command line.
#[derive(Debug)]
pub struct Session {
    /// Everything that can be named. The registry lives as long as the process.
    pub registry: &'static Registry,
    /// The stream for data: stdout.
    pub output: Output,
    style: Style,
}

impl Session {
    /// An invocation of the command line. Progress, if it is shown, is a bar if stderr is a terminal and neither
    /// `NO_COLOR` nor `CI` is set. Otherwise it is lines.
    pub fn new(registry: &'static Registry, shows_progress: bool) -> Session {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let style = match shows_progress {
            false => Style::Silent,
            true if io::stderr().is_terminal() && !set("NO_COLOR") && !set("CI") => Style::Bar,
            true => Style::Lines,
        };
        Session { registry, output: Output::default(), style }
    }

    /// The protocol of this name, or a message that lists the known names.
    pub fn protocol(&self, name: &str) -> Result<&'static dyn Protocol, Failure> {
        self.registry.expect_protocol(name).map_err(Failure::bad_input)
    }

    /// The form in which progress is shown.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Shows progress through a number of steps. Without a number there is one step of unknown length.
    pub fn activity(&self, steps: Option<usize>) -> Activity {
        Activity::new(self.style, steps)
    }

    /// Shows progress of a matrix.
    pub fn matrix_progress(&self) -> Box<dyn Progress> {
        match self.style {
            Style::Silent => Box::new(Silent),
            Style::Bar | Style::Lines => progress::for_stderr(),
        }
    }
}
