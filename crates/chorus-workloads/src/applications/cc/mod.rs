//! `cc`: segmentation of an image by a minimum cut, found as the maximum flow by push and relabel.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, CudaCuts; the program is that of Vineet and Narayanan, CUDA
//! Cuts: Fast Graph Cuts on the GPU, CVPR Workshops 2008, in the variant with atomics that they have published. Every
//! pixel is a node with arcs to its four neighbours, and from the source or to the sink; push-relabel is Goldberg and
//! Tarjan's (JACM 35, 1988). The host launches kernels until flow moves no more, and then a breadth-first search, a
//! launch for each step, that finds the side of each pixel. The TC paper changed the original: a coherent memory space
//! let it combine the push, pull and relabel kernels into one. So it is here.
//!
//! | file | subject |
//! |---|---|
//! | `grid.rs` | the image, its flow network, and the layout of memory |
//! | `push_relabel.rs` | the kernels |
//! | `max_flow.rs` | the maximum flow that the host finds by another algorithm |
//! | this file | sizes, the launches, and the check of the result |
//!
//! Sharing: a push is an atomic addition to the excess of a neighbour and to its arc back. At the edges of a tile the
//! neighbours belong to other work-groups, in lines of the same row as well as of the rows above and below. Pixels
//! read their own excess and arcs, which others add to, before every push and again to be relabelled.
//!
//! A network has many maximum flows; the cut nearest to the sink is the same for all. The result is right if every
//! label is the host's, no arc carries more than its capacity, every pixel has the difference of inflow and outflow as
//! its excess, and the maximum flow has reached the sink. Excess that cannot reach the sink stays where it is, as in
//! the original: the cut does not need it returned to the source.
//!
//! Changed: the original looks every ten launches whether the excess of any pixel has changed, and then searches once;
//! its result need not be minimal, and depends on the order of events. Here the search follows every ten launches, and
//! its distances are the heights of the next ten if there is still a way to the sink. The search begins at the sink,
//! not at the excess.
//!
//! Left out: the construction of the network from the terms of an energy; the counts of what has not been pulled,
//! which nothing reads; the variant that skips tiles at rest.

mod grid;
mod max_flow;
mod push_relabel;

use chorus_kernel::{HostMemory, Kernel, Mismatch, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use grid::{DIRECTIONS, Grid, Network, Size, opposite};
use max_flow::MaxFlow;
use push_relabel::{LDS_BYTES, ROWS, begin_search, flow, label, search};

const REGISTERS_PER_ITEM: u32 = 32;

/// Launches of the combined kernel before a search.
const FLOWS: u32 = 10;
const _: () = assert!(FLOWS.is_multiple_of(2), "a search writes the heights that the next launch reads");
/// The most searches. No image comes near this number, which makes a program whose flow has gone wrong end.
const SEARCHES_MAX: u32 = 200;

pub(crate) struct Cc;

/// The 40 bytes of each pixel make 0.97 MB at quick scale and 1.94 MB at paper scale: at both, 1.9 times the L2.
/// The sides are no powers of two. Otherwise the words of a pixel, one in each array, would compete for the same set of
/// a cache.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("width", "pixels in a row of the image", [160, 192, 288], UNPRINTED).range(32, 1024).multiple_of(32),
    SizeSpec::new("height", "rows of the image", [152, 168, 168], UNPRINTED).range(16, 1024).multiple_of(8),
];
const UNPRINTED: &str = "chosen: the TC paper prints no input; the arrays are larger than the L2 of its machine";

