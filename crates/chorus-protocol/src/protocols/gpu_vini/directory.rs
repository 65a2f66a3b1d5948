//! The directory beside a shared bank: a set-associative array of tags and sharers, whose size is set by parameters (TC
//! paper, sections 4.3 and 8.5).

use crate::cache::{CacheArray, Geometry, Replacement};
use crate::parameter::ParameterSpec;
use crate::registry::BuildConfig;
use crate::save::{self, Save};
use crate::sharers::Sharers;

/// The parameters of the directory. Explorations have one entry, so that two lines already replace each other.
pub static PARAMETERS: [ParameterSpec; 2] = [
    ParameterSpec {
        key: "directory.ratio",
        meaning: "directory entries over the blocks of all private caches; 0 is one set in each bank",
        source: "TC paper, section 4.3",
        default: 2,
        min: 0,
        max: 64,
        explored: &[0, 1],
    },
    ParameterSpec {
        key: "directory.associativity",
        meaning: "directory entries of a set",
        source: "TC paper, section 4.3",
        default: 8,
        min: 1,
        max: 64,
        explored: &[1, 2],
    },
];

/// The directory's record of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Entry {
    /// The private caches that may hold the line.
    pub sharers: Sharers,
    /// Whether a read or write of the line is under way. Then the entry keeps its place.
    pub busy: bool,
}

/// The directory entries of one bank.
pub type Directory = CacheArray<Entry, 0>;

/// An empty directory for one bank.
pub fn directory(config: &BuildConfig) -> Directory {
    CacheArray::new(geometry(config))
}

/// The geometry of a bank's directory. It has as many sets as the bank's share of the entries needs, rounded up, and at
/// least one.
fn geometry(config: &BuildConfig) -> Geometry {
    let (ratio, ways) =
        (config.parameters.get("directory.ratio"), config.parameters.get("directory.associativity").max(1));
    let blocks = u64::from(config.topology.l1s) * u64::from(config.l1.sets) * u64::from(config.l1.ways);
    let entries = ratio.saturating_mul(blocks).div_ceil(u64::from(config.topology.l2s).max(1));
    let sets = entries.div_ceil(ways).clamp(1, u64::from(u32::MAX) / ways);
    Geometry {
        sets: sets as u32,
        ways: ways as u32,
        interleave: u32::from(config.topology.l2s),
        block: 1,
        replacement: Replacement::Lru,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Topology;
    use crate::parameter::Parameters;
    use crate::read_only::ReadOnlyLines;
    use crate::registry::{CacheShape, DirectoryShape};

    fn shape(sets: u32, ways: u32) -> CacheShape {
        CacheShape { sets, ways, mshrs: 2, replacement: Replacement::Lru }
    }

    fn sets_and_ways(topology: Topology, l1: CacheShape, [ratio, ways]: [u64; 2]) -> (u32, u32) {
        let mut parameters = Parameters::defaults(&PARAMETERS);
        parameters.set("directory.ratio", ratio);
        parameters.set("directory.associativity", ways);
        let config = BuildConfig {
            topology,
            l1,
            l2: shape(1, 1),
            l3: shape(1, 1),
            directory: DirectoryShape::SMALLEST,
            page_lines: 1,
            waves: 1,
            buffer_wave: None,
            fences: true,
            read_only: ReadOnlyLines::NONE,
            parameters,
            fault: None,
        };
        let Geometry { sets, ways, .. } = geometry(&config);
        (sets, ways)
    }

    #[test]
    fn the_papers_machine_has_1024_entries_in_each_bank() {
        let topology = Topology::one_gpu(16, 8);
        let defaults = PARAMETERS.each_ref().map(|spec| spec.default);
        assert_eq!(sets_and_ways(topology, shape(64, 4), defaults), (128, 8));
        assert_eq!(sets_and_ways(topology, shape(64, 4), [16, 32]), (256, 32));
    }

    #[test]
    fn what_does_not_divide_evenly_is_rounded_up() {
        let topology = Topology::one_gpu(3, 5);
        assert_eq!(sets_and_ways(topology, shape(7, 3), [2, 8]), (4, 8), "26 entries for each bank");
    }

    #[test]
    fn a_directory_has_at_least_one_set() {
        let topology = Topology::one_gpu(2, 4);
        assert_eq!(sets_and_ways(topology, shape(1, 1), [1, 64]), (1, 64));
        assert_eq!(sets_and_ways(topology, shape(1, 1), [0, 1]), (1, 1));
    }
}
