//! The exhaustive driver, and the random one ([`torture`]).
//!
//! Runs the very controllers that the simulator runs, with tiny caches, over every order of issuing, delivery and eviction.
//!
//! - [`program`], [`code`] and [`config`] say what is run on which machine; [`machine`] makes its moves, on controllers kept by [`node`].
//! - [`explore`] visits every [`state`] once ([`state_set`]), as far as [`settings`] allow, and checks [`invariants`]; [`violation`] names what can be
//!   wrong. States that are mirror images of each other under the permutations that [`symmetry`] finds count once. [`scaling`] measures that.
//! - [`judge`] asks the memory model which outcomes are allowed; [`litmus`] holds Chorus's litmus tests and compares.
//! - [`check`] holds the configurations that every protocol is checked in, [`scoped`] those of several GPUs and modules, [`heterogeneous`] those with CPU cores; [`faults`] shows that seeded mistakes are caught.
//! - [`observe`] shows every move; [`starvation`] finds moves that come back to where they began while a load is never answered.
//! - [`networks`] finds how few virtual networks are free of deadlock, under [`pressure`].
//! - [`chart`] draws the shortest way to a violation, [`replay`] walks it again; [`table`] is the transition table that the exploration saw.

mod canonical;
pub mod chart;
mod chart_svg;
pub mod check;
pub mod code;
pub mod config;
mod directory_table;
mod examine;
mod expand;
pub mod explore;
pub mod faults;
mod hashing;
pub mod heterogeneous;
pub mod invariants;
mod issue;
pub mod judge;
pub mod litmus;
pub mod machine;
mod mirror;
pub mod networks;
pub mod node;
pub mod observe;
mod ownership;
pub mod pressure;
pub mod program;
mod render;
pub mod replay;
pub mod scaling;
pub mod scoped;
pub mod settings;
pub mod starvation;
pub mod state;
pub mod state_set;
pub mod symmetry;
pub mod table;
pub mod torture;
pub mod violation;
