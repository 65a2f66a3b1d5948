//! NO-L1 (TC paper, sections 1 and 8.1): the private caches are switched off.
//!
//! Every load goes to the L2, and loads of different wavefronts do not merge. Coherence is trivial, since the L2 has
//! the only copy; the cost is that nothing is cached closer to the cores.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::home_l2::{HomeSeed, L2Fault, L2Policy, Policies, PrivateCopies, build_home};
use crate::protocols::write_through::COMMON_TABLE;
use crate::protocols::write_through_bank::WriteFault;
use crate::protocols::write_through_l1::{Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit};
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol, Reach,
    Values,
};
use crate::seed::{in_l1, in_l2, specs};
use crate::write_tracker::FenceFault;

/// The policies of the private caches and banks.
pub const POLICIES: Policies = Policies {
    l1: L1Policy {
        allocation: Allocation::Off,
        store_hit: StoreHit::Evict,
        kernel_start: KernelStart::Keep,
        invalidation: Invalidation::Silent,
        fault: None,
    },
    l2: L2Policy { private_copies: PrivateCopies::GoStale, fault: None },
};

/// The faults of both controllers, in the order in which they are declared.
pub const SEEDS: [HomeSeed; 12] = [
    in_l2(L2Fault::LostAck, "lost-ack", "writes are performed but never acknowledged"),
    in_l2(L2Fault::Write(WriteFault::WrongWord), "wrong-word", "a store lands one word further"),
    in_l1(L1Fault::Fence(FenceFault::Nothing), "empty-fence", "a fence does not wait for acknowledgements"),
    in_l1(L1Fault::Fence(FenceFault::NextAck), "hasty-fence", "a fence waits for one acknowledgement, not for all"),
    in_l1(
        L1Fault::Fence(FenceFault::AnyWavefront),
        "common-fence",
        "the acknowledgement of any wavefront's last write passes the fences of all wavefronts of the core",
    ),
    in_l2(L2Fault::Write(WriteFault::WholeLine), "whole-line", "a store replaces the whole line, not only its bytes"),
    in_l2(
        L2Fault::Write(WriteFault::NewValue),
        "new-value",
        "an atomic answers with what it has written, not with what it found",
    ),
    in_l2(
        L2Fault::OverwrittenMiss,
        "overwritten-miss",
        "a line that arrives overwrites the write that it was fetched for",
    ),
    in_l2(L2Fault::LostReader, "lost-reader", "only the first of the readers that wait for memory is answered"),
    in_l2(L2Fault::LostWriteBack, "lost-write-back", "a dirty line leaves the L2 without being written back"),
    in_l2(
        L2Fault::MissingTransition,
        "missing-transition",
        "a write that meets an outstanding write miss of its line has no transition",
    ),
    in_l1(L1Fault::UncountedRequest, "uncounted-request", "a request that joins others of its line is not counted"),
];

/// The faults as the protocol declares them.
pub static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

/// The declaration of NO-L1.
pub static DECLARATION: Declaration = Declaration {
    name: "no-l1",
    title: "NO-L1",
    summary: "Private caches switched off: every access goes to the L2.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, sections 1 and 8.1",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleWriter, Promise::Communication],
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

/// The protocol NO-L1, for the registry.
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
