//! NO-L1 (TC paper, section 7): the private caches are switched off.
//!
//! Every load goes to the L2, and loads of different wavefronts do not merge. Coherence is trivial, and so is the cost.

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
    [(None, Some(L2Fault::LostAck)), (None, Some(L2Fault::WrongWord)), (Some(L1Fault::EmptyFence), None)];

static FAULTS: [FaultSpec; SEEDS.len()] = [
    FaultSpec { name: "lost-ack", breaks: "writes are performed but never acknowledged" },
    FaultSpec { name: "wrong-word", breaks: "a store lands one word further" },
    FaultSpec { name: "empty-fence", breaks: "a fence does not wait for acknowledgements" },
];

/// The protocol.
pub struct NoL1;

impl<const W: usize> Build<W> for NoL1 {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) =
            config.fault.and_then(|index| SEEDS.get(usize::from(index)).copied()).unwrap_or((None, None));
        let l1 = L1Policy {
            allocation: Allocation::Off,
            store_hit: StoreHit::Evict,
            kernel_start: KernelStart::Keep,
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

impl Protocol for NoL1 {
    fn name(&self) -> &'static str {
        "no-l1"
    }

    fn title(&self) -> &'static str {
        "NO-L1"
    }

    fn summary(&self) -> &'static str {
        "Private caches switched off: every access goes to the L2."
    }

    fn citation(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, sections 1 and 7"
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
        &COMMON_TABLE
    }

    fn faults(&self) -> &'static [FaultSpec] {
        &FAULTS
    }
}
