//! GPU coherence (Spandex paper, section II-B): self-invalidation, and stores that write through.
//!
//! Reads ask for whole lines. Writes and atomics ask for the words that they access. Atomics are performed at the
//! shared cache. Words are Invalid or Valid.

pub mod faults;
pub mod l1;
mod l1_states;
#[cfg(test)]
mod tests;
