//! The resources of a compute unit or a CPU core, and the wavefronts and work-groups that use them.

use std::sync::Arc;

use chorus_kernel::{AnnotationChecker, Kernel, LANES, LocalData, WaveId, WaveTask};
use chorus_protocol::save::{self, Restore, Save};
use chorus_system::Core;

use crate::clock::Ticks;

/// A kernel that units run, with the checker of its annotations where accesses are checked.
pub struct Job {
    /// The number of its name among those of the kernels of the run.
    pub name: u16,
    /// The kernel that it runs.
    pub kernel: Kernel,
    /// The checker of its annotations.
    pub declared: Option<AnnotationChecker>,
}

/// Stores and acquires of a wavefront that its next fence may have to wait for.
#[derive(Clone, Copy, Debug, Default, Save)]
pub struct Since {
    /// Line accesses of stores since the last fence.
    pub stores: u32,
    /// When the last of them was issued.
    pub last_store: Ticks,
    /// Whether it has acquired anything since its last release.
    pub acquired: bool,
}

/// The operation that a wavefront issued last, for observers and for reports of stuck programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum LastOperation {
    Start,
    Load,
    Store,
    Atomic,
    Fence,
    Barrier,
    Arithmetic,
    LocalData,
    Look,
    End,
}

impl LastOperation {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            LastOperation::Start => "start",
            LastOperation::Load => "load",
            LastOperation::Store => "store",
            LastOperation::Atomic => "atomic",
            LastOperation::Fence => "fence",
            LastOperation::Barrier => "barrier",
            LastOperation::Arithmetic => "arithmetic",
            LastOperation::LocalData => "local data",
            LastOperation::Look => "look",
            LastOperation::End => "end of kernel",
        }
    }
}

/// A wavefront slot that is in use.
#[derive(Restore)]
pub struct WaveSlot {
    /// The wavefront that runs here.
    #[save(apart)]
    pub task: WaveTask,
    /// The identity of the wavefront.
    #[save(apart)]
    pub id: WaveId,
    /// The local data share of its work-group.
    #[save(apart)]
    pub lds: LocalData,
    /// The kernel that it runs.
    #[save(apart)]
    pub job: Arc<Job>,
    /// Whether it is a CPU thread.
    #[save(apart)]
    pub cpu: bool,
    /// The stream whose kernel it belongs to.
    #[save(apart)]
    pub stream: u8,
    /// Its work-group, by its number on the unit.
    #[save(apart)]
    pub group: u32,
    /// Load and atomic instructions in flight.
    pub loads_in_flight: u32,
    /// The future has ended.
    pub ended: bool,
    /// Has nothing to issue until something that it awaits happens.
    pub idle: bool,
    /// Waits at a barrier.
    pub at_barrier: bool,
    /// Waits for the end of a fence that the private cache has answered.
    pub at_fence: bool,
    /// The time before which its last fence does not end.
    pub fence_end: Ticks,
    /// The stores and acquires that decide how long its fences take.
    pub since: Since,
    /// The operation issued last, for reports of stuck programs.
    pub last_operation: LastOperation,
    /// The line of the memory operation issued last.
    pub last_line: Option<u64>,
}

impl WaveSlot {
    /// A wavefront that has not run yet.
    pub fn new(
        task: WaveTask,
        id: WaveId,
        lds: LocalData,
        job: Arc<Job>,
        cpu: bool,
        stream: u8,
        group: u32,
    ) -> WaveSlot {
        WaveSlot {
            task,
            id,
            lds,
            job,
            cpu,
            stream,
            group,
            loads_in_flight: 0,
            ended: false,
            idle: false,
            at_barrier: false,
            at_fence: false,
            fence_end: 0,
            since: Since::default(),
            last_operation: LastOperation::Start,
            last_line: None,
        }
    }
}

/// Resources of a compute unit that a work-group holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Needs {
    /// Number of wavefront slots.
    pub waves: u32,
    /// 32-bit registers of all its work-items.
    pub registers: u32,
    /// Bytes of the local data share.
    pub lds_bytes: u32,
}

impl Needs {
    /// A CPU thread takes a wavefront of 16 registers per lane.
    pub const CPU_THREAD: Needs = Needs { waves: 1, registers: 16 * LANES as u32, lds_bytes: 0 };

    /// The resources that a work-group of `kernel` takes.
    pub fn of_group(kernel: &Kernel) -> Needs {
        Needs { waves: kernel.waves_per_group, registers: kernel.registers_per_group(), lds_bytes: kernel.lds_bytes }
    }
}

/// A resident work-group, or a CPU thread that counts as one.
#[derive(Clone, Copy, Debug, Default, Save)]
pub struct Group {
    /// Wavefronts that have not finished.
    pub running: u32,
    /// Wavefronts that wait at the barrier.
    pub at_barrier: u32,
}

/// Reasons why the private cache has not accepted the head of an access queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Stalled {
    /// The private cache, until a message changes its state.
    Cache,
    /// The network port, until it has sent something.
    Port,
    /// The page of the line, until the host has placed it.
    Page,
}

/// The resources of a compute unit or a CPU core that are in use.
#[derive(Clone, Copy, Debug, Default, Save)]
pub struct Occupancy {
    /// Wavefronts of the resident work-groups, finished ones included.
    waves: u32,
    /// Number of resident work-groups.
    groups: u32,
    /// Registers that they hold.
    registers: u32,
    /// Local data share that they hold.
    lds_bytes: u32,
}

impl Occupancy {
    /// Whether a work-group finds room. A CPU core has wavefront slots for its threads and needs nothing else.
    pub fn fits(&self, core: &Core, is_cpu: bool, needs: Needs) -> bool {
        if is_cpu {
            return self.waves + needs.waves <= core.wavefronts;
        }
        self.groups < core.work_groups
            && self.waves + needs.waves <= core.wavefronts
            && self.registers + needs.registers <= core.registers
            && self.lds_bytes + needs.lds_bytes <= core.lds_bytes
    }

    /// Makes a work-group resident.
    pub fn hold(&mut self, needs: Needs) {
        self.groups += 1;
        self.waves += needs.waves;
        self.registers += needs.registers;
        self.lds_bytes += needs.lds_bytes;
    }

    /// A work-group gives up what it held.
    pub fn free(&mut self, needs: Needs) {
        self.groups -= 1;
        self.waves -= needs.waves;
        self.registers -= needs.registers;
        self.lds_bytes -= needs.lds_bytes;
    }
}
