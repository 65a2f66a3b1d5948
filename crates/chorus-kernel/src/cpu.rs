//! The interface of a CPU thread to its core: memory, fences and arithmetic, at system scope.
//!
//! CPU threads run beside the work-groups of a launch and share its memory (Spandex paper, section IV-B). A thread is a
//! wavefront of which one lane works: an in-order core whose loads block and whose stores are posted. On machines
//! without CPU cores a compute unit runs it.

use chorus_protocol::access::{AtomicOp, Order, Scope};

use crate::lanes::{LANES, Lanes, Mask, Word};
use crate::memory::Buf;
use crate::memory_op::MemoryOpKind;
use crate::wave::{Load, Wave};
use crate::wave_state::Operation;

/// A CPU thread, as its program sees it.
pub struct Cpu {
    wave: Wave,
}

impl Cpu {
    pub(crate) fn new(wave: Wave) -> Cpu {
        Cpu { wave }
    }

    /// The number of this thread in the launch.
    pub fn id(&self) -> u32 {
        self.wave.work_group()
    }

    /// The number of CPU threads of the launch.
    pub fn threads(&self) -> u32 {
        self.wave.id().work_groups
    }

    /// Loads one element of a buffer.
    pub async fn load<T: Word>(&self, buf: Buf<T>, index: u32) -> T {
        self.access(MemoryOpKind::Load, Order::Weak, buf, index, None).await[0]
    }

    /// Loads adjacent elements in one instruction; up to as many as a wavefront has lanes.
    pub async fn load_vec<T: Word, const N: usize>(&self, buf: Buf<T>, first: u32) -> [T; N] {
        const { assert!(N <= LANES, "an instruction has one element per lane") };
        let index = Lanes::from_fn(|lane| first + lane.min(N.saturating_sub(1)) as u32);
        let mask = Mask::first(N);
        let loaded = self.wave.access(MemoryOpKind::Load, Order::Weak, Scope::System, mask, buf, index, None).await;
        std::array::from_fn(|element| loaded[element])
    }

    /// Stores one element. Posted: later fences and the end of the kernel order it.
    pub fn store<T: Word>(&self, buf: Buf<T>, index: u32, value: T) {
        self.access(MemoryOpKind::Store, Order::Weak, buf, index, Some(value)).forget();
    }

    /// Stores adjacent elements in one instruction; up to as many as a wavefront has lanes.
    pub fn store_vec<T: Word, const N: usize>(&self, buf: Buf<T>, first: u32, values: [T; N]) {
        const { assert!(0 < N && N <= LANES, "an instruction has one element per lane") };
        let index = Lanes::from_fn(|lane| first + lane.min(N - 1) as u32);
        let values = Lanes::from_fn(|lane| values[lane.min(N - 1)]);
        let mask = Mask::first(N);
        self.wave.access(MemoryOpKind::Store, Order::Weak, Scope::System, mask, buf, index, Some(values)).forget();
    }

    /// Stores one element as a relaxed atomic of system scope. It orders nothing else.
    pub fn store_relaxed<T: Word>(&self, buf: Buf<T>, index: u32, value: T) {
        self.access(MemoryOpKind::Store, Order::Relaxed, buf, index, Some(value)).forget();
    }

    /// Loads one element as a relaxed atomic of system scope. It orders nothing else.
    pub async fn load_relaxed<T: Word>(&self, buf: Buf<T>, index: u32) -> T {
        self.access(MemoryOpKind::Load, Order::Relaxed, buf, index, None).await[0]
    }

    /// Loads one element and orders what follows behind it.
    pub async fn load_acquire<T: Word>(&self, buf: Buf<T>, index: u32) -> T {
        self.wave.load_acquire(buf, index, Scope::System).await
    }

    /// Stores one element once everything before it is performed.
    pub async fn store_release<T: Word>(&self, buf: Buf<T>, index: u32, value: T) {
        self.wave.store_release(buf, index, value, Scope::System).await;
    }

    /// Performs one read-modify-write and gives the old value. It orders nothing else, except on machines whose
    /// `core.atomic_order` is `acq-rel`.
    pub async fn atomic<T: Word>(&self, op: AtomicOp, buf: Buf<T>, index: u32, operand: T) -> T {
        let (mask, at) = (Mask::lane(0), Lanes::splat(index));
        self.wave.atomic_in(Scope::System, op, mask, buf, at, Lanes::splat(operand)).await[0]
    }

    /// Waits until the thread's earlier operations are performed for everybody; later ones stay behind it.
    pub async fn fence(&self) {
        self.wave.wait_for(Operation::Fence { order: Order::AcqRel, scope: Scope::System }).await;
    }

    /// Waits until the thread's earlier operations are performed for everybody; later ones may see old values.
    pub async fn fence_release(&self) {
        self.wave.fence_release(Scope::System).await;
    }

    /// Spends the issue slots of `count` arithmetic instructions.
    pub fn alu(&self, count: u32) {
        self.wave.push_alu(count);
    }

    fn access<T: Word>(
        &self,
        kind: MemoryOpKind,
        order: Order,
        buf: Buf<T>,
        index: u32,
        value: Option<T>,
    ) -> Load<'_, T> {
        let (mask, at) = (Mask::lane(0), Lanes::splat(index));
        self.wave.access(kind, order, Scope::System, mask, buf, at, value.map(Lanes::splat))
    }
}
