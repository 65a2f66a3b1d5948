//! The contract of a workload, and the list of all workloads that Chorus ships.

use chorus_kernel::{HostMemory, Program};
use chorus_system::Scale;

use crate::graph::Graph;
use crate::program::HostProgram;
use crate::size::{SizeSpec, Sizes};
use crate::{
    applications, chai, dnn, hetero_mark, hpc, ispass, lonestar, microbenchmarks, pannotia, polybench, rodinia, sdk,
    shoc, tutorial,
};

/// Builds a program on a graph that its user brings along. The seed draws numbers that the graph lacks, such as
/// weights.
pub type OnGraph = fn(&Graph, u64, &mut HostMemory) -> HostProgram;

/// A collection that a workload's program was published in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suite {
    /// Published applications that belong to no collection.
    Applications,
    /// Chai (Gómez-Luna et al., ISPASS 2017).
    Chai,
    /// Layers and training steps of neural networks.
    Dnn,
    /// Hetero-Mark (Sun et al., IISWC 2016).
    HeteroMark,
    /// Proxies and benchmarks of high-performance computing.
    Hpc,
    /// The programs of Bakhoda et al., ISPASS 2009.
    Ispass,
    /// LonestarGPU (Burtscher, Nasre and Pingali, IISWC 2012).
    Lonestar,
    /// Synthetic programs with one sharing pattern each.
    Microbenchmarks,
    /// Pannotia (Che et al., IISWC 2013).
    Pannotia,
    /// PolyBench/GPU (Grauer-Gray et al., InPar 2012).
    PolyBench,
    /// Rodinia (Che et al., IISWC 2009).
    Rodinia,
    /// Samples of vendors' development kits.
    Sdk,
    /// SHOC (Danalis et al., GPGPU 2010).
    Shoc,
    /// Kernels to learn from.
    Tutorial,
    /// Programs that a user adds.
    Own,
}

impl Suite {
    /// The name that tables and pages show.
    pub fn title(self) -> &'static str {
        match self {
            Suite::Applications => "applications",
            Suite::Chai => "Chai",
            Suite::Dnn => "neural networks",
            Suite::HeteroMark => "Hetero-Mark",
            Suite::Hpc => "HPC proxies",
            Suite::Ispass => "ISPASS 2009",
            Suite::Lonestar => "LonestarGPU",
            Suite::Microbenchmarks => "microbenchmarks",
            Suite::Pannotia => "Pannotia",
            Suite::PolyBench => "PolyBench/GPU",
            Suite::Rodinia => "Rodinia",
            Suite::Sdk => "vendors' samples",
            Suite::Shoc => "SHOC",
            Suite::Tutorial => "tutorial",
            Suite::Own => "own",
        }
    }
}

/// A paper whose evaluation uses a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Paper {
    /// Singh et al., Cache Coherence for GPU Architectures, HPCA 2013.
    Tc,
    /// Ren et al., HMG, HPCA 2020.
    Hmg,
    /// Ko et al., REC.
    Rec,
    /// Dalmia et al., CPElide, MICRO 2024.
    CpElide,
    /// Alsop, Sinclair and Adve, Spandex, ISCA 2018.
    Spandex,
}

impl Paper {
    /// The name of the paper's experiment.
    pub fn name(self) -> &'static str {
        match self {
            Paper::Tc => "tc",
            Paper::Hmg => "hmg",
            Paper::Rec => "rec",
            Paper::CpElide => "cpelide",
            Paper::Spandex => "spandex",
        }
    }
}

/// The file that a user's program is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnFile {
    /// Its path, as it was given.
    pub path: &'static str,
    /// The SHA-256 of its contents and of those of every file that it names, in hexadecimal digits.
    pub sha256: &'static str,
}

/// A workload: a declaration, and a program of any size and seed.
pub trait Workload: Sync {
    /// The name on the command line: the paper's abbreviation, lower-case.
    fn name(&self) -> &'static str;
    /// The name of the program, spelled out.
    fn title(&self) -> &'static str;
    /// One sentence that lists show.
    fn summary(&self) -> &'static str;
    /// The collection that its program was published in.
    fn suite(&self) -> Suite {
        Suite::Own
    }
    /// The papers whose evaluation measures it.
    fn papers(&self) -> &'static [Paper] {
        &[]
    }
    /// The paper and section that use it, and the suite or paper it comes from.
    fn source(&self) -> &'static str;
    /// Whether work-groups exchange data within one kernel, so that private caches must be coherent. Such kernels
    /// contain fences, and no others do.
    fn communicates(&self) -> bool {
        false
    }
    /// The sizes that users can set.
    fn sizes(&self) -> &'static [SizeSpec] {
        &[]
    }
    /// The reason why these sizes do not go together, as a sentence that names them and says what would be accepted;
    /// nothing where they do. Each size alone is in its range.
    fn misfit(&self, _sizes: &Sizes) -> Option<String> {
        None
    }
    /// Lays the input of `seed` out in memory and computes the outputs that the kernels must leave.
    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram;
    /// The function that builds it on a graph that its user brings along, where it takes one.
    fn on_graph(&self) -> Option<OnGraph> {
        None
    }
    /// The file that it is read from, if it is no part of Chorus. Its kernels may do anything, so drivers expect that
    /// they crash.
    fn own_file(&self) -> Option<OwnFile> {
        None
    }
    /// Builds the program as drivers take it, in a box.
    fn prepare(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> Box<dyn Program> {
        Box::new(self.build(sizes, seed, memory))
    }
    /// Its sizes at a scale, all with their defaults.
    fn sizes_at(&self, scale: Scale) -> Sizes {
        Sizes::at(self.sizes(), scale)
    }
}

