//! Distributions of latencies: how many accesses took how long, by the kind of access and the source of its answer.

use std::ops::AddAssign;

use chorus_protocol::save::{self, Save};

/// Buckets of equal width between one power of two and the next. A value is known to within one part in so many.
const BUCKETS: u64 = 64;

/// Counts of values in buckets whose widths grow with the values (as those of HdrHistogram do): exact below
/// `2 * BUCKETS`, and to within 1/64 of the value above.
#[derive(Clone, Debug, Default, PartialEq, Save)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u64,
    max: u64,
}

/// The bucket of a value.
fn bucket(value: u64) -> usize {
    let shift = (value / (2 * BUCKETS)).checked_ilog2().map_or(0, |bits| bits + 1);
    (u64::from(shift) * BUCKETS + (value >> shift)) as usize
}

/// The greatest value of a bucket.
fn upper_end(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / BUCKETS).saturating_sub(1);
    ((bucket - shift * BUCKETS + 1) << shift) - 1
}

impl Histogram {
    /// Counts a value in its bucket.
    pub fn note(&mut self, value: u64) {
        let bucket = bucket(value);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum += value;
        self.max = self.max.max(value);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The arithmetic mean, which is exact; 0 of nothing.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The largest value, which is exact.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The value that so many of a thousand values do not exceed: the upper end of its bucket.
    pub fn permille(&self, permille: u64) -> u64 {
        let rank = (self.count * permille).div_ceil(1000).max(1);
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.map_or(0, upper_end).min(self.max)
    }

    /// The buckets that are not empty: their least and greatest values, and their counts.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(bucket, &count)| {
            (bucket.checked_sub(1).map_or(0, |before| upper_end(before) + 1), upper_end(bucket), count)
        })
    }
}

impl AddAssign<&Histogram> for Histogram {
    fn add_assign(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }
}

/// The kinds of accesses whose latencies are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// From the issue of the instruction until its values are there.
    Load,
    /// From the issue of the instruction until the protocol calls the store done.
    Store,
    /// From the issue of the instruction until its values are there.
    Atomic,
    /// From its issue until the wavefront goes on.
    Fence,
}

impl Kind {
    /// All kinds, in order.
    pub const ALL: [Kind; 4] = [Kind::Load, Kind::Store, Kind::Atomic, Kind::Fence];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        ["load", "store", "atomic", "fence"][self as usize]
    }
}

/// The farthest place that the answer to an access came from, or waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Save)]
pub enum Source {
    /// The private cache, or the store buffer before it.
    Private,
    /// The shared cache of the module.
    #[default]
    Module,
    /// Another module of the GPU.
    OtherModule,
    /// A module of another GPU.
    OtherGpu,
    /// A memory-side L3, of whatever module.
    L3,
    /// Memory, of whatever module.
    Memory,
}

impl Source {
    /// All sources, the nearest first.
    pub const ALL: [Source; 6] =
        [Source::Private, Source::Module, Source::OtherModule, Source::OtherGpu, Source::L3, Source::Memory];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        ["l1", "l2", "other-gpm", "other-gpu", "l3", "memory"][self as usize]
    }
}

/// Latencies in core cycles, by kind and source.
#[derive(Clone, Debug, Default, PartialEq, Save)]
pub struct Latencies([[Histogram; Source::ALL.len()]; Kind::ALL.len()]);

impl Latencies {
    /// The latencies of one kind of access that one source answered.
    pub fn get(&self, kind: Kind, source: Source) -> &Histogram {
        &self.0[kind as usize][source as usize]
    }

