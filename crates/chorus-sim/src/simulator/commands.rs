//! Commands of the command processor to shared banks between kernels (CPElide paper, section III-C, Figure 7).
//!
//! For a release, a bank walks its tags, a set in each cycle, and writes dirty lines back as fast as its port to the
//! next level takes them. For an acquire, a bank drops everything at once, after the same walk if any line is dirty.
//! Commands of the Chiplet Coherence Table cross from the global command processor to the local ones. Their
//! acknowledgements come back, and the kernel waits until its launch is enabled. The local command processors give the
//! commands of every kernel's end and beginning on their own.

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope};
use chorus_protocol::address::LineAddr;
use chorus_protocol::chiplet_table::state::Operation;
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::line::ByteMask;
use chorus_protocol::message::{Channel, Message};
use chorus_protocol::registry::Commands;

use super::boundary::{name_of, stream_of};
use super::launch::Phase;
use super::{Event, SimError, Simulator, lineless_request};
use crate::clock::Ticks;
use crate::command_processor::Orders;
use crate::stats::Counter;

/// The part of a bank that a command concerns.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    /// The page that begins with a line.
    Page(LineAddr),
}

impl<const W: usize> Simulator<'_, W> {
    /// Works out the commands before a kernel, and gives them at the time at which the kernel could begin without them.
    pub(super) fn prepare(&mut self, stream: usize) {
        let launch = &mut self.launches[stream];
        let (kernel, modules) = (launch.kernel.clone(), launch.modules.clone());
        let (orders, known) = self.processor.prepare(stream, &kernel, &modules, &self.pages, self.wheel.now());
        // The commands of the table are carried out while the kernel is being launched.
        let time = self.clocks.core.edge(known);
        launch.preparing_since = launch.starts;
        if self.processor.commands() != Commands::EveryKernel {
            let usual = 2 * modules.len() as u32;
            let performed = orders.acquires.count_ones() + orders.modules().count_ones();
            self.stats.add(Counter::L2OperationsElided, u64::from(usual.saturating_sub(performed)));
        }
        let messages = self.crossing(orders.modules());
        self.order(stream, orders, time + messages);
    }

    /// Gives orders at `time`. They are carried out as many times as the configuration says.
    fn order(&mut self, stream: usize, orders: Orders, time: Ticks) {
        let launch = &mut self.launches[stream];
        launch.rounds = if orders.modules() == 0 { 0 } else { self.config.command_processor.sets };
        launch.orders = orders;
        self.wheel.schedule(time, Event::Command(stream as u8));
    }

    /// The latency of commands from the global command processor to the local ones of `modules`.
    fn crossing(&self, modules: u64) -> Ticks {
        let processor = &self.config.command_processor;
        let cycles = match (self.processor.commands(), modules.count_ones()) {
            (Commands::None | Commands::EveryKernel, _) | (_, 0) => 0,
            (_, 1) => processor.unicast_cycles,
            (_, _) => processor.broadcast_cycles,
        };
        self.clocks.core.cycles(u64::from(cycles))
    }

    /// The latency of an acknowledgement to the global command processor.
    fn acknowledgement(&self) -> Ticks {
        self.crossing(1)
    }

    /// The commands of a stream have arrived at their modules.
    pub(super) fn command_all(&mut self, stream: usize) -> Result<(), SimError> {
        let orders = self.launches[stream].orders.clone();
        if orders.modules() == 0 {
            return self.commanded(stream);
        }
        self.launches[stream].rounds -= 1;
        // This loop counts as one answer itself, so that no answer is the last one before all commands are given.
        self.launches[stream].commands_left = 1;
        for module in 0..self.topology.modules() {
            let whole = |set: u64| set >> module & 1 == 1;
            if whole(orders.acquires) {
                self.stats.add(Counter::L2Acquires, 1);
                self.command_module(stream, module, Operation::Acquire, &[Part::Whole])?;
            } else if whole(orders.releases) {
                self.stats.add(Counter::L2Releases, 1);
                self.command_module(stream, module, Operation::Release, &[Part::Whole])?;
            }
        }
        for part in &orders.parts {
            let counter = match part.operation {
                Operation::Acquire => Counter::L2Acquires,
                Operation::Release => Counter::L2Releases,
            };
            self.stats.add(counter, 1);
            let pages = part.ranges.iter().flat_map(|lines| self.pages.touched(lines.clone()));
            let pages: Vec<Part> = pages.map(Part::Page).collect();
            self.command_module(stream, part.chiplet as u16, part.operation, &pages)?;
        }
        self.command_done(stream)
    }

    /// Commands every bank of a module.
    fn command_module(
        &mut self,
        stream: usize,
        module: u16,
        operation: Operation,
        parts: &[Part],
    ) -> Result<(), SimError> {
        let banks = self.topology.banks_per_module();
        for bank in module * banks..(module + 1) * banks {
            for &part in parts {
                self.command(stream, bank, operation, part)?;
            }
        }
        Ok(())
    }

    /// Gives a bank a command. The bank takes no other input until it has walked through the part that the command
    /// concerns.
    fn command(&mut self, stream: usize, bank: u16, operation: Operation, part: Part) -> Result<(), SimError> {
        let (op, order) = match operation {
            Operation::Acquire => (CoreOp::KernelBegin, Order::Acquire),
            Operation::Release => (CoreOp::KernelEnd, Order::Release),
        };
        let request = lineless_request(op, order, Scope::System, 0, name_of(stream));
        let request = match part {
            Part::Whole => request,
            Part::Page(line) => CoreRequest { line, mask: ByteMask::full::<W>(), ..request },
        };
        self.tell_time();
        let controller = &mut self.banks[usize::from(bank)].controller;
        if controller.step(&Input::Core(&request), &mut self.outbox)? != Outcome::Done {
            let text = format!("bank {bank} cannot take a command of the command processor");
            return Err(SimError::Unsupported(text));
        }
        self.launches[stream].commands_left += 1;
        let done = self.hand_on(bank, operation, part);
        if !self.outbox.completions.is_empty() {
            self.outbox.completions.clear();
            self.wheel.schedule(done, Event::CommandDone(stream as u8));
        }
        Ok(())
    }

    /// Sends the messages that a command caused, spread over the bank's walk. Returns the time at which the last of
    /// them has reached the next level.
    fn hand_on(&mut self, bank: u16, operation: Operation, part: Part) -> Ticks {
        let messages = std::mem::take(&mut self.outbox.messages);
        let lines = messages.iter().filter(|message| self.goes_to_memory(message)).count() as u64;
        self.stats.add(Counter::LinesWrittenBack, lines);
        let walk = self.walk_cycles(operation, part, lines);
        let free = self.banks[usize::from(bank)].free.max(self.clocks.l2.edge(self.wheel.now()));
        let duration = self.clocks.core.cycles(walk);
        let mut sent = 0;
        for message in &messages {
            sent += u64::from(self.goes_to_memory(message));
            let time = free + (duration * sent).checked_div(lines).unwrap_or(0);
            self.post_later(message, time);
        }
        self.outbox.messages = messages;
        self.outbox.messages.clear();
        self.banks[usize::from(bank)].free = free + duration;
        self.schedule_serve(bank);
        let latency = if lines > 0 { self.config.l3.latency_cycles } else { 0 };
        free + duration + self.clocks.core.cycles(u64::from(latency))
    }

    fn goes_to_memory(&self, message: &Message<W>) -> bool {
        self.specs[usize::from(message.kind.0)].channel == Channel::Memory
    }

    /// Core cycles of a walk through a bank that finds this many dirty lines.
    fn walk_cycles(&self, operation: Operation, part: Part, lines: u64) -> u64 {
        let per_line = u64::from(self.config.l1.line_bytes.div_ceil(self.config.l3.bytes_per_cycle));
        let sets = match part {
            Part::Page(_) => u64::from(self.pages.page_lines().div_ceil(self.config.l2.banks)),
            // Without dirty lines an acquire clears all valid bits at once.
            Part::Whole if operation == Operation::Acquire && lines == 0 => 1,
            Part::Whole => u64::from(self.config.l2.bank_bytes / self.config.l1.line_bytes / self.config.l2.ways),
        };
        sets.max(lines * per_line)
    }

    /// Ends commands that a bank has completed after messages of others.
    #[inline]
    pub(super) fn finish_commands(&mut self) {
        while let Some(completion) = self.outbox.completions.pop() {
            if let Some(stream) = stream_of(completion.txn) {
                self.wheel.schedule(self.wheel.now(), Event::CommandDone(stream as u8));
            }
        }
    }

    /// Counts a command that a bank has carried out.
    pub(super) fn command_done(&mut self, stream: usize) -> Result<(), SimError> {
        self.progress = self.wheel.now();
        let launch = &mut self.launches[stream];
        launch.commands_left -= 1;
        if launch.commands_left > 0 {
            return Ok(());
        }
        if launch.rounds > 0 {
            let messages = self.acknowledgement() + self.crossing(self.launches[stream].orders.modules());
            self.wheel.schedule(self.wheel.now() + messages, Event::Command(stream as u8));
            return Ok(());
        }
        self.commanded(stream)
    }

    /// All commands of a stream have been carried out: its kernel begins, or is over.
    fn commanded(&mut self, stream: usize) -> Result<(), SimError> {
        let now = self.clocks.core.edge(self.wheel.now());
        let launch = &self.launches[stream];
        self.stats.add(Counter::BoundaryTicks, now.saturating_sub(launch.preparing_since));
        if launch.phase == Phase::Releasing {
            self.is_over(stream);
            return Ok(());
        }
        let enabled = if launch.orders.modules() == 0 {
            now
        } else {
            let modules = launch.modules.clone().fold(0, |set, module| set | 1 << module);
            now + self.acknowledgement() + self.crossing(modules)
        };
        let enabled = launch.starts.max(enabled);
        let launch = &mut self.launches[stream];
        launch.phase = Phase::Beginning;
        launch.starts = enabled;
        self.tell_all(stream)
    }

    /// The private caches of a kernel that has ended have answered. The commands after it are carried out before it is
    /// over.
    pub(super) fn release_after(&mut self, stream: usize) {
        let orders = self.processor.after(&self.launches[stream].modules);
        if orders.modules() == 0 {
            self.is_over(stream);
            return;
        }
        self.release(stream, orders);
    }

    fn release(&mut self, stream: usize, orders: Orders) {
        let now = self.clocks.core.edge(self.wheel.now());
        let launch = &mut self.launches[stream];
        launch.phase = Phase::Releasing;
        launch.preparing_since = now;
        let time = now + self.crossing(orders.modules());
        self.order(stream, orders, time);
    }

    /// Carries out the final commands when all programs have ended.
    pub(crate) fn finish(&mut self) -> Result<(), SimError> {
        let orders = self.processor.finally();
        if orders.modules() == 0 || self.launches.is_empty() {
            return Ok(());
        }
        self.release(0, orders);
        self.run_until_over().map(|_| ())
    }
}
