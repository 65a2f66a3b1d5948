//! The deques of Arora, Blumofe and Plaxton (Thread Scheduling for Multiprogrammed Multiprocessors, SPAA 1998), one per
//! work-group, as Cederman and Tsigas use them.
//!
//! The owner pushes and pops tasks at the tail; thieves take them from the head. The tail is written by the owner
//! alone. The head is a word of two halves: the slot of the oldest task, and a count that changes whenever the owner
//! empties its deque and starts again at slot 0. A work-group that wants the task at the head must change this word by
//! compare-and-exchange.
//!
//! As in the original, the tail and the head of all deques lie side by side, 16 deques to a line, and the owner keeps
//! no copy of its tail: it reads it again for every step. A deque has 256 slots of 32 bytes. A push also looks at the
//! greatest length that any deque has had, one word for all.
//!
//! Stores are not ordered by themselves on the machines that run this, so there are fences that the original, written
//! for GPUs without caches, does not have:
//! - Push: a release puts the task, and all that it refers to, before the tail that shows it.
//! - Pop: a fence makes the lowered tail visible before the head is read. The head is read by an atomic, where it
//!   cannot be stale: if no thief had reached this task by then, a later thief finds the lowered tail. A second fence
//!   hides the slots before the head starts again.
//! - Steal: the head is acquired before the tail, and the tail before the slot, so the slot holds the task
//!   that the owner pushed under this head; the compare-and-exchange fails if the head has moved since.
//!
//! Arithmetic: 2 instructions for addresses, and 2 to take a head apart and compare, at each attempt.

use chorus_kernel::{Buf, HostMemory, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

/// A cell of the octree and the range of its particles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Task {
    pub(super) middle: [f32; 3],
    /// Half the edge of its octants.
    pub(super) half: f32,
    /// 1 if its particles lie in the second set.
    pub(super) flip: u32,
    pub(super) end: u32,
    pub(super) begin: u32,
    /// The first of its eight words in the tree.
    pub(super) tree: u32,
}

/// Words of a task.
pub(super) const TASK_WORDS: usize = 8;

impl Task {
    /// The words that a task takes in memory.
    pub(super) fn words(&self) -> [u32; TASK_WORDS] {
        let [x, y, z] = self.middle.map(f32::to_bits);
        [x, y, z, self.half.to_bits(), self.flip, self.end, self.begin, self.tree]
    }

    /// The task that these words hold.
    pub(super) fn from_words(words: [u32; TASK_WORDS]) -> Task {
        let [x, y, z, half, flip, end, begin, tree] = words;
        Task { middle: [x, y, z].map(f32::from_bits), half: f32::from_bits(half), flip, end, begin, tree }
    }
}

/// Tasks that a deque has room for. The owner pops its latest task, of the deepest level, and pushes eight at most:
/// seven tasks wait on each level and eight on the deepest.
const SLOTS: u32 = 256;
const _: () = assert!(8 * super::DEPTH_MAX <= SLOTS, "a deque has room for the tasks of all levels");

/// Words of a deque's header.
const HEADER_WORDS: u32 = 2;
const TAIL: u32 = 0;
const HEAD: u32 = 1;

/// Bits of a head that hold the slot.
const SLOT_BITS: u32 = 16;

fn slot_of(head: u32) -> u32 {
    head & ((1 << SLOT_BITS) - 1)
}

/// The head of a deque that starts again at slot 0.
fn restarted(head: u32) -> u32 {
    (head >> SLOT_BITS).wrapping_add(1) << SLOT_BITS
}

/// The deques of all work-groups.
#[derive(Clone, Copy)]
pub(super) struct Deques {
    work_groups: u32,
    headers: Buf<u32>,
    slots: Buf<u32>,
    /// The greatest length that any deque has had.
    longest: Buf<u32>,
}

impl Deques {
    /// One empty deque per work-group.
    pub(super) fn new(work_groups: u32, memory: &mut HostMemory) -> Deques {
        Deques {
            work_groups,
            headers: memory.alloc((work_groups * HEADER_WORDS) as usize),
            slots: memory.alloc(work_groups as usize * SLOTS as usize * TASK_WORDS),
            longest: memory.alloc(1),
        }
    }

    /// Puts the first task into the deque of work-group 0.
    pub(super) fn put_first(&self, task: Task, memory: &mut HostMemory) {
        for (word, value) in task.words().into_iter().enumerate() {
            memory.set(self.slots, word, value);
        }
        memory.set(self.headers, TAIL as usize, 1);
    }

    /// The number of deques, one for each work-group.
    pub(super) fn work_groups(&self) -> u32 {
        self.work_groups
    }

    fn header(&self, owner: u32, word: u32) -> u32 {
        owner * HEADER_WORDS + word
    }

