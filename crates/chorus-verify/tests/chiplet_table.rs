//! Is every load fresh and no write lost, whatever kernels declare and do, if L2s are written back and emptied when the Chiplet Coherence Table says so, and does it say so only where its rules
//! demand it? (CPElide paper, sections III-B and III-C)
//!
//! The L2s of this model are as incoherent as can be: nothing but the table keeps them apart. Every state that sequences of kernels of any length reach is visited. A kernel declares for every chiplet and every
//! cell of every data structure that it reads it, may write it, or neither; programs without races declare no write of what another chiplet accesses. What it then does
//! with it is anything that the declaration allows, and lines leave L2s at any time.

use std::collections::HashSet;

use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::{Access, ChipletTable, Holdings, Limits, Mode, Plan};

/// Bytes of a cell.
const CELL: u64 = 64;

/// How many of what a model has.
#[derive(Clone, Copy)]
struct Size {
    chiplets: usize,
    structures: usize,
    cells: usize,
}

/// A copy of a cell in an L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Held {
    Nothing,
    Clean { fresh: bool },
    Dirty,
}

/// The caches, and the rules' own account of what has happened.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    table: ChipletTable,
    /// By cell of all data structures, then by chiplet.
    copies: Vec<Vec<Held>>,
    memory_is_fresh: Vec<bool>,
    rules: Vec<Vec<Account>>,
}

/// What a chiplet has done with a data structure, by data structure and chiplet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Account {
    /// Cells accessed since the L2 was emptied.
    touched: u8,
    /// Whether a write was declared since the L2 was written back.
    wrote: bool,
    /// Whether another chiplet has declared a write of a touched cell since.
    outdated: bool,
}

/// What each chiplet declares of each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declared {
    Nothing,
    Read,
    Write,
}

type Kernel = Vec<Vec<Declared>>;

impl Size {
    fn start(self) -> State {
        let cells = self.structures * self.cells;
        State {
            table: ChipletTable::new(self.chiplets, Limits::PAPER, Holdings::Copies),
            copies: vec![vec![Held::Nothing; self.chiplets]; cells],
            memory_is_fresh: vec![true; cells],
            rules: vec![vec![Account::default(); self.chiplets]; self.structures],
        }
    }

    /// Every kernel without races: by cell of all data structures, then by chiplet.
    fn kernels(self) -> Vec<Kernel> {
        let of_cell: Vec<Vec<Declared>> = (0..3_usize.pow(self.chiplets as u32))
            .map(|number| {
                let declared = |chiplet: u32| match number / 3_usize.pow(chiplet) % 3 {
                    0 => Declared::Nothing,
                    1 => Declared::Read,
                    _ => Declared::Write,
                };
                (0..self.chiplets as u32).map(declared).collect::<Vec<_>>()
            })
            .filter(|declared| {
                let accesses = declared.iter().filter(|declared| **declared != Declared::Nothing).count();
                accesses <= 1 || !declared.contains(&Declared::Write)
            })
            .collect();
        let mut kernels: Vec<Kernel> = vec![Vec::new()];
        for _ in 0..self.structures * self.cells {
            let longer = |kernel: &Kernel| {
                let kernel = kernel.clone();
                of_cell.iter().map(move |cell| [kernel.clone(), vec![cell.clone()]].concat()).collect::<Vec<_>>()
            };
            kernels = kernels.iter().flat_map(longer).collect();
        }
        kernels
    }

