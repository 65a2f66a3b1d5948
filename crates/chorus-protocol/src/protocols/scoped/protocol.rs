//! A scoped protocol: what it declares, and the controllers that its policy and parameters make.

use crate::address::Role;
use crate::controller::Controller;
use crate::directory::{DirectoryKind, LineGroups, RangeEntries, Unbounded};
use crate::protocols::scoped::l1::{Acquire, ScopedL1};
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::policy::{L2Policy, Policy, RemoteGpus, WriteBack};
use crate::protocols::scoped::seeds::ScopedSeed;
use crate::registry::{Build, BuildConfig, Declaration, Protocol};
use crate::seed::seeded;

/// A protocol.
pub struct ScopedProtocol {
    /// What it declares.
    pub declaration: &'static Declaration,
    /// The protocol whose table it adds to.
    pub extends: Option<&'static dyn Protocol>,
    /// How its caches behave, as far as it is not parameters.
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
}

impl<const W: usize> Build<W> for ScopedProtocol {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let (l1_fault, l2_fault) = seeded(self.seeds, config);
        match role {
            Role::L1 => {
                let drops = self.parameter("keeps_private", config) == Some(0);
                let acquire = if drops { Acquire::DropsPrivate } else { self.policy.acquire };
                let remote_gpus = match self.parameter("remote_caching", config) {
                    Some(0) => RemoteGpus::NotCached,
                    None | Some(1..) => RemoteGpus::Cached,
                };
                Some(Box::new(ScopedL1::new(index, config, acquire, remote_gpus, l1_fault)))
            }
            Role::L2 => {
                let policy = L2Policy { fault: l2_fault, ..self.l2_policy(config) };
                let config = &BuildConfig { directory: policy.shape(config.directory), ..*config };
                Some(match policy.directory {
                    DirectoryKind::LineGroups => Box::new(ScopedL2::<LineGroups, W>::new(index, config, policy)),
                    DirectoryKind::Ranges => Box::new(ScopedL2::<RangeEntries, W>::new(index, config, policy)),
                    DirectoryKind::Unbounded => Box::new(ScopedL2::<Unbounded, W>::new(index, config, policy)),
                })
            }
            Role::Memory => None,
        }
    }
}

impl ScopedProtocol {
    /// The value of a parameter that the protocol has.
    fn parameter(&self, key: &str, config: &BuildConfig) -> Option<u64> {
        let index = self.declaration.parameters.iter().position(|spec| spec.key == key)?;
        Some(config.parameters.get(index))
    }

    fn l2_policy(&self, config: &BuildConfig) -> L2Policy {
        let policy = self.policy.l2;
        let flag = |key, otherwise| self.parameter(key, config).map_or(otherwise, |value| value != 0);
        L2Policy {
            directory: if flag("ranges", false) { DirectoryKind::Ranges } else { policy.directory },
            write_back: match self.parameter("write_back", config) {
                None => policy.write_back,
                Some(0) => WriteBack::Never,
                Some(1) => WriteBack::AtHome,
                Some(2..) => WriteBack::Everywhere,
            },
            remote_gpus: match self.parameter("remote_caching", config) {
                None | Some(2..) => policy.remote_gpus,
                Some(0 | 1) => RemoteGpus::NotCached,
            },
            downgrades: flag("downgrades", policy.downgrades),
            acquire_spares_home: flag("acquire_spares_home", policy.acquire_spares_home),
            ..policy
        }
    }
}
