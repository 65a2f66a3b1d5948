//! NO-COH (TC paper, section 3.1): the baseline GPU, whose private caches nobody keeps coherent.
//!
//! Write-evict, no write-allocate. Copies of lines that others write go stale; only a kernel start drops them, so work-groups cannot
//! talk to each other within a kernel.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::home_l2::{HomeSeed, L2Fault, L2Policy, Policies, PrivateCopies, build_home};
use crate::protocols::write_through::COMMON_TABLE;
use crate::protocols::write_through_l1::{Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit};
use crate::registry::{Build, BuildConfig, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Protocol};
use crate::seed::Seed;

const POLICIES: Policies = Policies {
    l1: L1Policy {
        allocation: Allocation::OnLoadMiss,
        store_hit: StoreHit::Evict,
        kernel_start: KernelStart::Flush,
        invalidation: Invalidation::Silent,
        fault: None,
    },
    l2: L2Policy { private_copies: PrivateCopies::GoStale, fault: None },
};

/// In the order of [`FAULTS`]: what is wrong in which controller.
const SEEDS: [HomeSeed; 3] =
    [Seed::L1(L1Fault::StaleStoreHit), Seed::L1(L1Fault::LostMerge), Seed::L2(L2Fault::WrongWord)];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "stale-store-hit", breaks: "a store leaves the old private copy readable" },
    FaultSpec { name: "lost-merge", breaks: "only the first of several merged loads is answered" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
];

static DECLARATION: Declaration = Declaration {
    name: "no-coh",
    title: "NO-COH",
    summary: "Incoherent private caches, emptied at kernel starts.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 3.1",
    model: MemoryModel::PerLocation,
    promises: &[],
    virtual_networks: 2,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    parameters: &[],
    tallies: &[],
    messages: &COMMON_TABLE,
    faults: &FAULTS,
};

/// The protocol.
pub struct NoCoh;

impl<const W: usize> Build<W> for NoCoh {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build_home(role, index, config, &POLICIES, &SEEDS)
    }
}

impl Protocol for NoCoh {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
