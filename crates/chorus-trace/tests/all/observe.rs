//! Notes of what the wavefronts of a program ask for, for tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use chorus_kernel::{HostMemory, Kernel, MemoryOpKind, Operation, Program, Verdict, WaveId, WaveSource, WaveState};
use chorus_protocol::access::{Order, Scope};

/// Something that a wavefront asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Alu(u32),
    Lds(u32),
    Barrier,
    Fence(Order, Scope),
    /// A memory instruction: the words of the lanes that take part.
    Memory(MemoryOpKind, Order, Scope, Vec<u32>),
}

/// Everything that each wavefront of each launch asks for: launch, work-group and wavefront.
pub type Notes = BTreeMap<(usize, u32, u32), Vec<Seen>>;

/// A program whose wavefronts are observed.
pub struct Observed<P: ?Sized> {
    pub notes: Arc<Mutex<Notes>>,
    launches: usize,
    program: Box<P>,
}

impl<P: Program + ?Sized> Observed<P> {
    pub fn new(program: Box<P>) -> Observed<P> {
        Observed { notes: Arc::default(), launches: 0, program }
    }

    pub fn into_notes(self) -> Notes {
        std::mem::take(&mut self.notes.lock().unwrap())
    }
}

impl<P: Program + ?Sized> Program for Observed<P> {
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
        let kernel = self.program.next_kernel(memory)?;
        let (launch, notes) = (self.launches, Arc::clone(&self.notes));
        self.launches += 1;
        Some(kernel.wrapped(move |id: WaveId, inner| {
            let key = (launch, id.work_group, id.wave);
            notes.lock().unwrap().insert(key, Vec::new());
            Watched { inner, key, notes: Arc::clone(&notes) }
        }))
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        self.program.check(memory)
    }
}

struct Watched {
    inner: Pin<Box<dyn WaveSource>>,
    key: (usize, u32, u32),
    notes: Arc<Mutex<Notes>>,
}

impl WaveSource for Watched {
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        let this = self.get_mut();
        let ended = this.inner.as_mut().advance(state);
        let state = state.borrow();
        let mut notes = this.notes.lock().unwrap();
        let notes = notes.entry(this.key).or_default();
        for &operation in state.queued() {
            match (operation, notes.last_mut()) {
                (Operation::Alu(more), Some(Seen::Alu(count))) | (Operation::Lds(more), Some(Seen::Lds(count))) => {
                    *count += more;
                }
                (Operation::Alu(count), _) => notes.push(Seen::Alu(count)),
                (Operation::Look, _) => notes.push(Seen::Alu(1)),
                (Operation::Lds(count), _) => notes.push(Seen::Lds(count)),
                (Operation::Chain { slots, .. }, _) => notes.push(Seen::Alu(slots)),
                (Operation::Banks(_), _) => notes.push(Seen::Lds(1)),
                (Operation::Barrier, _) => notes.push(Seen::Barrier),
                (Operation::Fence { order, scope }, _) => notes.push(Seen::Fence(order, scope)),
                (Operation::BarrierFence, _) => notes.push(Seen::Fence(Order::AcqRel, Scope::WorkGroup)),
                (Operation::Memory(slot), _) => {
                    let op = state.memory_op(slot);
                    let words = op.touched().collect();
                    notes.push(Seen::Memory(op.kind, op.order, op.scope, words));
                }
            }
        }
        ended
    }
}
