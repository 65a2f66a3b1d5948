//! Traces of real GPUs in the format of Accel-Sim, read and written.
//!
//! A trace has the instructions of every warp of a program: opcodes, registers and addresses, no values.
//! [`Trace::open`] reads one, and [`Trace::program`] makes a program of it that runs under any protocol. Its result is
//! unchecked, because nobody knows the values. A [`Recorder`] writes what any program of Chorus does in this format.

mod address_map;
mod error;
mod file;
mod header;
mod index;
mod instruction;
mod lines;
mod list;
mod lower;
mod opcode;
mod polling;
mod record;
mod replay;
mod step;
mod trace;
mod wave;

pub use error::TraceError;
pub use record::{Recorded, Recorder};

pub use replay::Replay;
pub use trace::Trace;
