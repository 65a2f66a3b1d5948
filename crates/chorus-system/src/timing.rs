//! The variation of times from run to run.

use serde::Deserialize;

/// The variation of times from run to run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Core cycles by which a read of memory takes longer at most. The seed of the run decides about every read.
    pub jitter: u32,
}
