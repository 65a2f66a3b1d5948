//! Max pooling of images, a plane at a time through local data.
//!
//! A work-group reads the plane of one image and channel, line by line, and then takes the greatest value of each
//! window. Windows at the lower and right edge may reach beyond the plane and see less of it, so that every pixel is in
//! some window. The layer before has written the planes, and each plane was written by the work-groups of several
//! tiles.
//!
//! Arithmetic: 3 instructions per fetch for its address, the edge and the loop; 12 per output for its coordinates,
//! address and loop; per place of the window 2 for the edges and 1 for the greater value.

use chorus_kernel::{Buf, Kernel, LANES, Lanes, Mask, Wave};

const WAVES_PER_GROUP: u32 = 4;
const ITEMS: u32 = WAVES_PER_GROUP * LANES as u32;

/// The shape of a pooling layer. Planes and windows are square.
#[derive(Clone, Copy, Debug)]
pub struct Pooling {
    /// Rows and columns of a plane.
    pub size: u32,
    /// Rows and columns of a window.
    pub window: u32,
    /// Distance of two windows.
    pub stride: u32,
}

impl Pooling {
    /// Rows and columns of the output.
    pub fn output_size(&self) -> u32 {
        (self.size - self.window).div_ceil(self.stride) + 1
    }

    /// The rows or columns of the plane that window number `output` covers.
    fn covers(&self, output: u32) -> std::ops::Range<u32> {
        let first = output * self.stride;
        first..(first + self.window).min(self.size)
    }
}

async fn pool_plane(w: Wave, pooling: Pooling, input: Buf<f32>, output: Buf<f32>) {
    let (area, outputs) = (pooling.size * pooling.size, pooling.output_size() * pooling.output_size());
    let mut loads = Vec::new();
    for first in (0..area).step_by(ITEMS as usize) {
        let pixel = w.local_ids() + first;
        w.alu(3).await;
        let inside = pixel.below(area);
        loads.push((pixel, inside, w.load_where(inside, input, pixel + w.work_group() * area)));
    }
    for (pixel, inside, load) in loads {
        let values = load.await;
        w.lds_write(inside, pixel, values);
    }
    w.barrier().await;
    for first in (w.id().wave * LANES as u32..outputs).step_by(ITEMS as usize) {
        let at = w.lane_ids() + first;
        let inside = at.below(outputs);
        w.alu(12).await;
        let greatest = greatest_of_windows(&w, &pooling, inside, at).await;
        w.store_where(inside, output, at + w.work_group() * outputs, greatest);
    }
}

async fn greatest_of_windows(w: &Wave, pooling: &Pooling, inside: Mask, at: Lanes<u32>) -> Lanes<f32> {
    let size = pooling.output_size();
    let mut greatest = Lanes::splat(f32::NEG_INFINITY);
    for place in 0..pooling.window * pooling.window {
        let y = at.map(|at| at / size * pooling.stride + place / pooling.window);
        let x = at.map(|at| at % size * pooling.stride + place % pooling.window);
        let covered = inside & y.below(pooling.size) & x.below(pooling.size);
        w.alu(3).await;
        let values: Lanes<f32> = w.lds_read(covered, y * pooling.size + x);
        greatest = greatest.zip(values, f32::max).select(covered, greatest);
    }
    greatest
}

/// The launch that pools planes, a work-group each.
pub fn kernel(name: &'static str, pooling: Pooling, planes: u32, input: Buf<f32>, output: Buf<f32>) -> Kernel {
    Kernel::new(name, planes, WAVES_PER_GROUP, move |w| pool_plane(w, pooling, input, output))
        .registers(24)
        .lds(pooling.size * pooling.size * 4)
}

/// The result of the pooling, computed on the host.
pub fn reference(pooling: &Pooling, input: &[f32]) -> Vec<f32> {
    let (size, outputs) = (pooling.size as usize, pooling.output_size());
    let mut output = Vec::new();
    for plane in input.chunks_exact(size * size) {
        for (row, column) in (0..outputs).flat_map(|row| (0..outputs).map(move |column| (row, column))) {
            let places = pooling.covers(row).flat_map(|y| pooling.covers(column).map(move |x| (y, x)));
            output.push(places.fold(f32::NEG_INFINITY, |most, (y, x)| most.max(plane[y as usize * size + x as usize])));
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, flat};

    use super::*;
    use crate::generator::SplitMix64;

    fn check(pooling: Pooling, output_size: u32) {
        assert_eq!(pooling.output_size(), output_size);
        let mut generator = SplitMix64::new(8);
        let planes: Vec<f32> = (0..3 * pooling.size * pooling.size).map(|_| generator.between_f32(-1.0, 1.0)).collect();
        let expected = reference(&pooling, &planes);
        let mut memory = HostMemory::default();
        let (input, output) = (memory.alloc_from(&planes), memory.alloc(expected.len()));
        flat::run_kernel(&kernel("pool", pooling, 3, input, output), &memory).unwrap();
        assert_eq!(memory.read(output), expected);
    }

    #[test]
    fn windows_that_fit_cover_the_plane() {
        check(Pooling { size: 27, window: 3, stride: 2 }, 13);
        check(Pooling { size: 8, window: 2, stride: 2 }, 4);
    }

    #[test]
    fn windows_at_the_edge_are_cut_off() {
        check(Pooling { size: 56, window: 3, stride: 2 }, 28);
    }

    #[test]
    fn the_greatest_value_of_a_window_wins() {
        let pooling = Pooling { size: 3, window: 2, stride: 1 };
        assert_eq!(reference(&pooling, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]), [5.0, 6.0, 8.0, 9.0]);
    }
}
