//! Stages: causes that belong together, so that a figure can show where latency goes in a few parts.

use chorus_sim::definitions::Definition;
use chorus_sim::observe::{Cause, Purpose};

use super::stack::{Layer, Stack, Sum};

/// A stage of the way of accesses. Every layer of a stack belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before and in the private cache.
    PrivateCache,
    /// Behind other messages, at ports and links.
    NetworkQueues,
    /// On links and routers.
    Network,
    /// Before and in a shared bank, or a memory-side L3.
    Bank,
    /// At a directory while another transaction had the line, or until a lease ended.
    Directory,
    /// While copies of the line were given up.
    Invalidations,
    /// On the way to memory, in it, and back.
    Memory,
    /// For fences, kernel boundaries and the host.
    Host,
}

impl Stage {
    /// All stages, in the order in which an access meets them.
    pub const ALL: [Stage; 8] = [
        Stage::PrivateCache,
        Stage::NetworkQueues,
        Stage::Network,
        Stage::Bank,
        Stage::Directory,
        Stage::Invalidations,
        Stage::Memory,
        Stage::Host,
    ];

    /// The stage of a layer.
    pub fn of(layer: Layer) -> Stage {
        match layer {
            Layer::Invalidations => Stage::Invalidations,
            Layer::Cause(cause) => match cause {
                Cause::L1Queue
                | Cause::L1Busy
                | Cause::L1Port
                | Cause::StoreBuffer
                | Cause::L1Lookup
                | Cause::Translation => Stage::PrivateCache,
                Cause::NetworkQueue | Cause::LinkQueue | Cause::Ordering => Stage::NetworkQueues,
                Cause::Serialisation | Cause::Network => Stage::Network,
                Cause::BankQueue | Cause::BankPort | Cause::BankMemory | Cause::BankLookup | Cause::L3 => Stage::Bank,
                Cause::Directory | Cause::Timer => Stage::Directory,
                Cause::DramQueue | Cause::Dram | Cause::MemoryWay => Stage::Memory,
                Cause::Page | Cause::FencePrice | Cause::Boundary | Cause::Earlier => Stage::Host,
            },
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Stage::PrivateCache => "L1",
            Stage::NetworkQueues => "network queues",
            Stage::Network => "network",
            Stage::Bank => "L2",
            Stage::Directory => "directory and leases",
            Stage::Invalidations => "invalidations",
            Stage::Memory => "memory",
            Stage::Host => "fences and host",
        }
    }

    /// The key of its metric in runs that are observed.
    pub fn metric(self) -> &'static str {
        match self {
            Stage::PrivateCache => "waited.l1",
            Stage::NetworkQueues => "waited.network_queues",
            Stage::Network => "waited.network",
            Stage::Bank => "waited.l2",
            Stage::Directory => "waited.directory",
            Stage::Invalidations => "waited.invalidations",
            Stage::Memory => "waited.memory",
            Stage::Host => "waited.host",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Stage::PrivateCache => "before and in private caches, with their store buffers and translation units",
            Stage::NetworkQueues => "for ports and links, and for messages that must not be passed",
            Stage::Network => "on links and routers, and for the flits of messages",
            Stage::Bank => "before and in shared banks and a memory-side L3",
            Stage::Directory => "while another transaction had the line, or until a lease ended",
            Stage::Invalidations => "while copies of the line were given up",
            Stage::Memory => "for memory channels, in memory, and on the way there and back",
            Stage::Host => "for the price of fences, for kernel boundaries, and for the placement of pages",
        }
    }

    /// The ticks that all awaited accesses of a stack spent in the stage.
    pub fn ticks(self, stack: &Stack) -> u64 {
        Purpose::AWAITED.map(|purpose| self.ticks_of(&stack.of(purpose))).into_iter().sum()
    }

    /// The ticks that some accesses spent in the stage.
    pub fn ticks_of(self, sum: &Sum) -> u64 {
        sum.layers().filter(|(layer, _)| Stage::of(*layer) == self).map(|(_, time)| time.ticks).sum()
    }
}

/// The metrics of runs that are observed.
pub fn definitions() -> impl Iterator<Item = Definition> {
    Stage::ALL.into_iter().map(|stage| {
        let meaning = format!(
            "latency of loads, atomics, fences and ends of wavefronts {}; only in runs that are observed",
            stage.meaning()
        );
        Definition::new(stage.metric(), "core cycles", &meaning)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_cause_and_a_metric_of_its_own() {
        let layers = Cause::ALL.into_iter().map(Layer::Cause).chain([Layer::Invalidations]);
        let stages: Vec<Stage> = layers.map(Stage::of).collect();
        assert!(Stage::ALL.iter().all(|stage| stages.contains(stage)));
        let mut metrics = Stage::ALL.map(Stage::metric).to_vec();
        metrics.sort_unstable();
        metrics.dedup();
        assert_eq!(metrics.len(), Stage::ALL.len());
    }
}
