//! Commands of the command processor to shared banks between kernels (CPElide paper, section III-C, Figure 7).
//!
//! Commands of the Chiplet Coherence Table cross from the global command processor to the local ones. Their
//! acknowledgements come back, and the kernel waits until its launch is enabled. The local command processors give the
//! commands of every kernel's end and beginning on their own.

use std::sync::PoisonError;

use chorus_protocol::chiplet_table::state::Operation;
use chorus_protocol::registry::Commands;

use super::super::bank::{BankOrder, Part};
use super::super::launch::Phase;
use super::{Event, Host, Order};
use crate::clock::Ticks;
use crate::command_processor::Orders;
use crate::stats::Counter;

impl Host<'_> {
    /// Works out the commands before a kernel, and gives them at the time at which the kernel could begin without them.
    pub(super) fn prepare(&mut self, stream: usize) {
        let launch = &mut self.launches[stream];
        let (job, modules) = (launch.job.clone(), launch.modules.clone());
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let (orders, known) = self.processor.prepare(stream, &job.kernel, &modules, &pages, self.now);
        drop(pages);
        // The commands of the table are carried out while the kernel is being launched.
        let time = self.plan.clocks.core.edge(known);
        launch.preparing_since = launch.starts;
        if self.processor.commands() != Commands::EveryKernel {
            let usual = 2 * modules.len() as u32;
            let performed = orders.acquires.count_ones() + orders.modules().count_ones();
            self.stats.add(Counter::L2OperationsElided, u64::from(usual.saturating_sub(performed)));
        }
        let messages = self.processor_crossing(orders.modules());
        self.give(stream, orders, time + messages);
    }

    /// Gives orders at `time`. They are carried out as many times as the configuration says.
    fn give(&mut self, stream: usize, orders: Orders, time: Ticks) {
        let launch = &mut self.launches[stream];
        launch.rounds = if orders.modules() == 0 { 0 } else { self.plan.config.command_processor.sets };
        launch.orders = orders;
        // A bank gets a command one span after it is given.
        let given = time.saturating_sub(self.plan.span).max(self.now);
        self.schedule(given, Event::Command(stream as u8));
    }

    /// The latency of commands from the global command processor to the local ones of `modules`.
    fn processor_crossing(&self, modules: u64) -> Ticks {
        let processor = &self.plan.config.command_processor;
        let cycles = match (self.processor.commands(), modules.count_ones()) {
            (Commands::None | Commands::EveryKernel, _) | (_, 0) => 0,
            (_, 1) => processor.unicast_cycles,
            (_, _) => processor.broadcast_cycles,
        };
        self.plan.clocks.core.cycles(u64::from(cycles))
    }

    /// The latency of an acknowledgement to the global command processor.
    fn acknowledgement(&self) -> Ticks {
        self.processor_crossing(1)
    }

    /// Gives every bank the commands of a stream.
    pub(super) fn command_all(&mut self, stream: usize) {
        let orders = self.launches[stream].orders.clone();
        if orders.modules() == 0 {
            self.commanded(stream);
            return;
        }
        self.launches[stream].rounds -= 1;
        self.launches[stream].commands_left = 0;
        for module in 0..self.plan.topology.modules() {
            let whole = |set: u64| set.checked_shr(u32::from(module)).unwrap_or(0) & 1 == 1;
            if whole(orders.acquires) {
                self.stats.add(Counter::L2Acquires, 1);
                self.command_module(stream, module, Operation::Acquire, &[Part::Whole]);
            } else if whole(orders.releases) {
                self.stats.add(Counter::L2Releases, 1);
                self.command_module(stream, module, Operation::Release, &[Part::Whole]);
            }
        }
        for part in &orders.parts {
            let counter = match part.operation {
                Operation::Acquire => Counter::L2Acquires,
                Operation::Release => Counter::L2Releases,
            };
            self.stats.add(counter, 1);
            let table = self.pages();
            let pages = part.ranges.iter().flat_map(|lines| table.touched(lines.clone()));
            let pages: Vec<Part> = pages.map(Part::Page).collect();
            drop(table);
            self.command_module(stream, part.chiplet as u16, part.operation, &pages);
        }
        if self.launches[stream].commands_left == 0 {
            self.round_done(stream);
        }
    }

    /// Commands every bank of a module.
    fn command_module(&mut self, stream: usize, module: u16, operation: Operation, parts: &[Part]) {
        let banks = self.plan.topology.banks_per_module();
        for bank in module * banks..(module + 1) * banks {
            for &part in parts {
                self.launches[stream].commands_left += 1;
                let order = BankOrder { stream: stream as u8, operation, part };
                self.order(self.now, self.plan.topology.l2(bank), Order::Bank(order));
            }
        }
    }

    /// Counts a command that a bank has carried out.
    pub(super) fn command_done(&mut self, stream: usize) {
        self.progress = self.progress.max(self.now);
        let launch = &mut self.launches[stream];
        launch.commands_left -= 1;
        if launch.commands_left == 0 {
            self.round_done(stream);
        }
    }

    /// All banks have carried out the commands once.
    fn round_done(&mut self, stream: usize) {
        if self.launches[stream].rounds > 0 {
            let messages = self.acknowledgement() + self.processor_crossing(self.launches[stream].orders.modules());
            let given = (self.now + messages).saturating_sub(self.plan.span).max(self.now);
            self.schedule(given, Event::Command(stream as u8));
            return;
        }
        self.commanded(stream);
    }

    /// All commands of a stream have been carried out: its kernel begins, or is over.
    fn commanded(&mut self, stream: usize) {
        let now = self.plan.clocks.core.edge(self.now);
        let launch = &self.launches[stream];
        self.stats.add(Counter::BoundaryTicks, now.saturating_sub(launch.preparing_since));
        if launch.phase == Phase::Releasing {
            self.is_over(stream);
            return;
        }
        let enabled = if launch.orders.modules() == 0 {
            now
        } else {
            let modules = launch.modules.clone().fold(0, |set, module| set | 1 << module);
            now + self.acknowledgement() + self.processor_crossing(modules)
        };
        let launch = &mut self.launches[stream];
        launch.starts = launch.starts.max(enabled);
        self.begin(stream);
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
        let now = self.plan.clocks.core.edge(self.now);
        let launch = &mut self.launches[stream];
        launch.phase = Phase::Releasing;
        launch.preparing_since = now;
        let time = now + self.processor_crossing(orders.modules());
        self.give(stream, orders, time);
    }

    /// Gives the final commands when all programs have ended at `now`. Returns whether there are any.
    pub(crate) fn finish(&mut self, now: Ticks, reached: Ticks) -> bool {
        let orders = self.processor.finally();
        if orders.modules() == 0 || self.launches.is_empty() {
            return false;
        }
        (self.now, self.earliest) = (now, reached);
        self.release(0, orders);
        true
    }
}
