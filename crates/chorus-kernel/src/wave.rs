//! The interface of a kernel to its wavefront: identifiers, memory, fences, barriers, local data.

use std::cell::{RefCell, RefMut};
use std::future::{Future, Ready, ready};
use std::marker::PhantomData;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_system::AtomicOrder;

use crate::costs::InstructionCosts;
use crate::kernel::{WaveId, WaveStart};
use crate::lanes::{LANES, Lanes, Mask, Word};
use crate::local_data::LocalData;
use crate::memory::Buf;
use crate::memory_op::{Instruction, MemoryOpKind};
use crate::partition::groups_of;
use crate::wave_state::{Operation, WaveMachine, WaveState};

/// A wavefront, as its kernel sees it.
pub struct Wave {
    id: WaveId,
    state: Rc<RefCell<WaveState>>,
    lds: LocalData,
    atomic_order: AtomicOrder,
    costs: Option<Arc<InstructionCosts>>,
}

impl Wave {
    pub(crate) fn new(id: WaveId, state: Rc<RefCell<WaveState>>, lds: LocalData, machine: &WaveMachine) -> Wave {
        let WaveMachine { atomic_order, costs } = machine;
        Wave { id, state, lds, atomic_order: *atomic_order, costs: costs.clone() }
    }

    /// The facts for a source that is no future.
    pub(crate) fn into_start(self) -> WaveStart {
        let Wave { id, lds: local_data, atomic_order, costs, .. } = self;
        WaveStart { id, local_data, atomic_order, costs }
    }

    /// The identity of this wavefront.
    #[inline]
    pub fn id(&self) -> WaveId {
        self.id
    }

    /// The number of this work-group.
    #[inline]
    pub fn work_group(&self) -> u32 {
        self.id.work_group
    }

    /// The GPU that this work-group runs on.
    pub fn gpu(&self) -> u32 {
        self.id.gpu
    }

    /// How many GPUs the machine has.
    pub fn gpus(&self) -> u32 {
        self.id.gpus
    }

    /// The work-groups of the launch that run on the same GPU, this one among them.
    pub fn work_groups_of_gpu(&self) -> Range<u32> {
        groups_of(self.id.gpu, self.id.work_groups, self.id.gpus)
    }

    /// The number of each lane, 0 to 31.
    #[inline]
    pub fn lane_ids(&self) -> Lanes<u32> {
        Lanes::from_fn(|lane| lane as u32)
    }

    /// The number of each work-item within its work-group.
    #[inline]
    pub fn local_ids(&self) -> Lanes<u32> {
        self.lane_ids() + self.id.wave * LANES as u32
    }

    /// The number of each work-item within the launch.
    #[inline]
    pub fn global_ids(&self) -> Lanes<u32> {
        let first = (self.id.work_group * self.id.waves_per_group + self.id.wave) * LANES as u32;
        self.lane_ids() + first
    }