/// Checks that memory holds a preflow of `network` that brings `value` to the sink.
fn check_flow(network: &Network, value: u64, grid: &Grid, memory: &HostMemory) -> Result<(), Mismatch> {
    let [excess, sink] = [grid.excess, grid.sink].map(|buf| memory.read(buf));
    let arcs = grid.arcs.map(|buf| memory.read(buf));
    let mut arrived = 0;
    for pixel in 0..network.size.pixels() {
        if sink[pixel] > network.sink[pixel] {
            let (left, capacity) = (sink[pixel], network.sink[pixel]);
            return Err(Mismatch(format!("pixel {pixel} has {left} left to the sink of {capacity}")));
        }
        let to_sink = i64::from(network.sink[pixel] - sink[pixel]);
        let mut expected = i64::from(network.source[pixel]) - to_sink;
        for direction in 0..DIRECTIONS {
            let back = network.size.neighbour(pixel as u32, direction).map_or([0; 2], |neighbour| {
                [&network.arcs, &arcs].map(|arcs| arcs[opposite(direction)][neighbour as usize])
            });
            let capacities = u64::from(network.arcs[direction][pixel]) + u64::from(back[0]);
            let left = u64::from(arcs[direction][pixel]) + u64::from(back[1]);
            if left != capacities {
                return Err(Mismatch(format!(
                    "pixel {pixel} and a neighbour have {left} left to each other instead of {capacities}"
                )));
            }
            expected += i64::from(arcs[direction][pixel]) - i64::from(network.arcs[direction][pixel]);
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
        program(Network::new(size, &mut SplitMix64::new(seed)), memory).1
    }
}

/// What the host launches next.
#[derive(Clone, Copy)]
enum Step {
    /// The combined kernel, after so many launches of it since the last search.
    Flow(u32),
    BeginSearch,
    /// A step of a search, to pixels at this height.
    Search(u32),
    Label,
    End,
}

/// The host's side of the program.
struct Launcher {
    grid: Grid,
    step: Step,
    searches: u32,
    /// The height that the next step of a search gives. It grows from search to search, so that a step that has reached
    /// a pixel can be told from those of earlier searches.
    stamp: u32,
}

impl Launcher {
    /// The next kernel, from what the last one has left in memory.
    fn next(&mut self, memory: &HostMemory) -> Option<Kernel> {
        if let Step::Search(height) = self.step
            && height > 2
            && memory.get(self.grid.reached, 0) != self.stamp
        {
            let flows = self.searches < SEARCHES_MAX && self.can_reach_sink(memory);
            self.step = if flows { Step::Flow(0) } else { Step::Label };
        }
        let grid = self.grid;
        match self.step {
            Step::Flow(number) => {
                self.step = if number + 1 < FLOWS { Step::Flow(number + 1) } else { Step::BeginSearch };
                let from = number as usize % 2;
                Some(launch("flow", grid, move |w| flow(w, grid, from)).lds(LDS_BYTES))
            }
            Step::BeginSearch => {
                self.searches += 1;
                self.step = Step::Search(2);
                Some(launch("begin-search", grid, move |w| begin_search(w, grid)))
            }
            Step::Search(height) => {
                self.step = Step::Search(height + 1);
                self.stamp += 1;
                let stamp = self.stamp;
                Some(launch("search", grid, move |w| search(w, grid, height, stamp)))
            }
            Step::Label => {
                self.step = Step::End;
                Some(launch("label", grid, move |w| label(w, grid)))
            }
            Step::End => None,
        }
    }

    /// Whether the search has found a way to the sink for any excess.
    fn can_reach_sink(&self, memory: &HostMemory) -> bool {
        let [excess, height] = [self.grid.excess, self.grid.heights[0]].map(|buf| memory.read(buf));
        excess.iter().zip(&height).any(|(&excess, &height)| excess > 0 && height < self.grid.height_max())
    }
}

/// A kernel with a work-group for each tile.
fn launch<F>(name: &'static str, grid: Grid, code: impl Fn(Wave) -> F + Send + Sync + 'static) -> Kernel
where
    F: Future<Output = ()> + 'static,
{
    Kernel::new(name, grid.tiles(), ROWS, code).registers(REGISTERS_PER_ITEM)
}

/// The program of a network, and the buffers that the network lies in.
fn program(network: Network, memory: &mut HostMemory) -> (Grid, HostProgram) {
    let MaxFlow { value, labels } = MaxFlow::new(&network);
    let grid = Grid::new(&network, memory);
    let mut launcher = Launcher { grid, step: Step::Flow(0), searches: 0, stamp: 0 };
    let outputs = vec![Output::new("label", grid.label, &labels)];
    let program = HostProgram::deciding(move |memory| launcher.next(memory), outputs)
        .invariant(move |memory| check_flow(&network, value, &grid, memory));
    (grid, program)
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Buf, Program, flat};
    use chorus_system::Scale;

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
        let (grid, mut program) = program(network, &mut memory);
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
    fn an_arc_with_more_left_than_it_had_is_found() {
        let more = check(|grid, memory| add_one(memory, grid.arcs[1]));
        assert!(more.unwrap_err().0.contains("left to each other"));
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
}
