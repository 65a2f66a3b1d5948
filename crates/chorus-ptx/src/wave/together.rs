//! What lanes do together: votes, shuffles, and barriers of the work-group.

use chorus_kernel::{LANES, LocalData, Operation, WaveState};

use super::{Next, Wavefront};
use crate::code::{Action, Instruction, Reduction, ReductionKind, ShuffleKind, SyncAction, VoteKind};
use crate::registers::{Bank, BankKind, Register};
use crate::running::Running;
use crate::splits::{Split, SplitState};

/// Reductions of barriers that may be in use at once: the one that waves arrive at, the one that they read, and the one
/// that is cleared for the next.
const ROTATION: u32 = 3;
/// The words of a reduction: threads with the predicate, and threads.
const REDUCTION_WORDS: u32 = 2;
/// The bytes behind a kernel's shared memory that its reductions take.
pub(crate) const REDUCTION_BYTES: u32 = ROTATION * REDUCTION_WORDS * 4;

impl Wavefront {
    /// Performs an instruction that waits for the lanes of a member mask.
    pub(super) fn sync(
        &mut self,
        instruction: &Instruction,
        members: u16,
        action: &SyncAction,
        mask: u32,
        split: Split,
    ) -> Next {
        if mask == 0 {
            return Next::Instruction;
        }
        let named = self.registers.words[usize::from(members)][mask.trailing_zeros() as usize];
        let awaited = named & self.splits.live();
        if awaited & !mask == 0 {
            self.act(action, mask);
            return Next::Instruction;
        }
        if instruction.guard.is_some() {
            self.fail(instruction, mask.trailing_zeros() as usize, "some of the member lanes do not take part");
        }
        self.splits.park(SplitState::AtSync);
        let present = self.splits.lanes(SplitState::AtSync, Some(split.pc));
        if awaited & !present == 0 {
            self.act(action, present);
            self.splits.resume(SplitState::AtSync, Some(split.pc));
        }
        Next::Done
    }

    fn act(&mut self, action: &SyncAction, mask: u32) {
        match *action {
            SyncAction::Meet => {}
            SyncAction::ActiveLanes { to } => u32::write(&mut self.registers, to, mask, &[mask; LANES]),
            SyncAction::Vote { kind, predicate, negated, to } => {
                let row = self.registers.predicates[usize::from(predicate)];
                let holds = if negated { !row } else { row } & mask;
                self.vote(kind, holds, mask, to);
            }
            SyncAction::Shuffle { kind, to, valid, from, lane, clamp } => {
                self.shuffle(kind, [to, from, lane, clamp], valid, mask);
            }
        }
    }

    fn vote(&mut self, kind: VoteKind, holds: u32, mask: u32, to: Register) {
        let all = match kind {
            VoteKind::All => holds == mask,
            VoteKind::Any => holds != 0,
            VoteKind::Uniform => holds == mask || holds == 0,
            VoteKind::Ballot => return u32::write(&mut self.registers, to.number, mask, &[holds; LANES]),
        };
        bool::write(&mut self.registers, to.number, mask, &[all; LANES]);
    }

    /// The lanes of a segment exchange values, as the PTX manual's pseudocode says.
    fn shuffle(&mut self, kind: ShuffleKind, [to, from, lane, clamp]: [u16; 4], valid: Option<u16>, mask: u32) {
        let rows = [from, lane, clamp].map(|number| self.registers.words[usize::from(number)]);
        let [values, lanes, clamps] = rows;
        let chosen: [(u32, bool); LANES] = std::array::from_fn(|own| {
            let (own, b, c) = (own as u32, lanes[own] & 31, clamps[own]);
            let segment = c >> 8 & 31;
            let last = (own & segment) | (c & 31 & !segment);
            let first = own & segment;
            let (source, is_valid) = match kind {
                ShuffleKind::Up => (own.wrapping_sub(b), own as i32 - b as i32 >= last as i32),
                ShuffleKind::Down => (own + b, own + b <= last),
                ShuffleKind::Butterfly => (own ^ b, own ^ b <= last),
                ShuffleKind::Index => (first | (b & !segment), first | (b & !segment) <= last),
            };
            if is_valid { (source & 31, true) } else { (own, false) }
        });
        let moved = chosen.map(|(source, _)| values[source as usize]);
        u32::write(&mut self.registers, to, mask, &moved);
        if let Some(valid) = valid {
            bool::write(&mut self.registers, valid, mask, &chosen.map(|(_, is_valid)| is_valid));
        }
    }

