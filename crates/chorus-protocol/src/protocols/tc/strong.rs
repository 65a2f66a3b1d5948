//! TC-Strong (TC paper, section 6.2): a write waits at the L2 until nobody can read the old value any more.
//!
//! Writes are therefore atomic. A write that waits holds up everything behind it at its bank; section 6.3 names this as
//! the cost. Private writes do not wait: a write is private if the writer is the only core that has read the line. The
//! L2 knows it by the timestamp that the write carries. Leases have a fixed length, as in Library Cache Coherence, from
//! which the protocol descends.

use super::Writes;
use super::faults::{STRONG_FAULTS, STRONG_SEEDS};
use super::l1::TcL1;
use super::l2::TcL2;
use super::lifetime::Lifetime;
use super::messages::{STRONG, VIRTUAL_NETWORKS};
use super::tallies::TALLIES;
use super::weak::TIMESTAMP_BITS;
use crate::address::Role;
use crate::controller::Controller;
use crate::parameter::ParameterSpec;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, MemoryModel, Promise, Protocol, Reach, Values,
};
use crate::seed::seeded_by_level;

/// The declaration of TC-Strong.
pub static DECLARATION: Declaration = Declaration {
    name: "tc-strong",
    title: "TC-Strong",
    summary: "Leases on private copies; writes wait at the L2 until all leases have ended.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 6.2",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::Synchronised,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[
        ParameterSpec {
            key: "lease.cycles",
            meaning: "length of a lease, in core cycles",
            source: "section 8.3: the best of those tried for TC-Strong",
            default: 800,
            min: 0,
            max: 1_000_000,
            explored: &[1, 2, 0],
        },
        TIMESTAMP_BITS,
    ],
    tallies: &TALLIES,
    messages: &STRONG,
    faults: &STRONG_FAULTS,
};

/// The protocol TC-Strong, for the registry.
pub struct TcStrong;

impl<const W: usize> Build<W> for TcStrong {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded_by_level(&STRONG_SEEDS, config);
        let bits = config.parameters.get(TIMESTAMP_BITS.key);
        let lifetime = Lifetime::fixed(config.parameters.get("lease.cycles"));
        match role {
            Role::L1 => Some(Box::new(TcL1::new(index, config, Writes::Wait, bits, l1_fault))),
            Role::L2 => Some(Box::new(TcL2::new(index, config, Writes::Wait, bits, lifetime, l2_fault))),
            Role::L3 | Role::Tu | Role::Memory => None,
        }
    }
}

impl Protocol for TcStrong {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
