//! The queue between a wavefront's source and the compute unit that runs it.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::prefetch::prefetch;
use chorus_protocol::save::{self, Damaged, Reader, Save};
use chorus_system::{AtomicOrder, SystemConfig};

use crate::costs::InstructionCosts;
use crate::cpu::Cpu;
use crate::kernel::{Kernel, WaveId};
use crate::lanes::{LANES, Mask};
use crate::local_data::LocalData;
use crate::memory_op::{Instruction, LaneAccess, MemoryOp, Progress, assert_inside, assert_row_inside, row_of};
use crate::source::WaveSource;
use crate::wave::Wave;

/// One entry of a wavefront's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub enum Operation {
    /// That many arithmetic instructions.
    Alu(u32),
    /// The memory instruction in this slot.
    Memory(u16),
    /// Waits for the wavefront's earlier operations, as far as the protocol says.
    Fence {
        /// Acquire: later operations stay behind it. Release: earlier ones stay before it.
        order: Order,
        /// The scope within which it orders operations.
        scope: Scope,
    },
    /// The ordering of accesses that belongs to a barrier: a fence of the work-group's scope that costs nothing more.
    BarrierFence,
    /// Waits for the other wavefronts of the work-group.
    Barrier,
    /// That many accesses of the local data share.
    Lds(u32),
    /// Asks when and where the wavefront is.
    Look,
    /// Arithmetic instructions of which some wait for the results of others. What comes behind them waits, too.
    Chain {
        /// Issue slots that they take.
        slots: u32,
        /// Core cycles that they take at least, from the first of them to what comes behind them.
        cycles: u32,
    },
    /// An access of the local data share that takes its banks for so many cycles. The wavefront goes on at once: its
    /// source knows when the result is there.
    Banks(u32),
}

/// When and where a wavefront is, as the machine sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub struct Surroundings {
    /// The cycle of the core's clock. On the flat machine, the operations that the wavefront has issued.
    pub cycle: u64,
    /// The time in nanoseconds.
    pub nanoseconds: u64,
    /// The number of the compute unit among all of the machine.
    pub unit: u32,
    /// The number of compute units of the machine.
    pub units: u32,
}

/// Ends the list of free slots.
const NO_SLOT: u16 = u16::MAX;

/// The state that a wavefront's source and its compute unit share.
#[derive(Debug, Save)]
pub struct WaveState {
    /// Operations in order. Those before `next` have been taken out. The source runs only when all have been, so they
    /// are removed together.
    queue: Vec<Operation>,
    next: usize,
    slots: Vec<MemoryOp>,
    /// The first of the free slots. Each names the next one.
    free: u16,
    /// Results and events that the future cannot go on without.
    awaiting: u32,
    /// Fences, barriers and looks passed, and asked for by the future.
    passed: u32,
    requested: u32,
    /// The fence, barrier or look that the future waits for.
    awaited_ticket: Option<u32>,
    /// The answer to the last look.
    surroundings: Surroundings,
}

impl Default for WaveState {
    fn default() -> WaveState {
        WaveState {
            queue: Vec::new(),
            next: 0,
            slots: Vec::new(),
            free: NO_SLOT,
            awaiting: 0,
            passed: 0,
            requested: 0,
            awaited_ticket: None,
            surroundings: Surroundings::default(),
        }
    }
}

impl WaveState {
    /// The next operation to issue.
    #[inline]
    pub fn front(&self) -> Option<Operation> {
        self.queue.get(self.next).copied()
    }

    /// The operations that have not been issued, the next one first.
    pub fn queued(&self) -> &[Operation] {
        &self.queue[self.next..]
    }

    /// The slots that no memory instruction is in.
    pub fn free_slots(&self) -> impl Iterator<Item = u16> {
        let next = |&slot: &u16| Some(self.slots[usize::from(slot)].next_free).filter(|&next| next != NO_SLOT);
        std::iter::successors(Some(self.free).filter(|&first| first != NO_SLOT), next)
    }

