//! Accesses of one word made into vector accesses of two, for programs at random.

use chorus_litmus::test::{Instruction, LocationId, Modify, Operand, Register};

/// The access together with one of the word `next`, as one instruction. The instruction alone, if it accesses nothing
/// or if registers are too few for two words. `registers` is the number of the thread's registers.
pub fn widened(first: Instruction, next: LocationId, registers: u8) -> Vec<Instruction> {
    let beside = |to: Register| Register((to.0 + 1) % registers);
    let second = match first {
        Instruction::Load { to, order, scope, .. } => {
            Instruction::Load { to: beside(to), at: next, order, scope, joined: true }
        }
        Instruction::Store { value, order, scope, .. } => {
            Instruction::Store { at: next, value: another(value, None), order, scope, joined: true }
        }
        Instruction::Atomic { to, modify, order, scope, .. } => {
            if to.is_some_and(|to| operands(modify).contains(&Operand::Register(beside(to)))) {
                return vec![first];
            }
            let modify = with_operands(modify, |operand| another(operand, to));
            Instruction::Atomic { to: to.map(beside), at: next, modify, order, scope, joined: true }
        }
        _ => return vec![first],
    };
    vec![first, second]
}

/// An operand for the second word that does not come from a register that the first word sets.
fn another(operand: Operand, set: Option<Register>) -> Operand {
    match operand {
        Operand::Constant(value) => Operand::Constant(value.wrapping_add(1)),
        Operand::Register(register) if Some(register) == set => Operand::Constant(1),
        Operand::Register(_) => operand,
    }
}

fn operands(modify: Modify) -> Vec<Operand> {
    match modify {
        Modify::Add(a) | Modify::Sub(a) | Modify::And(a) | Modify::Or(a) | Modify::Xor(a) | Modify::Exchange(a) => {
            vec![a]
        }
        Modify::CompareExchange { expected, new } => vec![expected, new],
    }
}

fn with_operands(modify: Modify, change: impl Fn(Operand) -> Operand) -> Modify {
    match modify {
        Modify::Add(a) => Modify::Add(change(a)),
        Modify::Sub(a) => Modify::Sub(change(a)),
        Modify::And(a) => Modify::And(change(a)),
        Modify::Or(a) => Modify::Or(change(a)),
        Modify::Xor(a) => Modify::Xor(change(a)),
        Modify::Exchange(a) => Modify::Exchange(change(a)),
        Modify::CompareExchange { expected, new } => {
            Modify::CompareExchange { expected: change(expected), new: change(new) }
        }
    }
}
