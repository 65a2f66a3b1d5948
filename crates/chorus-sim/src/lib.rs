//! The timing driver: event wheel, compute units, crossbars, DRAM and statistics around the protocol controllers.
//!
//! [`simulate::simulate`] runs a program; [`frontend`] is how programs are written. The rest are the parts of the machine: each
//! knows about time and queues and nothing about coherence, which is the controllers' business.

pub mod clock;
pub mod coalescer;
pub mod command_processor;
pub mod compute_unit;
pub mod crossbar;
pub mod definitions;
pub mod dram;
pub mod energy;
pub mod fabric;
pub mod frontend;
pub mod issue;
pub mod l3;
pub mod links;
pub mod machine;
pub mod mesh;
pub mod network;
pub mod pages;
pub mod port;
pub mod prefetch;
pub mod sharing;
pub mod simulate;
pub mod slab;
pub mod stats;
pub mod store_buffer;
pub mod synthetic;
pub mod wheel;

pub use machine::{SimError, StuckReport};
pub use simulate::{KernelRun, Metrics, Settings, Simulated, Stream, simulate, simulate_streams, simulate_with};
