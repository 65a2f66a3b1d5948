//! Which cells of a protocol's transition table an input fell on.

use std::collections::BTreeSet;

use chorus_protocol::address::Role;
use chorus_protocol::controller::{Classified, Vocabulary};

use crate::table::{Reaction, TransitionTable};

/// States and events of a role that are told apart.
const STRIDE: usize = 64;

/// How often an input that was consumed fell on each cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    roles: Vec<(&'static Vocabulary, Vec<u64>)>,
}

/// A cell: role, state and event, by name.
pub type Cell = (&'static str, &'static str, &'static str);

/// Coverage beside what the exhaustive driver found reachable.
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

    /// The cells that were met, with how often.
    pub fn cells(&self) -> impl Iterator<Item = (Role, u8, u8, u64)> {
        self.roles.iter().flat_map(|(vocabulary, counts)| {
            let met = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
            met.map(|(cell, &count)| (vocabulary.role, (cell / STRIDE) as u8, (cell % STRIDE) as u8, count))
        })
    }

    /// Number of cells that were met.
    pub fn met(&self) -> usize {
        self.cells().count()
    }

    /// Compares with what the exhaustive driver saw.
    pub fn compare(&self, table: &TransitionTable) -> Comparison {
        let met: BTreeSet<(Role, u8, u8)> = self.cells().map(|(role, state, event, _)| (role, state, event)).collect();
        let mut comparison = Comparison::default();
        let mut listed = BTreeSet::new();
        for role_table in table.roles() {
            let vocabulary = role_table.vocabulary;
            let name = |state: u8, event: u8| cell_name(vocabulary, state, event);
            for state in role_table.states() {
                for event in role_table.events().filter(|&event| vocabulary.expiry != Some(event)) {
                    let Some(reactions) = role_table.cell(state, event) else { continue };
                    if !reactions.iter().any(|reaction| matches!(reaction, Reaction::Done { .. })) {
                        continue;
                    }
                    comparison.reachable += 1;
                    listed.insert((vocabulary.role, state, event));
                    if met.contains(&(vocabulary.role, state, event)) {
                        comparison.covered += 1;
                    } else {
                        comparison.missed.push(name(state, event));
                    }
                }
            }
        }
        for &(role, state, event) in met.difference(&listed) {
            if let Some((vocabulary, _)) = self.roles.iter().find(|(vocabulary, _)| vocabulary.role == role) {
                comparison.beyond.push(cell_name(vocabulary, state, event));
            }
        }
        comparison
    }
}

fn cell_name(vocabulary: &'static Vocabulary, state: u8, event: u8) -> Cell {
    (vocabulary.role.name(), vocabulary.states[usize::from(state)].name, vocabulary.events[usize::from(event)])
}
