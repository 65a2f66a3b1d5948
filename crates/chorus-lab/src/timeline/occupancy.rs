//! Occupancy over time: how many things are somewhere on average, in bins of time that are as long as memory allows.

/// The most bins of a series. When there would be more, bins become twice as long.
const BINS_MAX: usize = 4096;

/// The occupancy of one place.
#[derive(Clone, Debug)]
pub struct Occupancy {
    /// The length of a bin.
    bin: u64,
    /// The time that things have spent in each bin, added up.
    spent: Vec<u64>,
}

impl Default for Occupancy {
    fn default() -> Self {
        Occupancy { bin: 16, spent: Vec::new() }
    }
}

impl Occupancy {
    /// Adds a thing that is there from one time until another.
    pub fn add(&mut self, from: u64, until: u64) {
        while until / self.bin >= BINS_MAX as u64 {
            self.spent = self.spent.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.bin *= 2;
        }
        let mut now = from;
        while now < until {
            let place = now / self.bin;
            let end = ((place + 1) * self.bin).min(until);
            if place as usize >= self.spent.len() {
                self.spent.resize(place as usize + 1, 0);
            }
            self.spent[place as usize] += end - now;
            now = end;
        }
    }

    /// The times from which on the mean occupancy has another value, with that value.
    pub fn values(&self) -> Vec<(u64, f64)> {
        let mut values: Vec<(u64, f64)> = Vec::new();
        for (place, &spent) in (0..).zip(self.spent.iter().chain([&0])) {
            let value = spent as f64 / self.bin as f64;
            if values.last().map_or(0.0, |&(_, last)| last) != value {
                values.push((place * self.bin, value));
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::Occupancy;

    #[test]
    fn two_things_that_overlap_count_twice_and_bins_grow() {
        let mut occupancy = Occupancy::default();
        occupancy.add(0, 32);
        occupancy.add(16, 24);
        assert_eq!(occupancy.values(), [(0, 1.0), (16, 1.5), (32, 0.0)]);
        occupancy.add(1_000_000, 1_000_016);
        let total: u64 = occupancy.spent.iter().sum();
        assert_eq!((total, occupancy.bin), (56, 256));
    }
}
