//! How programs are written: kernels as async functions over wavefronts, and the host programs that launch them.
//!
//! A wavefront is a future. It runs ahead until it awaits a value; the operations it asked for on the way wait in its queue
//! until the compute unit issues them. Values are real: what a load returns is what the caches hold.

pub mod annotation;
pub mod cpu;
pub mod declared;
pub mod flat;
pub mod kernel;
pub mod lanes;
pub mod memory;
pub mod partition;
mod read_only;
pub mod recorded;
pub mod wave;
mod wave_state;
mod word_set;

pub use annotation::{AccessMode, Annotation, Share};
pub use cpu::Cpu;
pub use declared::{Declared, Undeclared};
pub use kernel::{Kernel, Mismatch, Program, WaveId};
pub use lanes::{LANES, Lanes, Mask, Word};
pub use memory::{Buf, HostMemory};
pub use read_only::ReadOnlyWritten;
pub use recorded::{Annotated, Recording};
pub use wave::Wave;
pub use wave_state::{MemoryOp, MemoryOpKind, Operation, WaveState, WaveTask};
