//! Sums of the lanes of a wavefront and of the wavefronts of a work-group, in an order that the host can follow.

use chorus_kernel::{Buf, LANES, Lanes, Mask, Wave};

/// Adds up the lanes of a wavefront in halves, as shuffles do.
pub(crate) fn lane_sum(mut values: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            values[lane] += values[lane + half];
        }
        half /= 2;
    }
    values[0]
}

/// Stores the sum of all lanes of a work-group as element `at`.
pub(crate) async fn store_group_sum(w: &Wave, values: Lanes<f32>, to: Buf<f32>, at: u32) {
    store_group_sums(w, [values], to, at).await;
}

/// Stores the sums of several values of all lanes of a work-group as the elements from `at` on. Every wavefront takes
/// one word of local data for each sum, from the first word on. Arithmetic: 10 instructions per wavefront and sum, a
/// shuffle and an addition five times, and 10 more per sum for the sums of the wavefronts.
pub(crate) async fn store_group_sums<const N: usize>(w: &Wave, values: [Lanes<f32>; N], to: Buf<f32>, at: u32) {
    let waves = w.id().waves_per_group;
    w.alu(10 * N as u32).await;
    for (first, values) in (0..).step_by(waves as usize).zip(values) {
        w.lds_write(Mask::lane(0), Lanes::splat(first + w.id().wave), Lanes::splat(lane_sum(values.0)));
    }
    w.barrier().await;
    if w.id().wave == 0 {
        let of_waves: [Lanes<f32>; N] =
            std::array::from_fn(|sum| w.lds_read(Mask::first(waves as usize), w.lane_ids() + sum as u32 * waves));
        w.alu(10 * N as u32).await;
        let sums = of_waves.map(|of_waves| lane_sum(of_waves.0));
        w.store_where(Mask::first(N), to, w.lane_ids() + at, Lanes::from_fn(|lane| sums[lane.min(N - 1)]));
    }
}

/// The sum of the lanes of all wavefronts of a work-group on the host; there are at most 32 wavefronts.
pub(crate) fn group_sum(waves: &[[f32; LANES]]) -> f32 {
    let mut sums = [0.0; LANES];
    for (sum, lanes) in sums.iter_mut().zip(waves) {
        *sum = lane_sum(*lanes);
    }
    lane_sum(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_all_lanes() {
        assert_eq!(lane_sum(std::array::from_fn(|lane| lane as f32)), 496.0);
        assert_eq!(group_sum(&[[1.0; LANES]; 3]), 96.0);
    }
}
