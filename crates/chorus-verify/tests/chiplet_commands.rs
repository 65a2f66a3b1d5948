//! Is every load fresh on the real caches of the CPElide paper's protocols, if their banks get the commands that the
//! Chiplet Coherence Table asks for, and no others?
//!
//! Every sequence of kernels up to a length runs on private caches, L2s and memory, message by message. A kernel
//! declares for every chiplet and every line of every data structure that it reads it, may write it, or neither, and
//! does all of it: what it may write it reads first. Programs without races declare no write of what another chiplet
//! accesses. Messages are delivered one after the other, and nothing is on its way between kernels. `chiplet_table.rs`
//! shows the same of the table alone, for sequences of any length, on L2s that nothing else keeps coherent.

use std::collections::VecDeque;

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{LineAddr, Role, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::state::Operation;
use chorus_protocol::chiplet_table::{Access, ChipletTable, Holdings, Limits, RangeOperation};
use chorus_protocol::controller::{Controller, Input, Outbox, Outcome};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Message, memory};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, Commands, DirectoryShape, PROTOCOLS, Protocol, find};
use chorus_verify::faults::find_fault;

use crate::race_free::{Declared, Kernel};

const LINE_BYTES: u64 = 64;
const PAGE_LINES: u64 = 2;

/// How many of what a machine has, and how many kernels it runs.
#[derive(Clone, Copy)]
struct Size {
    chiplets: u16,
    structures: usize,
    /// Lines of a data structure; they lie in the memory of one chiplet after the other.
    lines: usize,
    /// Lines that an L2 has room for.
    l2_lines: u32,
    kernels: usize,
}

const ONE_STRUCTURE: Size = Size { chiplets: 2, structures: 1, lines: 2, l2_lines: 2, kernels: 3 };
const TWO_STRUCTURES: Size = Size { structures: 2, lines: 1, ..ONE_STRUCTURE };
const ONE_LINE: Size = Size { lines: 1, ..ONE_STRUCTURE };
const CROWDED: Size = Size { l2_lines: 1, ..TWO_STRUCTURES };
const THREE_CHIPLETS: Size = Size { chiplets: 3, structures: 1, lines: 1, l2_lines: 1, kernels: 4 };

/// The operations of the table that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skipped {
    Nothing,
    Releases,
    Acquires,
}

impl Size {
    fn topology(self) -> Topology {
        let chiplets = self.chiplets;
        Topology { gpms: chiplets, home_shift: 0, ..Topology::one_gpu(chiplets, chiplets) }
    }

    fn all_lines(self) -> usize {
        self.structures * self.lines
    }

    /// Every kernel without races.
    fn kernels(self) -> Vec<Kernel> {
        crate::race_free::kernels(u32::from(self.chiplets), self.all_lines())
    }

    /// The accesses that the command processor is told of.
    fn accesses(self, kernel: &Kernel) -> Vec<Access> {
        crate::race_free::accesses(kernel, self.lines, LINE_BYTES, |line| line as u64 * LINE_BYTES)
    }
}

/// A protocol with parameters, a fault of its controllers and one of its table.
#[derive(Clone, Copy)]
struct Variant {
    protocol: &'static str,
    parameters: &'static [(&'static str, u64)],
    /// The lines that L2s hold, as the table assumes.
    holdings: Holdings,
    fault: Option<&'static str>,
    skipped: Skipped,
}

