//! Kernels, and the host programs that launch them.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use chorus_protocol::save::{self, Damaged, Reader, Save};
use chorus_system::AtomicOrder;

use crate::annotation::{AccessMode, Annotation, Share};
use crate::costs::InstructionCosts;
use crate::cpu::Cpu;
use crate::lanes::LANES;
use crate::local_data::LocalData;
use crate::memory::{Buf, HostMemory};
use crate::source::WaveSource;
use crate::wave::Wave;

/// The identity of a wavefront within a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub struct WaveId {
    /// Work-group within the launch.
    pub work_group: u32,
    /// Wavefront within the work-group.
    pub wave: u32,
    /// Wavefronts of each work-group.
    pub waves_per_group: u32,
    /// Work-groups of the launch.
    pub work_groups: u32,
    /// The GPU that it runs on.
    pub gpu: u32,
    /// GPUs of the machine.
    pub gpus: u32,
}

/// The facts that a source knows of its wavefront when it starts.
#[derive(Clone, Debug)]
pub struct WaveStart {
    /// The identity of the wavefront.
    pub id: WaveId,
    /// The local data share of its work-group.
    pub local_data: LocalData,
    /// The accesses that atomics order on this machine, besides themselves.
    pub atomic_order: AtomicOrder,
    /// The costs of instructions, on machines on which they wait for each other's results.
    pub costs: Option<Arc<InstructionCosts>>,
}

/// State that the wavefronts of a launch share beside memory and local data, such as the text that they have printed.
pub trait LaunchState: Send + Sync {
    /// Appends everything that wavefronts have left there.
    fn keep(&self, to: &mut Vec<u8>);

    /// Takes over the state of the same launch.
    fn restore(&self, from: &mut Reader<'_>) -> Result<(), Damaged>;
}

type Body = dyn Fn(Wave) -> Pin<Box<dyn WaveSource>> + Send + Sync;
type CpuBody = dyn Fn(Cpu) -> Pin<Box<dyn WaveSource>> + Send + Sync;

/// One launch: a grid of work-groups that all run the same async function, and CPU threads that run another one beside
/// them.
pub struct Kernel {
    /// The name in statistics and messages.
    pub name: String,
    /// Work-groups of the launch.
    pub work_groups: u32,
    /// Wavefronts of each work-group.
    pub waves_per_group: u32,
    /// Registers of each work-item, for occupancy.
    pub registers_per_item: u32,
    /// Local data share of each work-group.
    pub lds_bytes: u32,
    /// Annotations of the buffers that it accesses. A kernel without annotations may access any buffer.
    pub annotations: Vec<Annotation>,
    body: Box<Body>,
    /// CPU threads that start together with the work-groups.
    cpu_threads: u32,
    cpu_body: Option<Box<CpuBody>>,
    state: Option<Arc<dyn LaunchState>>,
}

impl Kernel {
    /// A launch of `body` with 16 registers per work-item and no local data share.
    pub fn new<F: Future<Output = ()> + 'static>(
        name: impl Into<String>,
        work_groups: u32,
        waves_per_group: u32,
        body: impl Fn(Wave) -> F + Send + Sync + 'static,
    ) -> Kernel {
        Kernel::with_body(name.into(), work_groups, waves_per_group, Box::new(move |wave| Box::pin(body(wave))))
    }

