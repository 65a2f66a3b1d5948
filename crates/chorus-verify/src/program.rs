//! Operations of threads, and the programs that they make.

use std::fmt;

use chorus_litmus::test::{self as litmus, BarrierMode, FenceKind, Instruction, LocationId, Modify, Operand};
use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::address::AgentId;

use crate::words::{Values, Words};

/// The number of words of a line in the exhaustive driver.
pub const WORDS: usize = 2;

/// One word of one line. `x`, `y` and `z` name the first words of lines 0, 1 and 2; `x1` is the second word of line 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The number of the line.
    pub line: u8,
    /// The place of the word in its line.
    pub word: u8,
}

impl Location {
    /// The place of this word among all words.
    pub fn index(self) -> usize {
        usize::from(self.line) * WORDS + usize::from(self.word)
    }

    /// The word whose [`Location::index`] is `index`.
    pub fn from_index(index: usize) -> Location {
        Location { line: (index / WORDS) as u8, word: (index % WORDS) as u8 }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = char::from(b'u' + (self.line + 3) % 6);
        if self.word == 0 { write!(f, "{name}") } else { write!(f, "{name}{}", self.word) }
    }
}

/// One operation of a thread, with everything that a cache needs to perform it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Reads words of memory.
    Load {
        /// The words to read.
        at: Words,
        /// The order: weak, relaxed or acquire.
        order: Order,
        /// The threads that must agree on the order.
        scope: Scope,
    },
    /// Writes words of memory.
    Store {
        /// The words to write.
        at: Words,
        /// The values that are written.
        values: Values,
        /// The order: weak, relaxed or release.
        order: Order,
        /// The threads that must agree on the order.
        scope: Scope,
    },
    /// Reads and writes words, each of them indivisibly.
    Atomic {
        /// The words to read and write.
        at: Words,
        /// The function from the old value to the new.
        op: AtomicOp,
        /// The operand of the function for each word.
        operands: Values,
        /// The order, of any strength.
        order: Order,
        /// The threads that must agree on the order.
        scope: Scope,
        /// Whether the thread gets the old value. It does not wait for an atomic that returns nothing.
        returns: bool,
    },
    /// Orders everything before it in the thread before everything after it.
    Fence {
        /// Both directions, unless the fence stands for the order of another operation: acquire behind it, release
        /// before it.
        order: Order,
        /// The threads that must agree on the order.
        scope: Scope,
    },
    /// Meets the other threads of its work-group, without the caches.
    Barrier {
        /// The index among the machine's barriers.
        barrier: u8,
        /// Whether the thread waits for the others.
        mode: BarrierMode,
    },
    /// Ends or begins a kernel. All threads reach it together.
    Kernel(Edge),
    /// A command of a command processor to a shared bank, between two kernels, to write back or to empty itself.
    Command {
        /// The bank that gets the command.
        bank: AgentId,
        /// The kind of command: at the end of a kernel the bank writes back, before the next kernel it empties itself.
        edge: Edge,
        /// The first line of the page concerned; without one, the command concerns the whole bank.
        page: Option<u8>,
    },
    /// Waits until all threads are here and nothing is in flight. Loads of system scope then find everything that was
    /// written, as threads that wait for each other need it.
    Settle,
}

/// An end of the time between two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Edge {
    /// A kernel has ended.
    End,
    /// The next kernel begins.
    Begin,
}

impl Op {
    /// A fence for all of a GPU.
    pub const FENCE: Op = Op::fence(Scope::Gpu);

    /// A fence of the program's own.
    pub const fn fence(scope: Scope) -> Op {
        Op::Fence { order: Order::AcqRel, scope }
    }

    /// The words that the operation concerns, if any.
    pub fn words(&self) -> Option<Words> {
        match *self {
            Op::Load { at, .. } | Op::Store { at, .. } | Op::Atomic { at, .. } => Some(at),
            Op::Fence { .. } | Op::Barrier { .. } | Op::Kernel(_) | Op::Command { .. } | Op::Settle => None,
        }
    }

