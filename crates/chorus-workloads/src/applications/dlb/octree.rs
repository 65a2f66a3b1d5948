//! The kernel: fetch a task, cut its cell or settle its particles, until all particles are settled.
//!
//! The first wavefront of a work-group fetches a task: from its own deque, or from the other deques one after the
//! other. It hands the task to the other wavefronts through local data. To cut a cell, each wavefront counts the
//! octants in its share of the particles; the counts, in local data, tell each of them where to put its particles; it
//! reads them again and puts them there, keeping their order. Tasks at even depths have their particles in the first
//! set of arrays, tasks at odd depths in the second.
//!
//! Order: all wavefronts fence before the octants are pushed as tasks, so that a thief, who acquires the deque's
//! bottom, finds the particles in place. A work-group barrier orders the wavefronts of one work-group, as it does on
//! GPUs. No work-group reads leaves before the kernel ends.
//!
//! A machine without coherence runs this too and must get through it. So impossible tasks and places outside the arrays
//! are skipped, and show as a wrong result or as a program that never ends.
//!
//! Arithmetic: per 32 particles 9 instructions for the octant (scale, truncate and merge, for three axes) and 3 per
//! octant for its count (compare, ballot, population count), or 5 where ranks within the octant are needed too; 24 for
//! the prefix sum over 64 counts (two words per lane, five steps of a scan, addresses); 4 for a leaf's addresses; 8
//! between two attempts to steal, so that idle work-groups leave some issue slots to the others of their compute unit.

use chorus_kernel::{Buf, HostMemory, LANES, Lanes, Mask, Wave};
use chorus_protocol::access::{AtomicOp, Scope};

use super::deque::{Deques, Task};
use super::{DEPTH_MAX, LEAF_PARTICLES, WAVES_PER_GROUP};

const OCTANTS: usize = 8;

/// Local data: the task, then a count per wavefront and octant.
const LDS_TASK: u32 = 0;
const LDS_COUNTS: u32 = LANES as u32;
pub(super) const LDS_BYTES: u32 = (LDS_COUNTS + WAVES_PER_GROUP * OCTANTS as u32) * 4;

/// The elements of [`Octree::totals`].
const SETTLED: u32 = 0;

/// One set of particle arrays.
#[derive(Clone, Copy)]
pub(super) struct Particles {
    pub(super) position: [Buf<f32>; 3],
    pub(super) id: Buf<u32>,
}

impl Particles {
    /// A set of `count` particles that are yet to be filled in.
    pub(super) fn new(count: u32, memory: &mut HostMemory) -> Particles {
        let position = [0; 3].map(|_| memory.alloc(count as usize));
        Particles { position, id: memory.alloc(count as usize) }
    }
}

/// The buffers that all work-groups share.
#[derive(Clone, Copy)]
pub(super) struct Octree {
    pub(super) count: u32,
    pub(super) sets: [Particles; 2],
    /// The key of each particle's leaf.
    pub(super) leaf_keys: Buf<u32>,
    /// The particles in each particle's leaf.
    pub(super) leaf_populations: Buf<u32>,
    /// Settled particles, and leaves.
    pub(super) totals: Buf<u32>,
    pub(super) deques: Deques,
}

impl Task {
    fn depth(&self) -> u32 {
        self.key.ilog2() / 3
    }

    fn is_leaf(&self) -> bool {
        self.count <= LEAF_PARTICLES || self.depth() == DEPTH_MAX
    }
}

/// The octant of its cell at `depth` that a particle lies in, from the next bit of each coordinate. Scaling by a power
/// of two is exact.
pub(super) fn octant(position: [f32; 3], depth: u32) -> u32 {
    let scale = (2 << depth) as f32;
    position.iter().fold(0, |octant, coordinate| octant << 1 | ((coordinate * scale) as u32 & 1))
}

/// One wavefront of the balanced partitioning.
pub(super) async fn balance(w: Wave, tree: Octree) {
    let leads = w.id().wave == 0;
    let mut bottom = u32::from(w.work_group() == 0);
    let mut victim = w.work_group();
    loop {
        if leads {
            let task = tree.fetch(&w, &mut bottom, &mut victim).await.unwrap_or_default();
            let words = Lanes::from_fn(|lane| [task.key, task.first, task.count].get(lane).copied().unwrap_or(0));
            w.lds_write(Mask::first(3), w.lane_ids() + LDS_TASK, words);
        }
        w.barrier().await;
        let words: Lanes<u32> = w.lds_read(Mask::first(3), w.lane_ids() + LDS_TASK);
        let task = Task { key: words[0], first: words[1], count: words[2] };
        if task.key == 0 {
            return;
        }
        if task.is_leaf() {
            tree.settle(&w, task).await;
        } else {
            let counts = tree.cut(&w, task).await;
            if leads {
                tree.push_octants(&w, &mut bottom, task, counts).await;
            }
        }
        w.barrier().await;
    }
}

impl Octree {
    /// A task, or nothing when all particles are settled.
    async fn fetch(&self, w: &Wave, bottom: &mut u32, victim: &mut u32) -> Option<Task> {
        loop {
            let mut task = self.deques.pop(w, bottom).await;
            if task.is_none() {
                if w.load_acquire(self.totals, SETTLED, Scope::Gpu).await >= self.count {
                    return None;
                }
                *victim = (*victim + 1) % self.deques.work_groups();
                w.alu(8).await;
                if *victim != w.work_group() {
                    task = self.deques.steal(w, *victim).await;
                }
            }
            if let Some(task) = task
                && self.can_be(task)
            {
                return Some(task);
            }
        }
    }