    async fn load_tail(&self, w: &Wave) -> u32 {
        w.load_one(self.headers, self.header(w.work_group(), TAIL)).await
    }

    fn slot(&self, w: &Wave, owner: u32, slot: u32) -> Lanes<u32> {
        w.lane_ids() + (owner * SLOTS + slot) * TASK_WORDS as u32
    }

    /// Inserts a task at the tail of the wavefront's own deque.
    pub(super) async fn push(&self, w: &Wave, task: &Task) {
        let owner = w.work_group();
        let tail = self.load_tail(w).await;
        w.alu(2).await;
        if tail >= SLOTS {
            return;
        }
        let words = task.words();
        let lanes = Lanes::from_fn(|lane| words.get(lane).copied().unwrap_or(0));
        w.store_where(Mask::first(TASK_WORDS), self.slots, self.slot(w, owner, tail), lanes);
        let tail = self.load_tail(w).await;
        w.store_release(self.headers, self.header(owner, TAIL), tail + 1, Scope::Gpu).await;
        let (longest, length) = (w.load_one(self.longest, 0).await, self.load_tail(w).await);
        w.alu(1).await;
        if longest < length {
            drop(w.atomic_where(AtomicOp::Max, Mask::lane(0), self.longest, Lanes::splat(0), Lanes::splat(length)));
        }
    }

    /// Takes the latest task of the wavefront's own deque.
    pub(super) async fn pop(&self, w: &Wave) -> Option<Task> {
        let owner = w.work_group();
        let tail = self.load_tail(w).await;
        w.alu(2).await;
        if tail == 0 || tail > SLOTS {
            return None;
        }
        let tail = tail - 1;
        w.store_one(self.headers, self.header(owner, TAIL), tail);
        w.fence(Scope::Gpu).await;
        let task = self.read(w, owner, tail).await;
        let head = w.atomic_one(AtomicOp::Or, self.headers, self.header(owner, HEAD), 0).await;
        w.alu(4).await;
        if tail > slot_of(head) {
            return Some(task);
        }
        // The last task, or none: thieves must see an empty deque before they see slot 0 at its head.
        w.store_one(self.headers, self.header(owner, TAIL), 0);
        w.fence(Scope::Gpu).await;
        if tail == slot_of(head) && self.exchange_head(w, owner, head, restarted(head)).await {
            return Some(task);
        }
        // A thief has taken it. The next one finds no task under any tail that it may have seen.
        w.store_one(self.headers, self.header(owner, HEAD), restarted(head));
        None
    }

    /// Takes the oldest task of a work-group's deque, unless it is empty or another thief is faster.
    pub(super) async fn steal(&self, w: &Wave, victim: u32) -> Option<Task> {
        let head = w.load_acquire(self.headers, self.header(victim, HEAD), Scope::Gpu).await;
        let tail = w.load_acquire(self.headers, self.header(victim, TAIL), Scope::Gpu).await;
        w.alu(4).await;
        let slot = slot_of(head);
        if tail <= slot || slot >= SLOTS {
            return None;
        }
        let task = self.read(w, victim, slot).await;
        self.exchange_head(w, victim, head, head + 1).await.then_some(task)
    }

    async fn read(&self, w: &Wave, owner: u32, slot: u32) -> Task {
        let words = w.load_where(Mask::first(TASK_WORDS), self.slots, self.slot(w, owner, slot)).await;
        Task::from_words(std::array::from_fn(|word| words[word]))
    }

    async fn exchange_head(&self, w: &Wave, owner: u32, from: u32, to: u32) -> bool {
        let op = AtomicOp::CompareExchange { expected: from };
        w.atomic_one(op, self.headers, self.header(owner, HEAD), to).await == from
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
                w.atomic_one(AtomicOp::Add, taken, task.begin, 1).await;
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
            for first in (0..TASKS).step_by(8) {
                for begin in first..first + 8 {
                    deques.push(&w, &Task { begin, ..Task::default() }).await;
                }
                for _ in 0..pops_per_push {
                    if let Some(task) = deques.pop(&w).await {
                        take(task).await;
                    }
                }
            }
            while let Some(task) = deques.pop(&w).await {
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
    fn a_head_starts_again_at_slot_zero_with_another_count() {
        let head = restarted(0) + 3;
        assert_eq!(slot_of(head), 3);
        assert_eq!(slot_of(restarted(head)), 0);
        assert_ne!(restarted(head), restarted(0));
    }

    #[test]
    fn a_task_comes_back_from_its_words() {
        let task = Task { middle: [1.0, -2.0, 0.5], half: 64.0, flip: 1, end: 9, begin: 4, tree: 16 };
        assert_eq!(Task::from_words(task.words()), task);
    }
}
