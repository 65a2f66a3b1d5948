//! The queue of line accesses before the private cache.

use chorus_kernel::{MemoryOp, MemoryOpKind};
use chorus_protocol::access::{CoreOp, LoadRequest, Order, Scope, Txn};
use chorus_protocol::address::LineAddr;
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::line::ByteMask;
use chorus_protocol::registry::Values;

use super::super::context::{Context, Env, Handled, News};
use super::super::packets::AccessFacts;
use super::super::plan::{NEVER, time_of_parts};
use super::{Unit, lanes, lineless_request};
use crate::coalescer::{AccessKind, LineAccess};
use crate::compute_unit::Stalled;
use crate::distribution::Source;
use crate::sharing::Sharing;
use crate::stats::Counter;

impl<const W: usize> Unit<W> {
    /// Serves the access queue as soon as the private cache can take an access.
    #[inline(always)]
    pub(super) fn schedule_access(&mut self) {
        if self.next_access == NEVER
            && let Some(head) = self.accesses.front()
        {
            let free = match self.banks.is_one() {
                true => self.banks.free(0),
                false => self.banks.free(self.accesses.get(head).line),
            };
            self.next_access = self.clock.edge(self.now).max(free);
        }
    }

    /// Hands the head of the access queue to the private cache.
    pub(super) fn serve_accesses(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        self.next_access = NEVER;
        let Some(first) = self.accesses.front() else { return Ok(()) };
        let Some(id) = self.next_past_buffer(first, ctx, env) else { return Ok(()) };
        if ctx.port_is_full(env.plan, self.port(), self.now) {
            self.stall(Stalled::Port);
            self.retry_at_port(ctx);
            return Ok(());
        }
        if ctx.reads_ahead {
            self.read_accesses_ahead(env);
        }
        if !self.head_is_current {
            if self.load_hit(id, ctx, env) {
                return Ok(());
            }
            if !self.describe_head(id, ctx, env) {
                return Ok(());
            }
            if self.sectors.is_some() {
                self.drop_incomplete(id, ctx, env)?;
            }
        }
        if self.sectors.is_some() && self.waits_for_sectors(id, env) {
            self.head_is_current = true;
            self.stall(Stalled::Cache);
            return Ok(());
        }
        ctx.begin_step(env.plan, self.now, || self.try_of(id));
        let access = self.accesses.get(id);
        let (parts, stored) = (access.parts, self.stored_sectors(access.kind, env));
        ctx.facts = AccessFacts { parts, stored, ..AccessFacts::default() };
        let accepted = self.controller.step(&Input::Core(&self.head), &mut ctx.outbox)? == Outcome::Done;
        self.head_is_current = !accepted;
        self.note_wake(ctx, env);
        if accepted {
            self.accepted(id, ctx, env);
        } else {
            self.stall(Stalled::Cache);
        }
        self.route(ctx, env)?;
        if accepted {
            if self.waiting > 0 {
                self.serve_cache(ctx, env)?;
            }
            self.schedule_access();
        }
        Ok(())
    }

    /// Serves the access at the head of the queue if it is a load that the private cache can answer at once. This is
    /// the usual case, and it needs neither a request nor an outbox.
    #[inline(always)]
    fn load_hit(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> bool {
        let access = *self.accesses.get(id);
        if access.kind != AccessKind::Load || !env.plan.has_load_hits {
            return false;
        }
        let Some(line) = env.pages.physical(access.line, self.now) else { return false };
        let running = self.waves[usize::from(access.wave)].as_ref().expect("an access belongs to a wavefront");
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(access.slot);
        let is_plain = op.is_plain();
        let mask = match access.whole_line {
            true => ByteMask::full::<W>(),
            false if is_plain => ByteMask::of_words(words_of::<W>(op, access.lanes)),
            false => lanes::read::<W>(op, &access),
        };
        let mut needed = 0;
        if let Some(sectors) = &self.sectors {
            needed = sectors.of(mask);
            if sectors.lacks(access.line, needed) {
                return false;
            }
        }
        let load = LoadRequest { line, mask, order: op.order, scope: op.scope };
        ctx.tell_time(env.plan, self.now);
        let Some(data) = self.controller.load_hit(&load, ctx.outbox.now) else { return false };
        if needed != 0 {
            ctx.stats.add(Counter::L1LoadSectors, u64::from(needed.count_ones()));
        }
        if access.whole_line {
            op.data[..W].copy_from_slice(&data.0);
        } else if !is_plain {
            lanes::distribute(op, &access, data);
        } else {
            let mut rest = access.lanes;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                op.data[lane] = data.0[op.word(lane) as usize % W];
            }
        }
        drop(state);
        self.leave_queue(&access, ctx);
        count_access(AccessKind::Load, true, ctx);
        if env.plan.paths.is_some() {
            self.count_remote_access(line, access.line, false, ctx, env);
        }
        self.answer_at(self.now + env.plan.latencies.of_l1(self.is_cpu), id);
        self.use_queue_room(ctx, env);
        self.schedule_access();
        true
    }

