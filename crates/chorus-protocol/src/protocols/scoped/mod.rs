//! The protocols of the HMG paper: caches of several modules and GPUs under a scoped memory model.
//!
//! Private caches are software-coherent ([`l1`]). A shared bank caches local and remote lines and keeps the directory
//! of its own lines ([`l2`]). Its parts are in modules of their own. `presence` has the bank's records of a line, and
//! [`route`] knows the way to a line's home. `read` serves loads, and `write` serves stores and atomics. `synchronise`
//! serves releases and acquires, and `command` serves the requests of a command processor between kernels. [`policy`]
//! says in what the protocols differ, [`parameters`] what users may choose, and [`protocol`] makes a protocol of both.
//! [`tallies`] are the counts of a bank, and [`seeds`] lists the faults that can be built in.

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
mod read;
pub mod route;
pub mod seeds;
mod synchronise;
pub mod tallies;
mod write;
