//! MESI (TC paper, section 4.1): write-back, write-allocate private caches, and an inclusive L2 with the directory in
//! its tags.
//!
//! The paper takes the protocol from gem5 (section 7), and states carry the names of gem5's two-level MESI. Private
//! caches are connected to the L2 only, so an owner's data reaches another cache through the L2. Nothing relies on the
//! order of messages.

pub mod faults;
pub mod l1;
mod l1_states;
pub mod l2;
mod l2_states;
pub mod messages;

use crate::address::Role;
use crate::controller::Controller;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, MemoryModel, Promise, Protocol, Reach, Values,
};
use crate::seed::seeded_by_level;
use faults::{FAULTS, SEEDS};
use l1::MesiL1;
use l2::MesiL2;
use messages::{MESSAGES, VIRTUAL_NETWORKS};

/// The declaration of MESI.
pub static DECLARATION: Declaration = Declaration {
    name: "mesi",
    title: "MESI",
    summary: "Write-back L1s that allocate on writes and perform atomics, inclusive L2 with sharers and owners.",
    citation: "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 4.1",
    model: MemoryModel::WriteAtomicRc,
    promises: &[Promise::SingleOwner, Promise::Inclusion, Promise::Communication],
    virtual_networks: VIRTUAL_NETWORKS,
    delivery: Delivery::AnyOrder,
    counters: Counters::None,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[],
    tallies: &[],
    messages: &MESSAGES,
    faults: &FAULTS,
};

/// The protocol, to be put into a registry.
pub struct Mesi;

impl<const W: usize> Build<W> for Mesi {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded_by_level(&SEEDS, config);
        match role {
            Role::L1 => Some(Box::new(MesiL1::new(index, config, l1_fault))),
            Role::L2 => Some(Box::new(MesiL2::l2(index, config, l2_fault))),
            Role::L3 | Role::Tu | Role::Memory => None,
        }
    }
}

impl Protocol for Mesi {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
