//! The source of a wavefront that replays a warp.

use std::cell::RefCell;
use std::pin::Pin;

use chorus_kernel::{Operation, WaveSource, WaveState};
use chorus_protocol::save::{self, Damaged, Reader, Restore};

use crate::step::{Step, queue};

/// Memory instructions that are queued before the compute unit is let go on. Every queued one takes memory.
const QUEUED_MAX: usize = 32;

/// Replays the steps of a warp.
#[derive(Restore)]
pub(crate) struct TracedWave {
    #[save(built)]
    steps: Vec<Step>,
    next: usize,
    /// Loads that a later step may wait for, with the slots of their parts.
    in_flight: Vec<(u32, u16)>,
}

impl TracedWave {
    pub(crate) fn new(steps: Vec<Step>) -> TracedWave {
        TracedWave { steps, next: 0, in_flight: Vec::new() }
    }

    /// Whether the values are there that the next steps wait for. Then these steps are over.
    fn has_waited(&mut self, state: &mut WaveState) -> bool {
        let waits = self.steps[self.next..].iter().take_while(|step| matches!(step, Step::Wait(_))).count();
        if waits == 0 {
            return true;
        }
        let awaited = &self.steps[self.next..self.next + waits];
        let is_awaited = |load: u32| awaited.contains(&Step::Wait(load));
        // Every slot is asked for, since the source goes on only when all of them are ready.
        let slots = self.in_flight.iter().filter(|(load, _)| is_awaited(*load));
        if !slots.fold(true, |all, &(_, slot)| all & state.is_ready(slot)) {
            return false;
        }
        self.in_flight.retain(|&(load, slot)| {
            let over = is_awaited(load);
            if over {
                state.take_result(slot);
            }
            !over
        });
        self.next += waits;
        true
    }

    /// Queues one step. Returns the memory instructions that it made.
    fn take(&mut self, state: &mut WaveState) -> usize {
        let step = &self.steps[self.next];
        self.next += 1;
        match step {
            &Step::Alu(count) => state.push(Operation::Alu(count)),
            &Step::Lds(count) => state.push(Operation::Lds(count)),
            Step::Barrier => {
                state.request(Operation::Barrier);
            }
            &Step::Fence { order, scope } => {
                state.request(Operation::Fence { order, scope });
            }
            Step::Wait(_) => {}
            Step::Access(access) => {
                let slots: Vec<u16> = queue(state, access).collect();
                match access.load {
                    Some(load) => self.in_flight.extend(slots.iter().map(|&slot| (load, slot))),
                    None => slots.iter().for_each(|&slot| state.abandon(slot)),
                }
                return slots.len();
            }
        }
        0
    }
}

impl WaveSource for TracedWave {
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        let this = self.get_mut();
        let mut state = state.borrow_mut();
        let mut queued = 0;
        while this.next < this.steps.len() {
            if queued >= QUEUED_MAX || !this.has_waited(&mut state) {
                return false;
            }
            if this.next < this.steps.len() {
                queued += this.take(&mut state);
            }
        }
        true
    }

    fn can_be_kept(&self) -> bool {
        true
    }

    fn keep(&self, to: &mut Vec<u8>) {
        Restore::keep(self, to);
    }

    fn restore(self: Pin<&mut Self>, from: &mut Reader<'_>) -> Result<(), Damaged> {
        Restore::restore(self.get_mut(), from)
    }
}
