//! A compute unit or a CPU core: wavefront slots, work-groups, and the queue of line accesses before its private cache.
//! A CPU core is modelled as a compute unit with a clock of its own and blocking loads.

use chorus_kernel::{Kernel, LANES, SpareStates, WaveId, WaveTask};
use chorus_system::{Core, SystemConfig};

use crate::clock::{Clock, ClockDomains, Ticks};
use crate::coalescer::AccessQueue;
use crate::issue::IssueSlots;
use crate::slab::Slab;

/// A wavefront slot that is in use.
pub struct WaveSlot {
    /// The wavefront that runs here.
    pub task: WaveTask,
    /// The identity of the wavefront.
    pub id: WaveId,
    /// Whether it is a CPU thread.
    pub cpu: bool,
    /// The stream whose kernel it belongs to.
    pub stream: u8,
    /// Its work-group, as a number in [`ComputeUnit::groups`].
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

impl WaveSlot {
    /// A wavefront that has not run yet.
    pub fn new(task: WaveTask, id: WaveId, cpu: bool, stream: u8, group: u32) -> WaveSlot {
        WaveSlot {
            task,
            id,
            cpu,
            stream,
            group,
            loads_in_flight: 0,
            ended: false,
            idle: false,
            at_barrier: false,
            last_operation: "start",
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
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    /// Wavefronts that have not finished.
    pub running: u32,
    /// Wavefronts that wait at the barrier.
    pub at_barrier: u32,
    /// The resources that it holds.
    pub needs: Needs,
}

/// Reasons why the private cache has not accepted the head of an access queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stalled {
    /// The private cache, until a message changes its state.
    Cache,
    /// The network port, until it has sent something.
    Port,
}

/// A compute unit or a CPU core.
pub struct ComputeUnit {
    /// Whether it is a CPU core.
    pub is_cpu: bool,
    /// The clock of the unit and its private cache.
    pub clock: Clock,
    /// Loads and atomics that a wavefront may have in flight.
    pub loads_in_flight_max: u32,
    /// The wavefront slots; empty ones hold nothing.
    pub waves: Vec<Option<WaveSlot>>,
    /// States for wavefronts that start.
    pub spare_states: SpareStates,
    /// Wavefronts of the resident work-groups, finished ones included.
    pub running: u32,
    /// The work-groups that are resident.
    pub groups: Slab<Group>,
    /// Number of resident work-groups.
    pub resident: u32,
    /// Registers that they hold.
    pub registers: u32,
    /// Local data share that they hold.
    pub lds_bytes: u32,
    /// The scheduler that decides which wavefront issues.
    pub slots: IssueSlots,
    /// When the next issue event counts; others are stale.
    pub next_issue: Option<Ticks>,
    /// Accesses that have not completed.
    pub accesses: AccessQueue,
    /// An event will serve the access queue.
    pub access_scheduled: bool,
    /// When each bank of the private cache can take the next access.
    pub bank_free: Vec<Ticks>,
    /// Since when the head of the access queue cannot be accepted, and why.
    pub stalled: Option<(Ticks, Stalled)>,
    /// Wavefronts that wait for room in the access queue.
    pub waiting_for_queue: u64,
    /// Wavefronts that wait for a load to return before they can go on issuing.
    pub waiting_for_loads: u64,
}

impl ComputeUnit {
    /// An idle compute unit or CPU core.
    pub fn new(config: &SystemConfig, clocks: &ClockDomains, is_cpu: bool) -> ComputeUnit {
        let clock = if is_cpu { clocks.cpu } else { clocks.core };
        ComputeUnit {
            is_cpu,
            clock,
            loads_in_flight_max: if is_cpu { 1 } else { config.core.loads_in_flight },
            waves: (0..config.core.wavefronts).map(|_| None).collect(),
            spare_states: SpareStates::default(),
            running: 0,
            groups: Slab::default(),
            resident: 0,
            registers: 0,
            lds_bytes: 0,
            slots: IssueSlots::new(config.core.scheduler, clock),
            next_issue: None,
            accesses: AccessQueue::default(),
            access_scheduled: false,
            bank_free: vec![0; config.l1.banks as usize],
            stalled: None,
            waiting_for_queue: 0,
            waiting_for_loads: 0,
        }
    }

    /// Whether a work-group finds room. A CPU core has wavefront slots for its threads and needs nothing else.
    pub fn fits(&self, core: &Core, needs: Needs) -> bool {
        if self.is_cpu {
            return self.running + needs.waves <= core.wavefronts;
        }
        self.resident < core.work_groups
            && self.running + needs.waves <= core.wavefronts
            && self.registers + needs.registers <= core.registers
            && self.lds_bytes + needs.lds_bytes <= core.lds_bytes
    }

    /// Makes a work-group resident. Returns its number in [`ComputeUnit::groups`].
    pub fn hold(&mut self, needs: Needs) -> u32 {
        self.resident += 1;
        self.running += needs.waves;
        self.registers += needs.registers;
        self.lds_bytes += needs.lds_bytes;
        self.groups.insert(Group { running: needs.waves, at_barrier: 0, needs })
    }

    /// A work-group gives up what it held.
    pub fn free(&mut self, group: u32) {
        let needs = self.groups.get(group).needs;
        self.resident -= 1;
        self.running -= needs.waves;
        self.registers -= needs.registers;
        self.lds_bytes -= needs.lds_bytes;
        self.groups.remove(group);
    }

    /// The bank of the private cache that a line lies in.
    pub fn bank_of(&self, line: u64) -> usize {
        let banks = self.bank_free.len() as u64;
        (if banks.is_power_of_two() { line & (banks - 1) } else { line % banks }) as usize
    }

    /// When the private cache can take the head of the access queue.
    pub fn head_free(&self) -> Ticks {
        let head = self.accesses.front().map_or(0, |id| self.accesses.get(id).line);
        self.bank_free[self.bank_of(head)]
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
