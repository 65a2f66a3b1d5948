//! The kernel: propose a swap, weigh it, and make it if no other work-item was faster.
//!
//! A work-item proposes to exchange its own block with the content of a random site within the range limit. It
//! adds up how the boxes around all nets of both blocks would change, from the places of the blocks as it reads them,
//! which others may be moving. If it accepts, it tries to lock both sites, looks whether they are as it found them, and
//! rewrites the two sites and the places of the two blocks. A lock that is taken, or a site that has changed, means a
//! conflict: the proposal is dropped, since it was weighed for a placement that no longer exists.
//!
//! A site is a word: the block on it, and above that how often it has changed, so that a block that went and came back
//! does not pass for one that stayed. Site and place of a block are written under the lock of the site it leaves, and
//! so agree whenever that lock is free.
//!
//! Acceptance (Metropolis): a swap that costs `c` more is made if `c` is below the temperature times the negative
//! logarithm of a random number. The logarithm is Mitchell's (IRE Transactions on Electronic Computers, 1962), exact at
//! powers of two and linear in between.
//!
//! Arithmetic: 6 instructions per random number; 16 for a proposal and 4 for its sites; 5 per list to begin and 3 per
//! element to go on; 4 per pin to tell which of its two places counts and 12 for both boxes; 8 per net; 10 to accept; 8
//! for the words to write; 4 per round for the counts.

use chorus_kernel::{Buf, Lanes, Mask, Wave};
use chorus_protocol::access::AtomicOp;

use super::netlist::{BoundingBox, Lists, Netlist, Place, weight};
use crate::pair_locks::PairLocks;

/// Marks a site without a block.
pub(super) const NO_BLOCK: u32 = 0xffff;

/// The elements of [`Chip::totals`].
pub(super) const ACCEPTED: usize = 0;
pub(super) const REJECTED: usize = 1;
pub(super) const CONFLICTS: usize = 2;
pub(super) const TOTALS: usize = 3;

/// The rules by which moves are chosen and accepted.
#[derive(Clone, Copy)]
pub(super) struct Schedule {
    /// Proposals of each work-item.
    pub(super) rounds: u32,
    /// The most sites that a block may move in each direction.
    pub(super) range_limit: u32,
    /// A swap with this additional cost is accepted half as often as a swap without any.
    pub(super) temperature: u32,
}

/// The buffers that all work-groups share.
#[derive(Clone, Copy)]
pub(super) struct Chip {
    /// Columns and rows of sites.
    pub(super) sides: [u32; 2],
    pub(super) netlist: Netlist,
    /// The place of each block.
    pub(super) places: Buf<u32>,
    /// The block on each site, and the number of its changes.
    pub(super) sites: Buf<u32>,
    pub(super) locks: PairLocks,
    /// The state of each work-item's random numbers.
    pub(super) generators: Buf<u32>,
    /// The numbers of accepted, rejected and conflicting proposals.
    pub(super) totals: Buf<u32>,
}

/// The block on a site.
pub(super) fn occupant(site: u32) -> u32 {
    site & 0xffff
}

/// The number of times that a site has changed.
pub(super) fn changes(site: u32) -> u32 {
    site >> 16
}

/// A site after one more change.
fn changed(site: u32, occupant: u32) -> u32 {
    changes(site).wrapping_add(1) << 16 | occupant
}

/// The next state of a generator (xorshift: Marsaglia, Journal of Statistical Software, 2003), which is also the random
/// number. Never zero.
pub(super) fn draw(state: u32) -> u32 {
    let state = state ^ state << 13;
    let state = state ^ state >> 17;
    state ^ state << 5
}

/// The negative binary logarithm of `random` as a fraction of 2^32, in 65536ths.
fn negative_log(random: u32) -> u64 {
    let zeros = u64::from(random.leading_zeros());
    let fraction = (u64::from(random) << (zeros + 1) & 0xffff_ffff) >> 16;
    ((zeros + 1) << 16) - fraction
}

/// Whether a swap that costs `change` more is accepted.
fn accepts(change: i32, temperature: u32, random: u32) -> bool {
    change <= 0 || (change as u64) << 16 < u64::from(temperature) * negative_log(random)
}

