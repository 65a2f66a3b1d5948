//! TC-Weak (TC paper, section 6.3): a write never waits; the fences of its wavefront do.
//!
//! The answer to a write that found leases running carries the end of the last of them, the global write completion time. A fence
//! waits until the latest of its wavefront's has passed: by then no private copy anywhere is older than the wavefront's writes. Others
//! may see a write earlier than that, some before others, so writes are not atomic (RCpc).
//!
//! Every write adds one to the line's timestamp, so a writer whose copy somebody else has made stale is found out by the timestamp
//! that it sends, and gets the whole line with its answer.
//!
//! Two variants differ in the length of leases: predicted by each bank (section 6.4, the paper's TCW), or fixed (TCW-FIXED).

use super::Writes;
use super::faults::{WEAK_FAULTS, WEAK_SEEDS};
use super::l1::TcL1;
use super::l2::TcL2;
use super::lifetime::{Lifetime, Prediction};
use super::messages::{VIRTUAL_NETWORKS, WEAK};
use crate::address::Role;
use crate::controller::Controller;
use crate::parameter::ParameterSpec;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, MemoryModel, Promise, Protocol, Reach, Values,
};
use crate::seed::seeded_by_level;
use crate::tally::TallySpec;

/// What the controllers of all protocols of the family count.
pub(super) static TALLIES: [TallySpec; 5] = [
    TallySpec { key: "expired_loads", meaning: "loads that missed in the L1 because a lease had ended" },
    TallySpec { key: "leases", meaning: "leases given by L2 banks" },
    TallySpec { key: "lease_cycles", meaning: "sum of the lengths of those leases, in core cycles" },
    TallySpec { key: "parked_timestamps", meaning: "lines that left the L2 with leases running" },
    TallySpec { key: "refreshed_writers", meaning: "writes of stale copies, answered with the whole line" },
];

/// The width of the counters.
pub(super) const TIMESTAMP_BITS: ParameterSpec = ParameterSpec {
    key: "timestamp.bits",
    meaning: "width of timestamps and of the counters they come from",
    source: "Table 4",
    default: 32,
    min: 4,
    max: 32,
    explored: 32,
};

/// Indices into the parameters of the predicting variant.
const START: usize = 0;
const MAX: usize = 1;
const T_EVICT: usize = 2;
const T_HIT: usize = 3;
const T_WRITE: usize = 4;
const PREDICTED_BITS: usize = 5;

static PREDICTED: [ParameterSpec; 6] = [
    ParameterSpec {
        key: "lease.start",
        meaning: "predicted length of a lease to begin with, in core cycles",
        source: "not given: chosen as the fixed length that section 8.3 found best for TC-Strong",
        default: 800,
        min: 0,
        max: 1_000_000,
        explored: 1,
    },
    ParameterSpec {
        key: "lease.max",
        meaning: "longest length predicted, in core cycles",
        source: "not given: chosen far beyond the lengths of Figure 11",
        default: 65_536,
        min: 0,
        max: 1_000_000,
        explored: 1,
    },
    ParameterSpec {
        key: "predictor.evict",
        meaning: "taken away when a line leaves the L2 with a lease running, in core cycles",
        source: "Table 4",
        default: 8,
        min: 0,
        max: 100_000,
        explored: 1,
    },
    ParameterSpec {
        key: "predictor.hit",
        meaning: "added when a load comes because a lease has ended, in core cycles",
        source: "Table 4",
        default: 4,
        min: 0,
        max: 100_000,
        explored: 1,
    },
    ParameterSpec {
        key: "predictor.write",
        meaning: "taken away when a write finds a lease running, in core cycles; only in programs with fences",
        source: "Table 4, section 6.4",
        default: 8,
        min: 0,
        max: 100_000,
        explored: 1,
    },
    TIMESTAMP_BITS,
];

/// Indices into the parameters of the fixed variant.
const LEASE: usize = 0;
const FIXED_BITS: usize = 1;

static FIXED: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "lease.cycles",
        meaning: "length of a lease, in core cycles",
        source: "section 8.3: the best of those tried for TCW-FIXED",
        default: 3200,
        min: 0,
        max: 1_000_000,
        explored: 1,
    },
    TIMESTAMP_BITS,
];

static DECLARATION: Declaration = Declaration {
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

fn build<const W: usize>(
    role: Role,
    index: u16,
    config: &BuildConfig,
    bits: u64,
    lifetime: Lifetime,
) -> Option<Box<dyn Controller<W>>> {
    let (l1_fault, l2_fault) = seeded_by_level(&WEAK_SEEDS, config);
    match role {
        Role::L1 => Some(Box::new(TcL1::new(index, config, Writes::GoOn, bits, l1_fault))),
        Role::L2 => Some(Box::new(TcL2::new(index, config, Writes::GoOn, bits, lifetime, l2_fault))),
        Role::L3 | Role::Tu | Role::Memory => None,
    }
}

impl<const W: usize> Build<W> for TcWeak {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let value = |parameter| config.parameters.get(parameter);
        let t_write = if config.fences { value(T_WRITE) } else { 0 };
        let prediction = Prediction { max: value(MAX), t_evict: value(T_EVICT), t_hit: value(T_HIT), t_write };
        build(role, index, config, value(PREDICTED_BITS), Lifetime::predicted(value(START), prediction))
    }
}

impl<const W: usize> Build<W> for TcWeakFixed {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let lifetime = Lifetime::fixed(config.parameters.get(LEASE));
        build(role, index, config, config.parameters.get(FIXED_BITS), lifetime)
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
