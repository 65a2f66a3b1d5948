//! The partition of a graph's nodes between CPU threads and work-groups.
//!
//! The Spandex paper (section IV-B) partitions the vertices of its graph programs across CPU and GPU cores and does not
//! say how. Here every participant has nodes with adjacent numbers, a CPU thread and then its share of the work-groups,
//! so that all of them have neighbours of both kinds, and all sharing is flat. Parts begin at multiples of a
//! wavefront's work-items.

use std::ops::Range;

use chorus_kernel::{LANES, Lanes, Mask, Wave};

/// A partition of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexParts {
    /// The number of nodes in the graph.
    pub nodes: u32,
    /// The number of CPU threads.
    pub cpu_threads: u32,
    /// Work-groups, a multiple of the CPU threads.
    pub work_groups: u32,
    /// The nodes of a work-group, as a multiple of the nodes of a CPU thread.
    pub group_weight: u32,
}

impl VertexParts {
    /// The nodes of a CPU thread.
    pub fn of_cpu(&self, thread: u32) -> Range<u32> {
        self.range(thread * self.round(), 1)
    }

    /// The nodes of a work-group.
    pub fn of_group(&self, group: u32) -> Range<u32> {
        let per_thread = self.work_groups / self.cpu_threads;
        let first = group / per_thread * self.round() + 1 + group % per_thread * self.group_weight;
        self.range(first, self.group_weight)
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

    /// The nodes of a CPU thread and its share of the work-groups, as a multiple of the nodes of a CPU thread.
    fn round(&self) -> u32 {
        1 + self.work_groups / self.cpu_threads * self.group_weight
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
        for (nodes, cpu_threads, work_groups, group_weight) in [(88_263, 8, 64, 3), (1000, 8, 8, 5), (7, 8, 8, 1)] {
            let parts = VertexParts { nodes, cpu_threads, work_groups, group_weight };
            let mut owners = vec![0; nodes as usize];
            let cpus = (0..cpu_threads).map(|thread| parts.of_cpu(thread));
            for part in cpus.chain((0..work_groups).map(|group| parts.of_group(group))) {
                part.for_each(|node| owners[node as usize] += 1);
            }
            assert!(owners.iter().all(|&count| count == 1), "{parts:?}");
        }
    }

    #[test]
    fn parts_begin_at_a_wavefront_and_have_their_weight() {
        let parts = VertexParts { nodes: 96_000, cpu_threads: 4, work_groups: 8, group_weight: 2 };
        assert_eq!((parts.of_cpu(0), parts.of_group(0), parts.of_group(1)), (0..4800, 4800..14_400, 14_400..24_000));
        assert_eq!((parts.of_cpu(1), parts.of_group(7)), (24_000..28_800, 86_400..96_000));
    }
}
