//! NO-L1 (TC paper, sections 1 and 8.1): the private caches are switched off.
//!
//! Every load goes to the L2, and loads of different wavefronts do not merge. Coherence is trivial, and so is the cost.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::home_l2::{HomeSeed, L2Fault, L2Policy, Policies, PrivateCopies, build_home};
use crate::protocols::write_through::COMMON_TABLE;
use crate::protocols::write_through_l1::{Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit};
use crate::registry::{Build, BuildConfig, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol};
use crate::seed::Seed;

const POLICIES: Policies = Policies {
    l1: L1Policy {
        allocation: Allocation::Off,
        store_hit: StoreHit::Evict,
        kernel_start: KernelStart::Keep,
        invalidation: Invalidation::Silent,
        fault: None,
    },
    l2: L2Policy { private_copies: PrivateCopies::GoStale, fault: None },
};

/// In the order of [`FAULTS`]: what is wrong in which controller.
const SEEDS: [HomeSeed; 3] = [Seed::L2(L2Fault::LostAck), Seed::L2(L2Fault::WrongWord), Seed::L1(L1Fault::EmptyFence)];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "lost-ack", breaks: "writes are performed but never acknowledged" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
    FaultSpec { name: "empty-fence", breaks: "a fence does not wait for acknowledgements" },
];

static DECLARATION: Declaration = Declaration {
    name: "no-l1",
    title: "NO-L1",
    summary: "Private caches switched off: every access goes to the L2.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, sections 1 and 8.1",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Communication],
    virtual_networks: 2,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    parameters: &[],
    tallies: &[],
    messages: &COMMON_TABLE,
    faults: &FAULTS,
};

/// The protocol.
pub struct NoL1;

impl<const W: usize> Build<W> for NoL1 {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build_home(role, index, config, &POLICIES, &SEEDS)
    }
}

impl Protocol for NoL1 {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