    /// Loads one element per lane.
    #[inline]
    pub fn load<T: Word>(&self, buf: Buf<T>, index: Lanes<u32>) -> Load<'_, T> {
        self.load_where(Mask::ALL, buf, index)
    }

    /// Loads one element per lane of `mask`; the others get zero.
    #[inline]
    pub fn load_where<T: Word>(&self, mask: Mask, buf: Buf<T>, index: Lanes<u32>) -> Load<'_, T> {
        self.access(MemoryOpKind::Load, Order::Weak, Scope::Gpu, mask, buf, index, None)
    }

    /// Loads one element for the whole wavefront.
    pub async fn load_one<T: Word>(&self, buf: Buf<T>, index: u32) -> T {
        self.load_where(Mask::lane(0), buf, Lanes::splat(index)).await[0]
    }

    /// Loads one element for the whole wavefront and orders what follows behind it.
    pub async fn load_acquire<T: Word>(&self, buf: Buf<T>, index: u32, scope: Scope) -> T {
        let load =
            self.access(MemoryOpKind::Load, Order::Acquire, scope, Mask::lane(0), buf, Lanes::splat(index), None);
        let value = load.await[0];
        self.wait_for(Operation::Fence { order: Order::Acquire, scope }).await;
        value
    }

    /// Loads one element per lane of `mask` as a relaxed atomic of `scope`. It orders nothing else.
    pub fn load_relaxed<T: Word>(&self, scope: Scope, mask: Mask, buf: Buf<T>, index: Lanes<u32>) -> Load<'_, T> {
        self.access(MemoryOpKind::Load, Order::Relaxed, scope, mask, buf, index, None)
    }

    /// Stores one element per lane. Posted: later fences and the end of the kernel order it.
    #[inline]
    pub fn store<T: Word>(&self, buf: Buf<T>, index: Lanes<u32>, value: Lanes<T>) {
        self.store_where(Mask::ALL, buf, index, value);
    }

    /// Stores one element per lane of `mask`.
    #[inline]
    pub fn store_where<T: Word>(&self, mask: Mask, buf: Buf<T>, index: Lanes<u32>, value: Lanes<T>) {
        let posted: Load<'_, T> =
            self.access(MemoryOpKind::Store, Order::Weak, Scope::Gpu, mask, buf, index, Some(value));
        posted.forget();
    }

    /// Stores one element for the whole wavefront.
    pub fn store_one<T: Word>(&self, buf: Buf<T>, index: u32, value: T) {
        self.store_where(Mask::lane(0), buf, Lanes::splat(index), Lanes::splat(value));
    }

    /// Stores one element for the whole wavefront once everything before it is performed.
    pub async fn store_release<T: Word>(&self, buf: Buf<T>, index: u32, value: T, scope: Scope) {
        self.wait_for(Operation::Fence { order: Order::Release, scope }).await;
        let (at, value) = (Lanes::splat(index), Lanes::splat(value));
        let posted: Load<'_, T> =
            self.access(MemoryOpKind::Store, Order::Release, scope, Mask::lane(0), buf, at, Some(value));
        posted.forget();
    }

    /// Waits until the wavefront's earlier operations are performed for everybody in `scope`. Later ones may see old
    /// values.
    pub fn fence_release(&self, scope: Scope) -> Passed<'_> {
        self.wait_for(Operation::Fence { order: Order::Release, scope })
    }

    /// Stores one element per lane of `mask` as a relaxed atomic of `scope`. It orders nothing else.
    pub fn store_relaxed<T: Word>(&self, scope: Scope, mask: Mask, buf: Buf<T>, index: Lanes<u32>, value: Lanes<T>) {
        let posted: Load<'_, T> =
            self.access(MemoryOpKind::Store, Order::Relaxed, scope, mask, buf, index, Some(value));
        posted.forget();
    }

    /// Performs one read-modify-write per lane of `mask`, atomic for everybody in `scope`, and gives the old values.
    /// Lanes of one word go one after the other, or get what they would get then (`core.atomic_lanes`). It orders
    /// nothing else, except on machines whose `core.atomic_order` is `acq-rel`.
    pub fn atomic_in<T: Word>(
        &self,
        scope: Scope,
        op: AtomicOp,
        mask: Mask,
        buf: Buf<T>,
        index: Lanes<u32>,
        operand: Lanes<T>,
    ) -> Load<'_, T> {
        let synchronises = self.atomic_order == AtomicOrder::AcqRel && mask.any();
        if synchronises {
            self.push_fence(Order::Release, scope);
        }
        let atomic = self.access(MemoryOpKind::Atomic(op), Order::Relaxed, scope, mask, buf, index, Some(operand));
        if synchronises {
            self.push_fence(Order::Acquire, scope);
        }
        atomic
    }

    /// Performs read-modify-writes like [`Wave::atomic_in`], atomic for everybody on the same GPU.
    pub fn atomic_where<T: Word>(
        &self,
        op: AtomicOp,
        mask: Mask,
        buf: Buf<T>,
        index: Lanes<u32>,
        operand: Lanes<T>,
    ) -> Load<'_, T> {
        self.atomic_in(Scope::Gpu, op, mask, buf, index, operand)
    }

    /// Performs one read-modify-write for the whole wavefront and gives the old value.
    pub async fn atomic_one<T: Word>(&self, op: AtomicOp, buf: Buf<T>, index: u32, operand: T) -> T {
        self.atomic_where(op, Mask::lane(0), buf, Lanes::splat(index), Lanes::splat(operand)).await[0]
    }

    /// Waits until the wavefront's earlier operations are performed for everybody in `scope`.
    pub fn fence(&self, scope: Scope) -> Passed<'_> {
        self.wait_for(Operation::Fence { order: Order::AcqRel, scope })
    }

    /// Waits for all wavefronts of the work-group.
    pub fn barrier(&self) -> Passed<'_> {
        self.wait_for(Operation::Barrier)
    }

    /// Spends the issue slots of `count` arithmetic instructions.
    #[inline]
    pub fn alu(&self, count: u32) -> Ready<()> {
        self.push_alu(count);
        ready(())
    }

    #[inline]
    pub(crate) fn push_alu(&self, count: u32) {
        if count > 0 {
            self.state.borrow_mut().push(Operation::Alu(count));
        }
    }

    /// Reads the work-group's local data share, one word per lane of `mask`.
    pub fn lds_read<T: Word>(&self, mask: Mask, index: Lanes<u32>) -> Lanes<T> {
        self.state.borrow_mut().push(Operation::Lds(1));
        let lds = self.lds.words();
        Lanes::from_fn(
            |lane| {
                if mask.contains(lane) { T::from_bits(lds[index[lane] as usize].get()) } else { T::default() }
            },
        )
    }

    /// Writes the work-group's local data share, one word per lane of `mask`.
    pub fn lds_write<T: Word>(&self, mask: Mask, index: Lanes<u32>, value: Lanes<T>) {
        self.state.borrow_mut().push(Operation::Lds(1));
        let lds = self.lds.words();
        for lane in mask.iter() {
            lds[index[lane] as usize].set(value[lane].to_bits());
        }
    }

    /// Reads adjacent words of the work-group's local data share for the whole wavefront. Up to four words, the 128
    /// bits that one lane of a vector instruction reads, take one access.
    pub fn lds_read_vector<T: Word, const N: usize>(&self, first: u32) -> [T; N] {
        self.state.borrow_mut().push(Operation::Lds((N as u32).div_ceil(4)));
        let lds = self.lds.words();
        std::array::from_fn(|word| T::from_bits(lds[first as usize + word].get()))
    }

    /// Waits for two loads that are in flight together.
    pub fn join<'a, A: Word, B: Word>(&'a self, a: Load<'a, A>, b: Load<'a, B>) -> Join<'a, A, B> {
        Join { loads: InFlight::new(&self.state, [a.into_slot(), b.into_slot()]), of: PhantomData }
    }

    /// Waits for any number of loads that are in flight together.
    pub fn join_all<'a, T: Word, const N: usize>(&'a self, loads: [Load<'a, T>; N]) -> JoinAll<'a, T, N> {
        JoinAll { loads: InFlight::new(&self.state, loads.map(Load::into_slot)), of: PhantomData }
    }

    /// A fence that nobody awaits: later operations are queued behind it.
    fn push_fence(&self, order: Order, scope: Scope) {
        self.state.borrow_mut().request(Operation::Fence { order, scope });
    }

    pub(crate) fn wait_for(&self, operation: Operation) -> Passed<'_> {
        let ticket = self.state.borrow_mut().request(operation);
        Passed { state: &self.state, ticket }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one instruction")]
    #[inline(always)]
    pub(crate) fn access<T: Word>(
        &self,
        kind: MemoryOpKind,
        order: Order,
        scope: Scope,
        mask: Mask,
        buf: Buf<T>,
        index: Lanes<u32>,
        value: Option<Lanes<T>>,
    ) -> Load<'_, T> {
        let mut state = self.state.borrow_mut();
        let slot = state.access(Instruction { kind, order, scope, mask }, buf.start(), buf.len(), &index.0);
        if let Some(value) = value {
            let data = &mut state.memory_op_mut(slot).data;
            data.iter_mut().zip(&value.0).for_each(|(bits, value)| *bits = value.to_bits());
        }
        Load { load: InFlight::new(&self.state, [slot]), of: PhantomData }
    }
}

