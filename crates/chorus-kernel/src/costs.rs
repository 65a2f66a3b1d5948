//! The costs of instructions on machines on which they wait for each other's results.
//!
//! A compute unit sees no instructions, only how many there are. A source that knows its instructions works out from
//! these costs how many issue slots a stretch of them takes, and how long their dependences make it, and queues both as
//! an [`Operation::Chain`](crate::Operation::Chain).

use chorus_system::{Instructions, SystemConfig};

/// The costs of instructions.
#[derive(Clone, Debug, PartialEq)]
pub struct InstructionCosts {
    /// The costs by class of instruction.
    pub instructions: Instructions,
    /// Core cycles of an access of the local data share without conflicts.
    pub local_data_cycles: u32,
}

impl InstructionCosts {
    /// The costs on a machine, if it has any.
    pub fn of(config: &SystemConfig) -> Option<InstructionCosts> {
        let instructions = config.instructions.clone()?;
        Some(InstructionCosts { instructions, local_data_cycles: config.core.lds_latency_cycles })
    }

    /// Core cycles until an access of the local data share has its result, if the fullest bank has so many words of it.
    pub fn local_data(&self, words: u32, is_atomic: bool) -> u32 {
        let least = if is_atomic { self.instructions.local_atomic_cycles } else { self.local_data_cycles };
        least + (words - 1) * self.instructions.conflict_cycles
    }
}
