//! The partition of a graph's nodes between CPU threads and work-groups.
//!
//! The Spandex paper (section IV-B) partitions the vertices of its graph programs across CPU and GPU cores and does not
//! say how. Here every participant has nodes with adjacent numbers, a CPU thread and then its share of the work-groups,
//! so that all of them have neighbours of both kinds, and all sharing is flat. A part is as large as its participant's
//! core is fast: a compute unit of the paper's Table VI issues for 32 lanes at 0.7 GHz, a CPU core for one at 2 GHz.
//! Work-groups divide the 16 compute units among themselves, and have at most one each. Parts begin at multiples of a
//! wavefront's work-items.

use std::ops::Range;

use chorus_kernel::{LANES, Lanes, Mask, Wave};

/// Operations that a CPU core and a compute unit can issue in 400 ps: 2 GHz, and 32 lanes at 0.7 GHz.
const CPU_CORE_RATE: u32 = 5;
const COMPUTE_UNIT_RATE: u32 = 56;
/// Compute units of the paper's machine.
const COMPUTE_UNITS: u32 = 16;

/// A partition of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexParts {
    /// The number of nodes in the graph.
    pub nodes: u32,
    /// The number of CPU threads.
    pub cpu_threads: u32,
    /// Work-groups, a multiple of the CPU threads.
    pub work_groups: u32,
}

impl VertexParts {
    /// The nodes of a CPU thread.
    pub fn of_cpu(&self, thread: u32) -> Range<u32> {
        self.range(thread * self.round(), CPU_CORE_RATE)
    }

    /// The nodes of a work-group.
    pub fn of_group(&self, group: u32) -> Range<u32> {
        let per_thread = self.work_groups / self.cpu_threads;
        let before = group % per_thread * self.group_rate();
        self.range(group / per_thread * self.round() + CPU_CORE_RATE + before, self.group_rate())
    }

    /// The nodes of a wavefront: its work-group's, 32 at a time, in turn with the other wavefronts.
    pub fn strips(&self, w: &Wave) -> impl Iterator<Item = (Lanes<u32>, Mask)> + use<> {
        let part = self.of_group(w.work_group());
        let stride = w.id().waves_per_group as usize * LANES;
        let lanes = w.lane_ids();
        (part.start + w.id().wave * LANES as u32..part.end).step_by(stride).map(move |first| {
            let nodes = lanes + first;
            (nodes, nodes.below(part.end))
        })
    }

    /// The rate of a work-group: that of its part of a compute unit.
    fn group_rate(&self) -> u32 {
        COMPUTE_UNIT_RATE * self.work_groups.min(COMPUTE_UNITS) / self.work_groups
    }

    /// The rate of a CPU thread and its share of the work-groups together.
    fn round(&self) -> u32 {
        CPU_CORE_RATE + self.work_groups / self.cpu_threads * self.group_rate()
    }

    fn range(&self, first: u32, weight: u32) -> Range<u32> {
        let wavefronts = u64::from(self.nodes.div_ceil(LANES as u32));
        let all = u64::from(self.cpu_threads * self.round());
        let bound = |weight: u32| (wavefronts * u64::from(weight) / all) as u32 * LANES as u32;
        bound(first).min(self.nodes)..bound(first + weight).min(self.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_belongs_to_one_participant() {
        for (nodes, cpu_threads, work_groups) in [(88_263, 8, 64), (1000, 8, 8), (7, 8, 8)] {
            let parts = VertexParts { nodes, cpu_threads, work_groups };
            let mut owners = vec![0; nodes as usize];
            let cpus = (0..cpu_threads).map(|thread| parts.of_cpu(thread));
            for part in cpus.chain((0..work_groups).map(|group| parts.of_group(group))) {
                part.for_each(|node| owners[node as usize] += 1);
            }
            assert!(owners.iter().all(|&count| count == 1), "{parts:?}");
        }
    }

    #[test]
    fn parts_begin_at_a_wavefront_and_have_their_rate() {
        // 4 CPU threads and 8 work-groups on a compute unit each: 468 in all.
        let parts = VertexParts { nodes: 468 * 32, cpu_threads: 4, work_groups: 8 };
        assert_eq!((parts.of_cpu(0), parts.of_group(0), parts.of_group(1)), (0..160, 160..1952, 1952..3744));
        assert_eq!((parts.of_cpu(1), parts.of_group(7)), (3744..3904, 13_184..14_976));
    }

    #[test]
    fn work_groups_of_a_compute_unit_share_its_rate() {
        // 8 CPU threads and 16 compute units: 936 in all.
        for (work_groups, of_group) in [(16, 56), (32, 28), (64, 14)] {
            let parts = VertexParts { nodes: 936 * 32, cpu_threads: 8, work_groups };
            assert_eq!((parts.of_cpu(3).len(), parts.of_group(5).len()), (5 * 32, of_group * 32));
        }
    }
}
