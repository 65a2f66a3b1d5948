//! The input from which a protocol builds its controllers: the machine, the sizes of its caches, the values of
//! parameters.

use crate::address::{Role, Topology};
use crate::cache::{Geometry, Replacement};
use crate::controller::Controller;
use crate::parameter::Parameters;
use crate::read_only::ReadOnlyLines;

/// Size and policy of one cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheShape {
    /// The number of sets.
    pub sets: u32,
    /// The number of lines of a set.
    pub ways: u32,
    /// The number of lines that may have requests outstanding.
    pub mshrs: u32,
    /// The policy that chooses the line to replace in a full set.
    pub replacement: Replacement,
}

impl CacheShape {
    /// The array of a cache that gets every `interleave`-th line.
    pub fn geometry(&self, interleave: u16) -> Geometry {
        let CacheShape { sets, ways, replacement, .. } = *self;
        Geometry { sets, ways, interleave: u32::from(interleave), block: 1, replacement }
    }

    /// The array of one bank of a module.
    pub fn bank_geometry(&self, topology: Topology) -> Geometry {
        Geometry { block: topology.interleave, ..self.geometry(topology.banks_per_module()) }
    }
}

/// Size and policy of the directory beside one shared bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirectoryShape {
    /// The number of sets.
    pub sets: u32,
    /// The number of entries of a set.
    pub ways: u32,
    /// The number of lines that one entry covers, for protocols that leave it to the machine.
    pub lines_per_entry: u32,
    /// The number of lines that one entry covers, for protocols that tell the lines of a range apart.
    pub range_lines: u32,
    /// The policy that chooses the entry to replace in a full set. Without one, the protocol chooses.
    pub replacement: Option<Replacement>,
}

impl DirectoryShape {
    /// The smallest directory, for machines on which nothing is remote.
    pub const SMALLEST: DirectoryShape =
        DirectoryShape { sets: 1, ways: 1, lines_per_entry: 1, range_lines: 1, replacement: None };
}

/// A machine, a program's properties and a protocol's options, from which controllers are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BuildConfig {
    /// The caches, banks and memory channels of the machine.
    pub topology: Topology,
    /// The shape of each private cache.
    pub l1: CacheShape,
    /// The shape of each shared bank.
    pub l2: CacheShape,
    /// The shape of each bank of a coherent L3, where there is one.
    pub l3: CacheShape,
    /// The shape of the directory beside each shared bank, for protocols that have one.
    pub directory: DirectoryShape,
    /// The number of lines of a page. A command to a shared bank that names a line concerns as many, see
    /// [`Commands`](super::Commands).
    pub page_lines: u32,
    /// The number of wavefront slots of the core beside each private cache.
    pub waves: u16,
    /// The wavefront number among these of lines that leave a store buffer, where there is one. Such a line may hold
    /// stores of any wavefront.
    pub buffer_wave: Option<u16>,
    /// Whether the program contains fences (TC paper, section 6.4: lifetimes are predicted differently then).
    pub fences: bool,
    /// The lines that the program declares read-only.
    pub read_only: ReadOnlyLines,
    /// The values of the protocol's parameters.
    pub parameters: Parameters,
    /// A fault to build in, as an index into [`Declaration::faults`](super::Declaration::faults).
    pub fault: Option<u8>,
}

/// Builds controllers for lines of `W` words.
///
/// Protocols implement it for every `W`, so that the simulator (lines of 16 or 32 words) and the exhaustive driver (2
/// words) run the same source.
pub trait Build<const W: usize> {
    /// Builds the controller number `index` of `role`. There is none if the protocol has no controllers of that role.
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>>;
}
