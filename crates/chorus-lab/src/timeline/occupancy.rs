//! Occupancy over time: how many things are somewhere on average, in bins of time.
//!
//! Things are known when they are over, so a bin may change after it was written. Then it is written again, and a
//! viewer takes the later of two values for one time.

/// The most bins where the length of a run is known.
const BINS: u64 = 4096;

/// The shortest bin, and the longest one where the length of a run is not known, in core cycles.
const SHORTEST: u64 = 16;
const LONGEST: u64 = 1024;

/// The times that occupancies are about: where they begin, and how long each bin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins {
    first: u64,
    length: u64,
}

impl Bins {
    /// Bins of a run that takes so many cycles.
    pub fn of_run(cycles: u64) -> Bins {
        Bins { first: 0, length: length_for(cycles) }
    }

    /// Bins from one time on, which have to do until another if that is known.
    pub fn between(first: u64, end: Option<u64>) -> Bins {
        let length = end.map_or(LONGEST, |end| length_for(end.saturating_sub(first)).min(LONGEST));
        Bins { first, length }
    }
}

/// A power of two under which so many cycles have no more than the most bins.
fn length_for(cycles: u64) -> u64 {
    cycles.div_ceil(BINS).next_power_of_two().max(SHORTEST)
}

/// The occupancy of one place.
#[derive(Clone, Debug)]
pub struct Occupancy {
    bins: Bins,
    /// The time that things have spent in each bin, added up, and whether that has changed since it was taken.
    spent: Vec<(u64, bool)>,
    changed: Vec<usize>,
}

impl Occupancy {
    /// Nothing has been there yet.
    pub fn new(bins: Bins) -> Occupancy {
        Occupancy { bins, spent: Vec::new(), changed: Vec::new() }
    }

    /// Adds a thing that is there from one time until another.
    pub fn add(&mut self, from: u64, until: u64) {
        let Bins { first, length } = self.bins;
        let mut now = from.max(first) - first;
        let until = until.max(first) - first;
        while now < until {
            let place = (now / length) as usize;
            let end = ((place as u64 + 1) * length).min(until);
            if place >= self.spent.len() {
                self.spent.resize(place + 1, (0, false));
            }
            let (spent, is_changed) = &mut self.spent[place];
            *spent += end - now;
            if !std::mem::replace(is_changed, true) {
                self.changed.push(place);
            }
            now = end;
        }
    }

    /// The mean occupancy from each time on, for bins that have changed since they were taken last, and for those
    /// behind them.
    pub fn take_changes(&mut self) -> Vec<(u64, f64)> {
        let Bins { first, length } = self.bins;
        let mut places: Vec<usize> = self.changed.drain(..).flat_map(|place| [place, place + 1]).collect();
        places.sort_unstable();
        places.dedup();
        let value = |place: usize| {
            let spent = match self.spent.get_mut(place) {
                Some((spent, is_changed)) => {
                    *is_changed = false;
                    *spent
                }
                None => 0,
            };
            (first + place as u64 * length, spent as f64 / length as f64)
        };
        places.into_iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bins, Occupancy};

    #[test]
    fn two_things_that_overlap_count_twice_and_changes_are_told_again() {
        let mut occupancy = Occupancy::new(Bins::between(0, Some(1000)));
        occupancy.add(0, 32);
        occupancy.add(16, 24);
        assert_eq!(occupancy.take_changes(), [(0, 1.0), (16, 1.5), (32, 0.0)]);
        assert_eq!(occupancy.take_changes(), []);
        occupancy.add(40, 48);
        assert_eq!(occupancy.take_changes(), [(32, 0.5), (48, 0.0)]);
    }

    #[test]
    fn bins_begin_with_the_window_and_are_as_many_as_memory_allows() {
        let mut occupancy = Occupancy::new(Bins::between(1000, Some(2000)));
        occupancy.add(900, 1008);
        assert_eq!(occupancy.take_changes(), [(1000, 0.5), (1016, 0.0)]);
        assert_eq!(Bins::of_run(1 << 20), Bins { first: 0, length: 256 });
        assert_eq!(Bins::between(0, None), Bins { first: 0, length: 1024 });
    }
}
