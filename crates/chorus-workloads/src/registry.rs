//! What a workload declares about itself, and the list of all workloads.

use chorus_sim::frontend::{HostMemory, Program};
use chorus_system::Scale;

use crate::alexnet::AlexNet;
use crate::atax::Atax;
use crate::babelstream::BabelStream;
use crate::backprop::Backprop;
use crate::bc::Bc;
use crate::bfs::Bfs;
use crate::bfs_rodinia::BfsRodinia;
use crate::bh::Bh;
use crate::bitonic::Bitonic;
use crate::btree::Btree;
use crate::c2d::C2d;
use crate::cc::Cc;
use crate::cl::Cl;
use crate::cnn::Cnn;
use crate::color::Color;
use crate::comd::Comd;
use crate::cusolver::CuSolver;
use crate::dlb::Dlb;
use crate::dwt2d::Dwt2d;
use crate::fir::Fir;
use crate::fw::Fw;
use crate::gaussian::Gaussian;
use crate::gemm_polybench::Gemm;
use crate::gemv::Gemv;
use crate::googlenet::GoogLeNet;
use crate::graph::Graph;
use crate::hacc::Hacc;
use crate::hotspot::Hotspot;
use crate::hotspot3d::Hotspot3d;
use crate::hpgmg::Hpgmg;
use crate::hsp::Hsp;
use crate::hsti::Hsti;
use crate::indirection::Indirection;
use crate::j2d::J2d;
use crate::kmn::Kmn;
use crate::lps::Lps;
use crate::lstm::Lstm;
use crate::lu::Lu;
use crate::lud::Lud;
use crate::lulesh::Lulesh;
use crate::miniamr::MiniAmr;
use crate::minicontact::MiniContact;
use crate::mm2::Mm2;
use crate::mm3::Mm3;
use crate::mst::Mst;
use crate::namd::Namd;
use crate::ndl::Ndl;
use crate::nekbone::Nekbone;
use crate::nw::Nw;
use crate::overfeat::OverFeat;
use crate::pathfinder::Pathfinder;
use crate::pennant::Pennant;
use crate::pr::PageRank;
use crate::pr_collab::PrCollab;
use crate::program::HostProgram;
use crate::resnet::ResNet;
use crate::resnet18::ResNet18;
use crate::reuse_o::ReuseO;
use crate::reuse_s::ReuseS;
use crate::rg::Rg;
use crate::rnn_dgrad::RnnDataGradient;
use crate::rnn_fw::RnnForward;
use crate::rnn_gru::RnnGru;
use crate::rnn_inference::Input;
use crate::rnn_lstm::RnnLstm;
use crate::rnn_wgrad::RnnWeightGradient;
use crate::rsct::Rsct;
use crate::saxpy::Saxpy;
use crate::sc::Sc;
use crate::snap::Snap;
use crate::square::Square;
use crate::sr::Sr;
use crate::srad::Srad;
use crate::sssp::Sssp;
use crate::st::St;
use crate::stn::Stn;
use crate::tqh::Tqh;
use crate::trns::Trns;
use crate::vgg16::Vgg16;
use crate::vpr::Vpr;

/// Builds a program on a graph that its user brings along; the seed draws what the graph does not say.
pub type OnGraph = fn(&Graph, u64, &mut HostMemory) -> HostProgram;

/// A workload: a declaration, and a program of any scale and seed.
pub trait Workload: Sync {
    /// The name on the command line: the paper's abbreviation, lower-case.
    fn name(&self) -> &'static str;
    /// The name spelled out.
    fn title(&self) -> &'static str;
    /// One sentence for lists.
    fn summary(&self) -> &'static str;
    /// The paper and section that use it, and the suite or paper it comes from.
    fn source(&self) -> &'static str;
    /// Whether work-groups exchange data within one kernel, so that private caches must be coherent. Such kernels contain fences, and no others do.
    fn communicates(&self) -> bool {
        false
    }
    /// Lays the input of `seed` out in memory and computes what the kernels must make of it.
    fn build(&self, scale: Scale, seed: u64, memory: &mut HostMemory) -> HostProgram;
    /// How it is built on a graph instead, where it takes one.
    fn on_graph(&self) -> Option<OnGraph> {
        None
    }
    /// The same program, for drivers.
    fn prepare(&self, scale: Scale, seed: u64, memory: &mut HostMemory) -> Box<dyn Program> {
        Box::new(self.build(scale, seed, memory))
    }
}

