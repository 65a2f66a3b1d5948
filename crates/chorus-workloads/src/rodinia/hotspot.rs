//! `hotspot`: the temperature of a processor at the size of a GPU of several chiplets.
//!
//! Source: CPElide paper (Dalmia et al., MICRO 2024), section IV-D, Table II, `Hotspot` with 512 x 512 cells, a pyramid
//! of height 2 and 20 time steps; hotspot of Rodinia (Che et al., IISWC 2009). The program is that of `hsp`, in
//! `hsp.rs`, with two time steps per launch.
//!
//! Sharing: a work-group computes 12 x 12 cells and reads two more on each side, so that chiplets read two rows of each
//! other's temperatures in every launch. The power map is only read, by the same chiplet in every launch.

use chorus_kernel::HostMemory;

use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::rodinia::hsp::{heat, heat_misfit, pyramid, side, steps};
use crate::size::{SizeSpec, Sizes};

pub(crate) struct Hotspot;

/// Two grids of temperature and one of power take 0.2 MB, 0.8 MB and Table II's 3.1 MB; a sixteenth and a quarter of
/// its cells. A wavefront takes about 11 accesses of lines of 64 bytes: 0.1, 0.4 and 1.7 million in all.
static SIZES: [SizeSpec; 3] = [
    side([128, 256, 512], "CPElide paper, Table II: 512 x 512"),
    steps([20; 3], "CPElide paper, Table II: 20"),
    pyramid([2; 3], "CPElide paper, Table II: 2"),
];

impl Workload for Hotspot {
    fn name(&self) -> &'static str {
        "hotspot"
    }

    fn title(&self) -> &'static str {
        "HotSpot, pyramid"
    }

    fn summary(&self) -> &'static str {
        "Steps the temperatures of a chip on a 2-D grid, two steps per kernel, tiles in local data."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide, MICRO 2024, section IV-D, Table II (Hotspot); Rodinia hotspot (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        heat_misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        heat(sizes, seed, memory)
    }
}