    /// Whether the operation may change its word.
    pub fn writes(&self) -> bool {
        matches!(self, Op::Store { .. } | Op::Atomic { .. })
    }

    /// Whether the thread gets a value back.
    pub fn returns_value(&self) -> bool {
        matches!(self, Op::Load { .. } | Op::Atomic { returns: true, .. })
    }

    /// Whether the cache answers with a value, wanted or not. A fence waits for all of these operations.
    pub fn reads(&self) -> bool {
        matches!(self, Op::Load { .. } | Op::Atomic { .. })
    }

    /// The memory order of the operation. Barriers have both directions.
    pub fn order(&self) -> Order {
        match *self {
            Op::Load { order, .. } | Op::Store { order, .. } | Op::Atomic { order, .. } | Op::Fence { order, .. } => {
                order
            }
            Op::Kernel(Edge::End) | Op::Command { edge: Edge::End, .. } => Order::Release,
            Op::Kernel(Edge::Begin) | Op::Command { edge: Edge::Begin, .. } => Order::Acquire,
            Op::Barrier { .. } | Op::Settle => Order::AcqRel,
        }
    }

    /// The threads that must agree on the operation's order.
    pub fn scope(&self) -> Scope {
        match *self {
            Op::Load { scope, .. } | Op::Store { scope, .. } | Op::Atomic { scope, .. } | Op::Fence { scope, .. } => {
                scope
            }
            Op::Barrier { .. } => Scope::WorkGroup,
            Op::Kernel(_) | Op::Command { .. } | Op::Settle => Scope::System,
        }
    }

    /// The operation as instructions of a litmus test, one for each word. `register` gives a register for each value
    /// that comes back.
    fn to_instructions(self, mut register: impl FnMut() -> litmus::Register) -> Vec<Instruction> {
        let locations =
            |at: Words| at.iter().enumerate().map(|(place, at)| (LocationId(at.index() as u8), at, place > 0));
        match self {
            Op::Load { at, order, scope } => {
                let load = |(at, _, joined)| Instruction::Load { to: register(), at, order, scope, joined };
                locations(at).map(load).collect()
            }
            Op::Store { at, values, order, scope } => {
                let value = |at: Location| Operand::Constant(values[usize::from(at.word)]);
                let store = |(id, at, joined)| Instruction::Store { at: id, value: value(at), order, scope, joined };
                locations(at).map(store).collect()
            }
            Op::Atomic { at, op, operands, order, scope, returns } => {
                let atomic = |(id, at, joined): (LocationId, Location, bool)| {
                    let modify = modify(op, operands[usize::from(at.word)]);
                    Instruction::Atomic { to: returns.then(&mut register), at: id, modify, order, scope, joined }
                };
                locations(at).map(atomic).collect()
            }
            Op::Fence { scope, .. } => vec![Instruction::Fence { kind: FenceKind::Sc, scope }],
            Op::Barrier { barrier, mode } => {
                vec![Instruction::Barrier { mode, instance: u32::from(barrier), id: None, quorum: None }]
            }
            Op::Kernel(_) | Op::Command { .. } | Op::Settle => {
                vec![Instruction::Barrier { mode: BarrierMode::Sync, instance: 0, id: None, quorum: None }]
            }
        }
    }

    /// Whether later operations stay behind this one by its order.
    pub fn acquires(&self) -> bool {
        matches!(self.order(), Order::Acquire | Order::AcqRel)
    }

    /// Whether earlier operations stay before this one by its order.
    pub fn releases(&self) -> bool {
        matches!(self.order(), Order::Release | Order::AcqRel)
    }
}

