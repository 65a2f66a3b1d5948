//! Is every load fresh and no write lost, whatever kernels declare and do, if L2s are written back and emptied when the
//! Chiplet Coherence Table says so, and does it say so only where its rules demand it? (CPElide paper, sections III-B
//! and III-C)
//!
//! The L2s of this model are as incoherent as can be: nothing but the table keeps them apart. Every state that
//! sequences of kernels of any length reach is visited. A kernel declares for every chiplet and every cell of every
//! data structure that it reads it, may write it, or neither; programs without races declare no write of what another
//! chiplet accesses. What it then does with it is anything that the declaration allows, and lines leave L2s at any
//! time.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::state::Operation;
use chorus_protocol::chiplet_table::{Access, ChipletTable, Holdings, Limits, Mode, Plan};

use crate::race_free::{Declared, Kernel};

/// Bytes of a cell.
const CELL: u64 = 64;

/// The most chiplets, data structures, and cells of all data structures that a model has.
const CHIPLETS_MAX: usize = 3;
const STRUCTURES_MAX: usize = 2;
const CELLS_MAX: usize = 2;

/// Whether L2s are written back and emptied as a whole, or where a data structure needs it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hardware {
    WholeL2s,
    Ranges,
}

/// How many of what a model has.
#[derive(Clone, Copy)]
struct Size {
    chiplets: usize,
    structures: usize,
    cells: usize,
    hardware: Hardware,
}

/// A copy of a cell in an L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum CopyState {
    #[default]
    Nothing,
    Clean {
        fresh: bool,
    },
    Dirty,
}

/// The caches, and the rules' own account of what has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Number of the table among all that were seen.
    table: u32,
    /// By cell of all data structures, then by chiplet.
    copies: [[CopyState; CHIPLETS_MAX]; CELLS_MAX],
    memory_is_fresh: [bool; CELLS_MAX],
    rules: [[Account; CHIPLETS_MAX]; STRUCTURES_MAX],
}

/// The accesses of a chiplet to a data structure, by data structure and chiplet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Account {
    /// Cells accessed since the L2 was emptied.
    touched: u8,
    /// Whether a write was declared since the L2 was written back.
    wrote: bool,
    /// Whether another chiplet has declared a write of a touched cell since.
    outdated: bool,
}

/// The plan for each cell of all data structures before a kernel.
type Plans = [Plan; CELLS_MAX];

/// A model with every table that was seen, and what each planned before each kernel.
struct Model {
    size: Size,
    kernels: Vec<Kernel>,
    tables: Vec<ChipletTable>,
    numbers: HashMap<ChipletTable, u32>,
    launches: HashMap<(u32, usize), (u32, Plans)>,
}

impl Size {
    const fn of(chiplets: usize, structures: usize, cells: usize) -> Size {
        Size { chiplets, structures, cells, hardware: Hardware::WholeL2s }
    }

    fn by_ranges(self) -> Size {
        Size { hardware: Hardware::Ranges, ..self }
    }

    fn start(self) -> State {
        State {
            table: 0,
            copies: [[CopyState::Nothing; CHIPLETS_MAX]; CELLS_MAX],
            memory_is_fresh: [true; CELLS_MAX],
            rules: [[Account::default(); CHIPLETS_MAX]; STRUCTURES_MAX],
        }
    }

    /// The address of a cell. Data structures lie apart, so that none is taken for part of another.
    fn address(self, cell: usize) -> u64 {
        (cell / self.cells) as u64 * 1024 + (cell % self.cells) as u64 * CELL
    }

    /// Every kernel without races.
    fn kernels(self) -> Vec<Kernel> {
        crate::race_free::kernels(self.chiplets as u32, self.structures * self.cells)
    }

    /// The accesses that the command processor is told of.
    fn accesses(self, kernel: &Kernel) -> Vec<Access> {
        crate::race_free::accesses(kernel, self.cells, CELL, |cell| self.address(cell))
    }

