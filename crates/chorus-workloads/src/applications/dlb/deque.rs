//! The deques of Arora, Blumofe and Plaxton (Thread Scheduling for Multiprogrammed Multiprocessors, SPAA 1998), one per
//! work-group, as Cederman and Tsigas use them.
//!
//! The owner pushes and pops tasks at the bottom; thieves take them from the top. Bottom is written by the owner alone.
//! Top shares a word, the age, with a tag that changes whenever the owner empties its deque and starts again at slot 0,
//! and a work-group that wants the task at the top must change the age by compare-and-exchange. Top has 8 bits and the
//! tag 24, enough to count more tasks than there are, so an age never comes back.
//!
//! Stores are not ordered by themselves on the machines that run this, so:
//! - Push: a release puts the tasks, and all that they refer to, before the bottom that shows them.
//! - Pop: a fence makes the lowered bottom visible before the age is read. The age is read by an atomic, where it
//!   cannot be stale: if no thief had reached this task by then, a later thief finds the lowered bottom. A second fence
//!   hides the slots before the age starts again.
//! - Steal: the age is acquired before the bottom, and the bottom before the slot, so the slot holds the task
//!   that the owner pushed under this age; the compare-and-exchange fails if the age has moved since.
//!
//! A deque takes one line for age and bottom and eight tasks per line for the slots.
//!
//! Arithmetic: 2 instructions for addresses and 2 to take an age apart and compare, at each attempt.

use chorus_kernel::{Buf, HostMemory, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use super::DEPTH_MAX;

/// A cell of the octree and the range of its particles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    /// 1 for the root; a child's key is its parent's followed by the three bits of its octant.
    pub(super) key: u32,
    /// The first of its particles.
    pub(super) first: u32,
    /// The number of its particles.
    pub(super) count: u32,
}

/// Words of a slot, one of them unused, so that tasks do not straddle lines.
const SLOT_WORDS: u32 = 4;

/// Tasks that a deque has room for. The owner pops its latest task, of the deepest level, and pushes eight at most:
/// seven tasks wait on each level and eight on the deepest.
const SLOTS: u32 = 8 * DEPTH_MAX;

/// Words between the headers of two deques: a line of the usual 128 bytes each.
const HEADER_WORDS: u32 = LANES as u32;
const AGE: u32 = 0;
const BOTTOM: u32 = 1;

const TOP_BITS: u32 = 8;
const _: () = assert!(SLOTS < 1 << TOP_BITS, "every slot number fits the top");

fn top_of(age: u32) -> u32 {
    age & ((1 << TOP_BITS) - 1)
}

/// The age of a deque that starts again at slot 0.
fn restarted(age: u32) -> u32 {
    ((age >> TOP_BITS) + 1) << TOP_BITS
}

/// The deques of all work-groups.
#[derive(Clone, Copy)]
pub(super) struct Deques {
    work_groups: u32,
    headers: Buf<u32>,
    slots: Buf<u32>,
}

impl Deques {
    /// One empty deque per work-group.
    pub(super) fn new(work_groups: u32, memory: &mut HostMemory) -> Deques {
        Deques {
            work_groups,
            headers: memory.alloc((work_groups * HEADER_WORDS) as usize),
            slots: memory.alloc((work_groups * SLOTS * SLOT_WORDS) as usize),
        }
    }

    /// Puts the first task into the deque of work-group 0, whose owner must then begin with a bottom of 1.
    pub(super) fn put_first(&self, task: Task, memory: &mut HostMemory) {
        for (word, value) in [task.key, task.first, task.count].into_iter().enumerate() {
            memory.set(self.slots, word, value);
        }
        memory.set(self.headers, BOTTOM as usize, 1);
    }

    /// The number of deques, one for each work-group.
    pub(super) fn work_groups(&self) -> u32 {
        self.work_groups
    }

    fn header(&self, owner: u32, word: u32) -> u32 {
        owner * HEADER_WORDS + word
    }

    fn slot(&self, owner: u32, slot: u32) -> u32 {
        (owner * SLOTS + slot) * SLOT_WORDS
    }

    /// Inserts up to eight tasks at the bottom of the wavefront's own deque. `bottom` is the owner's copy of its
    /// bottom.
    pub(super) async fn push(&self, w: &Wave, bottom: &mut u32, tasks: &[Task]) {
        let at = w.lane_ids() + self.slot(w.work_group(), *bottom);
        let words = Lanes::from_fn(|lane| {
            let task = tasks.get(lane / SLOT_WORDS as usize).copied().unwrap_or_default();
            [task.key, task.first, task.count, 0][lane % SLOT_WORDS as usize]
        });
        w.alu(2).await;
        w.store_where(Mask::first(tasks.len() * SLOT_WORDS as usize), self.slots, at, words);
        *bottom += tasks.len() as u32;
        w.store_release(self.headers, self.header(w.work_group(), BOTTOM), *bottom, Scope::Gpu).await;
    }

