//! Are inputs in proportion to machines? Where a paper states a footprint, paper scale has it, and smaller scales
//! divide it by the number by which they divide the machine.
//!
//! A suite is a table of workloads with the footprints that its paper states. A footprint and the work-items of the
//! largest kernel are formulas of the sizes, since programs of paper scale take too long to build. They are held to
//! what programs of quick scale really have.

use chorus_kernel::{HostMemory, LANES};
use chorus_system::{Scale, SystemConfig, resolve};
use chorus_workloads::{Sizes, Workload, find};

const MB: f64 = (1 << 20) as f64;
const WORD: u64 = 4;

/// A number that follows from the sizes of a workload, which are asked for by name.
type Formula = fn(&dyn Fn(&str) -> u64) -> u64;

/// A workload whose footprint a paper states.
struct Stated {
    workload: &'static str,
    /// The footprint in MB of 2^20 bytes.
    megabytes: f64,
    /// Words of all buffers that count.
    words: Formula,
    /// Work-items of the largest kernel. None where they are rows of a matrix, of which smaller scales do not have so
    /// much fewer.
    work_items: Option<Formula>,
}

/// The workloads of a paper on its machine.
struct Suite {
    system: &'static str,
    /// The numbers by which quick, medium and paper scale divide machine and footprints.
    divisors: [u64; 3],
    stated: &'static [Stated],
}

const SUITES: [Suite; 1] = [Suite { system: "rec", divisors: [64, 16, 1], stated: &REC }];

/// Table 3 of the REC paper.
const REC: [Stated; 12] = [
    Stated { workload: "atax", megabytes: 128.0, words: |size| size("rows") * size("columns"), work_items: None },
    Stated {
        workload: "c2d",
        megabytes: 512.0,
        words: |size| 2 * size("side").pow(2),
        work_items: Some(|size| size("side").pow(2)),
    },
    Stated {
        workload: "fir",
        megabytes: 128.0,
        words: |size| 2 * size("blocks") * size("samples"),
        work_items: Some(|size| size("samples")),
    },
    Stated {
        workload: "gemm",
        megabytes: 128.0,
        words: |size| size("ni") * size("nk") + size("nk") * size("nj") + size("ni") * size("nj"),
        work_items: Some(|size| size("ni") * size("nj")),
    },
    Stated {
        workload: "gemv",
        megabytes: 256.0,
        words: |size| size("side").pow(2),
        work_items: Some(|size| size("side").pow(2)),
    },
    Stated {
        workload: "j2d",
        megabytes: 128.0,
        words: |size| 2 * size("side").pow(2),
        work_items: Some(|size| size("side").pow(2)),
    },
    Stated {
        workload: "lu",
        megabytes: 128.0,
        words: |size| size("side").pow(2),
        work_items: Some(|size| (size("side") - 1).pow(2)),
    },
    Stated {
        workload: "mm2",
        megabytes: 128.0,
        words: |size| {
            let [ni, nj, nk, nl] = ["ni", "nj", "nk", "nl"].map(size);
            ni * nk + nk * nj + nj * nl + ni * nl + ni * nj
        },
        work_items: Some(|size| size("ni") * size("nj").max(size("nl"))),
    },
    Stated {
        workload: "mm3",
        megabytes: 64.0,
        words: |size| {
            let [ni, nj, nk, nl, nm] = ["ni", "nj", "nk", "nl", "nm"].map(size);
            ni * nk + nk * nj + nj * nm + nm * nl + ni * nj + nj * nl + ni * nl
        },
        work_items: Some(|size| size("nj") * size("nl")),
    },
    Stated {
        workload: "pr",
        megabytes: 256.0,
        words: |size| size("nodes") * (3 + 2 * size("arcs_per_node")),
        work_items: Some(|size| 8 * size("nodes")),
    },
    Stated {
        workload: "sc",
        megabytes: 512.0,
        words: |size| size("width") * size("height") + (size("width") + 2) * (size("height") + 2),
        work_items: Some(|size| size("width") * size("height")),
    },
    Stated {
        workload: "st",
        megabytes: 128.0,
        words: |size| 2 * (size("rows") + 2) * (size("columns") + 2),
        work_items: Some(|size| size("rows") * size("columns") / 16),
    },
];

