//! The global command processor decides what the L2s do before a kernel begins, and when it has decided (CPElide paper,
//! sections III-C and IV-B).
//!
//! Kernels are queued before they can begin. As many kernels of a stream are queued as the Chiplet Coherence Table is
//! sized for (section III-A), and the command processor works on them meanwhile. So the work on the table delays the
//! first kernel. It delays other kernels only where kernels are so short that a queue of them takes less time than the
//! work on one.

use std::collections::VecDeque;
use std::ops::Range;

use chorus_kernel::{AccessMode, Kernel, Share};
use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::{Access, ChipletTable, Holdings, Limits, Mode, RangeOperation};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::registry::{Commands, Protocol};
use chorus_protocol::save::{self, Restore, Save};
use chorus_system::{Holds, SystemConfig};

use crate::clock::{ClockDomains, Ticks};
use crate::pages::Pages;

/// Data structures of a kernel whose work takes `elide_ns` (section IV-B: four on average).
const STRUCTURES: i64 = 4;

/// Acquires and releases that L2s perform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Save)]
pub struct Orders {
    /// Modules whose L2 is emptied, one bit each.
    pub acquires: u64,
    /// Modules whose L2 is written back.
    pub releases: u64,
    /// Operations on parts of L2s instead of whole ones. Addresses are virtual lines.
    pub parts: Vec<RangeOperation>,
}

impl Orders {
    /// Modules that have something to do, one bit each.
    pub fn modules(&self) -> u64 {
        let parts = self.parts.iter().fold(0, |modules, part| modules | 1 << part.chiplet);
        self.acquires | self.releases | parts
    }
}

/// The data that a kernel may access: the structures that it declares, or any data if it declares none.
#[derive(Clone, Debug, Save)]
enum KernelAccesses {
    Declared(Vec<Access>),
    Any,
}

/// The global command processor of a machine.
#[derive(Debug, Restore)]
pub struct CommandProcessor {
    #[save(built)]
    commands: Commands,
    #[save(built)]
    modules: u16,
    /// Words of a line. The addresses of the table are lines because L2s hold lines. Chiplets that write different
    /// words of one line conflict.
    #[save(built)]
    line_words: u64,
    table: ChipletTable,
    /// The most rows of the table that were in use.
    rows_max: usize,
    /// Data structures that kernels declared, all of them together.
    structures: usize,
    /// The most data structures that one kernel declared.
    structures_max: usize,
    #[save(built)]
    work: Work,
    /// Kernels of a stream that are queued at the same time.
    #[save(built)]
    queue: usize,
    /// When the last kernels of each stream could begin, as many as are queued.
    began: Vec<VecDeque<Ticks>>,
    /// The accesses that the running kernel of each stream declares.
    running: Vec<Option<KernelAccesses>>,
}

/// How long work on the table takes.
#[derive(Clone, Copy, Debug)]
struct Work {
    base: Ticks,
    /// The time of one data structure more or less than the usual number: a row is read and written.
    per_structure: Ticks,
}

impl CommandProcessor {
    /// The command processor of a machine whose L2s hold nothing.
    pub fn new(
        config: &SystemConfig,
        clocks: &ClockDomains,
        protocol: &(impl Protocol + ?Sized),
        parameters: &Parameters,
    ) -> CommandProcessor {
        let modules = config.hierarchy.modules() as u16;
        let processor = &config.command_processor;
        let limits = Limits { rows: processor.rows as usize, per_kernel: processor.structures_per_kernel as usize };
        let holdings = match processor.holds {
            Holds::OwnMemory if !protocol.keeps_remote(parameters) => Holdings::OwnMemory,
            Holds::OwnMemory | Holds::Accessed => Holdings::Copies,
        };
        let ticks = |ns: u64| ns * clocks.ticks_per_microsecond() / 1000;
        let memory_ns = 1000 * u64::from(processor.memory_cycles) / u64::from(processor.mhz);
        let work = Work { base: ticks(u64::from(processor.elide_ns)), per_structure: ticks(2 * memory_ns) };
        CommandProcessor {
            // One L2 is shared by all: there is nobody to synchronise it with.
            commands: if modules == 1 { Commands::None } else { protocol.commands(parameters) },
            modules,
            line_words: u64::from(config.l1.line_bytes / 4),
            table: ChipletTable::new(usize::from(modules), limits, holdings),
            rows_max: 0,
            structures: 0,
            structures_max: 0,
            work,
            queue: (processor.rows / processor.structures_per_kernel).max(1) as usize,
            began: Vec::new(),
            running: Vec::new(),
        }
    }

    /// When and how the command processor gives commands to banks.
    pub fn commands(&self) -> Commands {
        self.commands
    }

    /// Whether the commands to several modules depend on what kernels declare.
    pub fn believes_kernels(&self) -> bool {
        matches!(self.commands, Commands::Table | Commands::TableOfRanges)
    }

    /// The most rows of the table that were in use.
    pub fn rows_max(&self) -> usize {
        self.rows_max
    }

    /// Data structures that kernels declared, all of them together and the most of one.
    pub fn structures(&self) -> (usize, usize) {
        (self.structures, self.structures_max)
    }