    /// The plan of a table before a kernel, for each cell.
    fn plans(self, table: &mut ChipletTable, kernel: &Kernel) -> Plans {
        let mut plans = Plans::default();
        match self.hardware {
            Hardware::WholeL2s => plans.fill(table.launch(&self.accesses(kernel))),
            Hardware::Ranges => {
                for operation in table.launch_by_ranges(&self.accesses(kernel)) {
                    let contains = |cell: usize| {
                        let cell = Ranges::from(self.address(cell)..self.address(cell) + CELL);
                        operation.ranges.overlaps(&cell)
                    };
                    for (_, plan) in plans.iter_mut().enumerate().filter(|(cell, _)| contains(*cell)) {
                        match operation.operation {
                            Operation::Release => plan.releases |= 1 << operation.chiplet,
                            Operation::Acquire => plan.acquires |= 1 << operation.chiplet,
                        }
                    }
                }
            }
        }
        plans
    }
}

impl State {
    /// Does what the table plans before a kernel.
    fn prepare(&mut self, plans: &Plans) {
        for ((copies, fresh), plan) in self.copies.iter_mut().zip(&mut self.memory_is_fresh).zip(plans) {
            for (chiplet, copy) in copies.iter_mut().enumerate() {
                let [acquired, released] = [plan.acquires, plan.releases].map(|set| set >> chiplet & 1 == 1);
                if *copy == CopyState::Dirty && released {
                    *copy = CopyState::Clean { fresh: true };
                    *fresh = true;
                }
                if acquired {
                    assert_ne!(*copy, CopyState::Dirty, "an emptied L2 loses a write");
                    *copy = CopyState::Nothing;
                }
            }
        }
    }

    fn read(&mut self, cell: usize, chiplet: usize) {
        match self.copies[cell][chiplet] {
            CopyState::Clean { fresh } => assert!(fresh, "cell {cell} is out of date in chiplet {chiplet}"),
            CopyState::Dirty => {}
            CopyState::Nothing => {
                assert!(self.memory_is_fresh[cell], "cell {cell} is out of date in memory for chiplet {chiplet}");
                self.copies[cell][chiplet] = CopyState::Clean { fresh: true };
            }
        }
    }

    fn write(&mut self, cell: usize, chiplet: usize) {
        for (other, copy) in self.copies[cell].iter_mut().enumerate().filter(|(other, _)| *other != chiplet) {
            assert_ne!(*copy, CopyState::Dirty, "chiplets {chiplet} and {other} both have cell {cell} dirty");
            if let CopyState::Clean { fresh } = copy {
                *fresh = false;
            }
        }
        self.copies[cell][chiplet] = CopyState::Dirty;
        self.memory_is_fresh[cell] = false;
    }

    /// A line leaves an L2.
    fn evict(&mut self, cell: usize, chiplet: usize) {
        let copy = std::mem::replace(&mut self.copies[cell][chiplet], CopyState::Nothing);
        self.memory_is_fresh[cell] |= copy == CopyState::Dirty;
    }

