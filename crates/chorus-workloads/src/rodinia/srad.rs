//! `srad`: speckle-reducing anisotropic diffusion at the size of a GPU of several chiplets.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `SRAD_v2` with 2048 x 2048 pixels, two
//! iterations and a region of interest of 128 x 128; srad_v2 of Rodinia (Che et al., IISWC 2009). The program is that
//! of
//! `sr`, in `sr.rs`.
//!
//! Sharing between chiplets: a row of pixels at each border, of the image in the first kernel and of the coefficients
//! in the second. A row is a power of two long, so that all rows of a tile lie in few sets of a private cache.

use chorus_kernel::HostMemory;

use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::rodinia::sr::{diffusion, iterations, region, region_misfit, side};
use crate::size::{SizeSpec, Sizes};

pub(crate) struct Srad;

/// The quick and the medium scale have a sixteenth and a quarter of Table II's pixels. Six arrays take 6.3 MB, 25 MB
/// and 101 MB. A wavefront takes 35 line accesses in the two kernels of an iteration: 0.6, 2.3 and 9.2 million in all.
static SIZES: [SizeSpec; 3] = [
    side([512, 1024, 2048], "CPElide paper, Table II: 2048 x 2048"),
    iterations([2, 2, 2], "CPElide paper, Table II: 2"),
    region("CPElide paper, Table II: 128 x 128"),
];

impl Workload for Srad {
    fn name(&self) -> &'static str {
        "srad"
    }

    fn title(&self) -> &'static str {
        "Anisotropic diffusion (SRAD), large"
    }

    fn summary(&self) -> &'static str {
        "Removes speckle from an image that is larger than the L2s, two kernels per iteration, tiles in local data."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (SRAD_v2); Rodinia srad_v2 (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        region_misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        diffusion(sizes, seed, memory)
    }
}
