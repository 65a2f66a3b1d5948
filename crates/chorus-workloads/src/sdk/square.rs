//! `square`: the square of every element of an array, again and again.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `Square` with 524,288 elements in 2048
//! work-groups of 256; square of HIP-Examples and gem5-resources, which section III-B also takes as its example of
//! annotations. One kernel, launched over and over on the same two arrays: a work-item squares one element.
//!
//! Sharing: none. A work-group has the same elements in every launch, so a chiplet finds the elements that it has read
//! and written in its own L2, if nobody has emptied the L2 in between. Both arrays together fit one L2.
//!
//! Left out: the loop of a work-item over further elements. There are none, since there is a work-item for every
//! element. Table II does not name a number of launches; here there are 40.
//!
//! Arithmetic: 4 instructions for the index, its test and the addresses, 1 multiplication.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const ITEMS_PER_GROUP: u32 = WAVES_PER_GROUP * LANES as u32;

/// Squares every element of an array.
pub struct Square;

/// Both arrays take 0.26 MB at quick, 1.0 MB at medium, and Table II's 4.2 MB at paper scale. A launch takes 4 line
/// accesses per wavefront: 0.16 million in all at quick, 0.66 million at medium and 2.6 million at paper scale.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new("elements", "elements of each array", [1 << 15, 1 << 17, 1 << 19], "CPElide Table II (Square)")
        .range(ITEMS_PER_GROUP as u64, 1 << 28)
        .multiple_of(ITEMS_PER_GROUP as u64),
    SizeSpec::new(
        "launches",
        "launches of the kernel",
        [40, 40, 40],
        "chosen: CPElide Table II does not name a number",
    )
    .range(1, 100_000),
];

async fn square(w: Wave, from: Buf<f32>, to: Buf<f32>) {
    let i = w.global_ids();
    w.alu(4).await;
    let values = w.load(from, i).await;
    w.alu(1).await;
    w.store(to, i, values * values);
}

impl Workload for Square {
    fn name(&self) -> &'static str {
        "square"
    }

    fn title(&self) -> &'static str {
        "Square"
    }

    fn summary(&self) -> &'static str {
        "Squares every element of an array, in many launches over the same data: nothing shared, everything used again."
    }

    fn suite(&self) -> Suite {
        Suite::Sdk
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (Square); HIP-Examples square"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (elements, launches) = (sizes.get("elements"), sizes.get("launches"));
        let groups = elements / ITEMS_PER_GROUP;
        let mut generator = SplitMix64::new(seed);
        let given: Vec<f32> = (0..elements).map(|_| generator.between_f32(1.0, 2.0)).collect();
        let (from, to) = (memory.alloc_from(&given), memory.alloc::<f32>(given.len()));
        let len = given.len();
        let launch = |_| {
            Kernel::new("square", groups, WAVES_PER_GROUP, move |w| square(w, from, to))
                .access_parts(from, AccessMode::Read, move |share| vec![share.elements(ITEMS_PER_GROUP, len)])
                .access_parts(to, AccessMode::ReadWrite, move |share| vec![share.elements(ITEMS_PER_GROUP, len)])
        };
        let expected: Vec<f32> = given.iter().map(|value| value * value).collect();
        HostProgram::new((0..launches).map(launch).collect(), vec![Output::new("squares", to, &expected)])
    }
}