/// Memory instructions of a wavefront that are in flight together.
struct InFlight<'a, const N: usize> {
    state: &'a RefCell<WaveState>,
    slots: [u16; N],
    /// Whether the slots are somebody else's business.
    taken: bool,
}

impl<'a, const N: usize> InFlight<'a, N> {
    #[inline]
    fn new(state: &'a RefCell<WaveState>, slots: [u16; N]) -> InFlight<'a, N> {
        InFlight { state, slots, taken: false }
    }

    /// The state, to take all values from, if they are there; notes that the future waits for them if not.
    #[inline]
    fn ready(&mut self) -> Option<RefMut<'a, WaveState>> {
        let mut state = self.state.borrow_mut();
        // This does not short-circuit: the future has to wait for every load that has not returned.
        self.taken = self.slots.iter().fold(true, |all, &slot| all & state.is_ready(slot));
        self.taken.then_some(state)
    }
}

impl<const N: usize> Drop for InFlight<'_, N> {
    #[inline]
    fn drop(&mut self) {
        if !self.taken {
            let mut state = self.state.borrow_mut();
            self.slots.iter().for_each(|&slot| state.abandon(slot));
        }
    }
}

/// Takes the values of an instruction, which are there.
#[inline]
fn take<T: Word>(state: &mut WaveState, slot: u16) -> Lanes<T> {
    let bits = state.take_result(slot);
    Lanes::from_fn(|lane| T::from_bits(bits[lane]))
}

