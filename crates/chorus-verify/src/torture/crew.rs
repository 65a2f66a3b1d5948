//! Runs many episodes on all cores.
//!
//! Episodes are independent of each other. Threads take blocks of consecutive ones, and what came of the blocks is put
//! together in their order. So the first failure, the counts and the coverage are the same for any number of threads.

use rayon::prelude::*;

use super::coverage::Coverage;
use super::driver::Driver;
use super::problem::Problem;
use super::setup::Episode;

/// The number of episodes of a block.
const BLOCK: u64 = 16;

/// The number of blocks for each thread after which threads wait for each other.
const BLOCKS_PER_THREAD: u64 = 4;

/// The counts and findings of some episodes.
#[derive(Debug, Default)]
pub(super) struct Episodes {
    /// The number of inputs that were consumed.
    pub(super) steps: u64,
    /// The number of inputs that were refused.
    pub(super) refusals: u64,
    /// The number of episodes.
    pub(super) count: u64,
    /// The number of operations of their programs.
    pub(super) operations: u64,
    /// The cells of the transition table that they met.
    pub(super) coverage: Coverage,
    /// The first episode that failed, with the rule that it broke. No later episode counts.
    pub(super) failure: Option<(u64, Problem)>,
}

impl Episodes {
    fn add(&mut self, later: Episodes) {
        self.steps += later.steps;
        self.refusals += later.refusals;
        self.count += later.count;
        self.operations += later.operations;
        self.coverage.add(&later.coverage);
        self.failure = later.failure;
    }
}

/// Runs consecutive episodes until one fails.
pub(super) fn run_block(
    driver: &mut Driver,
    first: u64,
    count: u64,
    draw: &(dyn Fn(u64) -> Episode + Sync),
) -> Episodes {
    let mut block = Episodes::default();
    (driver.steps, driver.refusals, driver.coverage) = (0, 0, Coverage::default());
    for index in first..first + count {
        let episode = draw(index);
        block.count += 1;
        block.operations += episode.program.operations() as u64;
        if let Err(problem) = driver.run(&episode) {
            block.failure = Some((index, problem));
            break;
        }
    }
    (block.steps, block.refusals) = (driver.steps, driver.refusals);
    block.coverage = std::mem::take(&mut driver.coverage);
    block
}

/// Runs episodes from the first one on, until one fails or a block ends after enough steps. Reports the number of steps
/// now and then.
pub(super) fn run_episodes(
    steps: u64,
    draw: &(dyn Fn(u64) -> Episode + Sync),
    driver: &(dyn Fn() -> Driver + Sync),
    watch: &mut dyn FnMut(u64),
) -> Episodes {
    let mut all = Episodes::default();
    let mut next = 0;
    while all.failure.is_none() && all.steps < steps {
        // The first blocks are tried alone, since many mistakes show there.
        let most = BLOCKS_PER_THREAD * rayon::current_num_threads() as u64;
        let blocks = (next..next + most.min(next + 1)).into_par_iter();
        let run = |driver: &mut Driver, block: u64| run_block(driver, block * BLOCK, BLOCK, draw);
        let results: Vec<Episodes> = blocks.map_init(driver, run).collect();
        next += results.len() as u64;
        for result in results {
            if all.failure.is_none() && all.steps < steps {
                all.add(result);
            }
        }
        watch(all.steps);
    }
    all
}
