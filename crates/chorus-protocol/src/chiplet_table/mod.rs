//! The Chiplet Coherence Table: the command processor's knowledge of what each chiplet's L2 may hold (CPElide paper,
//! section III).
//!
//! A row is a data structure with its state in each chiplet ([`State`], Figure 6) and the addresses that the chiplet
//! has accessed. Before a kernel begins, the table says which L2s have to be written back (released) and which have to
//! be emptied (acquired). It then notes what the kernel will do. It knows only what kernels declare. L2s are written
//! back and emptied as a whole ([`ChipletTable::launch`]). With hardware that can do so, only the addresses of a data
//! structure are ([`ChipletTable::launch_by_ranges`], section VI).
//!
//! | file | subject |
//! |---|---|
//! | `state.rs` | the states of a row, and what changes them |
//! | `ranges.rs` | sets of addresses |
//! | `coarsen.rs` | kernels with more data structures than they may have rows |

pub mod coarsen;
pub mod ranges;
pub mod state;

use std::ops::Range;

use coarsen::coarsen;
use ranges::Ranges;
use state::{Event, Operation, State};

use crate::save::{self, Restore, Save};

/// How a kernel accesses a data structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Save)]
pub enum Mode {
    /// The kernel only reads it.
    Read,
    /// The kernel may write it.
    ReadWrite,
}

/// A kernel's declaration of its accesses to one data structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
pub struct Access {
    /// The addresses of the data structure.
    pub structure: Range<u64>,
    /// The way in which it is accessed.
    pub mode: Mode,
    /// The addresses that each chiplet accesses, empty where the chiplet has no part in the kernel. A chiplet that gets
    /// no work-group of the launch has no part in it, even if the kernel declares the whole data structure for every
    /// chiplet that takes part. Whoever makes the declaration has to leave such a chiplet out.
    pub by_chiplet: Vec<Ranges>,
}

/// The capacity of the table (section III-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// The number of rows of the table.
    pub rows: usize,
    /// The number of data structures of one kernel that get a row each.
    pub per_kernel: usize,
}

impl Limits {
    /// The paper's table: eight data structures of each of eight kernels.
    pub const PAPER: Limits = Limits { rows: 64, per_kernel: 8 };
}

/// The operations that have to be done before a kernel may begin, as a bit for each chiplet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Plan {
    /// The chiplets whose L2s are emptied.
    pub acquires: u64,
    /// The chiplets whose L2s are written back. An L2 that is emptied with dirty lines is written back, too.
    pub releases: u64,
}

impl Plan {
    fn include(&mut self, operations: &[RangeOperation]) {
        for &RangeOperation { chiplet, operation, .. } in operations {
            match operation {
                Operation::Acquire => self.acquires |= 1 << chiplet,
                Operation::Release => self.releases |= 1 << chiplet,
            }
        }
    }
}

/// An operation that has to be done in one chiplet, on everything that it may have of one data structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
pub struct RangeOperation {
    /// The chiplet that does it.
    pub chiplet: usize,
    /// The operation of its L2. An L2 that empties ranges with dirty lines writes them back first.
    pub operation: Operation,
    /// The addresses concerned: everything that the chiplet may have of the data structure.
    pub ranges: Ranges,
}

/// The table's knowledge of a data structure in one chiplet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Save)]
struct ChipletEntry {
    state: State,
    /// The addresses that the chiplet has accessed since it last held nothing.
    ranges: Ranges,
    /// Whether a copy may lack words that another chiplet has written in the same kernel: other words of a line, or the
    /// same words in a race. Such a copy has to be given up before it is used again, even if it is dirty.
    is_mixed: bool,
}

impl ChipletEntry {
    /// The operation that this chiplet has to carry out.
    fn operation(&self, chiplet: usize, operation: Operation) -> RangeOperation {
        RangeOperation { chiplet, operation, ranges: self.ranges.clone() }
    }

    /// The operations after which nothing is left here.
    fn give_up(&self, chiplet: usize) -> Vec<RangeOperation> {
        let operations: &[Operation] = match self.state {
            State::NotPresent => &[],
            State::Valid | State::Stale => &[Operation::Acquire],
            State::Dirty => &[Operation::Release, Operation::Acquire],
        };
        operations.iter().map(|&operation| self.operation(chiplet, operation)).collect()
    }

