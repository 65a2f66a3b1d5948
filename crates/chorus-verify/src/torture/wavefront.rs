//! Wavefronts: the operations that they issue, and the answers that these must get.

use std::ops::Range;

use chorus_protocol::access::{AtomicOp, CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::LineAddr;
use chorus_protocol::controller::{Input, Time};
use chorus_protocol::line::LineData;

use super::coherence::{Logged, PENDING};
use super::driver::{Driver, Waiter, lineless};
use super::lower::Micro;
use super::network::Event;
use super::operations::{Ended, Operation};
use super::problem::Problem;
use super::program::{Access, Does, Kind, WORDS, WaveSlot, Word, Words};

/// The longest wait between two looks at a lock or a flag, in ticks. Leases may last a million ticks, and a wavefront
/// that waits for their end must not look too often.
const BACK_OFF_MAX: u32 = 1 << 16;

/// One wavefront of an episode.
#[derive(Clone, Debug)]
pub(super) struct Wavefront {
    /// The slot that it runs in.
    pub(super) slot: WaveSlot,
    next: usize,
    end: usize,
    /// The number of loads and atomics in flight.
    loads: u32,
    /// Whether it waits for its fence, its lock or the next kernel.
    pub(super) waits: bool,
    /// Whether its next attempt to issue is planned already.
    planned: bool,
    back_off: u32,
    /// The value of its next store, once drawn.
    value: u32,
    /// The value that it last read of each word.
    seen: [u32; 32],
}

impl Wavefront {
    /// A wavefront that issues a range of the code.
    pub(super) fn new(slot: WaveSlot, code: &Range<usize>) -> Wavefront {
        let (next, end) = (code.start, code.end);
        Wavefront { slot, next, end, loads: 0, waits: false, planned: false, back_off: 1, value: 0, seen: [0; 32] }
    }

    /// Whether it has issued everything.
    pub(super) fn has_ended(&self) -> bool {
        self.next == self.end
    }

    /// Whether something that it issued is not answered.
    pub(super) fn is_waiting(&self) -> bool {
        self.loads > 0 || self.waits
    }

    /// The progress of the wavefront in words.
    pub(super) fn describe(&self, code: &[Micro]) -> String {
        match code.get(self.next) {
            Some(micro) if !self.has_ended() => format!("{} is at {micro}", self.slot),
            Some(_) | None => format!("{} waits for answers", self.slot),
        }
    }
}

/// The part of a request to the private cache that its operation decides.
struct Asked {
    words: Words,
    op: CoreOp,
    operands: LineData<WORDS>,
    order: Order,
    scope: Scope,
}

impl Asked {
    /// The operation and its operands, if it is atomic.
    fn update(&self) -> Option<(AtomicOp, LineData<WORDS>)> {
        match self.op {
            CoreOp::Atomic(op) => Some((op, self.operands)),
            CoreOp::Load | CoreOp::Store | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => None,
        }
    }

    /// Whether it reads values.
    fn returns(&self) -> bool {
        matches!(self.op, CoreOp::Load | CoreOp::Atomic(_))
    }
}

/// A line with values at the places of some words.
fn at(words: Words, value: impl Fn(Word) -> u32) -> LineData<WORDS> {
    let mut data = LineData::default();
    for word in words.iter() {
        data.0[word.place()] = value(word);
    }
    data
}

impl Driver {
    /// Plans a wavefront's next attempt to issue.
    pub(super) fn go_on(&mut self, wave: u16) {
        let think = self.random.below(self.setup.delays.think + 1);
        self.go_on_after(wave, think);
    }

    fn go_on_after(&mut self, wave: u16, delay: u32) {
        let state = &mut self.waves[usize::from(wave)];
        if !state.planned && !state.has_ended() {
            state.planned = true;
            self.network.schedule(self.now + Time::from(delay), Event::Issue(wave), &mut self.random);
        }
    }

    /// Issues a wavefront's next operation, if its earlier ones let it.
    pub(super) fn issue(&mut self, number: u16) -> Result<(), Problem> {
        let index = usize::from(number);
        let limit = self.setup.loads_in_flight;
        let wave = &mut self.waves[index];
        wave.planned = false;
        if wave.has_ended() || wave.waits {
            return Ok(());
        }
        let micro = self.code[wave.next];
        let is_ordering = matches!(micro, Micro::Fence(..) | Micro::NextKernel);
        let blocks = is_ordering || limit == 1;
        if (blocks && wave.loads > 0) || wave.loads >= limit {
            return Ok(());
        }
        if micro == Micro::NextKernel {
            wave.waits = true;
            self.arrived += 1;
            return Ok(());
        }
        if wave.value == 0
            && let Micro::Access(Access { does: Does::Store | Does::Update(_), words, .. }) = micro
        {
            wave.value = self.last_value + 1;
            self.last_value += words.count();
        }
        let asked = self.asked(number, micro);
        let slot = self.waves[index].slot;
        let logged = self.log.len();
        if self.kind == Kind::Racy && asked.op != CoreOp::Fence {
            self.log_request(number, &asked);
        }
        let expected = at(asked.words, |word| self.shadow[word.index()]);
        let update = asked.update();
        let issued = self.steps;
        let operation = Operation { micro, wave: number, expected, update, logged: logged as u32, issued };
        let txn = self.operations.insert(operation);
        let wave = &mut self.waves[index];
        wave.loads += u32::from(asked.returns());
        wave.waits = matches!(micro, Micro::Fence(..) | Micro::Lock(_) | Micro::Await { .. });
        let waits = wave.waits;
        let Asked { op, order, scope, operands: data, words, .. } = asked;
        let request = match op {
            CoreOp::Fence => CoreRequest { order, ..lineless(CoreOp::Fence, scope, slot.slot, txn) },
            CoreOp::Load | CoreOp::Store | CoreOp::Atomic(_) | CoreOp::KernelBegin | CoreOp::KernelEnd => {
                let (line, mask) = (LineAddr(words.line()), words.mask());
                CoreRequest { op, order, scope, line, mask, data, wave: slot.slot, txn }
            }
        };
        if self.offer(slot.cache, &Input::Core(&request))? {
            self.issued(number, micro, &asked, waits);
        } else {
            self.operations.remove(txn);
            self.log.truncate(logged);
            self.refused(number, asked.returns(), slot.cache);
        }
        Ok(())
    }

    /// The request of a wavefront's next operation.
    fn asked(&self, number: u16, micro: Micro) -> Asked {
        let wave = &self.waves[usize::from(number)];
        let constant = |word: Word, op: CoreOp, value: u32, order: Order| {
            let words = Words::one(word);
            Asked { words, op, operands: at(words, |_| value), order, scope: self.scopes.of(word) }
        };
        let atomic = CoreOp::Atomic;
        match micro {
            Micro::Access(Access { does, words, order, scope }) => {
                let first = words.first().index();
                let seen = if self.kind == Kind::Racy { wave.seen[first] } else { self.shadow[first] };
                let op = match does {
                    Does::Load { .. } => CoreOp::Load,
                    Does::Store => CoreOp::Store,
                    Does::Update(update) => atomic(update.operation(seen)),
                };
                let value = |word: Word| wave.value + (word.0 - words.first().0) as u32;
                let operands = if op == CoreOp::Load { LineData::default() } else { at(words, value) };
                Asked { words, op, operands, order, scope }
            }
            Micro::Count(words) => {
                let scope = self.scopes.of(words.first());
                let operands = at(words, |_| 1);
                Asked { words, op: atomic(AtomicOp::Add), operands, order: Order::Relaxed, scope }
            }
            Micro::Flip { words, by_xor } => self.flip(words, by_xor, own_bit(number)),
            Micro::Lock(word) => constant(word, atomic(AtomicOp::CompareExchange { expected: 0 }), 1, Order::Acquire),
            Micro::Unlock { lock, by_exchange: true } => constant(lock, atomic(AtomicOp::Exchange), 0, Order::Release),
            Micro::Unlock { lock, by_exchange: false } => constant(lock, CoreOp::Store, 0, Order::Release),
            Micro::Signal { flag, value } => constant(flag, CoreOp::Store, value, Order::Release),
            Micro::Await { word, by_atomics: true, .. } => constant(word, atomic(AtomicOp::Add), 0, Order::Acquire),
            Micro::Await { word, by_atomics: false, .. } => constant(word, CoreOp::Load, 0, Order::Acquire),
            Micro::Fence(order, scope) => Asked { scope, ..constant(Word(0), CoreOp::Fence, 0, order) },
            Micro::NextKernel => constant(Word(0), CoreOp::Fence, 0, Order::AcqRel),
        }
    }

    /// The atomic that changes a wavefront's bit of each word: sets it, clears it, or does one here and one there.
    fn flip(&self, words: Words, by_xor: bool, bit: u32) -> Asked {
        let set = words.iter().filter(|word| self.shadow[word.index()] & bit != 0).count() as u32;
        let (op, operand) = match set {
            0 if !by_xor => (AtomicOp::Or, bit),
            all if all == words.count() && !by_xor => (AtomicOp::And, !bit),
            _ => (AtomicOp::Xor, bit),
        };
        let scope = self.scopes.of(words.first());
        Asked { words, op: CoreOp::Atomic(op), operands: at(words, |_| operand), order: Order::Relaxed, scope }
    }

    /// Notes a request of a racy program, word by word.
    fn log_request(&mut self, wave: u16, asked: &Asked) {
        for word in asked.words.iter() {
            let read = asked.returns().then_some(PENDING);
            let written = (asked.op != CoreOp::Load).then_some(asked.operands.0[word.place()]);
            self.log.push(Logged { wave, word, read, written });
        }
    }

    /// Notes that an operation was accepted: its effects are known from here on.
    fn issued(&mut self, number: u16, micro: Micro, asked: &Asked, waits: bool) {
        let changes = match micro {
            Micro::Access(_) | Micro::Count(_) | Micro::Flip { .. } => true,
            Micro::Unlock { .. } | Micro::Signal { .. } => true,
            Micro::Fence(..) | Micro::Lock(_) | Micro::Await { .. } | Micro::NextKernel => false,
        };
        for word in asked.words.iter().filter(|_| changes) {
            let (value, operand) = (&mut self.shadow[word.index()], asked.operands.0[word.place()]);
            match asked.op {
                CoreOp::Store => *value = operand,
                CoreOp::Atomic(op) => *value = op.apply(*value, operand),
                CoreOp::Load | CoreOp::Fence | CoreOp::KernelBegin | CoreOp::KernelEnd => {}
            }
        }
        let wave = &mut self.waves[usize::from(number)];
        wave.value = 0;
        if !waits {
            self.advance(number);
        }
    }

    /// Notes that an operation was refused, as if it had not been tried.
    fn refused(&mut self, number: u16, returns: bool, cache: u16) {
        let wave = &mut self.waves[usize::from(number)];
        wave.loads -= u32::from(returns);
        wave.waits = false;
        wave.planned = true;
        self.stalled[usize::from(cache)].push(Waiter::Wave(number));
    }

    /// Lets a wavefront go on to its next operation.
    pub(super) fn advance(&mut self, number: u16) {
        self.attempts = 0;
        let wave = &mut self.waves[usize::from(number)];
        wave.next += 1;
        wave.back_off = 1;
        self.running -= usize::from(wave.has_ended());
        self.go_on(number);
    }

    /// Takes the completion of an operation.
    pub(super) fn answered(&mut self, agent: u16, txn: Txn, data: &LineData<WORDS>) -> Result<(), Problem> {
        let operation = match self.operations.remove(txn) {
            Some(Ended::Operation(operation)) if self.waves[usize::from(operation.wave)].slot.cache == agent => {
                operation
            }
            Some(Ended::Kernel(cache)) if cache == agent => {
                self.heard();
                return Ok(());
            }
            Some(_) | None => return Err(Problem::UnexpectedAnswer { agent: self.name(agent) }),
        };
        let Operation { micro, wave: number, .. } = operation;
        self.note_values(&operation, data);
        self.judge(&operation, data)?;
        match micro {
            Micro::Fence(..) => self.release(number, true),
            Micro::Lock(word) => {
                let is_free = data.0[word.place()] == 0;
                if is_free {
                    self.shadow[word.index()] = 1;
                }
                self.release(number, is_free);
            }
            Micro::Await { word, value: least, .. } => self.release(number, data.0[word.place()] >= least),
            Micro::Access(_)
            | Micro::Count(_)
            | Micro::Flip { .. }
            | Micro::Unlock { .. }
            | Micro::Signal { .. }
            | Micro::NextKernel => self.go_on(number),
        }
        Ok(())
    }

    /// Notes the values that an operation has read, and what it wrote.
    fn note_values(&mut self, operation: &Operation, data: &LineData<WORDS>) {
        let (words, returns) = match operation.micro {
            Micro::Access(Access { does, words, .. }) => (words, does != Does::Store),
            Micro::Count(words) | Micro::Flip { words, .. } => (words, true),
            Micro::Lock(word) | Micro::Await { word, .. } => (Words::one(word), true),
            Micro::Unlock { lock, by_exchange } => (Words::one(lock), by_exchange),
            Micro::Signal { .. } | Micro::Fence(..) | Micro::NextKernel => return,
        };
        if !returns {
            return;
        }
        let wave = &mut self.waves[usize::from(operation.wave)];
        wave.loads -= 1;
        for (offset, word) in words.iter().enumerate() {
            let value = data.0[word.place()];
            wave.seen[word.index()] = value;
            let entry = self.log.get_mut(operation.logged as usize + offset).filter(|_| self.kind == Kind::Racy);
            let Some(entry) = entry else { continue };
            entry.read = Some(value);
            if let Some((op, operands)) = operation.update {
                let operand = operands.0[word.place()];
                entry.written = (op.apply(value, operand) == operand).then_some(operand);
            }
        }
    }

    /// A wavefront has its answer: it goes on, or tries again after a while.
    fn release(&mut self, number: u16, gets_on: bool) {
        let wave = &mut self.waves[usize::from(number)];
        wave.waits = false;
        if gets_on {
            self.advance(number);
            return;
        }
        let back_off = wave.back_off;
        wave.back_off = (back_off * 2).min(BACK_OFF_MAX);
        let delay = 1 + self.random.below(back_off);
        self.go_on_after(number, delay);
    }
}

/// The bit of a wavefront in words that all of them change.
pub(super) fn own_bit(wave: u16) -> u32 {
    1 << (wave % 32)
}
