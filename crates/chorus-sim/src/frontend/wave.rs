//! What a kernel sees of its wavefront: identifiers, memory, fences, barriers, local data.

use std::cell::RefCell;
use std::future::{Future, Ready, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use chorus_protocol::access::{AtomicOp, Order, Scope};

use super::kernel::WaveId;
use super::lanes::{LANES, Lanes, Mask, Word};
use super::memory::Buf;
use super::wave_state::{MemoryOpKind, Operation, WaveState};

/// A wavefront, as its kernel sees it.
pub struct Wave {
    id: WaveId,
    state: Rc<RefCell<WaveState>>,
    lds: Rc<RefCell<Vec<u32>>>,
}

impl Wave {
    pub(super) fn new(id: WaveId, state: Rc<RefCell<WaveState>>, lds: Rc<RefCell<Vec<u32>>>) -> Wave {
        Wave { id, state, lds }
    }

    /// Which wavefront this is.
    pub fn id(&self) -> WaveId {
        self.id
    }

    /// Which work-group this is.
    pub fn work_group(&self) -> u32 {
        self.id.work_group
    }

    /// 0 to 31.
    pub fn lane_ids(&self) -> Lanes<u32> {
        Lanes::from_fn(|lane| lane as u32)
    }

    /// The number of each work-item within its work-group.
    pub fn local_ids(&self) -> Lanes<u32> {
        self.lane_ids() + self.id.wave * LANES as u32
    }

    /// The number of each work-item within the launch.
    pub fn global_ids(&self) -> Lanes<u32> {
        let first = (self.id.work_group * self.id.waves_per_group + self.id.wave) * LANES as u32;
        self.lane_ids() + first
    }

    /// Loads one element per lane.
    pub fn load<T: Word>(&self, buf: Buf<T>, index: Lanes<u32>) -> Load<'_, T> {
        self.load_where(Mask::ALL, buf, index)
    }

    /// Loads one element per lane of `mask`; the others get zero.
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
        self.fence(scope).await;
        value
    }

    /// Stores one element per lane. Posted: later fences and the end of the kernel order it.
    pub fn store<T: Word>(&self, buf: Buf<T>, index: Lanes<u32>, value: Lanes<T>) {
        self.store_where(Mask::ALL, buf, index, value);
    }

    /// Stores one element per lane of `mask`.
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
        self.fence(scope).await;
        let (at, value) = (Lanes::splat(index), Lanes::splat(value));
        let posted: Load<'_, T> =
            self.access(MemoryOpKind::Store, Order::Release, scope, Mask::lane(0), buf, at, Some(value));
        posted.forget();
    }

    /// One read-modify-write per lane of `mask`; gives the old values. Lanes of one word go one after the other.
    pub fn atomic_where<T: Word>(
        &self,
        op: AtomicOp,
        mask: Mask,
        buf: Buf<T>,
        index: Lanes<u32>,
        operand: Lanes<T>,
    ) -> Load<'_, T> {
        self.access(MemoryOpKind::Atomic(op), Order::Relaxed, Scope::Gpu, mask, buf, index, Some(operand))
    }

    /// One read-modify-write for the whole wavefront; gives the old value.
    pub async fn atomic_one<T: Word>(&self, op: AtomicOp, buf: Buf<T>, index: u32, operand: T) -> T {
        self.atomic_where(op, Mask::lane(0), buf, Lanes::splat(index), Lanes::splat(operand)).await[0]
    }

    /// Waits until the wavefront's earlier operations are performed for everybody in `scope`.
    pub fn fence(&self, scope: Scope) -> Passed<'_> {
        self.wait_for(Operation::Fence { scope })
    }

    /// Waits for all wavefronts of the work-group.
    pub fn barrier(&self) -> Passed<'_> {
        self.wait_for(Operation::Barrier)
    }

    /// Spends the issue slots of `count` arithmetic instructions.
    pub fn alu(&self, count: u32) -> Ready<()> {
        if count > 0 {
            self.state.borrow_mut().push(Operation::Alu(count));
        }
        ready(())
    }

    /// Reads the work-group's local data share, one word per lane of `mask`.
    pub fn lds_read<T: Word>(&self, mask: Mask, index: Lanes<u32>) -> Lanes<T> {
        self.state.borrow_mut().push(Operation::Lds(1));
        let lds = self.lds.borrow();
        Lanes::from_fn(|lane| if mask.contains(lane) { T::from_bits(lds[index[lane] as usize]) } else { T::default() })
    }

    /// Writes the work-group's local data share, one word per lane of `mask`.
    pub fn lds_write<T: Word>(&self, mask: Mask, index: Lanes<u32>, value: Lanes<T>) {
        self.state.borrow_mut().push(Operation::Lds(1));
        let mut lds = self.lds.borrow_mut();
        for lane in mask.iter() {
            lds[index[lane] as usize] = value[lane].to_bits();
        }
    }

    /// Waits for two loads that are in flight together.
    pub fn join<'a, A: Word, B: Word>(&self, a: Load<'a, A>, b: Load<'a, B>) -> Join<'a, A, B> {
        Join { a: (a, None), b: (b, None) }
    }

    /// Waits for any number of loads that are in flight together.
    pub fn join_all<'a, T: Word, const N: usize>(&self, loads: [Load<'a, T>; N]) -> JoinAll<'a, T, N> {
        JoinAll { loads, values: [None; N] }
    }

    fn wait_for(&self, operation: Operation) -> Passed<'_> {
        let ticket = self.state.borrow_mut().request(operation);
        Passed { state: &self.state, ticket }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one instruction")]
    fn access<T: Word>(
        &self,
        kind: MemoryOpKind,
        order: Order,
        scope: Scope,
        mask: Mask,
        buf: Buf<T>,
        index: Lanes<u32>,
        value: Option<Lanes<T>>,
    ) -> Load<'_, T> {
        // Almost always every lane is inside; which lane is not matters only then.
        if index.0.iter().fold(0, |most, &element| most.max(element)) as usize >= buf.len() {
            assert_inside(mask, index, buf.len());
        }
        let mut state = self.state.borrow_mut();
        let slot = state.new_memory_op(kind, order, scope, mask);
        let op = state.memory_op_mut(slot);
        op.words = index.map(|element| buf.start().wrapping_add(element)).0;
        if let Some(value) = value {
            op.data = value.map(T::to_bits).0;
        }
        state.push(Operation::Memory(slot));
        Load { state: &self.state, slot, taken: false, of: PhantomData }
    }
}