/// The change that an atomic operation makes, as a litmus test has it.
fn modify(op: AtomicOp, operand: u32) -> Modify {
    let operand = Operand::Constant(operand);
    match op {
        AtomicOp::Add => Modify::Add(operand),
        AtomicOp::And => Modify::And(operand),
        AtomicOp::Or => Modify::Or(operand),
        AtomicOp::Xor => Modify::Xor(operand),
        AtomicOp::Exchange => Modify::Exchange(operand),
        AtomicOp::CompareExchange { expected } => {
            Modify::CompareExchange { expected: Operand::Constant(expected), new: operand }
        }
        AtomicOp::Min
        | AtomicOp::Max
        | AtomicOp::MinSigned
        | AtomicOp::MaxSigned
        | AtomicOp::Inc
        | AtomicOp::Dec
        | AtomicOp::AddF32
        | AtomicOp::Pair(_) => unreachable!("explorations issue none of these"),
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = match self.order() {
            Order::Weak => ".weak",
            Order::Relaxed => "",
            Order::Acquire => ".acq",
            Order::Release => ".rel",
            Order::AcqRel => ".acq_rel",
        };
        let scope = match self.scope() {
            Scope::WorkGroup => ".cta",
            Scope::Gpu => "",
            Scope::System => ".sys",
        };
        match self {
            Op::Load { at, .. } => write!(f, "ld{order}{scope} {at}"),
            Op::Store { at, values, .. } => {
                write!(f, "st{order}{scope}")?;
                at.iter().try_for_each(|at| write!(f, " {at}={}", values[usize::from(at.word)]))
            }
            Op::Atomic { at, op, operands, returns, .. } => {
                let (name, old) = match op {
                    AtomicOp::Exchange => ("exch".to_owned(), None),
                    AtomicOp::CompareExchange { expected } => ("cas".to_owned(), Some(expected)),
                    _ => (format!("{op:?}").to_lowercase(), None),
                };
                let old = old.map_or(String::new(), |old| format!("{old},"));
                let kind = if *returns { "" } else { "red." };
                write!(f, "{kind}{name}{order}{scope}")?;
                at.iter().try_for_each(|at| write!(f, " {at},{old}{}", operands[usize::from(at.word)]))
            }
            Op::Fence { order: Order::AcqRel, .. } => write!(f, "fence{scope}"),
            Op::Fence { .. } => write!(f, "fence{order}{scope}"),
            Op::Barrier { barrier, mode: BarrierMode::Sync } => write!(f, "bar {barrier}"),
            Op::Barrier { barrier, mode: BarrierMode::Arrive } => write!(f, "arrive {barrier}"),
            Op::Kernel(Edge::End) => write!(f, "kernel ends"),
            Op::Kernel(Edge::Begin) => write!(f, "kernel begins"),
            Op::Command { edge, page, .. } => {
                let what = if *edge == Edge::End { "write back" } else { "empty" };
                match page {
                    Some(line) => write!(f, "{what} the page of {}", Location { line: *line, word: 0 }),
                    None => write!(f, "{what} the L2"),
                }
            }
            Op::Settle => write!(f, "settle"),
        }
    }
}

/// The number of lines that the locations of operations need, at least one.
pub fn lines_of<'a>(ops: impl IntoIterator<Item = &'a Op>) -> u8 {
    ops.into_iter().filter_map(Op::words).map(|at| at.line + 1).max().unwrap_or(1)
}

/// The GPU and the work-group of a thread, as memory models see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkGroup {
    /// The number of the GPU.
    pub gpu: u32,
    /// The number of the work-group.
    pub cta: u32,
}

/// The litmus program of threads that issue the given operations on a memory of `lines` lines. Every value that comes
/// back has a register of its own.
pub fn straight_line(threads: &[(WorkGroup, Vec<Op>)], lines: u8) -> litmus::Program {
    let locations = (0..usize::from(lines) * WORDS).map(Location::from_index);
    let location = |at: Location| litmus::Location { name: at.to_string(), initial: 0, line: at.line, word: at.word };
    let thread = |(work_group, ops): &(WorkGroup, Vec<Op>)| {
        let mut thread = litmus::Thread { cta: work_group.cta, gpu: work_group.gpu, ..litmus::Thread::default() };
        for op in ops {
            let litmus::Thread { registers, code, .. } = &mut thread;
            code.extend(op.to_instructions(|| {
                let to = litmus::Register(registers.len() as u8);
                registers.push(litmus::RegisterSpec { name: format!("r{}", to.0), initial: 0 });
                to
            }));
        }
        thread
    };
    litmus::Program { locations: locations.map(location).collect(), threads: threads.iter().map(thread).collect() }
}

