//! A scoped protocol: its declaration, and the controllers that follow from its policy and parameters.

use crate::address::Role;
use crate::controller::Controller;
use crate::directory::{DirectoryKind, LineGroups, RangeEntries, Unbounded};
use crate::parameter::Parameters;
use crate::protocols::scoped::faults::L1Fault;
use crate::protocols::scoped::l1::{Acquire, L1Policy, ScopedL1};
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::place::{Bytes, Whole};
use crate::protocols::scoped::policy::{
    Cached, Coherence, KernelEnd, L2Policy, PlacesAtHome, Policy, PrivateStores, Spared, Tracking, WriteBack,
};
use crate::protocols::scoped::seeds::ScopedSeed;
use crate::registry::{Build, BuildConfig, Commands, Declaration, Protocol};
use crate::seed::seeded_by_level;

/// A protocol of the scoped family.
pub struct ScopedProtocol {
    /// The declaration of the protocol.
    pub declaration: &'static Declaration,
    /// The protocol whose transition table it adds to.
    pub extends: Option<&'static dyn Protocol>,
    /// The part of its caches' behaviour that does not depend on parameters.
    pub policy: Policy,
    /// The mistakes that can be built in, in the order in which they are declared.
    pub seeds: &'static [ScopedSeed],
}

impl Protocol for ScopedProtocol {
    fn extends(&self) -> Option<&'static dyn Protocol> {
        self.extends
    }

    fn declaration(&self) -> &'static Declaration {
        self.declaration
    }

    fn commands(&self, parameters: &Parameters) -> Commands {
        let is_off = |key| parameters.find(key) == Some(0);
        if is_off("boundaries") || is_off("elide") { Commands::None } else { self.declaration.commands }
    }

    fn keeps_remote(&self, parameters: &Parameters) -> bool {
        self.l2_policy(parameters).cached != Cached::ThisModule
    }
}

impl<const W: usize> Build<W> for ScopedProtocol {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded_by_level(self.seeds, config);
        match role {
            Role::L1 => {
                let policy = self.l1_policy(&config.parameters, l1_fault);
                Some(match self.policy.stores {
                    PrivateStores::PassBy => Box::new(ScopedL1::<Whole, W>::new(index, config, policy)),
                    PrivateStores::LeaveBytes => Box::new(ScopedL1::<Bytes, W>::new(index, config, policy)),
                })
            }
            Role::L2 => {
                let policy = L2Policy { fault: l2_fault, ..self.l2_policy(&config.parameters) };
                let tracking = policy.coherence.tracking();
                let config = &BuildConfig { directory: tracking.shape(config.directory), ..*config };
                Some(match tracking.entries {
                    DirectoryKind::LineGroups => Box::new(ScopedL2::<LineGroups, W>::new(index, config, policy)),
                    DirectoryKind::Ranges => Box::new(ScopedL2::<RangeEntries, W>::new(index, config, policy)),
                    DirectoryKind::Unbounded => Box::new(ScopedL2::<Unbounded, W>::new(index, config, policy)),
                })
            }
            Role::L3 | Role::Tu | Role::Memory => None,
        }
    }
}

impl ScopedProtocol {
    fn l1_policy(&self, parameters: &Parameters, fault: Option<L1Fault>) -> L1Policy {
        let drops_private = parameters.find("keeps_private") == Some(0) || parameters.find("remote_reads") == Some(0);
        let acquire = if drops_private { Acquire::DropsPrivate } else { self.policy.acquire };
        let kernel_acquire = match self.commands(parameters) {
            Commands::None => acquire,
            Commands::EveryKernel | Commands::Table | Commands::TableOfRanges => Acquire::DropsPrivate,
        };
        let cached = match parameters.find("remote_caching") {
            Some(0) => Cached::ThisGpu,
            None | Some(1..) => Cached::Everything,
        };
        L1Policy { acquire, kernel_acquire, cached, fault }
    }

    fn l2_policy(&self, parameters: &Parameters) -> L2Policy {
        let policy = self.policy.l2;
        L2Policy {
            coherence: coherence(policy.coherence, parameters),
            write_back: match parameters.find("write_back") {
                None => policy.write_back,
                Some(0) => WriteBack::Never,
                Some(1) => WriteBack::AtHome,
                Some(2..) => WriteBack::Everywhere,
            },
            cached: match (parameters.find("remote_caching"), parameters.find("remote_reads")) {
                (Some(0 | 1), _) => Cached::ThisGpu,
                (_, Some(0)) => Cached::ThisModule,
                (None | Some(2..), None | Some(1..)) => policy.cached,
            },
            places_at_home: match parameters.find("remote_at_home") {
                Some(0) => PlacesAtHome::OwnModule,
                None | Some(1..) => policy.places_at_home,
            },
            kernel_end: match self.commands(parameters) {
                Commands::None => KernelEnd::Releases,
                Commands::EveryKernel | Commands::Table | Commands::TableOfRanges => KernelEnd::Commanded,
            },
            ..policy
        }
    }
}

/// Who keeps copies coherent, with what parameters say about it.
fn coherence(coherence: Coherence, parameters: &Parameters) -> Coherence {
    match coherence {
        Coherence::Directory(tracking) => Coherence::Directory(Tracking {
            entries: match parameters.find("ranges") {
                None | Some(0) => tracking.entries,
                Some(1..) => DirectoryKind::Ranges,
            },
            downgrades: parameters.find("downgrades").map_or(tracking.downgrades, |value| value != 0),
            ..tracking
        }),
        Coherence::Acquires(spared) => Coherence::Acquires(match parameters.find("acquire_spares_home") {
            None => spared,
            Some(0) => Spared::Nothing,
            Some(1..) => Spared::OwnMemory,
        }),
        Coherence::None => Coherence::None,
    }
}
