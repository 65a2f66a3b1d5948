//! Systems as typed, validated data.
//!
//! A system is one TOML file: a machine in the schema of [`SystemConfig`], plus a table for each of its scales, such as
//! `[scale.quick]` and `[scale.paper]`, that overrides any of its keys. A file that names another system as its `base`
//! states only what differs from it. [`resolve`] finds the file, lays the scale and the `--set` overrides over it,
//! checks every key, type and size, and hashes the result. [`resolve_among`] does so with a user's own systems beside
//! the shipped ones. [`entries`] and [`derived`] describe a resolved system for people; nothing here prints.
//!
//! | file | subject |
//! |---|---|
//! | `config.rs` | the machine as types: the one place where keys are declared |
//! | `networks.rs` | its networks, part of the same types |
//! | `instructions.rs` | its machine instructions by class, part of the same types |
//! | `fences.rs` | the cost of its fences, part of the same types |
//! | `energy.rs` | the energies of its events, part of the same types |
//! | `timing.rs` | the variation of its times from run to run, part of the same types |
//! | `schema.rs` | keys and kinds of value, read off those types |
//! | `kinds.rs` | which keys a table has, given the kind that it chooses |
//! | `registry.rs` | systems by name: the shipped ones, those that a user adds, and system files on disk |
//! | `scale.rs` | the scales |
//! | `defaults.toml` | sections that files may leave out |
//! | `layer.rs` | a system file, or one of its scales, as checked leaves |
//! | `overrides.rs` | `--set key=value` |
//! | `resolve.rs` | layers merged into one configuration, its hash and its text |
//! | `geometry.rs` | which sizes and counts make a machine that can exist |
//! | `entries.rs` | every resolved key with its value and source |
//! | `derived.rs` | sizes and bandwidths that follow from the configuration |
//! | `number.rs` | whole numbers as people write them: `64KiB`, `1e6`, `2^20` |
//! | `nearest.rs` | the valid name that a misspelt one is closest to |
//! | `text_file.rs` | files that people write |
//! | `place.rs` | where a key was written |
//! | `error.rs` | what can be wrong |

mod config;
mod derived;
mod energy;
mod entries;
mod error;
mod fences;
mod format;
mod geometry;
mod instructions;
mod kinds;
mod layer;
mod nearest;
mod networks;
mod number;
mod overrides;
mod place;
mod registry;
mod resolve;
mod scale;
mod schema;
mod text_file;
mod timing;

pub use config::{
    AtomicLanes, AtomicOrder, BankOrder, Clocks, CommandProcessor, Core, CpuCores, Directory, DirectoryRange,
    DirectoryReplacement, Dram, DramModel, DramTiming, Gddr5, Hierarchy, Holds, L1, L2, L3, L3Kind, Memory, MemorySide,
    Placement, Replacement, Scheduler, SystemConfig, Tu, Watchdog, WorkGroupOrder, WritePolicy,
};
pub use derived::{Derived, derived};
pub use energy::{AccessEnergy, Energy};
pub use entries::{Entry, Origin, entries};
pub use error::SystemError;
pub use fences::Fences;
pub use format::{FORMAT_KEY, FORMAT_VERSION, take_format};
pub use instructions::{InstructionClass, InstructionCost, Instructions};
pub use nearest::nearest;
pub use networks::{Direct, Dragonfly, Grid, Link, LinkKind, Mesh, Network, NetworkKind, Ring};
pub use number::{NumberError, WHOLE_EXAMPLES, parse_whole};
pub use place::{Place, SourceText};
pub use registry::{SYSTEMS, SystemFile, is_path};
pub use resolve::{Resolved, resolve, resolve_among, resolve_text, resolve_text_among, scales, scales_among};
pub use scale::Scale;
pub use text_file::read_text;
pub use timing::Timing;
