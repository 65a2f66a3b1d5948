//! Store buffers between the access queue and the private cache.
//!
//! Lines that leave a store buffer carry a wavefront number of their own, since one line may hold stores of several
//! wavefronts. A fence that releases waits for the writes of its wavefront and, in a second part, for the writes of
//! that number.

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::LineAddr;

use super::super::context::{Context, Env};
use super::{Unit, lanes, lineless_request};
use crate::coalescer::{AccessKind, LineAccess};
use crate::store_buffer::Step;

impl<const W: usize> Unit<W> {
    /// The access that goes to the private cache, where `first` is the head of the access queue: `first` itself, or an
    /// access that has to leave the store buffer before it. Returns nothing if the store buffer has served `first`, or
    /// if its page lies nowhere yet.
    #[inline]
    pub(super) fn next_past_buffer(&mut self, first: u32, ctx: &mut Context<W>, env: &Env<'_>) -> Option<u32> {
        match &self.store_buffer {
            None => Some(first),
            Some(buffer) if buffer.leaving.is_some() => buffer.leaving,
            Some(_) => self.step_buffer(first, ctx, env),
        }
    }

    fn step_buffer(&mut self, first: u32, ctx: &mut Context<W>, env: &Env<'_>) -> Option<u32> {
        if !self.head_is_current {
            if !self.describe_head(first, ctx, env) {
                return None;
            }
            self.head_is_current = true;
        }
        let access = *self.accesses.get(first);
        let Some(buffer) = &mut self.store_buffer else { return Some(first) };
        match buffer.step(&self.head, access.line) {
            Step::Pass => Some(first),
            Step::Drain(line) => Some(self.drain(line, env)),
            Step::Follow => Some(self.follow(first, env)),
            Step::Take => {
                buffer.take(access.line, self.head.mask, &self.head.data);
                ctx.progress = ctx.progress.max(self.now);
                self.store_posted(&access);
                self.accesses.remove(first);
                self.served_by_buffer(&access, ctx, env);
                None
            }
            Step::Answer => {
                self.answer(&access);
                self.answered_by_buffer.push_back((self.now + self.clock.cycles(1), first));
                self.served_by_buffer(&access, ctx, env);
                None
            }
        }
    }

    /// The store buffer has served the head of the access queue.
    fn served_by_buffer(&mut self, access: &LineAccess, ctx: &mut Context<W>, env: &Env<'_>) {
        self.head_is_current = false;
        self.leave_queue(access, ctx);
        self.use_queue_room(ctx, env);
        self.schedule_access();
    }

    /// Sends a line to the private cache. Returns the number of that access.
    fn drain(&mut self, line: u64, env: &Env<'_>) -> u32 {
        let id = self.add_access(AccessKind::Drain, line, env);
        // The line was described when its store entered the buffer, so its page has been placed.
        let physical = env.pages.physical(line, self.now).unwrap_or(LineAddr(line));
        let wave = buffer_wave(env);
        if let Some(buffer) = &mut self.store_buffer
            && let Some(entry) = buffer.entry(line)
        {
            let (mask, data) = (entry.mask, entry.data);
            let (order, scope, txn) = (Order::Weak, Scope::Gpu, Txn::Operation(id));
            self.head = CoreRequest { op: CoreOp::Store, order, scope, line: physical, mask, data, wave, txn };
            buffer.leaving = Some(id);
        }
        id
    }

    /// Sends the part of a fence that waits for lines that have left the store buffer to the private cache. Returns the
    /// number of that access.
    fn follow(&mut self, fence: u32, env: &Env<'_>) -> u32 {
        let id = self.add_access(AccessKind::Follow { fence }, 0, env);
        self.accesses.get_mut(fence).answers += 1;
        self.head =
            lineless_request(CoreOp::Fence, Order::Release, self.head.scope, buffer_wave(env), Txn::Operation(id));
        if let Some(buffer) = &mut self.store_buffer {
            buffer.leaving = Some(id);
        }
        id
    }

    fn add_access(&mut self, kind: AccessKind, line: u64, env: &Env<'_>) -> u32 {
        self.accesses.add(LineAccess::new(kind, buffer_wave(env), line, self.now))
    }

    /// Gives a load the bytes that wait in the store buffer.
    fn answer(&mut self, access: &LineAccess) {
        let Some(entry) = self.store_buffer.as_ref().and_then(|buffer| buffer.entry(access.line)) else { return };
        let running = self.waves[usize::from(access.wave)].as_ref().expect("an access belongs to a wavefront");
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(access.slot);
        if !op.is_plain() {
            return lanes::distribute(op, access, &entry.data);
        }
        let mut rest = access.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            op.data[lane] = entry.data.0[op.word(lane) as usize % W];
        }
    }
}

/// The wavefront number of lines that leave store buffers: one more than the numbers of wavefronts.
fn buffer_wave(env: &Env<'_>) -> u16 {
    env.plan.config.core.wavefronts as u16
}