    fn see(&mut self, event: Event) -> Option<Operation> {
        let (next, operation) = self.state.after(event);
        self.state = next;
        if next == State::NotPresent {
            *self = ChipletEntry::default();
        }
        operation
    }
}

/// A data structure with its state in every chiplet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Save)]
struct Row {
    structure: Range<u64>,
    chiplets: Vec<ChipletEntry>,
    /// Whether a kernel has accessed it since what L2s cannot hold was forgotten.
    has_grown: bool,
}

/// The table of all data structures that an L2 may hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Restore)]
pub struct ChipletTable {
    #[save(built)]
    chiplets: usize,
    #[save(built)]
    limits: Limits,
    /// The kind of lines that the L2s hold. It decides who sees what others write.
    #[save(built)]
    holdings: Holdings,
    rows: Vec<Row>,
}

/// The lines that the protocol lets an L2 hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holdings {
    /// Copies of anything that the chiplet accessed. Writes of other chiplets may make them stale.
    Copies,
    /// Lines of the chiplet's own memory alone. Other chiplets read and write them in this L2 (CPElide paper, section
    /// IV-C), so they are never stale.
    OwnMemory,
}

impl ChipletTable {
    /// An empty table for `chiplets` chiplets, at most 64, whose L2s hold nothing.
    pub fn new(chiplets: usize, limits: Limits, holdings: Holdings) -> ChipletTable {
        assert!(chiplets <= 64, "a table of at most 64 chiplets");
        ChipletTable { chiplets, limits, holdings, rows: Vec::new() }
    }

    /// The number of rows in use.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The state of the data structure at `address` in each chiplet, if it has a row.
    pub fn states(&self, address: u64) -> Option<Vec<State>> {
        let row = self.rows.iter().find(|row| row.structure.contains(&address))?;
        Some(row.chiplets.iter().map(|held| held.state).collect())
    }

    /// Notes that a kernel is about to begin that declares everything that it accesses. Returns the operations on whole
    /// L2s that have to be done before.
    pub fn launch(&mut self, accesses: &[Access]) -> Plan {
        let accesses = coarsen(accesses, self.limits.per_kernel);
        let mut plan = Plan::default();
        plan.include(&self.give_rows(&accesses));
        self.flush(plan.releases);
        self.invalidate(plan.acquires);
        plan.include(&self.see_others(&accesses));
        self.flush(plan.releases);
        for row in &self.rows {
            plan.acquires |= row.stale(&accesses).fold(0, |set, chiplet| set | 1 << chiplet);
        }
        plan.releases |= plan.acquires & self.dirty();
        self.invalidate(plan.acquires);
        self.see_own(&accesses);
        plan
    }

    /// Does what [`ChipletTable::launch`] does, for L2s that can write back and empty ranges of addresses. Other data
    /// structures keep their states and their lines.
    pub fn launch_by_ranges(&mut self, accesses: &[Access]) -> Vec<RangeOperation> {
        let accesses = coarsen(accesses, self.limits.per_kernel);
        let mut operations = self.give_rows(&accesses);
        operations.extend(self.see_others(&accesses));
        for row in &mut self.rows {
            let stale: Vec<usize> = row.stale(&accesses).collect();
            for chiplet in stale {
                operations.push(row.chiplets[chiplet].operation(chiplet, Operation::Acquire));
                row.chiplets[chiplet].see(Event::Invalidate);
            }
        }
        self.see_own(&accesses);
        operations
    }

    /// Notes that a kernel is about to begin that declares nothing: it may read and write anything anywhere. Whole L2s
    /// have to be emptied and written back, whatever the hardware can do.
    pub fn launch_undeclared(&mut self) -> Plan {
        let all = if self.chiplets == 64 { u64::MAX } else { (1 << self.chiplets) - 1 };
        let is_mixed = self.holdings == Holdings::Copies;
        let everything = ChipletEntry { state: State::Dirty, ranges: Ranges::from(0..u64::MAX), is_mixed };
        self.rows = vec![Row { structure: 0..u64::MAX, chiplets: vec![everything; self.chiplets], has_grown: false }];
        Plan { acquires: all, releases: all }
    }

