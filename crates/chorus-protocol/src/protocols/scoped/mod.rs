//! The protocols of the HMG paper: caches of several modules and GPUs under a scoped memory model.
//!
//! Private caches are software-coherent ([`l1`]). A shared bank caches local and remote lines and keeps the directory
//! of its own lines. Each role has one table of states and events: [`l1`] has that of private caches, [`l2`] that of a
//! bank's cache, and [`home`] that of its directory, which is the paper's Table I. What the rows of a bank do is in
//! `read`, `write` and `copies`, with its records of a line in `presence`. [`route`] knows the way to a line's home.
//! `fences` and `synchronise` have the steps of releases and acquires, which concern no line. `command` serves the
//! requests of a command processor between kernels.
//!
//! [`policy`] has the decisions in which the protocols differ, and [`parameters`] those that users may change.
//! [`protocol`] makes a protocol of both. [`declarations`] are the common parts of what they declare. [`tallies`] are
//! the counts of a bank. [`seeds`] names the [`faults`] that can be built in.

pub mod collect;
mod command;
mod copies;
pub mod declarations;
pub mod faults;
mod fences;
mod first_touch;
pub mod home;
pub mod l1;
pub mod l2;
pub mod messages;
pub mod parameters;
mod parts;
pub mod place;
pub mod policy;
mod presence;
pub mod protocol;
mod read;
pub mod route;
pub mod seeds;
mod synchronise;
pub mod tallies;
mod write;
