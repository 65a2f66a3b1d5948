//! `babelstream`: the five kernels of STREAM on the same three arrays, round after round.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `BabelStream` with arrays of 524,288
//! elements; BabelStream (Deakin, Price, Martineau and McIntosh-Smith, International Journal of Computational Science
//! and Engineering 2018). A round is copy (c = a), mul (b = s c), add (c = a + b), triad (a = b + s c) and dot (a . b),
//! with a work-item per element in work-groups of 1024. In dot a work-group adds up its products in local data and
//! stores one sum; the host adds the sums.
//!
//! Sharing: none but a line of the sums where work-groups of a chiplet do not fill it. A work-group has the same
//! elements in every kernel, so a kernel finds in a chiplet's L2 the elements that the kernel before has left there.
//! The three arrays together fit the L2s.
//!
//! Elements are of double precision in the original. Here an element is two words, each of them a number of single
//! precision: a wavefront touches the same four lines as with its 32 doubles, and does the arithmetic twice. A sum of
//! dot has two words as well, one for the first words of all work-items and one for the second.
//!
//! Left out: the kernel that gives all elements of an array one value; the arrays hold random numbers from the
//! beginning. There are fewer rounds than the original's 100. In dot there are as many work-groups as elements need,
//! fewer than the original would launch on 240 CUs.
//!
//! Arithmetic: 4 instructions for index and addresses and 2 for the two words, one each; dot also takes the
//! instructions of the sums.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Wave};

use crate::generator::SplitMix64;
use crate::lane_sum::{group_sum, store_group_sums};
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Wavefronts of a work-group, 1024 work-items as in the original.
const WAVES_PER_GROUP: u32 = 32;
const ELEMENTS_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;
const WORDS_PER_WAVE: u32 = 2 * LANES as u32;
const WORDS_PER_GROUP: u32 = WAVES_PER_GROUP * WORDS_PER_WAVE;
const WORDS_PER_SUM: u32 = 2;
/// The factor that the original multiplies with.
const SCALAR: f32 = 0.4;

pub(crate) struct BabelStream;

/// The arrays take 0.8 MB at quick scale, 3.1 MB at medium scale and Table II's 12.6 MB at paper scale. A round takes
/// 48 line accesses per wavefront: 0.25, 1.0 and 15.7 million in all.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "elements",
        "elements of each array, in work-groups of 1024",
        [32_768, 131_072, 524_288],
        "CPElide paper, Table II: 524,288",
    )
    .range(1024, 1 << 26)
    .multiple_of(1024),
    SizeSpec::new(
        "iterations",
        "rounds of the five kernels",
        [5, 5, 20],
        "chosen: a fifth of the original's 100, for time",
    )
    .range(1, 1000),
];

#[derive(Clone, Copy)]
struct Arrays {
    a: Buf<f32>,
    b: Buf<f32>,
    c: Buf<f32>,
    sums: Buf<f32>,
}

/// The two words of each work-item.
async fn places(w: &Wave) -> [Lanes<u32>; 2] {
    w.alu(4).await;
    let first = (w.work_group() * WAVES_PER_GROUP + w.id().wave) * WORDS_PER_WAVE;
    [w.lane_ids() + first, w.lane_ids() + (first + LANES as u32)]
}

/// Stores `f` of the elements of one array in another.
async fn map(w: Wave, from: Buf<f32>, to: Buf<f32>, f: fn(f32) -> f32) {
    let places = places(&w).await;
    let values = w.join_all(places.map(|place| w.load(from, place))).await;
    w.alu(2).await;
    for (place, values) in places.into_iter().zip(values) {
        w.store(to, place, values.map(f));
    }
}

/// Stores `f` of the elements of two arrays in a third.
async fn zip(w: Wave, [x, y]: [Buf<f32>; 2], to: Buf<f32>, f: fn(f32, f32) -> f32) {
    let places = places(&w).await;
    let [p, q] = places;
    let [x0, x1, y0, y1] = w.join_all([w.load(x, p), w.load(x, q), w.load(y, p), w.load(y, q)]).await;
    w.alu(2).await;
    w.store(to, p, x0.zip(y0, f));
    w.store(to, q, x1.zip(y1, f));
}

async fn dot(w: Wave, Arrays { a, b, sums, .. }: Arrays) {
    let [p, q] = places(&w).await;
    let [a0, a1, b0, b1] = w.join_all([w.load(a, p), w.load(a, q), w.load(b, p), w.load(b, q)]).await;
    w.alu(2).await;
    store_group_sums(&w, [a0 * b0, a1 * b1], sums, w.work_group() * WORDS_PER_SUM).await;
}

fn scaled(value: f32) -> f32 {
    SCALAR * value
}

