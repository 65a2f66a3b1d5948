//! `bitonic`: the last stage of a bitonic sort.
//!
//! Source: BitonicSort of the AMD APP SDK 3.0, as MGPUSim has it, the simulator of the REC paper (Ko et al., section
//! 5.1); Batcher, Sorting Networks and Their Applications, AFIPS 1968. A launch per pass, with a work-item per pair of
//! keys: it loads both, and stores the lesser and the greater one. Stage s merges blocks of 2^s sorted keys in s + 1
//! passes, in which pairs are 2^s, then half as far, and in the end 1 apart. Neighbouring blocks are sorted in
//! opposite directions.
//!
//! Sharing, where buffers are cut into blocks: GPUs exchange keys in passes whose pairs are at least as far apart as a
//! GPU has keys: the first two of the last stage with four GPUs. In the first one, work-items of a GPU read and write
//! two stretches half as long as its own part that lie in the memory of two GPUs, often both of others; the next pass
//! cuts the keys into other stretches, so that every line has just been written by somebody else. In all later passes
//! every GPU keeps to itself. All keys are read and written in every pass.
//!
//! Left out: stages before the last, which sort within a GPU but for the one before; the input is what they leave. At
//! quick scale also the last passes, whose pairs are less than a page of 4 KB apart, and four pages at medium scale.
//!
//! Arithmetic: 9 instructions for the two places, 4 for addresses, 3 for the direction, a minimum and a maximum.

use chorus_sim::frontend::{Buf, HostMemory, Kernel, LANES, Wave};
use chorus_system::Scale;

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Suite, Workload};
use crate::size::Sizes;

/// Wavefronts of a work-group: 256 work-items, as in the original.
const WAVES_PER_GROUP: u32 = 8;

/// Bitonic sort.
pub struct Bitonic;

/// A part of the sorting network.
#[derive(Clone, Copy)]
struct Network {
    /// There are two to the power of this many keys.
    bits: u32,
    /// Stages before this one are done.
    first_stage: u32,
    /// Pairs that are closer are not compared.
    distance_min: u32,
}

/// One launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pass {
    stage: u32,
    distance: u32,
}

impl Network {
    /// Keys take 1, 4 and 32 MB. A pass takes an eighth of a line access per key, and a quarter where pairs are less than 16
    /// apart: 8 passes take 0.26 and 1.0 million, 23 passes 28 million.
    fn of(scale: Scale) -> Network {
        match scale {
            Scale::Quick => Network { bits: 18, first_stage: 17, distance_min: 1024 },
            Scale::Medium => Network { bits: 20, first_stage: 19, distance_min: 4096 },
            Scale::Paper => Network { bits: 23, first_stage: 22, distance_min: 1 },
        }
    }

    fn keys(self) -> u32 {
        1 << self.bits
    }

    fn passes(self) -> impl Iterator<Item = Pass> {
        let of_stage = move |stage: u32| (0..=stage).rev().map(move |bit| Pass { stage, distance: 1 << bit });
        (self.first_stage..self.bits).flat_map(of_stage).filter(move |pass| pass.distance >= self.distance_min)
    }
}

impl Pass {
    /// The lower place of a pair; the other one is `distance` further.
    fn left(self, pair: u32) -> u32 {
        pair % self.distance + pair / self.distance * self.distance * 2
    }

    /// Whether the lesser key of a pair goes to the lower place.
    fn increasing(self, pair: u32) -> bool {
        (pair >> self.stage).is_multiple_of(2)
    }

    /// On the host.
    fn apply(self, keys: &mut [u32]) {
        for pair in 0..keys.len() as u32 / 2 {
            let left = self.left(pair);
            let [left, right] = [left, left + self.distance].map(|place| place as usize);
            if (keys[left] > keys[right]) == self.increasing(pair) {
                keys.swap(left, right);
            }
        }
    }

    fn kernel(self, keys: Buf<u32>) -> Kernel {
        let work_groups = (keys.len() as u32 / 2).div_ceil(WAVES_PER_GROUP * LANES as u32);
        Kernel::new("BitonicSort", work_groups, WAVES_PER_GROUP, move |w| compare(w, self, keys))
    }
}

async fn compare(w: Wave, pass: Pass, keys: Buf<u32>) {
    let pairs = w.global_ids();
    let lefts = pairs.map(|pair| pass.left(pair));
    let rights = lefts + pass.distance;
    w.alu(13).await;
    let (left, right) = w.join(w.load(keys, lefts), w.load(keys, rights)).await;
    w.alu(5).await;
    let increasing = pairs.where_(|pair| pass.increasing(pair));
    let lesser = left.zip(right, u32::min);
    let greater = left.zip(right, u32::max);
    w.store(keys, lefts, lesser.select(increasing, greater));
    w.store(keys, rights, greater.select(increasing, lesser));
}

/// Keys as the stages before the first of `network` leave them: sorted blocks of alternating direction.
fn sorted_blocks(network: Network, generator: &mut SplitMix64) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..network.keys()).map(|_| generator.next_u64() as u32).collect();
    for (number, block) in keys.chunks_exact_mut(1 << network.first_stage).enumerate() {
        block.sort_unstable();
        if number % 2 == 1 {
            block.reverse();
        }
    }
    keys
}

impl Workload for Bitonic {
    fn name(&self) -> &'static str {
        "bitonic"
    }

    fn title(&self) -> &'static str {
        "Bitonic sort"
    }

    fn summary(&self) -> &'static str {
        "Merges two sorted halves of an array of keys by the last stage of a bitonic sort, one kernel per pass."
    }

    fn suite(&self) -> Suite {
        Suite::Sdk
    }

    fn source(&self) -> &'static str {
        "AMD APP SDK 3.0 BitonicSort, as in MGPUSim, on the machine of Ko et al., REC, section 5.1"
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let network = Network::of(sizes.scale());
        let mut expected = sorted_blocks(network, &mut SplitMix64::new(seed));
        let keys = memory.alloc_from(&expected);
        network.passes().for_each(|pass| pass.apply(&mut expected));
        let kernels = network.passes().map(|pass| pass.kernel(keys)).collect();
        HostProgram::new(kernels, vec![Output::new("keys", keys, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use chorus_sim::frontend::flat;

    use super::*;

    /// Runs all of a network on flat memory.
    fn sort(network: Network) -> Vec<u32> {
        let mut memory = HostMemory::default();
        let keys = memory.alloc_from(&sorted_blocks(network, &mut SplitMix64::new(8)));
        for pass in network.passes() {
            flat::run_kernel(&pass.kernel(keys), &mut memory).unwrap();
        }
        memory.read(keys)
    }

    #[test]
    fn all_passes_sort_from_whatever_stage() {
        for first_stage in [0, 5, 9] {
            let sorted = sort(Network { bits: 10, first_stage, distance_min: 1 });
            assert!(sorted.is_sorted(), "from stage {first_stage}");
        }
    }

    #[test]
    fn passes_left_out_leave_blocks_in_order() {
        let keys = sort(Network { bits: 11, first_stage: 10, distance_min: 64 });
        let blocks: Vec<&[u32]> = keys.chunks_exact(64).collect();
        assert!(blocks.windows(2).all(|pair| pair[0].iter().max() <= pair[1].iter().min()));
    }

    #[test]
    fn every_place_is_in_one_pair_of_a_pass() {
        let pass = Pass { stage: 4, distance: 8 };
        let mut places: Vec<u32> = (0..32).flat_map(|pair| [pass.left(pair), pass.left(pair) + 8]).collect();
        places.sort_unstable();
        assert_eq!(places, (0..64).collect::<Vec<u32>>());
    }
}
