//! The lanes of a wavefront that have parted: each split is a set of lanes at one instruction.
//!
//! Lanes that part at a branch meet again at its meeting point, where those that come first wait for the others. A loop
//! that waits for another thread may wait for a lane that waits at the meeting point itself. So where such a loop goes
//! back, the lanes that wait are let go, and the next split has its turn. Locks among lanes of a wavefront end that
//! way.

use chorus_protocol::save::{self, Save};

/// Marks a split that meets nobody.
const NONE: u32 = u32::MAX;

/// How often splits go back in loops that wait for nobody before waiting lanes are let go all the same.
const PATIENCE: u32 = 10_000;

/// The event that a split waits for, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) enum SplitState {
    Ready,
    /// It stands at a barrier of the work-group.
    AtBarrier,
    /// It stands at an instruction that waits for other lanes.
    AtSync,
}

#[derive(Clone, Copy, Debug, Save)]
pub(crate) struct Split {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    pub(crate) state: SplitState,
    /// Where it meets others.
    join: u32,
}

/// A place where lanes meet that parted at a branch.
#[derive(Clone, Copy, Debug, Save)]
struct Join {
    pc: u32,
    /// The lanes that come here, those that have arrived among them. None: this place is free.
    expected: u32,
    arrived: u32,
    /// Where those that met here meet others.
    parent: u32,
}

#[derive(Debug, Save)]
pub(crate) struct Splits {
    list: Vec<Split>,
    current: usize,
    joins: Vec<Join>,
    /// Lanes that have not ended.
    live: u32,
    /// Steps back since lanes were last let go.
    steps_back: u32,
}

impl Splits {
    pub(crate) fn new(mask: u32) -> Splits {
        let list = vec![Split { pc: 0, mask, state: SplitState::Ready, join: NONE }];
        Splits { list, current: 0, joins: Vec::new(), live: mask, steps_back: 0 }
    }

    /// The lanes that have not ended.
    pub(crate) fn live(&self) -> u32 {
        self.live
    }

    /// The split that had the last turn, or another one if it has ended.
    pub(crate) fn first(&self) -> Option<Split> {
        self.list.get(self.current).or(self.list.first()).copied()
    }

    /// The split whose turn it is. There is none if all wait or have ended.
    #[inline]
    pub(crate) fn pick(&mut self) -> Option<Split> {
        let count = self.list.len();
        for _ in 0..count {
            if self.current >= count {
                self.current = 0;
            }
            let split = self.list[self.current];
            if split.state == SplitState::Ready {
                return Some(split);
            }
            self.current += 1;
        }
        None
    }

    /// The current split has done its instruction and goes on to `pc`.
    #[inline]
    pub(crate) fn go_to(&mut self, pc: u32) {
        self.list[self.current].pc = pc;
        if self.list[self.current].join != NONE {
            self.settle(self.current);
        }
    }

    /// The lanes of `taken` go to `target`, the others of the current split to the next instruction. They meet at
    /// `meeting`.
    pub(crate) fn branch(&mut self, taken: u32, target: u32, meeting: Option<u32>) {
        let split = self.list[self.current];
        let rest = split.mask & !taken;
        if rest == 0 || taken == 0 {
            return self.go_to(if rest == 0 { target } else { split.pc + 1 });
        }
        let join = match meeting {
            None => split.join,
            Some(pc) if split.join != NONE && self.joins[split.join as usize].pc == pc => split.join,
            Some(pc) => self.new_join(Join { pc, expected: split.mask, arrived: 0, parent: split.join }),
        };
        self.list[self.current] = Split { pc: split.pc + 1, mask: rest, join, ..split };
        self.list.push(Split { pc: target, mask: taken, join, ..split });
        self.settle(self.list.len() - 1);
        self.settle(self.current);
    }

    /// The current split goes back in a loop. Waiting lanes are let go if it may wait for one of them.
    pub(crate) fn step_back(&mut self, waits: bool) {
        self.steps_back += 1;
        if !waits && self.steps_back < PATIENCE {
            return;
        }
        self.steps_back = 0;
        let Some(split) = self.list.get(self.current) else { return };
        let mut next = split.join;
        while next != NONE {
            let parent = self.joins[next as usize].parent;
            self.let_go(next);
            next = parent;
        }
        self.current += 1;
    }

    /// Lets go all lanes that wait for others to meet them. Returns whether there were any.
    pub(crate) fn let_all_go(&mut self) -> bool {
        let waiting = |join: &Join| join.expected != 0 && join.arrived != 0;
        let Some(join) = self.joins.iter().position(waiting) else { return false };
        self.let_go(join as u32);
        true
    }

    fn let_go(&mut self, join: u32) {
        let place = &mut self.joins[join as usize];
        let (mask, pc, parent) = (place.arrived, place.pc, place.parent);
        if mask == 0 {
            return;
        }
        place.arrived = 0;
        place.expected &= !mask;
        self.list.push(Split { pc, mask, state: SplitState::Ready, join: parent });
        self.settle(self.list.len() - 1);
    }

    /// Lanes of the current split have ended.
    pub(crate) fn exit(&mut self, lanes: u32, next: u32) {
        let split = &mut self.list[self.current];
        let mut join = split.join;
        split.mask &= !lanes;
        split.pc = next;
        self.live &= !lanes;
        if split.mask == 0 {
            self.list.swap_remove(self.current);
        } else if join != NONE {
            self.settle(self.current);
        }
        while join != NONE {
            let place = &mut self.joins[join as usize];
            let parent = place.parent;
            place.expected &= !lanes;
            if place.expected != 0 && place.arrived == place.expected {
                self.complete(join);
            }
            join = parent;
        }
    }