    /// Forgets addresses that L2s cannot hold because they hold nothing but their own memory. `may_hold` says which
    /// addresses of a range may be in the L2 of a chiplet. Only rows that were accessed since the last call are looked
    /// at.
    pub fn forget(&mut self, may_hold: impl Fn(usize, &Range<u64>) -> Vec<Range<u64>>) {
        if self.holdings == Holdings::Copies {
            return;
        }
        for row in self.rows.iter_mut().filter(|row| row.has_grown) {
            row.has_grown = false;
            for (chiplet, held) in row.chiplets.iter_mut().enumerate() {
                held.ranges = held.ranges.iter().flat_map(|range| may_hold(chiplet, range)).collect();
                if held.ranges.is_empty() {
                    held.state = State::NotPresent;
                }
            }
        }
        self.drop_rows();
    }

    /// Notes that a kernel which was launched before continues, after L2s were written back or emptied for another
    /// kernel. The L2s may again hold what it declared.
    pub fn go_on(&mut self, accesses: &[Access]) {
        let accesses = coarsen(accesses, self.limits.per_kernel);
        for access in &accesses {
            if !self.rows.iter().any(|row| meet(&row.structure, &access.structure)) {
                let chiplets = vec![ChipletEntry::default(); self.chiplets];
                self.rows.push(Row { structure: access.structure.clone(), chiplets, has_grown: false });
            }
        }
        self.see_own(&accesses);
    }

    /// The chiplets that may hold dirty lines, as a bit for each.
    pub fn dirty(&self) -> u64 {
        let dirty = |row: &Row, chiplet: usize| row.chiplets[chiplet].state == State::Dirty;
        (0..self.chiplets)
            .filter(|&chiplet| self.rows.iter().any(|row| dirty(row, chiplet)))
            .fold(0, |set, c| set | 1 << c)
    }

    /// Gives every accessed data structure exactly one row. Rows that the same access overlaps are joined into one. A
    /// full table starts anew.
    fn give_rows(&mut self, accesses: &[Access]) -> Vec<RangeOperation> {
        let mut operations = Vec::new();
        let fresh =
            accesses.iter().filter(|access| !self.rows.iter().any(|row| meet(&row.structure, &access.structure)));
        if self.rows.len() + fresh.count() > self.limits.rows {
            operations = self.forget_all();
        }
        for access in accesses {
            let (mut met, others): (Vec<Row>, Vec<Row>) =
                std::mem::take(&mut self.rows).into_iter().partition(|row| meet(&row.structure, &access.structure));
            self.rows = others;
            let chiplets = vec![ChipletEntry::default(); self.chiplets];
            met.push(Row { structure: access.structure.clone(), chiplets, has_grown: false });
            let row = met.into_iter().reduce(|row, other| row.join(other, &mut operations));
            self.rows.extend(row);
        }
        operations
    }

    /// Forgets all rows. Returns the operations that empty the L2s of everything that they may hold.
    fn forget_all(&mut self) -> Vec<RangeOperation> {
        let rows = std::mem::take(&mut self.rows);
        rows.iter()
            .flat_map(|row| row.chiplets.iter().enumerate())
            .flat_map(|(chiplet, held)| held.give_up(chiplet))
            .collect()
    }

    /// Applies what other chiplets will do with the data that each chiplet may have.
    fn see_others(&mut self, accesses: &[Access]) -> Vec<RangeOperation> {
        let holdings = self.holdings;
        self.rows.iter_mut().flat_map(|row| row.see_others(accesses, holdings)).collect()
    }

    /// Applies what each chiplet will do itself. Afterwards rows of which no chiplet holds anything are dropped.
    fn see_own(&mut self, accesses: &[Access]) {
        self.rows.iter_mut().for_each(|row| row.see_own(accesses));
        if self.holdings == Holdings::Copies {
            self.rows.iter_mut().for_each(|row| row.see_mixed(accesses));
        }
        self.drop_rows();
    }

    /// Drops rows of which no chiplet holds anything.
    fn drop_rows(&mut self) {
        self.rows.retain(|row| row.chiplets.iter().any(|held| held.state != State::NotPresent));
    }

    fn flush(&mut self, chiplets: u64) {
        self.everywhere(chiplets, Event::Flush);
    }

    fn invalidate(&mut self, chiplets: u64) {
        self.everywhere(chiplets, Event::Invalidate);
    }

    /// Applies an event that concerns whole L2s to every row.
    fn everywhere(&mut self, chiplets: u64, event: Event) {
        for row in &mut self.rows {
            let held = row.chiplets.iter_mut().enumerate().filter(|(chiplet, _)| chiplets >> chiplet & 1 == 1);
            held.for_each(|(_, held)| {
                held.see(event);
            });
        }
    }
}

