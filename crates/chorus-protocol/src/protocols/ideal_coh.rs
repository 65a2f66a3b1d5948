//! IDEAL-COH (TC paper, section 1): private caches that are coherent at no cost.
//!
//! The moment a write is performed at the L2, every other copy of the line vanishes, without a message, an acknowledgement or a
//! wait. An upper bound, not a design.

use crate::address::Role;
use crate::controller::Controller;
use crate::message::{Channel, MessageSpec, Size, TrafficClass};
use crate::protocols::home_l2::{HomeL2, L2Fault, L2Policy, PrivateCopies};
use crate::protocols::write_through::message_table;
use crate::protocols::write_through_l1::{
    Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit, WriteThroughL1,
};
use crate::registry::{Build, BuildConfig, FaultSpec, MemoryModel, Promise, Protocol};

static MESSAGES: [MessageSpec; 10] = message_table(&[MessageSpec {
    name: "INV",
    class: TrafficClass::Invalidation,
    channel: Channel::Instant,
    size: Size::Control,
}]);

/// In the order of [`FAULTS`]: what is wrong in which controller.
const SEEDS: [(Option<L1Fault>, Option<L2Fault>); 4] = [
    (None, Some(L2Fault::SurvivingCopy)),
    (Some(L1Fault::StaleRefill), None),
    (Some(L1Fault::PendingHit), None),
    (None, Some(L2Fault::WrongWord)),
];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "surviving-copy", breaks: "the first other private copy survives a write" },
    FaultSpec { name: "stale-refill", breaks: "a read miss that was invalidated still caches its refill" },
    FaultSpec { name: "pending-hit", breaks: "loads hit lines whose writes are not performed yet" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
];

/// The protocol.
pub struct IdealCoh;

impl<const W: usize> Build<W> for IdealCoh {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) =
            config.fault.and_then(|index| SEEDS.get(usize::from(index)).copied()).unwrap_or((None, None));
        let l1 = L1Policy {
            allocation: Allocation::OnLoadMiss,
            store_hit: StoreHit::Update,
            kernel_start: KernelStart::Keep,
            invalidation: Invalidation::Silent,
            fault: l1_fault,
        };
        let l2 = L2Policy { private_copies: PrivateCopies::Vanish, fault: l2_fault };
        match role {
            Role::L1 => Some(Box::new(WriteThroughL1::new(index, config, l1))),
            Role::L2 => Some(Box::new(HomeL2::new(index, config, l2))),
            Role::Memory => None,
        }
    }
}

impl Protocol for IdealCoh {
    fn name(&self) -> &'static str {
        "ideal-coh"
    }

    fn title(&self) -> &'static str {
        "IDEAL-COH"
    }

    fn summary(&self) -> &'static str {
        "Coherent private caches at no cost: stale copies vanish instantly."
    }

    fn citation(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 1"
    }

    fn model(&self) -> MemoryModel {
        MemoryModel::WriteAtomicRc
    }

    fn promises(&self) -> &'static [Promise] {
        &[Promise::SingleWriter, Promise::Communication]
    }

    fn virtual_networks(&self) -> u8 {
        2
    }

    fn messages(&self) -> &'static [MessageSpec] {
        &MESSAGES
    }

    fn faults(&self) -> &'static [FaultSpec] {
        &FAULTS
    }
}
