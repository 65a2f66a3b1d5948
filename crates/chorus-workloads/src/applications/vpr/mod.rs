//! `vpr`: placement of a circuit on an FPGA by simulated annealing.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Versatile Place and Route: the placement of VTR 1.0, ported
//! to CUDA, one iteration of the annealing schedule; the port is not published. The algorithm is that of VPR (Betz and
//! Rose, FPL 1997): a block moves to a random site within a range limit, and the block that is there, if any, goes the
//! other way; the cost is the length of wire, estimated by the box around each net; worse placements are accepted with
//! a chance that falls with the temperature. Temperature and range limit stay the same for one iteration of the
//! schedule, which this program makes. Here one work-item proposes for one block, once or a few times.
//!
//! | file | subject |
//! |---|---|
//! | `netlist.rs` | the circuit, and the cost of a placement |
//! | `anneal.rs` | the kernel: proposing, weighing and making swaps |
//! | this file | the initial placement, and the properties of the final one |
//!
//! Sharing: work-items that weigh a swap read the places of all blocks on the nets that it touches, and every swap that
//! is made writes two places. Private caches serve these reads well, if they are coherent. Sites are read before and
//! after locking and written under locks; swaps that want the same site conflict. The netlist is read only.
//!
//! Which swaps are made is a race. In the end every block is on one site, and site and block agree. Sites have changed
//! twice as often as swaps were made, so that not one change is lost. Every proposal was accepted, rejected or in
//! conflict. Random numbers were drawn as often as they should, and locks are free. The placement costs less than at
//! the beginning, since the temperature is far below that of the initial disorder.
//!
//! Left out: pads and other kinds of blocks, the timing-driven part of the cost, and the update of temperature and
//! range limit after the iteration. VPR makes blocks^(4/3) proposals or more at each temperature; this makes fewer.

mod anneal;
mod netlist;

use chorus_kernel::{HostMemory, Kernel, LANES, Mismatch};

use crate::generator::SplitMix64;
use crate::pair_locks::PairLocks;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use anneal::{ACCEPTED, CONFLICTS, Chip, NO_BLOCK, REJECTED, Schedule, TOTALS, anneal, changes, draw, occupant};
use netlist::{Circuit, Place};

const WAVES_PER_GROUP: u32 = 4;
const REGISTERS_PER_ITEM: u32 = 32;

pub(crate) struct Vpr;

/// The circuit, the chip and the proposals.
#[derive(Clone, Copy)]
struct Size {
    /// Columns and rows of blocks in the imagined placement.
    blocks: [u32; 2],
    schedule: Schedule,
}

/// Blocks, sites and netlist take 0.4 MB at quick scale and 0.8 MB at paper scale. A wavefront takes about 1,900 line
/// accesses per round, so there are 0.5 million at quick scale and 3.9 million at paper scale. Medium scale has half
/// the rounds of paper scale. Blocks fill whole work-groups, about eight per compute unit at both scales. The largest
/// circuit has fewer blocks than the 16 bits of a site can number.
static SIZES: [SizeSpec; 3] = [
    SizeSpec::new("columns", "columns of blocks in the circuit's imagined placement", [96, 128, 128], UNPUBLISHED)
        .range(32, 256)
        .multiple_of(32),
    SizeSpec::new("rows", "rows of blocks in the circuit's imagined placement", [84, 128, 128], UNPUBLISHED)
        .range(16, 252)
        .multiple_of(4),
    SizeSpec::new("rounds", "proposals for each block", [1, 2, 4], "chosen: fewer than VPR's blocks^(1/3), for time")
        .range(1, 1000),
];
const UNPUBLISHED: &str =
    "chosen: the TC paper prints no circuit; 128 work-groups, eight for each of its 16 compute units";

impl Size {
    fn of(sizes: &Sizes) -> Size {
        Size {
            blocks: [sizes.get("columns"), sizes.get("rows")],
            schedule: Schedule { rounds: sizes.get("rounds"), range_limit: 6, temperature: 128 },
        }
    }

    /// Columns and rows of sites: a twentieth more than of blocks, so that a tenth of all sites are empty.
    fn sites(&self) -> [u32; 2] {
        self.blocks.map(|side| side * 21 / 20)
    }
}

