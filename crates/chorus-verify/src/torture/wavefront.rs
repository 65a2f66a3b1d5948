//! Wavefronts: the operations that they issue, and the answers that these must get.

use std::ops::Range;

use chorus_protocol::access::{AtomicOp, CoreOp, CoreRequest, Order, Txn};
use chorus_protocol::address::LineAddr;
use chorus_protocol::controller::{Input, Time};
use chorus_protocol::line::{ByteMask, LineData};

use super::coherence::{Logged, PENDING};
use super::driver::{Driver, Waiter, lineless};
use super::lower::Micro;
use super::network::Event;
use super::operations::{Ended, Operation};
use super::problem::Problem;
use super::program::{Kind, WORDS, WaveSlot, Word};

/// The longest wait between two looks at a lock or a flag, in ticks.
const BACK_OFF_MAX: u32 = 256;

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

/// The request of an operation to the cache: the word, the operation, its operand and its order.
fn request_of(micro: Micro, value: u32, seen: &[u32; 32]) -> (Word, CoreOp, u32, Order) {
    let atomic = CoreOp::Atomic;
    match micro {
        Micro::Load(word) | Micro::Peek(word) => (word, CoreOp::Load, 0, Order::Weak),
        Micro::Store(word) => (word, CoreOp::Store, value, Order::Weak),
        Micro::Count(word) => (word, atomic(AtomicOp::Add), 1, Order::Relaxed),
        Micro::Exchange(word) => (word, atomic(AtomicOp::Exchange), value, Order::Relaxed),
        Micro::CompareExchange(word) => {
            (word, atomic(AtomicOp::CompareExchange { expected: seen[word.index()] }), value, Order::Relaxed)
        }
        Micro::Lock(word) => (word, atomic(AtomicOp::CompareExchange { expected: 0 }), 1, Order::Acquire),
        Micro::Unlock { lock, by_exchange: true } => (lock, atomic(AtomicOp::Exchange), 0, Order::Release),
        Micro::Unlock { lock, by_exchange: false } => (lock, CoreOp::Store, 0, Order::Release),
        Micro::Signal { flag, value } => (flag, CoreOp::Store, value, Order::Release),
        Micro::Await { word, by_atomics: true, .. } => (word, atomic(AtomicOp::Add), 0, Order::Acquire),
        Micro::Await { word, by_atomics: false, .. } => (word, CoreOp::Load, 0, Order::Acquire),
        Micro::Fence(order, _) => (Word(0), CoreOp::Fence, 0, order),
        Micro::NextKernel => (Word(0), CoreOp::Fence, 0, Order::AcqRel),
    }
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
        if wave.value == 0 && matches!(micro, Micro::Store(_) | Micro::Exchange(_) | Micro::CompareExchange(_)) {
            self.last_value += 1;
            wave.value = self.last_value;
        }
        let (word, op, operand, order) = request_of(micro, wave.value, &wave.seen);
        let (slot, value) = (wave.slot, wave.value);
        let returns = matches!(op, CoreOp::Load | CoreOp::Atomic(_));
        let waits = matches!(micro, Micro::Fence(..) | Micro::Lock(_) | Micro::Await { .. });
        wave.loads += u32::from(returns);
        wave.waits = waits;
        let expected = match micro {
            Micro::CompareExchange(word) => wave.seen[word.index()],
            _ => self.shadow[word.index()],
        };
        let logged = self.log.len() as u32;
        let logs = self.kind == Kind::Racy && op != CoreOp::Fence;
        if logs {
            let (read, written) = (returns.then_some(PENDING), (op != CoreOp::Load).then_some(value));
            self.log.push(Logged { wave: number, word, read, written });
        }
        let txn = self.operations.insert(Operation { micro, wave: number, expected, logged });
        let mut data = LineData::default();
        data.0[word.place()] = operand;
        let (line, mask) = (LineAddr(word.line()), ByteMask::word(word.place()));
        let scope = self.scopes.of(word);
        let order = if self.kind == Kind::Racy && order == Order::Weak { self.scopes.races } else { order };
        let request = match micro {
            Micro::Fence(order, scope) => CoreRequest { order, ..lineless(CoreOp::Fence, scope, slot.slot, txn) },
            _ => CoreRequest { op, order, scope, line, mask, data, wave: slot.slot, txn },
        };
        if self.offer(slot.cache, &Input::Core(&request))? {
            self.issued(number, micro, value, waits);
        } else {
            self.refused(number, txn, returns, logs, slot.cache);
        }
        Ok(())
    }

    /// Notes that an operation was accepted: its effects are known from here on.
    fn issued(&mut self, number: u16, micro: Micro, value: u32, waits: bool) {
        match micro {
            Micro::Store(word) => self.shadow[word.index()] = value,
            Micro::Count(word) => self.shadow[word.index()] += 1,
            Micro::Unlock { lock, .. } => self.shadow[lock.index()] = 0,
            Micro::Signal { flag, value } => self.shadow[flag.index()] = value,
            Micro::Load(_)
            | Micro::Peek(_)
            | Micro::Exchange(_)
            | Micro::CompareExchange(_)
            | Micro::Fence(..)
            | Micro::Lock(_)
            | Micro::Await { .. }
            | Micro::NextKernel => {}
        }
        let wave = &mut self.waves[usize::from(number)];
        wave.value = 0;
        if !waits {
            self.advance(number);
        }
    }

    /// Notes that an operation was refused, as if it had not been tried.
    fn refused(&mut self, number: u16, txn: Txn, returns: bool, logs: bool, cache: u16) {
        self.operations.remove(txn);
        if logs {
            self.log.pop();
        }
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
        let Operation { micro, wave: number, expected, logged } = operation;
        let (word, op, ..) = request_of(micro, 0, &[0; 32]);
        let value = data.0[word.place()];
        if matches!(op, CoreOp::Load | CoreOp::Atomic(_)) {
            let wave = &mut self.waves[usize::from(number)];
            wave.loads -= 1;
            wave.seen[word.index()] = value;
            if let Some(entry) = self.log.get_mut(logged as usize).filter(|_| self.kind == Kind::Racy) {
                entry.read = Some(value);
                if matches!(micro, Micro::CompareExchange(_)) && value != expected {
                    entry.written = None;
                }
            }
        }
        self.judge(&operation, value)?;
        match micro {
            Micro::Fence(..) => self.release(number, true),
            Micro::Lock(word) => {
                if value == 0 {
                    self.shadow[word.index()] = 1;
                }
                self.release(number, value == 0);
            }
            Micro::Await { value: least, .. } => self.release(number, value >= least),
            Micro::Load(_)
            | Micro::Peek(_)
            | Micro::Store(_)
            | Micro::Count(_)
            | Micro::Exchange(_)
            | Micro::CompareExchange(_)
            | Micro::Unlock { .. }
            | Micro::Signal { .. }
            | Micro::NextKernel => self.go_on(number),
        }
        Ok(())
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

    /// Compares an answer with the value that the driver expects.
    fn judge(&mut self, operation: &Operation, value: u32) -> Result<(), Problem> {
        if self.kind == Kind::Racy {
            return Ok(());
        }
        let wrong = |expected: String| {
            let slot = self.waves[usize::from(operation.wave)].slot;
            let operation = operation.micro.to_string();
            Problem::WrongValue { wave: slot.to_string(), operation, got: value, expected }
        };
        match operation.micro {
            Micro::Load(_) if value != operation.expected => Err(wrong(operation.expected.to_string())),
            Micro::Lock(_) if value > 1 => Err(wrong("0 or 1".to_owned())),
            Micro::Unlock { by_exchange: true, .. } if value != 1 => Err(wrong("1".to_owned())),
            Micro::Await { value: least, .. } if value > least + self.waves.len() as u32 => {
                Err(wrong(format!("about {least}")))
            }
            Micro::Count(word) if value >= self.shadow[word.index()].max(operation.expected + 1) => {
                Err(wrong(format!("less than {}", self.shadow[word.index()].max(operation.expected + 1))))
            }
            Micro::Count(word) => {
                let (place, bit) = (value as usize / 64, 1 << (value % 64));
                let seen = &self.counted[word.index()];
                if seen.get(place).is_some_and(|bits| bits & bit != 0) {
                    return Err(wrong("a value that no other atomic got".to_owned()));
                }
                let seen = &mut self.counted[word.index()];
                if seen.len() <= place {
                    seen.resize(place + 1, 0);
                }
                seen[place] |= bit;
                Ok(())
            }
            Micro::Load(_)
            | Micro::Peek(_)
            | Micro::Store(_)
            | Micro::Exchange(_)
            | Micro::CompareExchange(_)
            | Micro::Fence(..)
            | Micro::Lock(_)
            | Micro::Unlock { .. }
            | Micro::Signal { .. }
            | Micro::Await { .. }
            | Micro::NextKernel => Ok(()),
        }
    }
}
