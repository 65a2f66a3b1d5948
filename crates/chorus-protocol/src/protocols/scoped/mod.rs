//! The protocols of the HMG paper: caches of several modules and GPUs under a scoped memory model.
//!
//! Private caches are software-coherent ([`l1`]). A shared bank caches local and remote lines and keeps the directory of its own ([`l2`]); `presence` are
//! its records of a line, [`route`] knows the way to a line's home, `write` serves stores and atomics, `synchronise` releases and acquires, `command` what a command
//! processor asks for between kernels. [`policy`] says in what the protocols differ, [`parameters`] what users may choose, [`protocol`] makes
//! a protocol of both, [`tallies`] is what banks count, and [`seeds`] lists what can be wrong with them.

pub mod collect;
mod command;
mod first_touch;
pub mod l1;
pub mod l2;
pub mod messages;
pub mod parameters;
pub mod policy;
mod presence;
pub mod protocol;
pub mod route;
pub mod seeds;
mod synchronise;
pub mod tallies;
mod write;
