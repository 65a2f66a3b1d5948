//! A compute unit: wavefront slots, work-groups, and the queue of line accesses before its private cache.

use chorus_system::SystemConfig;

use crate::clock::{ClockDomains, Ticks};
use crate::coalescer::AccessQueue;
use crate::frontend::{Kernel, WaveId, WaveTask};
use crate::issue::IssueSlots;
use crate::slab::Slab;

/// A wavefront slot.
pub struct WaveSlot {
    /// The wavefront that runs here.
    pub task: WaveTask,
    /// Which it is.
    pub id: WaveId,
    /// The stream whose kernel it belongs to.
    pub stream: u8,
    /// Its work-group, as a name in [`ComputeUnit::groups`].
    pub group: u32,
    /// Load and atomic instructions in flight.
    pub loads_in_flight: u32,
    /// The future has ended.
    pub ended: bool,
    /// Has nothing to issue until something that it awaits happens.
    pub idle: bool,
    /// Waits at a barrier.
    pub at_barrier: bool,
    /// The operation issued last, for reports of stuck programs.
    pub last_operation: &'static str,
    /// The line of the memory operation issued last.
    pub last_line: Option<u64>,
}

/// A resident work-group.
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    /// Wavefronts that have not finished.
    pub running: u32,
    /// Wavefronts that wait at the barrier.
    pub at_barrier: u32,
}

/// What holds up the head of an access queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stalled {
    /// The private cache, until a message changes its state.
    Cache,
    /// The network port, until it has sent something.
    Port,
}

/// A compute unit.
pub struct ComputeUnit {
    /// Wavefront slots.
    pub waves: Vec<Option<WaveSlot>>,
    /// Wavefronts of the resident work-groups, finished ones included.
    pub running: u32,
    /// Resident work-groups.
    pub groups: Slab<Group>,
    /// Number of resident work-groups.
    pub resident: u32,
    /// Registers that they hold.
    pub registers: u32,
    /// Local data share that they hold.
    pub lds_bytes: u32,
    /// Who issues when.
    pub slots: IssueSlots,
    /// When the next issue event counts; others are stale.
    pub next_issue: Option<Ticks>,
    /// Accesses that have not completed.
    pub accesses: AccessQueue,
    /// An event will serve the access queue.
    pub access_scheduled: bool,
    /// When the private cache can take the next access.
    pub access_free: Ticks,
    /// Since when the head of the access queue cannot be accepted, and why.
    pub stalled: Option<(Ticks, Stalled)>,
    /// Wavefronts that wait for room in the access queue.
    pub waiting_for_queue: u64,
    /// Wavefronts that wait for a load to return before they can go on issuing.
    pub waiting_for_loads: u64,
}

impl ComputeUnit {
    /// An idle compute unit.
    pub fn new(config: &SystemConfig, clocks: &ClockDomains) -> ComputeUnit {
        ComputeUnit {
            waves: (0..config.core.wavefronts).map(|_| None).collect(),
            running: 0,
            groups: Slab::default(),
            resident: 0,
            registers: 0,
            lds_bytes: 0,
            slots: IssueSlots::new(config.core.scheduler, clocks.core),
            next_issue: None,
            accesses: AccessQueue::default(),
            access_scheduled: false,
            access_free: 0,
            stalled: None,
            waiting_for_queue: 0,
            waiting_for_loads: 0,
        }
    }

    /// A work-group of `kernel` becomes resident.
    pub fn hold(&mut self, kernel: &Kernel) {
        self.resident += 1;
        self.running += kernel.waves_per_group;
        self.registers += kernel.registers_per_group();
        self.lds_bytes += kernel.lds_bytes;
    }

    /// A work-group of `kernel` gives up what it held.
    pub fn free(&mut self, kernel: &Kernel) {
        self.resident -= 1;
        self.running -= kernel.waves_per_group;
        self.registers -= kernel.registers_per_group();
        self.lds_bytes -= kernel.lds_bytes;
    }

    /// The head of the access queue cannot be accepted.
    pub fn stall(&mut self, now: Ticks, why: Stalled) {
        let since = self.stalled.map_or(now, |(since, _)| since);
        self.stalled = Some((since, why));
    }

    /// The wavefront in a slot.
    pub fn wave(&mut self, wave: usize) -> &mut WaveSlot {
        self.waves[wave].as_mut().expect("events name only occupied wavefront slots")
    }
}