    /// A launch of wavefronts whose operations come from the sources that `start` makes.
    pub fn of_sources<S: WaveSource + 'static>(
        name: impl Into<String>,
        work_groups: u32,
        waves_per_group: u32,
        start: impl Fn(WaveStart) -> S + Send + Sync + 'static,
    ) -> Kernel {
        let body: Box<Body> = Box::new(move |wave| Box::pin(start(wave.into_start())));
        Kernel::with_body(name.into(), work_groups, waves_per_group, body)
    }

    fn with_body(name: String, work_groups: u32, waves_per_group: u32, body: Box<Body>) -> Kernel {
        Kernel {
            name,
            work_groups,
            waves_per_group,
            registers_per_item: 16,
            lds_bytes: 0,
            annotations: Vec::new(),
            body,
            cpu_threads: 0,
            cpu_body: None,
            state: None,
        }
    }

    /// Tells of state that the wavefronts share.
    pub fn with_state(mut self, state: Arc<dyn LaunchState>) -> Kernel {
        self.state = Some(state);
        self
    }

    /// Appends the state that the wavefronts share.
    pub fn keep_state(&self, to: &mut Vec<u8>) {
        self.state.iter().for_each(|state| state.keep(to));
    }

    /// Takes over the state that the wavefronts of the same launch share.
    pub fn restore_state(&self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.state.iter().try_for_each(|state| state.restore(from))
    }

    /// Sets the number of registers per work-item.
    pub fn registers(mut self, registers_per_item: u32) -> Kernel {
        self.registers_per_item = registers_per_item;
        self
    }

    /// Sets the size of the local data share per work-group.
    pub fn lds(mut self, bytes: u32) -> Kernel {
        self.lds_bytes = bytes;
        self
    }

    /// Adds the annotation that the kernel accesses all of a buffer.
    pub fn access<T>(mut self, buf: Buf<T>, mode: AccessMode) -> Kernel {
        self.annotations.push(Annotation::whole(buf, mode));
        self
    }

    /// Adds the annotation that each chiplet accesses those elements of a buffer that `parts` names for it.
    pub fn access_parts<T>(
        mut self,
        buf: Buf<T>,
        mode: AccessMode,
        parts: impl Fn(Share) -> Vec<Range<usize>> + Send + Sync + 'static,
    ) -> Kernel {
        self.annotations.push(Annotation::parts(buf, mode, parts));
        self
    }

    /// Adds CPU threads that start together with the work-groups. The launch is over when they have ended too.
    pub fn with_cpu<F: Future<Output = ()> + 'static>(
        mut self,
        threads: u32,
        body: impl Fn(Cpu) -> F + Send + Sync + 'static,
    ) -> Kernel {
        self.cpu_threads = threads;
        self.cpu_body = Some(Box::new(move |cpu| Box::pin(body(cpu))));
        self
    }

    /// The launch with a source around that of each wavefront, which sees all that the inner one asks for. CPU threads
    /// are as before.
    pub fn wrapped<S: WaveSource + 'static>(
        self,
        wrap: impl Fn(WaveId, Pin<Box<dyn WaveSource>>) -> S + Send + Sync + 'static,
    ) -> Kernel {
        let inner = self.body;
        let body: Box<Body> = Box::new(move |wave| {
            let id = wave.id();
            Box::pin(wrap(id, inner(wave)))
        });
        Kernel { body, ..self }
    }

    /// CPU threads that start together with the work-groups.
    pub fn cpu_threads(&self) -> u32 {
        self.cpu_threads
    }

    /// The annotations that a command processor can rely on. There are none where CPU threads may access other data.
    pub fn declares(&self) -> &[Annotation] {
        if self.cpu_threads > 0 { &[] } else { &self.annotations }
    }

    /// Registers of a work-group.
    pub fn registers_per_group(&self) -> u32 {
        self.waves_per_group * LANES as u32 * self.registers_per_item
    }

    /// The source of one wavefront.
    pub(crate) fn start(&self, wave: Wave) -> Pin<Box<dyn WaveSource>> {
        (self.body)(wave)
    }

    /// The source of one CPU thread.
    pub(crate) fn start_cpu(&self, cpu: Cpu) -> Pin<Box<dyn WaveSource>> {
        match &self.cpu_body {
            Some(body) => body(cpu),
            None => Box::pin(std::future::ready(())),
        }
    }
}

/// Threads share kernels, and each makes the futures of the wavefronts that it runs.
const _: () = {
    const fn assert_shared<T: Send + Sync>() {}
    assert_shared::<Kernel>();
    assert_shared::<HostMemory>();
};

/// The reason why a result is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(pub String);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The verdict on the result of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a wrong result is not a measurement"]
pub enum Verdict {
    /// The result equals the reference.
    Checked,
    /// The program has no reference, so nobody knows whether its result is right.
    Unchecked,
    /// The result is wrong.
    Wrong(Mismatch),
}

impl Verdict {
    /// The verdict on two programs together: the worse one of both, where a wrong result is worst.
    pub fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Wrong(mismatch), _) | (_, Verdict::Wrong(mismatch)) => Verdict::Wrong(mismatch),
            (Verdict::Unchecked, _) | (_, Verdict::Unchecked) => Verdict::Unchecked,
            (Verdict::Checked, Verdict::Checked) => Verdict::Checked,
        }
    }

    /// An error for a wrong result. A result that nobody checked is none.
    pub fn not_wrong(self) -> Result<(), Mismatch> {
        match self {
            Verdict::Checked | Verdict::Unchecked => Ok(()),
            Verdict::Wrong(mismatch) => Err(mismatch),
        }
    }

    /// Whether the result is wrong.
    pub fn is_wrong(&self) -> bool {
        matches!(self, Verdict::Wrong(_))
    }
}

impl From<Result<(), Mismatch>> for Verdict {
    /// The verdict of a comparison with a reference.
    fn from(compared: Result<(), Mismatch>) -> Verdict {
        compared.map_or_else(Verdict::Wrong, |()| Verdict::Checked)
    }
}

/// A host program: the source of launches, one after the other. It may know what the result must be.
pub trait Program {
    /// The next launch, or nothing when the program is finished. Memory is as the last kernel left it.
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel>;

    /// The number of launches of the whole program, if it is known before the first one.
    fn kernels(&self) -> Option<usize> {
        None
    }

    /// Compares the result with a host reference, if the program has one.
    fn check(&self, memory: &HostMemory) -> Verdict;

    /// Numbers that the program has measured about itself and left in memory, by name.
    fn readings(&self, _memory: &HostMemory) -> Vec<(String, Vec<f64>)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_run_together_are_as_good_as_the_worst_of_them() {
        let wrong = || Verdict::Wrong(Mismatch("x is 1 instead of 2".to_owned()));
        assert_eq!(Verdict::Checked.and(Verdict::Checked), Verdict::Checked);
        assert_eq!(Verdict::Checked.and(Verdict::Unchecked), Verdict::Unchecked);
        assert_eq!(Verdict::Unchecked.and(wrong()), wrong());
        assert_eq!(wrong().and(Verdict::Checked), wrong());
        assert!(wrong().not_wrong().is_err() && Verdict::Unchecked.not_wrong().is_ok());
    }
}
