//! The Chiplet Coherence Table: which chiplet's L2 may hold what, as far as the command processor knows (CPElide paper, section III).
//!
//! A row is a data structure with its state in each chiplet ([`State`], Figure 6) and the addresses that the chiplet has accessed. Before a kernel begins, the table says which L2s
//! have to be written back (released) and which emptied (acquired), and takes note of what the kernel will do. It knows only what kernels declare, and L2s are written back and emptied as a whole.
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
    /// The addresses that each chiplet accesses; nothing where it has no part in the kernel.
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
    fn add(&mut self, operation: Option<Operation>, chiplet: usize) {
        match operation {
            Some(Operation::Acquire) => self.acquires |= 1 << chiplet,
            Some(Operation::Release) => self.releases |= 1 << chiplet,
            None => {}
        }
    }
}

/// What is known of a data structure in one chiplet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Held {
    state: State,
    /// What the chiplet has accessed since it last held nothing.
    ranges: Ranges,
}

impl Held {
    fn see(&mut self, event: Event) -> Option<Operation> {
        let (next, operation) = self.state.after(event);
        self.state = next;
        if next == State::NotPresent {
            self.ranges = Ranges::EMPTY;
        }
        operation
    }
}

/// A data structure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Row {
    structure: Range<u64>,
    chiplets: Vec<Held>,
}

/// The table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChipletTable {
    chiplets: usize,
    limits: Limits,
    rows: Vec<Row>,
}

impl ChipletTable {
    /// An empty table for so many chiplets, at most 64, whose L2s hold nothing.
    pub fn new(chiplets: usize, limits: Limits) -> ChipletTable {
        assert!(chiplets <= 64, "a table of at most 64 chiplets");
        ChipletTable { chiplets, limits, rows: Vec::new() }
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
        self.give_rows(&accesses, &mut plan);
        for row in &mut self.rows {
            row.see_others(&accesses, &mut plan);
        }
        self.flush(plan.releases);
        for row in &self.rows {
            row.find_stale(&accesses, &mut plan);
        }
        plan.releases |= plan.acquires & self.dirty();
        self.invalidate(plan.acquires);
        for row in &mut self.rows {
            row.see_own(&accesses);
        }
        self.rows.retain(|row| row.chiplets.iter().any(|held| held.state != State::NotPresent));
        plan
    }

    /// A kernel is about to begin that declares nothing: it may read and write anything anywhere.
    pub fn launch_undeclared(&mut self) -> Plan {
        let all = if self.chiplets == 64 { u64::MAX } else { (1 << self.chiplets) - 1 };
        let everything = Held { state: State::Dirty, ranges: Ranges::from(0..u64::MAX) };
        self.rows = vec![Row { structure: 0..u64::MAX, chiplets: vec![everything; self.chiplets] }];
        Plan { acquires: all, releases: all }
    }

    /// Chiplets that may hold dirty lines.
    pub fn dirty(&self) -> u64 {
        let dirty = |row: &Row, chiplet: usize| row.chiplets[chiplet].state == State::Dirty;
        (0..self.chiplets)
            .filter(|&chiplet| self.rows.iter().any(|row| dirty(row, chiplet)))
            .fold(0, |set, c| set | 1 << c)
    }

    /// Gives every accessed data structure exactly one row. Rows that one access reaches across become one, and a full table starts anew.
    fn give_rows(&mut self, accesses: &[Access], plan: &mut Plan) {
        let fresh =
            accesses.iter().filter(|access| !self.rows.iter().any(|row| meet(&row.structure, &access.structure)));
        if self.rows.len() + fresh.count() > self.limits.rows {
            let Plan { acquires, releases } = self.forget_all();
            plan.acquires |= acquires;
            plan.releases |= releases;
        }
        for access in accesses {
            let (mut met, others): (Vec<Row>, Vec<Row>) =
                std::mem::take(&mut self.rows).into_iter().partition(|row| meet(&row.structure, &access.structure));
            self.rows = others;
            met.push(Row { structure: access.structure.clone(), chiplets: vec![Held::default(); self.chiplets] });
            let row = met.into_iter().reduce(|row, other| row.join(other, plan)).expect("a row has been pushed");
            self.rows.push(row);
        }
        self.flush(plan.releases);
        self.invalidate(plan.acquires);
    }

    /// Empties all L2s that may hold anything.
    fn forget_all(&mut self) -> Plan {
        let holds = |row: &Row, chiplet: usize| row.chiplets[chiplet].state != State::NotPresent;
        let acquires = (0..self.chiplets)
            .filter(|&chiplet| self.rows.iter().any(|row| holds(row, chiplet)))
            .fold(0, |set, chiplet| set | 1 << chiplet);
        let releases = self.dirty();
        self.rows.clear();
        Plan { acquires, releases }
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
    fn see_others(&mut self, accesses: &[Access], plan: &mut Plan) {
        let concerned: Vec<&Access> = self.concerned(accesses).collect();
        for (chiplet, held) in self.chiplets.iter_mut().enumerate() {
            let touches = |access: &Access| {
                let others = access.by_chiplet.iter().enumerate().filter(|(other, _)| *other != chiplet);
                others.into_iter().any(|(_, ranges)| ranges.overlaps(&held.ranges))
            };
            let event = match concerned.iter().filter(|access| touches(access)).map(|access| access.mode).max() {
                Some(Mode::ReadWrite) => Event::RemoteWrite,
                Some(Mode::Read) => Event::RemoteRead,
                None => continue,
            };
            plan.add(held.see(event), chiplet);
        }
    }

    /// Chiplets that will access what they may have out of date.
    fn find_stale(&self, accesses: &[Access], plan: &mut Plan) {
        for (chiplet, held) in self.chiplets.iter().enumerate() {
            if self.concerned(accesses).any(|access| !access.by_chiplet[chiplet].is_empty()) {
                plan.add(held.state.after(Event::LocalRead).1, chiplet);
            }
        }
    }

    /// What each chiplet will do.
    fn see_own(&mut self, accesses: &[Access]) {
        let concerned: Vec<&Access> = self.concerned(accesses).collect();
        for access in concerned {
            let event = if access.mode == Mode::Read { Event::LocalRead } else { Event::LocalWrite };
            for (held, ranges) in self.chiplets.iter_mut().zip(&access.by_chiplet).filter(|(_, own)| !own.is_empty()) {
                held.see(event);
                held.ranges.add(ranges);
            }
        }
    }

    /// One row of two. A chiplet that has one of them dirty and one out of date has to give up both, as one state cannot say so.
    fn join(mut self, other: Row, plan: &mut Plan) -> Row {
        self.structure = self.structure.start.min(other.structure.start)..self.structure.end.max(other.structure.end);
        for (chiplet, (held, also)) in self.chiplets.iter_mut().zip(other.chiplets).enumerate() {
            match (held.state, also.state) {
                (State::Dirty, State::Stale) | (State::Stale, State::Dirty) => {
                    plan.releases |= 1 << chiplet;
                    plan.acquires |= 1 << chiplet;
                    *held = Held::default();
                }
                (state, other) => {
                    held.state = state.max(other);
                    held.ranges.add(&also.ranges);
                }
            }
        }
        self
    }
}

fn meet(left: &Range<u64>, right: &Range<u64>) -> bool {
    left.start < right.end && right.start < left.end
}
