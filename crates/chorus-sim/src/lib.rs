//! The timing driver: event wheel, compute units, crossbars, DRAM and statistics around the protocol controllers.
//!
//! [`simulate()`] runs a program, and [`frontend`] is how programs are written. The private modules are the parts of a
//! machine. Each part knows about time and queues and nothing about coherence, which is the business of the
//! controllers.

mod clock;
mod coalescer;
mod command_processor;
mod compute_unit;
mod crossbar;
pub mod definitions;
mod dram;
mod energy;
mod fabric;
pub mod frontend;
mod issue;
mod l3;
mod links;
mod mesh;
mod network;
mod pages;
mod port;
mod prefetch;
pub mod routes;
mod sharing;
pub mod simulate;
mod simulator;
mod slab;
pub mod stats;
mod store_buffer;
pub mod synthetic;
mod wheel;

pub use simulate::{KernelRun, Metrics, Settings, Simulated, Stream, simulate, simulate_streams, simulate_with};
pub use simulator::{SimError, StuckCause, StuckReport, StuckWave};
