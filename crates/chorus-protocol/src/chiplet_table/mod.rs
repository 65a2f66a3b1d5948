//! The Chiplet Coherence Table: which chiplet's L2 may hold what, as far as the command processor knows (CPElide paper, section III).
//!
//! A row is a data structure with its state in each chiplet ([`State`], Figure 6) and the addresses that the chiplet has accessed. Before a kernel begins, the table says which L2s
//! have to be written back (released) and which emptied (acquired), and takes note of what the kernel will do. It knows only what kernels declare. L2s are written back and emptied as a whole
//! ([`ChipletTable::launch`]) or, with hardware that can, where a data structure needs it ([`ChipletTable::launch_by_ranges`], section VI).
//!
//! | file | subject |
//! |---|---|
//! | `state.rs` | the states of a row, and what changes them |
//! | `ranges.rs` | sets of addresses |
//! | `coarsen.rs` | kernels of more data structures than a row each is kept for |

pub mod coarsen;
pub mod ranges;
pub mod state;

use std::ops::Range;

use coarsen::coarsen;
use ranges::Ranges;
use state::{Event, Operation, State};

/// How a kernel accesses a data structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// It only reads.
    Read,
    /// It may write.
    ReadWrite,
}

/// What a kernel declares of one data structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Where it lies.
    pub structure: Range<u64>,
    /// How it is accessed.
    pub mode: Mode,
    /// The addresses that each chiplet accesses; nothing where it has no part in the kernel. A chiplet that gets no work-group of the launch has no part in it, even where the
    /// kernel declares the whole data structure for whoever takes part: to leave it out is up to whoever makes the declaration.
    pub by_chiplet: Vec<Ranges>,
}

/// How much the table keeps (section III-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Rows.
    pub rows: usize,
    /// Data structures of one kernel that have a row each.
    pub per_kernel: usize,
}

impl Limits {
    /// Eight data structures of each of eight kernels.
    pub const PAPER: Limits = Limits { rows: 64, per_kernel: 8 };
}

/// What has to be done before a kernel may begin, a bit for each chiplet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Plan {
    /// L2s that are emptied.
    pub acquires: u64,
    /// L2s that are written back. One that is emptied with dirty lines is written back, too.
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

/// What has to be done in one chiplet with what it may have of one data structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RangeOperation {
    /// Which chiplet.
    pub chiplet: usize,
    /// What its L2 does. One that empties ranges with dirty lines writes them back first.
    pub operation: Operation,
    /// The addresses concerned: all that the chiplet may have of the data structure.
    pub ranges: Ranges,
}

/// What is known of a data structure in one chiplet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ChipletEntry {
    state: State,
    /// What the chiplet has accessed since it last held nothing.
    ranges: Ranges,
    /// Whether a copy may lack what another chiplet has written in the same kernel: into other words of a line, or in a race. Then it has to be given up before it is used again, even if it is
    /// dirty.
    is_mixed: bool,
}

impl ChipletEntry {
    /// What has to be done here.
    fn operation(&self, chiplet: usize, operation: Operation) -> RangeOperation {
        RangeOperation { chiplet, operation, ranges: self.ranges.clone() }
    }

    /// What has to be done for nothing to be left here.
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

/// A data structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Row {
    structure: Range<u64>,
    chiplets: Vec<ChipletEntry>,
    /// Whether a kernel has accessed it since what L2s cannot hold was forgotten.
    has_grown: bool,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChipletTable {
    chiplets: usize,
    limits: Limits,
    /// Who sees what others write.
    holdings: Holdings,
    rows: Vec<Row>,
}

/// What L2s hold, as far as the protocol says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holdings {
    /// Copies of anything that their chiplet accessed, which others may make stale.
    Copies,
    /// Lines of their own chiplet's memory alone: what others read and write of it they read and write there (CPElide paper, section IV-C), so it is never stale.
    OwnMemory,
}

impl ChipletTable {
    /// An empty table for so many chiplets, at most 64, whose L2s hold nothing.
    pub fn new(chiplets: usize, limits: Limits, holdings: Holdings) -> ChipletTable {
        assert!(chiplets <= 64, "a table of at most 64 chiplets");
        ChipletTable { chiplets, limits, holdings, rows: Vec::new() }
    }

