//! The size of a machine that is explored, in every dimension in which machines differ.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{MachineConfig, ThreadSpec};
use crate::program::{Op, Step};

/// The size of a machine and of its threads' programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MachineSize {
    /// The number of GPUs.
    pub gpus: usize,
    /// The number of modules of each GPU.
    pub modules: usize,
    /// The number of shared banks of each module.
    pub banks: usize,
    /// The number of private caches that have threads.
    pub caches: usize,
    /// The number of those caches that belong to CPU cores.
    pub cpus: usize,
    /// The number of threads.
    pub threads: usize,
    /// The number of lines that some thread may access.
    pub lines: usize,
    /// The largest number of words that threads may access in one line.
    pub words: usize,
    /// The number of operations of the longest thread: accesses and fences of the program itself.
    pub operations: usize,
}

impl MachineSize {
    /// The size of a machine.
    pub fn of(machine: &MachineConfig) -> MachineSize {
        let topology = machine.topology;
        let (caches, words) = (machine.caches_used(), words_of_lines(machine));
        MachineSize {
            gpus: topology.gpus.into(),
            modules: topology.gpms.into(),
            banks: topology.banks_per_module().into(),
            caches: caches.len(),
            cpus: caches.iter().filter(|&&cache| topology.is_cpu(cache)).count(),
            threads: machine.threads.len(),
            lines: words.len(),
            words: words.values().map(BTreeSet::len).max().unwrap_or(0),
            operations: machine.threads.iter().map(operations).max().unwrap_or(0),
        }
    }

    /// Whether this machine is at least as large as another in every dimension. Private caches of compute units and of
    /// CPU cores are dimensions of their own.
    pub fn is_at_least(&self, other: &MachineSize) -> bool {
        self.dimensions().iter().zip(other.dimensions()).all(|(here, there)| *here >= there)
    }

    fn dimensions(&self) -> [usize; 9] {
        let MachineSize { gpus, modules, banks, caches, cpus, threads, lines, words, operations } = *self;
        [gpus, modules, banks, caches - cpus, cpus, threads, lines, words, operations]
    }
}

/// The words that threads may access, by line.
fn words_of_lines(machine: &MachineConfig) -> BTreeMap<u8, BTreeSet<u8>> {
    let steps = machine.threads.iter().flat_map(|thread| &thread.steps);
    let mut words: BTreeMap<u8, BTreeSet<u8>> = BTreeMap::new();
    for at in steps.flat_map(|step| &step.alternatives).filter_map(Op::words).flat_map(|at| at.iter()) {
        words.entry(at.line).or_default().insert(at.word);
    }
    words
}

/// The number of operations that a thread's program has itself.
fn operations(thread: &ThreadSpec) -> usize {
    let is_operation = |step: &&Step| !step.implied && step.alternatives.iter().any(is_access_or_fence);
    thread.steps.iter().filter(is_operation).count()
}

fn is_access_or_fence(op: &Op) -> bool {
    match op {
        Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Fence { .. } => true,
        Op::Barrier { .. } | Op::Kernel(_) | Op::Command { .. } | Op::Settle => false,
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::access::{Order, Scope};
    use chorus_protocol::registry::{Protocol, find};

    use super::*;
    use crate::config::{MachineConfig, place_threads};
    use crate::shape::Shape;
    use crate::words::Words;

    fn protocol(name: &str) -> &'static dyn Protocol {
        find(name).expect("a protocol of this name")
    }

    fn size(of: &str, shape: &str) -> MachineSize {
        let shape: Shape = shape.parse().expect("a shape");
        MachineSize::of(&shape.machine(protocol(of)).expect("a machine"))
    }

    #[test]
    fn a_machine_has_the_size_that_was_asked_for() {
        let size = size("hmg", "gpus=2,modules=3,banks=2,caches=4,threads=5,lines=2,words=2,operations=3");
        let expected = MachineSize {
            gpus: 2,
            modules: 3,
            banks: 2,
            caches: 4,
            cpus: 0,
            threads: 5,
            lines: 2,
            words: 2,
            operations: 3,
        };
        assert_eq!(size, expected);
    }

    #[test]
    fn implied_fences_and_kernels_are_no_operations() {
        let load = Step::fixed(Op::Load { at: Words::one(0, 1), order: Order::Weak, scope: Scope::System });
        let kernels = Step::next_kernel();
        let steps: Vec<Step> = [load.clone()].into_iter().chain(kernels).chain([load]).collect();
        let machine = MachineConfig { threads: place_threads(&[0], [steps]), ..MachineConfig::for_steps(&[0], 1, []) };
        let size = MachineSize::of(&machine);
        assert_eq!((size.operations, size.lines, size.words), (2, 1, 1));
    }

    #[test]
    fn a_machine_is_at_least_as_large_only_if_no_dimension_is_smaller() {
        let [small, long, wide] = ["caches=2", "caches=2,operations=2", "caches=3"].map(|text| size("gpu-vi", text));
        assert!(small.is_at_least(&small) && long.is_at_least(&small) && wide.is_at_least(&small));
        assert!(!small.is_at_least(&long) && !long.is_at_least(&wide) && !wide.is_at_least(&long));
        let cores = size("smg", "caches=3,cpus=2");
        assert!(!cores.is_at_least(&size("smg", "caches=2")), "there is one compute unit");
    }
}
