//! The queue between a wavefront's source and the compute unit that runs it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_system::AtomicOrder;

use crate::cpu::Cpu;
use crate::kernel::{Kernel, WaveId};
use crate::lanes::{LANES, Mask};
use crate::source::WaveSource;
use crate::wave::Wave;

/// The kind of a memory operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryOpKind {
    /// A read of memory.
    #[default]
    Load,
    /// A write to memory.
    Store,
    /// A read-modify-write of memory.
    Atomic(AtomicOp),
}

/// One memory instruction of a wavefront: an address and a value per lane. The order and place of its fields let the
/// usual instruction, which touches a row of words, lie in few lines of the host's caches.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub struct MemoryOp {
    /// The kind of the operation.
    pub kind: MemoryOpKind,
    /// The memory order of the operation.
    pub order: Order,
    /// The scope of the operation.
    pub scope: Scope,
    done: bool,
    awaited: bool,
    abandoned: bool,
    /// The lanes that take part.
    pub mask: Mask,
    /// Line accesses that have not come back; set by the driver when it issues the operation.
    pub accesses: u32,
    /// The first word, if lane `i` touches the `i`-th word from there on and every lane takes part. This is the usual
    /// case, and this form of it is short.
    row: Option<u32>,
    /// Store data and operands, then the values read.
    pub data: [u32; LANES],
    /// Word number per lane where they are no row.
    words: [u32; LANES],
}

/// The parts of a memory instruction that are the same for all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The kind of the operation.
    pub kind: MemoryOpKind,
    /// The memory order of the operation.
    pub order: Order,
    /// The scope of the operation.
    pub scope: Scope,
    /// The lanes that take part.
    pub mask: Mask,
}

impl MemoryOp {
    /// Sets the word of each lane: element `index` of what begins at word `start` and has `len` elements. Stops a
    /// kernel that reaches outside.
    #[inline]
    pub fn set_words(&mut self, start: u32, len: usize, index: &[u32; LANES]) {
        let first = index[0];
        let expected = |lane: u32| first.wrapping_add(lane);
        let differences = index.iter().zip(0..).fold(0, |bits, (&element, lane)| bits | (element ^ expected(lane)));
        if differences == 0 && self.mask == Mask::ALL && first as usize + LANES <= len {
            self.row = Some(start + first);
            return;
        }
        assert_inside(self.mask, index, len);
        self.row = None;
        self.words.iter_mut().zip(index).for_each(|(word, element)| *word = start.wrapping_add(*element));
    }

    /// The first word of a row that lanes touch in order, if that is what they do.
    #[inline]
    pub fn row(&self) -> Option<u32> {
        self.row
    }

    /// The word that a lane touches.
    #[inline]
    pub fn word(&self, lane: usize) -> u32 {
        self.row.map_or(self.words[lane], |first| first + lane as u32)
    }

    /// The words that all lanes touch.
    #[inline]
    pub fn words(&self) -> [u32; LANES] {
        std::array::from_fn(|lane| self.word(lane))
    }
}

/// Stops a kernel that reaches outside its buffer.
fn assert_inside(mask: Mask, index: &[u32; LANES], len: usize) {
    // The union of the bits of all indices is no less than any index. It almost always lies inside the buffer. Only if
    // it does not, each lane is examined.
    if (index.iter().fold(0, |bits, &element| bits | element) as usize) < len {
        return;
    }
    for lane in mask.iter() {
        assert!((index[lane] as usize) < len, "lane {lane}: element {} of a buffer of {len}", index[lane]);
    }
}

/// One entry of a wavefront's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Waits for the other wavefronts of the work-group.
    Barrier,
    /// That many accesses of the local data share.
    Lds(u32),
}

/// The state that a wavefront's source and its compute unit share.
#[derive(Debug, Default)]
pub struct WaveState {
    queue: VecDeque<Operation>,
    slots: Vec<MemoryOp>,
    free: Vec<u16>,
    /// Results and events that the future cannot go on without.
    awaiting: u32,
    /// Fences and barriers passed, and asked for by the future.
    passed: u64,
    requested: u64,
    /// The fence or barrier that the future waits for.
    awaited_ticket: Option<u64>,
}

impl WaveState {
    /// The next operation to issue.
    #[inline]
    pub fn front(&self) -> Option<Operation> {
        self.queue.front().copied()
    }

