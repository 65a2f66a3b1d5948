//! The baseline of the HMG paper: shared caches keep nothing of other GPUs' memory (section VI, Figures 2 and 8).
//!
//! Within a GPU the modules are kept coherent as in NHCC. A line of another GPU is fetched anew by every private cache that misses on it; private caches may keep
//! it, as they are emptied by acquires in all of the paper's protocols.

use crate::address::Role;
use crate::controller::Controller;
use crate::protocols::nhcc::{DIRECTORY_SEEDS, NHCC_SEEDS};
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{DIRECTORY_PARAMETERS, L2Policy, PLAIN, Policy, RemoteGpus, SCOPED, build};
use crate::registry::{Build, BuildConfig, Declaration, FaultSpec, Promise, Protocol};
use crate::seed::specs;

const POLICY: Policy =
    Policy { acquire: Acquire::DropsPrivate, l2: L2Policy { remote_gpus: RemoteGpus::NotCached, ..PLAIN } };

static FAULTS: [FaultSpec; NHCC_SEEDS] = specs(&DIRECTORY_SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "no-remote",
    title: "No remote caching",
    summary: "Shared caches keep nothing of other GPUs' memory; within a GPU as NHCC.",
    citation: "Ren et al., HMG: Extending Cache Coherence Protocols Across Modern Hierarchical Multi-GPU Systems, HPCA 2020, section VI",
    promises: &[Promise::Tracking, Promise::Communication],
    parameters: &DIRECTORY_PARAMETERS,
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol.
pub struct NoRemote;

impl<const W: usize> Build<W> for NoRemote {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        build(role, index, config, &POLICY, &DIRECTORY_SEEDS)
    }
}

impl Protocol for NoRemote {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
