//! DeNovo (Spandex paper, section II-C): self-invalidation, and ownership of words that are written.
//!
//! Requests are for words, which are Invalid, Valid or Owned. The answer to a read may bring more of the line. Atomics
//! are performed in the cache that owns the word. An option has them performed at the shared cache instead.

pub mod faults;
pub mod l1;
mod l1_states;
mod messages;
mod predictor;
#[cfg(test)]
mod tests;
mod words;
