//! Store buffers between the access queue and the private cache.
//!
//! Lines that leave a store buffer carry a wavefront number of their own, since one line may hold stores of several
//! wavefronts. A fence that releases waits for the writes of its wavefront and, in a second part, for the writes of
//! that number.

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};

use super::{Event, Simulator, lineless_request};
use crate::coalescer::{AccessKind, LineAccess};
use crate::store_buffer::Step;

impl<const W: usize> Simulator<'_, W> {
    /// The access that goes to the private cache, where `first` is the head of the access queue: `first` itself, or an
    /// access that has to leave the store buffer before it. Returns nothing if the store buffer has served `first`.
    pub(super) fn next_past_buffer(&mut self, unit: u16, first: u32) -> Option<u32> {
        let cache = &self.caches[usize::from(unit)];
        let Some(buffer) = &cache.store_buffer else { return Some(first) };
        if buffer.leaving.is_some() {
            return buffer.leaving;
        }
        if !cache.head_is_current {
            self.describe_head(unit, first);
            self.caches[usize::from(unit)].head_is_current = true;
        }
        let access = *self.units[usize::from(unit)].accesses.get(first);
        let cache = &mut self.caches[usize::from(unit)];
        let Some(buffer) = &mut cache.store_buffer else { return Some(first) };
        match buffer.step(&cache.head, access.line) {
            Step::Pass => Some(first),
            Step::Drain(line) => Some(self.drain(unit, line)),
            Step::Follow => Some(self.follow(unit, first)),
            Step::Take => {
                buffer.take(access.line, cache.head.mask, &cache.head.data);
                self.progress = self.wheel.now();
                self.store_posted(unit, &access);
                self.units[usize::from(unit)].accesses.remove(first);
                self.served_by_buffer(unit, &access);
                None
            }
            Step::Answer => {
                self.answer(unit, &access);
                let cu = &self.units[usize::from(unit)];
                let done = self.wheel.now() + cu.clock.cycles(1);
                self.wheel.schedule(done, Event::AccessDone { unit, access: first });
                self.served_by_buffer(unit, &access);
                None
            }
        }
    }

    /// The store buffer has served the head of the access queue.
    fn served_by_buffer(&mut self, unit: u16, access: &LineAccess) {
        self.caches[usize::from(unit)].head_is_current = false;
        self.leave_queue(unit, access);
        self.use_queue_room(unit);
        self.schedule_access(unit);
    }

    /// Sends a line to the private cache. Returns the number of that access.
    fn drain(&mut self, unit: u16, line: u64) -> u32 {
        let id = self.add_access(unit, AccessKind::Drain, line);
        let physical = self.pages.physical(line, self.module_of_unit(unit));
        let wave = self.buffer_wave();
        let cache = &mut self.caches[usize::from(unit)];
        if let Some(buffer) = &mut cache.store_buffer
            && let Some(entry) = buffer.entry(line)
        {
            let (mask, data) = (entry.mask, entry.data);
            let (order, scope, txn) = (Order::Weak, Scope::Gpu, Txn(id));
            cache.head = CoreRequest { op: CoreOp::Store, order, scope, line: physical, mask, data, wave, txn };
            buffer.leaving = Some(id);
        }
        id
    }

    /// Sends the part of a fence that waits for lines that have left the store buffer to the private cache. Returns the
    /// number of that access.
    fn follow(&mut self, unit: u16, fence: u32) -> u32 {
        let id = self.add_access(unit, AccessKind::Follow { fence }, 0);
        let wave = self.buffer_wave();
        self.units[usize::from(unit)].accesses.get_mut(fence).answers = 2;
        let cache = &mut self.caches[usize::from(unit)];
        cache.head = lineless_request(CoreOp::Fence, Order::Release, cache.head.scope, wave, Txn(id));
        if let Some(buffer) = &mut cache.store_buffer {
            buffer.leaving = Some(id);
        }
        id
    }

    fn add_access(&mut self, unit: u16, kind: AccessKind, line: u64) -> u32 {
        let access = LineAccess::new(kind, self.buffer_wave(), line, self.wheel.now());
        self.units[usize::from(unit)].accesses.add(access)
    }

    /// The wavefront number of lines that leave store buffers: one more than the numbers of wavefronts.
    fn buffer_wave(&self) -> u16 {
        self.config.core.wavefronts as u16
    }

    /// Gives a load the bytes that wait in the store buffer.
    fn answer(&mut self, unit: u16, access: &LineAccess) {
        let buffer = self.caches[usize::from(unit)].store_buffer.as_ref();
        let Some(entry) = buffer.and_then(|buffer| buffer.entry(access.line)) else { return };
        let running = self.units[usize::from(unit)].wave(usize::from(access.wave));
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(access.slot);
        let mut rest = access.lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            op.data[lane] = entry.data.0[op.word(lane) as usize % W];
        }
    }
}
