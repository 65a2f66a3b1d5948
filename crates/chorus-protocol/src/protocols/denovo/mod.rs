//! DeNovo (Spandex paper, section II-C): self-invalidation, and ownership of words that are written.
//!
//! Everything is asked for by words, which are Invalid, Valid or Owned; a read's answer may bring more of the line. Atomics are performed in the cache that owns
//! the word, unless it is told to have them performed at the shared cache.

pub mod faults;
pub mod l1;
mod l1_states;
mod messages;
mod predictor;
#[cfg(test)]
mod tests;
mod words;