    /// Takes the latest task of the wavefront's own deque.
    pub(super) async fn pop(&self, w: &Wave, bottom: &mut u32) -> Option<Task> {
        if *bottom == 0 {
            return None;
        }
        let owner = w.work_group();
        *bottom -= 1;
        w.store_one(self.headers, self.header(owner, BOTTOM), *bottom);
        w.fence(Scope::Gpu).await;
        let task = self.read(w, owner, *bottom).await;
        let age = w.atomic_one(AtomicOp::Or, self.headers, self.header(owner, AGE), 0).await;
        w.alu(4).await;
        let top = top_of(age);
        if *bottom > top {
            return Some(task);
        }
        // The last task, or none: thieves must see an empty deque before they see slot 0 at its top.
        let last = *bottom == top;
        *bottom = 0;
        w.store_one(self.headers, self.header(owner, BOTTOM), 0);
        w.fence(Scope::Gpu).await;
        if last && self.exchange_age(w, owner, age, restarted(age)).await {
            return Some(task);
        }
        w.atomic_one(AtomicOp::Exchange, self.headers, self.header(owner, AGE), restarted(age)).await;
        None
    }

    /// Takes the oldest task of another work-group's deque, unless it is empty or another thief is faster.
    pub(super) async fn steal(&self, w: &Wave, victim: u32) -> Option<Task> {
        let age = w.load_acquire(self.headers, self.header(victim, AGE), Scope::Gpu).await;
        let bottom = w.load_acquire(self.headers, self.header(victim, BOTTOM), Scope::Gpu).await;
        w.alu(4).await;
        let top = top_of(age);
        if bottom <= top {
            return None;
        }
        let task = self.read(w, victim, top).await;
        self.exchange_age(w, victim, age, age + 1).await.then_some(task)
    }

    async fn read(&self, w: &Wave, owner: u32, slot: u32) -> Task {
        let at = w.lane_ids() + self.slot(owner, slot);
        let words = w.load_where(Mask::first(SLOT_WORDS as usize), self.slots, at).await;
        Task { key: words[0], first: words[1], count: words[2] }
    }

    async fn exchange_age(&self, w: &Wave, owner: u32, from: u32, to: u32) -> bool {
        let op = AtomicOp::CompareExchange { expected: from };
        w.atomic_one(op, self.headers, self.header(owner, AGE), to).await == from
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Kernel, flat};

    use super::*;

    const TASKS: u32 = 8 * 40;

    /// Work-group 0 pushes tasks and pops some itself while the others steal; counts how often each task was taken.
    fn times_taken(work_groups: u32, pops_per_push: u32) -> Vec<u32> {
        let mut memory = HostMemory::default();
        let deques = Deques::new(work_groups, &mut memory);
        let taken = memory.alloc::<u32>(TASKS as usize + 1);
        let kernel = Kernel::new("take", work_groups, 1, move |w| async move {
            let all_taken = async || w.load_acquire(taken, TASKS, Scope::Gpu).await == TASKS;
            let take = async |task: Task| {
                w.atomic_one(AtomicOp::Add, taken, task.key, 1).await;
                w.atomic_one(AtomicOp::Add, taken, TASKS, 1).await;
            };
            if w.work_group() > 0 {
                while !all_taken().await {
                    if let Some(task) = deques.steal(&w, 0).await {
                        take(task).await;
                    }
                }
                return;
            }
            let mut bottom = 0;
            for first in (0..TASKS).step_by(8) {
                let tasks: [Task; 8] = std::array::from_fn(|n| Task { key: first + n as u32, first: 0, count: 1 });
                deques.push(&w, &mut bottom, &tasks).await;
                for _ in 0..pops_per_push {
                    if let Some(task) = deques.pop(&w, &mut bottom).await {
                        take(task).await;
                    }
                }
            }
            while let Some(task) = deques.pop(&w, &mut bottom).await {
                take(task).await;
            }
        });
        flat::run_kernel(&kernel, &memory).unwrap();
        memory.read(taken)[..TASKS as usize].to_vec()
    }

    #[test]
    fn an_owner_alone_gets_every_task_back() {
        assert_eq!(times_taken(1, 8), vec![1; TASKS as usize]);
    }

    #[test]
    fn every_task_is_taken_once_while_thieves_compete() {
        for work_groups in 2..9 {
            assert_eq!(times_taken(work_groups, 7), vec![1; TASKS as usize], "{work_groups} work-groups");
        }
    }

    #[test]
    fn an_age_starts_again_at_slot_zero_with_another_tag() {
        let age = restarted(0) + 3;
        assert_eq!(top_of(age), 3);
        assert_eq!(top_of(restarted(age)), 0);
        assert_ne!(restarted(age), restarted(0));
    }
}
