//! A wavefront that runs code: it computes until it needs a value that is not there.

mod access;
mod pending;
mod print;
mod scoreboard;
mod together;

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use chorus_kernel::{AtomicOrder, LANES, LocalData, Operation, WaveId, WaveSource, WaveStart, WaveState};
use chorus_protocol::access::{Order, Scope};
use chorus_protocol::save::{self, Damaged, Reader, Restore};

use crate::code::{Action, Instruction, Sight};
use crate::registers::{Bank, BankKind, Register, Registers};
use crate::running::Running;
use crate::splits::{Split, SplitState, Splits};
use pending::Pending;
use scoreboard::Scoreboard;
pub(crate) use together::REDUCTION_BYTES;

/// How many instructions a wavefront runs ahead of the machine.
const AHEAD_MAX: u32 = 256;

/// The step after an instruction.
enum Next {
    /// The next instruction of the split.
    Instruction,
    /// The next instruction of the split. This one has been queued as an operation of its own.
    Queued,
    /// A step that the instruction has chosen already.
    Done,
    /// This instruction again, once the values that it waits for are there.
    Wait,
}

/// A wavefront of a kernel in PTX.
#[derive(Restore)]
pub(crate) struct Wavefront {
    #[save(built)]
    running: Arc<Running>,
    #[save(built)]
    id: WaveId,
    #[save(apart)]
    local_data: LocalData,
    #[save(built)]
    atomic_order: AtomicOrder,
    registers: Registers,
    splits: Splits,
    pending: Pending,
    /// Local memory: for each word of a lane's, the words of all lanes.
    local: Vec<[u32; LANES]>,
    /// Instructions since the last operation was queued.
    instructions: u32,
    /// Instructions since the source last returned.
    ahead: u32,
    /// The last fence. Shared memory is accessed only behind it.
    fence: Option<u32>,
    /// Whether global memory has been accessed since the last fence.
    is_unfenced: bool,
    /// The look that the wavefront waits for.
    look: Option<u32>,
    /// The barrier that the wavefront waits at.
    barrier: Option<u32>,
    /// When registers have their values, on machines on which instructions wait for them.
    #[save(each)]
    scoreboard: Option<Box<Scoreboard>>,
    /// Barriers with reductions passed.
    reductions: u32,
    printed: u32,
}

