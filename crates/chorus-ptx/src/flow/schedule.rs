//! The order of instructions: loads come as early as their addresses do, as a compiler for a machine that issues in
//! order would have it. So several loads are on their way before anything waits for the first of them.
//!
//! Instructions move only between others that stay where they are: stores, atomics, fences, barriers, ordered loads,
//! and whatever ends a block. Each still reads and writes the same values.

use std::collections::HashMap;

use chorus_protocol::access::Order;

use super::blocks::Blocks;
use crate::code::{Action, Code, Instruction, Load};
use crate::registers::Register;
use crate::types::Space;

/// The most loads that come before instructions that stood between them: each holds registers until it is used.
const LOADS_MAX: usize = 16;

/// The part that an instruction has in the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A weak load, which moves up.
    Load,
    /// An instruction that only computes, which may move.
    Free,
    /// An instruction that stays where it is.
    Fixed,
}

fn part(instruction: &Instruction) -> Part {
    match &instruction.action {
        Action::Load(Load { address, .. }) if matches!(address.space, Space::Param | Space::Const) => Part::Free,
        Action::Load(Load { order: Order::Weak, .. }) => Part::Load,
        Action::Compute(_) | Action::Nothing => Part::Free,
        Action::Load(_)
        | Action::Store(_)
        | Action::Atomic(_)
        | Action::Fence(..)
        | Action::Barrier(_)
        | Action::Sync { .. }
        | Action::Look { .. }
        | Action::Branch { .. }
        | Action::Exit
        | Action::Print(_)
        | Action::Assert { .. } => Part::Fixed,
    }
}

/// The order in which the instructions of a code run: for each place, the number of the instruction that comes there.
/// The first instruction of a block is still at its place, and so is every instruction that does not move.
pub(crate) fn order(code: &Code) -> Vec<u32> {
    let blocks = Blocks::of(code);
    let mut order: Vec<u32> = (0..code.instructions.len() as u32).collect();
    for block in blocks.starts.windows(2) {
        let (begin, end) = (block[0] as usize, block[1] as usize);
        let (mut first, mut loads) = (begin, 0);
        for index in begin..end {
            match part(&code.instructions[index]) {
                Part::Fixed => {
                    hoist(code, &mut order[first..index]);
                    (first, loads) = (index + 1, 0);
                }
                Part::Load if loads == LOADS_MAX => {
                    hoist(code, &mut order[first..index]);
                    (first, loads) = (index, 1);
                }
                Part::Load => loads += 1,
                Part::Free => {}
            }
        }
        hoist(code, &mut order[first..end]);
    }
    order
}

/// Puts the loads of a stretch first, each behind what it needs, in the order that they had.
fn hoist(code: &Code, stretch: &mut [u32]) {
    let before = before(code, stretch);
    let mut is_placed = vec![false; stretch.len()];
    let mut sorted = Vec::with_capacity(stretch.len());
    let is_load = |place: usize| part(&code.instructions[stretch[place] as usize]) == Part::Load;
    for load in (0..stretch.len()).filter(|&place| is_load(place)) {
        let mut needed = vec![load];
        is_placed[load] = true;
        let mut next = 0;
        while let Some(&place) = needed.get(next) {
            next += 1;
            for &other in &before[place] {
                if !is_placed[other] {
                    is_placed[other] = true;
                    needed.push(other);
                }
            }
        }
        needed.sort_unstable();
        sorted.extend(needed.into_iter().map(|place| stretch[place]));
    }
    let rest = (0..stretch.len()).filter(|&place| !is_placed[place]);
    sorted.extend(rest.map(|place| stretch[place]));
    stretch.copy_from_slice(&sorted);
}

/// For each instruction of a stretch, those that come before it because it uses a register that they write, or writes
/// one that they use.
fn before(code: &Code, stretch: &[u32]) -> Vec<Vec<usize>> {
    /// The last instruction that wrote a register, and those that have read it since.
    type Users = (Option<usize>, Vec<usize>);
    let mut users: HashMap<Register, Users> = HashMap::new();
    let of_one = |(place, &number): (usize, &u32)| {
        let [reads, writes] = code.registers_of(&code.instructions[number as usize]);
        let mut before = Vec::new();
        for &register in reads {
            let (writer, readers) = users.entry(register).or_default();
            before.extend(*writer);
            readers.push(place);
        }
        for &register in writes {
            let (writer, readers) = users.entry(register).or_default();
            before.extend(*writer);
            before.extend(readers.drain(..).filter(|&reader| reader != place));
            *writer = Some(place);
        }
        before
    };
    stretch.iter().enumerate().map(of_one).collect()
}

/// Brings instructions into an order.
pub(crate) fn rearrange(instructions: &mut Vec<Instruction>, order: &[u32]) {
    let mut places: Vec<Option<Instruction>> = std::mem::take(instructions).into_iter().map(Some).collect();
    instructions.extend(order.iter().filter_map(|&number| places[number as usize].take()));
}
