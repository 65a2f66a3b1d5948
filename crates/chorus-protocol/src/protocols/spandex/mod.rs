//! Spandex (Alsop, Sinclair and Adve, ISCA 2018): a last-level cache that devices with different coherence strategies
//! share without being changed.

pub mod configurations;
pub mod device;
pub mod fences;
pub mod llc;
pub mod messages;
#[cfg(test)]
pub(crate) mod pair;
pub mod protocol;
pub mod seeds;
pub mod tu;
pub mod upper;
