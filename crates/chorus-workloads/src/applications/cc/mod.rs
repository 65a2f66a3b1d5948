//! `cc`: segmentation of an image by a minimum cut, found as the maximum flow by push and relabel.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, CudaCuts; the program is that of Vineet and Narayanan, CUDA
//! Cuts: Fast Graph Cuts on the GPU, CVPR Workshops 2008. Every pixel is a node with arcs to its four neighbours, and
//! from the source or to the sink; push-relabel is Goldberg and Tarjan's (JACM 35, 1988). The TC paper changed the
//! original: a coherent memory space let it combine the push, pull and relabel kernels into one. It does not say how
//! the operations are kept apart there. Here they race, and fast barriers separate only sweeps from exact heights.
//!
//! | file | subject |
//! |---|---|
//! | `grid.rs` | the image, its flow network, and the layout of memory |
//! | `push_relabel.rs` | the kernel |
//! | `max_flow.rs` | the maximum flow that the host finds by another algorithm |
//! | this file | sizes, and the check of the result |
//!
//! Sharing: a pixel reads its neighbours' heights and the flow that they have sent to it, while they go on. At the
//! edges of a tile the neighbours belong to other work-groups, in lines of the same row as well as of the rows above
//! and below. Work is uneven: most tiles are soon at rest and only look at their excess and their note.
//!
//! A network has many maximum flows; the cut nearest to the sink is the same for all. The result is right if every
//! label is the host's, no arc carries more than its capacity, every pixel has received all flow that was sent to it
//! and has the difference of inflow and outflow as its excess, and the maximum flow has reached the sink. Excess that
//! cannot reach the sink stays where it is, as in the original: the cut does not need it returned to the source.
//!
//! Changed: heights are made exact again and again, where the original stops when flow has hardly moved for some
//! iterations; its result then need not be minimal, and depends on the order of events.
//!
//! Left out: the construction of the network from the terms of an energy; copies of a tile's heights in local data,
//! which would be read once only.
//!
//! All work-groups must be resident at once, as the barrier demands: 32 on the 8 compute units of quick scale and 64 on
//! the 16 of paper scale. A work-group takes 8 wavefronts and 8 x 32 x 32 registers, so a compute unit holds 4.

mod grid;
mod max_flow;
mod push_relabel;

use chorus_kernel::{HostMemory, Kernel, Mismatch};

use crate::fast_barrier::FastBarrier;
use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use grid::{DIRECTIONS, Grid, Network, Size, opposite};
use max_flow::MaxFlow;
use push_relabel::{Cut, ROWS};

const REGISTERS_PER_ITEM: u32 = 32;

pub(crate) struct Cc;

/// A work-group has 2 tiles, and 3 at paper scale. The 64 bytes of each pixel make 1.0 MB at quick scale and 3.1 MB at
/// paper scale, in about 0.5 million and 1.5 million line accesses. Medium scale lies between, with twice the pixels of
/// quick scale. The sides are no powers of two. Otherwise the words of a pixel, one in each array, would compete for
/// the same set of a cache.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("width", "pixels in a row of the image", [96, 192, 288], UNPRINTED).range(32, 1024).multiple_of(32),
    SizeSpec::new("height", "rows of the image", [168, 168, 168], UNPRINTED).range(16, 1024).multiple_of(8),
    SizeSpec::new(
        "work_groups",
        "work-groups, all of them resident at once",
        [32, 64, 64],
        "chosen: four for each of the TC paper's 16 compute units, as many as a unit's registers hold",
    )
    .range(1, 64),
];
const UNPRINTED: &str = "chosen: the TC paper prints no input; 3.1 MB are more than the caches of its machine hold";

/// Checks that memory holds a preflow of `network` that brings `value` to the sink.
fn check_flow(network: &Network, value: u64, grid: &Grid, memory: &HostMemory) -> Result<(), Mismatch> {
    let [excess, sink] = [grid.excess, grid.sink].map(|buf| memory.read(buf));
    let [arcs, sent, received] = [grid.arcs, grid.sent, grid.received].map(|bufs| bufs.map(|buf| memory.read(buf)));
    let mut arrived = 0;
    for pixel in 0..network.size.pixels() {
        if sink[pixel] > network.sink[pixel] {
            let (left, capacity) = (sink[pixel], network.sink[pixel]);
            return Err(Mismatch(format!("pixel {pixel} has {left} left to the sink of {capacity}")));
        }
        let to_sink = i64::from(network.sink[pixel] - sink[pixel]);
        let mut expected = i64::from(network.source[pixel]) - to_sink;
        for direction in 0..DIRECTIONS {
            let pushed = network
                .size
                .neighbour(pixel as u32, direction)
                .map_or(0, |neighbour| sent[opposite(direction)][neighbour as usize]);
            let (sent, received) = (sent[direction][pixel], received[direction][pixel]);
            if received != pushed {
                return Err(Mismatch(format!("pixel {pixel} has received {received} of {pushed} from a neighbour")));
            }
            let net = i64::from(received) - i64::from(sent);
            let left = i64::from(network.arcs[direction][pixel]) + net;
            let found = arcs[direction][pixel];
            if i64::from(found) != left {
                return Err(Mismatch(format!("pixel {pixel} has {found} left to a neighbour instead of {left}")));
            }
            expected += net;
        }
        let found = excess[pixel];
        if i64::from(found) != expected {
            return Err(Mismatch(format!("the excess of pixel {pixel} is {found} instead of {expected}")));
        }
        arrived += to_sink as u64;
    }
    if arrived != value {
        return Err(Mismatch(format!("a flow of {arrived} reaches the sink instead of {value}")));
    }
    Ok(())
}

