//! The reasons why a run cannot be set up, each a message that says what would be accepted.

use std::fmt;

use chorus_protocol::parameter::ParameterSpec;
use chorus_registry::SIZE_PREFIX;
use chorus_system::{Place, SystemError, nearest};
use chorus_workloads::SizeSpec;

use crate::document::{excerpt, quoted};
use crate::own_graph::OwnGraphError;

/// The reason why a run cannot be set up.
#[derive(Debug)]
#[non_exhaustive]
pub enum SetupError {
    /// The registry has no protocol or workload of this name. The text lists the known names.
    UnknownName(String),
    /// No workload of the run declares this size.
    UnknownSize {
        /// The override as it was given.
        text: String,
        /// The key as it was given, without its prefix.
        given: String,
        /// The workloads of the run, as they were given.
        workload: String,
        /// The keys of the sizes that these workloads declare.
        sizes: Vec<&'static str>,
    },
    /// A size does not take this value.
    SizeValue {
        /// The override as it was given.
        text: String,
        /// The value as it was given.
        given: String,
        /// The name of the workload that declares the size.
        workload: &'static str,
        /// The declaration of the size, with its range.
        size: &'static SizeSpec,
    },
    /// The sizes of a workload do not fit together.
    Misfit {
        /// The name of the workload.
        workload: &'static str,
        /// The reason why the sizes do not fit together.
        reason: String,
    },
    /// A size was set although the user provides a graph, which has its own size.
    SizeOfGraph {
        /// The override as it was given.
        text: String,
    },
    /// The user's own graph cannot be used.
    Graph(OwnGraphError),
    /// The system or an override of it cannot be resolved.
    System(SystemError),
    /// An override has a key that neither the system nor the protocol knows. The protocol has parameters.
    UnknownKey {
        /// The error about the system. It proposes the nearest key of the system and the protocol.
        source: Box<SystemError>,
        /// The name of the protocol.
        protocol: &'static str,
        /// The keys of the protocol's parameters.
        parameters: Vec<&'static str>,
    },
    /// A parameter does not take this value.
    Value {
        /// The override as it was given.
        text: String,
        /// The value as it was given.
        given: String,
        /// The name of the protocol.
        protocol: &'static str,
        /// The declaration of the parameter, with its range.
        parameter: &'static ParameterSpec,
    },
    /// An override has a key that only other protocols declare.
    OtherProtocols {
        /// The override as it was given.
        text: String,
        /// The key of the parameter.
        key: &'static str,
        /// The names of the protocols that declare the parameter.
        owners: Vec<&'static str>,
        /// The protocol of the run and the keys of its parameters; none if only a system is resolved.
        protocol: Option<(&'static str, Vec<&'static str>)>,
    },
}

impl std::error::Error for SetupError {}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::UnknownName(message) => f.write_str(message),
            SetupError::UnknownSize { text, given, workload, sizes } => {
                write!(f, "--set {text}: {workload} has no size `{}`; ", excerpt(given))?;
                if let Some(nearest) = nearest(given, sizes.iter().copied()) {
                    write!(f, "did you mean `{SIZE_PREFIX}{nearest}`? ")?;
                }
                write!(f, "its sizes are {}", quoted(sizes))
            }
            SetupError::SizeValue { text, given, workload, size } => {
                write!(f, "--set {text}: size `{}` of {workload} is given as `{given}`; ", size.key)?;
                write!(f, "expected {} ({})", size.accepted(), size.meaning)
            }
            SetupError::Misfit { workload, reason } => {
                write!(f, "the sizes of {workload} do not go together: {reason}")
            }
            SetupError::SizeOfGraph { text } => {
                write!(f, "--set {text}: sizes describe a generated input, and --graph gives one that is not generated")
            }
            SetupError::Graph(source) => source.fmt(f),
            SetupError::System(source) => source.fmt(f),
            SetupError::UnknownKey { source, protocol, parameters } => {
                write!(f, "{source}\nhint: the parameters of {protocol} are {}", quoted(parameters))
            }
            SetupError::Value { text, given, protocol, parameter } => {
                let ParameterSpec { key, meaning, min, max, .. } = parameter;
                write!(f, "--set {text}: parameter `{key}` of {protocol} is given as `{given}`; ")?;
                write!(f, "expected a whole number from {min} to {max} ({meaning})")
            }
            SetupError::OtherProtocols { text, key, owners, protocol } => {
                write!(f, "--set {text}: `{key}` is a parameter of {}", owners.join(", "))?;
                match protocol {
                    None => f.write_str(", not a key of a system"),
                    Some((protocol, keys)) if keys.is_empty() => write!(f, "; {protocol} has none"),
                    Some((protocol, keys)) => write!(f, "; {protocol} has {}", quoted(keys)),
                }
            }
        }
    }
}

impl SetupError {
    /// The place in a system file at which the mistake was written.
    pub fn place(&self) -> Option<&Place> {
        match self {
            SetupError::System(source) => source.place(),
            SetupError::UnknownKey { source, .. } => source.place(),
            SetupError::UnknownName(_)
            | SetupError::UnknownSize { .. }
            | SetupError::SizeValue { .. }
            | SetupError::Misfit { .. }
            | SetupError::SizeOfGraph { .. }
            | SetupError::Graph(_)
            | SetupError::Value { .. }
            | SetupError::OtherProtocols { .. } => None,
        }
    }
}
