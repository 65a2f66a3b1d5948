//! The command processor: what it is told at each launch, and what it lets the L2s do.

use std::hash::Hash;
use std::ops::Range;

use chorus_protocol::address::{LineAddr, Topology};
use chorus_protocol::chiplet_table::{Access, ChipletTable, Holdings, Limits, Plan, RangeOperation};

/// The operations before a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Orders {
    /// Operations on whole L2s.
    Whole(Plan),
    /// Operations on ranges of addresses.
    Ranges(Vec<RangeOperation>),
}

/// A command processor, right or wrong.
pub trait Processor: Clone + Eq + Hash {
    /// A kernel of a stream is about to begin. `told` are the accesses that it declares, if it declares any.
    fn launch(&mut self, stream: usize, told: Option<&[Access]>) -> Orders;

    /// The kernel of a stream is over.
    fn over(&mut self, stream: usize);

    /// The chiplets whose L2s are written back when all programs have ended, as a bit for each.
    fn finally(&self) -> u64;
}

/// The accesses that a running kernel has declared, if any.
type Told = Option<Vec<Access>>;

/// The simulator's way of using a [`ChipletTable`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableProcessor {
    table: ChipletTable,
    /// Whether L2s can write back and empty ranges.
    by_ranges: bool,
    /// Where lines lie, if the table assumes that L2s hold nothing but their own memory.
    own_memory: Option<Topology>,
    /// The kernel of each stream that is not over.
    running: Vec<Option<Told>>,
}

impl TableProcessor {
    /// The command processor of empty L2s.
    pub fn new(
        chiplets: usize,
        limits: Limits,
        holdings: Holdings,
        topology: Topology,
        by_ranges: bool,
    ) -> TableProcessor {
        let own_memory = (holdings == Holdings::OwnMemory).then_some(topology);
        TableProcessor {
            table: ChipletTable::new(chiplets, limits, holdings),
            by_ranges,
            own_memory,
            running: Vec::new(),
        }
    }

    fn consult(&mut self, told: Option<&[Access]>) -> Orders {
        match told {
            Some(accesses) if self.by_ranges => Orders::Ranges(self.table.launch_by_ranges(accesses)),
            Some(accesses) => Orders::Whole(self.table.launch(accesses)),
            None => Orders::Whole(self.table.launch_undeclared()),
        }
    }

    /// Tells the table that kernels of other streams go on.
    fn remind(&mut self, stream: usize) {
        for (_, told) in self.running.iter().enumerate().filter(|(other, _)| *other != stream) {
            match told {
                Some(Some(accesses)) => self.table.go_on(accesses),
                Some(None) => {
                    self.table.launch_undeclared();
                }
                None => {}
            }
        }
    }
}

impl Processor for TableProcessor {
    fn launch(&mut self, stream: usize, told: Option<&[Access]>) -> Orders {
        if let Some(topology) = self.own_memory {
            self.table.forget(|chiplet, range| lines_of_module(topology, chiplet, range));
        }
        let orders = self.consult(told);
        let is_idle = match &orders {
            Orders::Whole(plan) => *plan == Plan::default(),
            Orders::Ranges(operations) => operations.is_empty(),
        };
        self.running.resize(self.running.len().max(stream + 1), None);
        self.running[stream] = Some(told.map(<[Access]>::to_vec));
        if !is_idle {
            self.remind(stream);
        }
        orders
    }

    fn over(&mut self, stream: usize) {
        if let Some(told) = self.running.get_mut(stream) {
            *told = None;
        }
    }

    fn finally(&self) -> u64 {
        self.table.dirty()
    }
}

/// No machine here has more lines.
const LINES_MAX: u64 = 64;

/// The lines of a range that lie in the memory of a module.
fn lines_of_module(topology: Topology, module: usize, range: &Range<u64>) -> Vec<Range<u64>> {
    let lines = range.start..range.end.min(LINES_MAX);
    let own = lines.filter(|&line| usize::from(topology.home_module(LineAddr(line))) == module);
    own.map(|line| line..line + 1).collect()
}