    /// Takes the next operation out.
    #[inline]
    pub fn pop(&mut self) {
        self.next += 1;
        if self.next >= self.queue.len() {
            self.queue.clear();
            self.next = 0;
        }
    }

    /// Takes out the arithmetic instructions that come before the next operation. Returns how many there are, or
    /// nothing if the queue is empty.
    #[inline]
    pub fn take_alu(&mut self) -> Option<u32> {
        let &operation = self.queue.get(self.next)?;
        let Operation::Alu(count) = operation else { return Some(0) };
        self.pop();
        Some(count)
    }

    /// The memory instruction in a slot.
    #[inline]
    pub fn memory_op(&self, slot: u16) -> &MemoryOp {
        &self.slots[usize::from(slot)]
    }

    /// The memory instruction in a slot, mutably.
    #[inline]
    pub fn memory_op_mut(&mut self, slot: u16) -> &mut MemoryOp {
        &mut self.slots[usize::from(slot)]
    }

    /// Asks the host for the next operation, or for the memory instruction in a slot.
    pub fn read_ahead(&self, slot: Option<u16>) {
        match slot {
            Some(slot) => self.slots.get(usize::from(slot)).into_iter().for_each(prefetch),
            None => self.queued().first().into_iter().for_each(prefetch),
        }
    }

    /// A memory instruction has all its values. Returns whether the future can go on.
    #[inline]
    pub fn complete_memory(&mut self, slot: u16) -> bool {
        let op = &mut self.slots[usize::from(slot)];
        match std::mem::replace(&mut op.progress, Progress::Done) {
            Progress::Pending | Progress::Done => false,
            Progress::Abandoned => {
                self.release(slot);
                false
            }
            Progress::Awaited => {
                self.awaiting -= 1;
                self.awaiting == 0
            }
        }
    }

    /// A fence, a barrier or a look is passed. Returns whether the future can go on.
    #[inline]
    pub fn pass(&mut self) -> bool {
        self.passed += 1;
        if self.awaited_ticket.is_none_or(|ticket| self.passed < ticket) {
            return false;
        }
        self.awaited_ticket = None;
        self.awaiting -= 1;
        self.awaiting == 0
    }

    /// Answers [`Operation::Look`], which is passed by that. Returns whether the future can go on.
    pub fn see(&mut self, surroundings: Surroundings) -> bool {
        self.surroundings = surroundings;
        self.pass()
    }

    /// The answer to the last look: when and where the wavefront was.
    pub fn surroundings(&self) -> Surroundings {
        self.surroundings
    }