/// The block on each site. Blocks begin at their homes. Then each site is exchanged with a random one up to twice the
/// range limit away. This makes a placement that is halfway annealed.
fn draw_placement(size: &Size, circuit: &Circuit, generator: &mut SplitMix64) -> Vec<u32> {
    let [columns, rows] = size.sites();
    let mut sites = vec![NO_BLOCK; (columns * rows) as usize];
    for block in 0..circuit.blocks() {
        sites[circuit.home(block).site(columns)] = block;
    }
    let reach = 2 * size.schedule.range_limit;
    for site in 0..columns * rows {
        let mut near = |at: u32, limit| (at + generator.below(2 * reach + 1)).saturating_sub(reach).min(limit - 1);
        let other = Place { x: near(site % columns, columns), y: near(site / columns, rows) };
        sites.swap(site as usize, other.site(columns));
    }
    sites
}

/// The properties of the final placement that hold after any order of swaps.
struct Invariants {
    circuit: Circuit,
    chip: Chip,
    proposals: u32,
    /// The cost of the initial placement.
    cost: i64,
}

impl Invariants {
    fn cost(&self, memory: &HostMemory) -> i64 {
        self.circuit.cost(|block| Place::from_word(memory.get(self.chip.places, block as usize)))
    }

    fn hold(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        self.check_permutation(memory)?;
        self.check_counts(memory)?;
        let cost = self.cost(memory);
        if cost >= self.cost {
            return Err(Mismatch(format!("the placement costs {cost}, {} before", self.cost)));
        }
        Ok(())
    }

    /// Every block is on the site that it says, and no site holds a block that is elsewhere.
    fn check_permutation(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        let (places, sites) = (memory.read(self.chip.places), memory.read(self.chip.sites));
        let [columns, rows] = self.chip.sides;
        for (block, place) in (0..).zip(places.iter().copied().map(Place::from_word)) {
            let Place { x, y } = place;
            if x >= columns || y >= rows {
                return Err(Mismatch(format!("block {block} is at ({x}, {y}), outside the chip")));
            }
            let there = occupant(sites[place.site(columns)]);
            if there != block {
                return Err(Mismatch(format!("block {block} is at ({x}, {y}), whose site holds {there}")));
            }
        }
        let occupied = sites.iter().filter(|&&site| occupant(site) != NO_BLOCK).count();
        if occupied != places.len() {
            return Err(Mismatch(format!("{occupied} sites are occupied by {} blocks", places.len())));
        }
        Ok(())
    }

    /// Every proposal has one fate, and every accepted one has changed two sites.
    fn check_counts(&self, memory: &HostMemory) -> Result<(), Mismatch> {
        let totals = memory.read(self.chip.totals);
        let counted: u32 = totals.iter().fold(0, |sum, &total| sum.wrapping_add(total));
        if counted != self.proposals {
            let [accepted, rejected, conflicts] = [ACCEPTED, REJECTED, CONFLICTS].map(|fate| totals[fate]);
            return Err(Mismatch(format!(
                "{accepted} accepted, {rejected} rejected and {conflicts} conflicting swaps are not {}",
                self.proposals
            )));
        }
        let changed: u64 = memory.read(self.chip.sites).into_iter().map(|site| u64::from(changes(site))).sum();
        if changed != 2 * u64::from(totals[ACCEPTED]) {
            return Err(Mismatch(format!("sites have changed {changed} times in {} swaps", totals[ACCEPTED])));
        }
        Ok(())
    }
}

fn lay_out(size: Size, seed: u64, memory: &mut HostMemory) -> (Chip, HostProgram) {
    let mut generator = SplitMix64::new(seed);
    let circuit = Circuit::draw(size.blocks, &mut generator);
    let sites = draw_placement(&size, &circuit, &mut generator);
    let mut places = vec![0; circuit.blocks() as usize];
    let columns = size.sites()[0];
    for (site, &block) in (0..).zip(&sites).filter(|(_, block)| **block != NO_BLOCK) {
        places[block as usize] = Place { x: site % columns, y: site / columns }.to_word();
    }
    let generators: Vec<u32> = places.iter().map(|_| 1 + generator.below(u32::MAX)).collect();
    let chip = Chip {
        sides: size.sites(),
        netlist: circuit.lay_out(memory),
        places: memory.alloc_from(&places),
        sites: memory.alloc_from(&sites),
        locks: PairLocks::new(sites.len(), memory),
        generators: memory.alloc_from(&generators),
        totals: memory.alloc(TOTALS),
    };
    let schedule = size.schedule;
    let work_groups = circuit.blocks() / (WAVES_PER_GROUP * LANES as u32);
    let kernel = Kernel::new("anneal", work_groups, WAVES_PER_GROUP, move |w| anneal(w, chip, schedule))
        .registers(REGISTERS_PER_ITEM);
    let drawn: Vec<u32> =
        generators.into_iter().map(|state| (0..3 * schedule.rounds).fold(state, |state, _| draw(state))).collect();
    let outputs = vec![Output::new("random number", chip.generators, &drawn), chip.locks.output()];
    let proposals = circuit.blocks() * schedule.rounds;
    let mut invariants = Invariants { circuit, chip, proposals, cost: 0 };
    invariants.cost = invariants.cost(memory);
    (chip, HostProgram::new(vec![kernel], outputs).invariant(move |memory| invariants.hold(memory)))
}