    /// What the command processor is told. Data structures lie apart, so that none is taken for part of another.
    fn accesses(self, kernel: &Kernel) -> Vec<Access> {
        let mut accesses = Vec::new();
        for structure in 0..self.structures {
            let start = structure as u64 * 1024;
            for (mode, wanted) in [(Mode::Read, Declared::Read), (Mode::ReadWrite, Declared::Write)] {
                let of_chiplet = |chiplet: usize| -> Ranges {
                    let cells = (0..self.cells).filter(|cell| kernel[structure * self.cells + cell][chiplet] == wanted);
                    cells.map(|cell| start + cell as u64 * CELL..start + (cell as u64 + 1) * CELL).collect()
                };
                let by_chiplet: Vec<Ranges> = (0..self.chiplets).map(of_chiplet).collect();
                if by_chiplet.iter().any(|ranges| !ranges.is_empty()) {
                    accesses.push(Access { structure: start..start + self.cells as u64 * CELL, mode, by_chiplet });
                }
            }
        }
        accesses
    }
}

impl State {
    /// Does what the table plans before a kernel.
    fn prepare(&mut self, plan: Plan) {
        for (copies, fresh) in self.copies.iter_mut().zip(&mut self.memory_is_fresh) {
            for (chiplet, copy) in copies.iter_mut().enumerate() {
                let [acquired, released] = [plan.acquires, plan.releases].map(|set| set >> chiplet & 1 == 1);
                if *copy == Held::Dirty && released {
                    *copy = Held::Clean { fresh: true };
                    *fresh = true;
                }
                if acquired {
                    assert_ne!(*copy, Held::Dirty, "an emptied L2 loses a write");
                    *copy = Held::Nothing;
                }
            }
        }
    }

    fn read(&mut self, cell: usize, chiplet: usize) {
        match self.copies[cell][chiplet] {
            Held::Clean { fresh } => assert!(fresh, "cell {cell} is out of date in chiplet {chiplet}"),
            Held::Dirty => {}
            Held::Nothing => {
                assert!(self.memory_is_fresh[cell], "cell {cell} is out of date in memory for chiplet {chiplet}");
                self.copies[cell][chiplet] = Held::Clean { fresh: true };
            }
        }
    }

    fn write(&mut self, cell: usize, chiplet: usize) {
        for (other, copy) in self.copies[cell].iter_mut().enumerate().filter(|(other, _)| *other != chiplet) {
            assert_ne!(*copy, Held::Dirty, "chiplets {chiplet} and {other} both have cell {cell} dirty");
            if let Held::Clean { fresh } = copy {
                *fresh = false;
            }
        }
        self.copies[cell][chiplet] = Held::Dirty;
        self.memory_is_fresh[cell] = false;
    }

    /// A line leaves an L2.
    fn evict(&mut self, cell: usize, chiplet: usize) {
        let copy = std::mem::replace(&mut self.copies[cell][chiplet], Held::Nothing);
        self.memory_is_fresh[cell] |= copy == Held::Dirty;
    }

    /// What the rules of section III-C demand before `kernel`, from what chiplets have done since their L2s were last emptied or written back.
    fn demanded(&mut self, size: Size, kernel: &Kernel) -> Plan {
        let mut plan = Plan::default();
        let cells_of = |structure: usize, chiplet: usize, wanted: &[Declared]| {
            let cells = (0..size.cells).filter(|cell| wanted.contains(&kernel[structure * size.cells + cell][chiplet]));
            cells.fold(0_u8, |set, cell| set | 1 << cell)
        };
        let any = [Declared::Read, Declared::Write];
        for (structure, accounts) in self.rules.iter_mut().enumerate() {
            for (chiplet, account) in accounts.iter_mut().enumerate() {
                let others = |wanted: &[Declared]| {
                    let others = (0..size.chiplets).filter(|other| *other != chiplet);
                    others.fold(0, |set, other| set | cells_of(structure, other, wanted))
                };
                if account.wrote && account.touched & others(&any) != 0 {
                    plan.releases |= 1 << chiplet;
                }
                account.outdated |= account.touched & others(&[Declared::Write]) != 0;
                if account.outdated && cells_of(structure, chiplet, &any) != 0 {
                    plan.acquires |= 1 << chiplet;
                }
            }
        }
        for chiplet in 0..size.chiplets {
            let is_written_back = plan.releases >> chiplet & 1 == 1;
            let has_written = self.rules.iter().any(|accounts| accounts[chiplet].wrote);
            if plan.acquires >> chiplet & 1 == 1 && has_written && !is_written_back {
                plan.releases |= 1 << chiplet;
            }
        }
        self.keep_account(size, kernel, plan, cells_of);
        plan
    }

