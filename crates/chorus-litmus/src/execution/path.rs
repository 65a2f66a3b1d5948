//! The ways through a thread's code.
//!
//! A path is a choice for each branch that the thread meets. Loops are not followed: no path jumps back, so each body
//! is executed at most once, as in bounded model checkers with bound one.

use std::convert::Infallible;

use chorus_protocol::access::{AtomicOp, Order, Scope};

use crate::execution::linear::Linear;
use crate::judge::TooLarge;
use crate::test::{BarrierMode, Comparison, FenceKind, Instruction, Modify, Operand, Thread};

/// The largest number of paths of a thread.
const MAX_PATHS: usize = 256;
/// The largest number of events of a thread, so that they fit into a word of bits.
pub(crate) const MAX_EVENTS: usize = 64;

/// The action of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Fence(FenceKind),
    Barrier(BarrierMode),
}

/// The value that a write stores.
#[derive(Clone, Debug)]
pub(crate) enum Stored {
    Value(Linear),
    /// The result of an atomic on the value that the event before it has read.
    Modified {
        modify: Modify,
        /// The operand. For a compare-exchange, the expected value and the new one.
        operands: [Linear; 2],
    },
}

impl Stored {
    /// The operation and operand of an atomic, given the values of its operands.
    pub fn operation(modify: Modify, operands: [u32; 2]) -> (AtomicOp, u32) {
        match modify {
            Modify::CompareExchange { .. } => (AtomicOp::CompareExchange { expected: operands[0] }, operands[1]),
            _ => {
                let Ok(performed) = modify.resolve(|_| Ok::<u32, Infallible>(operands[0]));
                performed
            }
        }
    }
}

/// The name of a barrier, as far as its operands give it.
#[derive(Clone, Debug)]
pub(crate) struct BarrierName {
    pub instance: u32,
    pub id: Option<Linear>,
    pub quorum: Option<Linear>,
}

/// An event of a path.
#[derive(Clone, Debug)]
pub(crate) struct PathEvent {
    /// The index of its instruction. Of a vector access it is the index of the first part.
    pub place: u16,
    pub kind: Kind,
    /// The location of reads and writes.
    pub at: u8,
    pub order: Order,
    pub scope: Scope,
    /// Whether it is half of an atomic: the read, directly followed by the write.
    pub atomic: bool,
    /// Whether it is half of an atomic without a result.
    pub reduction: bool,
    pub stored: Option<Stored>,
    pub barrier: Option<BarrierName>,
    /// The reads of the path on which it depends, by value or by control, as bits.
    pub depends_on: u64,
}

/// A branch and the direction that was taken.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    comparison: Comparison,
    a: Linear,
    b: Linear,
    taken: bool,
}

impl Guard {
    /// Whether the branch takes this direction, where `read` gives the values that the path's events read.
    pub fn holds(&self, read: impl Fn(usize) -> u32) -> bool {
        let value = |side: &Linear| side.value(|event| Some(read(event))).unwrap_or(0);
        self.comparison.holds(value(&self.a), value(&self.b)) == self.taken
    }
}

/// A way through a thread's code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub events: Vec<PathEvent>,
    pub guards: Vec<Guard>,
    /// The final values of the registers.
    pub registers: Vec<Linear>,
    /// The reads on which the branches so far depend.
    controlled_by: u64,
}

/// Every way through a thread's code.
pub(crate) fn paths(thread: &Thread) -> Result<Vec<Path>, TooLarge> {
    let registers = thread.registers.iter().map(|register| Linear::constant(register.initial)).collect();
    let mut open = vec![(0, Path { registers, ..Path::default() })];
    let mut done = Vec::new();
    while let Some((mut place, mut path)) = open.pop() {
        let finished = loop {
            let Some(instruction) = thread.code.get(place) else { break true };
            let target = match *instruction {
                Instruction::Jump { target } => usize::from(target),
                Instruction::Branch { comparison, a, b, target } => {
                    let (a, b) = (Linear::operand(a, &path.registers), Linear::operand(b, &path.registers));
                    let target = usize::from(target);
                    match (a.known(), b.known()) {
                        (Some(a), Some(b)) if comparison.holds(a, b) => target,
                        (Some(_), Some(_)) => place + 1,
                        _ => {
                            path.controlled_by |= a.events() | b.events();
                            if target > place {
                                let mut other = path.clone();
                                other.guards.push(Guard { comparison, a: a.clone(), b: b.clone(), taken: true });
                                open.push((target, other));
                            }
                            path.guards.push(Guard { comparison, a, b, taken: false });
                            place + 1
                        }
                    }
                }
                // An instruction makes at most two events.
                _ if path.events.len() + 2 > MAX_EVENTS => return Err(TooLarge::Events { limit: MAX_EVENTS }),
                _ => {
                    path.execute(thread.parts(place).start, instruction);
                    place + 1
                }
            };
            if target <= place {
                break false;
            }
            place = target;
        };
        if finished {
            done.push(path);
        }
        if done.len() + open.len() > MAX_PATHS {
            return Err(TooLarge::Paths { limit: MAX_PATHS });
        }
    }
    Ok(done)
}

impl Path {
    fn push(&mut self, mut event: PathEvent) {
        event.depends_on |= self.controlled_by;
        self.events.push(event);
    }

    /// Adds the effects of an instruction that is no branch.
    fn execute(&mut self, place: usize, instruction: &Instruction) {
        let event = |kind, at: u8, order, scope| PathEvent {
            place: place as u16,
            kind,
            at,
            order,
            scope,
            atomic: false,
            reduction: false,
            stored: None,
            barrier: None,
            depends_on: 0,
        };
        match *instruction {
            Instruction::Load { to, at, order, scope, joined: _ } => {
                self.registers[usize::from(to.0)] = Linear::read(self.events.len());
                self.push(event(Kind::Read, at.0, order, scope));
            }
            Instruction::Store { at, value, order, scope, joined: _ } => {
                let value = Linear::operand(value, &self.registers);
                let depends_on = value.events();
                let stored = Some(Stored::Value(value));
                self.push(PathEvent { stored, depends_on, ..event(Kind::Write, at.0, order, scope) });
            }
            Instruction::Atomic { to, at, modify, order, scope, joined: _ } => {
                let operands = modify.operands().map(|operand| Linear::operand(operand, &self.registers));
                let read = self.events.len();
                let depends_on = operands[0].events() | operands[1].events() | 1 << read;
                let reduction = to.is_none();
                if let Some(to) = to {
                    self.registers[usize::from(to.0)] = Linear::read(read);
                }
                let half = PathEvent { atomic: true, reduction, ..event(Kind::Read, at.0, order, scope) };
                let stored = Some(Stored::Modified { modify, operands });
                self.push(half.clone());
                self.push(PathEvent { kind: Kind::Write, stored, depends_on, ..half });
            }
            Instruction::Fence { kind, scope } => self.push(event(Kind::Fence(kind), 0, Order::AcqRel, scope)),
            Instruction::Barrier { mode, instance, id, quorum } => {
                let linear = |operand: Operand| Linear::operand(operand, &self.registers);
                let barrier = Some(BarrierName { instance, id: id.map(linear), quorum: quorum.map(linear) });
                self.push(PathEvent { barrier, ..event(Kind::Barrier(mode), 0, Order::AcqRel, Scope::WorkGroup) });
            }
            Instruction::Add { to, a, b } => {
                let sum = Linear::operand(a, &self.registers).plus(&Linear::operand(b, &self.registers));
                self.registers[usize::from(to.0)] = sum;
            }
            Instruction::Branch { .. } | Instruction::Jump { .. } => {}
        }
    }
}