/// The workloads that Chorus ships, suite by suite.
static SUITES: [&[&dyn Workload]; 14] = [
    tutorial::WORKLOADS,
    applications::WORKLOADS,
    ispass::WORKLOADS,
    rodinia::WORKLOADS,
    lonestar::WORKLOADS,
    pannotia::WORKLOADS,
    polybench::WORKLOADS,
    shoc::WORKLOADS,
    hetero_mark::WORKLOADS,
    chai::WORKLOADS,
    dnn::WORKLOADS,
    hpc::WORKLOADS,
    sdk::WORKLOADS,
    microbenchmarks::WORKLOADS,
];

/// Every workload that Chorus ships.
pub fn workloads() -> impl Iterator<Item = &'static dyn Workload> {
    SUITES.iter().flat_map(|suite| suite.iter().copied())
}

/// The shipped workload called `name`.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    workloads().find(|workload| workload.name() == name)
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Verdict, flat};

    use super::*;
    use crate::generator::SplitMix64;

    #[test]
    fn names_are_unique_and_kebab_case() {
        for (index, workload) in workloads().enumerate() {
            let name = workload.name();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(workloads().take(index).all(|earlier| earlier.name() != name), "{name} twice");
            assert_eq!(find(name).map(|found| found.title()), Some(workload.title()));
        }
        assert!(find("no-such-workload").is_none());
    }

    #[test]
    fn every_workload_is_titled_summarised_and_sourced() {
        for workload in workloads() {
            assert!(!workload.title().is_empty(), "{}", workload.name());
            assert!(workload.summary().ends_with('.'), "{}", workload.name());
            assert!(workload.source().chars().any(|c| c.is_ascii_digit()), "{}", workload.name());
        }
    }

    #[test]
    fn seeds_change_the_input_and_nothing_else_does() {
        for workload in workloads() {
            let build = |seed| {
                let mut memory = HostMemory::default();
                let program = workload.build(&workload.sizes_at(Scale::Quick), seed, &mut memory);
                (program, memory.words(0..memory.word_count()))
            };
            let (first, other) = (build(1), build(2));
            assert!(first.1 == build(1).1, "{}", workload.name());
            // Where kernels make the input, it shows in the result.
            let is_other = || other.0.check(&run_on_flat_memory(workload, 1).1).is_wrong();
            assert!(first.1 != other.1 || is_other(), "{}", workload.name());
        }
    }

    /// The Spandex paper's inputs fit at every scale, so scales of its programs differ in passes alone.
    #[test]
    fn every_workload_is_larger_at_medium_than_at_quick_scale() {
        for workload in workloads() {
            let words = |scale| {
                let mut memory = HostMemory::default();
                let program = workload.build(&workload.sizes_at(scale), 1, &mut memory);
                assert!(program.check(&memory).is_wrong(), "{} passes before it has run", workload.name());
                memory.word_count()
            };
            let (quick, medium) = (words(Scale::Quick), words(Scale::Medium));
            let has_passes = workload.papers().contains(&Paper::Spandex);
            assert!(quick < medium || has_passes && quick == medium, "{}", workload.name());
        }
    }

    /// Runs a workload of a seed at quick scale on flat memory and compares its result with its reference.
    fn run_on_flat_memory(workload: &dyn Workload, seed: u64) -> (HostProgram, HostMemory) {
        let mut memory = HostMemory::default();
        let mut program = workload.build(&workload.sizes_at(Scale::Quick), seed, &mut memory);
        assert!(program.check(&memory).is_wrong(), "{} passes before it has run", workload.name());
        assert_eq!(flat::run(&mut program, &memory), Ok(()), "{} with seed {seed}", workload.name());
        (program, memory)
    }

    #[test]
    fn every_workload_computes_its_reference_and_one_wrong_bit_in_any_output_is_found() {
        for workload in workloads() {
            run_on_flat_memory(workload, 1);
            let (program, memory) = run_on_flat_memory(workload, 2);
            let mut generator = SplitMix64::new(3);
            for output in program.outputs() {
                let words = output.words();
                let anywhere = words.start + generator.below(words.len() as u32) as usize;
                for word in [words.start, anywhere, words.end - 1] {
                    let bit = 1 << generator.below(32);
                    let right = memory.load(word);
                    memory.store(word, right ^ bit);
                    assert!(program.check(&memory).is_wrong(), "{} of {}", output.name(), workload.name());
                    memory.store(word, right);
                }
            }
            assert_eq!(program.check(&memory), Verdict::Checked, "{}", workload.name());
        }
    }

    #[test]
    fn keys_of_sizes_are_unique_and_snake_case() {
        for workload in workloads() {
            for (index, spec) in workload.sizes().iter().enumerate() {
                let (name, key) = (workload.name(), spec.key);
                let snake = key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                assert!(snake && key.starts_with(|c: char| c.is_ascii_lowercase()), "{name} {key}");
                assert!(workload.sizes()[..index].iter().all(|earlier| earlier.key != key), "{name} {key} twice");
            }
        }
    }

    #[test]
    fn sizes_have_a_meaning_a_source_and_a_range_that_32_bits_hold() {
        for workload in workloads() {
            for spec in workload.sizes() {
                let name = format!("{} {}", workload.name(), spec.key);
                assert!(!spec.meaning.is_empty() && !spec.source.is_empty(), "{name}");
                assert!(spec.accepts(spec.min) && spec.accepts(spec.max), "{name}: the ends of its range");
                assert!(spec.max <= u32::MAX.into(), "{name}");
            }
        }
    }

    #[test]
    fn default_sizes_are_accepted_at_every_scale() {
        for workload in workloads() {
            for scale in [Scale::Quick, Scale::Medium, Scale::Paper] {
                let sizes = workload.sizes_at(scale);
                for (spec, value) in sizes.iter() {
                    assert!(spec.accepts(value), "{} {} at {scale:?} scale: {value}", workload.name(), spec.key);
                }
                assert_eq!(workload.misfit(&sizes), None, "{} at {scale:?} scale", workload.name());
            }
        }
    }

    /// A value between the smallest and about twice the default at quick scale, small values as often as large ones.
    fn draw(spec: &SizeSpec, generator: &mut SplitMix64) -> u64 {
        let highest = (2 * spec.default_at(Scale::Quick)).clamp(spec.min, spec.max);
        let (low, high) = (spec.min as f32 + 1.0, highest as f32 + 2.0);
        let drawn = (low * (high / low).powf(generator.unit_f32())) as u64 - 1;
        (drawn / spec.multiple_of * spec.multiple_of).clamp(spec.min, highest)
    }

    /// Sizes that go together, drawn at random; nothing where a hundred draws gave none.
    fn draw_sizes(workload: &dyn Workload, generator: &mut SplitMix64) -> Option<Sizes> {
        let mut sizes = workload.sizes_at(Scale::Quick);
        (0..100).find_map(|_| {
            for spec in workload.sizes() {
                let value = draw(spec, generator);
                sizes.set(spec.key, value).unwrap_or_else(|error| panic!("{} {}: {error}", workload.name(), spec.key));
            }
            (workload.misfit(&sizes).is_none() && sizes != workload.sizes_at(Scale::Quick)).then(|| sizes.clone())
        })
    }

    /// The smallest sizes that a workload accepts, where those of all its ranges go together.
    fn smallest(workload: &dyn Workload) -> Option<Sizes> {
        let mut sizes = workload.sizes_at(Scale::Quick);
        for spec in workload.sizes() {
            sizes.set(spec.key, spec.min).unwrap_or_else(|error| panic!("{} {}: {error}", workload.name(), spec.key));
        }
        workload.misfit(&sizes).is_none().then_some(sizes)
    }

    #[test]
    fn every_workload_computes_its_reference_with_any_sizes_that_it_accepts() {
        const DRAWS: u64 = 2;
        for workload in workloads() {
            let mut generator = SplitMix64::new(18);
            let drawn: Vec<Sizes> = (0..DRAWS).map_while(|_| draw_sizes(workload, &mut generator)).collect();
            assert!(!drawn.is_empty(), "{} accepts no sizes but its defaults", workload.name());
            for (seed, sizes) in (1..).zip(smallest(workload).into_iter().chain(drawn)) {
                let values: Vec<(&str, u64)> = sizes.iter().map(|(spec, value)| (spec.key, value)).collect();
                let mut memory = HostMemory::default();
                let mut program = workload.prepare(&sizes, seed, &mut memory);
                assert_eq!(flat::run(program.as_mut(), &memory), Ok(()), "{} of {values:?}", workload.name());
            }
        }
    }
}