    /// The operations that the rules of section III-C demand before `kernel`, by data structure. They follow from the
    /// accesses of chiplets since their L2s were last emptied or written back.
    fn demanded(&mut self, size: Size, kernel: &Kernel) -> [Plan; STRUCTURES_MAX] {
        let mut plans = [Plan::default(); STRUCTURES_MAX];
        let cells_of = |structure: usize, chiplet: usize, wanted: &[Declared]| {
            let cells = (0..size.cells).filter(|cell| wanted.contains(&kernel[structure * size.cells + cell][chiplet]));
            cells.fold(0_u8, |set, cell| set | 1 << cell)
        };
        let any = [Declared::Read, Declared::Write];
        for (structure, accounts) in self.rules[..size.structures].iter_mut().enumerate() {
            for (chiplet, account) in accounts[..size.chiplets].iter_mut().enumerate() {
                let others = |wanted: &[Declared]| {
                    let others = (0..size.chiplets).filter(|other| *other != chiplet);
                    others.fold(0, |set, other| set | cells_of(structure, other, wanted))
                };
                if account.wrote && account.touched & others(&any) != 0 {
                    plans[structure].releases |= 1 << chiplet;
                }
                account.outdated |= account.touched & others(&[Declared::Write]) != 0;
                if account.outdated && cells_of(structure, chiplet, &any) != 0 {
                    plans[structure].acquires |= 1 << chiplet;
                }
            }
        }
        if size.hardware == Hardware::WholeL2s {
            plans = [self.widened(plans); STRUCTURES_MAX];
        }
        for (structure, accounts) in self.rules[..size.structures].iter_mut().enumerate() {
            for (chiplet, account) in accounts[..size.chiplets].iter_mut().enumerate() {
                account.wrote &= plans[structure].releases >> chiplet & 1 == 0;
                if plans[structure].acquires >> chiplet & 1 == 1 {
                    *account = Account::default();
                }
                account.touched |= cells_of(structure, chiplet, &any);
                account.wrote |= cells_of(structure, chiplet, &[Declared::Write]) != 0;
            }
        }
        plans
    }

    /// The plan for whole L2s: an operation for one data structure happens to all, and L2s that are emptied are written
    /// back.
    fn widened(&self, plans: [Plan; STRUCTURES_MAX]) -> Plan {
        let mut all = Plan::default();
        for plan in plans {
            all.acquires |= plan.acquires;
            all.releases |= plan.releases;
        }
        for chiplet in 0..CHIPLETS_MAX {
            if self.rules.iter().any(|accounts| accounts[chiplet].wrote) {
                all.releases |= all.acquires & 1 << chiplet;
            }
        }
        all
    }

    /// The states that are possible after a line has left an L2.
    fn after_evictions(&self, size: Size) -> Vec<State> {
        let cells = 0..size.structures * size.cells;
        let places = cells.flat_map(|cell| (0..size.chiplets).map(move |chiplet| (cell, chiplet)));
        let held = places.filter(|&(cell, chiplet)| self.copies[cell][chiplet] != CopyState::Nothing);
        held.map(|(cell, chiplet)| {
            let mut state = *self;
            state.evict(cell, chiplet);
            state
        })
        .collect()
    }
}

impl Model {
    fn new(size: Size) -> Model {
        let table = ChipletTable::new(size.chiplets, Limits::PAPER, Holdings::Copies);
        let numbers = HashMap::from([(table.clone(), 0)]);
        Model { size, kernels: size.kernels(), tables: vec![table], numbers, launches: HashMap::new() }
    }

    /// The plan of a table before a kernel, and the table after it.
    fn launch(&mut self, table: u32, kernel: usize) -> (u32, Plans) {
        if let Some(&known) = self.launches.get(&(table, kernel)) {
            return known;
        }
        let mut next = self.tables[table as usize].clone();
        let plans = self.size.plans(&mut next, &self.kernels[kernel]);
        let number = *self.numbers.entry(next.clone()).or_insert(self.tables.len() as u32);
        if number as usize == self.tables.len() {
            self.tables.push(next);
        }
        self.launches.insert((table, kernel), (number, plans));
        (number, plans)
    }

