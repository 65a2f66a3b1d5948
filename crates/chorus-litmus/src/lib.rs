//! Litmus tests: small concurrent programs, each with a question about what may come of it.
//!
//! - [`test`] is a test as data: threads placed in work-groups and GPUs, their instructions, and a condition on the end.

pub mod test;
