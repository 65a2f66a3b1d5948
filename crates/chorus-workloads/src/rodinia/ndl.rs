//! `ndl`: sequence alignment at the size of the TC paper's machine.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Table 3. The program, its sharing and its arithmetic are
//! those of `needleman_wunsch.rs`.

use chorus_kernel::HostMemory;

use crate::program::HostProgram;
use crate::registry::{Paper, Suite, Workload};
use crate::rodinia::needleman_wunsch::{align, residues};
use crate::size::{SizeSpec, Sizes};

pub(crate) struct Ndl;

/// The longest anti-diagonal has as many work-groups as fit on the machine: one for every 16 residues. Scores and
/// similarities take 8.4 MB and 33.6 MB; a tile takes about 66 line accesses, so 0.3 and 1.1 million in all; the medium
/// scale lies between, with 0.6 million.
static SIZES: [SizeSpec; 1] = [residues([1024, 1536, 2048], "Rodinia's usual input")];

impl Workload for Ndl {
    fn name(&self) -> &'static str {
        "ndl"
    }

    fn title(&self) -> &'static str {
        "Needleman-Wunsch"
    }

    fn summary(&self) -> &'static str {
        "Aligns two sequences: tiles of a score matrix in local data, one kernel per anti-diagonal of tiles."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (NDL); \
         Rodinia nw (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        align(sizes.get("residues"), seed, memory)
    }
}
