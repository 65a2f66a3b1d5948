//! TC-Weak with leases per block: every line of a bank has a predictor of its own, so that lines that are read for long
//! keep long leases beside lines that are often written.
//!
//! In the paper (section 6.4) a bank predicts one length for all of its lines. Here it has a table of such predictors,
//! and a line uses the entry that the low bits of its address select. Everything else is TC-Weak's.

use chorus_protocol::prelude::*;
use chorus_protocol::protocols::tc::lifetime::{Leases, Lifetime};
use chorus_protocol::protocols::tc::weak;

static PARAMETERS: [ParameterSpec; weak::PREDICTED.len() + 1] = appended(
    &weak::PREDICTED,
    &[ParameterSpec {
        key: "predictor.entries",
        meaning: "predictors of each bank; lines that are as many apart share one",
        source: "chosen so that the lines of an L2 bank of 128 KB have one each",
        default: 1024,
        min: 1,
        max: 65_536,
        explored: &[2],
    }],
);

static DECLARATION: Declaration = Declaration {
    name: "tc-weak-block",
    title: "TC-Weak, leases per block",
    summary: "TC-Weak whose banks predict the length of leases for each line on its own.",
    citation: "after Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 6.4",
    parameters: &PARAMETERS,
    ..weak::DECLARATION
};

/// The predictors of one bank.
#[derive(Clone, Debug, Hash, Restore)]
struct PerBlock {
    /// Consecutive lines go to different banks; this is the distance of two that go to the same one.
    #[save(built)]
    interleave: usize,
    #[save(each)]
    predictors: Vec<Lifetime>,
}

impl PerBlock {
    fn new(config: &BuildConfig) -> PerBlock {
        let entries = config.parameters.get("predictor.entries") as usize;
        PerBlock { interleave: usize::from(config.topology.l2s), predictors: vec![weak::predicted(config); entries] }
    }

    fn entry(&self, line: LineAddr) -> usize {
        line.0 as usize / self.interleave % self.predictors.len()
    }

    fn predictor(&mut self, line: LineAddr) -> &mut Lifetime {
        let entry = self.entry(line);
        &mut self.predictors[entry]
    }
}

impl Leases for PerBlock {
    fn cycles(&self, line: LineAddr) -> u64 {
        self.predictors[self.entry(line)].cycles(line)
    }

    fn evicted_unexpired(&mut self, line: LineAddr) {
        self.predictor(line).evicted_unexpired(line);
    }

    fn expired_too_early(&mut self, line: LineAddr) {
        self.predictor(line).expired_too_early(line);
    }

    fn written_unexpired(&mut self, line: LineAddr) {
        self.predictor(line).written_unexpired(line);
    }
}

/// TC-Weak with leases per block.
pub struct TcWeakBlock;

impl<const W: usize> Build<W> for TcWeakBlock {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        weak::build(role, index, config, PerBlock::new(config))
    }
}

impl Protocol for TcWeakBlock {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
}