    /// No split can go on alone. Returns whether the wavefront waits for others now.
    pub(super) fn wait_together(&mut self, running: &Running, state: &mut WaveState) -> bool {
        let at_barrier = self.splits.lanes(SplitState::AtBarrier, None);
        if at_barrier == self.splits.live() {
            self.arrive_at_barrier(running, state);
            return true;
        }
        if self.splits.let_all_go() {
            return false;
        }
        let waiting = self.splits.lanes(SplitState::AtSync, None);
        let at = self.splits.pc_of(if waiting != 0 { SplitState::AtSync } else { SplitState::AtBarrier });
        let instruction = &running.entry.code.instructions[at as usize];
        let lanes = if waiting != 0 { waiting } else { at_barrier };
        self.fail(instruction, lanes.trailing_zeros() as usize, "lanes wait here for others that never come");
    }

    fn arrive_at_barrier(&mut self, running: &Running, state: &mut WaveState) {
        if self.is_unfenced {
            // Whoever passes the barrier sees what was written before it.
            self.flush(state);
            self.fence = Some(state.request(Operation::BarrierFence));
            self.is_unfenced = false;
        }
        let arriving: Vec<Split> = self.splits.at_barrier().collect();
        for split in arriving {
            if let Some(reduction) = reduction_at(running, split.pc) {
                let row = self.registers.predicates[usize::from(reduction.predicate)];
                let holds = if reduction.negated { !row } else { row } & split.mask;
                let words = reduction_words(running, self.reductions);
                add(&self.local_data, words, holds.count_ones());
                add(&self.local_data, words + 1, split.mask.count_ones());
            }
        }
        self.flush(state);
        let ticket = state.request(Operation::Barrier);
        self.barrier = Some(ticket);
        // The wavefront is woken when it has passed.
        state.has_passed(ticket);
    }

    /// The work-group has arrived at its barrier.
    pub(super) fn pass_barrier(&mut self) {
        let running = std::sync::Arc::clone(&self.running);
        let arrived: Vec<Split> = self.splits.at_barrier().collect();
        let mut reduces = false;
        for split in arrived {
            let Some(reduction) = reduction_at(&running, split.pc) else { continue };
            reduces = true;
            let words = reduction_words(&running, self.reductions) as usize;
            let cells = self.local_data.words();
            let (holds, threads) = (cells[words].get(), cells[words + 1].get());
            let Register { bank, number } = reduction.to;
            let value = match reduction.kind {
                ReductionKind::Count => holds,
                ReductionKind::All => u32::from(holds == threads),
                ReductionKind::Any => u32::from(holds != 0),
            };
            match bank {
                BankKind::Predicate => bool::write(&mut self.registers, number, split.mask, &[value != 0; LANES]),
                _ => u32::write(&mut self.registers, number, split.mask, &[value; LANES]),
            }
        }
        if reduces {
            let next = reduction_words(&running, self.reductions + 2) as usize;
            self.local_data.words()[next..next + REDUCTION_WORDS as usize].iter().for_each(|word| word.set(0));
            self.reductions += 1;
        }
        self.splits.resume(SplitState::AtBarrier, None);
    }
}

fn reduction_at(running: &Running, pc: u32) -> Option<Reduction> {
    match running.entry.code.instructions[pc as usize].action {
        Action::Barrier(barrier) => barrier.reduction,
        _ => None,
    }
}

/// The first word of the reduction of a number, behind the shared memory of the kernel.
fn reduction_words(running: &Running, number: u32) -> u32 {
    running.shared_bytes.div_ceil(4) + number % ROTATION * REDUCTION_WORDS
}

fn add(local_data: &LocalData, word: u32, count: u32) {
    let cell = &local_data.words()[word as usize];
    cell.set(cell.get() + count);
}