    /// Whether the future waits for something that has not happened.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.awaiting > 0
    }

    /// Makes the state that of a wavefront that has not begun. Every slot is free, the first one first.
    fn clear(&mut self) {
        let WaveState { queue, slots, .. } = std::mem::take(self);
        *self = WaveState { queue, slots, ..WaveState::default() };
        self.queue.clear();
        (0..self.slots.len() as u16).rev().for_each(|slot| self.release(slot));
    }

    /// Queues an operation that nobody waits for: arithmetic, or an access of the local data share. No arithmetic at
    /// all is no operation.
    #[inline]
    pub fn push(&mut self, operation: Operation) {
        if operation != Operation::Alu(0) {
            self.queue.push(operation);
        }
    }

    /// Queues a memory instruction on the elements `index` of a buffer of `len` words that begins at word `start`.
    /// Returns its slot, which gets the data of a store or an atomic. Stops a kernel that reaches outside the buffer.
    /// This is always inlined, so that the compiler tells rows from other indices where it can.
    #[inline(always)]
    pub fn access(&mut self, instruction: Instruction, start: u32, len: usize, index: &[u32; LANES]) -> u16 {
        match row_of(instruction.mask, index) {
            Some(first) => self.access_row(instruction, start, len, first),
            None => self.access_words(instruction, start, len, index),
        }
    }

    /// Queues a memory instruction of all lanes like [`WaveState::access`], on the row of elements from `first` on.
    pub fn access_row(&mut self, instruction: Instruction, start: u32, len: usize, first: u32) -> u16 {
        debug_assert_eq!(instruction.mask, Mask::ALL, "a row is of all lanes");
        if first as usize + LANES > len {
            assert_row_inside(first, len);
        }
        let (slot, op) = self.queue_memory(instruction);
        op.set_row(start + first);
        slot
    }

    fn access_words(&mut self, instruction: Instruction, start: u32, len: usize, index: &[u32; LANES]) -> u16 {
        assert_inside(instruction.mask, index, len);
        let (slot, op) = self.queue_memory(instruction);
        op.set_words(start, index);
        slot
    }

    /// Queues a memory instruction whose lanes may touch several words or parts of words. Returns its slot, which gets
    /// the data of a store or an atomic in [`MemoryOp::values_mut`]. The caller has checked the addresses.
    pub fn access_lanes(&mut self, access: LaneAccess<'_>) -> u16 {
        let (slot, op) = self.queue_memory(access.instruction);
        op.set_lanes(&access);
        slot
    }

    /// Queues a memory instruction whose words are set next. Returns its slot and what lies there.
    #[inline]
    fn queue_memory(&mut self, instruction: Instruction) -> (u16, &mut MemoryOp) {
        if self.free == NO_SLOT {
            self.add_slot();
        }
        let slot = self.free;
        self.queue.push(Operation::Memory(slot));
        let op = &mut self.slots[usize::from(slot)];
        self.free = op.next_free;
        op.begin(instruction);
        (slot, op)
    }

    /// Adds a free slot where there is none. There are twice as many when they run out, beginning with one, since slots
    /// are most of the memory of a wavefront.
    #[cold]
    fn add_slot(&mut self) {
        let count = self.slots.len();
        if count == self.slots.capacity() {
            self.slots.reserve_exact(count.max(1));
        }
        self.slots.push(MemoryOp::default());
        self.release(count as u16);
    }

    /// Makes a slot free.
    #[inline]
    fn release(&mut self, slot: u16) {
        self.slots[usize::from(slot)].next_free = self.free;
        self.free = slot;
    }

    /// Whether an instruction has all its values; notes that the future waits for them if not.
    #[inline]
    pub fn is_ready(&mut self, slot: u16) -> bool {
        let op = &mut self.slots[usize::from(slot)];
        if op.progress == Progress::Pending {
            op.progress = Progress::Awaited;
            self.awaiting += 1;
        }
        op.progress == Progress::Done
    }

    /// The values of a finished instruction, whose slot is free from now on.
    #[inline]
    pub fn take_result(&mut self, slot: u16) -> &[u32; LANES] {
        let op = &mut self.slots[usize::from(slot)];
        op.next_free = self.free;
        self.free = slot;
        &op.data
    }

    /// Frees the slot of a finished instruction, whose values have been read.
    #[inline]
    pub fn finish(&mut self, slot: u16) {
        debug_assert_eq!(self.slots[usize::from(slot)].progress, Progress::Done, "only a finished instruction ends");
        self.release(slot);
    }

    /// Nobody will ask for the values of this instruction.
    pub fn abandon(&mut self, slot: u16) {
        let op = &mut self.slots[usize::from(slot)];
        match std::mem::replace(&mut op.progress, Progress::Abandoned) {
            Progress::Pending | Progress::Abandoned => {}
            Progress::Awaited => self.awaiting -= 1,
            Progress::Done => self.release(slot),
        }
    }

    /// Queues a fence, a barrier or a look. Returns the number to wait for.
    pub fn request(&mut self, operation: Operation) -> u32 {
        self.push(operation);
        self.requested += 1;
        self.requested
    }

    /// Whether the fence, barrier or look with number `ticket` is passed; notes that the future waits for it if not.
    pub fn has_passed(&mut self, ticket: u32) -> bool {
        if self.passed >= ticket {
            return true;
        }
        if self.awaited_ticket.is_none() {
            self.awaiting += 1;
        }
        self.awaited_ticket = Some(ticket);
        false
    }
}

/// The facts about a machine that its wavefronts know.
#[derive(Clone, Debug)]
pub struct WaveMachine {
    /// The accesses that atomics order, besides themselves.
    pub atomic_order: AtomicOrder,
    /// The costs of instructions, where they wait for each other's results.
    pub costs: Option<Arc<InstructionCosts>>,
}

