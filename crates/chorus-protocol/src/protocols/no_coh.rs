//! NO-COH (TC paper, section 3.1): the baseline GPU, whose private caches nobody keeps coherent.
//!
//! Write-evict, no write-allocate. Copies of lines that others write go stale; only a kernel start drops them, so work-groups cannot
//! talk to each other within a kernel.

use crate::address::Role;
use crate::controller::Controller;
use crate::message::MessageSpec;
use crate::protocols::home_l2::{HomeL2, L2Fault, L2Policy, PrivateCopies};
use crate::protocols::write_through::COMMON_TABLE;
use crate::protocols::write_through_l1::{
    Allocation, Invalidation, KernelStart, L1Fault, L1Policy, StoreHit, WriteThroughL1,
};
use crate::registry::{Build, BuildConfig, FaultSpec, MemoryModel, Promise, Protocol};

/// In the order of [`FAULTS`]: what is wrong in which controller.
const SEEDS: [(Option<L1Fault>, Option<L2Fault>); 3] =
    [(Some(L1Fault::StaleStoreHit), None), (Some(L1Fault::LostMerge), None), (None, Some(L2Fault::WrongWord))];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "stale-store-hit", breaks: "a store leaves the old private copy readable" },
    FaultSpec { name: "lost-merge", breaks: "only the first of several merged loads is answered" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
];

/// The protocol.
pub struct NoCoh;

impl<const W: usize> Build<W> for NoCoh {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) =
            config.fault.and_then(|index| SEEDS.get(usize::from(index)).copied()).unwrap_or((None, None));
        let l1 = L1Policy {
            allocation: Allocation::OnLoadMiss,
            store_hit: StoreHit::Evict,
            kernel_start: KernelStart::Flush,
            invalidation: Invalidation::Silent,
            fault: l1_fault,
        };
        let l2 = L2Policy { private_copies: PrivateCopies::GoStale, fault: l2_fault };
        match role {
            Role::L1 => Some(Box::new(WriteThroughL1::new(index, config, l1))),
            Role::L2 => Some(Box::new(HomeL2::new(index, config, l2))),
            Role::Memory => None,
        }
    }
}

impl Protocol for NoCoh {
    fn name(&self) -> &'static str {
        "no-coh"
    }

    fn title(&self) -> &'static str {
        "NO-COH"
    }

    fn summary(&self) -> &'static str {
        "Incoherent private caches, emptied at kernel starts."
    }

    fn citation(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 3.1"
    }

    fn model(&self) -> MemoryModel {
        MemoryModel::PerLocation
    }

    fn promises(&self) -> &'static [Promise] {
        &[]
    }

    fn virtual_networks(&self) -> u8 {
        2
    }

    fn messages(&self) -> &'static [MessageSpec] {
        &COMMON_TABLE
    }

    fn faults(&self) -> &'static [FaultSpec] {
        &FAULTS
    }
}
