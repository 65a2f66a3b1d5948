//! Litmus tests: small concurrent programs, each with a question about its possible outcomes.
//!
//! - [`mod@test`] is a test as data: threads placed in work-groups and GPUs, their instructions, and a condition on the
//!   end.
//! - [`vector`] has the rules for accesses of several words by one instruction.
//! - [`mod@parse`] reads tests, [`mod@print`] writes them, and [`error`] describes the mistakes in a file.
//! - [`model`] names the memory models, [`judge`] gives the outcomes that they allow, and [`race`] defines races.

pub mod error;
mod execution;
pub mod judge;
pub mod model;
mod ordered;
pub mod parse;
pub mod print;
mod ptx;
pub mod race;
mod relation;
mod search;
pub mod test;
pub mod vector;
mod words;
