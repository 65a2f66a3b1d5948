//! Counting in local data: every work-group has a copy of the histogram of its own.

use chorus_kernel::{Lanes, Mask, Wave};

/// Adds 1 to the bin of every lane of `mask`. Bin 0 is the first word of local data. An atomic on local data is a read
/// and a write. Lanes of the same bin go one after the other, for 1 more instruction each.
pub(crate) async fn vote(w: &Wave, mask: Mask, bins: Lanes<u32>) {
    let counts: Lanes<u32> = w.lds_read(mask, bins);
    let same = |other: usize, lane: usize| other < lane && bins[other] == bins[lane];
    let earlier = Lanes::from_fn(|lane| mask.iter().filter(|&other| same(other, lane)).count() as u32);
    w.lds_write(mask, bins, counts.zip(earlier, |count, earlier| count + earlier + 1));
    let collisions = mask.iter().map(|lane| earlier[lane]).max().unwrap_or(0);
    w.alu(collisions).await;
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{HostMemory, Kernel, flat};

    use super::*;

    #[test]
    fn lanes_that_vote_for_one_bin_are_all_counted_and_masked_lanes_are_not() {
        let mut memory = HostMemory::default();
        let counts = memory.alloc::<u32>(32);
        let kernel = Kernel::new("vote", 1, 1, move |w| async move {
            vote(&w, Mask::first(30), w.lane_ids() / 8).await;
            vote(&w, Mask::first(3), Lanes::splat(1)).await;
            let bins: Lanes<u32> = w.lds_read(Mask::ALL, w.lane_ids());
            w.store(counts, w.lane_ids(), bins);
        })
        .lds(128);
        flat::run_kernel(&kernel, &memory).unwrap();
        assert_eq!(memory.read(counts)[..5], [8, 11, 8, 6, 0]);
    }
}
