//! Mistakes made by machine: mutants of a protocol, and the checks that find them.
//!
//! A mutant is a protocol whose controllers do one thing wrong in one cell of their transition table: role, state and
//! event. [`operators`] lists the mistakes, [`wrapper`] builds them in through the contract that all controllers keep,
//! [`catalogue`] finds the cells, and [`hunt`] looks for each mutant with the checks that a protocol has to pass. The
//! share that is found says how much the checks see. Each survivor is a question: is it harmless, or is there a gap?

mod alter;
pub mod catalogue;
pub mod hunt;
pub mod operators;
pub mod score;
pub mod wrapper;