    /// Plans to try the head of the access queue again when its port has sent something.
    pub(super) fn retry_at_port(&mut self, ctx: &mut Context<W>) {
        let departure = ctx.end(self.port()).egress.next_start();
        if departure != NEVER {
            self.next_access = self.next_access.min(self.clock.edge(departure.max(self.now) + 1));
        }
    }

    /// Tries the head of the access queue again at once, after a message has changed the private cache that had not
    /// accepted it.
    #[inline(always)]
    pub(super) fn retry_access_now(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        if !matches!(self.stalled, Some((_, Stalled::Cache))) || self.next_access != NEVER {
            return Ok(());
        }
        self.schedule_access();
        if self.next_access == self.now {
            return self.serve_accesses(ctx, env);
        }
        Ok(())
    }

    /// Tries the head of the access queue again if the reason of its stall may have changed.
    pub(super) fn retry_access(&mut self, changed: Stalled) {
        if self.stalled.is_some_and(|(_, stalled)| stalled == changed) {
            self.schedule_access();
        }
    }

    /// Updates counters and queues for an access that the private cache has accepted. Operations that it completes at
    /// once take its latency.
    fn accepted(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        let access = *self.accesses.get(id);
        self.leave_queue(&access, ctx);
        if access.parts > 0 {
            self.take_parts(&access, env);
        }
        let hit = !ctx.outbox.completions.is_empty();
        if self.sectors.is_some() {
            self.count_sectors(id, hit, ctx);
        }
        count_access(access.kind, hit, ctx);
        if env.plan.paths.is_some() && access.touches_line() {
            self.count_remote_access(self.head.line, access.line, access.kind == AccessKind::Load && !hit, ctx, env);
        }
        if matches!(access.kind, AccessKind::Store | AccessKind::Drain) {
            ctx.progress = ctx.progress.max(self.now);
            if env.plan.values == Values::Functional {
                env.memory.write_line(LineAddr(access.line), self.head.mask, &self.head.data);
            }
        }
        if access.kind == AccessKind::Store {
            self.store_posted(&access);
        }
        if hit {
            let done = self.now + env.plan.latencies.of_l1(self.is_cpu);
            ctx.answered_from = Source::Private;
            // What a fence takes that has a price includes its way to the cache.
            let is_fence = matches!(access.kind, AccessKind::Fence(..) | AccessKind::BarrierFence);
            let is_priced = is_fence && env.plan.config.fences.is_some();
            let mut completions = std::mem::take(&mut ctx.outbox.completions);
            for completion in &completions {
                if let Txn::Operation(id) = completion.txn {
                    if env.plan.is_observed {
                        self.note_hit(id, ctx);
                    }
                    if is_priced {
                        self.access_done(id, ctx, env);
                        continue;
                    }
                    self.record_values(id, completion, ctx, env);
                    self.answer_at(done, id);
                }
            }
            completions.clear();
            ctx.outbox.completions = completions;
        }
        self.use_queue_room(ctx, env);
    }

    /// Counts an access to a line that may lie in another GPU's memory. `load` says whether it is a load that misses in
    /// the private cache.
    #[inline(never)]
    fn count_remote_access(
        &mut self,
        line: LineAddr,
        virtual_line: u64,
        load: bool,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) {
        let topology = &env.plan.topology;
        if topology.gpu_of(topology.home_module(line)) == self.gpu {
            return;
        }
        let module = self.module % topology.gpms;
        let access = |sharing: &mut Sharing| sharing.access(virtual_line, self.gpu, module, u32::from(load));
        let shared = ctx.sharing.as_mut().map_or(0, access);
        ctx.stats.add(Counter::InterGpuLoads, u64::from(load));
        ctx.stats.add(Counter::InterGpuLoadsShared, u64::from(shared));
    }

    /// An atomic that has been accepted takes its bank for as long as its parts take.
    #[cold]
    fn take_parts(&mut self, access: &LineAccess, env: &Env<'_>) {
        let Some(percent) = env.plan.config.l1.atomic_percent else { return };
        let hundredths = u32::from(access.parts) * percent;
        self.banks.take(access.line, self.now + time_of_parts(hundredths, self.clock, &mut self.rest_of_parts));
    }

    /// Removes an access that has been accepted: the head of the queue, or an access of the store buffer before it.
    #[inline(always)]
    pub(super) fn leave_queue(&mut self, access: &LineAccess, ctx: &mut Context<W>) {
        self.banks.take(access.line, self.now + self.clock.cycles(1));
        if let Some((since, _)) = self.stalled.take() {
            ctx.stats.add(Counter::L1StallTicks, self.now - since);
        }
        match (access.kind, &mut self.store_buffer) {
            (AccessKind::Drain, Some(buffer)) => {
                buffer.leaving = None;
                buffer.remove(access.line);
            }
            (AccessKind::Follow { .. }, Some(buffer)) => {
                buffer.leaving = None;
                buffer.followed = true;
            }
            (_, buffer) => {
                self.accesses.accept();
                if let Some(buffer) = buffer {
                    buffer.followed = false;
                }
            }
        }
    }