/// A random place other than `from` within the range limit.
fn propose(from: Place, sides: [u32; 2], range_limit: u32, random: [u32; 2]) -> Place {
    let window = |at: u32, side| (at.saturating_sub(range_limit), (at + range_limit).min(side - 1));
    let pick =
        |(low, high): (u32, u32), random: u32| low + ((u64::from(high - low + 1) * u64::from(random)) >> 32) as u32;
    let (columns, rows) = (window(from.x, sides[0]), window(from.y, sides[1]));
    let to = Place { x: pick(columns, random[0]), y: pick(rows, random[1]) };
    if to != from {
        return to;
    }
    Place { x: if to.x < columns.1 { to.x + 1 } else { columns.0 }, y: to.y }
}

/// The swaps that a wavefront proposes.
struct Swaps {
    block: Lanes<u32>,
    from: Lanes<u32>,
    to: Lanes<u32>,
    /// Both sites as they were found.
    found: [Lanes<u32>; 2],
}

impl Swaps {
    fn other(&self) -> Lanes<u32> {
        self.found[1].map(occupant)
    }
}

/// One wavefront: one block per work-item.
pub(super) async fn anneal(w: Wave, chip: Chip, schedule: Schedule) {
    let block = w.global_ids();
    let mut generator = w.load(chip.generators, block).await;
    let mut totals = [0; TOTALS];
    for _ in 0..schedule.rounds {
        let mut random = [Lanes::splat(0); 3];
        for number in &mut random {
            generator = generator.map(draw);
            *number = generator;
        }
        let from = w.load(chip.places, block).await;
        w.alu(3 * 6 + 16 + 4).await;
        let to = Lanes::from_fn(|lane| {
            let random = [random[0][lane], random[1][lane]];
            propose(Place::from_word(from[lane]), chip.sides, schedule.range_limit, random).to_word()
        });
        let found = w.join_all([from, to].map(|place| w.load(chip.sites, chip.site(place)))).await;
        let swaps = Swaps { block, from, to, found };
        let present = found[0].zip(block, |site, block| occupant(site) == block).where_(|here| here);
        let change = chip.change(&w, present, &swaps).await;
        w.alu(10).await;
        let accepted = present
            & change.zip(random[2], |change, random| accepts(change, schedule.temperature, random)).where_(|yes| yes);
        let made = chip.commit(&w, accepted, &swaps).await;
        w.alu(4).await;
        totals[ACCEPTED] += made.count();
        totals[REJECTED] += (present & !accepted).count();
        totals[CONFLICTS] += (!present | (accepted & !made)).count();
    }
    w.store(chip.generators, block, generator);
    let counts = Lanes::from_fn(|lane| totals.get(lane).copied().unwrap_or(0));
    w.atomic_where(AtomicOp::Add, Mask::first(TOTALS), chip.totals, w.lane_ids(), counts).await;
}

impl Chip {
    /// The number of the site at a place.
    fn site(&self, place: Lanes<u32>) -> Lanes<u32> {
        place.map(|word| Place::from_word(word).site(self.sides[0]) as u32)
    }

    /// The cost that the swaps of `mask` would add.
    async fn change(&self, w: &Wave, mask: Mask, swaps: &Swaps) -> Lanes<i32> {
        let mut change = Lanes::splat(0);
        for mover in [swaps.block, swaps.other()] {
            let moving = mask & mover.below(NO_BLOCK);
            let (mut at, end) = bounds(w, moving, self.netlist.nets_of_block, mover).await;
            loop {
                let active = moving & at.zip(end, |at, end| at < end).where_(|more| more);
                if !active.any() {
                    break;
                }
                let net = w.load_where(active, self.netlist.nets_of_block.elements, at).await;
                change = change + self.net_change(w, active, net, swaps).await;
                w.alu(3).await;
                at = next(at);
            }
        }
        change
    }

