//! The timing driver: compute units, networks, DRAM and statistics around the protocol controllers.
//!
//! [`simulate()`] runs a program, and `chorus_kernel` is how programs are written. The private modules are the parts of
//! a machine. Each part knows about time and queues and nothing about coherence, which is the business of the
//! controllers.

mod clock;
mod coalescer;
mod command_processor;
mod compute_unit;
pub mod definitions;
pub mod distribution;
mod dram;
mod energy;
mod issue;
mod jitter;
mod l3;
mod machine;
mod network;
pub mod observe;
mod pages;
mod placement;
mod port;
mod quiet;
pub mod routes;
mod sectors;
mod seniority;
pub mod series;
mod sharing;
pub mod sharing_profile;
pub mod simulate;
mod slab;
pub mod stats;
mod store_buffer;
mod streams;
pub mod synthetic;
pub mod watch;

pub use machine::{SimError, StuckCause, StuckReport, StuckWave};
pub use quiet::quietly;
pub use simulate::{
    KernelRun, Metrics, Settings, Simulated, Stream, simulate, simulate_streams, simulate_watched, simulate_with,
};
pub use watch::{Checkpoints, Noted, Progress, Watch};
