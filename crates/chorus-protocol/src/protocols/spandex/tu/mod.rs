//! Translation units (Spandex paper, section III-D): they stand between a cache and the network, and do the part of
//! Spandex that the cache does not do itself.

#[cfg(test)]
mod bench;
pub mod denovo;
pub mod gpu;
pub mod gpu_vi;
pub mod mesi;
pub mod unit;
