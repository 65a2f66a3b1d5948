//! NO-COH (TC paper, section 3.1): the baseline GPU, whose private caches nobody keeps coherent.
//!
//! Write-evict, no write-allocate. Copies of lines that others write go stale. Only a kernel start drops them, so
//! work-groups cannot talk to each other within a kernel.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::home_l2::{HomeSeed, L2Fault, L2Policy, Policies, PrivateCopies, build_home};
use crate::protocols::write_through::COMMON_TABLE;
use crate::protocols::write_through_bank::WriteFault;
use crate::protocols::write_through_l1::{Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit};
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Protocol, Reach, Values,
};
use crate::seed::{in_l1, in_l2, specs};

/// The policies of the private caches and banks.
pub const POLICIES: Policies = Policies {
    l1: L1Policy {
        allocation: Allocation::OnLoadMiss,
        store_hit: StoreHit::Evict,
        kernel_start: KernelStart::Flush,
        invalidation: Invalidation::Silent,
        fault: None,
    },
    l2: L2Policy { private_copies: PrivateCopies::GoStale, fault: None },
};

/// The faults of both controllers, in the order in which they are declared.
pub const SEEDS: [HomeSeed; 12] = [
    in_l1(L1Fault::StaleStoreHit, "stale-store-hit", "a store leaves the old private copy readable"),
    in_l1(L1Fault::LostMerge, "lost-merge", "only the first of several merged loads is answered"),
    in_l2(L2Fault::Write(WriteFault::WrongWord), "wrong-word", "a store lands one word further"),
    in_l1(L1Fault::StaleAtomic, "stale-atomic", "an atomic leaves the old private copy readable"),
    in_l1(
        L1Fault::PendingStore,
        "pending-store",
        "a store to a line that is being fetched leaves the refill to be cached",
    ),
    in_l1(L1Fault::OldAnswer, "old-answer", "loads are answered with what their place held before the refill"),
    in_l1(L1Fault::UncountedRequest, "uncounted-request", "a request that joins others of its line is not counted"),
    in_l1(L1Fault::LeakedRegister, "leaked-register", "a miss register is not freed with the last answer"),
    in_l2(L2Fault::LostAck, "lost-ack", "writes are performed but never acknowledged"),
    in_l2(L2Fault::Write(WriteFault::WholeLine), "whole-line", "a store replaces the whole line, not only its bytes"),
    in_l2(
        L2Fault::OverwrittenMiss,
        "overwritten-miss",
        "a line that arrives overwrites the write that it was fetched for",
    ),
    in_l2(L2Fault::LostWriteBack, "lost-write-back", "a dirty line leaves the L2 without being written back"),
];

/// The faults as the protocol declares them.
pub static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

/// The declaration of NO-COH.
pub static DECLARATION: Declaration = Declaration {
    name: "no-coh",
    title: "NO-COH",
    summary: "Incoherent private caches, emptied at kernel starts.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 3.1",
    model: MemoryModel::PerLocation,
    promises: &[],
    virtual_networks: 2,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[],
    tallies: &[],
    messages: &COMMON_TABLE,
    faults: &FAULTS,
};

/// The protocol NO-COH, for the registry.
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
