//! The mutation score of a protocol: which mutants are tried, and the share of them that is found.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chorus_protocol::registry::Protocol;

use super::catalogue::Mutant;
use super::hunt::{Effort, Fate, Hunter, Means};

/// A mutant that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The mistake that was built in.
    pub mutant: Mutant,
    /// The result of the search for it.
    pub fate: Fate,
    /// The time that the search took.
    pub time: Duration,
}

/// The fates of the mutants of a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// The mutants that were tried, in the order of the catalogue.
    pub tried: Vec<Tried>,
    /// The number of mutants that were left out since time was up.
    pub left_out: usize,
}

impl Score {
    fn count(&self, is_counted: impl Fn(&Fate) -> bool) -> usize {
        self.tried.iter().filter(|tried| is_counted(&tried.fate)).count()
    }

    /// The number of mutants that some check found.
    pub fn found(&self) -> usize {
        self.count(|fate| matches!(fate, Fate::Found { .. }))
    }

    /// The number of mutants that this kind of check found first.
    pub fn found_by(&self, means: Means) -> usize {
        self.count(|fate| matches!(fate, Fate::Found { by, .. } if *by == means))
    }

    /// The number of mutants that make no difference.
    pub fn equivalent(&self) -> usize {
        self.count(|fate| *fate == Fate::Equivalent)
    }

    /// The number of mutants that changed no step of any run.
    pub fn not_reached(&self) -> usize {
        self.count(|fate| *fate == Fate::NotReached)
    }

    /// The mutants that no check found although they make a difference.
    pub fn survivors(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| matches!(tried.fate, Fate::Survived { .. }))
    }

    /// The share that was found of those that make a difference.
    pub fn share(&self) -> Option<f64> {
        let all = self.tried.len() - self.equivalent() - self.not_reached();
        (all > 0).then(|| self.found() as f64 / all as f64)
    }
}

/// Every `k`-th mutant, so that there are at most `most`. `seed` says with which to begin.
pub fn sample(mutants: Vec<Mutant>, most: usize, seed: u64) -> Vec<Mutant> {
    let every = mutants.len().div_ceil(most.max(1)).max(1);
    let first = (seed % every as u64) as usize;
    mutants.into_iter().skip(first).step_by(every).collect()
}

/// Looks for mutants, `threads` at a time. None is begun when `budget` is used up; until then they are taken from all
/// parts of the list. `watch` sees every mutant that is finished.
pub fn score(
    protocol: &'static dyn Protocol,
    mutants: &[Mutant],
    effort: Effort,
    threads: usize,
    budget: Option<Duration>,
    watch: &(dyn Fn(&Tried) + Sync),
) -> Score {
    let hunter = Hunter::new(protocol, effort);
    let (start, order, next) = (Instant::now(), spread(mutants.len()), AtomicUsize::new(0));
    let work = || {
        let mut all = Vec::new();
        while let Some(&index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            if budget.is_some_and(|budget| start.elapsed() >= budget) {
                break;
            }
            let (begin, mutant) = (Instant::now(), mutants[index].clone());
            let fate = hunter.hunt(&mutant);
            let tried = Tried { mutant, fate, time: begin.elapsed() };
            watch(&tried);
            all.push((index, tried));
        }
        all
    };
    let mut tried: Vec<(usize, Tried)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    tried.sort_by_key(|(index, _)| *index);
    let left_out = mutants.len() - tried.len();
    Score { tried: tried.into_iter().map(|(_, tried)| tried).collect(), left_out }
}

/// The numbers below `count`, neighbours far apart.
fn spread(count: usize) -> Vec<usize> {
    const STRIDES: [usize; 5] = [31, 37, 41, 43, 47];
    let stride = STRIDES.into_iter().find(|stride| !count.is_multiple_of(*stride)).unwrap_or(1);
    (0..count).map(|index| index * stride % count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_is_visited_once() {
        for count in [0, 1, 31, 100, 31 * 37] {
            let mut visited = spread(count);
            visited.sort_unstable();
            assert!(visited.into_iter().eq(0..count), "{count}");
        }
    }
}