impl WaveSource for Wavefront {
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        self.get_mut().run(&mut state.borrow_mut())
    }

    fn place(&self) -> Option<String> {
        let split = self.splits.first()?;
        let at = self.running.entry.code.instructions.get(split.pc as usize)?.at;
        Some(format!("{}:{}, lane {}", self.running.file, at.line, split.mask.trailing_zeros()))
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

impl Wavefront {
    pub(crate) fn start(running: Arc<Running>, start: WaveStart) -> Wavefront {
        let WaveStart { id, local_data, atomic_order, costs } = start;
        let registers = running.registers(id);
        let mask = running.lanes_of(id.wave);
        let pending = Pending::new(&registers);
        let scoreboard = costs.map(|costs| Box::new(Scoreboard::new(costs, &registers)));
        let local = vec![[0; LANES]; running.entry.local_bytes.div_ceil(4) as usize];
        Wavefront {
            running,
            id,
            local_data,
            atomic_order,
            registers,
            splits: Splits::new(mask),
            pending,
            local,
            instructions: 0,
            ahead: 0,
            fence: None,
            is_unfenced: false,
            look: None,
            barrier: None,
            scoreboard,
            reductions: 0,
            printed: 0,
        }
    }

    /// Runs until the wavefront waits or ends. Returns whether it has ended.
    fn run(&mut self, state: &mut WaveState) -> bool {
        if let Some(ticket) = self.barrier {
            if !state.has_passed(ticket) {
                return false;
            }
            self.barrier = None;
            self.pass_barrier();
        }
        self.ahead = 0;
        self.scoreboard.iter_mut().for_each(|scoreboard| scoreboard.rest());
        let running = Arc::clone(&self.running);
        while self.ahead < AHEAD_MAX {
            let Some(split) = self.splits.pick() else {
                if self.splits.live() == 0 {
                    self.pending.abandon_all(state);
                    self.flush(state);
                    return true;
                }
                if self.wait_together(&running, state) {
                    return false;
                }
                continue;
            };
            let instruction = &running.entry.code.instructions[split.pc as usize];
            if !self.pending.is_empty() && !self.is_ready(&running, instruction, state) {
                self.flush(state);
                return false;
            }
            if let Some(scoreboard) = &mut self.scoreboard {
                let [reads, writes] = running.entry.code.registers_of(instruction);
                scoreboard.issue(instruction.class, reads, writes);
            }
            match self.execute(instruction, split, state) {
                Next::Instruction => self.splits.go_to(split.pc + 1),
                Next::Queued => {
                    self.splits.go_to(split.pc + 1);
                    continue;
                }
                Next::Done => {}
                Next::Wait => {
                    self.flush(state);
                    return false;
                }
            }
            self.instructions += 1;
            self.ahead += 1;
        }
        self.flush(state);
        false
    }

    /// Whether the registers of an instruction have their values, and no load still writes those that it writes.
    fn is_ready(&mut self, running: &Running, instruction: &Instruction, state: &mut WaveState) -> bool {
        let uses = &running.entry.code.uses[instruction.reads.start as usize..instruction.writes.end as usize];
        self.pending.resolve(uses, &mut self.registers, state)
    }

    /// Queues the instructions that touch no memory.
    fn flush(&mut self, state: &mut WaveState) {
        match &mut self.scoreboard {
            None => state.push(Operation::Alu(std::mem::take(&mut self.instructions))),
            Some(scoreboard) => scoreboard.flush(state),
        }
    }

    /// Queues a fence. Later operations stay behind it.
    fn fence(&mut self, order: Order, scope: Scope, state: &mut WaveState) {
        self.flush(state);
        let scope = self.scope(scope);
        self.fence = Some(state.request(Operation::Fence { order, scope }));
        self.is_unfenced &= order == Order::Acquire;
    }

    #[inline]
    fn execute(&mut self, instruction: &Instruction, split: Split, state: &mut WaveState) -> Next {
        let mut mask = split.mask;
        if let Some(guard) = instruction.guard {
            let holds = self.registers.predicates[usize::from(guard.predicate)];
            mask &= if guard.negated { !holds } else { holds };
        }
        match &instruction.action {
            Action::Compute(step) => {
                if mask != 0 {
                    step(&mut self.registers, mask);
                }
                Next::Instruction
            }
            &Action::Branch { target, meeting, waits } => {
                self.splits.branch(mask, target, meeting);
                if target <= split.pc && mask != 0 {
                    self.splits.step_back(waits);
                }
                Next::Done
            }
            Action::Exit if mask == 0 => Next::Instruction,
            Action::Exit => {
                self.splits.exit(mask, split.pc + 1);
                Next::Done
            }
            Action::Sync { members, action } => self.sync(instruction, *members, action, mask, split),
            _ if mask == 0 => Next::Instruction,
            Action::Load(load) => self.load(instruction, load, mask, state),
            Action::Store(store) => self.store(instruction, store, mask, state),
            Action::Atomic(atomic) => self.atomic(instruction, atomic, mask, state),
            &Action::Fence(order, scope) => {
                self.fence(order, scope, state);
                Next::Instruction
            }
            Action::Barrier(_) => {
                self.splits.park(SplitState::AtBarrier);
                Next::Done
            }
            &Action::Look { sight, to } => self.look(sight, to, mask, state),
            Action::Print(print) => {
                print::print(self, print, mask, instruction);
                Next::Instruction
            }
            &Action::Assert { message, file, line, function } => {
                print::assertion(self, [message, file, line, function], mask, instruction)
            }
            Action::Nothing => Next::Instruction,
        }
    }

    /// Asks when and where the wavefront is. It waits until the machine comes to the question, which stands behind all
    /// that was queued before.
    #[cold]
    fn look(&mut self, sight: Sight, to: Register, mask: u32, state: &mut WaveState) -> Next {
        self.flush(state);
        let ticket = self.look.unwrap_or_else(|| state.request(Operation::Look));
        self.look = Some(ticket);
        if !state.has_passed(ticket) {
            return Next::Wait;
        }
        self.look = None;
        let value = sight.value(state.surroundings());
        match to.bank {
            BankKind::Long => u64::write(&mut self.registers, to.number, mask, &[value; LANES]),
            _ => u32::write(&mut self.registers, to.number, mask, &[value as u32; LANES]),
        }
        Next::Queued
    }

    /// Ends the run with a message about an instruction of a lane.
    fn fail(&self, instruction: &Instruction, lane: usize, message: impl fmt::Display) -> ! {
        self.running.fail(self.id, instruction.at, lane, message)
    }
}