impl WaveMachine {
    /// The facts about a machine of this description.
    pub fn of(config: &SystemConfig) -> WaveMachine {
        WaveMachine { atomic_order: config.core.atomic_order, costs: InstructionCosts::of(config).map(Arc::new) }
    }

    /// The facts about a machine without time.
    pub fn without_time() -> WaveMachine {
        WaveMachine { atomic_order: AtomicOrder::Relaxed, costs: None }
    }
}

/// States of wavefronts that have ended. Wavefronts that start take them over with the memory that they hold, since
/// starts are frequent and allocating anew costs more than starting.
#[derive(Debug, Default)]
pub struct SpareStates(Vec<Rc<RefCell<WaveState>>>);

impl SpareStates {
    /// A state without operations.
    fn take(&mut self) -> Rc<RefCell<WaveState>> {
        self.0.pop().unwrap_or_default()
    }

    /// Takes back the state of a wavefront that has ended.
    pub fn give_back(&mut self, task: WaveTask) {
        let WaveTask { source, mut state, .. } = task;
        // A future holds the state as well.
        drop(source);
        if let Some(unshared) = Rc::get_mut(&mut state) {
            unshared.get_mut().clear();
            self.0.push(state);
        }
    }
}

/// A running wavefront: its source and the state that the source shares with the driver.
pub struct WaveTask {
    source: Pin<Box<dyn WaveSource>>,
    state: Rc<RefCell<WaveState>>,
    ended: bool,
}

impl WaveTask {
    /// Starts a wavefront of `kernel`; `lds` is the local data share of its work-group.
    pub fn start(
        kernel: &Kernel,
        id: WaveId,
        lds: LocalData,
        machine: &WaveMachine,
        spare: &mut SpareStates,
    ) -> WaveTask {
        let state = spare.take();
        let wave = Wave::new(id, Rc::clone(&state), lds, machine);
        WaveTask { source: kernel.start(wave), state, ended: false }
    }

    /// Starts a CPU thread of `kernel`. Returns it with the wavefront that it counts as: the only one of work-group
    /// `thread`, of as many work-groups as there are threads.
    pub fn start_cpu(
        kernel: &Kernel,
        thread: u32,
        machine: &WaveMachine,
        spare: &mut SpareStates,
    ) -> (WaveTask, WaveId) {
        let state = spare.take();
        let work_groups = kernel.cpu_threads();
        let id = WaveId { work_group: thread, wave: 0, waves_per_group: 1, work_groups, gpu: 0, gpus: 1 };
        let cpu = Cpu::new(Wave::new(id, Rc::clone(&state), LocalData::default(), machine));
        (WaveTask { source: kernel.start_cpu(cpu), state, ended: false }, id)
    }

    /// Runs the source until it waits or ends; returns whether it has ended. Operations may still be queued then.
    #[inline]
    pub fn poll(&mut self) -> bool {
        if !self.ended {
            self.ended = self.source.as_mut().advance(&self.state);
        }
        self.ended
    }

    /// The place in the text of its program where the wavefront is, if it has one.
    pub fn place(&self) -> Option<String> {
        self.source.place()
    }

    /// Whether the wavefront can be kept: its source can be, or has ended.
    pub fn can_be_kept(&self) -> bool {
        self.ended || self.source.can_be_kept()
    }

    /// Appends the state of a wavefront that can be kept.
    pub fn keep(&self, to: &mut Vec<u8>) {
        self.ended.save(to);
        self.state.borrow().save(to);
        if !self.ended {
            self.source.keep(to);
        }
    }

    /// Takes over the state of the same wavefront. This one has just been started.
    pub fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        self.ended = bool::load(from)?;
        *self.state.borrow_mut() = WaveState::load(from)?;
        if self.ended { Ok(()) } else { self.source.as_mut().restore(from) }
    }

    /// The state shared with the source.
    #[inline]
    pub fn state(&self) -> &RefCell<WaveState> {
        &self.state
    }
}
