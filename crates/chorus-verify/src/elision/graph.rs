//! The moments of a machine's caches, each stored once, with the moves between them.

use super::caches::{Caches, Moment, Wrong};
use crate::hashing::FastMap;
use crate::state_set::{decode, encode};

/// A set of moments, by number.
pub type Set = u32;

/// When a launch may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Until {
    /// The stream has nothing left to do, and all commands are carried out. Other kernels may be anywhere.
    Over(usize),
    /// No stream has anything left to do.
    AllOver,
}

/// Every moment that was met.
pub struct Graph {
    caches: Caches,
    /// Moments are kept as bytes.
    numbers: FastMap<Box<[u8]>, u32>,
    moments: Vec<Box<[u8]>>,
    /// The streams that are over at each moment.
    over: Vec<u8>,
    /// The moments after each, once its moves were made.
    next: Vec<Option<Result<Box<[u32]>, Wrong>>>,
    sets: Vec<Vec<u32>>,
    set_numbers: FastMap<Vec<u32>, Set>,
    walks: FastMap<(Set, Until), Result<Set, Wrong>>,
    transitions: u64,
    /// The last walk that came to each moment.
    seen: Vec<u32>,
    walked: u32,
}

impl Graph {
    /// The graph of a machine before the first launch. It starts from the set 0.
    pub fn new(caches: Caches) -> Result<Graph, Wrong> {
        let start = caches.start()?;
        let mut graph = Graph {
            caches,
            numbers: FastMap::default(),
            moments: Vec::new(),
            over: Vec::new(),
            next: Vec::new(),
            sets: Vec::new(),
            set_numbers: FastMap::default(),
            walks: FastMap::default(),
            transitions: 0,
            seen: Vec::new(),
            walked: 0,
        };
        let start = graph.number(start);
        graph.set(vec![start]);
        Ok(graph)
    }

    /// The machine whose states these are.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// Moments whose moves were made.
    pub fn states(&self) -> usize {
        self.next.iter().filter(|next| next.is_some()).count()
    }

    /// Moves that were made.
    pub fn transitions(&self) -> u64 {
        self.transitions
    }

    /// The set of what becomes of every moment of a set.
    pub fn map(&mut self, set: Set, change: impl Fn(&Caches, &Moment) -> Moment) -> Set {
        let numbers = self.sets[set as usize].clone();
        let changed: Vec<u32> = numbers
            .into_iter()
            .map(|number| {
                let moment = change(&self.caches, &self.moment(number));
                self.number(moment)
            })
            .collect();
        self.set(changed)
    }

    /// The moments at which a launch may follow, from any of a set on. A moment is followed no further: what is on its
    /// way then goes on after the launch.
    pub fn walk(&mut self, set: Set, until: Until) -> Result<Set, Wrong> {
        if let Some(known) = self.walks.get(&(set, until)) {
            return known.clone();
        }
        let found = self.follow(set, until).map(|found| self.set(found));
        self.walks.insert((set, until), found.clone());
        found
    }

    fn follow(&mut self, set: Set, until: Until) -> Result<Vec<u32>, Wrong> {
        let mut waiting = self.sets[set as usize].clone();
        self.walked += 1;
        let walk = self.walked;
        waiting.iter().for_each(|&number| self.seen[number as usize] = walk);
        let wanted = match until {
            Until::Over(stream) => self.caches.one_stream(stream),
            Until::AllOver => self.caches.all_streams(),
        };
        let mut found = Vec::new();
        while let Some(number) = waiting.pop() {
            if self.over[number as usize] & wanted == wanted {
                found.push(number);
                continue;
            }
            self.expand(number);
            let Some(next) = &self.next[number as usize] else { continue };
            for &after in next.as_ref().map_err(Clone::clone)? {
                if std::mem::replace(&mut self.seen[after as usize], walk) != walk {
                    waiting.push(after);
                }
            }
        }
        Ok(found)
    }

    fn expand(&mut self, number: u32) {
        if self.next[number as usize].is_some() {
            return;
        }
        let moment = self.moment(number);
        let next = self.caches.next(&moment).map(|after| -> Box<[u32]> {
            self.transitions += after.len() as u64;
            after.into_iter().map(|moment| self.number(moment)).collect()
        });
        self.next[number as usize] = Some(next);
    }

    fn moment(&self, number: u32) -> Moment {
        let mut moment = Moment::new();
        decode(&self.moments[number as usize], &mut moment);
        moment
    }

    fn number(&mut self, moment: Moment) -> u32 {
        let mut bytes = Vec::new();
        encode(&moment, &mut bytes);
        if let Some(&number) = self.numbers.get(&bytes[..]) {
            return number;
        }
        let number = self.moments.len() as u32;
        self.numbers.insert(bytes.clone().into(), number);
        self.moments.push(bytes.into());
        self.over.push(self.caches.over(&moment));
        self.next.push(None);
        self.seen.push(0);
        number
    }

    fn set(&mut self, mut numbers: Vec<u32>) -> Set {
        numbers.sort_unstable();
        numbers.dedup();
        if let Some(&set) = self.set_numbers.get(&numbers) {
            return set;
        }
        let set = self.sets.len() as Set;
        self.set_numbers.insert(numbers.clone(), set);
        self.sets.push(numbers);
        set
    }
}
