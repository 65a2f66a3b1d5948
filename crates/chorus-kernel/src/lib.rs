//! The front-end for programs: kernels as async functions over wavefronts, and the host programs that launch them.
//!
//! A wavefront is a future. It runs ahead until it awaits a value. The operations that it has asked for wait in its
//! queue until the compute unit issues them. Values are real: a load returns what the caches hold. Other sources of
//! operations than futures implement [`WaveSource`].

mod annotation;
mod annotation_checker;
mod costs;
mod cpu;
pub mod flat;
pub mod generator;
mod host_reads;
mod kernel;
mod lanes;
mod local_data;
mod memory;
mod memory_op;
pub mod partition;
mod read_only;
mod recorded;
mod source;
pub mod wave;
mod wave_state;
mod word_set;

pub use annotation::{AccessMode, Annotation, Share};
pub use annotation_checker::{AnnotationChecker, Undeclared};
pub use chorus_system::AtomicOrder;
pub use chorus_system::InstructionClass;
pub use costs::InstructionCosts;
pub use cpu::Cpu;
pub use kernel::{Kernel, LaunchState, Mismatch, Program, Verdict, WaveId, WaveStart};
pub use lanes::{LANES, Lanes, Mask, Word};
pub use local_data::LocalData;
pub use memory::{Buf, HostMemory};
pub use memory_op::{Instruction, LaneAccess, MemoryOp, MemoryOpKind, WORDS_MAX};
pub use read_only::ReadOnlyWritten;
pub use recorded::{Annotated, Recording};
pub use source::WaveSource;
pub use wave::Wave;
pub use wave_state::{Operation, SpareStates, Surroundings, WaveMachine, WaveState, WaveTask};