    /// The orders that have to be carried out before the next kernel of a stream may begin on `modules`, and the time
    /// at which they are known. The kernel itself may begin at `now`.
    pub fn prepare(
        &mut self,
        stream: usize,
        kernel: &Kernel,
        modules: &Range<u16>,
        pages: &Pages,
        now: Ticks,
    ) -> (Orders, Ticks) {
        match self.commands {
            Commands::None => (Orders::default(), now),
            Commands::EveryKernel => (Orders { acquires: bits(modules), ..Orders::default() }, now),
            Commands::Table | Commands::TableOfRanges => {
                let declared = self.declared(kernel, modules);
                self.structures += kernel.declares().len();
                self.structures_max = self.structures_max.max(kernel.declares().len());
                let known = self.work_on(stream, kernel.declares().len(), now);
                self.table.forget(|module, lines| pages.in_memory_of(module as u16, lines).collect());
                let orders = self.consult(&declared);
                self.rows_max = self.rows_max.max(self.table.rows());
                self.running.resize(self.running.len().max(stream + 1), None);
                self.running[stream] = Some(declared);
                self.remind(&orders, stream);
                (orders, known)
            }
        }
    }

    /// The kernel of a stream is over.
    pub fn over(&mut self, stream: usize) {
        if let Some(declared) = self.running.get_mut(stream) {
            *declared = None;
        }
    }

    /// The orders that have to be carried out when a kernel on `modules` has ended.
    pub fn after(&self, modules: &Range<u16>) -> Orders {
        let releases = if self.commands == Commands::EveryKernel { bits(modules) } else { 0 };
        Orders { releases, ..Orders::default() }
    }

    /// The orders that have to be carried out when all programs have ended (section V-B: all but the final operations
    /// can be left out).
    pub fn finally(&self) -> Orders {
        Orders { releases: self.table.dirty(), ..Orders::default() }
    }

    /// The time at which the work on a kernel is done. The kernel declares this many data structures and may begin at
    /// `now`.
    fn work_on(&mut self, stream: usize, structures: usize, now: Ticks) -> Ticks {
        self.began.resize(self.began.len().max(stream + 1), VecDeque::new());
        let began = &mut self.began[stream];
        let queued = began.front().copied().unwrap_or(now);
        if began.len() == self.queue {
            began.pop_front();
        }
        began.push_back(now);
        let Work { base, per_structure } = self.work;
        let work = base.saturating_add_signed((structures as i64 - STRUCTURES) * per_structure as i64);
        now.max(queued + work)
    }

    /// Derives orders from the table and updates it.
    fn consult(&mut self, declared: &KernelAccesses) -> Orders {
        match declared {
            KernelAccesses::Declared(accesses) if self.commands == Commands::TableOfRanges => {
                Orders { parts: self.table.launch_by_ranges(accesses), ..Orders::default() }
            }
            KernelAccesses::Declared(accesses) => {
                let plan = self.table.launch(accesses);
                Orders { acquires: plan.acquires, releases: plan.releases & !plan.acquires, parts: Vec::new() }
            }
            KernelAccesses::Any => {
                let plan = self.table.launch_undeclared();
                Orders { acquires: plan.acquires, releases: 0, parts: Vec::new() }
            }
        }
    }

    /// Tells the table that the kernels of other streams continue to access what they declared, after an L2 was written
    /// back or emptied.
    fn remind(&mut self, orders: &Orders, stream: usize) {
        if orders.modules() == 0 {
            return;
        }
        for (_, declared) in self.running.iter().enumerate().filter(|(other, _)| *other != stream) {
            match declared {
                Some(KernelAccesses::Declared(accesses)) => self.table.go_on(accesses),
                Some(KernelAccesses::Any) => {
                    self.table.launch_undeclared();
                }
                None => {}
            }
        }
    }

    /// The accesses that a kernel on `modules` declares. Chiplets without work-groups access nothing.
    fn declared(&self, kernel: &Kernel, modules: &Range<u16>) -> KernelAccesses {
        if kernel.declares().is_empty() {
            return KernelAccesses::Any;
        }
        let share = |chiplet: u16| Share {
            index: u32::from(chiplet - modules.start),
            count: modules.len() as u32,
            work_groups: kernel.work_groups,
        };
        let works = |chiplet: &u16| modules.contains(chiplet) && !share(*chiplet).groups().is_empty();
        let accesses = kernel.declares().iter().map(|annotation| Access {
            structure: self.lines(&annotation.words),
            mode: match annotation.mode {
                AccessMode::Read => Mode::Read,
                AccessMode::ReadWrite => Mode::ReadWrite,
            },
            by_chiplet: (0..self.modules)
                .map(|chiplet| match Some(chiplet).filter(works) {
                    Some(chiplet) => {
                        annotation.words_of(share(chiplet)).iter().map(|words| self.lines(words)).collect()
                    }
                    None => Ranges::EMPTY,
                })
                .collect(),
        });
        KernelAccesses::Declared(accesses.collect())
    }

    /// The lines that words lie in.
    fn lines(&self, words: &Range<usize>) -> Range<u64> {
        words.start as u64 / self.line_words..(words.end as u64).div_ceil(self.line_words)
    }
}

/// A bit for each of `modules`.
fn bits(modules: &Range<u16>) -> u64 {
    modules.clone().fold(0, |bits, module| bits | 1 << module)
}