/// Every workload, those that communicate within a kernel first.
pub const WORKLOADS: &[&dyn Workload] = &[
    &Bh,
    &Cc,
    &Cl,
    &Dlb,
    &Stn,
    &Vpr,
    &Hsp,
    &Kmn,
    &Lps,
    &Ndl,
    &Rg,
    &Sr,
    &Saxpy,
    &CuSolver,
    &Comd,
    &Hpgmg,
    &MiniAmr,
    &MiniContact,
    &Namd,
    &Nekbone,
    &Snap,
    &Bfs,
    &Mst,
    &AlexNet,
    &GoogLeNet,
    &Lstm,
    &OverFeat,
    &ResNet,
    &RnnDataGradient,
    &RnnForward,
    &RnnWeightGradient,
    &Nw,
    &Pathfinder,
    &Atax,
    &C2d,
    &Fir,
    &Gemm,
    &Gemv,
    &J2d,
    &Lu,
    &Mm2,
    &Mm3,
    &PageRank,
    &Sc,
    &St,
    &Vgg16,
    &ResNet18,
    &Bitonic,
    &BabelStream,
    &Backprop,
    &BfsRodinia,
    &Color,
    &Fw,
    &Gaussian,
    &Hotspot3d,
    &Hotspot,
    &Lud,
    &Square,
    &Sssp,
    &Btree,
    &Hacc,
    &Lulesh,
    &Pennant,
    &RnnGru(Input::Large),
    &RnnGru(Input::Small),
    &RnnLstm(Input::Large),
    &RnnLstm(Input::Small),
    &Cnn,
    &Dwt2d,
    &Srad,
    &Indirection,
    &ReuseO,
    &ReuseS,
    &Bc,
    &PrCollab,
    &Hsti,
    &Trns,
    &Rsct,
    &Tqh,
];

/// The workload called `name`.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    WORKLOADS.iter().copied().find(|workload| workload.name() == name)
}

#[cfg(test)]
mod tests {
    use chorus_sim::frontend::flat;

    use super::*;
    use crate::generator::SplitMix64;

    #[test]
    fn names_are_unique_and_kebab_case() {
        for (index, workload) in WORKLOADS.iter().enumerate() {
            let name = workload.name();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(WORKLOADS[..index].iter().all(|earlier| earlier.name() != name), "{name} twice");
            assert_eq!(find(name).map(|found| found.title()), Some(workload.title()));
        }
        assert!(find("no-such-workload").is_none());
    }

    #[test]
    fn every_workload_is_titled_summarised_and_sourced() {
        for workload in WORKLOADS {
            assert!(!workload.title().is_empty(), "{}", workload.name());
            assert!(workload.summary().ends_with('.'), "{}", workload.name());
            assert!(workload.source().chars().any(|c| c.is_ascii_digit()), "{}", workload.name());
        }
    }

    #[test]
    fn seeds_change_the_input_and_nothing_else_does() {
        for workload in WORKLOADS {
            let input = |seed| {
                let mut memory = HostMemory::default();
                workload.build(Scale::Quick, seed, &mut memory);
                memory.words().to_vec()
            };
            assert_eq!(input(1), input(1), "{}", workload.name());
            assert_ne!(input(1), input(2), "{}", workload.name());
        }
    }

    #[test]
    fn every_workload_is_larger_at_medium_than_at_quick_scale() {
        for workload in WORKLOADS {
            let words = |scale| {
                let mut memory = HostMemory::default();
                let program = workload.build(scale, 1, &mut memory);
                assert!(program.check(&memory).is_err(), "{} passes before it has run", workload.name());
                memory.words().len()
            };
            assert!(words(Scale::Quick) < words(Scale::Medium), "{}", workload.name());
        }
    }

    #[test]
    fn every_workload_computes_its_reference_on_flat_memory() {
        for workload in WORKLOADS {
            for seed in [1, 2] {
                let mut memory = HostMemory::default();
                let mut program = workload.prepare(Scale::Quick, seed, &mut memory);
                assert!(program.check(&memory).is_err(), "{} passes before it has run", workload.name());
                let result = flat::run(program.as_mut(), &mut memory);
                assert_eq!(result, Ok(()), "{} with seed {seed}", workload.name());
            }
        }
    }

    #[test]
    fn one_wrong_bit_in_any_output_is_found() {
        for workload in WORKLOADS {
            let mut memory = HostMemory::default();
            let mut program = workload.build(Scale::Quick, 3, &mut memory);
            flat::run(&mut program, &mut memory).unwrap();
            let mut generator = SplitMix64::new(3);
            for output in program.outputs() {
                let words = output.words();
                let anywhere = words.start + generator.below(words.len() as u32) as usize;
                for word in [words.start, anywhere, words.end - 1] {
                    let bit = 1 << generator.below(32);
                    memory.words_mut()[word] ^= bit;
                    assert!(program.check(&memory).is_err(), "{} of {}", output.name(), workload.name());
                    memory.words_mut()[word] ^= bit;
                }
            }
            assert_eq!(program.check(&memory), Ok(()), "{}", workload.name());
        }
    }
}