    /// The cost that each swap would add to one net.
    async fn net_change(&self, w: &Wave, mask: Mask, net: Lanes<u32>, swaps: &Swaps) -> Lanes<i32> {
        let (first, end) = bounds(w, mask, self.netlist.pins_of_net, net).await;
        let mut boxes = [Lanes::splat(BoundingBox::EMPTY); 2];
        let other = swaps.other();
        let mut at = first;
        loop {
            let active = mask & at.zip(end, |at, end| at < end).where_(|more| more);
            if !active.any() {
                break;
            }
            let pin = w.load_where(active, self.netlist.pins_of_net.elements, at).await;
            let place = w.load_where(active, self.places, pin).await;
            w.alu(3 + 4 + 12).await;
            for lane in active.iter() {
                let (from, to) = (swaps.from[lane], swaps.to[lane]);
                // The movers count as where they were found, wherever others take them meanwhile.
                let (before, after) = match pin[lane] {
                    block if block == swaps.block[lane] => (from, to),
                    block if block == other[lane] => (to, from),
                    _ => (place[lane], place[lane]),
                };
                boxes[0].0[lane].add(Place::from_word(before));
                boxes[1].0[lane].add(Place::from_word(after));
            }
            at = next(at);
        }
        w.alu(8).await;
        let mut change = Lanes::splat(0);
        for lane in mask.iter() {
            let longer = boxes[1][lane].half_perimeter() - boxes[0][lane].half_perimeter();
            change.set(lane, weight(end[lane] - first[lane]) * longer);
        }
        change
    }

    /// Makes the swaps of `accepted` whose sites can be locked and are as they were found. Returns the swaps that were
    /// made.
    async fn commit(&self, w: &Wave, accepted: Mask, swaps: &Swaps) -> Mask {
        if !accepted.any() {
            return Mask::NONE;
        }
        let sites = [swaps.from, swaps.to].map(|place| self.site(place));
        let (low, high) = (sites[0].zip(sites[1], u32::min), sites[0].zip(sites[1], u32::max));
        let held = self.locks.try_lock(w, accepted, low, high).await;
        if !held.any() {
            return Mask::NONE;
        }
        let now = w.join_all(sites.map(|site| w.load_where(held, self.sites, site))).await;
        w.alu(8).await;
        let unchanged = |site: usize| now[site].zip(swaps.found[site], |now, found| now == found).where_(|same| same);
        let valid = held & unchanged(0) & unchanged(1);
        if valid.any() {
            let other = swaps.other();
            w.store_where(valid, self.sites, sites[0], now[0].zip(other, changed));
            w.store_where(valid, self.sites, sites[1], now[1].zip(swaps.block, changed));
            w.store_where(valid, self.places, swaps.block, swaps.to);
            w.store_where(valid & other.below(NO_BLOCK), self.places, other, swaps.from);
        }
        self.locks.unlock(w, held, low, high).await;
        valid
    }
}

/// The next element or list. Lanes that take no part may hold anything.
fn next(at: Lanes<u32>) -> Lanes<u32> {
    at.map(|at| at.wrapping_add(1))
}

/// The beginnings and ends of the lists of `mask`.
async fn bounds(w: &Wave, mask: Mask, lists: Lists, list: Lanes<u32>) -> (Lanes<u32>, Lanes<u32>) {
    w.alu(5).await;
    w.join(w.load_where(mask, lists.starts, list), w.load_where(mask, lists.starts, next(list))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_stay_within_the_range_limit_and_on_the_chip() {
        let mut state = 1;
        for from in [(0, 0), (9, 9), (5, 0), (4, 5)].map(|(x, y)| Place { x, y }) {
            for _ in 0..1000 {
                let random = [0; 2].map(|_: u32| {
                    state = draw(state);
                    state
                });
                let to = propose(from, [10, 10], 3, random);
                assert!(to != from && to.x < 10 && to.y < 10, "{to:?}");
                assert!(to.x.abs_diff(from.x) <= 3 && to.y.abs_diff(from.y) <= 3, "{to:?} from {from:?}");
            }
        }
    }

    #[test]
    fn a_cost_of_one_temperature_is_accepted_half_as_often() {
        let mut state = 1;
        let mut accepted = [0; 4];
        for _ in 0..10_000 {
            state = draw(state);
            for (temperatures, count) in (0..).zip(&mut accepted) {
                *count += u32::from(accepts(100 * temperatures - 1, 100, state));
            }
        }
        for (count, expected) in accepted.into_iter().zip([10_000, 5000, 2500, 1250]) {
            assert!(count.abs_diff(expected) < 200, "{count} instead of {expected}");
        }
    }

    #[test]
    fn a_site_counts_its_changes() {
        let site = changed(changed(7, NO_BLOCK), 9);
        assert_eq!((occupant(site), changes(site)), (9, 2));
    }
}
