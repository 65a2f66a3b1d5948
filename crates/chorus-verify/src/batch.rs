//! The moves of many states, followed side by side.
//!
//! The states are expanded on a machine that nobody changes. States that need a step which was never run wait until it
//! was run, one after the other in their order. So the result does not depend on the number of threads.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use crate::canonical::Canonical;
use crate::expand::{Expansion, Ground, Seen};
use crate::machine::ExploredMachine;

/// States that are expanded one after the other by one thread.
const CHUNK: usize = 512;
/// Chunks whose results are held at once.
const CHUNKS: usize = 64;
/// Batches of at most so many states are expanded by one thread.
const FEW: usize = 256;

/// The most states that are expanded together.
pub(crate) const BATCH: usize = CHUNK * CHUNKS;

/// The protocol does not keep some of the symmetries that were assumed.
#[derive(Debug)]
pub(crate) struct Asymmetric;

/// Fails if the protocol was seen not to keep a symmetry.
pub(crate) fn symmetric(machine: &ExploredMachine) -> Result<(), Asymmetric> {
    if machine.mirrors.broken().is_empty() { Ok(()) } else { Err(Asymmetric) }
}

/// The states that are expanded together, all at one distance from the start.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub seen: &'a dyn Seen,
    /// Whether unforced moves are noted.
    pub notes: bool,
    /// The number of moves from the start.
    pub depth: u32,
    /// The rank and the number of each state.
    pub states: &'a [(u64, u32)],
}

/// Follows the moves of a batch of states.
pub(crate) fn expand_batch(
    machine: &mut ExploredMachine,
    canonical: &Canonical,
    batch: Batch<'_>,
    expansions: &mut Vec<Expansion>,
) -> Result<(), Asymmetric> {
    let Batch { seen, notes, depth, states: batch } = batch;
    let chunks: Vec<&[(u64, u32)]> = if batch.len() <= FEW { Vec::new() } else { batch.chunks(CHUNK).collect() };
    expansions.resize_with(chunks.len() + 1, Expansion::new);
    expansions.iter_mut().for_each(Expansion::clear);
    let Some((rest, expansions)) = expansions.split_last_mut() else { return Ok(()) };
    let ground = Ground { machine, canonical, seen, notes, depth };
    expansions.par_iter_mut().zip(&chunks).for_each(|(expansion, chunk)| expansion.expand_known(ground, chunk));
    let unfinished: Vec<(u64, u32)> = expansions.iter().flat_map(|expansion| &expansion.unfinished).copied().collect();
    for &(rank, number) in if chunks.is_empty() { batch } else { &unfinished } {
        while !rest.expand(Ground { machine, canonical, seen, notes, depth }, rank, number) {
            rest.unknown().iter().for_each(|&unknown| machine.learn(unknown));
            symmetric(machine)?;
        }
    }
    rest.flush(seen);
    Ok(())
}
