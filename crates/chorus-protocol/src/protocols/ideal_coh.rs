//! IDEAL-COH (TC paper, section 1): private caches that are coherent at no cost.
//!
//! The moment a write is performed at the L2, every other copy of the line vanishes, without a message, an acknowledgement or a
//! wait. An upper bound, not a design.

use crate::address::Role;
use crate::controller::Controller;
use crate::message::{Channel, MessageSpec, Size, TrafficClass};
use crate::protocols::home_l2::{HomeSeed, L2Fault, L2Policy, Policies, PrivateCopies, build_home};
use crate::protocols::write_through::message_table;
use crate::protocols::write_through_l1::{Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit};
use crate::registry::{Build, BuildConfig, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol};
use crate::seed::Seed;

static MESSAGES: [MessageSpec; 10] = message_table(&[MessageSpec {
    name: "INV",
    class: TrafficClass::Invalidation,
    channel: Channel::Instant,
    size: Size::Control,
}]);

const POLICIES: Policies = Policies {
    l1: L1Policy {
        allocation: Allocation::OnLoadMiss,
        store_hit: StoreHit::Update,
        kernel_start: KernelStart::Keep,
        invalidation: Invalidation::Silent,
        fault: None,
    },
    l2: L2Policy { private_copies: PrivateCopies::Vanish, fault: None },
};

/// In the order of [`FAULTS`]: what is wrong in which controller.
const SEEDS: [HomeSeed; 4] = [
    Seed::L2(L2Fault::SurvivingCopy),
    Seed::L1(L1Fault::StaleRefill),
    Seed::L1(L1Fault::PendingHit),
    Seed::L2(L2Fault::WrongWord),
];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "surviving-copy", breaks: "the first other private copy survives a write" },
    FaultSpec { name: "stale-refill", breaks: "a read miss that was invalidated still caches its refill" },
    FaultSpec { name: "pending-hit", breaks: "loads hit lines whose writes are not performed yet" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
];

static DECLARATION: Declaration = Declaration {
    name: "ideal-coh",
    title: "IDEAL-COH",
    summary: "Coherent private caches at no cost: stale copies vanish instantly.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 1",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Communication],
    virtual_networks: 2,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    parameters: &[],
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol.
pub struct IdealCoh;

impl<const W: usize> Build<W> for IdealCoh {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build_home(role, index, config, &POLICIES, &SEEDS)
    }
}

impl Protocol for IdealCoh {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
