//! Programs in PTX, the assembly language of CUDA's compilers: parsed, lowered, and run with real values by the
//! wavefronts of any machine.
//!
//! A [`Module`] is a parsed file. An [`Entry`] is one of its kernels as code that wavefronts run; what is not supported
//! is refused before anything runs. [`Entry::kernel`] makes a launch of it, which runs like any other kernel.

mod arithmetic;
mod code;
mod error;
mod flow;
mod layout;
mod lexer;
mod lower;
mod module;
mod parser;
mod registers;
mod running;
mod space;
mod splits;
mod syntax;
mod types;
mod wave;

pub use error::{Place, PtxError};
pub use module::{Device, Entry, GLOBAL_MEMORY, Launch, Memory, Module, Parameter, Printed};