/// A load or atomic in flight. Await it for the values.
#[must_use = "a load is only waited for when it is awaited"]
pub struct Load<'a, T> {
    load: InFlight<'a, 1>,
    of: PhantomData<fn() -> T>,
}

impl<T> Load<'_, T> {
    /// Frees the slot of an operation whose values nobody awaits, when it completes.
    #[inline]
    pub(crate) fn forget(self) {
        self.into_slot();
    }

    /// The slot of the operation, which the caller sees to from now on.
    #[inline]
    fn into_slot(mut self) -> u16 {
        self.load.taken = true;
        self.load.slots[0]
    }
}

impl<T: Word> Future for Load<'_, T> {
    type Output = Lanes<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Lanes<T>> {
        let [slot] = self.load.slots;
        match self.load.ready() {
            Some(mut state) => Poll::Ready(take(&mut state, slot)),
            None => Poll::Pending,
        }
    }
}

/// A fence or barrier. Await it to pass.
#[must_use = "a fence orders only what comes after its await"]
pub struct Passed<'a> {
    state: &'a RefCell<WaveState>,
    ticket: u32,
}

impl Future for Passed<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.state.borrow_mut().has_passed(self.ticket) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Two loads in flight together.
#[must_use = "loads are only waited for when they are awaited"]
pub struct Join<'a, A: Word, B: Word> {
    loads: InFlight<'a, 2>,
    of: PhantomData<fn() -> (A, B)>,
}

impl<A: Word, B: Word> Future for Join<'_, A, B> {
    type Output = (Lanes<A>, Lanes<B>);

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let [a, b] = self.loads.slots;
        match self.loads.ready() {
            Some(mut state) => Poll::Ready((take(&mut state, a), take(&mut state, b))),
            None => Poll::Pending,
        }
    }
}

/// Any number of loads in flight together.
#[must_use = "loads are only waited for when they are awaited"]
pub struct JoinAll<'a, T: Word, const N: usize> {
    loads: InFlight<'a, N>,
    of: PhantomData<fn() -> T>,
}

impl<T: Word, const N: usize> Future for JoinAll<'_, T, N> {
    type Output = [Lanes<T>; N];

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let slots = self.loads.slots;
        match self.loads.ready() {
            Some(mut state) => Poll::Ready(slots.map(|slot| take(&mut state, slot))),
            None => Poll::Pending,
        }
    }
}