/// Stops a kernel that reaches outside its buffer.
fn assert_inside(mask: Mask, index: Lanes<u32>, len: usize) {
    for lane in mask.iter() {
        assert!((index[lane] as usize) < len, "lane {lane}: element {} of a buffer of {len}", index[lane]);
    }
}

/// A load or atomic in flight: await it for the values.
#[must_use = "a load is only waited for when it is awaited"]
pub struct Load<'a, T> {
    state: &'a RefCell<WaveState>,
    slot: u16,
    taken: bool,
    of: PhantomData<fn() -> T>,
}

impl<T> Load<'_, T> {
    /// Nobody waits for it, and the queue frees its slot.
    fn forget(mut self) {
        self.taken = true;
    }
}

impl<T: Word> Future for Load<'_, T> {
    type Output = Lanes<T>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Lanes<T>> {
        let result = self.state.borrow_mut().take_result(self.slot);
        match result {
            Some(bits) => {
                self.taken = true;
                Poll::Ready(Lanes(bits.map(T::from_bits)))
            }
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Load<'_, T> {
    fn drop(&mut self) {
        if !self.taken {
            self.state.borrow_mut().abandon(self.slot);
        }
    }
}

/// A fence or barrier: await it to pass.
#[must_use = "a fence orders only what comes after its await"]
pub struct Passed<'a> {
    state: &'a RefCell<WaveState>,
    ticket: u64,
}

impl Future for Passed<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.state.borrow_mut().has_passed(self.ticket) { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Two loads in flight together.
#[must_use = "loads are only waited for when they are awaited"]
pub struct Join<'a, A: Word, B: Word> {
    a: (Load<'a, A>, Option<Lanes<A>>),
    b: (Load<'a, B>, Option<Lanes<B>>),
}

fn advance<T: Word>((load, value): &mut (Load<'_, T>, Option<Lanes<T>>), context: &mut Context<'_>) {
    if value.is_none()
        && let Poll::Ready(lanes) = Pin::new(load).poll(context)
    {
        *value = Some(lanes);
    }
}

impl<A: Word, B: Word> Future for Join<'_, A, B> {
    type Output = (Lanes<A>, Lanes<B>);

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Join { a, b } = &mut *self;
        advance(a, context);
        advance(b, context);
        match (a.1, b.1) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (None, _) | (_, None) => Poll::Pending,
        }
    }
}

/// Any number of loads in flight together.
#[must_use = "loads are only waited for when they are awaited"]
pub struct JoinAll<'a, T: Word, const N: usize> {
    loads: [Load<'a, T>; N],
    values: [Option<Lanes<T>>; N],
}

impl<T: Word, const N: usize> Future for JoinAll<'_, T, N> {
    type Output = [Lanes<T>; N];

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let JoinAll { loads, values } = &mut *self;
        for (load, value) in loads.iter_mut().zip(values.iter_mut()) {
            if value.is_none()
                && let Poll::Ready(lanes) = Pin::new(load).poll(context)
            {
                *value = Some(lanes);
            }
        }
        if values.iter().any(Option::is_none) {
            return Poll::Pending;
        }
        Poll::Ready(values.map(|value| value.unwrap_or(Lanes::splat(T::default()))))
    }
}
