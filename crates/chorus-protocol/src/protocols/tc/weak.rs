//! TC-Weak (TC paper, section 6.3): a write never waits; the fences of its wavefront do.
//!
//! A write that finds leases running is answered with the end of the last of them, the global write completion time. A
//! fence waits until the latest completion time of its wavefront has passed. By then no private copy anywhere is older
//! than the wavefront's writes. Others may see a write earlier than that, some before others, so writes are not atomic
//! (RCpc).
//!
//! Every write adds one to the line's timestamp. A writer sends the timestamp of its copy. If somebody else has made
//! the copy stale, the timestamps differ, and the writer gets the whole line with its answer.
//!
//! Two variants differ in the length of leases: predicted by each bank (section 6.4, the paper's TCW), or fixed
//! (TCW-FIXED). [`build`] makes controllers with any other rule for the length.

use super::Writes;
use super::faults::{WEAK_FAULTS, WEAK_SEEDS};
use super::l1::TcL1;
use super::l2::TcL2;
use super::lifetime::{Leases, Lifetime, Prediction};
use super::messages::{VIRTUAL_NETWORKS, WEAK};
use super::tallies::TALLIES;
use crate::address::Role;
use crate::controller::Controller;
use crate::parameter::ParameterSpec;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, MemoryModel, Promise, Protocol, Reach, Values,
};
use crate::seed::seeded_by_level;

/// The width of the counters.
pub const TIMESTAMP_BITS: ParameterSpec = ParameterSpec {
    key: "timestamp.bits",
    meaning: "width of timestamps and of the counters they come from",
    source: "Table 4",
    default: 32,
    min: 4,
    max: 32,
    explored: &[32],
};

/// The parameters of the variant with predicted leases.
pub static PREDICTED: [ParameterSpec; 6] = [
    ParameterSpec {
        key: "lease.start",
        meaning: "predicted length of a lease to begin with, in core cycles",
        source: "not given: chosen as the fixed length that section 8.3 found best for TC-Strong",
        default: 800,
        min: 0,
        max: 1_000_000,
        explored: &[1, 2],
    },
    ParameterSpec {
        key: "lease.max",
        meaning: "longest length predicted, in core cycles",
        source: "not given: chosen far beyond the lengths of Figure 11",
        default: 65_536,
        min: 0,
        max: 1_000_000,
        explored: &[1, 2],
    },
    ParameterSpec {
        key: "predictor.evict",
        meaning: "taken away when a line leaves the L2 with a lease running, in core cycles",
        source: "Table 4",
        default: 8,
        min: 0,
        max: 100_000,
        explored: &[1, 0],
    },
    ParameterSpec {
        key: "predictor.hit",
        meaning: "added when a load comes because a lease has ended, in core cycles",
        source: "Table 4",
        default: 4,
        min: 0,
        max: 100_000,
        explored: &[1, 0],
    },
    ParameterSpec {
        key: "predictor.write",
        meaning: "taken away when a write finds a lease running, in core cycles; only in programs with fences",
        source: "Table 4, section 6.4",
        default: 8,
        min: 0,
        max: 100_000,
        explored: &[1, 0],
    },
    TIMESTAMP_BITS,
];

/// The parameters of the variant with fixed leases.
pub static FIXED: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "lease.cycles",
        meaning: "length of a lease, in core cycles",
        source: "section 8.3: the best of those tried for TCW-FIXED",
        default: 3200,
        min: 0,
        max: 1_000_000,
        explored: &[1, 2, 0],
    },
    TIMESTAMP_BITS,
];

/// The declaration of TC-Weak with predicted leases.
pub static DECLARATION: Declaration = Declaration {
    name: "tc-weak",
    title: "TC-Weak",
    summary: "Leases on private copies, of predicted length; writes go on, fences wait for leases to end.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, sections 6.3 and 6.4",
    model: MemoryModel::Rcpc,
    promises: &[Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::Synchronised,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &PREDICTED,
    tallies: &TALLIES,
    messages: &WEAK,
    faults: &WEAK_FAULTS,
};

static FIXED_DECLARATION: Declaration = Declaration {
    name: "tc-weak-fixed",
    title: "TCW-FIXED",
    summary: "TC-Weak with leases of one fixed length.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, sections 6.3 and 8.3",
    parameters: &FIXED,
    ..DECLARATION
};

/// TC-Weak with predicted leases.
pub struct TcWeak;

/// TC-Weak with fixed leases.
pub struct TcWeakFixed;

/// A length of leases as section 6.4 predicts it, with the constants that the parameters give ([`PREDICTED`]). Writes
/// shorten it only in programs with fences.
pub fn predicted(config: &BuildConfig) -> Lifetime {
    let value = |key| config.parameters.get(key);
    let prediction = Prediction {
        max: value("lease.max"),
        t_evict: value("predictor.evict"),
        t_hit: value("predictor.hit"),
        t_write: if config.fences { value("predictor.write") } else { 0 },
    };
    Lifetime::predicted(value("lease.start"), prediction)
}

/// Builds a controller of TC-Weak whose banks give these leases. The width of timestamps is a parameter,
/// [`TIMESTAMP_BITS`].
pub fn build<const W: usize>(
    role: Role,
    index: u16,
    config: &BuildConfig,
    leases: impl Leases,
) -> Option<Box<dyn Controller<W>>> {
    let (l1_fault, l2_fault) = seeded_by_level(&WEAK_SEEDS, config);
    let bits = config.parameters.get(TIMESTAMP_BITS.key);
    match role {
        Role::L1 => Some(Box::new(TcL1::new(index, config, Writes::GoOn, bits, l1_fault))),
        Role::L2 => Some(Box::new(TcL2::new(index, config, Writes::GoOn, bits, leases, l2_fault))),
        Role::L3 | Role::Tu | Role::Memory => None,
    }
}

impl<const W: usize> Build<W> for TcWeak {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, predicted(config))
    }
}

impl<const W: usize> Build<W> for TcWeakFixed {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, Lifetime::fixed(config.parameters.get("lease.cycles")))
    }
}

impl Protocol for TcWeak {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}

impl Protocol for TcWeakFixed {
    fn declaration(&self) -> &'static Declaration {
        &FIXED_DECLARATION
    }
}