    /// Sets what the current split waits for.
    pub(crate) fn park(&mut self, state: SplitState) {
        self.list[self.current].state = state;
    }

    /// The lanes of all splits in a state; with `pc`, only of those at that instruction.
    pub(crate) fn lanes(&self, state: SplitState, pc: Option<u32>) -> u32 {
        let chosen = self.list.iter().filter(|split| split.state == state && pc.is_none_or(|pc| split.pc == pc));
        chosen.fold(0, |lanes, split| lanes | split.mask)
    }

    /// The instruction that a split in this state stands at.
    pub(crate) fn pc_of(&self, state: SplitState) -> u32 {
        self.list.iter().find(|split| split.state == state).map_or(0, |split| split.pc)
    }

    /// The splits at a barrier.
    pub(crate) fn at_barrier(&self) -> impl Iterator<Item = Split> {
        self.list.iter().filter(|split| split.state == SplitState::AtBarrier).copied()
    }

    /// Lets the splits in a state go on behind their instructions; with `pc`, only those at that instruction.
    pub(crate) fn resume(&mut self, state: SplitState, pc: Option<u32>) {
        let mut index = 0;
        while let Some(split) = self.list.get_mut(index) {
            if split.state != state || pc.is_some_and(|pc| split.pc != pc) {
                index += 1;
                continue;
            }
            split.state = SplitState::Ready;
            split.pc += 1;
            let count = self.list.len();
            self.settle(index);
            // A split that has arrived where it meets others has left the list.
            if self.list.len() == count && self.list[index].state == SplitState::Ready {
                index += 1;
            }
        }
    }

    fn new_join(&mut self, join: Join) -> u32 {
        match self.joins.iter().position(|join| join.expected == 0) {
            Some(free) => {
                self.joins[free] = join;
                free as u32
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// Lets a split arrive if it stands where it meets others.
    fn settle(&mut self, index: usize) {
        let Some(&split) = self.list.get(index) else { return };
        if split.join == NONE || self.joins[split.join as usize].pc != split.pc {
            return;
        }
        self.list.swap_remove(index);
        let join = &mut self.joins[split.join as usize];
        join.arrived |= split.mask;
        if join.arrived == join.expected {
            self.complete(split.join);
        }
    }

    /// All lanes that come to a place have arrived. They go on together.
    fn complete(&mut self, join: u32) {
        let place = &mut self.joins[join as usize];
        let Join { pc, arrived, parent, .. } = *place;
        (place.expected, place.arrived) = (0, 0);
        self.steps_back = 0;
        self.list.push(Split { pc, mask: arrived, state: SplitState::Ready, join: parent });
        self.settle(self.list.len() - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(splits: &mut Splits) -> (u32, u32) {
        splits.pick().map_or((u32::MAX, 0), |split| (split.pc, split.mask))
    }

    #[test]
    fn lanes_that_part_meet_again_also_where_branches_nest() {
        let mut splits = Splits::new(0xff);
        splits.branch(0x0f, 10, Some(20));
        // The lower half is at 10, the upper one at 1.
        assert_eq!(splits.list.len(), 2);
        assert_eq!(picked(&mut splits), (1, 0xf0));
        splits.branch(0x10, 20, Some(20));
        assert_eq!(picked(&mut splits), (2, 0xe0), "lane 4 has arrived and waits");
        splits.go_to(20);
        assert_eq!(picked(&mut splits), (10, 0x0f));
        splits.branch(0x03, 15, Some(16));
        splits.pick();
        splits.exit(0x0c, 12);
        assert_eq!(picked(&mut splits), (15, 0x03));
        splits.go_to(16);
        assert_eq!(picked(&mut splits), (16, 0x03), "the lanes that have ended are not waited for");
        splits.go_to(20);
        assert_eq!(picked(&mut splits), (20, 0xf3));
        assert!(splits.joins.iter().all(|join| join.expected == 0));
    }

    #[test]
    fn a_loop_that_waits_lets_the_lanes_go_that_it_waits_for() {
        let mut splits = Splits::new(0b11);
        // Lane 0 has the lock and leaves the loop at 5; lane 1 goes back.
        splits.go_to(4);
        splits.branch(0b10, 0, Some(5));
        assert_eq!(picked(&mut splits), (0, 0b10));
        splits.step_back(true);
        assert_eq!(picked(&mut splits), (5, 0b01));
        splits.exit(0b01, 6);
        assert_eq!(picked(&mut splits), (0, 0b10));
        splits.go_to(5);
        assert_eq!(picked(&mut splits), (5, 0b10));
    }

    #[test]
    fn a_loop_that_waits_for_nobody_keeps_its_lanes_together() {
        let mut splits = Splits::new(0b11);
        splits.branch(0b10, 0, Some(1));
        for _ in 0..PATIENCE - 1 {
            splits.pick();
            splits.step_back(false);
        }
        assert_eq!(splits.list.len(), 1);
        splits.pick();
        splits.step_back(false);
        assert_eq!(splits.list.len(), 2);
    }

    #[test]
    fn splits_that_resume_may_meet() {
        let mut splits = Splits::new(0b11);
        splits.branch(0b10, 7, Some(8));
        splits.pick();
        splits.go_to(7);
        for _ in 0..2 {
            splits.pick();
            splits.park(SplitState::AtSync);
        }
        assert_eq!((splits.pick().is_none(), splits.lanes(SplitState::AtSync, Some(7))), (true, 0b11));
        splits.resume(SplitState::AtSync, Some(7));
        assert_eq!(picked(&mut splits), (8, 0b11));
    }
}
