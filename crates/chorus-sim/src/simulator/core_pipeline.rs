//! Issue, the access queue before the private cache, and what completions do to wavefronts.

use chorus_protocol::access::{AtomicOp, Completion, CoreOp, Order, Scope, Txn};
use chorus_protocol::address::{LineAddr, Role};
use chorus_protocol::controller::{Input, Outcome};
use chorus_protocol::line::ByteMask;
use chorus_protocol::registry::Values;

use super::{Event, PrivateCache, SimError, Simulator, lineless_request, write_line};
use crate::coalescer::{AccessKind, LineAccess};
use crate::compute_unit::{Stalled, WaveSlot};
use crate::frontend::{LANES, MemoryOp, MemoryOpKind, Operation, ReadOnlyWritten};
use crate::stats::Counter;

impl<const W: usize> Simulator<'_, W> {
    /// One issue slot of a compute unit.
    pub(super) fn issue(&mut self, unit: u16) -> Result<(), Box<SimError>> {
        let now = self.wheel.now();
        let cu = &mut self.units[usize::from(unit)];
        if cu.next_issue != Some(now) {
            return Ok(());
        }
        cu.next_issue = None;
        self.settle(unit);
        loop {
            let slots = &mut self.units[usize::from(unit)].slots;
            let Some(wave) = slots.pick() else { break };
            if slots.has_alu(wave) {
                self.stats.add(Counter::Instructions, 1);
                self.stats.add(Counter::AluInstructions, 1);
                if slots.issue_alu(wave, now) {
                    self.continue_wave(unit, wave);
                }
                break;
            }
            if self.issue_operation(unit, wave)? {
                self.stats.add(Counter::Instructions, 1);
                break;
            }
            self.units[usize::from(unit)].slots.block(wave);
        }
        self.wake_for_queue(unit);
        self.plan_issue(unit);
        Ok(())
    }

    /// Issues the next operation of a wavefront, or says that it cannot issue yet.
    fn issue_operation(&mut self, unit: u16, wave: usize) -> Result<bool, Box<SimError>> {
        let front = self.units[usize::from(unit)].wave(wave).task.state().borrow().front();
        let issued = match front {
            Some(Operation::Memory(slot)) => self.issue_memory(unit, wave, slot)?,
            Some(Operation::Fence { order, scope }) => self.issue_fence(unit, wave, AccessKind::Fence(order, scope)),
            None => self.issue_fence(unit, wave, AccessKind::End),
            Some(Operation::Barrier) => {
                self.issue_barrier(unit, wave);
                true
            }
            Some(Operation::Lds(_)) => {
                self.issue_lds(unit, wave);
                true
            }
            // Arithmetic is taken out of the queue when it comes to its front.
            Some(Operation::Alu(_)) => true,
        };
        if issued {
            let now = self.wheel.now();
            self.units[usize::from(unit)].slots.take_slot(wave, now);
        }
        Ok(issued)
    }

    fn issue_memory(&mut self, unit: u16, wave: usize, slot: u16) -> Result<bool, Box<SimError>> {
        let now = self.wheel.now();
        let cu = &mut self.units[usize::from(unit)];
        let Some(running) = cu.waves[wave].as_mut() else { return Ok(false) };
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op(slot);
        let returns = op.kind != MemoryOpKind::Store;
        if returns && running.loads_in_flight >= cu.loads_in_flight_max {
            cu.waiting_for_loads |= 1 << wave;
            return Ok(false);
        }
        if cu.accesses.len() >= self.config.core.lsu_queue as usize {
            cu.waiting_for_queue |= 1 << wave;
            return Ok(false);
        }
        let launch = &self.launches[usize::from(running.stream)];
        ReadOnlyWritten::check(&launch.kernel, op, &self.memory).map_err(SimError::ReadOnlyWritten)?;
        if let Some(declared) = &launch.declared {
            declared.check(running.id.work_group, op, &self.memory).map_err(SimError::Undeclared)?;
        }
        let count = cu.accesses.coalesce(op, wave as u16, slot, W as u64, now);
        running.last_operation = match op.kind {
            MemoryOpKind::Load => "load",
            MemoryOpKind::Store => "store",
            MemoryOpKind::Atomic(_) => "atomic",
        };
        running.last_line = op.mask.iter().next().map(|lane| u64::from(op.word(lane)) / W as u64);
        running.loads_in_flight += u32::from(returns && count > 0);
        state.memory_op_mut(slot).accesses = count;
        state.pop();
        if count == 0 {
            state.complete_memory(slot);
        }
        drop(state);
        self.stats.add(Counter::MemoryInstructions, 1);
        self.schedule_access(unit);
        self.continue_wave(unit, wave);
        Ok(true)
    }

    /// A fence enters the access queue behind the wavefront's stores, once its loads have returned.
    fn issue_fence(&mut self, unit: u16, wave: usize, kind: AccessKind) -> bool {
        let now = self.wheel.now();
        let cu = &mut self.units[usize::from(unit)];
        if cu.wave(wave).loads_in_flight > 0 {
            cu.waiting_for_loads |= 1 << wave;
            return false;
        }
        if cu.accesses.len() >= self.config.core.lsu_queue as usize {
            cu.waiting_for_queue |= 1 << wave;
            return false;
        }
        let running = cu.wave(wave);
        if matches!(kind, AccessKind::Fence(..)) {
            running.task.state().borrow_mut().pop();
            running.last_operation = "fence";
            self.stats.add(Counter::Fences, 1);
        } else {
            running.last_operation = "end of kernel";
        }
        cu.accesses.push(LineAccess::new(kind, wave as u16, 0, now));
        cu.slots.block(wave);
        self.schedule_access(unit);
        true
    }

    fn issue_barrier(&mut self, unit: u16, wave: usize) {
        self.stats.add(Counter::Barriers, 1);
        let cu = &mut self.units[usize::from(unit)];
        cu.slots.block(wave);
        let running = cu.wave(wave);
        running.task.state().borrow_mut().pop();
        running.at_barrier = true;
        running.last_operation = "barrier";
        let group = running.group;
        cu.groups.get_mut(group).at_barrier += 1;
        self.release_barrier(unit, group);
    }

    fn issue_lds(&mut self, unit: u16, wave: usize) {
        let cu = &mut self.units[usize::from(unit)];
        cu.slots.block(wave);
        let running = cu.wave(wave);
        let mut state = running.task.state().borrow_mut();
        let Some(Operation::Lds(count)) = state.front() else { return };
        state.pop();
        drop(state);
        self.stats.add(Counter::LdsAccesses, u64::from(count));
        let latency = cu.clock.cycles(u64::from(count * self.config.core.lds_latency_cycles));
        self.wheel.schedule(self.wheel.now() + latency, Event::LdsDone { unit, wave: wave as u16 });
    }

    /// Lets a work-group go on if all of it has arrived at its barrier.
    pub(super) fn release_barrier(&mut self, unit: u16, group: u32) {
        let cu = &mut self.units[usize::from(unit)];
        let state = cu.groups.get_mut(group);
        if state.at_barrier == 0 || state.at_barrier < state.running {
            return;
        }
        state.at_barrier = 0;
        for wave in 0..self.units[usize::from(unit)].waves.len() {
            let cu = &mut self.units[usize::from(unit)];
            if let Some(running) = cu.waves[wave].as_mut()
                && running.group == group
                && running.at_barrier
            {
                running.at_barrier = false;
                running.task.state().borrow_mut().pass();
                self.advance_wave(unit, wave);
            }
        }
    }

    /// A wavefront that waited can go on.
    pub(super) fn advance_wave(&mut self, unit: u16, wave: usize) {
        self.settle(unit);
        self.continue_wave(unit, wave);
        self.plan_issue(unit);
    }

    /// Finds the next operation of a wavefront, running its future if need be, and makes it ready or idle.
    fn continue_wave(&mut self, unit: u16, wave: usize) {
        let cu = &mut self.units[usize::from(unit)];
        let Some(running) = cu.waves[wave].as_mut() else { return };
        match next_operation(running) {
            Some(alu) => cu.slots.make_ready(wave, alu),
            None => cu.slots.block(wave),
        }
    }

    /// Accounts for arithmetic issued up to now, before anything about readiness changes.
    fn settle(&mut self, unit: u16) {
        let dealt = self.units[usize::from(unit)].slots.settle(self.wheel.now());
        self.stats.add(Counter::Instructions, dealt);
        self.stats.add(Counter::AluInstructions, dealt);
    }

    fn plan_issue(&mut self, unit: u16) {
        let cu = &mut self.units[usize::from(unit)];
        let next = cu.slots.plan(self.wheel.now());
        if let Some(time) = next
            && cu.next_issue != next
        {
            self.wheel.schedule(time, Event::Issue(unit));
        }
        cu.next_issue = next;
    }

    /// Lets one of the wavefronts that wait for room in the access queue try again, if there is room. That wavefront
    /// lets the next one try.
    fn wake_for_queue(&mut self, unit: u16) {
        let cu = &self.units[usize::from(unit)];
        if cu.waiting_for_queue != 0 && cu.accesses.len() < self.config.core.lsu_queue as usize {
            // A barrier that this instruction completed may have planned arithmetic already.
            self.settle(unit);
            let cu = &mut self.units[usize::from(unit)];
            let wave = cu.slots.next_of(cu.waiting_for_queue);
            cu.waiting_for_queue &= !(1 << wave);
            cu.slots.make_ready(wave, 0);
        }
    }

    /// Serves the access queue as soon as the private cache can take an access.
    pub(super) fn schedule_access(&mut self, unit: u16) {
        let cu = &mut self.units[usize::from(unit)];
        if !cu.access_scheduled && !cu.accesses.is_empty() {
            cu.access_scheduled = true;
            let time = cu.clock.edge(self.wheel.now()).max(cu.head_free());
            self.wheel.schedule(time, Event::Access(unit));
        }
    }

    /// Hands the head of the access queue to the private cache.
    pub(super) fn serve_accesses(&mut self, unit: u16) -> Result<(), SimError> {
        let now = self.wheel.now();
        let cu = &mut self.units[usize::from(unit)];
        cu.access_scheduled = false;
        let Some(first) = cu.accesses.front() else { return Ok(()) };
        let Some(id) = self.next_past_buffer(unit, first) else { return Ok(()) };
        if self.port_is_full(Role::L1, unit) {
            self.units[usize::from(unit)].stall(now, Stalled::Port);
            return Ok(());
        }
        if !self.caches[usize::from(unit)].head_is_current {
            self.describe_head(unit, id);
        }
        self.tell_time();
        let PrivateCache { controller, head, head_is_current, .. } = &mut self.caches[usize::from(unit)];
        let accepted = controller.step(&Input::Core(head), &mut self.outbox)? == Outcome::Done;
        *head_is_current = !accepted;
        self.plan_wake(self.topology.l1(unit));
        if accepted {
            self.accepted(unit, id);
        } else {
            self.units[usize::from(unit)].stall(now, Stalled::Cache);
        }
        self.route(self.topology.l1(unit), true)?;
        if accepted {
            self.serve_cache(unit)?;
            self.schedule_access(unit);
        }
        Ok(())
    }

    /// Tries the head of the access queue again at once, after a message has changed the private cache that had not
    /// accepted it.
    pub(super) fn retry_access_now(&mut self, unit: u16) -> Result<(), SimError> {
        let cu = &self.units[usize::from(unit)];
        if !matches!(cu.stalled, Some((_, Stalled::Cache))) || cu.access_scheduled {
            return Ok(());
        }
        let now = self.wheel.now();
        if cu.clock.edge(now).max(cu.head_free()) == now {
            return self.serve_accesses(unit);
        }
        self.schedule_access(unit);
        Ok(())
    }

    /// Tries the head of the access queue again if the reason of its stall may have changed.
    pub(super) fn retry_access(&mut self, unit: u16, changed: Stalled) {
        if self.units[usize::from(unit)].stalled.is_some_and(|(_, stalled)| stalled == changed) {
            self.schedule_access(unit);
        }
    }

    /// Updates counters and queues for an access that the private cache has accepted. Operations that it completes at
    /// once take its latency.
    fn accepted(&mut self, unit: u16, id: u32) {
        let now = self.wheel.now();
        let access = *self.units[usize::from(unit)].accesses.get(id);
        self.leave_queue(unit, &access);
        self.count_access(access.kind);
        if self.fabric.is_some() && access.touches_line() {
            let misses = access.kind == AccessKind::Load && self.outbox.completions.is_empty();
            self.count_remote_access(unit, access.line, misses);
        }
        if matches!(access.kind, AccessKind::Store | AccessKind::Drain) {
            self.progress = now;
            if self.values == Values::Functional {
                let head = &self.caches[usize::from(unit)].head;
                write_line(self.memory.words_mut(), LineAddr(access.line), head.mask, &head.data);
            }
        }
        if access.kind == AccessKind::Store {
            self.store_posted(unit, &access);
        }
        if !self.outbox.completions.is_empty() {
            let done = now + self.latencies.of_l1(self.units[usize::from(unit)].is_cpu);
            let mut completions = std::mem::take(&mut self.outbox.completions);
            for completion in &completions {
                self.record_values(unit, completion);
                self.wheel.schedule(done, Event::AccessDone { unit, access: completion.txn.0 });
            }
            completions.clear();
            self.outbox.completions = completions;
        }
        self.use_queue_room(unit);
    }

    /// Removes an access that has been accepted: the head of the queue, or an access of the store buffer before it.
    pub(super) fn leave_queue(&mut self, unit: u16, access: &LineAccess) {
        let now = self.wheel.now();
        let cu = &mut self.units[usize::from(unit)];
        let bank = cu.bank_of(access.line);
        cu.bank_free[bank] = now + cu.clock.cycles(1);
        if let Some((since, _)) = cu.stalled.take() {
            self.stats.add(Counter::L1StallTicks, now - since);
        }
        let buffer = self.caches[usize::from(unit)].store_buffer.as_mut();
        match (access.kind, buffer) {
            (AccessKind::Drain, Some(buffer)) => {
                buffer.leaving = None;
                buffer.remove(access.line);
            }
            (AccessKind::Follow { .. }, Some(buffer)) => {
                buffer.leaving = None;
                buffer.followed = true;
            }
            (_, buffer) => {
                cu.accesses.accept();
                if let Some(buffer) = buffer {
                    buffer.followed = false;
                }
            }
        }
    }

    /// Lets a wavefront that waits for room in the access queue go on.
    pub(super) fn use_queue_room(&mut self, unit: u16) {
        if self.units[usize::from(unit)].waiting_for_queue != 0 {
            self.settle(unit);
            self.wake_for_queue(unit);
            self.plan_issue(unit);
        }
    }

    /// Counts an accepted access of a store. With the last one, the instruction is over for its wavefront.
    pub(super) fn store_posted(&mut self, unit: u16, access: &LineAccess) {
        let running = self.units[usize::from(unit)].wave(usize::from(access.wave));
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(access.slot);
        op.accesses -= 1;
        if op.accesses == 0 {
            state.complete_memory(access.slot);
        }
    }

    fn count_access(&mut self, kind: AccessKind) {
        match kind {
            AccessKind::Load => {
                let hit = !self.outbox.completions.is_empty();
                self.stats.add(Counter::L1Loads, 1);
                self.stats.add(if hit { Counter::L1LoadHits } else { Counter::L1LoadMisses }, 1);
            }
            AccessKind::Store | AccessKind::Drain => self.stats.add(Counter::L1Stores, 1),
            AccessKind::Atomic => self.stats.add(Counter::L1Atomics, 1),
            AccessKind::Fence(..) | AccessKind::End | AccessKind::Follow { .. } => return,
        }
        self.stats.add(Counter::L1Accesses, 1);
    }

    /// Makes the request to the private cache for the access at the head of the queue.
    pub(super) fn describe_head(&mut self, unit: u16, id: u32) {
        let module = self.module_of_unit(unit);
        let cu = &mut self.units[usize::from(unit)];
        let head = &mut self.caches[usize::from(unit)].head;
        let access = *cu.accesses.get(id);
        (head.wave, head.txn) = (access.wave, Txn(id));
        let fence = match access.kind {
            AccessKind::Fence(order, scope) => Some((order, scope)),
            // The stores of a wavefront reach the others when its kernel ends. Until then they only leave in order.
            AccessKind::End => Some((Order::Release, Scope::WorkGroup)),
            AccessKind::Load
            | AccessKind::Store
            | AccessKind::Atomic
            | AccessKind::Drain
            | AccessKind::Follow { .. } => None,
        };
        if let Some((order, scope)) = fence {
            *head = lineless_request(CoreOp::Fence, order, scope, access.wave, Txn(id));
            return;
        }
        let state = cu.wave(usize::from(access.wave)).task.state().borrow();
        let op = state.memory_op(access.slot);
        head.op = match op.kind {
            MemoryOpKind::Load => CoreOp::Load,
            MemoryOpKind::Store => CoreOp::Store,
            MemoryOpKind::Atomic(atomic) => CoreOp::Atomic(atomic),
        };
        (head.order, head.scope, head.line) = (op.order, op.scope, self.pages.physical(access.line, module));
        // Loads carry no data, so the data of an earlier access may stay in the request.
        let carries_data = op.kind != MemoryOpKind::Load;
        if access.whole_line {
            head.mask = ByteMask::full::<W>();
            if carries_data {
                head.data.0.copy_from_slice(&op.data[..W]);
            }
            return;
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
    }

    /// Puts the values of a completed load or atomic where its instruction expects them.
    pub(super) fn record_values(&mut self, unit: u16, completion: &Completion<W>) {
        let cu = &mut self.units[usize::from(unit)];
        let &LineAccess { kind, wave, slot, lanes, whole_line, .. } = cu.accesses.get(completion.txn.0);
        if !matches!(kind, AccessKind::Load | AccessKind::Atomic) {
            return;
        }
        let mut state = cu.wave(usize::from(wave)).task.state().borrow_mut();
        let op = state.memory_op_mut(slot);
        let atomic = match op.kind {
            MemoryOpKind::Atomic(atomic) => Some(atomic),
            MemoryOpKind::Load | MemoryOpKind::Store => None,
        };
        if self.values == Values::Functional {
            if perform_in_memory(self.memory.words_mut(), op, lanes, atomic) {
                self.progress = self.wheel.now();
            }
            return;
        }
        if whole_line && atomic.is_none() {
            op.data[..W].copy_from_slice(&completion.data.0);
            return;
        }
        let mut changed = false;
        let mut rest = lanes;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let value = completion.data.0[op.word(lane) as usize % W];
            changed |= atomic.is_some_and(|atomic: AtomicOp| atomic.apply(value, op.data[lane]) != value);
            op.data[lane] = value;
        }
        if changed {
            self.progress = self.wheel.now();
        }
    }

    /// The end of an access, as its wavefront sees it.
    pub(super) fn access_done(&mut self, unit: u16, id: u32) {
        let now = self.wheel.now();
        let cu = &mut self.units[usize::from(unit)];
        let access = *cu.accesses.get(id);
        if access.answers > 1 {
            cu.accesses.get_mut(id).answers -= 1;
            return;
        }
        cu.accesses.remove(id);
        let wave = usize::from(access.wave);
        match access.kind {
            AccessKind::Load | AccessKind::Atomic => {
                if access.kind == AccessKind::Load {
                    self.stats.add(Counter::LoadLatencyTicks, now - access.issued);
                    self.stats.add(Counter::LoadsCompleted, 1);
                }
                self.values_returned(unit, wave, access.slot);
            }
            AccessKind::Store | AccessKind::Drain => {}
            AccessKind::Follow { fence } => self.access_done(unit, fence),
            AccessKind::Fence(..) => {
                self.stats.add(Counter::FenceWaitTicks, now - access.issued);
                cu.wave(wave).task.state().borrow_mut().pass();
                self.advance_wave(unit, wave);
            }
            AccessKind::End => self.retire_wave(unit, wave),
        }
    }

    /// Counts a returned access of a load or atomic. With the last one, the instruction completes.
    fn values_returned(&mut self, unit: u16, wave: usize, slot: u16) {
        let cu = &mut self.units[usize::from(unit)];
        let running = cu.wave(wave);
        let mut state = running.task.state().borrow_mut();
        let op = state.memory_op_mut(slot);
        op.accesses -= 1;
        if op.accesses > 0 {
            return;
        }
        let can_go_on = state.complete_memory(slot);
        drop(state);
        running.loads_in_flight -= 1;
        let idle = running.idle;
        if cu.waiting_for_loads & 1 << wave != 0 {
            cu.waiting_for_loads &= !(1 << wave);
            self.settle(unit);
            self.units[usize::from(unit)].slots.make_ready(wave, 0);
            self.plan_issue(unit);
        } else if can_go_on && idle {
            self.advance_wave(unit, wave);
        }
    }
}