fn workload(stated: &Stated) -> &'static dyn Workload {
    find(stated.workload).expect("the workload is shipped")
}

fn config(suite: &Suite, scale: Scale) -> SystemConfig {
    resolve(suite.system, scale, &[]).expect("the system resolves").config
}

/// Evaluates a formula of sizes.
fn evaluate(sizes: &Sizes, formula: Formula) -> f64 {
    formula(&|key| sizes.get(key).into()) as f64
}

fn differ(found: f64, expected: f64) -> f64 {
    (found / expected - 1.0).abs()
}

#[test]
fn footprints_are_those_that_papers_state_divided_as_the_machine_is() {
    for suite in &SUITES {
        for (scale, divisor) in Scale::ALL.into_iter().zip(suite.divisors) {
            for stated in suite.stated {
                let bytes = WORD as f64 * evaluate(&workload(stated).sizes_at(scale), stated.words);
                let expected = stated.megabytes * MB / divisor as f64;
                let name = stated.workload;
                assert!(differ(bytes, expected) < 0.05, "{name} has {bytes} of {expected} bytes at scale {scale}");
            }
        }
    }
}

/// The capacities of one GPU: L2, what its directory's entries reach with a line each, all L1s, and wavefronts.
fn capacities(config: &SystemConfig) -> [u64; 4] {
    let directory = config.directory.as_ref().expect("the machine has a directory");
    let units = config.core.count;
    let (line, l2) = (config.l1.line_bytes, config.l2.banks * config.l2.bank_bytes);
    let reach = directory.entries * directory.lines_per_entry * line;
    [l2, reach, units * config.l1.size_bytes, units * config.core.wavefronts].map(u64::from)
}

#[test]
fn machines_are_divided_by_one_number() {
    for suite in &SUITES {
        let paper = capacities(&config(suite, Scale::Paper));
        for (scale, divisor) in Scale::ALL.into_iter().zip(suite.divisors) {
            let divided = capacities(&config(suite, scale)).map(|capacity| capacity * divisor);
            assert_eq!(divided, paper, "{} at scale {scale}", suite.system);
        }
    }
}

#[test]
fn wavefronts_of_the_largest_kernel_are_divided_as_those_that_the_machine_holds() {
    for suite in &SUITES {
        for stated in suite.stated {
            let Some(work_items) = stated.work_items else { continue };
            let at = |scale| evaluate(&workload(stated).sizes_at(scale), work_items);
            for (scale, divisor) in Scale::ALL.into_iter().zip(suite.divisors) {
                let (found, expected) = (at(scale), at(Scale::Paper) / divisor as f64);
                let name = stated.workload;
                assert!(differ(found, expected) < 0.15, "{name} has {found} of {expected} work-items at {scale}");
            }
        }
    }
}

#[test]
fn formulas_are_what_programs_of_quick_scale_have() {
    for stated in SUITES.iter().flat_map(|suite| suite.stated) {
        let workload = workload(stated);
        let (mut memory, sizes) = (HostMemory::default(), workload.sizes_at(Scale::Quick));
        let mut program = workload.prepare(&sizes, 1, &mut memory);
        let bytes = WORD as f64 * evaluate(&sizes, stated.words);
        let name = stated.workload;
        assert!(differ(memory.bytes() as f64, bytes) < 0.04, "{name} has {} instead of {bytes} bytes", memory.bytes());
        let Some(work_items) = stated.work_items else { continue };
        let kernels = std::iter::from_fn(|| program.next_kernel(&memory));
        let launched = kernels.map(|kernel| kernel.work_groups * kernel.waves_per_group * LANES as u32).max();
        let (launched, expected) = (f64::from(launched.expect("it has kernels")), evaluate(&sizes, work_items));
        assert!(differ(launched, expected) < 0.1, "{name} launches {launched} instead of {expected} work-items");
    }
}
