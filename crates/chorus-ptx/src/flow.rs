//! The flow of control: where lanes that part meet again, which loops wait for other threads, in which order
//! instructions run, and which registers are in use together.

mod blocks;
mod liveness;
mod schedule;

use crate::code::{Action, Code};
use crate::registers::Register;
use crate::types::Space;
use blocks::Blocks;
use chorus_protocol::access::Order;
pub(crate) use liveness::{Allocation, allocate};
pub(crate) use schedule::{order, rearrange};

/// The most instructions that are examined to find loops that wait. Where there are more, every loop counts as one.
const EXAMINED_MAX: usize = 50_000_000;

/// Gives branches their meeting points, and marks those that close a loop that waits.
pub(crate) fn connect(code: &mut Code) {
    let blocks = Blocks::of(code);
    let meetings = blocks.meeting_points();
    let mut examined = 0;
    for index in 0..code.instructions.len() {
        let Action::Branch { target, .. } = code.instructions[index].action else { continue };
        let is_conditional = code.instructions[index].guard.is_some();
        let found = if is_conditional { meetings[blocks.of_instruction[index] as usize] } else { None };
        let is_backward = target as usize <= index;
        let closes_waiting_loop = is_backward && {
            examined += index - target as usize + 1;
            examined > EXAMINED_MAX || waits_for_others(code, target as usize, index)
        };
        if let Action::Branch { meeting, waits, .. } = &mut code.instructions[index].action {
            (*meeting, *waits) = (found, closes_waiting_loop);
        }
    }
}

/// Whether a loop ends when another thread writes something: a way out of it depends on an atomic operation or on a
/// load that may race.
fn waits_for_others(code: &Code, first: usize, last: usize) -> bool {
    let mut tainted: Vec<Register> = Vec::new();
    loop {
        let before = tainted.len();
        for instruction in &code.instructions[first..=last] {
            let reads = &code.uses[instruction.reads.start as usize..instruction.reads.end as usize];
            let is_source = match &instruction.action {
                Action::Atomic(_) => true,
                Action::Load(load) => {
                    load.order != Order::Weak && !matches!(load.address.space, Space::Const | Space::Param)
                }
                _ => false,
            };
            if is_source || reads.iter().any(|read| tainted.contains(read)) {
                for write in &code.uses[instruction.writes.start as usize..instruction.writes.end as usize] {
                    if !tainted.contains(write) {
                        tainted.push(*write);
                    }
                }
            }
            let leaves = match &instruction.action {
                Action::Branch { target, .. } => {
                    !(first..=last).contains(&(*target as usize)) || *target as usize == first
                }
                Action::Exit => true,
                _ => false,
            };
            let guard = instruction.guard.filter(|_| leaves);
            let is_tainted = |predicate: u16| {
                tainted.contains(&Register { bank: crate::registers::BankKind::Predicate, number: predicate })
            };
            if guard.is_some_and(|guard| is_tainted(guard.predicate)) {
                return true;
            }
        }
        if tainted.len() == before {
            return false;
        }
    }
}
