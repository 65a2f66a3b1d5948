//! The kernel: fetch a task, cut its cell into octants, until all particles are settled.
//!
//! The first work-item of a work-group fetches a task: from its own deque, or from the deque of one work-group that it
//! draws at random. The task goes to local data. If there was none, every wavefront reads the count of settled
//! particles, and the work-group ends or tries again.
//!
//! To cut a cell, the work-group counts its particles by octant, makes the counts the places at which the octants end,
//! and moves each particle to the other set of arrays, counting these places down. Both counts are atomics on local
//! data. Then it goes through the octants. One with more particles than a leaf may hold becomes a task: the first
//! work-item takes eight words of the tree for it and pushes it. Any other is a leaf: its particles are copied to the
//! first set, unless they are there, and the first work-item writes its population to the tree and adds it to the count
//! of settled particles.
//!
//! A particle is read as the compiler of the original reads it: the three coordinates one by one for the octant, as the
//! original declares them volatile there, and all 16 bytes at once to move it. The 16 bytes of 32 work-items take four
//! accesses, one for eight work-items, as on GPUs of that time.
//!
//! Order: all wavefronts fence before the octants are pushed as tasks, so that a thief, who acquires the deque's tail,
//! finds the particles in place. A work-group barrier orders the wavefronts of one work-group, as it does on GPUs. No
//! work-group reads the tree before the kernel ends.
//!
//! A machine without coherence runs this too and must get through it. So impossible tasks and places outside the arrays
//! are skipped, and show as a wrong result or as a program that never ends.
//!
//! Arithmetic: per 32 particles 8 instructions for the octant (compare and add, for three axes, and the address) and 1
//! for each work-item that waits for another at the same count; 16 for the eight sums; 3 for the loop; 9 for a new task
//! (middle, half, range); 4 for a random number.

