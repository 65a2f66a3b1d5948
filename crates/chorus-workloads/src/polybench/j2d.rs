//! `j2d`: Jacobi relaxation of a square grid, two kernels per time step.
//!
//! Source: REC paper (Ko et al.), section 5.1, Table 3, `2-D jacobi solver`; jacobi2D of PolyBench-GPU (Grauer-Gray et
//! al., InPar 2012). The first kernel gives every point the mean of itself and its four neighbours in a second grid,
//! the next copies that grid back. Work-groups of 32 columns and 8 rows, a work-item per point, no local data.
//!
//! Sharing, where buffers are cut into blocks: both kernels cut both grids in the same way, so a GPU copies the points
//! that it has computed. In each time step it gets two rows from others, the row above and the row below its part,
//! which the copy has just written there. Both grids are read and written in every step. A GPU's part is far larger
//! than a cache, so a wavefront finds only the rows around it again.
//!
//! Left out: most of the time steps (PolyBench makes 20).
//!
//! Arithmetic: 8 instructions for row, column and the test against the border; 5 addresses, 4 additions and a
//! multiplication for the mean; 2 addresses for the copy.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

const WAVES_PER_GROUP: u32 = 8;
const REGISTERS_PER_ITEM: u32 = 16;

/// Relaxes a square grid by Jacobi's method.
pub struct J2d;

/// Table 3's 128 MB are exactly two grids of PolyBench's own 4096 rows. A wavefront takes 18 line accesses of 64 bytes
/// in a time step, 14 for the mean and 4 for the copy.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "rows and columns of the grid",
        [512, 1024, 4096],
        "REC Table 3 (J2D): 128 MB, two square grids",
    )
    .range(3, 1 << 14),
    SizeSpec::new("steps", "time steps, of two kernels each", [3, 3, 3], "chosen: the first of PolyBench-GPU's 20")
        .range(1, 1000),
];

/// The mean of a point and its neighbours west, east, south and north, in the order of the source.
fn mean([centre, west, east, south, north]: [f32; 5]) -> f32 {
    0.2 * (centre + west + east + south + north)
}

/// The points of a wavefront, and a mask of the points that have all neighbours.
async fn points_of(w: &Wave, points: u32) -> (Lanes<u32>, Mask) {
    let groups_across = points.div_ceil(LANES as u32);
    let (x, y) = (w.work_group() % groups_across, w.work_group() / groups_across);
    let (j, i) = (w.lane_ids() + x * LANES as u32, y * WAVES_PER_GROUP + w.id().wave);
    w.alu(8).await;
    (j + i * points, j.where_(|j| i > 0 && j > 0 && i < points - 1 && j < points - 1))
}

async fn relax(w: Wave, points: u32, a: Buf<f32>, b: Buf<f32>) {
    let (point, inside) = points_of(&w, points).await;
    if !inside.any() {
        return;
    }
    let near = |distance: u32| w.load_where(inside, a, point.map(|point| point.wrapping_add(distance)));
    let distances = [0, 1_u32.wrapping_neg(), 1, points, points.wrapping_neg()];
    w.alu(5).await;
    let values = w.join_all(distances.map(near)).await;
    w.alu(5).await;
    w.store_where(inside, b, point, Lanes::from_fn(|lane| mean(values.map(|values| values[lane]))));
}

async fn copy_back(w: Wave, points: u32, b: Buf<f32>, a: Buf<f32>) {
    let (point, inside) = points_of(&w, points).await;
    if inside.any() {
        w.alu(2).await;
        let values = w.load_where(inside, b, point).await;
        w.store_where(inside, a, point, values);
    }
}

/// A time step on the host.
fn reference_step(points: usize, a: &mut [f32], b: &mut [f32]) {
    for i in 1..points - 1 {
        for j in 1..points - 1 {
            let at = i * points + j;
            b[at] = mean([a[at], a[at - 1], a[at + 1], a[at + points], a[at - points]]);
        }
    }
    for i in 1..points - 1 {
        let inside = i * points + 1..(i + 1) * points - 1;
        a[inside.clone()].copy_from_slice(&b[inside]);
    }
}

impl Workload for J2d {
    fn name(&self) -> &'static str {
        "j2d"
    }

    fn title(&self) -> &'static str {
        "2-D Jacobi solver"
    }

    fn summary(&self) -> &'static str {
        "Relaxes a square grid, a kernel for the means and one that copies them back in every time step."
    }

    fn suite(&self) -> Suite {
        Suite::PolyBench
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Rec]
    }

    fn source(&self) -> &'static str {
        "Ko et al., REC: Enhancing fine-grained cache coherence protocol in multi-GPU systems, \
         section 5.1, Table 3 (J2D); \
         PolyBench-GPU jacobi2D (Grauer-Gray et al., InPar 2012)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (points, steps) = (sizes.get("side"), sizes.get("steps"));
        let mut generator = SplitMix64::new(seed);
        let mut grid = || (0..points * points).map(|_| generator.between_f32(0.0, 10.0)).collect::<Vec<f32>>();
        let (mut a_values, mut b_values) = (grid(), grid());
        let (a, b) = (memory.alloc_from(&a_values), memory.alloc_from(&b_values));
        let work_groups = points.div_ceil(LANES as u32) * points.div_ceil(WAVES_PER_GROUP);
        let mut kernels = Vec::new();
        for _ in 0..steps {
            let relaxing = Kernel::new("relax", work_groups, WAVES_PER_GROUP, move |w| relax(w, points, a, b));
            let copying = Kernel::new("copy back", work_groups, WAVES_PER_GROUP, move |w| copy_back(w, points, b, a));
            kernels.extend([relaxing, copying].map(|kernel| kernel.registers(REGISTERS_PER_ITEM)));
            reference_step(points as usize, &mut a_values, &mut b_values);
        }
        HostProgram::new(kernels, vec![Output::new("grid", a, &a_values), Output::new("means", b, &b_values)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_grid_stays_level_and_a_peak_spreads() {
        let (mut a, mut b) = (vec![5.0; 49], vec![0.0; 49]);
        a[24] = 10.0;
        reference_step(7, &mut a, &mut b);
        assert!([24, 23, 25, 17, 31].iter().all(|&at| a[at] == 6.0), "{a:?}");
        assert_eq!([a[0], a[8], a[16]], [5.0; 3]);
        assert_eq!(b[0], 0.0);
    }
}
