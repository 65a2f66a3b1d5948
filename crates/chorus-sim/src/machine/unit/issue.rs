//! The issue slot of a compute unit: which operation a wavefront issues, and what it waits for if it cannot.

use chorus_kernel::{MemoryOpKind, Operation, ReadOnlyWritten, Surroundings};

use super::super::SimError;
use super::super::context::{Context, Env, Handled};
use super::super::plan::NEVER;
use super::Unit;
use super::noting::note_sharing;
use crate::coalescer::{AccessKind, LineAccess};
use crate::compute_unit::{LastOperation, WaveSlot};
use crate::stats::Counter;

impl<const W: usize> Unit<W> {
    /// Uses one issue slot.
    pub(super) fn issue(&mut self, ctx: &mut Context<W>, env: &Env<'_>) -> Handled {
        self.next_issue = NEVER;
        self.settle(ctx);
        while let Some(wave) = self.slots.pick() {
            if self.slots.has_alu(wave) {
                ctx.stats.add(Counter::Instructions, 1);
                ctx.stats.add(Counter::AluInstructions, 1);
                if self.slots.issue_alu(wave, self.now) {
                    self.continue_wave(wave);
                    self.show_wave(wave, ctx);
                }
                break;
            }
            if self.issue_operation(wave, ctx, env)? {
                self.slots.take_slot(wave, self.now);
                ctx.stats.add(Counter::Instructions, 1);
                self.show_issue(wave, ctx);
                break;
            }
            self.slots.block(wave);
            self.show_wave(wave, ctx);
        }
        self.wake_for_queue(ctx, env);
        self.plan_issue();
        Ok(())
    }

    /// Issues the next operation of a wavefront, or says that it cannot issue yet.
    #[inline]
    fn issue_operation(&mut self, wave: usize, ctx: &mut Context<W>, env: &Env<'_>) -> Result<bool, Box<SimError>> {
        let front = self.wave(wave).task.state().borrow().front();
        match front {
            Some(Operation::Memory(slot)) => self.issue_memory(wave, slot, ctx, env),
            Some(Operation::Fence { order, scope }) => {
                Ok(self.issue_fence(wave, AccessKind::Fence(order, scope), ctx, env))
            }
            Some(Operation::BarrierFence) => Ok(self.issue_fence(wave, AccessKind::BarrierFence, ctx, env)),
            None => Ok(self.issue_fence(wave, AccessKind::End, ctx, env)),
            Some(Operation::Barrier) => {
                self.issue_barrier(wave, ctx, env);
                Ok(true)
            }
            Some(Operation::Lds(count)) => {
                self.issue_local_data(wave, count, ctx, env);
                Ok(true)
            }
            Some(Operation::Look) => {
                self.issue_look(wave, ctx, env);
                Ok(true)
            }
            Some(Operation::Chain { slots, cycles }) => Ok(self.issue_chain(wave, slots, cycles, ctx)),
            Some(Operation::Banks(cycles)) => Ok(self.issue_banks(wave, cycles, ctx)),
            // Arithmetic is taken out of the queue when it comes to its front.
            Some(Operation::Alu(_)) => Ok(true),
        }
    }

    #[inline]
    fn issue_memory(
        &mut self,
        wave: usize,
        slot: u16,
        ctx: &mut Context<W>,
        env: &Env<'_>,
    ) -> Result<bool, Box<SimError>> {
        let Some(running) = self.waves[wave].as_mut() else { return Ok(false) };
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(slot);
        let (kind, name) = match op.kind {
            MemoryOpKind::Load => (AccessKind::Load, LastOperation::Load),
            MemoryOpKind::Store => (AccessKind::Store, LastOperation::Store),
            MemoryOpKind::Atomic(_) => (AccessKind::Atomic, LastOperation::Atomic),
        };
        let returns = !matches!(kind, AccessKind::Store);
        if returns && running.loads_in_flight >= self.loads_in_flight_max {
            self.waiting_for_loads |= 1 << wave;
            return Ok(false);
        }
        if self.accesses.len() >= env.plan.config.core.lsu_queue as usize {
            self.waiting_for_queue |= 1 << wave;
            return Ok(false);
        }
        ReadOnlyWritten::check(&running.job.kernel, op, env.memory).map_err(SimError::ReadOnlyWritten)?;
        if let Some(declared) = &running.job.declared {
            declared.check(running.id.work_group, op, env.memory).map_err(SimError::Undeclared)?;
        }
        let (kernel, answers) = (running.job.name, self.answers);
        let access = LineAccess { slot, kernel, answers, ..LineAccess::new(kind, wave as u16, 0, self.now) };
        let (count, first) = self.accesses.coalesce::<W>(op, access);
        (running.last_operation, running.last_line) = (name, first);
        running.loads_in_flight += u32::from(returns && count > 0);
        if !returns {
            running.since.stores += count;
            running.since.last_store = self.now;
        }
        op.accesses = count as u8;
        if let Some(profile) = &mut ctx.profile {
            note_sharing::<W>(profile, self.accesses.last(count), op, self.index);
        }
        state.pop();
        if count == 0 {
            state.complete_memory(slot);
        }
        let alu = state.take_alu();
        drop(state);
        ctx.stats.add(Counter::MemoryInstructions, 1);
        self.schedule_access();
        self.go_on(wave, alu);
        Ok(true)
    }

