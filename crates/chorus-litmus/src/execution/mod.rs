//! Candidate executions: the possible actions of the threads, before any model is applied.
//!
//! - `linear`: values as sums of the values that were read.
//! - `path`: the ways through a thread's code.
//! - `skeleton`: one path for each thread, with all their events.
//! - `values`: the values read and written, once the source of each read is known.
//! - `barrier`: the meetings of threads at barriers.

pub(crate) mod barrier;
pub(crate) mod linear;
pub(crate) mod path;
pub(crate) mod skeleton;
pub(crate) mod values;
