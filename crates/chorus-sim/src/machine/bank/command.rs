//! Commands of the command processor to a bank between kernels (CPElide paper, section III-C, Figure 7).
//!
//! For a release, a bank walks its tags, a set in each cycle, and writes dirty lines back as fast as its port to the
//! next level takes them. For an acquire, a bank drops everything at once, after the same walk if any line is dirty.

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::LineAddr;
use chorus_protocol::chiplet_table::state::Operation;
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::line::ByteMask;
use chorus_protocol::message::{Channel, Message};
use chorus_protocol::save::{self, Save};

use super::super::SimError;
use super::super::context::{Context, Env, Handled, News};
use super::super::plan::{Plan, payload_bytes};
use super::super::unit::lineless_request;
use super::Bank;
use crate::clock::Ticks;
use crate::observe::{Cause, Trigger};
use crate::stats::Counter;

/// The part of a bank that a command concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) enum Part {
    /// All of the bank.
    Whole,
    /// The page that begins with a line.
    Page(LineAddr),
}

/// A command for a bank, on behalf of a stream's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(crate) struct BankOrder {
    pub(crate) stream: u8,
    pub(crate) operation: Operation,
    pub(crate) part: Part,
}

impl<const W: usize> Bank<W> {
    /// Carries out a command. The bank takes no other input until it has walked through the part that the command
    /// concerns.
    pub(super) fn command(&mut self, order: BankOrder, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        let (op, memory_order) = match order.operation {
            Operation::Acquire => (CoreOp::KernelBegin, Order::Acquire),
            Operation::Release => (CoreOp::KernelEnd, Order::Release),
        };
        let request = lineless_request(op, memory_order, Scope::System, 0, Txn::Boundary(order.stream));
        let request = match order.part {
            Part::Whole => request,
            Part::Page(line) => CoreRequest { line, mask: ByteMask::full::<W>(), ..request },
        };
        ctx.begin_step(env.plan, self.now, || Trigger::Alone { at: self.agent, cause: Cause::Boundary });
        if self.controller.step(&Input::Core(&request), &mut ctx.outbox)? != Outcome::Done {
            let text = format!("bank {} cannot take a command of the command processor", self.agent.0);
            return Err(Box::new(SimError::Unsupported(text)));
        }
        let done = self.hand_on(order, ctx, env);
        if !ctx.outbox.completions.is_empty() {
            ctx.outbox.completions.clear();
            ctx.reports.push((done, self.agent, News::Commanded { stream: order.stream }));
        }
        if ctx.instant.is_empty() { Ok(()) } else { super::Client::deliver_instant(self, ctx, env) }
    }

    /// Sends the messages that a command caused, spread over the bank's walk. Returns the time at which the last of
    /// them has reached the next level.
    fn hand_on(&mut self, order: BankOrder, ctx: &mut Context<W>, env: &Env<'_>) -> Ticks {
        let mut messages = std::mem::take(&mut ctx.outbox.messages);
        let to_memory = |message: &Message<W>| env.plan.spec(message).channel == Channel::Memory;
        let lines = messages.iter().filter(|message| to_memory(message)).count() as u64;
        ctx.stats.add(Counter::LinesWrittenBack, lines);
        let free = self.free.max(env.plan.clocks.l2.edge(self.now));
        let duration = env.plan.clocks.core.cycles(walk_cycles(order, lines, env));
        // A message leaves after the lookup of its line at the earliest.
        let earliest = self.now + env.plan.latencies.l2_tag;
        let mut sent = 0;
        for message in &messages {
            let is_line = to_memory(message);
            sent += u64::from(is_line);
            let time = free + (duration * sent).checked_div(lines).unwrap_or(0);
            let (spec, ready) = (env.plan.spec(message), if is_line { time } else { time.max(earliest) });
            self.post(message, spec, payload_bytes(message, spec), ready, ctx, env);
        }
        messages.clear();
        ctx.outbox.messages = messages;
        self.free = free + duration;
        self.schedule_serve(env);
        let (_, latency) = next_level(env.plan);
        free + duration + if lines > 0 { latency } else { 0 }
    }
}

/// Core cycles of a walk through a bank that finds this many dirty lines.
fn walk_cycles(order: BankOrder, lines: u64, env: &Env<'_>) -> u64 {
    let config = env.plan.config;
    let per_line = u64::from(config.l1.line_bytes.div_ceil(next_level(env.plan).0));
    let sets = match order.part {
        Part::Page(_) => u64::from(env.pages.page_lines().div_ceil(config.l2.banks)),
        // Without dirty lines an acquire clears all valid bits at once.
        Part::Whole if order.operation == Operation::Acquire && lines == 0 => 1,
        Part::Whole => u64::from(config.l2.bank_bytes / config.l1.line_bytes / config.l2.ways),
    };
    sets.max(lines * per_line)
}

/// Bytes of lines that a bank hands on per cycle, and the latency until they are there.
fn next_level(plan: &Plan<'_>) -> (u32, Ticks) {
    let dram = &plan.config.dram;
    match plan.config.memory_side_l3() {
        Some((_, way)) => (way.bytes_per_cycle, plan.latencies.l3),
        None => (dram.bytes_per_cycle, plan.clocks.dram.cycles(u64::from(dram.latency_cycles))),
    }
}