    /// Takes the next operation out.
    #[inline]
    pub fn pop(&mut self) {
        self.queue.pop_front();
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

    /// A memory instruction has all its values. Returns whether the future can go on.
    #[inline]
    pub fn complete_memory(&mut self, slot: u16) -> bool {
        let op = &mut self.slots[usize::from(slot)];
        op.done = true;
        if op.abandoned {
            self.free.push(slot);
            return false;
        }
        if !op.awaited {
            return false;
        }
        self.awaiting -= 1;
        self.awaiting == 0
    }

    /// A fence or barrier is passed. Returns whether the future can go on.
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

    /// Whether the future waits for something that has not happened.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.awaiting > 0
    }

    /// Makes the state that of a wavefront that has not begun. Every slot is free, the first one first.
    fn clear(&mut self) {
        let WaveState { queue, slots, free, .. } = std::mem::take(self);
        *self = WaveState { queue, slots, free, ..WaveState::default() };
        self.queue.clear();
        self.free.clear();
        self.free.extend((0..self.slots.len() as u16).rev());
    }

    /// Queues an operation that nobody waits for: arithmetic, or an access of the local data share.
    #[inline]
    pub fn push(&mut self, operation: Operation) {
        self.queue.push_back(operation);
    }

    /// Queues a memory instruction on the elements `index` of a buffer of `len` words that begins at word `start`.
    /// Returns its slot, which gets the data of a store or an atomic.
    pub fn access(&mut self, instruction: Instruction, start: u32, len: usize, index: &[u32; LANES]) -> u16 {
        let slot = self.free.pop().unwrap_or_else(|| self.new_slot());
        let op = &mut self.slots[usize::from(slot)];
        let Instruction { kind, order, scope, mask } = instruction;
        (op.kind, op.order, op.scope, op.mask) = (kind, order, scope, mask);
        (op.done, op.awaited, op.abandoned) = (false, false, kind == MemoryOpKind::Store);
        if mask != Mask::ALL {
            op.data = [0; LANES];
        }
        op.set_words(start, len, index);
        self.queue.push_back(Operation::Memory(slot));
        slot
    }

    /// Makes a further slot. There are twice as many when they run out, beginning with one, since slots are most of the
    /// memory of a wavefront.
    #[cold]
    fn new_slot(&mut self) -> u16 {
        let count = self.slots.len();
        if count == self.slots.capacity() {
            self.slots.reserve_exact(count.max(1));
        }
        self.slots.push(MemoryOp::default());
        count as u16
    }

    /// Whether an instruction has all its values; notes that the future waits for them if not.
    #[inline]
    pub fn is_ready(&mut self, slot: u16) -> bool {
        let op = &mut self.slots[usize::from(slot)];
        if !op.done && !op.awaited {
            op.awaited = true;
            self.awaiting += 1;
        }
        op.done
    }

    /// The values of a finished instruction, whose slot is free from now on.
    #[inline]
    pub fn take_result(&mut self, slot: u16) -> &[u32; LANES] {
        self.free.push(slot);
        &self.slots[usize::from(slot)].data
    }

    /// Nobody will ask for the values of this instruction.
    pub fn abandon(&mut self, slot: u16) {
        let op = &mut self.slots[usize::from(slot)];
        if op.done {
            self.free.push(slot);
            return;
        }
        op.abandoned = true;
        if op.awaited {
            self.awaiting -= 1;
        }
    }

    /// Queues a fence or barrier. Returns the number to wait for.
    pub fn request(&mut self, operation: Operation) -> u64 {
        self.push(operation);
        self.requested += 1;
        self.requested
    }

    /// Whether fence or barrier number `ticket` is passed; notes that the future waits for it if not.
    pub fn has_passed(&mut self, ticket: u64) -> bool {
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
        lds: Rc<RefCell<Vec<u32>>>,
        atomic_order: AtomicOrder,
        spare: &mut SpareStates,
    ) -> WaveTask {
        let state = spare.take();
        let wave = Wave::new(id, Rc::clone(&state), lds, atomic_order);
        WaveTask { source: kernel.start(wave), state, ended: false }
    }

    /// Starts a CPU thread of `kernel`. Returns it with the wavefront that it counts as: the only one of work-group
    /// `thread`, of as many work-groups as there are threads.
    pub fn start_cpu(
        kernel: &Kernel,
        thread: u32,
        atomic_order: AtomicOrder,
        spare: &mut SpareStates,
    ) -> (WaveTask, WaveId) {
        let state = spare.take();
        let work_groups = kernel.cpu_threads();
        let id = WaveId { work_group: thread, wave: 0, waves_per_group: 1, work_groups, gpu: 0, gpus: 1 };
        let cpu = Cpu::new(Wave::new(id, Rc::clone(&state), Rc::default(), atomic_order));
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

    /// The state shared with the source.
    #[inline]
    pub fn state(&self) -> &RefCell<WaveState> {
        &self.state
    }
}
