//! A scoped protocol: what it declares, and the controllers that its policy and parameters make.

use crate::address::Role;
use crate::controller::Controller;
use crate::directory::{DirectoryKind, LineGroups, RangeEntries, Unbounded};
use crate::protocols::scoped::l1::{Acquire, ScopedL1};
use crate::protocols::scoped::l2::ScopedL2;
use crate::protocols::scoped::policy::{Coherence, L2Policy, Policy, WriteBack};
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
                let drops = self.policy.acquire == Acquire::Nothing && config.parameters.get(0) == 0;
                let acquire = if drops { Acquire::DropsPrivate } else { self.policy.acquire };
                Some(Box::new(ScopedL1::new(index, config, acquire, l1_fault)))
            }
            Role::L2 => {
                let policy = L2Policy { fault: l2_fault, ..with_parameters(self.policy.l2, config) };
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

fn with_parameters(policy: L2Policy, config: &BuildConfig) -> L2Policy {
    match policy.coherence {
        Coherence::Directory => L2Policy {
            write_back: match config.parameters.get(0) {
                0 => WriteBack::Never,
                1 => WriteBack::AtHome,
                2.. => WriteBack::Everywhere,
            },
            downgrades: config.parameters.get(1) != 0,
            ..policy
        },
        Coherence::Acquires => L2Policy { acquire_spares_home: config.parameters.get(0) != 0, ..policy },
        Coherence::None => policy,
    }
}