    fn keep_account(
        &mut self,
        size: Size,
        kernel: &Kernel,
        plan: Plan,
        cells_of: impl Fn(usize, usize, &[Declared]) -> u8,
    ) {
        assert_eq!(kernel.len(), size.structures * size.cells);
        for (structure, accounts) in self.rules.iter_mut().enumerate() {
            for (chiplet, account) in accounts.iter_mut().enumerate() {
                account.wrote &= plan.releases >> chiplet & 1 == 0;
                if plan.acquires >> chiplet & 1 == 1 {
                    *account = Account::default();
                }
                account.touched |= cells_of(structure, chiplet, &[Declared::Read, Declared::Write]);
                account.wrote |= cells_of(structure, chiplet, &[Declared::Write]) != 0;
            }
        }
    }

    /// What may be after a kernel: a chiplet does nothing, reads all that it declared, or also writes all that it may.
    fn after(&self, size: Size, kernel: &Kernel) -> Vec<State> {
        let mut prepared = self.clone();
        let demanded = prepared.demanded(size, kernel);
        let plan = prepared.table.launch(&size.accesses(kernel));
        assert_eq!(plan, demanded, "{kernel:?} from {self:?}");
        prepared.prepare(plan);
        let mut states = vec![prepared];
        for chiplet in 0..size.chiplets {
            if kernel.iter().all(|cell| cell[chiplet] == Declared::Nothing) {
                continue;
            }
            let does = |state: &State, writes: bool| {
                let mut state = state.clone();
                for (cell, declared) in kernel.iter().enumerate() {
                    match declared[chiplet] {
                        Declared::Nothing => {}
                        Declared::Write if writes => state.write(cell, chiplet),
                        Declared::Read | Declared::Write => state.read(cell, chiplet),
                    }
                }
                state
            };
            let done: Vec<State> = states.iter().flat_map(|state| [does(state, false), does(state, true)]).collect();
            states.extend(done);
        }
        states
    }

    /// What may be after a line has left an L2.
    fn after_evictions(&self, size: Size) -> Vec<State> {
        let places = (0..self.copies.len()).flat_map(|cell| (0..size.chiplets).map(move |chiplet| (cell, chiplet)));
        let held = places.filter(|&(cell, chiplet)| self.copies[cell][chiplet] != Held::Nothing);
        held.map(|(cell, chiplet)| {
            let mut state = self.clone();
            state.evict(cell, chiplet);
            state
        })
        .collect()
    }
}

/// Visits every state and returns how many there are.
fn explore(size: Size) -> usize {
    let kernels = size.kernels();
    let mut seen = HashSet::from([size.start()]);
    let mut waiting = vec![size.start()];
    while let Some(state) = waiting.pop() {
        let after_kernels = kernels.iter().flat_map(|kernel| state.after(size, kernel));
        for next in after_kernels.chain(state.after_evictions(size)).collect::<Vec<_>>() {
            if seen.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn two_chiplets_that_share_one_data_structure_never_read_what_is_out_of_date() {
    let states = explore(Size { chiplets: 2, structures: 1, cells: 2 });
    assert!(states > 100, "{states} states");
}

#[test]
fn three_chiplets_that_share_one_data_structure_never_read_what_is_out_of_date() {
    let states = explore(Size { chiplets: 3, structures: 1, cells: 2 });
    assert!(states > 1000, "{states} states");
}

#[test]
fn operations_for_one_data_structure_are_right_for_another() {
    let states = explore(Size { chiplets: 2, structures: 2, cells: 1 });
    assert!(states > 100, "{states} states");
}
