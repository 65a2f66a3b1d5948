//! Programs of a few operations per thread, and what came of running one.

use std::fmt::{self, Write};

use chorus_protocol::access::{AtomicOp, Order};

/// Words of a line in the exhaustive driver.
pub const WORDS: usize = 2;

/// One word of one line. `x`, `y` and `z` name the first words of lines 0, 1 and 2; `x1` is the second word of line 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Line number.
    pub line: u8,
    /// Word within the line.
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

/// One operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Reads a word.
    Load {
        /// Which.
        at: Location,
        /// Relaxed or acquire.
        order: Order,
    },
    /// Writes a word.
    Store {
        /// Which.
        at: Location,
        /// The new value.
        value: u32,
        /// Relaxed or release.
        order: Order,
    },
    /// Reads and writes a word indivisibly.
    Atomic {
        /// Which.
        at: Location,
        /// How the new value follows from the old.
        op: AtomicOp,
        /// The operand.
        operand: u32,
        /// Any order.
        order: Order,
    },
    /// Orders everything before it in the thread before everything after it.
    Fence,
}

impl Op {
    /// The word concerned.
    pub fn location(&self) -> Option<Location> {
        match *self {
            Op::Load { at, .. } | Op::Store { at, .. } | Op::Atomic { at, .. } => Some(at),
            Op::Fence => None,
        }
    }

    /// Whether a value comes back.
    pub fn returns_value(&self) -> bool {
        matches!(self, Op::Load { .. } | Op::Atomic { .. })
    }

    /// Memory order; fences have both.
    pub fn order(&self) -> Order {
        match *self {
            Op::Load { order, .. } | Op::Store { order, .. } | Op::Atomic { order, .. } => order,
            Op::Fence => Order::AcqRel,
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

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.order() {
            Order::Weak | Order::Relaxed => "",
            Order::Acquire => ".acq",
            Order::Release => ".rel",
            Order::AcqRel => ".acq_rel",
        };
        match self {
            Op::Load { at, .. } => write!(f, "ld{suffix} {at}"),
            Op::Store { at, value, .. } => write!(f, "st{suffix} {at}={value}"),
            Op::Atomic { at, op: AtomicOp::Exchange, operand, .. } => write!(f, "exch{suffix} {at},{operand}"),
            Op::Atomic { at, op: AtomicOp::Add, operand, .. } => write!(f, "add{suffix} {at},{operand}"),
            Op::Atomic { at, op, operand, .. } => write!(f, "{op:?}{suffix} {at},{operand}"),
            Op::Fence => write!(f, "fence"),
        }
    }
}

/// What threads do, each in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Program {
    /// Operations of each thread.
    pub threads: Vec<Vec<Op>>,
}

impl Program {
    /// Number of lines that the program's locations need.
    pub fn lines(&self) -> u8 {
        let highest = self.threads.iter().flatten().filter_map(Op::location).map(|at| at.line).max();
        highest.map_or(0, |line| line + 1)
    }

    /// An outcome in words: each thread's values in the order of its loads and atomics, then the final memory.
    pub fn describe(&self, outcome: &Outcome) -> String {
        let mut text = String::new();
        let mut values = outcome.registers.iter();
        for (thread, ops) in self.threads.iter().enumerate() {
            for (register, value) in
                ops.iter().filter(|op| op.returns_value()).zip(&mut values).map(|p| p.1).enumerate()
            {
                let _ = write!(text, "T{thread}:r{register}={value} ");
            }
        }
        text.push_str("finally");
        for (index, value) in outcome.finals.iter().enumerate() {
            let at = Location::from_index(index);
            if self.threads.iter().flatten().any(|op| op.location() == Some(at)) {
                let _ = write!(text, " {at}={value}");
            }
        }
        text
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (thread, ops) in self.threads.iter().enumerate() {
            let ops: Vec<String> = ops.iter().map(Op::to_string).collect();
            let separator = if thread == 0 { "" } else { " | " };
            write!(f, "{separator}T{thread}: {}", if ops.is_empty() { "-".to_owned() } else { ops.join("; ") })?;
        }
        Ok(())
    }
}

/// What an execution returned and left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    /// The values of all loads and atomics, thread by thread, in program order.
    pub registers: Vec<u32>,
    /// The final value of every word, by [`Location::index`].
    pub finals: Vec<u32>,
}

/// One position of a thread as the machine issues it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The operations to choose from.
    pub alternatives: Vec<Op>,
    /// A fence that an acquire or a release stands for, and not an operation of the program.
    pub implied: bool,
}

impl Step {
    /// A position without a choice.
    pub fn fixed(op: Op) -> Step {
        Step { alternatives: vec![op], implied: false }
    }

    fn implied_fence() -> Step {
        Step { alternatives: vec![Op::Fence], implied: true }
    }
}

/// A thread's operations as the machine issues them: an acquire is followed and a release preceded by a fence.
pub fn lower(ops: &[Op]) -> Vec<Step> {
    let mut steps = Vec::new();
    for op in ops {
        let fenced = *op != Op::Fence;
        if fenced && op.releases() {
            steps.push(Step::implied_fence());
        }
        steps.push(Step::fixed(*op));
        if fenced && op.acquires() {
            steps.push(Step::implied_fence());
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: Location = Location { line: 0, word: 0 };
    const Y1: Location = Location { line: 1, word: 1 };

    #[test]
    fn locations_are_named_like_the_literature_names_them() {
        assert_eq!((X.to_string(), Y1.to_string()), ("x".to_owned(), "y1".to_owned()));
        assert_eq!(Location::from_index(Y1.index()), Y1);
    }

    #[test]
    fn an_acquire_is_followed_by_a_fence_and_a_release_preceded_by_one() {
        let ops = [
            Op::Load { at: X, order: Order::Acquire },
            Op::Store { at: X, value: 1, order: Order::Release },
            Op::Fence,
        ];
        let lowered: Vec<(Op, bool)> = lower(&ops).iter().map(|step| (step.alternatives[0], step.implied)).collect();
        let fence = (Op::Fence, true);
        assert_eq!(lowered, [(ops[0], false), fence, fence, (ops[1], false), (Op::Fence, false)]);
    }

    #[test]
    fn an_outcome_is_described_thread_by_thread() {
        let program = Program {
            threads: vec![
                vec![Op::Store { at: X, value: 1, order: Order::Relaxed }],
                vec![Op::Load { at: X, order: Order::Relaxed }],
            ],
        };
        assert_eq!(program.to_string(), "T0: st x=1 | T1: ld x");
        assert_eq!(program.describe(&Outcome { registers: vec![0], finals: vec![1, 0] }), "T1:r0=0 finally x=1");
    }
}
