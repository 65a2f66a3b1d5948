//! `bitonic`: the last stage of a bitonic sort.
//!
//! Source: BitonicSort of the AMD APP SDK 3.0, as MGPUSim has it, the simulator of the REC paper (Ko et al., section
//! 5.1); Batcher, Sorting Networks and Their Applications, AFIPS 1968. A launch per pass, with a work-item per pair of
//! keys: it loads both, and stores the lesser and the greater one. Stage s merges blocks of 2^s sorted keys in s + 1
//! passes, in which pairs are 2^s, then half as far, and in the end 1 apart. Neighbouring blocks are sorted in
//! opposite directions.
//!
//! Sharing, where buffers are cut into blocks: GPUs exchange keys in passes whose pairs are at least as far apart as a
//! GPU has keys. With four GPUs these are the first two passes of the last stage. In the first pass, work-items of a
//! GPU read and write two stretches half as long as its own part. They lie in the memory of two GPUs, often both of
//! others. The next pass cuts the keys into other stretches, so that another GPU has just written every line. In all
//! later passes every GPU keeps to itself. All keys are read and written in every pass.
//!
//! Left out: all stages before the last. They sort within a GPU, except for the stage just before the last. The input
//! is in the order that they leave. Quick scale also leaves out the last passes, whose pairs are less than a page of 4
//! KB apart, and medium scale those whose pairs are less than four pages apart.
//!
//! Arithmetic: 9 instructions for the two places, 4 for addresses, 3 for the direction, a minimum and a maximum.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Wavefronts of a work-group: 256 work-items, as in the original.
const WAVES_PER_GROUP: u32 = 8;
/// Keys that a work-group compares in a pass, two per work-item.
const KEYS_PER_GROUP: u32 = 2 * WAVES_PER_GROUP * LANES as u32;

/// Sorts keys by the last stages of a bitonic sort.
pub struct Bitonic;

/// Keys take 0.5 MB at quick, 2 MB at medium and 32 MB at paper scale. A pass takes an eighth of a line access per key,
/// and a quarter where pairs are less than 16 apart. The 8 passes of quick scale take 0.13 million line accesses, those
/// of medium scale 0.5 million, and the 23 passes of paper scale 28 million.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new(
        "keys",
        "keys, a power of two",
        [1 << 17, 1 << 19, 1 << 23],
        "chosen: 32 MB in 28 million line accesses; no paper names a size",
    )
    .range(KEYS_PER_GROUP as u64, 1 << 28)
    .multiple_of(KEYS_PER_GROUP as u64),
    SizeSpec::new(
        "stages",
        "last stages of the sort that are run",
        [1, 1, 1],
        "chosen: earlier stages hardly communicate",
    )
    .range(1, 28),
    SizeSpec::new(
        "min_distance",
        "smallest distance of two keys that a pass compares",
        [512, 2048, 1],
        "AMD APP SDK 3.0 BitonicSort: all passes",
    )
    .range(1, 1 << 27),
];

/// A part of the sorting network.
#[derive(Clone, Copy)]
struct Network {
    /// The binary logarithm of the number of keys.
    bits: u32,
    /// The first stage that is run. The input is in the order that the stages before it leave.
    first_stage: u32,
    /// Passes whose pairs are closer than this are left out.
    min_distance: u32,
}

/// A pass of a stage: one launch that compares all pairs at one distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pass {
    stage: u32,
    distance: u32,
}

impl Network {
    fn of(sizes: &Sizes) -> Network {
        let bits = sizes.get("keys").ilog2();
        Network { bits, first_stage: bits - sizes.get("stages"), min_distance: sizes.get("min_distance") }
    }

    fn keys(self) -> u32 {
        1 << self.bits
    }

    fn passes(self) -> impl Iterator<Item = Pass> {
        let of_stage = move |stage: u32| (0..=stage).rev().map(move |bit| Pass { stage, distance: 1 << bit });
        (self.first_stage..self.bits).flat_map(of_stage).filter(move |pass| pass.distance >= self.min_distance)
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

    /// Does the pass on the host.
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
        let work_groups = keys.len() as u32 / KEYS_PER_GROUP;
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

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let [keys, stages, min_distance] = ["keys", "stages", "min_distance"].map(|key| sizes.get(key));
        if !keys.is_power_of_two() {
            let (below, above) = (1 << keys.ilog2(), keys.next_power_of_two());
            return Some(format!("keys = {keys} is no power of two; {below} and {above} are the nearest"));
        }
        if stages > keys.ilog2() {
            return Some(format!("the sort of keys = {keys} has {} stages; stages = {stages} is more", keys.ilog2()));
        }
        (min_distance > keys / 2).then(|| {
            let most = keys / 2;
            format!("pairs of keys = {keys} are at most {most} apart, so min_distance = {min_distance} leaves no pass")
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let network = Network::of(sizes);
        let mut expected = sorted_blocks(network, &mut SplitMix64::new(seed));
        let keys = memory.alloc_from(&expected);
        network.passes().for_each(|pass| pass.apply(&mut expected));
        let kernels = network.passes().map(|pass| pass.kernel(keys)).collect();
        HostProgram::new(kernels, vec![Output::new("keys", keys, &expected)])
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::flat;
    use chorus_system::Scale;

    use super::*;

    /// Runs all of a network on flat memory.
    fn sort(network: Network) -> Vec<u32> {
        let mut memory = HostMemory::default();
        let keys = memory.alloc_from(&sorted_blocks(network, &mut SplitMix64::new(8)));
        for pass in network.passes() {
            flat::run_kernel(&pass.kernel(keys), &memory).unwrap();
        }
        memory.read(keys)
    }

    #[test]
    fn all_passes_sort_from_whatever_stage() {
        for first_stage in [0, 5, 9] {
            let sorted = sort(Network { bits: 10, first_stage, min_distance: 1 });
            assert!(sorted.is_sorted(), "from stage {first_stage}");
        }
    }

    #[test]
    fn passes_left_out_leave_blocks_in_order() {
        let keys = sort(Network { bits: 11, first_stage: 10, min_distance: 64 });
        let blocks: Vec<&[u32]> = keys.chunks_exact(64).collect();
        assert!(blocks.windows(2).all(|pair| pair[0].iter().max() <= pair[1].iter().min()));
    }

    #[test]
    fn sizes_that_leave_nothing_to_sort_are_refused() {
        let misfit = |keys, stages, min_distance| {
            let mut sizes = Bitonic.sizes_at(Scale::Quick);
            let values = [("keys", keys), ("stages", stages), ("min_distance", min_distance)];
            values.iter().for_each(|&(key, value)| sizes.set(key, value).unwrap());
            Bitonic.misfit(&sizes)
        };
        assert_eq!(misfit(1024, 10, 512), None);
        assert!(misfit(1536, 1, 1).unwrap().contains("1024 and 2048"));
        assert!(misfit(1024, 11, 1).unwrap().contains("has 10 stages"));
        assert!(misfit(1024, 1, 513).unwrap().contains("at most 512 apart"));
    }

    #[test]
    fn every_place_is_in_one_pair_of_a_pass() {
        let pass = Pass { stage: 4, distance: 8 };
        let mut places: Vec<u32> = (0..32).flat_map(|pair| [pass.left(pair), pass.left(pair) + 8]).collect();
        places.sort_unstable();
        assert_eq!(places, (0..64).collect::<Vec<u32>>());
    }
}
