//! A source around another one, which writes down what the inner one asks for.

use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;

use chorus_kernel::{Operation, WaveId, WaveSource, WaveState};
use chorus_protocol::access::{Order, Scope};

use super::kernel_file::KernelFile;
use super::sass::{Sass, WarpText};

/// Records a wavefront. The compute unit lets a source run only when everything that it asked for before has been
/// issued. So what is queued when it returns is new.
pub(super) struct RecordedWave {
    inner: Pin<Box<dyn WaveSource>>,
    id: WaveId,
    kernel: Arc<KernelFile>,
    text: WarpText,
    /// Slots of loads whose values the source has not taken, with their registers.
    loads: Vec<(u16, u16)>,
    ended: bool,
}

impl RecordedWave {
    pub(super) fn new(inner: Pin<Box<dyn WaveSource>>, id: WaveId, kernel: Arc<KernelFile>) -> RecordedWave {
        RecordedWave { inner, id, kernel, text: WarpText::default(), loads: Vec::new(), ended: false }
    }

    /// Finds the loads whose values the source has taken: their slots are free, or taken by others.
    fn note_taken(&mut self, state: &WaveState) {
        if self.loads.is_empty() {
            return;
        }
        let used_again = state.queued().iter().filter_map(|operation| match operation {
            Operation::Memory(slot) => Some(*slot),
            _ => None,
        });
        let over: Vec<u16> = state.free_slots().chain(used_again).collect();
        let awaited = &mut self.text.awaited;
        self.loads.retain(|(slot, register)| {
            let is_over = over.contains(slot);
            if is_over && !awaited.contains(register) {
                awaited.push(*register);
            }
            !is_over
        });
    }

    fn note_queued(&mut self, state: &WaveState) {
        for &operation in state.queued() {
            match operation {
                Operation::Alu(count) => self.text.plain(Sass::Add, count),
                Operation::Look => self.text.plain(Sass::Add, 1),
                Operation::Lds(count) => self.text.local_data(count),
                Operation::Chain { slots, .. } => self.text.plain(Sass::Add, slots),
                Operation::Banks(_) => self.text.local_data(1),
                Operation::Barrier => self.text.plain(Sass::Barrier, 1),
                Operation::Fence { order, scope } => self.text.fence(order, scope),
                Operation::BarrierFence => self.text.fence(Order::AcqRel, Scope::WorkGroup),
                Operation::Memory(slot) => {
                    let register = self.text.memory(state.memory_op(slot));
                    self.loads.extend(register.map(|register| (slot, register)));
                }
            }
        }
    }
}

impl WaveSource for RecordedWave {
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        let this = self.get_mut();
        let ended = this.inner.as_mut().advance(state);
        let state = state.borrow();
        this.note_taken(&state);
        this.note_queued(&state);
        if ended && !this.ended {
            this.ended = true;
            this.text.plain(Sass::Exit, 1);
            this.kernel.put(this.id, std::mem::take(&mut this.text));
        }
        ended
    }

    fn place(&self) -> Option<String> {
        self.inner.place()
    }
}
