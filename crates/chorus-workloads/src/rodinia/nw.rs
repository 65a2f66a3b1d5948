//! `nw`: sequence alignment at the size of a machine of several GPUs.
//!
//! Source: HMG paper (Ren et al., HPCA 2020), section VI, Table III, `Rodinia_nw-16K-10`: 16,384 residues and a gap penalty
//! of 10. The program is that of `ndl`, in `needleman_wunsch.rs`, on longer sequences. The CPElide paper (Dalmia et al., MICRO
//! 2024), section IV-D, Table II, has 8192 residues.
//!
//! Sharing between GPUs: an anti-diagonal is cut into as many blocks as there are modules, and as it grows and shrinks the
//! blocks move along the matrix. So a tile's edges were often written by another module; nothing is read by more than three
//! work-groups. A page holds whole rows, and the first tile of a row is computed by the first work-group of its launch:
//! where pages go to who touches them first, nearly all of the matrix lies with the first module, and the others fetch
//! their tiles from there.

use chorus_sim::frontend::HostMemory;
use chorus_system::Scale;

use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::rodinia::needleman_wunsch::align;
use crate::size::Sizes;

/// Sequence alignment on several GPUs.
pub struct Nw;

/// Tiles in a row, so residues / 16. Scores and similarities take 7.4 MB and 537 MB; the paper's 16,384 residues would
/// take its 2 GB. A tile takes about 66 line accesses, so 0.24 and 17 million in all, and 1.0 million at medium scale;
/// 16,384 residues would be 69 million.
fn tiles(scale: Scale) -> u32 {
    match scale {
        Scale::Quick => 60,
        Scale::Medium => 120,
        Scale::Paper => 512,
    }
}

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

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        align(tiles(sizes.scale()), seed, memory)
    }
}