/// Performs a load or an atomic on memory at once, for protocols whose accesses are ideally coherent. The lanes get the
/// values of memory. Returns whether memory changed.
#[inline(never)]
fn perform_in_memory(words: &mut [u32], op: &mut MemoryOp, lanes: u32, atomic: Option<AtomicOp>) -> bool {
    let mut changed = false;
    for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
        let Some(word) = words.get_mut(op.word(lane) as usize) else { continue };
        let old = *word;
        if let Some(atomic) = atomic {
            *word = atomic.apply(old, op.data[lane]);
            changed |= *word != old;
        }
        op.data[lane] = old;
    }
    changed
}

/// The number of arithmetic instructions before a wavefront's next operation, or nothing if the wavefront has to wait.
/// Runs its future when its queue is empty.
fn next_operation(running: &mut WaveSlot) -> Option<u32> {
    running.idle = false;
    let mut polled = false;
    loop {
        let mut state = running.task.state().borrow_mut();
        match state.front() {
            Some(Operation::Alu(count)) => {
                state.pop();
                return Some(count);
            }
            Some(Operation::Memory(_) | Operation::Fence { .. } | Operation::Barrier | Operation::Lds(_)) => {
                return Some(0);
            }
            None if running.ended => return Some(0),
            None => {}
        }
        let waiting = state.is_waiting();
        drop(state);
        if waiting || polled {
            running.idle = true;
            return None;
        }
        running.ended = running.task.poll();
        polled = true;
    }
}
