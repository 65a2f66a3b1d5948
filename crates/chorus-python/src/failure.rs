//! Errors of Chorus as exceptions of Python. Messages are those of the command line.

use std::fmt::Display;

use chorus_lab::catalogue::CatalogueError;
use chorus_lab::matrix::MatrixError;
use chorus_lab::message;
use chorus_lab::run::{RunError, RunErrorKind};
use chorus_lab::setup::SetupError;
use chorus_lab::store::StoreError;
use chorus_system::Place;
use pyo3::prelude::*;

/// The reason why something could not be done. The exceptions themselves are classes of the package.
#[derive(Debug)]
pub enum Failure {
    /// The input cannot be used: `InputError`, with the message as people see it.
    Input(String),
    /// A run gave no result: `RunError`, with the kind of failure.
    Run(RunError),
    /// Chorus itself has a defect: `DefectError`.
    Defect(String),
}

impl Failure {
    /// Bad input, with advice after an empty line.
    pub fn input(error: impl Display) -> Failure {
        Failure::at_place(error, None)
    }

    /// Bad input whose place in a file may be known.
    fn at_place(error: impl Display, place: Option<&Place>) -> Failure {
        let excerpt = place.and_then(Place::excerpt);
        Failure::Input(message::shown(&error.to_string(), excerpt.as_deref()).trim_end().to_owned())
    }

    /// The exception that Python raises.
    pub fn into_exception(self, py: Python<'_>) -> PyErr {
        let exception = || {
            let module = py.import("chorus._errors")?;
            match &self {
                Failure::Input(message) => module.getattr("InputError")?.call1((message,)),
                Failure::Run(error) => module.getattr("RunError")?.call1((&error.message, error.kind.name())),
                Failure::Defect(message) => module.getattr("DefectError")?.call1((message,)),
            }
        };
        exception().map_or_else(|error| error, PyErr::from_value)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Failure {
        match error.kind {
            RunErrorKind::Refused | RunErrorKind::BadInput => Failure::input(error.message),
            RunErrorKind::Defect => Failure::Defect(error.message),
            RunErrorKind::Stuck | RunErrorKind::Undeclared | RunErrorKind::Stopped => Failure::Run(error),
        }
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

impl From<MatrixError> for Failure {
    fn from(error: MatrixError) -> Failure {
        match &error {
            MatrixError::Setup { source, .. } => Failure::at_place(&error, source.place()),
            _ => Failure::input(error),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::input(error)
    }
}
