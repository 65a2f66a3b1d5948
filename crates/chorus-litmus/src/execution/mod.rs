//! Candidate executions: what the threads did, before any model is asked.
//!
//! - `linear`: values as sums of what was read.
//! - `path`: the ways through a thread's code.
//! - `skeleton`: one path for each thread, with all their events.
//! - `values`: what was read and written, once it is known where each read takes its value.
//! - `barrier`: who meets whom.

pub(crate) mod barrier;
pub(crate) mod linear;
pub(crate) mod path;
pub(crate) mod skeleton;
pub(crate) mod values;
