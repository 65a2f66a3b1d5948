//! Coherence protocols as pure state machines.
//!
//! [`protocols`] holds one file per published protocol; [`registry`] lists them. A [`controller::Controller`] is one
//! cache bank. It classifies an input as a row and column of the paper's transition table, and steps. The rest of the
//! crate is what controllers are made of: lines with real data ([`line`](mod@line)), arrays ([`cache`]), miss registers
//! ([`mshr`]), directories ([`directory`]), sharer sets ([`sharers`]), message tables ([`message`]).
//!
//! Protocols of other crates are built from the same parts ([`prelude`]). [`derived`] makes a variant of a protocol
//! from what differs.
//!
//! A load that misses in a private cache of GPU-VI sends one message, and its line is then waiting for the answer:
//!
//! ```
//! use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
//! use chorus_protocol::address::{LineAddr, Role, Topology};
//! use chorus_protocol::cache::Replacement;
//! use chorus_protocol::controller::{Controller, Input, Outbox, Outcome};
//! use chorus_protocol::line::{ByteMask, LineData};
//! use chorus_protocol::parameter::Parameters;
//! use chorus_protocol::read_only::ReadOnlyLines;
//! use chorus_protocol::registry::{self, BuildConfig, CacheShape, DirectoryShape};
//!
//! let shape = CacheShape { sets: 1, ways: 2, mshrs: 2, replacement: Replacement::Lru };
//! let topology = Topology::one_gpu(2, 1);
//! let gpu_vi = registry::find("gpu-vi").expect("it is in the registry");
//! let parameters = Parameters::defaults(gpu_vi.parameters());
//! let directory = DirectoryShape::SMALLEST;
//! let config = BuildConfig {
//!     topology,
//!     l1: shape,
//!     l2: shape,
//!     l3: shape,
//!     directory,
//!     page_lines: 1,
//!     waves: 1,
//!     buffer_wave: None,
//!     fences: true,
//!     read_only: ReadOnlyLines::NONE,
//!     parameters,
//!     fault: None,
//! };
//! let mut l1: Box<dyn Controller<2>> = gpu_vi.build(Role::L1, 0, &config).expect("it has private caches");
//!
//! let load = CoreRequest {
//!     op: CoreOp::Load,
//!     order: Order::Weak,
//!     scope: Scope::Gpu,
//!     line: LineAddr(7),
//!     mask: ByteMask::word(0),
//!     data: LineData::default(),
//!     wave: 0,
//!     txn: Txn::Operation(1),
//! };
//! let mut out = Outbox::default();
//! assert_eq!(l1.step(&Input::Core(&load), &mut out), Ok(Outcome::Done));
//! assert_eq!(gpu_vi.messages()[usize::from(out.messages[0].kind.0)].name, "GETS");
//! assert_eq!(l1.vocabulary().states[usize::from(l1.view(LineAddr(7), 0).state)].name, "I_V");
//! ```
//!
//! This crate does no I/O, reads no clock (drivers tell the time where a protocol needs it), draws no random numbers
//! and starts no threads.

pub mod access;
pub mod address;
pub mod cache;
pub mod chiplet_table;
pub mod controller;
pub mod derived;
pub mod directory;
pub mod host_line;
pub mod line;
pub mod message;
pub mod mshr;
pub mod parameter;
pub mod prefetch;
pub mod prelude;
pub mod protocols;
pub mod read_only;

pub mod registry;
pub mod rows;
pub mod save;
pub mod seed;
mod sets;
pub mod sharers;
mod slot_set;
pub mod tally;
pub mod write_tracker;