fn triad(b: f32, c: f32) -> f32 {
    b + SCALAR * c
}

/// The launches of a round.
fn round(arrays: Arrays, work_groups: u32) -> [Kernel; 5] {
    let Arrays { a, b, c, sums } = arrays;
    let own = |kernel: Kernel, buf: Buf<f32>, mode: AccessMode| {
        kernel.access_parts(buf, mode, move |share| vec![share.elements(WORDS_PER_GROUP, buf.len())])
    };
    let mapped = |name: &str, from: Buf<f32>, to: Buf<f32>, f: fn(f32) -> f32| {
        let kernel = Kernel::new(name, work_groups, WAVES_PER_GROUP, move |w| map(w, from, to, f));
        own(own(kernel, from, AccessMode::Read), to, AccessMode::ReadWrite)
    };
    let zipped = |name: &str, [x, y]: [Buf<f32>; 2], to: Buf<f32>, f: fn(f32, f32) -> f32| {
        let kernel = Kernel::new(name, work_groups, WAVES_PER_GROUP, move |w| zip(w, [x, y], to, f));
        own(own(own(kernel, x, AccessMode::Read), y, AccessMode::Read), to, AccessMode::ReadWrite)
    };
    let dot = Kernel::new("dot", work_groups, WAVES_PER_GROUP, move |w| dot(w, arrays))
        .lds(WAVES_PER_GROUP * WORDS_PER_SUM * 4)
        .access_parts(sums, AccessMode::ReadWrite, move |share| vec![share.elements(WORDS_PER_SUM, sums.len())]);
    [
        mapped("copy", a, c, |a| a),
        mapped("mul", c, b, scaled),
        zipped("add", [a, b], c, |a, b| a + b),
        zipped("triad", [b, c], a, triad),
        own(own(dot, a, AccessMode::Read), b, AccessMode::Read),
    ]
}

/// The arrays on the host.
struct Reference {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

impl Reference {
    /// All kernels of a round except for the last, dot.
    fn round(&mut self) {
        for ((a, b), c) in self.a.iter_mut().zip(&mut self.b).zip(&mut self.c) {
            *c = *a;
            *b = scaled(*c);
            *c = *a + *b;
            *a = triad(*b, *c);
        }
    }

    /// The sums of each work-group.
    fn sums(&self) -> Vec<f32> {
        let products: Vec<f32> = self.a.iter().zip(&self.b).map(|(a, b)| a * b).collect();
        let mut sums = Vec::new();
        for group in products.chunks(WORDS_PER_GROUP as usize) {
            for first in [0, LANES] {
                let lanes = |wave: &[f32]| std::array::from_fn(|lane| wave[first + lane]);
                let waves: Vec<[f32; LANES]> = group.chunks(WORDS_PER_WAVE as usize).map(lanes).collect();
                sums.push(group_sum(&waves));
            }
        }
        sums
    }
}

impl Workload for BabelStream {
    fn name(&self) -> &'static str {
        "babelstream"
    }

    fn title(&self) -> &'static str {
        "BabelStream"
    }

    fn summary(&self) -> &'static str {
        "Copies, scales, adds and multiplies three arrays in five kernels a round, each on the same parts of them."
    }

    fn suite(&self) -> Suite {
        Suite::Hpc
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (BabelStream); \
         BabelStream (Deakin et al., IJCSE 2018)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (work_groups, rounds) = (sizes.get("elements") / ELEMENTS_PER_GROUP, sizes.get("iterations"));
        let mut generator = SplitMix64::new(seed);
        let mut draw = || (0..work_groups * WORDS_PER_GROUP).map(|_| generator.unit_f32()).collect::<Vec<f32>>();
        let mut reference = Reference { a: draw(), b: draw(), c: draw() };
        let arrays = Arrays {
            a: memory.alloc_from(&reference.a),
            b: memory.alloc_from(&reference.b),
            c: memory.alloc_from(&reference.c),
            sums: memory.alloc((work_groups * WORDS_PER_SUM) as usize),
        };
        (0..rounds).for_each(|_| reference.round());
        let outputs = vec![
            Output::new("a", arrays.a, &reference.a),
            Output::new("b", arrays.b, &reference.b),
            Output::new("c", arrays.c, &reference.c),
            Output::new("sums", arrays.sums, &reference.sums()),
        ];
        HostProgram::new((0..rounds).flat_map(|_| round(arrays, work_groups)).collect(), outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_does_what_the_definitions_say() {
        let mut reference = Reference { a: vec![1.0], b: vec![7.0], c: vec![7.0] };
        reference.round();
        assert_eq!((reference.b[0], reference.c[0]), (0.4, 1.4));
        assert!((reference.a[0] - 0.96).abs() < 1e-6);
    }
}
