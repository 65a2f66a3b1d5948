//! The parameters of the scoped protocols: choices that the papers leave open or compare.

use crate::parameter::ParameterSpec;

/// The parameters of protocols with directories.
pub const DIRECTORY_PARAMETERS: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "write_back",
        meaning: "stores that stay in an L2: 0 none, 1 those at the home of their line, 2 all without scope",
        source: "0: HMG section VI; 1: REC section 2.2; 2: HMG section IV-B, local stores",
        default: 0,
        min: 0,
        max: 2,
        explored: &[0, 1, 2],
    },
    ParameterSpec {
        key: "downgrades",
        meaning: "whether an L2 that drops a clean copy tells the home: 0 no, 1 yes",
        source: "HMG section VI: not implemented; section IV-B, cache eviction, describes it",
        default: 0,
        min: 0,
        max: 1,
        explored: &[0, 1],
    },
];

/// The parameters of protocols whose directories may be those of the REC paper.
pub const RANGE_PARAMETERS: [ParameterSpec; 3] = [
    DIRECTORY_PARAMETERS[0],
    DIRECTORY_PARAMETERS[1],
    ParameterSpec {
        key: "ranges",
        meaning: "directory entries: 0 groups of `directory.lines_per_entry` lines with one set of sharers, 1 ranges of `directory.range` with one for each line",
        source: "0: HMG section VI; 1: REC section 4, which section 6 says can be extended to HMG",
        default: 0,
        min: 0,
        max: 1,
        explored: &[0, 1],
    },
];

/// The parameter of the REC paper's baseline.
pub const REMOTE_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "remote_caching",
    meaning: "caches that keep lines of other GPUs' memory: 0 none, 1 private caches, 2 private caches and L2s",
    source: "2: REC section 2.2, the baseline; 0 and 1: REC Figure 1",
    default: 2,
    min: 0,
    max: 2,
    explored: &[2, 0, 1],
}];

/// The parameter of software protocols.
pub const ACQUIRE_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "acquire_spares_home",
    meaning: "whether an acquire keeps the L2's copies of its own memory, which are never stale: 0 no, 1 yes",
    source: "HMG section VI: an acquire invalidates the local L2, without exception",
    default: 0,
    min: 0,
    max: 1,
    explored: &[0, 1],
}];

/// The parameters of the CPElide paper's baseline.
pub const BOUNDARY_PARAMETERS: [ParameterSpec; 3] = [
    ParameterSpec {
        key: "boundaries",
        meaning: "what L2s do between kernels: 0 nothing, 1 write back at the end of each and empty at the beginning",
        source: "1: CPElide sections II-C and IV-C; 0: section IV-D, the machine without flush overhead that reuse is measured on",
        default: 1,
        min: 0,
        max: 1,
        explored: &[1],
    },
    FORWARDING_PARAMETERS[0],
    FORWARDING_PARAMETERS[1],
];

/// The parameters of the protocols of the CPElide paper.
pub const FORWARDING_PARAMETERS: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "remote_reads",
        meaning: "whether an L2 keeps the lines of other chiplets' memory that it reads: 0 no, 1 until the next acquire",
        source: "0: CPElide section IV-C, remote requests are forwarded to the home; 1: sections III-B and III-C, where L2s hold what others write",
        default: 0,
        min: 0,
        max: 1,
        explored: &[1, 0],
    },
    ParameterSpec {
        key: "remote_at_home",
        meaning: "whether the lines of other chiplets' requests take a place in the L2 of their home: 0 no, and their stores go on to memory, 1 yes",
        source: "1: CPElide Table I, the latency of a hit in another chiplet's L2; 0: section V-B, HMG keeps remote accesses at their home, which takes room from the home's own, and Baseline does not",
        default: 1,
        min: 0,
        max: 1,
        explored: &[1],
    },
];

/// The parameter of NHCC with write-back L2s.
pub const ELIDE_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "elide",
    meaning: "when L2s hand dirty lines of other modules' memory to their homes at the latest: 0 when a kernel ends, 1 when the Chiplet Coherence Table asks for it",
    source: "0: HMG sections II-D and IV-B, the end of a kernel is a release; 1: CPElide section VI, on top of HMG",
    default: 0,
    min: 0,
    max: 1,
    explored: &[1, 0],
}];

/// The parameter of the idealised protocol.
pub const IDEAL_PARAMETERS: [ParameterSpec; 1] = [ParameterSpec {
    key: "keeps_private",
    meaning: "whether private caches keep their copies at acquires, too: 0 no, 1 yes",
    source: "1: HMG section VI, caching that does not enforce coherence; 0: only the caching of remote data is idealised",
    default: 1,
    min: 0,
    max: 1,
    explored: &[1, 0],
}];