    fn can_be(&self, task: Task) -> bool {
        let particles = u64::from(task.first) + u64::from(task.count);
        task.key > 0 && task.depth() <= DEPTH_MAX && particles <= u64::from(self.count)
    }

    /// Writes the leaf of each particle.
    async fn settle(&self, w: &Wave, task: Task) {
        let id = self.sets[task.depth() as usize % 2].id;
        let step = WAVES_PER_GROUP * LANES as u32;
        for first in (w.id().wave * LANES as u32..task.count).step_by(step as usize) {
            let mask = Mask::first((task.count - first) as usize);
            w.alu(4).await;
            let ids = w.load_where(mask, id, w.lane_ids() + task.first + first).await;
            w.store_where(mask, self.leaf_keys, ids, task.key.into());
            w.store_where(mask, self.leaf_populations, ids, task.count.into());
        }
        if w.id().wave == 0 {
            let settled_and_leaves = Lanes::from_fn(|lane| if lane == 0 { task.count } else { 1 });
            w.atomic_where(AtomicOp::Add, Mask::first(2), self.totals, w.lane_ids(), settled_and_leaves).await;
        }
    }

    /// Moves the particles of a cell to the other set, octant by octant. Returns how many each octant has.
    async fn cut(&self, w: &Wave, task: Task) -> [u32; OCTANTS] {
        let depth = task.depth();
        let (from, to) = (self.sets[depth as usize % 2], self.sets[(depth as usize + 1) % 2]);
        let share = task.count.div_ceil(WAVES_PER_GROUP * LANES as u32) * LANES as u32;
        let begin = task.count.min(w.id().wave * share);
        let end = task.count.min(begin + share);

        let mut mine = [0; OCTANTS];
        for first in (begin..end).step_by(LANES) {
            let mask = Mask::first((end - first) as usize);
            let position = load_positions(w, mask, from, w.lane_ids() + task.first + first).await;
            w.alu(9 + 3 * OCTANTS as u32).await;
            for lane in mask.iter() {
                mine[octant(position.map(|axis| axis[lane]), depth) as usize] += 1;
            }
        }
        let (counts, mut next) = share_counts(w, mine, task.first).await;

        for first in (begin..end).step_by(LANES) {
            let mask = Mask::first((end - first) as usize);
            let at = w.lane_ids() + task.first + first;
            let ids = w.load_where(mask, from.id, at);
            let position = load_positions(w, mask, from, at).await;
            w.alu(9 + 5 * OCTANTS as u32).await;
            let mut target = Lanes::splat(u32::MAX);
            for lane in mask.iter() {
                let place = &mut next[octant(position.map(|axis| axis[lane]), depth) as usize];
                target.set(lane, *place);
                *place += 1;
            }
            let mask = target.below(self.count);
            for (values, buf) in position.into_iter().zip(to.position) {
                w.store_where(mask, buf, target, values);
            }
            w.store_where(mask, to.id, target, ids.await);
        }
        w.fence(Scope::Gpu).await;
        w.barrier().await;
        counts
    }

    /// Inserts the octants that have particles.
    async fn push_octants(&self, w: &Wave, bottom: &mut u32, task: Task, counts: [u32; OCTANTS]) {
        let mut tasks = [Task::default(); OCTANTS];
        let mut occupied = 0;
        let mut first = task.first;
        for (octant, count) in (0..).zip(counts) {
            if count > 0 {
                tasks[occupied] = Task { key: task.key << 3 | octant, first, count };
                occupied += 1;
            }
            first += count;
        }
        self.deques.push(w, bottom, &tasks[..occupied]).await;
    }
}

async fn load_positions(w: &Wave, mask: Mask, from: Particles, at: Lanes<u32>) -> [Lanes<f32>; 3] {
    w.join_all(from.position.map(|axis| w.load_where(mask, axis, at))).await
}

/// Exchanges the counts of all wavefronts. Returns the counts of the whole cell, and the places that this wavefront's
/// particles of each octant go to.
async fn share_counts(w: &Wave, mine: [u32; OCTANTS], first: u32) -> ([u32; OCTANTS], [u32; OCTANTS]) {
    let octants = Mask::first(OCTANTS);
    let at = w.lane_ids() + LDS_COUNTS;
    let lanes = Lanes::from_fn(|lane| mine.get(lane).copied().unwrap_or(0));
    w.lds_write(octants, at + w.id().wave * OCTANTS as u32, lanes);
    w.barrier().await;
    let mut counts = [0; OCTANTS];
    let mut earlier = [0; OCTANTS];
    for word in (0..WAVES_PER_GROUP * OCTANTS as u32).step_by(LANES) {
        let words: Lanes<u32> = w.lds_read(Mask::ALL, at + word);
        for lane in 0..LANES {
            let (wave, octant) = ((word as usize + lane) / OCTANTS, lane % OCTANTS);
            counts[octant] += words[lane];
            earlier[octant] += if wave < w.id().wave as usize { words[lane] } else { 0 };
        }
    }
    w.alu(24).await;
    let mut place = first;
    let next = std::array::from_fn(|octant| {
        let before = place + earlier[octant];
        place += counts[octant];
        before
    });
    (counts, next)
}