    /// The latencies of one kind of access, whatever answered it.
    pub fn of_kind(&self, kind: Kind) -> Histogram {
        self.0[kind as usize].iter().fold(Histogram::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }

    fn note(&mut self, kind: Kind, source: Source, cycles: u64) {
        self.0[kind as usize][source as usize].note(cycles);
    }
}

impl AddAssign<&Latencies> for Latencies {
    fn add_assign(&mut self, other: &Latencies) {
        self.0.iter_mut().flatten().zip(other.0.iter().flatten()).for_each(|(histogram, more)| *histogram += more);
    }
}

/// The latencies of all accesses of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distributions {
    /// The latencies of each kernel by name, in the order in which kernels were launched first.
    pub kernels: Vec<(String, Latencies)>,
    /// The latencies of each buffer, in the order in which the program allocated them. Fences belong to none.
    pub buffers: Vec<Latencies>,
}

impl Distributions {
    /// The latencies of the whole run.
    pub fn all(&self) -> Latencies {
        self.kernels.iter().fold(Latencies::default(), |mut all, (_, latencies)| {
            all += latencies;
            all
        })
    }
}

/// The latencies that a part of a machine has noted, by the numbers of kernels and buffers.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct Noting {
    kernels: Vec<Latencies>,
    buffers: Vec<Latencies>,
}

/// An access that is over.
pub(crate) struct Ended {
    pub(crate) kind: Kind,
    pub(crate) source: Source,
    pub(crate) cycles: u64,
    pub(crate) kernel: u16,
    pub(crate) buffer: Option<usize>,
}

impl Noting {
    /// Notes an access that is over.
    pub(crate) fn note(&mut self, Ended { kind, source, cycles, kernel, buffer }: Ended) {
        grown(&mut self.kernels, usize::from(kernel)).note(kind, source, cycles);
        if let Some(buffer) = buffer {
            grown(&mut self.buffers, buffer).note(kind, source, cycles);
        }
    }

    /// Adds what another part of the machine has noted.
    pub(crate) fn add(&mut self, other: &Noting) {
        other.kernels.iter().enumerate().for_each(|(kernel, more)| *grown(&mut self.kernels, kernel) += more);
        other.buffers.iter().enumerate().for_each(|(buffer, more)| *grown(&mut self.buffers, buffer) += more);
    }

    /// The distributions of a run with kernels of these names.
    pub(crate) fn into_distributions(mut self, names: &[String]) -> Distributions {
        self.kernels.resize(names.len(), Latencies::default());
        Distributions { kernels: names.iter().cloned().zip(self.kernels).collect(), buffers: self.buffers }
    }
}

/// An element of a list that grows as far as it must.
fn grown(list: &mut Vec<Latencies>, index: usize) -> &mut Latencies {
    if index >= list.len() {
        list.resize(index + 1, Latencies::default());
    }
    &mut list[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_a_bucket_that_is_narrow_enough() {
        let values = (0..5000).chain([1 << 20, (1 << 20) - 1, 123_456_789, u64::MAX >> 8]);
        for value in values {
            let bucket = bucket(value);
            let least = bucket.checked_sub(1).map_or(0, |before| upper_end(before) + 1);
            assert!((least..=upper_end(bucket)).contains(&value), "{value} in {least}..={}", upper_end(bucket));
            assert!((upper_end(bucket) - least) * BUCKETS <= value, "{value}");
        }
    }

    #[test]
    fn percentiles_of_one_to_a_thousand_are_themselves_to_within_a_bucket() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.note(value));
        assert_eq!((histogram.count(), histogram.mean(), histogram.max()), (1000, 500.5, 1000));
        for permille in [1, 100, 500, 900, 990, 999, 1000] {
            let found = histogram.permille(permille);
            assert!(found >= permille && (found - permille) * BUCKETS <= permille, "{permille}: {found}");
        }
        assert_eq!(Histogram::default().permille(500), 0);
    }

    #[test]
    fn parts_add_up_in_any_order() {
        let noted = |values: &[u64]| {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.note(value));
            histogram
        };
        let (mut one, mut other) = (noted(&[1, 300]), noted(&[70_000]));
        let (first, second) = (one.clone(), other.clone());
        one += &second;
        other += &first;
        assert_eq!(one, other);
        assert_eq!(one, noted(&[1, 300, 70_000]));
    }
}