    /// A fence enters the access queue behind the wavefront's stores, once its loads have returned.
    fn issue_fence(&mut self, wave: usize, kind: AccessKind, ctx: &mut Context<W>, env: &Env<'_>) -> bool {
        if self.wave(wave).loads_in_flight > 0 {
            self.waiting_for_loads |= 1 << wave;
            return false;
        }
        if self.accesses.len() >= env.plan.config.core.lsu_queue as usize {
            self.waiting_for_queue |= 1 << wave;
            return false;
        }
        if let (AccessKind::Fence(order, scope), Some(fences)) = (kind, &env.plan.config.fences) {
            self.begin_fence(wave, order, scope, fences);
        }
        let running = self.wave(wave);
        if kind != AccessKind::End {
            running.task.state().borrow_mut().pop();
            running.last_operation = LastOperation::Fence;
            ctx.stats.add(Counter::Fences, 1);
        } else {
            running.last_operation = LastOperation::End;
        }
        let (kernel, answers) = (running.job.name, self.answers);
        self.accesses.push(LineAccess { kernel, answers, ..LineAccess::new(kind, wave as u16, 0, self.now) });
        self.slots.block(wave);
        self.schedule_access();
        true
    }

    fn issue_barrier(&mut self, wave: usize, ctx: &mut Context<W>, env: &Env<'_>) {
        ctx.stats.add(Counter::Barriers, 1);
        self.slots.block(wave);
        let running = self.wave(wave);
        running.task.state().borrow_mut().pop();
        running.at_barrier = true;
        running.last_operation = LastOperation::Barrier;
        let group = running.group;
        self.groups.get_mut(group).at_barrier += 1;
        if let Some(cycles) = env.plan.config.core.barrier_wave_cycles {
            self.barriers_free = self.barriers_free.max(self.now) + self.clock.cycles(u64::from(cycles));
        }
        self.release_barrier(group, ctx, env);
    }

    /// Tells a wavefront when and where it is.
    #[cold]
    fn issue_look(&mut self, wave: usize, ctx: &mut Context<W>, env: &Env<'_>) {
        let plan = env.plan;
        let surroundings = Surroundings {
            cycle: self.clock.count(self.now),
            nanoseconds: plan.clocks.nanoseconds(self.now) as u64,
            unit: u32::from(self.agent.0 - plan.topology.cpus),
            units: u32::from(plan.topology.l1s - plan.topology.cpus),
        };
        let running = self.wave(wave);
        running.last_operation = LastOperation::Look;
        let mut state = running.task.state().borrow_mut();
        state.pop();
        state.see(surroundings);
        drop(state);
        ctx.stats.add(Counter::AluInstructions, 1);
        self.continue_wave(wave);
    }

    fn issue_local_data(&mut self, wave: usize, count: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        self.slots.block(wave);
        let running = self.wave(wave);
        running.last_operation = LastOperation::LocalData;
        running.task.state().borrow_mut().pop();
        ctx.stats.add(Counter::LdsAccesses, u64::from(count));
        let latency = self.clock.cycles(u64::from(count * env.plan.config.core.lds_latency_cycles));
        self.delay(wave, self.now + latency);
    }

