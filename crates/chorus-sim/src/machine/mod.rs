//! The timing driver: a machine whose components run alone for a window of time, on one thread or several.
//!
//! Nothing that happens in a component reaches another one in less than some time, the crossing. So every component
//! runs alone for a window that is no longer, and then the messages that were sent are where they go. A component takes
//! its messages in the order of time, source and number. Therefore neither the length of a window nor the number of
//! threads shows in any result.
//!
//! [`unit`] and [`bank`] are the components. [`endpoint`] and [`egress`] are their ends at the network, [`grid`] and
//! [`fabric`] the links that they share. A [`partition`] has components that run on one thread, such as those of a GPU.
//! Components of a large machine are read [`ahead`] of their turn.
//! [`host`] launches kernels, a [`dispatcher`] starts their work-groups, and [`crew`] brings everything together.
//! [`plan`] is what never changes, and [`stuck`] explains runs that hang.

mod agenda;
mod ahead;
mod bank;
mod build;
mod by_time;
mod context;
mod crew;
mod dispatcher;
mod egress;
mod endpoint;
mod fabric;
mod grid;
mod host;
mod launch;
mod noted;
mod packets;
mod partition;
mod paths;
mod patience;
mod plan;
mod stuck;
mod translation;
mod unit;

use chorus_kernel::{ReadOnlyWritten, Undeclared};
use chorus_protocol::controller::Unspecified;
use chorus_protocol::save::Damaged;

pub(crate) use crew::{Machine, Pause, with_machine};
pub(crate) use plan::NEVER;
pub use stuck::{StuckCause, StuckReport, StuckWave};

/// Streams whose kernels can run at the same time.
pub(crate) const STREAMS_MAX: usize = 64;

/// Reasons why a simulation ends without a result.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The protocol has no transition for something that happened.
    #[error(transparent)]
    Unspecified(#[from] Unspecified),
    /// A controller lets a message wait that takes no time.
    #[error("a controller cannot take the message {0}, which takes no time and so cannot wait")]
    Waits(String),
    /// The program deadlocked or livelocked.
    #[error("{0}")]
    Stuck(Box<StuckReport>),
    /// The protocol cannot be built for this machine.
    #[error("{0}")]
    Unsupported(String),
    /// A kernel touches what it does not declare.
    #[error("{0}")]
    Undeclared(Box<Undeclared>),
    /// A kernel writes what its program declares read-only.
    #[error("{0}")]
    ReadOnlyWritten(Box<ReadOnlyWritten>),
    /// The run cannot go on from a checkpoint.
    #[error(transparent)]
    Damaged(#[from] Damaged),
    /// Somebody stopped the run.
    #[error("the run was stopped before its end")]
    Stopped,
}

impl From<Unspecified> for Box<SimError> {
    fn from(hole: Unspecified) -> Self {
        Box::new(SimError::Unspecified(hole))
    }
}
