//! Basic blocks, and the blocks where their ways meet again.

use crate::code::{Action, Code};

/// Marks a block without a number.
const NONE: u32 = u32::MAX;

/// The basic blocks of a code. Block 0 is the first one.
pub(super) struct Blocks {
    /// The first instruction of each block, and the end of the last one.
    pub(super) starts: Vec<u32>,
    /// The blocks that come after each.
    pub(super) successors: Vec<Vec<u32>>,
    pub(super) of_instruction: Vec<u32>,
}

impl Blocks {
    pub(super) fn of(code: &Code) -> Blocks {
        let count = code.instructions.len();
        let mut begins = vec![false; count + 1];
        begins[0] = true;
        for (index, instruction) in code.instructions.iter().enumerate() {
            match instruction.action {
                Action::Branch { target, .. } => {
                    begins[target as usize] = true;
                    begins[index + 1] = true;
                }
                Action::Exit => begins[index + 1] = true,
                _ => {}
            }
        }
        let mut starts: Vec<u32> = (0..count as u32).filter(|&index| begins[index as usize]).collect();
        let mut of_instruction = vec![0; count + 1];
        let mut block = 0;
        for index in 0..count {
            if index > 0 && begins[index] {
                block += 1;
            }
            of_instruction[index] = block;
        }
        starts.push(count as u32);
        let ends = starts[1..].iter().map(|&end| end as usize - 1);
        let successors = ends
            .map(|last| {
                let instruction = &code.instructions[last];
                let mut successors = Vec::new();
                if let Action::Branch { target, .. } = instruction.action {
                    successors.push(of_instruction[target as usize]);
                }
                let goes_on = match instruction.action {
                    // Lanes with the guard of an exit are gone. They meet nobody.
                    Action::Branch { .. } | Action::Exit => instruction.guard.is_some(),
                    _ => true,
                };
                if goes_on && last + 1 < count {
                    successors.push(of_instruction[last + 1]);
                }
                successors
            })
            .collect();
        Blocks { starts, successors, of_instruction }
    }

    pub(super) fn count(&self) -> usize {
        self.successors.len()
    }

    /// For each block, the first instruction that all ways from there to the end pass, if there is one.
    pub(super) fn meeting_points(&self) -> Vec<Option<u32>> {
        let exit = self.count();
        let order = self.order_from_exit(exit);
        let mut rank = vec![NONE; exit + 1];
        for (place, &block) in order.iter().enumerate() {
            rank[block as usize] = place as u32;
        }
        // The algorithm of Cooper, Harvey and Kennedy, on the edges turned round.
        let mut nearest = vec![NONE; exit + 1];
        nearest[exit] = exit as u32;
        let mut changed = true;
        while changed {
            changed = false;
            for &block in order.iter().skip(1) {
                let successors = &self.successors[block as usize];
                let ways = successors.iter().copied().chain(successors.is_empty().then_some(exit as u32));
                let known = ways.filter(|&next| nearest[next as usize] != NONE);
                let common = known.reduce(|a, b| common_point(&nearest, &rank, a, b));
                if let Some(common) = common.filter(|&common| nearest[block as usize] != common) {
                    nearest[block as usize] = common;
                    changed = true;
                }
            }
        }
        let meeting = |block: usize| {
            let point = nearest[block];
            (point != NONE && point as usize != exit).then(|| self.starts[point as usize])
        };
        (0..exit).map(meeting).collect()
    }

    /// The blocks that reach the exit, the exit first, each after the blocks that its ways to the exit end with.
    fn order_from_exit(&self, exit: usize) -> Vec<u32> {
        let mut predecessors = vec![Vec::new(); exit + 1];
        for (block, successors) in self.successors.iter().enumerate() {
            if successors.is_empty() {
                predecessors[exit].push(block as u32);
            }
            successors.iter().for_each(|&next| predecessors[next as usize].push(block as u32));
        }
        let mut seen = vec![false; exit + 1];
        seen[exit] = true;
        let mut order = Vec::new();
        let mut stack = vec![(exit as u32, 0)];
        while let Some((block, next)) = stack.last_mut() {
            match predecessors[*block as usize].get(*next) {
                Some(&before) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[before as usize], true) {
                        stack.push((before, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        order
    }
}

fn common_point(nearest: &[u32], rank: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        while rank[a as usize] > rank[b as usize] {
            a = nearest[a as usize];
        }
        while rank[b as usize] > rank[a as usize] {
            b = nearest[b as usize];
        }
    }
    a
}
