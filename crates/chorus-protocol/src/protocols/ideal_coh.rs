//! IDEAL-COH (TC paper, section 1): private caches that are coherent at no cost.
//!
//! The moment a write is performed at the L2, every other copy of the line vanishes, without a message, an
//! acknowledgement or a wait. The protocol is an upper bound, not a design.

use crate::address::Role;
use crate::controller::Controller;
use crate::message::{Channel, MessageSpec, Size, TrafficClass};
use crate::protocols::home_l2::{HomeSeed, L2Fault, L2Policy, Policies, PrivateCopies, build_home};
use crate::protocols::write_through::message_table;
use crate::protocols::write_through_bank::WriteFault;
use crate::protocols::write_through_l1::{Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit};
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Protocol, Reach,
    Values,
};
use crate::seed::{in_l1, in_l2, specs};
use crate::write_tracker::FenceFault;

/// The message table: the common one, and invalidations that take no time.
pub static MESSAGES: [MessageSpec; 10] = message_table(&[MessageSpec {
    name: "INV",
    class: TrafficClass::Invalidation,
    channel: Channel::Instant,
    size: Size::Control,
}]);

/// The policies of the private caches and banks.
pub const POLICIES: Policies = Policies {
    l1: L1Policy {
        allocation: Allocation::OnLoadMiss,
        store_hit: StoreHit::Update,
        kernel_start: KernelStart::Keep,
        invalidation: Invalidation::Silent,
        fault: None,
    },
    l2: L2Policy { private_copies: PrivateCopies::Vanish, fault: None },
};

/// The faults of both controllers, in the order in which they are declared.
pub const SEEDS: [HomeSeed; 12] = [
    in_l2(L2Fault::SurvivingCopy, "surviving-copy", "the first other private copy survives a write"),
    in_l1(L1Fault::StaleRefill, "stale-refill", "a read miss that was invalidated still caches its refill"),
    in_l1(L1Fault::PendingHit, "pending-hit", "loads hit lines whose writes are not performed yet"),
    in_l2(L2Fault::Write(WriteFault::WrongWord), "wrong-word", "a store lands one word further"),
    in_l2(L2Fault::MissingSharer, "missing-sharer", "a reader of a resident line is not recorded"),
    in_l2(
        L2Fault::ForgottenSharers,
        "forgotten-sharers",
        "a line that comes back to the L2 is taken to have no private copies",
    ),
    in_l1(
        L1Fault::MissingTransition,
        "missing-transition",
        "an invalidation that finds requests outstanding but no copy has no transition",
    ),
    in_l1(L1Fault::WholeCopy, "whole-copy", "a store hit writes the whole private copy, not only its bytes"),
    in_l1(L1Fault::OldAnswer, "old-answer", "loads are answered with what their place held before the refill"),
    in_l1(
        L1Fault::Fence(FenceFault::AnyWavefront),
        "common-fence",
        "the acknowledgement of any wavefront's last write passes the fences of all wavefronts of the core",
    ),
    in_l2(
        L2Fault::Write(WriteFault::NewValue),
        "new-value",
        "an atomic answers with what it has written, not with what it found",
    ),
    in_l2(L2Fault::LostWriteBack, "lost-write-back", "a dirty line leaves the L2 without being written back"),
];

/// The faults as the protocol declares them.
pub static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

/// The declaration of IDEAL-COH.
pub static DECLARATION: Declaration = Declaration {
    name: "ideal-coh",
    title: "IDEAL-COH",
    summary: "Coherent private caches at no cost: stale copies vanish instantly.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 1",
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
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol IDEAL-COH, for the registry.
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