impl Workload for Cc {
    fn name(&self) -> &'static str {
        "cc"
    }

    fn title(&self) -> &'static str {
        "CudaCuts"
    }

    fn summary(&self) -> &'static str {
        "Segments an image by a minimum cut; pixels push flow to each other and relabel in one kernel."
    }

    fn suite(&self) -> Suite {
        Suite::Applications
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (CC); \
         Vineet and Narayanan, CUDA Cuts, CVPR Workshops 2008"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let size = Size { width: sizes.get("width"), height: sizes.get("height") };
        program(Network::new(size, &mut SplitMix64::new(seed)), sizes.get("work_groups"), memory).1
    }
}

/// The program of a network, and the buffers that the network lies in.
fn program(network: Network, work_groups: u32, memory: &mut HostMemory) -> (Grid, HostProgram) {
    let MaxFlow { value, labels } = MaxFlow::new(&network);
    let grid = Grid::new(&network, memory);
    let barrier = FastBarrier::new(work_groups, memory);
    let kernel =
        Kernel::new("cut", work_groups, ROWS, move |w| Cut::new(w, grid, barrier).run()).registers(REGISTERS_PER_ITEM);
    let program = HostProgram::new(vec![kernel], vec![Output::new("label", grid.label, &labels)])
        .invariant(move |memory| check_flow(&network, value, &grid, memory));
    (grid, program)
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Buf, Program, flat};
    use chorus_system::{Scale, resolve, scales};

    use super::*;

    #[test]
    fn images_have_two_regions_at_every_scale() {
        for scale in Scale::ALL {
            let sizes = Cc.sizes_at(scale);
            let size = Size { width: sizes.get("width"), height: sizes.get("height") };
            let network = Network::new(size, &mut SplitMix64::new(1));
            let labels = MaxFlow::new(&network).labels;
            let bright = labels.iter().sum::<u32>() as usize;
            assert!(bright > labels.len() / 20 && bright < labels.len() * 19 / 20, "{bright} of {}", labels.len());
        }
    }

    /// Runs a small image, lets `spoil` change memory, and checks the result.
    fn check(spoil: impl FnOnce(&Grid, &mut HostMemory)) -> Result<(), Mismatch> {
        let network = Network::new(Size { width: 64, height: 32 }, &mut SplitMix64::new(4));
        let mut memory = HostMemory::default();
        let (grid, mut program) = program(network, 5, &mut memory);
        flat::run(&mut program, &memory)?;
        spoil(&grid, &mut memory);
        program.check(&memory).not_wrong()
    }

    #[test]
    fn a_small_image_is_segmented() {
        assert_eq!(check(|_, _| {}), Ok(()));
    }

    /// Adds one to the first word of a buffer that is not zero.
    fn add_one(memory: &mut HostMemory, buf: Buf<u32>) {
        let word = (0..buf.len()).find(|&word| memory.get(buf, word) > 0).unwrap();
        memory.set(buf, word, memory.get(buf, word) + 1);
    }

    #[test]
    fn flow_that_is_sent_and_not_received_is_found() {
        let lost = check(|grid, memory| add_one(memory, grid.sent[3]));
        assert!(lost.unwrap_err().0.contains("has received"));
    }

    #[test]
    fn an_arc_with_more_left_than_it_had_is_found() {
        let more = check(|grid, memory| add_one(memory, grid.arcs[1]));
        assert!(more.unwrap_err().0.contains("left to a neighbour"));
    }

    #[test]
    fn excess_from_nowhere_is_found() {
        let more = check(|grid, memory| add_one(memory, grid.excess));
        assert!(more.unwrap_err().0.contains("the excess of pixel"));
    }

    #[test]
    fn a_flow_that_is_not_maximal_is_found() {
        let less = check(|grid, memory| {
            // A pixel takes one unit back from the sink.
            let full = |pixel: &usize| memory.get(grid.sink, *pixel) == 0 && memory.get(grid.label, *pixel) == 0;
            let initial = Network::new(grid.size, &mut SplitMix64::new(4)).sink;
            let pixel = (0..grid.size.pixels()).filter(full).find(|&pixel| initial[pixel] > 0).unwrap();
            let excess = memory.get(grid.excess, pixel);
            memory.set(grid.sink, pixel, 1);
            memory.set(grid.excess, pixel, excess + 1);
        });
        assert!(less.unwrap_err().0.contains("reaches the sink"));
    }

    #[test]
    fn all_work_groups_are_resident_on_the_machine_of_their_scale() {
        for scale in scales("tc").unwrap() {
            let core = resolve("tc", scale, &[]).unwrap().config.core;
            let registers = ROWS * core.lanes * REGISTERS_PER_ITEM;
            let per_core = core.work_groups.min(core.wavefronts / ROWS).min(core.registers / registers);
            assert!(Cc.sizes_at(scale).get("work_groups") <= core.count * per_core, "{scale}");
        }
    }
}
