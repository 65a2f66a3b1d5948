//! Workloads: GPU kernels as async functions over wavefronts, each with a host reference that checks every output word.
//!
//! A workload is one file (or folder) in the folder of its suite, and one entry in that folder's `mod.rs`. It says
//! which published program it follows, keeps that program's sharing pattern, and computes real values, so a protocol
//! that loses a write is seen in the result. It declares its sizes, which users can set ([`size`]).
//!
//! Modules that several suites use lie beside the folders: the graphs (`graph/`), the barriers (`fast_barrier.rs`,
//! `collaborative_barrier.rs`), and so on. [`registry`] is the contract of a workload, and lists the suites;
//! [`program`] is the usual kind of program, and [`generator`] has the random numbers that inputs are drawn from.
//!
//! A workload prepares its data and gives a program, which any machine can run. Here it runs on flat memory, where only
//! the program itself can go wrong:
//!
//! ```
//! use chorus_kernel::{HostMemory, flat};
//! use chorus_system::Scale;
//!
//! let workload = chorus_workloads::find("saxpy").expect("it is in the registry");
//! let mut memory = HostMemory::default();
//! let mut program = workload.prepare(&workload.sizes_at(Scale::Quick), 1, &mut memory);
//! assert_eq!(flat::run(&mut *program, &memory), Ok(()));
//! ```

mod applications;
mod chai;
mod collaborative_barrier;
mod dnn;
mod fast_barrier;
mod gemm;
pub mod graph;
mod hetero_mark;
mod hpc;
mod ispass;
mod lane_sum;
mod lonestar;
mod microbenchmarks;
mod pair_locks;
mod pannotia;
mod polybench;
pub mod program;
pub mod registry;
mod rodinia;
mod sdk;
mod shares;
mod shoc;
pub mod size;
mod tile_rows;
mod tutorial;

pub use chorus_kernel::generator;
pub use registry::{Paper, Suite, Workload, find, workloads};
pub use size::{SizeSpec, Sizes};