/// One position of a thread's program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The operations to choose from.
    pub alternatives: Vec<Op>,
    /// Whether it is a fence that stands for an acquire or a release, and not an operation of the program.
    pub implied: bool,
}

impl Step {
    /// A position without a choice.
    pub fn fixed(op: Op) -> Step {
        Step { alternatives: vec![op], implied: false }
    }

    /// The end of a kernel and the beginning of the next. A fence before the end sends the thread's writes in order;
    /// the end of the kernel does the rest.
    pub fn next_kernel() -> [Step; 3] {
        let fence = Op::Fence { order: Order::Release, scope: Scope::WorkGroup };
        let implied = |op| Step { alternatives: vec![op], implied: true };
        [implied(fence), implied(Op::Kernel(Edge::End)), Step::fixed(Op::Kernel(Edge::Begin))]
    }

    /// The fences that stand for an operation's order: one before it and one after it.
    pub fn implied_fences(op: &Op) -> [Option<Op>; 2] {
        let fence = |order| Some(Op::Fence { order, scope: op.scope() });
        match op {
            Op::Fence { .. } => [None, None],
            Op::Barrier { .. } => [fence(Order::AcqRel), None],
            Op::Kernel(_) | Op::Command { .. } | Op::Settle => [None, None],
            Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } => {
                [fence(Order::Release).filter(|_| op.releases()), fence(Order::Acquire).filter(|_| op.acquires())]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Words = Words::one(0, 0);
    const Y1: Words = Words::one(1, 1);

    #[test]
    fn locations_are_named_like_the_literature_names_them() {
        let (x, y1) = (Location { line: 0, word: 0 }, Location { line: 1, word: 1 });
        assert_eq!((x.to_string(), y1.to_string()), ("x".to_owned(), "y1".to_owned()));
        assert_eq!(Location::from_index(y1.index()), y1);
    }

    #[test]
    fn an_acquire_is_followed_by_a_fence_and_a_release_preceded_by_one() {
        let ops = [
            Op::Load { at: X, order: Order::Acquire, scope: Scope::Gpu },
            Op::Store { at: X, values: [1, 0], order: Order::Release, scope: Scope::System },
            Op::FENCE,
        ];
        let fence = |order, scope| Some(Op::Fence { order, scope });
        assert_eq!(
            ops.map(|op| Step::implied_fences(&op)),
            [[None, fence(Order::Acquire, Scope::Gpu)], [fence(Order::Release, Scope::System), None], [None, None]]
        );
    }

    #[test]
    fn operations_become_instructions_with_registers_for_what_comes_back() {
        let (order, scope) = (Order::Relaxed, Scope::Gpu);
        let stores = vec![Op::Store { at: X, values: [1, 0], order, scope }];
        let loads = vec![Op::Load { at: Y1, order, scope }];
        let threads = [(WorkGroup { gpu: 0, cta: 0 }, stores), (WorkGroup { gpu: 1, cta: 0 }, loads)];
        let program = straight_line(&threads, 2);
        assert_eq!(program.locations.iter().map(|at| &*at.name).collect::<Vec<_>>(), ["x", "x1", "y", "y1"]);
        assert_eq!(program.threads.iter().map(|thread| thread.registers.len()).collect::<Vec<_>>(), [0, 1]);
        let loaded = Instruction::Load { to: litmus::Register(0), at: LocationId(3), order, scope, joined: false };
        assert_eq!(program.threads[1].code, [loaded]);
    }
}