impl Variant {
    const fn new(protocol: &'static str, parameters: &'static [(&'static str, u64)]) -> Variant {
        Variant { protocol, parameters, holdings: Holdings::Copies, fault: None, skipped: Skipped::Nothing }
    }
}

const FORWARDING: Variant = Variant::new("cpelide", &[("remote_reads", 0)]);
const KEEPING: Variant = Variant::new("cpelide", &[("remote_reads", 1)]);
const RANGES_FORWARDING: Variant = Variant::new("cpelide-range", &[("remote_reads", 0)]);
const RANGES_KEEPING: Variant = Variant::new("cpelide-range", &[("remote_reads", 1)]);
const NHCC_ELIDING: Variant = Variant::new("nhcc-wb", &[("elide", 1)]);
/// The table knows that L2s hold nothing but their own memory.
const OWN_MEMORY: Variant = Variant { holdings: Holdings::OwnMemory, ..FORWARDING };
const RANGES_OF_OWN_MEMORY: Variant = Variant { holdings: Holdings::OwnMemory, ..RANGES_FORWARDING };
const ALL: [Variant; 7] =
    [FORWARDING, KEEPING, RANGES_FORWARDING, RANGES_KEEPING, NHCC_ELIDING, OWN_MEMORY, RANGES_OF_OWN_MEMORY];

/// The machine between two kernels.
#[derive(Clone)]
struct World {
    topology: Topology,
    commands: Commands,
    holdings: Holdings,
    controllers: Vec<Box<dyn Controller<2>>>,
    memory: Vec<LineData<2>>,
    table: ChipletTable,
    /// The right value of each line.
    newest: Vec<u32>,
}

impl World {
    fn new(size: Size, variant: Variant) -> World {
        let protocol: &'static dyn Protocol = find(variant.protocol).unwrap();
        let mut parameters = Parameters::defaults(protocol.parameters());
        for &(key, value) in variant.parameters {
            parameters.set(key, value);
        }
        let cache = |ways| CacheShape { sets: 1, ways, mshrs: 4, replacement: Replacement::Lru };
        let topology = size.topology();
        let config = BuildConfig {
            topology,
            l1: cache(1),
            l2: cache(size.l2_lines),
            l3: cache(size.l2_lines),
            directory: DirectoryShape { ways: 2, ..DirectoryShape::SMALLEST },
            page_lines: PAGE_LINES as u32,
            waves: 1,
            buffer_wave: None,
            fences: true,
            read_only: ReadOnlyLines::NONE,
            parameters,
            fault: variant.fault.map(|name| find_fault(protocol, name).unwrap()),
        };
        let build = |role, index| protocol.build(role, index, &config).unwrap();
        let chiplets = 0..size.chiplets;
        let l1s = chiplets.clone().map(|index| build(Role::L1, index));
        World {
            topology,
            commands: protocol.commands(&parameters),
            holdings: variant.holdings,
            controllers: l1s.chain(chiplets.map(|index| build(Role::L2, index))).collect(),
            memory: vec![LineData::default(); size.all_lines()],
            table: ChipletTable::new(usize::from(size.chiplets), Limits::PAPER, variant.holdings),
            newest: vec![0; size.all_lines()],
        }
    }

    /// Gives requests to controllers, delivers what they cause, and returns the values that come back, of every request
    /// one.
    fn perform(&mut self, requests: &[(u16, CoreRequest<2>)]) -> Vec<u32> {
        let (mut waiting, mut values) = (VecDeque::new(), Vec::new());
        for (agent, request) in requests {
            self.step(*agent, &Input::Core(request), &mut waiting, &mut values);
        }
        while let Some(message) = waiting.pop_front() {
            match self.topology.role(message.dst) {
                (Role::Memory, _) => self.memory_takes(&message, &mut waiting),
                (Role::L1 | Role::L2 | Role::L3 | Role::Tu, _) => {
                    self.step(message.dst.0, &Input::Message(&message), &mut waiting, &mut values);
                }
            }
        }
        assert_eq!(values.len(), requests.len(), "every request is answered once");
        values
    }

    fn memory_takes(&mut self, message: &Message<2>, waiting: &mut VecDeque<Message<2>>) {
        let data = &mut self.memory[message.line.0 as usize];
        if message.kind == memory::WB {
            data.merge(message.mask, &message.data);
        } else {
            waiting.push_back(message.reply_line(memory::MEM_DATA, data));
        }
    }

    fn step(&mut self, agent: u16, input: &Input<'_, 2>, waiting: &mut VecDeque<Message<2>>, values: &mut Vec<u32>) {
        let controller = &mut self.controllers[usize::from(agent)];
        let mut out = Outbox::default();
        loop {
            match controller.step(input, &mut out).unwrap() {
                Outcome::Done => break,
                Outcome::Stall => panic!("nothing is under way that could be waited for"),
                outcome @ (Outcome::Evict(_) | Outcome::EvictEntry(_)) => {
                    let eviction = outcome.eviction().unwrap();
                    assert_eq!(controller.step(&eviction, &mut out).unwrap(), Outcome::Done);
                }
            }
        }
        waiting.extend(out.messages);
        values.extend(out.completions.iter().map(|completion| completion.data.0[0]));
    }

    /// The operations that the table asks for before a kernel.
    fn asked(&mut self, accesses: &[Access]) -> Vec<RangeOperation> {
        let topology = self.topology;
        if self.holdings == Holdings::OwnMemory {
            self.table.forget(|chiplet, range| {
                let lines = range.start / LINE_BYTES..range.end / LINE_BYTES;
                let own = lines.filter(|&line| usize::from(topology.home_module(LineAddr(line))) == chiplet);
                own.map(|line| line * LINE_BYTES..(line + 1) * LINE_BYTES).collect()
            });
        }
        if self.commands == Commands::TableOfRanges {
            return self.table.launch_by_ranges(accesses);
        }
        let plan = self.table.launch(accesses);
        let whole = |chiplet: usize, operation| RangeOperation { chiplet, operation, ranges: Ranges::EMPTY };
        let chiplets = 0..usize::from(self.topology.gpms);
        let in_set = |set: u64| chiplets.clone().filter(move |chiplet| set >> chiplet & 1 == 1);
        let acquires = in_set(plan.acquires).map(|chiplet| whole(chiplet, Operation::Acquire));
        let releases = in_set(plan.releases).map(|chiplet| whole(chiplet, Operation::Release));
        releases.chain(acquires).collect()
    }

    /// The commands that an operation means: one for a whole L2, or one for each page of its ranges.
    fn commands_of(&self, operation: &RangeOperation) -> Vec<(u16, CoreRequest<2>)> {
        let agent = self.topology.l2(operation.chiplet as u16).0;
        let (op, order) = match operation.operation {
            Operation::Release => (CoreOp::KernelEnd, Order::Release),
            Operation::Acquire => (CoreOp::KernelBegin, Order::Acquire),
        };
        let command = CoreRequest { op, order, ..request(CoreOp::Fence, 0) };
        if operation.ranges.is_empty() {
            return vec![(agent, command)];
        }
        let page_bytes = PAGE_LINES * LINE_BYTES;
        let mut pages: Vec<u64> = operation
            .ranges
            .iter()
            .flat_map(|range| range.start / page_bytes..range.end.div_ceil(page_bytes))
            .collect();
        pages.dedup();
        let of_page = |page: u64| {
            let line = LineAddr(page * PAGE_LINES);
            (agent, CoreRequest { line, mask: ByteMask::full::<2>(), ..command })
        };
        pages.into_iter().map(of_page).collect()
    }

    fn everywhere(&mut self, op: CoreOp, order: Order) {
        let caches = 0..self.topology.l1s;
        let requests: Vec<_> =
            caches.map(|cache| (cache, CoreRequest { op, order, ..request(CoreOp::Fence, 0) })).collect();
        self.perform(&requests);
    }

    /// Runs a kernel, with what comes before it and after it.
    fn run(&mut self, size: Size, kernel: &Kernel, number: usize, skipped: Skipped) -> Result<(), String> {
        let mut operations = self.asked(&size.accesses(kernel));
        operations.retain(|operation| match operation.operation {
            Operation::Release => skipped != Skipped::Releases,
            Operation::Acquire => skipped != Skipped::Acquires,
        });
        let commands: Vec<_> = operations.iter().flat_map(|operation| self.commands_of(operation)).collect();
        self.perform(&commands);
        self.everywhere(CoreOp::KernelBegin, Order::Acquire);
        for (line, declared) in kernel.iter().enumerate() {
            for (chiplet, &declared) in declared.iter().enumerate() {
                if declared == Declared::Nothing {
                    continue;
                }
                let read = self.perform(&[(chiplet as u16, request(CoreOp::Load, line))])[0];
                let newest = self.newest[line];
                if read != newest {
                    return Err(format!("chiplet {chiplet} reads {read} of line {line} and not {newest}"));
                }
                if declared == Declared::Write {
                    let value = (number * 8 + chiplet + 1) as u32;
                    let store = CoreRequest { data: LineData([value, 0]), ..request(CoreOp::Store, line) };
                    self.perform(&[(chiplet as u16, store)]);
                    self.newest[line] = value;
                }
            }
        }
        self.everywhere(CoreOp::KernelEnd, Order::Release);
        Ok(())
    }
}

fn request(op: CoreOp, line: usize) -> CoreRequest<2> {
    let mask = if matches!(op, CoreOp::Load | CoreOp::Store) { ByteMask::word(0) } else { ByteMask::EMPTY };
    let (order, scope) = if op == CoreOp::Fence { (Order::AcqRel, Scope::System) } else { (Order::Weak, Scope::Gpu) };
    let line = LineAddr(line as u64);
    CoreRequest { op, order, scope, line, mask, data: LineData::default(), wave: 0, txn: Txn::Operation(1) }
}

/// Runs every sequence of kernels, and returns how many kernels ran in all.
fn explore(size: Size, variant: Variant) -> Result<usize, String> {
    let kernels = size.kernels();
    let (mut ran, mut waiting) = (0, vec![(0, World::new(size, variant), Vec::new())]);
    while let Some((number, world, before)) = waiting.pop() {
        for (index, kernel) in kernels.iter().enumerate() {
            let mut next: World = world.clone();
            let sequence = [&before[..], &[index]].concat();
            let told = |wrong| {
                format!(
                    "{} of {:?}: {wrong}",
                    variant.protocol,
                    sequence.iter().map(|&kernel| &kernels[kernel]).collect::<Vec<_>>()
                )
            };
            next.run(size, kernel, number, variant.skipped).map_err(told)?;
            ran += 1;
            if number + 1 < size.kernels {
                waiting.push((number + 1, next, sequence));
            }
        }
    }
    Ok(ran)
}

#[test]
fn every_protocol_that_follows_the_table_is_run() {
    let follows = |commands| matches!(commands, Commands::Table | Commands::TableOfRanges);
    for protocol in PROTOCOLS.iter().filter(|protocol| follows(protocol.declaration().commands)) {
        let name = protocol.name();
        assert!(ALL.iter().any(|variant| variant.protocol == name), "add a `Variant` of {name} to `ALL`");
    }
}

#[test]
fn two_chiplets_read_what_is_newest_of_a_data_structure_that_they_share() {
    for variant in ALL {
        assert_eq!(explore(ONE_STRUCTURE, variant), Ok(36 + 36 * 36 + 36 * 36 * 36));
    }
}

#[test]
fn two_chiplets_read_what_is_newest_of_two_data_structures_of_one_page() {
    for variant in ALL {
        assert_eq!(explore(TWO_STRUCTURES, variant), Ok(36 + 36 * 36 + 36 * 36 * 36));
        explore(CROWDED, variant).unwrap();
    }
}

#[test]
fn three_chiplets_read_what_is_newest_after_four_kernels() {
    for variant in ALL {
        assert_eq!(explore(THREE_CHIPLETS, variant), Ok(11 + 11 * 11 + 11 * 11 * 11 + 11 * 11 * 11 * 11));
    }
}

/// With forwarding a line is in one L2 at most, its home, so that nothing that the table asks for is needed for values;
/// only what L2s keep of other chiplets' memory can be stale, or dirty.
#[test]
fn what_the_table_asks_for_is_needed_where_l2s_keep_what_is_not_theirs() {
    let is_seen = |variant: Variant, skipped| explore(ONE_LINE, Variant { skipped, ..variant }).is_err();
    let seen = ALL.map(|variant| [Skipped::Releases, Skipped::Acquires].map(|skipped| is_seen(variant, skipped)));
    let [neither, releases, acquires] = [[false, false], [true, false], [false, true]];
    assert_eq!(seen, [neither, acquires, neither, acquires, releases, neither, neither]);
}

#[test]
fn commands_that_are_carried_out_wrongly_are_seen() {
    let cases = [
        (FORWARDING, "command-loses-dirty", TWO_STRUCTURES),
        (KEEPING, "command-keeps-copies", ONE_STRUCTURE),
        (KEEPING, "command-forgets-dirty", CROWDED),
        (RANGES_KEEPING, "command-keeps-copies", ONE_STRUCTURE),
        (RANGES_KEEPING, "command-first-of-page", ONE_STRUCTURE),
        (NHCC_ELIDING, "command-writes-nothing", ONE_STRUCTURE),
        (NHCC_ELIDING, "command-forgets-dirty", ONE_STRUCTURE),
    ];
    for (variant, fault, size) in cases {
        let seen = explore(size, Variant { fault: Some(fault), ..variant });
        assert!(seen.is_err(), "{} with {fault}", variant.protocol);
    }
}
