//! Relations over small sets, as bits.

use std::ops::Range;

use crate::execution::path::MAX_EVENTS;

/// The positions of the bits that are set in `word`.
pub(crate) fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(lowest)
    })
}

/// A relation over events, as the successors of each event.
#[derive(Clone, Copy)]
pub(crate) struct Relation {
    rows: [u64; MAX_EVENTS],
    len: usize,
}

impl Relation {
    pub fn new(len: usize) -> Relation {
        Relation { rows: [0; MAX_EVENTS], len }
    }

    pub fn add(&mut self, from: usize, to: usize) {
        self.rows[from] |= 1 << to;
    }

    pub fn add_all(&mut self, from: usize, to: u64) {
        self.rows[from] |= to;
    }

    pub fn has(&self, from: usize, to: usize) -> bool {
        self.rows[from] >> to & 1 == 1
    }

    pub fn successors(&self, from: usize) -> u64 {
        self.rows[from]
    }

    pub fn union(mut self, other: &Relation) -> Relation {
        self.rows[..self.len].iter_mut().zip(&other.rows).for_each(|(row, more)| *row |= more);
        self
    }

    pub fn intersection(mut self, other: &Relation) -> Relation {
        self.rows[..self.len].iter_mut().zip(&other.rows).for_each(|(row, more)| *row &= more);
        self
    }

    /// The composition: first this relation, then the other.
    pub fn then(&self, other: &Relation) -> Relation {
        let mut composed = Relation::new(self.len);
        for from in 0..self.len {
            composed.rows[from] = bits(self.rows[from]).fold(0, |row, middle| row | other.rows[middle]);
        }
        composed
    }

    pub fn inverse(&self) -> Relation {
        let mut inverse = Relation::new(self.len);
        for from in 0..self.len {
            bits(self.rows[from]).for_each(|to| inverse.add(to, from));
        }
        inverse
    }

    /// The transitive closure of the relation.
    pub fn closure(mut self) -> Relation {
        for middle in 0..self.len {
            let reached = self.rows[middle];
            for row in &mut self.rows[..self.len] {
                if *row >> middle & 1 == 1 {
                    *row |= reached;
                }
            }
        }
        self
    }

    /// Adds a pair to a relation that is transitively closed, and keeps it so.
    pub fn add_closed(&mut self, from: usize, to: usize) {
        let reached = self.rows[to] | 1 << to;
        for row in 0..self.len {
            if row == from || self.has(row, from) {
                self.rows[row] |= reached;
            }
        }
    }

    pub fn irreflexive(&self) -> bool {
        (0..self.len).all(|event| !self.has(event, event))
    }

    pub fn acyclic(&self) -> bool {
        let all = u64::MAX.checked_shr(u64::BITS - self.len as u32).unwrap_or(0);
        peel(all, |left| bits(left).fold(0, |reached, row| reached | self.rows[row]))
    }
}

/// Removes nodes that no remaining node leads to. Returns whether nothing is left in the end; otherwise a cycle is
/// left.
fn peel(mut left: u64, reached: impl Fn(u64) -> u64) -> bool {
    loop {
        let kept = left & reached(left);
        if kept == 0 || kept == left {
            return kept == 0;
        }
        left = kept;
    }
}

/// The largest number of nodes of a graph.
pub(crate) const MAX_NODES: usize = 128;

/// A graph of up to [`MAX_NODES`] nodes, which only grows.
#[derive(Clone)]
pub(crate) struct Graph {
    rows: Vec<u128>,
}

impl Graph {
    pub fn new(nodes: usize) -> Graph {
        Graph { rows: vec![0; nodes] }
    }

    pub fn add(&mut self, from: usize, to: usize) {
        self.rows[from] |= 1 << to;
    }

    /// Adds edges from every node of one range to every node of the other.
    pub fn add_ranges(&mut self, from: Range<usize>, to: Range<usize>) {
        for from in from {
            to.clone().for_each(|to| self.add(from, to));
        }
    }

    /// Becomes a copy of a graph of the same size.
    pub fn copy_from(&mut self, other: &Graph) {
        self.rows.copy_from_slice(&other.rows);
    }

    pub fn acyclic(&self) -> bool {
        let mut left = u128::MAX.checked_shr(u128::BITS - self.rows.len() as u32).unwrap_or(0);
        loop {
            let mut reached = 0;
            let mut rest = left;
            while rest != 0 {
                reached |= self.rows[rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
            let kept = left & reached;
            if kept == 0 || kept == left {
                return kept == 0;
            }
            left = kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(len: usize, pairs: &[(usize, usize)]) -> Relation {
        let mut relation = Relation::new(len);
        pairs.iter().for_each(|&(from, to)| relation.add(from, to));
        relation
    }

    #[test]
    fn a_cycle_is_found_behind_a_tail() {
        assert!(of(4, &[(0, 1), (1, 2), (2, 3)]).acyclic());
        assert!(!of(4, &[(0, 1), (1, 2), (2, 3), (3, 1)]).acyclic());
        assert!(!of(64, &[(63, 63)]).acyclic());
        assert!(Relation::new(0).acyclic());
    }

    #[test]
    fn a_closed_relation_stays_closed_when_it_grows() {
        let mut closed = of(5, &[(0, 1), (2, 3)]).closure();
        closed.add_closed(1, 2);
        let direct = of(5, &[(0, 1), (2, 3), (1, 2)]).closure();
        assert!((0..5).all(|row| closed.successors(row) == direct.successors(row)));
    }

    #[test]
    fn composition_goes_through_the_middle() {
        let composed = of(3, &[(0, 1)]).then(&of(3, &[(1, 2)]));
        assert!(composed.has(0, 2) && !composed.has(0, 1));
        assert!(composed.inverse().has(2, 0));
    }
}
