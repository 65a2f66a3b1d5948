//! Stacks: the time of many accesses by cause, with splits by kernel and by buffer.

use std::collections::BTreeMap;
use std::sync::Arc;

use chorus_sim::observe::{Access, Cause, Interval, Purpose};

/// A layer of a stack: a cause, or everything that happened while copies of a line were given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The time of one cause, without that of probes.
    Cause(Cause),
    /// The time of invalidations, recalls and their answers, whatever they waited for.
    Invalidations,
}

impl Layer {
    /// The layer that an interval belongs to.
    pub fn of(interval: &Interval) -> Layer {
        if interval.is_probe { Layer::Invalidations } else { Layer::Cause(interval.cause) }
    }

    fn place(self) -> usize {
        match self {
            Layer::Cause(cause) => cause as usize,
            Layer::Invalidations => LAYERS - 1,
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Layer::Cause(cause) => cause.name(),
            Layer::Invalidations => "invalidations",
        }
    }

    /// Its name for programs, as keys of JSON have it.
    pub fn key(self) -> String {
        match self {
            Layer::Cause(cause) => cause.key(),
            Layer::Invalidations => "invalidations".to_owned(),
        }
    }
}

/// The accesses that a part of a stack is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// The buffer that they touch, by its number; none for fences.
    pub buffer: Option<usize>,
    /// The purpose of the accesses.
    pub purpose: Purpose,
    /// The kernel that they belong to.
    pub kernel: Arc<str>,
}

/// Time in a layer, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// All of the time in the layer.
    pub ticks: u64,
    /// The part that was spent for other accesses which were in the way.
    pub for_others: u64,
}

/// The number of layers.
const LAYERS: usize = Cause::ALL.len() + 1;

/// Accesses with their times added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The number of accesses.
    pub accesses: u64,
    times: [Time; LAYERS],
}

impl Sum {
    /// The time of all layers: the latencies of the accesses added up.
    pub fn ticks(&self) -> u64 {
        self.times.iter().map(|time| time.ticks).sum()
    }

    /// The layer with the most time.
    pub fn largest(&self) -> Option<Layer> {
        self.layers().max_by_key(|(_, time)| time.ticks).map(|(layer, _)| layer)
    }

    /// The layers that have any time, those with the most first.
    pub fn by_time(&self) -> Vec<(Layer, Time)> {
        let mut layers: Vec<(Layer, Time)> = self.layers().collect();
        layers.sort_by_key(|&(layer, time)| (std::cmp::Reverse(time.ticks), layer));
        layers
    }

    /// The layers that have any time.
    pub fn layers(&self) -> impl Iterator<Item = (Layer, Time)> {
        let layers = Cause::ALL.into_iter().map(Layer::Cause).chain([Layer::Invalidations]);
        layers.zip(self.times).filter(|(_, time)| time.ticks > 0)
    }

    /// The time in a layer.
    pub fn time(&self, layer: Layer) -> Time {
        self.times[layer.place()]
    }

    fn add_all(&mut self, other: &Sum) {
        self.accesses += other.accesses;
        for (own, time) in self.times.iter_mut().zip(other.times) {
            own.ticks += time.ticks;
            own.for_others += time.for_others;
        }
    }
}

/// The time of accesses by what they are and by what it went to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    groups: BTreeMap<Group, Sum>,
}

impl Stack {
    /// Adds an access that touches a buffer.
    pub fn add(&mut self, access: &Access, buffer: Option<usize>, chain: &[Interval]) {
        let group = Group { purpose: access.served.purpose, kernel: Arc::clone(&access.kernel), buffer };
        let sum = self.groups.entry(group).or_default();
        sum.accesses += 1;
        for interval in chain {
            let time = &mut sum.times[Layer::of(interval).place()];
            let ticks = interval.until - interval.from;
            time.ticks += ticks;
            time.for_others += if interval.other.is_some() { ticks } else { 0 };
        }
    }

    /// Whether it has no access.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// All accesses of a purpose.
    pub fn of(&self, purpose: Purpose) -> Sum {
        self.split(purpose, |_| ()).into_values().next().unwrap_or_default()
    }

    /// The accesses of a purpose, divided by a property of their groups.
    pub fn split<K: Ord>(&self, purpose: Purpose, property: impl Fn(&Group) -> K) -> BTreeMap<K, Sum> {
        let mut sums: BTreeMap<K, Sum> = BTreeMap::new();
        for (group, sum) in self.groups.iter().filter(|(group, _)| group.purpose == purpose) {
            sums.entry(property(group)).or_default().add_all(sum);
        }
        sums
    }
}
