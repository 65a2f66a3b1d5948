//! The growth of explorations with the machine, and the effect of symmetry and cores on it.

use std::time::Instant;

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::registry::Protocol;

use crate::config::MachineConfig;
use crate::explore::{End, Exploration, OnForbidden};
use crate::program::{Op, Step};
use crate::settings::{Reduction, Settings};
use crate::words::Words;

/// A machine with one thread beside each private cache. Each thread chooses loads and stores of any word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The number of private caches.
    pub caches: u16,
    /// The number of lines, which share one place in every cache.
    pub lines: u8,
    /// The number of words of each line that are used.
    pub words: u8,
    /// The number of operations of each thread.
    pub operations: u8,
}

/// The measurements of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingRow {
    /// The machine that was measured.
    pub extent: Extent,
    /// The number of states without symmetry reduction.
    pub states: usize,
    /// The number of states when mirror images count once.
    pub reduced_states: usize,
    /// The number of symmetries.
    pub symmetry: usize,
    /// Whether every state was visited and none was wrong.
    pub complete: bool,
    /// The bytes held for each state, with its part of the index and its parent.
    pub bytes_per_state: usize,
    /// The seconds without symmetry reduction, on one thread and on several.
    pub seconds: [f64; 2],
    /// The seconds with symmetry reduction, on one thread and on several.
    pub reduced_seconds: [f64; 2],
}

impl ScalingRow {
    /// The states per second on one thread, without symmetry reduction.
    pub fn states_per_second(&self) -> f64 {
        self.states as f64 / self.seconds[0]
    }
}

/// The machines that are measured, smallest first.
pub fn extents() -> Vec<Extent> {
    let extent =
        |[caches, lines, words, operations]: [u8; 4]| Extent { caches: u16::from(caches), lines, words, operations };
    let all = [
        [2, 1, 1, 2],
        [2, 1, 2, 2],
        [3, 1, 1, 1],
        [3, 1, 2, 1],
        [2, 2, 1, 2],
        [2, 1, 1, 3],
        [2, 2, 2, 1],
        [3, 2, 1, 1],
        [4, 1, 1, 1],
    ];
    all.into_iter().map(extent).collect()
}

/// Measures a protocol on machines of growing extent, on one thread and on `threads`.
pub fn scaling(protocol: &'static dyn Protocol, extents: &[Extent], threads: usize) -> Vec<ScalingRow> {
    let row = |&extent: &Extent| {
        let config = machine(extent);
        let measure = |reduction, threads| {
            let settings = Settings { reduction, threads: Some(threads), ..Settings::default() };
            let mut exploration = Exploration::new(protocol, None, &config, OnForbidden::Stop);
            let begin = Instant::now();
            let complete = exploration.run(&settings) == End::Exhausted;
            (exploration, begin.elapsed().as_secs_f64(), complete)
        };
        let (full, seconds, complete) = measure(Reduction::None, 1);
        let (reduced, reduced_seconds, reduced_complete) = measure(Reduction::Full, 1);
        ScalingRow {
            extent,
            states: full.states(),
            reduced_states: reduced.states(),
            symmetry: reduced.symmetry(),
            complete: complete && reduced_complete,
            bytes_per_state: full.bytes() / full.states().max(1),
            seconds: [seconds, measure(Reduction::None, threads).1],
            reduced_seconds: [reduced_seconds, measure(Reduction::Full, threads).1],
        }
    };
    extents.iter().map(row).collect()
}

fn machine(extent: Extent) -> MachineConfig {
    let Extent { caches, lines, words, operations } = extent;
    let locations = || (0..lines).flat_map(|line| (0..words).map(move |word| Words::one(line, word)));
    let (order, scope) = (Order::Relaxed, Scope::Gpu);
    let steps = |thread: u32| {
        let step = |position: u32| {
            let value = 1 + thread * u32::from(operations) + position;
            let loads = locations().map(|at| Op::Load { at, order, scope });
            let stores = locations().map(|at| Op::Store { at, values: at.values(value), order, scope });
            Step { alternatives: loads.chain(stores).collect(), implied: false }
        };
        (0..u32::from(operations)).map(step).collect()
    };
    let beside: Vec<u16> = (0..caches).collect();
    MachineConfig::for_choices(&beside, lines, (0..u32::from(caches)).map(steps))
}

#[cfg(test)]
mod tests {
    use chorus_protocol::registry::find;

    use super::*;

    #[test]
    fn caches_and_words_are_interchangeable() {
        let extents = [1, 2].map(|words| Extent { caches: 2, lines: 1, words, operations: 1 });
        let rows = scaling(find("gpu-vi").unwrap(), &extents, 2);
        assert_eq!(rows.iter().map(|row| row.symmetry).collect::<Vec<_>>(), [2, 4]);
        for row in &rows {
            assert!(
                row.complete && row.reduced_states < row.states && row.states <= row.symmetry * row.reduced_states,
                "{row:?}"
            );
        }
    }
}