    /// Rows in use.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The state of the data structure at `address` in each chiplet, if it has a row.
    pub fn states(&self, address: u64) -> Option<Vec<State>> {
        let row = self.rows.iter().find(|row| row.structure.contains(&address))?;
        Some(row.chiplets.iter().map(|held| held.state).collect())
    }

    /// A kernel is about to begin that declares all that it accesses.
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

    /// The same where L2s write back and empty ranges of addresses: other data structures keep their states, and their lines.
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

    /// A kernel is about to begin that declares nothing: it may read and write anything anywhere. Whole L2s are concerned, whatever the hardware can do.
    pub fn launch_undeclared(&mut self) -> Plan {
        let all = if self.chiplets == 64 { u64::MAX } else { (1 << self.chiplets) - 1 };
        let is_mixed = self.holdings == Holdings::Copies;
        let everything = ChipletEntry { state: State::Dirty, ranges: Ranges::from(0..u64::MAX), is_mixed };
        self.rows = vec![Row { structure: 0..u64::MAX, chiplets: vec![everything; self.chiplets], has_grown: false }];
        Plan { acquires: all, releases: all }
    }

    /// Forgets what L2s cannot hold that have nothing but their own memory: `may_hold` says which addresses of a range may be in the L2 of a chiplet. Only rows that have grown since are looked at.
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

    /// A kernel that was launched before goes on after L2s were written back or emptied for another: they may hold again what it declared.
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

    /// Chiplets that may hold dirty lines.
    pub fn dirty(&self) -> u64 {
        let dirty = |row: &Row, chiplet: usize| row.chiplets[chiplet].state == State::Dirty;
        (0..self.chiplets)
            .filter(|&chiplet| self.rows.iter().any(|row| dirty(row, chiplet)))
            .fold(0, |set, c| set | 1 << c)
    }

    /// Gives every accessed data structure exactly one row. Rows that one access reaches across become one, and a full table starts anew.
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

    /// Empties L2s of all that they may hold.
    fn forget_all(&mut self) -> Vec<RangeOperation> {
        let rows = std::mem::take(&mut self.rows);
        rows.iter()
            .flat_map(|row| row.chiplets.iter().enumerate())
            .flat_map(|(chiplet, held)| held.give_up(chiplet))
            .collect()
    }

    /// What others will do with what each chiplet may have.
    fn see_others(&mut self, accesses: &[Access]) -> Vec<RangeOperation> {
        let holdings = self.holdings;
        self.rows.iter_mut().flat_map(|row| row.see_others(accesses, holdings)).collect()
    }

    /// What each chiplet will do itself. Rows of which nobody has anything are gone then.
    fn see_own(&mut self, accesses: &[Access]) {
        self.rows.iter_mut().for_each(|row| row.see_own(accesses));
        if self.holdings == Holdings::Copies {
            self.rows.iter_mut().for_each(|row| row.see_mixed(accesses));
        }
        self.drop_rows();
    }

    /// Drops rows of which nobody has anything.
    fn drop_rows(&mut self) {
        self.rows.retain(|row| row.chiplets.iter().any(|held| held.state != State::NotPresent));
    }

    fn flush(&mut self, chiplets: u64) {
        self.everywhere(chiplets, Event::Flush);
    }

    fn invalidate(&mut self, chiplets: u64) {
        self.everywhere(chiplets, Event::Invalidate);
    }

    /// Something that concerns a whole L2 changes every row.
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

    /// What others will do with what each chiplet may have.
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

    /// Chiplets that will access what they may have out of date.
    fn stale(&self, accesses: &[Access]) -> impl Iterator<Item = usize> {
        let has_part = |chiplet: usize| self.concerned(accesses).any(|access| !access.by_chiplet[chiplet].is_empty());
        let is_stale =
            |held: &ChipletEntry| held.is_mixed || held.state.after(Event::LocalRead).1 == Some(Operation::Acquire);
        let chiplets =
            self.chiplets.iter().enumerate().filter(move |(chiplet, held)| is_stale(held) && has_part(*chiplet));
        chiplets.map(|(chiplet, _)| chiplet)
    }

    /// What each chiplet will do.
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

    /// Marks copies that may lack what others write in the same kernel.
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

    /// One row of two. A chiplet that has one of them dirty and one out of date has to give up both, as one state cannot say so.
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
