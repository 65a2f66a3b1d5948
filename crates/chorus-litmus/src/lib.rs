//! Litmus tests: small concurrent programs, each with a question about what may come of it.
//!
//! - [`mod@test`] is a test as data: threads placed in work-groups and GPUs, their instructions, and a condition on the end.
//! - [`mod@parse`] reads tests, [`mod@print`] writes them, [`error`] says what is wrong with a file.
//! - [`model`] names the memory models, [`judge`] says what they allow a program to do, [`race`] what a race is.

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
mod words;