    /// Lets a work-group go on if all of it has arrived at its barrier.
    pub(super) fn release_barrier(&mut self, group: u32, ctx: &mut Context<W>, env: &Env<'_>) {
        let state = self.groups.get_mut(group);
        if state.at_barrier == 0 || state.at_barrier < state.running {
            return;
        }
        state.at_barrier = 0;
        let until = env
            .plan
            .config
            .core
            .barrier_cycles
            .map(|cycles| self.barriers_free.max(self.now) + self.clock.cycles(u64::from(cycles)));
        for wave in 0..self.waves.len() {
            if let Some(running) = self.waves[wave].as_mut()
                && running.group == group
                && running.at_barrier
            {
                match until {
                    Some(time) => self.delay(wave, time),
                    None => self.pass_barrier(wave, ctx),
                }
            }
        }
    }

    /// A wavefront passes the barrier that it waits at.
    pub(super) fn pass_barrier(&mut self, wave: usize, ctx: &mut Context<W>) {
        let running = self.wave(wave);
        running.at_barrier = false;
        running.task.state().borrow_mut().pass();
        self.advance_wave(wave, ctx);
    }

    /// A wavefront that waited can go on.
    pub(super) fn advance_wave(&mut self, wave: usize, ctx: &mut Context<W>) {
        self.settle(ctx);
        self.continue_wave(wave);
        self.show_wave(wave, ctx);
        self.plan_issue();
    }

    /// Finds the next operation of a wavefront, running its future if need be, and makes it ready or idle.
    #[inline]
    fn continue_wave(&mut self, wave: usize) {
        let Some(running) = &self.waves[wave] else { return };
        let alu = running.task.state().borrow_mut().take_alu();
        self.go_on(wave, alu);
    }

    /// Makes a wavefront ready to issue `alu` arithmetic instructions and its next operation. If none is queued, its
    /// future runs.
    #[inline]
    pub(super) fn go_on(&mut self, wave: usize, alu: Option<u32>) {
        match alu.or_else(|| run_future(self.wave(wave))) {
            Some(alu) => self.slots.make_ready(wave, alu),
            None => self.slots.block(wave),
        }
    }

    /// Accounts for arithmetic issued up to now, before anything about readiness changes.
    #[inline]
    pub(super) fn settle(&mut self, ctx: &mut Context<W>) {
        if self.slots.is_dealing() {
            self.deal(ctx);
        }
    }

    fn deal(&mut self, ctx: &mut Context<W>) {
        let dealt = self.slots.settle(self.now);
        ctx.stats.add(Counter::Instructions, dealt);
        ctx.stats.add(Counter::AluInstructions, dealt);
    }

    #[inline]
    pub(super) fn plan_issue(&mut self) {
        self.next_issue = self.slots.plan(self.now).unwrap_or(NEVER);
    }

    /// Makes a wavefront ready that waited for loads.
    pub(super) fn make_ready(&mut self, wave: usize, ctx: &mut Context<W>) {
        self.settle(ctx);
        self.slots.make_ready(wave, 0);
        self.show_wave(wave, ctx);
        self.plan_issue();
    }

    /// Lets one of the wavefronts that wait for room in the access queue try again, if there is room. That wavefront
    /// lets the next one try.
    #[inline]
    pub(super) fn wake_for_queue(&mut self, ctx: &mut Context<W>, env: &Env<'_>) {
        if self.waiting_for_queue != 0 && self.accesses.len() < env.plan.config.core.lsu_queue as usize {
            self.wake_next(ctx);
        }
    }

    fn wake_next(&mut self, ctx: &mut Context<W>) {
        // A barrier that this instruction completed may have planned arithmetic already.
        self.settle(ctx);
        let wave = self.slots.next_of(self.waiting_for_queue);
        self.waiting_for_queue &= !(1 << wave);
        self.slots.make_ready(wave, 0);
        self.show_wave(wave, ctx);
    }
}

/// Runs the future of a wavefront whose queue is empty, if it has not ended and can go on. Returns the number of
/// arithmetic instructions before the next operation, or nothing if the wavefront has to wait. A wavefront that has
/// ended has its final release to issue.
#[inline(never)]
fn run_future(running: &mut WaveSlot) -> Option<u32> {
    let mut alu = None;
    if !running.ended && !running.task.state().borrow().is_waiting() {
        running.ended = running.task.poll();
        alu = running.task.state().borrow_mut().take_alu();
    }
    running.idle = alu.is_none() && !running.ended;
    if running.ended { alu.or(Some(0)) } else { alu }
}