    /// The states that are possible after a kernel. A chiplet does nothing, reads all that it declared, or also writes
    /// all that it may.
    fn after(&mut self, state: &State, index: usize) -> Vec<State> {
        let mut prepared = *state;
        let (table, plans) = self.launch(state.table, index);
        let (size, kernel) = (self.size, &self.kernels[index]);
        let demanded = prepared.demanded(size, kernel);
        for (cell, plan) in plans[..size.structures * size.cells].iter().enumerate() {
            // With ranges, only the cells that a chiplet has touched are concerned.
            let touched = |chiplet: usize| {
                let touched = state.rules[cell / size.cells][chiplet].touched >> (cell % size.cells) & 1 == 1;
                size.hardware == Hardware::WholeL2s || touched
            };
            let mask =
                (0..size.chiplets).filter(|&chiplet| touched(chiplet)).fold(0, |set, chiplet| set | 1 << chiplet);
            let Plan { acquires, releases } = demanded[cell / size.cells];
            let expected = Plan { acquires: acquires & mask, releases: releases & mask };
            assert_eq!(*plan, expected, "{kernel:?} from {state:?}");
        }
        prepared.table = table;
        prepared.prepare(&plans);
        let mut states = vec![prepared];
        for chiplet in 0..size.chiplets {
            if kernel.iter().all(|cell| cell[chiplet] == Declared::Nothing) {
                continue;
            }
            let does = |state: &State, writes: bool| {
                let mut state = *state;
                for (cell, declared) in kernel.iter().enumerate() {
                    match declared[chiplet] {
                        Declared::Nothing => {}
                        Declared::Write if writes => state.write(cell, chiplet),
                        Declared::Read | Declared::Write => state.read(cell, chiplet),
                    }
                }
                state
            };
            let may_write = kernel.iter().any(|cell| cell[chiplet] == Declared::Write);
            let reads: Vec<State> = states.iter().map(|state| does(state, false)).collect();
            let writes: Vec<State> = states.iter().filter(|_| may_write).map(|state| does(state, true)).collect();
            states.extend(reads.into_iter().chain(writes));
        }
        states
    }
}

/// Visits every state and returns how many there are.
fn explore(size: Size) -> usize {
    let mut model = Model::new(size);
    let mut seen = HashSet::from([size.start()]);
    let mut waiting = vec![size.start()];
    while let Some(state) = waiting.pop() {
        let after_kernels: Vec<State> =
            (0..model.kernels.len()).flat_map(|kernel| model.after(&state, kernel)).collect();
        for next in after_kernels.into_iter().chain(state.after_evictions(size)) {
            if seen.insert(next) {
                waiting.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn two_chiplets_that_share_one_data_structure_never_read_what_is_out_of_date() {
    let states = explore(Size::of(2, 1, 2));
    assert!(states > 100, "{states} states");
}

#[test]
fn three_chiplets_that_share_one_data_structure_never_read_what_is_out_of_date() {
    let states = explore(Size::of(3, 1, 2));
    assert!(states > 1000, "{states} states");
}

#[test]
fn operations_for_one_data_structure_are_right_for_another() {
    let states = explore(Size::of(2, 2, 1));
    assert!(states > 100, "{states} states");
}

#[test]
fn operations_on_ranges_are_enough_and_concern_their_data_structure_alone() {
    for size in [Size::of(2, 1, 2), Size::of(2, 2, 1), Size::of(3, 1, 1)] {
        let states = explore(size.by_ranges());
        assert!(states > 100, "{states} states");
    }
}

#[test]
fn a_copy_that_lacks_what_another_chiplet_wrote_beside_it_is_given_up_before_it_is_read() {
    let access = |mode, by_chiplet: [Range<u64>; 2]| Access {
        structure: 0..8,
        mode,
        by_chiplet: by_chiplet.map(Ranges::from).to_vec(),
    };
    for (holdings, acquires) in [(Holdings::Copies, 0b01), (Holdings::OwnMemory, 0)] {
        let mut table = ChipletTable::new(2, Limits::PAPER, holdings);
        // Both write some words of line 3.
        table.launch(&[access(Mode::ReadWrite, [0..4, 3..8])]);
        let plan = table.launch(&[access(Mode::Read, [0..4, 0..0])]);
        assert_eq!((plan.acquires, plan.releases & 0b10), (acquires, 0b10), "{holdings:?}");
    }
}