use chorus_kernel::{Buf, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use super::deque::{Deques, TASK_WORDS, Task};
use super::{HALF_MIN, LEAF_PARTICLES, WAVES_PER_GROUP};

pub(super) const OCTANTS: usize = 8;

/// Words of a particle: three coordinates, and its number in place of the original's unused fourth.
pub(super) const PARTICLE_WORDS: usize = 4;
/// Particles that one access reads or writes whole.
const PER_ACCESS: usize = LANES / PARTICLE_WORDS;

/// The bit that tells the population of a leaf from the first word of a cell's octants.
pub(super) const LEAF: u32 = 1 << 31;

/// Local data: the counts and the places of the octants, the task and whether there is one, the count of settled
/// particles.
const LDS_COUNTS: u32 = 0;
const LDS_PLACES: u32 = LDS_COUNTS + OCTANTS as u32;
const LDS_TASK: u32 = LDS_PLACES + OCTANTS as u32;
const LDS_SETTLED: u32 = LDS_TASK + TASK_WORDS as u32 + 1;
pub(super) const LDS_BYTES: u32 = (LDS_SETTLED + 1) * 4;

/// The buffers that all work-groups share.
#[derive(Clone, Copy)]
pub(super) struct Octree {
    pub(super) count: u32,
    /// The particles, and room to move them to.
    pub(super) sets: [Buf<u32>; 2],
    /// Eight words for each cell.
    pub(super) tree: Buf<u32>,
    /// The words of the tree that are in use.
    pub(super) tree_size: Buf<u32>,
    /// The particles that are settled in leaves.
    pub(super) settled: Buf<u32>,
    /// The state of each work-group's random numbers.
    pub(super) random: Buf<u32>,
    pub(super) deques: Deques,
}

/// The octant of a cell that a position lies in.
pub(super) fn octant(position: [f32; 3], middle: [f32; 3]) -> usize {
    (0..3).fold(0, |octant, axis| octant | usize::from(position[axis] >= middle[axis]) << axis)
}

/// The middle of an octant of a cell.
pub(super) fn octant_middle(middle: [f32; 3], half: f32, octant: usize) -> [f32; 3] {
    std::array::from_fn(|axis| if octant >> axis & 1 == 1 { middle[axis] + half } else { middle[axis] - half })
}

/// Whether an octant with so many particles is a cell, not a leaf.
pub(super) fn is_cell(count: u32, half: f32) -> bool {
    count > LEAF_PARTICLES && half > HALF_MIN
}

/// One wavefront of the balanced partitioning.
pub(super) async fn balance(w: Wave, tree: Octree) {
    let leads = w.id().wave == 0;
    let words = Mask::first(TASK_WORDS + 1);
    let at = w.lane_ids() + LDS_TASK;
    loop {
        w.barrier().await;
        if leads {
            let task = tree.fetch(&w).await;
            let fetched = task.unwrap_or_default().words();
            let found = u32::from(task.is_some());
            w.lds_write(words, at, Lanes::from_fn(|lane| fetched.get(lane).copied().unwrap_or(found)));
        }
        w.barrier().await;
        let shared: Lanes<u32> = w.lds_read(words, at);
        w.barrier().await;
        if shared[TASK_WORDS] == 0 {
            if tree.all_settled(&w).await {
                return;
            }
            continue;
        }
        let task = Task::from_words(std::array::from_fn(|word| shared[word]));
        let (counts, places) = tree.cut(&w, &task).await;
        for octant in 0..OCTANTS {
            tree.settle_or_push(&w, &task, octant, counts[octant], places[octant]).await;
        }
    }
}

impl Octree {
    /// A task, if the work-group's own deque or that of the one it tries to steal from has any.
    async fn fetch(&self, w: &Wave) -> Option<Task> {
        let mut task = self.deques.pop(w).await;
        if task.is_none() {
            let victim = self.draw(w).await % self.deques.work_groups();
            task = self.deques.steal(w, victim).await;
        }
        task.filter(|task| self.can_be(task))
    }

    /// A random number, by the generator of the original.
    async fn draw(&self, w: &Wave) -> u32 {
        let state = w.load_one(self.random, w.work_group()).await;
        w.alu(4).await;
        let state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        w.store_one(self.random, w.work_group(), state);
        (state / 65_536) % 32_768 + w.work_group()
    }

    fn can_be(&self, task: &Task) -> bool {
        let tree_end = task.tree as usize + OCTANTS;
        let is_range = task.begin <= task.end && task.end <= self.count;
        is_range && task.half >= HALF_MIN && task.flip < 2 && tree_end <= self.tree.len()
    }

    /// Whether no task is left. Every wavefront reads the count, as in the original.
    async fn all_settled(&self, w: &Wave) -> bool {
        let settled = w.load_acquire(self.settled, 0, Scope::Gpu).await;
        w.lds_write(Mask::lane(0), LDS_SETTLED.into(), settled.into());
        w.barrier().await;
        w.alu(2).await;
        w.lds_read::<u32>(Mask::lane(0), LDS_SETTLED.into())[0] >= self.count
    }

    /// Moves the particles of a cell to the other set, octant by octant. Returns how many each octant has, and where
    /// its first one lies behind the cell's first.
    async fn cut(&self, w: &Wave, task: &Task) -> ([u32; OCTANTS], [u32; OCTANTS]) {
        let (from, to) = (self.sets[task.flip as usize], self.sets[1 - task.flip as usize]);
        let leads = w.id().wave == 0;
        if leads {
            w.lds_write(Mask::first(OCTANTS), w.lane_ids() + LDS_COUNTS, Lanes::splat(0_u32));
        }
        w.barrier().await;
        for (first, mask) in shares(w, task.begin, task.end) {
            let octants = load_octants(w, mask, from, first, task).await;
            count(w, mask, octants + LDS_COUNTS, 1).await;
        }
        w.barrier().await;
        if leads {
            let counts: [u32; OCTANTS] = w.lds_read_vector(LDS_COUNTS);
            w.alu(16).await;
            let mut sum = 0_u32;
            let ends = counts.map(|count| {
                sum = sum.wrapping_add(count);
                sum
            });
            let ends = Lanes::from_fn(|lane| ends.get(lane).copied().unwrap_or(0));
            w.lds_write(Mask::first(OCTANTS), w.lane_ids() + LDS_PLACES, ends);
        }
        w.barrier().await;
        for (first, mask) in shares(w, task.begin, task.end) {
            let octants = load_octants(w, mask, from, first, task).await;
            let places = count(w, mask, octants + LDS_PLACES, u32::MAX).await;
            let particles = load_particles(w, mask, from, first).await;
            let target = places.map(|place| task.begin.wrapping_add(place).wrapping_sub(1));
            store_particles(w, mask & target.below(self.count), to, target, particles);
        }
        w.fence(Scope::Gpu).await;
        w.barrier().await;
        (w.lds_read_vector(LDS_COUNTS), w.lds_read_vector(LDS_PLACES))
    }

    /// Makes a leaf or a task of an octant whose particles have been moved.
    async fn settle_or_push(&self, w: &Wave, task: &Task, octant: usize, count: u32, place: u32) {
        let leads = w.id().wave == 0;
        let begin = task.begin.wrapping_add(place).min(self.count);
        let end = begin.saturating_add(count).min(self.count);
        w.alu(3).await;
        if is_cell(count, task.half) {
            if leads {
                self.push_octant(w, task, octant, begin, end).await;
            }
            return;
        }
        if task.flip == 0 {
            for (first, mask) in shares(w, begin, end) {
                let particles = load_particles(w, mask, self.sets[1], first).await;
                store_particles(w, mask, self.sets[0], w.lane_ids() + first, particles);
            }
        }
        w.barrier().await;
        if leads {
            let (lane, count) = (Mask::lane(0), Lanes::splat(count));
            drop(w.atomic_where(AtomicOp::Add, lane, self.settled, Lanes::splat(0), count));
            w.store_one(self.tree, task.tree + octant as u32, LEAF | count[0]);
        }
    }

    /// Takes words of the tree for the octants of an octant, and inserts it as a task.
    async fn push_octant(&self, w: &Wave, task: &Task, octant: usize, begin: u32, end: u32) {
        w.alu(9).await;
        let middle = octant_middle(task.middle, task.half, octant);
        let tree = w.atomic_one(AtomicOp::Add, self.tree_size, 0, OCTANTS as u32).await;
        // Without coherence tasks can be done twice, and again and again unless there is an end to new ones.
        if tree as usize + OCTANTS > self.tree.len() {
            return;
        }
        w.store_one(self.tree, task.tree + octant as u32, tree);
        self.deques.push(w, &Task { middle, half: task.half / 2.0, flip: 1 - task.flip, end, begin, tree }).await;
    }
}

/// The particles of a wavefront in a range that a work-group works on: the first one of 32, and the lanes that have
/// one.
fn shares(w: &Wave, begin: u32, end: u32) -> impl Iterator<Item = (u32, Mask)> + use<> {
    let first = begin + w.id().wave * LANES as u32;
    let step = WAVES_PER_GROUP as usize * LANES;
    (first..end).step_by(step).map(move |first| (first, Mask::first((end - first) as usize)))
}

/// The octants of 32 particles, from their coordinates.
async fn load_octants(w: &Wave, mask: Mask, from: Buf<u32>, first: u32, task: &Task) -> Lanes<u32> {
    w.alu(3).await;
    let at = (w.lane_ids() + first) * PARTICLE_WORDS as u32;
    let [x, y, z] = w.join_all([0, 1, 2].map(|axis| w.load_where(mask, from, at + axis))).await;
    w.alu(8).await;
    Lanes::from_fn(|lane| octant([x[lane], y[lane], z[lane]].map(f32::from_bits), task.middle) as u32)
}

/// All words of 32 particles that lie side by side.
async fn load_particles(w: &Wave, mask: Mask, from: Buf<u32>, first: u32) -> [Lanes<u32>; PARTICLE_WORDS] {
    let words = mask.count() as usize * PARTICLE_WORDS;
    let load = |part: usize| {
        let at = w.lane_ids() + (first as usize * PARTICLE_WORDS + part * LANES) as u32;
        w.load_where(Mask::first(words.saturating_sub(part * LANES)), from, at)
    };
    w.join_all([load(0), load(1), load(2), load(3)]).await
}

/// Puts the particles of 32 lanes where `target` says.
fn store_particles(w: &Wave, mask: Mask, to: Buf<u32>, target: Lanes<u32>, particles: [Lanes<u32>; PARTICLE_WORDS]) {
    for (part, words) in particles.into_iter().enumerate() {
        let particle = |lane: usize| part * PER_ACCESS + lane / PARTICLE_WORDS;
        let stored = Lanes::from_fn(|lane| mask.contains(particle(lane))).where_(|stored| stored);
        let word =
            |lane: usize| target[particle(lane)].wrapping_mul(PARTICLE_WORDS as u32) + (lane % PARTICLE_WORDS) as u32;
        if stored.any() {
            w.store_where(stored, to, Lanes::from_fn(word), words);
        }
    }
}

/// Adds `by` to a word of local data for every lane of `mask`, and returns what the lane found. An atomic on local data
/// is a read and a write. Lanes of the same word go one after the other.
async fn count(w: &Wave, mask: Mask, word: Lanes<u32>, by: u32) -> Lanes<u32> {
    let before: Lanes<u32> = w.lds_read(mask, word);
    let same = |other: usize, lane: usize| other < lane && word[other] == word[lane];
    let earlier = Lanes::from_fn(|lane| mask.iter().filter(|&other| same(other, lane)).count() as u32);
    let found = before.zip(earlier, |before, earlier| before.wrapping_add(by.wrapping_mul(earlier)));
    w.lds_write(mask, word, found.map(|found| found.wrapping_add(by)));
    w.alu(mask.iter().map(|lane| earlier[lane]).max().unwrap_or(0)).await;
    found
}
