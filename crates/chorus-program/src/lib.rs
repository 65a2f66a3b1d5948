//! Programs of users: kernels in PTX, and the host's side of them described in a file.
//!
//! A program file is TOML. It names modules, sizes that a user can change, buffers with what they hold at first, the
//! steps of the host (launches, writes, loops), and what buffers must hold at the end. [`load`] makes a workload of it.
//!
//! | file | subject |
//! |---|---|
//! | `program.rs` | programs as workloads, and the host while a program runs |
//! | `manifest.rs` | a program file as data |
//! | `read.rs`, `read/` | reading of program files: names are resolved and mistakes found |
//! | `document.rs` | TOML with places |
//! | `expression.rs` | expressions of whole numbers |
//! | `facts.rs` | values, graphs and lengths that follow from the sizes of a run |
//! | `layout.rs` | buffers in memory and their contents |
//! | `course.rs` | steps one after the other, with loops |
//! | `launch.rs` | launches and writes of the host |
//! | `verify.rs` | the comparison of buffers with what they should hold |
//! | `reset.rs` | first contents of buffers, written again between passes |
//! | `replay.rs` | passes that start each launch as a profiler does when it replays launches |
//! | `reading.rs` | numbers that a program measures about itself |
//! | `element.rs`, `npy.rs`, `files.rs`, `graphs.rs` | elements, arrays of NumPy, files, generated graphs |
//! | `printing.rs` | text that threads print |
//! | `place.rs`, `error.rs` | places of mistakes, and mistakes |

mod course;
mod document;
mod element;
mod error;
mod expression;
mod facts;
mod files;
mod graphs;
mod launch;
mod layout;
mod manifest;
mod npy;
mod place;
mod printing;
mod program;
mod read;
mod reading;
mod replay;
mod reset;
mod verify;

pub use error::ProgramError;
pub use printing::with_printing;
pub use program::{PANIC, ProgramFile, is_path, load};
