//! `nw`: sequence alignment at the size of a machine of several GPUs.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III, `Rodinia_nw-16K-10`: 16,384 residues and a gap
//! penalty of 10. The program is that of `ndl`, in `needleman_wunsch.rs`, on longer sequences. The CPElide paper
//! (Dalmia et al., MICRO 2024), section IV-D, Table II, has 8192 residues.
//!
//! Sharing between GPUs: an anti-diagonal is cut into as many blocks as there are modules, and as it grows and shrinks
//! the blocks move along the matrix. So a tile's edges were often written by another module; nothing is read by more
//! than three work-groups. A page holds whole rows, and the first tile of a row is computed by the first work-group of
//! its launch. Where a page goes to the module that touches it first, nearly all of the matrix lies with the first
//! module, and the others fetch their tiles from there.

use chorus_kernel::HostMemory;

use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::rodinia::needleman_wunsch::{align, residues};
use crate::size::{SizeSpec, Sizes};

pub(crate) struct Nw;

/// Scores and similarities take 7.4 MB and 537 MB; the HMG paper's 16,384 residues would take its 2 GB. A tile takes
/// about 66 line accesses, so 0.24 and 17 million in all, and 1.0 million at medium scale; 16,384 residues would be 69
/// million.
static SIZES: [SizeSpec; 1] =
    [residues([960, 1920, 8192], "CPElide paper, Table II: 8192; the HMG paper's Table III has 16384")];

impl Workload for Nw {
    fn name(&self) -> &'static str {
        "nw"
    }

    fn title(&self) -> &'static str {
        "Needleman-Wunsch, large"
    }

    fn summary(&self) -> &'static str {
        "Aligns two sequences; the anti-diagonals of tiles, one kernel each, are spread over all GPUs."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Hmg, Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Ren et al., HMG, HPCA 2020, section VI, Table III (nw-16K); Dalmia et al., CPElide, MICRO 2024, Table II (NW); \
         Rodinia nw (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        align(sizes.get("residues"), seed, memory)
    }
}