impl Workload for Vpr {
    fn name(&self) -> &'static str {
        "vpr"
    }

    fn title(&self) -> &'static str {
        "Versatile Place and Route"
    }

    fn summary(&self) -> &'static str {
        "Places a circuit on an FPGA by simulated annealing; swaps of blocks conflict and are made under locks."
    }

    fn suite(&self) -> Suite {
        Suite::Applications
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (VPR); \
         placement of VPR (Betz and Rose, FPL 1997)"
    }

    fn communicates(&self) -> bool {
        true
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        lay_out(Size::of(sizes), seed, memory).1
    }
}

#[cfg(test)]
mod tests {
    use chorus_kernel::{Program, flat};

    use super::*;

    const SMALL: Size = Size { blocks: [32, 32], schedule: Schedule { rounds: 3, range_limit: 4, temperature: 128 } };

    fn run_small() -> (Chip, HostProgram, HostMemory) {
        let mut memory = HostMemory::default();
        let (chip, mut program) = lay_out(SMALL, 1, &mut memory);
        flat::run(&mut program, &memory).unwrap();
        (chip, program, memory)
    }

    /// The complaint about a result in which `wrong` has changed some words of a buffer.
    fn complaint(wrong: impl Fn(&Chip, &mut HostMemory)) -> String {
        let (chip, program, mut memory) = run_small();
        wrong(&chip, &mut memory);
        program.check(&memory).not_wrong().unwrap_err().0
    }

    #[test]
    fn swaps_are_accepted_rejected_and_in_conflict() {
        let (chip, _, memory) = run_small();
        assert!(memory.read(chip.totals).into_iter().all(|total| total > 50), "{:?}", memory.read(chip.totals));
    }

    #[test]
    fn blocks_fill_whole_work_groups_and_fit_a_word_and_the_chip() {
        let [columns, rows, _] = &SIZES;
        assert_eq!(columns.multiple_of * rows.multiple_of % u64::from(WAVES_PER_GROUP * LANES as u32), 0);
        assert!(columns.max * rows.max < u64::from(NO_BLOCK));
        for columns in (columns.min..=columns.max).step_by(columns.multiple_of as usize) {
            let size = Size { blocks: [columns as u32, rows.min as u32], ..SMALL };
            let [blocks, sites] = [size.blocks, size.sites()].map(|[columns, rows]| columns * rows);
            assert!(blocks < sites && 10 * sites < 12 * blocks, "{columns}");
        }
    }

    #[test]
    fn a_block_whose_move_was_lost_is_found() {
        let message = complaint(|chip, memory| {
            let place = memory.get(chip.places, 7);
            memory.set(chip.places, 7, memory.get(chip.places, 8));
            assert_ne!(place, memory.get(chip.places, 7));
        });
        assert!(message.starts_with("block 7 is at") && message.ends_with("whose site holds 8"), "{message}");
    }

    #[test]
    fn a_block_on_two_sites_is_found() {
        let message = complaint(|chip, memory| {
            let sites = memory.read(chip.sites);
            let empty = sites.iter().position(|&site| occupant(site) == NO_BLOCK).unwrap();
            memory.set(chip.sites, empty, sites[empty] & !0xffff | 7);
        });
        assert_eq!(message, "1025 sites are occupied by 1024 blocks");
    }

    #[test]
    fn a_block_outside_the_chip_is_found() {
        let message = complaint(|chip, memory| memory.set(chip.places, 7, 40));
        assert_eq!(message, "block 7 is at (40, 0), outside the chip");
    }

    #[test]
    fn a_site_that_lost_a_change_is_found() {
        let message = complaint(|chip, memory| {
            let sites = memory.read(chip.sites);
            let site = sites.iter().position(|&site| changes(site) > 0).unwrap();
            memory.set(chip.sites, site, sites[site] - (1 << 16));
        });
        assert!(message.starts_with("sites have changed"), "{message}");
    }

    #[test]
    fn a_proposal_that_was_not_counted_is_found() {
        let message = complaint(|chip, memory| memory.set(chip.totals, REJECTED, 0));
        assert!(message.ends_with("conflicting swaps are not 3072"), "{message}");
    }
}