impl Row {
    fn concerned<'a>(&self, accesses: &'a [Access]) -> impl Iterator<Item = &'a Access> + use<'a> {
        let structure = self.structure.clone();
        accesses.iter().filter(move |access| meet(&access.structure, &structure))
    }

    /// Applies what other chiplets will do with the data that each chiplet may have.
    fn see_others(&mut self, accesses: &[Access], holdings: Holdings) -> Vec<RangeOperation> {
        let mut operations = Vec::new();
        let concerned: Vec<&Access> = self.concerned(accesses).collect();
        for (chiplet, held) in self.chiplets.iter_mut().enumerate() {
            let touches = |access: &Access| {
                let others = access.by_chiplet.iter().enumerate().filter(|(other, _)| *other != chiplet);
                others.into_iter().any(|(_, ranges)| ranges.overlaps(&held.ranges))
            };
            let event = match concerned.iter().filter(|access| touches(access)).map(|access| access.mode).max() {
                Some(Mode::ReadWrite) if holdings == Holdings::Copies => Event::RemoteWrite,
                Some(Mode::Read | Mode::ReadWrite) => Event::RemoteRead,
                None => continue,
            };
            operations.extend(held.see(event).map(|operation| held.operation(chiplet, operation)));
        }
        operations
    }

    /// The chiplets that will access this data structure and may have it out of date.
    fn stale(&self, accesses: &[Access]) -> impl Iterator<Item = usize> {
        let has_part = |chiplet: usize| self.concerned(accesses).any(|access| !access.by_chiplet[chiplet].is_empty());
        let is_stale =
            |held: &ChipletEntry| held.is_mixed || held.state.after(Event::LocalRead).1 == Some(Operation::Acquire);
        let chiplets =
            self.chiplets.iter().enumerate().filter(move |(chiplet, held)| is_stale(held) && has_part(*chiplet));
        chiplets.map(|(chiplet, _)| chiplet)
    }

    /// Applies what each chiplet will do itself.
    fn see_own(&mut self, accesses: &[Access]) {
        let concerned: Vec<&Access> = self.concerned(accesses).collect();
        for access in concerned {
            let event = if access.mode == Mode::Read { Event::LocalRead } else { Event::LocalWrite };
            for (held, ranges) in self.chiplets.iter_mut().zip(&access.by_chiplet).filter(|(_, own)| !own.is_empty()) {
                held.see(event);
                held.ranges.add(ranges);
                self.has_grown = true;
            }
        }
    }

    /// Marks copies that may lack words that other chiplets write in the same kernel.
    fn see_mixed(&mut self, accesses: &[Access]) {
        let concerned: Vec<&Access> = self.concerned(accesses).collect();
        for (chiplet, held) in self.chiplets.iter_mut().enumerate() {
            let is_written_by_others = |own: &Ranges| {
                let writes = concerned.iter().filter(|access| access.mode == Mode::ReadWrite);
                let mut others = writes.flat_map(|access| access.by_chiplet.iter().enumerate());
                others.any(|(other, ranges)| other != chiplet && ranges.overlaps(own))
            };
            held.is_mixed |= concerned.iter().any(|access| is_written_by_others(&access.by_chiplet[chiplet]));
        }
    }

    /// Joins two rows into one. A chiplet that has one of them dirty and the other out of date has to give up both,
    /// since one state cannot express that.
    fn join(mut self, other: Row, operations: &mut Vec<RangeOperation>) -> Row {
        self.has_grown |= other.has_grown;
        self.structure = self.structure.start.min(other.structure.start)..self.structure.end.max(other.structure.end);
        for (chiplet, (held, also)) in self.chiplets.iter_mut().zip(other.chiplets).enumerate() {
            match (held.state, also.state) {
                (State::Dirty, State::Stale) | (State::Stale, State::Dirty) => {
                    operations.extend(held.give_up(chiplet));
                    operations.extend(also.give_up(chiplet));
                    *held = ChipletEntry::default();
                }
                (state, other) => {
                    held.state = state.max(other);
                    held.ranges.add(&also.ranges);
                    held.is_mixed |= also.is_mixed;
                }
            }
        }
        self
    }
}

fn meet(left: &Range<u64>, right: &Range<u64>) -> bool {
    left.start < right.end && right.start < left.end
}
