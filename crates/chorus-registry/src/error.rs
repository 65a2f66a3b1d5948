//! Errors of a registry: names that clash, and texts that cannot be read.

use std::fmt;
use std::sync::Arc;

use chorus_system::SystemError;
use chorus_verify::litmus::SuiteError;

/// A reason why something could not be added to a registry.
#[derive(Clone, Debug)]
pub enum RegistryError {
    /// Two entries of one kind have the same name. The first one stays in the registry.
    Clash {
        /// The kind of both: `protocol`, `system`, `workload` or `experiment`.
        kind: &'static str,
        /// The name that both entries have.
        name: String,
        /// A description of the entry that is in the registry under this name.
        first: String,
        /// A description of the entry that was not added.
        second: String,
    },
    /// The text of a system cannot be read.
    System(Arc<SystemError>),
    /// A litmus suite cannot be read, or has a test whose name another test has.
    Litmus(SuiteError),
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegistryError::Clash { kind, name, first, second } => {
                write!(f, "two {kind}s are named `{name}`: {first}, and {second}")
            }
            RegistryError::System(error) => error.fmt(f),
            RegistryError::Litmus(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RegistryError {}
