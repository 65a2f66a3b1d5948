//! When the registers of a wavefront have their values: instructions issue in order, each once the registers that it
//! reads are there.
//!
//! Time here is that of a wavefront that nobody disturbs. It counts hundredths of core cycles, since an instruction of
//! PTX stands for a part of a machine instruction, or for several. The compute unit gets stretches of instructions as
//! their number and the time that they take at least ([`Operation::Chain`]).

use std::sync::Arc;

use chorus_kernel::{InstructionClass, InstructionCosts, Operation, WaveState};
use chorus_protocol::save::{self, Restore};

use crate::registers::{BankKind, Register, Registers};

/// Hundredths of a cycle, or of a machine instruction.
const WHOLE: u64 = 100;
/// A time after which every register has its value, whatever its instruction costs.
const REST: u64 = 1 << 24;

/// The registers of a wavefront, and when each has its value.
#[derive(Restore)]
pub(super) struct Scoreboard {
    #[save(built)]
    costs: Arc<InstructionCosts>,
    words: Vec<u64>,
    longs: Vec<u64>,
    predicates: Vec<u64>,
    /// When the next instruction can issue.
    now: u64,
    /// The time up to which the compute unit knows of instructions.
    told: u64,
    /// Machine instructions that it does not know of.
    slots: u64,
}

impl Scoreboard {
    /// All registers have their values.
    pub(super) fn new(costs: Arc<InstructionCosts>, registers: &Registers) -> Scoreboard {
        let [words, longs, predicates] =
            [registers.words.len(), registers.longs.len(), registers.predicates.len()].map(|count| vec![0; count]);
        Scoreboard { costs, words, longs, predicates, now: 0, told: 0, slots: 0 }
    }

    #[inline]
    fn place(&mut self, register: Register) -> &mut u64 {
        let number = usize::from(register.number);
        match register.bank {
            BankKind::Word => &mut self.words[number],
            BankKind::Long => &mut self.longs[number],
            BankKind::Predicate => &mut self.predicates[number],
        }
    }

    /// Issues an instruction that reads and writes these registers. An access only waits for what it reads.
    #[inline]
    pub(super) fn issue(&mut self, class: InstructionClass, reads: &[Register], writes: &[Register]) {
        let cost = self.costs.instructions.cost(class);
        let there = reads.iter().fold(0, |time, &register| (*self.place(register)).max(time));
        let percent = u64::from(cost.percent);
        // What a compiler drops waits for nothing, but what it names is no sooner there.
        let waits = percent > 0 || class == InstructionClass::Access;
        let issued = if waits { self.now.max(there) } else { there };
        // Instructions that a compiler merges share issue slots. Those that stay take their whole latency.
        let latency = if percent > 0 { u64::from(cost.cycles) * WHOLE } else { 0 };
        let result = issued + latency;
        if waits {
            self.now = issued + percent;
            self.slots += percent;
        }
        writes.iter().for_each(|&register| *self.place(register) = result);
    }

    /// The result of an access of the local data share comes into registers, of which the fullest bank has so many
    /// words.
    pub(super) fn local_data(&mut self, words: u32, is_atomic: bool, writes: &[Register]) {
        let result = self.now + u64::from(self.costs.local_data(words, is_atomic)) * WHOLE;
        writes.iter().for_each(|&register| *self.place(register) = result);
    }

    /// Queues the instructions that the compute unit does not know of.
    pub(super) fn flush(&mut self, state: &mut WaveState) {
        let slots = self.slots / WHOLE;
        // What is less than a cycle is left for the next time.
        let cycles = (self.now - self.told) / WHOLE;
        self.slots %= WHOLE;
        self.told += cycles * WHOLE;
        match (slots as u32, cycles as u32) {
            (0, 0) => {}
            (1, 0 | 1) => state.push(Operation::Alu(1)),
            (slots, cycles) => state.push(Operation::Chain { slots, cycles }),
        }
    }

    /// The wavefront has waited for something else, so that all registers have their values.
    pub(super) fn rest(&mut self) {
        self.now += REST;
        self.told = self.now;
    }
}
