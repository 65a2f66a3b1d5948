//! The exhaustive driver, and the random driver ([`torture`]).
//!
//! Both run the controllers that the simulator runs. The exhaustive driver gives them tiny caches and follows every
//! order of issuing, delivery and eviction.
//!
//! - [`program`] with its [`words`], [`code`] and [`config`] say what is run on which machine; [`machine`] makes its
//!   moves, on controllers whose states [`node`] holds.
//! - [`explore`] visits every [`state`] once ([`state_set`]), as far as [`settings`] allow, and checks [`invariants`];
//!   [`violation`] names broken rules. States that are mirror images of each other under the permutations that
//!   [`symmetry`] finds count once. [`scaling`] measures that.
//!   When all states are known, `progress` asks whether every run comes to rest; `circle` finds one that does not.
//!   [`starvation`] finds runs in which a thread waits for ever while others go on. `fairness` says which circles
//!   count.
//!   [`overnight`] searches beyond memory, and goes on after it was stopped.
//! - [`judge`] asks the memory model which outcomes are allowed; [`litmus`] runs litmus tests and compares.
//! - [`check`] has the configurations that every protocol is checked in, [`scoped`] those of several GPUs and modules,
//!   [`heterogeneous`] those with CPU cores, [`shape`] those of any size, [`pairs`] those with other parameters, and
//!   [`contention`] those whose threads go on for ever. [`size`] compares machines. [`faults`] shows that seeded faults
//!   are caught.
//! - [`elision`] explores the Chiplet Coherence Table together with the L2s that it commands.
//! - [`mutate`] makes mistakes by machine, and counts those that the checks find.
//! - [`observe`] shows every move, and [`play`] has all moves of a tiny machine for a reader to play with.
//! - [`networks`] finds how few virtual networks are free of deadlock, under [`pressure`].
//! - [`chart`] draws the shortest path to a violation, [`replay`] walks it again; [`table`] is the transition table
//!   that explorations saw.

mod batch;
mod canonical;
pub mod chart;
mod chart_svg;
pub mod check;
mod circle;
mod claims;
pub mod code;
mod components;
pub mod config;
pub mod contention;
mod directory_table;
pub mod elision;
mod examine;
mod expand;
pub mod explore;
mod fairness;
pub mod faults;
mod hashing;
pub mod heterogeneous;
pub mod invariants;
mod issue;
pub mod judge;
pub mod litmus;
pub mod machine;
mod mirror;
pub mod mutate;
mod names;
pub mod networks;
pub mod node;
pub mod observe;
pub mod overnight;
mod ownership;
pub mod pairs;
pub mod play;
pub mod pressure;
pub mod program;
mod progress;
mod render;
pub mod replay;
pub mod scaling;
pub mod scoped;
pub mod settings;
pub mod shape;
pub mod size;
pub mod starvation;
pub mod state;
pub mod state_set;
pub mod symmetry;
pub mod table;
pub mod torture;
pub mod violation;
pub mod words;
