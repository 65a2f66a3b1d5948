//! The cells of a protocol's transition table on which inputs fell.

use std::collections::BTreeSet;

use chorus_protocol::address::Role;
use chorus_protocol::controller::{Classified, Vocabulary};

use crate::table::{Reaction, TransitionTable};

/// The number of states and events of a role that are told apart.
const STRIDE: usize = 64;

/// The number of consumed inputs that fell on each cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    roles: Vec<(&'static Vocabulary, Vec<u64>)>,
}

/// A cell: role (and kind of device, where there are several), state and event, by name.
pub type Cell = (String, &'static str, &'static str);

/// A cell by number: role and kind of device, state and event.
type Place = ((Role, &'static str), u8, u8);

/// Coverage beside the cells that the exhaustive driver found reachable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Reachable cells that were met.
    pub covered: usize,
    /// Reachable cells: those on which the exhaustive driver saw an input consumed. The end of a lease is no input.
    pub reachable: usize,
    /// Reachable cells that were not met.
    pub missed: Vec<Cell>,
    /// Cells that were met and that the exhaustive driver did not list.
    pub beyond: Vec<Cell>,
}

/// The least share of the reachable cells that random steps must meet, in per cent. Below that, steps without a
/// failure show too little to count as a pass. A million steps meet at least 95 per cent of any shipped protocol's
/// cells.
pub const ENOUGH_PERCENT: usize = 90;

/// The fewest episodes of a pass. Small tables are soon met, and one machine with one program shows little all the
/// same.
pub const ENOUGH_EPISODES: u64 = 100;

impl Comparison {
    /// Whether enough of the reachable cells were met: [`ENOUGH_PERCENT`].
    pub fn is_enough(&self) -> bool {
        self.covered * 100 >= self.reachable * ENOUGH_PERCENT
    }
}

impl Coverage {
    /// Counts an input that was consumed.
    #[inline]
    pub(super) fn record(&mut self, vocabulary: &'static Vocabulary, class: &Classified) {
        let index = match self.roles.iter().position(|(known, _)| std::ptr::eq(*known, vocabulary)) {
            Some(index) => index,
            None => {
                self.roles.push((vocabulary, vec![0; STRIDE * STRIDE]));
                self.roles.len() - 1
            }
        };
        let cell = usize::from(class.state) * STRIDE + usize::from(class.event);
        if let Some(count) = self.roles[index].1.get_mut(cell) {
            *count += 1;
        }
    }

    /// Adds what other episodes met.
    pub(super) fn add(&mut self, other: &Coverage) {
        for (vocabulary, counts) in &other.roles {
            match self.roles.iter_mut().find(|(known, _)| std::ptr::eq(*known, *vocabulary)) {
                Some((_, own)) => own.iter_mut().zip(counts).for_each(|(own, count)| *own += count),
                None => self.roles.push((*vocabulary, counts.clone())),
            }
        }
    }

    /// The cells that were met, with how often.
    pub fn cells(&self) -> impl Iterator<Item = (&'static Vocabulary, u8, u8, u64)> {
        self.roles.iter().flat_map(|(vocabulary, counts)| {
            let met = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
            met.map(|(cell, &count)| (*vocabulary, (cell / STRIDE) as u8, (cell % STRIDE) as u8, count))
        })
    }

    /// Number of cells that were met.
    pub fn met(&self) -> usize {
        self.cells().count()
    }

    /// Compares the coverage with the table of the exhaustive driver.
    pub fn compare(&self, table: &TransitionTable) -> Comparison {
        let kind = |vocabulary: &Vocabulary| (vocabulary.role, vocabulary.device);
        let met: BTreeSet<Place> = self.cells().map(|(of, state, event, _)| (kind(of), state, event)).collect();
        let mut comparison = Comparison::default();
        let mut listed = BTreeSet::new();
        for role_table in table.roles() {
            let vocabulary = role_table.vocabulary;
            let name = |state: u8, event: u8| cell_name(&role_table.title, vocabulary, state, event);
            for state in role_table.states() {
                for event in role_table.events().filter(|&event| vocabulary.expiry != Some(event)) {
                    let Some(reactions) = role_table.cell(state, event) else { continue };
                    if !reactions.iter().any(|reaction| matches!(reaction, Reaction::Done { .. })) {
                        continue;
                    }
                    comparison.reachable += 1;
                    listed.insert((kind(vocabulary), state, event));
                    if met.contains(&(kind(vocabulary), state, event)) {
                        comparison.covered += 1;
                    } else {
                        comparison.missed.push(name(state, event));
                    }
                }
            }
        }
        for &(of, state, event) in met.difference(&listed) {
            if let Some((vocabulary, _)) = self.roles.iter().find(|(vocabulary, _)| kind(vocabulary) == of) {
                let tables = table.roles();
                let title = tables.into_iter().find(|table| kind(table.vocabulary) == of).map(|table| &*table.title);
                comparison.beyond.push(cell_name(title.unwrap_or(of.0.name()), vocabulary, state, event));
            }
        }
        comparison
    }
}

fn cell_name(title: &str, vocabulary: &'static Vocabulary, state: u8, event: u8) -> Cell {
    (title.to_owned(), vocabulary.states[usize::from(state)].name, vocabulary.events[usize::from(event)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_reachable_cells_are_enough() {
        let is_enough = |covered, reachable| Comparison { covered, reachable, ..Comparison::default() }.is_enough();
        assert_eq!([(17, 19), (18, 20), (19, 19)].map(|(met, all)| is_enough(met, all)), [false, true, true]);
    }
}
