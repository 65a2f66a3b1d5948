//! Loops that poll, as they look in a trace.
//!
//! A warp that waits for another one reads a word again and again. A trace has as many rounds of that as the traced GPU
//! needed, and another machine would need others. Such a loop cannot be replayed faithfully, so it is named.

use crate::instruction::Instruction;
use crate::opcode::{Class, Opcode};

/// Reads of the same word at the same place, with nothing else between them, from which on a loop polls.
const ROUNDS: u32 = 3;

/// Watches the instructions of one warp.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Polling {
    /// The place and the address of the last read that may be one of several.
    last: Option<(u64, u64)>,
    rounds: u32,
}

/// A place at which a warp polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Polled {
    pub pc: u64,
    pub address: u64,
}

impl Polling {
    /// Sees the next instruction. Returns the place if it is one at which the warp polls.
    pub(crate) fn see(&mut self, instruction: &Instruction<'_>, opcode: &Opcode) -> Option<Polled> {
        let waits = matches!(opcode.class, Class::Barrier);
        if !waits && (!opcode.accesses() || instruction.mask == 0 || instruction.width == 0) {
            return None;
        }
        let first = instruction.lanes().next().filter(|_| opcode.can_poll());
        let read = first.map(|lane| (instruction.pc, instruction.addresses[lane]));
        self.rounds = if read.is_some() && read == self.last { self.rounds + 1 } else { 1 };
        self.last = read;
        let (pc, address) = read.filter(|_| self.rounds >= ROUNDS)?;
        Some(Polled { pc, address })
    }
}
