//! The commands that are left between two kernels where a command processor knows what kernels access.
//!
//! The program knows which lines each wavefront touches in each kernel. This is what kernels declare, and the
//! [Chiplet Coherence Table](chorus_protocol::chiplet_table) says which L2s have to write back or to empty themselves.
//! All others keep their lines.

use std::collections::{BTreeMap, VecDeque};

use chorus_protocol::address::{LineAddr, Topology};
use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::state::Operation;
use chorus_protocol::chiplet_table::{Access, ChipletTable, Holdings, Limits, Mode, RangeOperation};
use chorus_protocol::registry::Commands;

use super::program::{Action, Boundary, Does, Program};
use super::setup::PAGE_LINES;
use crate::program::Edge;

/// A command to the banks of a module: for all lines, or for those of the page that begins here.
pub(super) type Command = (u16, Option<u64>);

/// The table, and what the kernels to come declare.
#[derive(Clone, Debug)]
pub(super) struct Elision {
    table: ChipletTable,
    kernels: VecDeque<Vec<Access>>,
    commands: Commands,
    topology: Topology,
    releases: Vec<Command>,
    acquires: Vec<Command>,
}

impl Elision {
    /// The table when the first kernel of a program has begun.
    pub(super) fn new(program: &Program, topology: Topology, commands: Commands, holdings: Holdings) -> Elision {
        let table = ChipletTable::new(usize::from(topology.modules()), Limits::PAPER, holdings);
        let kernels = declared(program, topology).into();
        let (releases, acquires) = (Vec::new(), Vec::new());
        let mut elision = Elision { table, kernels, commands, topology, releases, acquires };
        elision.launch();
        elision
    }

    /// Works out the commands before the next kernel.
    pub(super) fn launch(&mut self) {
        let topology = self.topology;
        let is_here = move |module: usize, line: &u64| usize::from(topology.home_module(LineAddr(*line))) == module;
        self.table.forget(|module, lines| {
            lines.clone().filter(|line| is_here(module, line)).map(|line| line..line + 1).collect()
        });
        let accesses = self.kernels.pop_front().unwrap_or_default();
        (self.releases, self.acquires) = if self.commands == Commands::TableOfRanges {
            let operations = self.table.launch_by_ranges(&accesses);
            (pages(&operations, Operation::Release), pages(&operations, Operation::Acquire))
        } else {
            let plan = self.table.launch(&accesses);
            let modules = |set: u64| (0..topology.modules()).filter(move |module| set >> module & 1 == 1);
            let whole = |set: u64| modules(set).map(|module| (module, None)).collect();
            (whole(plan.releases & !plan.acquires), whole(plan.acquires))
        };
    }

    /// The commands of one kind before the next kernel.
    pub(super) fn commands(&self, edge: Edge) -> &[Command] {
        match edge {
            Edge::End => &self.releases,
            Edge::Begin => &self.acquires,
        }
    }
}

/// The pages that operations of one kind concern.
fn pages(operations: &[RangeOperation], kind: Operation) -> Vec<Command> {
    let mut pages = Vec::new();
    for RangeOperation { chiplet, ranges, .. } in operations.iter().filter(|it| it.operation == kind) {
        let page = u64::from(PAGE_LINES);
        let lines = ranges.iter().flat_map(|range| (range.start / page..range.end.div_ceil(page)).map(|it| it * page));
        pages.extend(lines.map(|line| (*chiplet as u16, Some(line))));
    }
    pages.sort_unstable();
    pages.dedup();
    pages
}

/// The lines of a page that each module accesses, and whether somebody writes them.
#[derive(Clone, Debug, Default)]
struct Touched {
    by_module: BTreeMap<u16, Vec<u64>>,
    is_written: bool,
}

/// The accesses of every kernel of a program. Pages are the data structures.
fn declared(program: &Program, topology: Topology) -> Vec<Vec<Access>> {
    let mut kernels = vec![BTreeMap::<u64, Touched>::new()];
    for phase in &program.phases {
        for (slot, actions) in program.slots.iter().zip(&phase.actions) {
            let module = topology.module_of(topology.l1(slot.cache));
            let mut touch = |line: u64, is_written: bool| {
                let Some(kernel) = kernels.last_mut() else { return };
                let page = kernel.entry(line / u64::from(PAGE_LINES)).or_default();
                page.by_module.entry(module).or_default().push(line);
                page.is_written |= is_written;
            };
            actions.iter().for_each(|action| touch_action(action, &mut touch));
            if let Boundary::Barrier(word) = phase.end {
                touch(word.line(), true);
            }
        }
        if phase.end == Boundary::Kernel {
            kernels.push(BTreeMap::new());
        }
    }
    let modules = topology.modules();
    let access = |(page, touched): (u64, Touched)| {
        let first = page * u64::from(PAGE_LINES);
        let of = |module| touched.by_module.get(&module).into_iter().flatten();
        Access {
            structure: first..first + u64::from(PAGE_LINES),
            mode: if touched.is_written { Mode::ReadWrite } else { Mode::Read },
            by_chiplet: (0..modules).map(|module| of(module).map(|&line| line..line + 1).collect::<Ranges>()).collect(),
        }
    };
    kernels.into_iter().map(|kernel| kernel.into_iter().map(access).collect()).collect()
}

/// Visits the lines that an action accesses, and says whether it may write them.
fn touch_action(action: &Action, touch: &mut impl FnMut(u64, bool)) {
    let writes = |does: Does| !matches!(does, Does::Load { .. });
    match action {
        Action::Plain(access) => touch(access.words.line(), writes(access.does)),
        Action::Count(words) | Action::Flip { words, .. } => touch(words.line(), true),
        Action::Fence => {}
        Action::Critical { lock, inside, .. } => {
            touch(lock.line(), true);
            inside.iter().for_each(|access| touch(access.words.line(), writes(access.does)));
        }
        Action::Publish { flag, words } => {
            touch(flag.line(), true);
            words.iter().for_each(|words| touch(words.line(), true));
        }
        Action::Relay { seen, flag } => {
            touch(seen.line(), false);
            touch(flag.line(), true);
        }
        // A flag may be read by atomics.
        Action::Consume { flag, words, .. } => {
            touch(flag.line(), true);
            words.iter().for_each(|words| touch(words.line(), false));
        }
    }
}
