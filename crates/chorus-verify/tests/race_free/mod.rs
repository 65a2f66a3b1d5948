//! Every kernel without races on a few places of memory, and what it declares to the Chiplet Coherence Table.

use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::{Access, Mode};

/// The access that a chiplet declares of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    Nothing,
    Read,
    Write,
}

/// By place of all data structures, then by chiplet.
pub type Kernel = Vec<Vec<Declared>>;

/// Every kernel of so many chiplets and places that declares no write of what another chiplet accesses.
pub fn kernels(chiplets: u32, places: usize) -> Vec<Kernel> {
    let of_place: Vec<Vec<Declared>> = (0..3_usize.pow(chiplets))
        .map(|number| {
            let kinds = [Declared::Nothing, Declared::Read, Declared::Write];
            (0..chiplets).map(|chiplet| kinds[number / 3_usize.pow(chiplet) % 3]).collect::<Vec<_>>()
        })
        .filter(|declared| {
            let accesses = declared.iter().filter(|declared| **declared != Declared::Nothing).count();
            accesses <= 1 || !declared.contains(&Declared::Write)
        })
        .collect();
    let mut kernels: Vec<Kernel> = vec![Vec::new()];
    for _ in 0..places {
        let longer = |kernel: &Kernel| {
            let kernel = kernel.clone();
            of_place.iter().map(move |place| [kernel.clone(), vec![place.clone()]].concat()).collect::<Vec<_>>()
        };
        kernels = kernels.iter().flat_map(longer).collect();
    }
    kernels
}

/// The accesses of a kernel that the command processor is told of. Data structures have `places` places of `bytes`
/// each, from `address` on.
pub fn accesses(kernel: &Kernel, places: usize, bytes: u64, address: impl Fn(usize) -> u64) -> Vec<Access> {
    let mut accesses = Vec::new();
    for first in (0..kernel.len()).step_by(places) {
        for (mode, wanted) in [(Mode::Read, Declared::Read), (Mode::ReadWrite, Declared::Write)] {
            let of_chiplet = |chiplet: usize| -> Ranges {
                let declared = (first..first + places).filter(|&place| kernel[place][chiplet] == wanted);
                declared.map(|place| address(place)..address(place) + bytes).collect()
            };
            let by_chiplet: Vec<Ranges> = (0..kernel[first].len()).map(of_chiplet).collect();
            if by_chiplet.iter().any(|ranges| !ranges.is_empty()) {
                let start = address(first);
                accesses.push(Access { structure: start..start + places as u64 * bytes, mode, by_chiplet });
            }
        }
    }
    accesses
}