    /// Lets a wavefront that waits for room in the access queue go on.
    #[inline]
    pub(super) fn use_queue_room(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        if self.waiting_for_queue != 0 {
            self.settle(ctx);
            self.wake_for_queue(ctx, env);
            self.plan_issue();
        }
    }

    /// Counts an accepted access of a store. With the last one, the instruction is over for its wavefront.
    pub(super) fn store_posted(&mut self, access: &LineAccess) {
        let running = self.wave(usize::from(access.wave));
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(access.slot);
        op.accesses -= 1;
        if op.accesses == 0 {
            state.complete_memory(access.slot);
        }
    }

    /// Makes the request to the private cache for the access at the head of the queue. Returns whether it could: a page
    /// that nobody has touched has to be placed first.
    pub(super) fn describe_head(&mut self, id: u32, ctx: &mut Context<W>, env: &Env<'_>) -> bool {
        let access = *self.accesses.get(id);
        let fence = match access.kind {
            AccessKind::Fence(order, scope) => Some((order, scope)),
            AccessKind::BarrierFence => Some((Order::AcqRel, Scope::WorkGroup)),
            // The stores of a wavefront reach the others when its kernel ends. Until then they only leave in order.
            AccessKind::End => Some((Order::Release, Scope::WorkGroup)),
            AccessKind::Load
            | AccessKind::Store
            | AccessKind::Atomic
            | AccessKind::Drain
            | AccessKind::Follow { .. } => None,
        };
        if let Some((order, scope)) = fence {
            self.head = lineless_request(CoreOp::Fence, order, scope, access.wave, Txn::Operation(id));
            return true;
        }
        let Some(line) = env.pages.physical(access.line, self.now) else {
            self.touch(access.line, ctx, env);
            return false;
        };
        let running = self.waves[usize::from(access.wave)].as_ref().expect("an access belongs to a wavefront");
        let state = running.task.state().borrow();
        let op = state.memory_op(access.slot);
        let head = &mut self.head;
        head.op = match op.kind {
            MemoryOpKind::Load => CoreOp::Load,
            MemoryOpKind::Store => CoreOp::Store,
            MemoryOpKind::Atomic(atomic) => CoreOp::Atomic(atomic),
        };
        (head.wave, head.txn, head.order, head.scope, head.line) =
            (access.wave, Txn::Operation(id), op.order, op.scope, line);
        // Loads carry no data, so the data of an earlier access may stay in the request.
        let carries_data = op.kind != MemoryOpKind::Load;
        if access.whole_line {
            head.mask = ByteMask::full::<W>();
            if carries_data {
                head.data.0.copy_from_slice(&op.data[..W]);
            }
            return true;
        }
        if !op.is_plain() || access.is_combined {
            let lane = access.lanes.trailing_zeros() as usize;
            head.op = op.atomic_of(lane).map_or(head.op, CoreOp::Atomic);
            head.mask = match carries_data {
                true => lanes::collect(op, &access, &mut head.data),
                false => lanes::read::<W>(op, &access),
            };
            return true;
        }
        let mut words = 0;
        let mut rest = access.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let word = op.word(lane) as usize % W;
            words |= 1 << word;
            head.data.0[word] = op.data[lane];
        }
        head.mask = ByteMask::of_words(words);
        true
    }

    /// Asks the host to place the page of a line. The access waits until this is done.
    #[cold]
    fn touch(&mut self, line: u64, ctx: &mut Context<W>, env: &Env<'_>) {
        self.stall(Stalled::Page);
        ctx.reports.push((self.now, self.agent, News::Touched { page: env.pages.page_of(line) }));
    }
}

/// The words of a line that lanes of an instruction touch, one bit each.
pub(super) fn words_of<const W: usize>(op: &MemoryOp, lanes: u32) -> u32 {
    let mut words = 0;
    let mut rest = lanes;
    while rest != 0 {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        words |= 1 << (op.word(lane) as usize % W);
    }
    words
}

#[inline]
fn count_access<const W: usize>(kind: AccessKind, hit: bool, ctx: &mut Context<W>) {
    match kind {
        AccessKind::Load => {
            ctx.stats.add(Counter::L1Loads, 1);
            ctx.stats.add(if hit { Counter::L1LoadHits } else { Counter::L1LoadMisses }, 1);
        }
        AccessKind::Store | AccessKind::Drain => ctx.stats.add(Counter::L1Stores, 1),
        AccessKind::Atomic => ctx.stats.add(Counter::L1Atomics, 1),
        AccessKind::Fence(..) | AccessKind::BarrierFence | AccessKind::End | AccessKind::Follow { .. } => return,
    }
    ctx.stats.add(Counter::L1Accesses, 1);
}
