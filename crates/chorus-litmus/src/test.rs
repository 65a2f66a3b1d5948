//! A litmus test as data.

use chorus_protocol::access::{AtomicOp, Order, Scope};

/// A small program with a condition on its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitmusTest {
    /// The name of the test.
    pub name: String,
    /// The comments that describe the test.
    pub comments: Vec<String>,
    /// The threads and the memory of the test.
    pub program: Program,
    /// A condition that an execution's outcome must meet to be considered.
    pub filter: Option<Condition>,
    /// The question that is asked about the condition.
    pub quantifier: Quantifier,
    /// The condition on the outcome.
    pub condition: Condition,
}

/// The question that is asked about a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Whether it holds in some execution.
    Exists,
    /// Whether it holds in no execution.
    NotExists,
    /// Whether it holds in all executions.
    Forall,
}

/// Threads that share memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// The words of memory. Instructions name them by index.
    pub locations: Vec<Location>,
    /// The threads of the program.
    pub threads: Vec<Thread>,
}

/// A word of memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The name of the location.
    pub name: String,
    /// The initial value of the location.
    pub initial: u32,
    /// The cache line in which it lies. Models do not look at it.
    pub line: u8,
    /// The place within the line. Models do not look at it; a vector access takes words that follow each other.
    pub word: u8,
}

/// A thread with its place in the machine and its code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The work-group (CTA) of the thread, unique within its GPU.
    pub cta: u32,
    /// The GPU of the thread.
    pub gpu: u32,
    /// The registers of the thread. Instructions name them by index.
    pub registers: Vec<RegisterSpec>,
    /// The instructions of the thread. The thread ends behind the last one.
    pub code: Vec<Instruction>,
}

/// A register of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisterSpec {
    /// The name of the register.
    pub name: String,
    /// The initial value of the register.
    pub initial: u32,
}

/// An index into [`Thread::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(pub u8);

/// An index into [`Program::locations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocationId(pub u8);

/// A value that an instruction takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operand {
    /// A constant in the program.
    Constant(u32),
    /// The value of a register.
    Register(Register),
}

/// The strength of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FenceKind {
    /// A fence that releases and acquires.
    AcqRel,
    /// A fence that is also sequentially consistent.
    Sc,
}

/// The behaviour of a thread at a barrier of its work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarrierMode {
    /// The thread reports its arrival and continues.
    Arrive,
    /// The thread reports its arrival and waits for the others.
    Sync,
}

/// A comparison of unsigned values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// The left value equals the right one.
    Equal,
    /// The values are not equal.
    NotEqual,
    /// The left value is less than the right one.
    Less,
    /// The left value is at most the right one.
    LessOrEqual,
    /// The left value is greater than the right one.
    Greater,
    /// The left value is at least the right one.
    GreaterOrEqual,
}

impl Comparison {
    /// Whether the comparison of `a` with `b` holds.
    pub fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Comparison::Equal => a == b,
            Comparison::NotEqual => a != b,
            Comparison::Less => a < b,
            Comparison::LessOrEqual => a <= b,
            Comparison::Greater => a > b,
            Comparison::GreaterOrEqual => a >= b,
        }
    }
}

/// The new value of a word that is read and written at once. Its operands may come from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modify {
    /// The old value plus the operand.
    Add(Operand),
    /// The old value minus the operand.
    Sub(Operand),
    /// The bitwise and of the old value and the operand.
    And(Operand),
    /// The bitwise or of the old value and the operand.
    Or(Operand),
    /// The bitwise exclusive or of the old value and the operand.
    Xor(Operand),
    /// The operand, whatever the old value is.
    Exchange(Operand),
    /// The new value, if the old value is the expected one.
    CompareExchange {
        /// The value that the old value is compared with.
        expected: Operand,
        /// The value that is written if they are equal.
        new: Operand,
    },
}

impl Modify {
    /// The operation and the operand that a cache performs. `value` gives the values of operands, if they are known.
    pub fn resolve<E>(self, value: impl Fn(Operand) -> Result<u32, E>) -> Result<(AtomicOp, u32), E> {
        Ok(match self {
            Modify::Add(operand) => (AtomicOp::Add, value(operand)?),
            Modify::Sub(operand) => (AtomicOp::Add, value(operand)?.wrapping_neg()),
            Modify::And(operand) => (AtomicOp::And, value(operand)?),
            Modify::Or(operand) => (AtomicOp::Or, value(operand)?),
            Modify::Xor(operand) => (AtomicOp::Xor, value(operand)?),
            Modify::Exchange(operand) => (AtomicOp::Exchange, value(operand)?),
            Modify::CompareExchange { expected, new } => {
                (AtomicOp::CompareExchange { expected: value(expected)? }, value(new)?)
            }
        })
    }
}

/// One instruction of a thread, or one word of an instruction that accesses several ([`crate::vector`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instruction {
    /// Reads a word of memory.
    Load {
        /// The register that gets the value.
        to: Register,
        /// The word that is read.
        at: LocationId,
        /// The order: weak, relaxed or acquire.
        order: Order,
        /// The scope. It has no meaning for weak accesses.
        scope: Scope,
        /// Whether it belongs to the instruction before it, as one word of a vector access ([`crate::vector`]).
        joined: bool,
    },
    /// Writes a word of memory.
    Store {
        /// The word that is written.
        at: LocationId,
        /// The value that is written.
        value: Operand,
        /// The order: weak, relaxed or release.
        order: Order,
        /// The scope. It has no meaning for weak accesses.
        scope: Scope,
        /// Whether it belongs to the instruction before it, as one word of a vector access ([`crate::vector`]).
        joined: bool,
    },
    /// Reads and writes a word indivisibly. Without a register it is a reduction, which acquires nothing.
    Atomic {
        /// The register that gets the old value.
        to: Option<Register>,
        /// The word that is read and written.
        at: LocationId,
        /// The new value of the word.
        modify: Modify,
        /// The order: relaxed, acquire, release or both.
        order: Order,
        /// The scope of the access.
        scope: Scope,
        /// Whether it belongs to the instruction before it, as one word of a vector access ([`crate::vector`]).
        joined: bool,
    },
    /// Orders the accesses before it and the accesses after it.
    Fence {
        /// The strength of the fence.
        kind: FenceKind,
        /// The scope of the fence.
        scope: Scope,
    },
    /// Meets the other threads of the work-group.
    Barrier {
        /// Whether the thread waits.
        mode: BarrierMode,
        /// The place of the barrier in the program. Threads meet only at the same instance.
        instance: u32,
        /// The number of the barrier among the work-group's barriers. Without it there is only one.
        id: Option<Operand>,
        /// The number of threads that complete it. Without it these are all threads of the work-group that name the
        /// barrier.
        quorum: Option<Operand>,
    },
    /// Sets a register to the sum of two values. A plain move adds zero.
    Add {
        /// The register that gets the sum.
        to: Register,
        /// The first value of the sum.
        a: Operand,
        /// The second value of the sum.
        b: Operand,
    },
    /// Continues elsewhere if a comparison holds.
    Branch {
        /// The comparison that decides.
        comparison: Comparison,
        /// The left value of the comparison.
        a: Operand,
        /// The right value of the comparison.
        b: Operand,
        /// The index of the instruction at which the thread continues.
        target: u16,
    },
    /// Continues elsewhere in any case.
    Jump {
        /// The index of the instruction at which the thread continues.
        target: u16,
    },
}

/// A condition on the final registers and memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// The condition that always holds.
    True,
    /// The comparison of two values.
    Compare(Term, Comparison, Term),
    /// The conjunction: both conditions hold.
    And(Box<Condition>, Box<Condition>),
    /// The disjunction: at least one condition holds.
    Or(Box<Condition>, Box<Condition>),
    /// The negation: the condition does not hold.
    Not(Box<Condition>),
}

/// A value in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// A constant in the condition.
    Constant(u32),
    /// The final value of a register.
    Register {
        /// The index of the thread.
        thread: u8,
        /// The register of that thread.
        register: Register,
    },
    /// The final value of a location.
    Final(LocationId),
}

/// The final state of an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Outcome {
    /// The registers of all threads, one thread after the other.
    pub registers: Vec<u32>,
    /// The final value of every location.
    pub finals: Vec<u32>,
}

impl Program {
    /// Whether an instruction names the location.
    pub fn uses(&self, location: LocationId) -> bool {
        self.threads.iter().flat_map(|thread| &thread.code).any(|instruction| match *instruction {
            Instruction::Load { at, .. } | Instruction::Store { at, .. } | Instruction::Atomic { at, .. } => {
                at == location
            }
            Instruction::Fence { .. }
            | Instruction::Barrier { .. }
            | Instruction::Add { .. }
            | Instruction::Branch { .. }
            | Instruction::Jump { .. } => false,
        })
    }

    /// The place of a thread's register in [`Outcome::registers`].
    pub fn register_index(&self, thread: usize, register: Register) -> usize {
        let earlier: usize = self.threads[..thread].iter().map(|thread| thread.registers.len()).sum();
        earlier + usize::from(register.0)
    }

    /// The value of a term in an outcome.
    pub fn term(&self, term: Term, outcome: &Outcome) -> u32 {
        match term {
            Term::Constant(value) => value,
            Term::Register { thread, register } => {
                outcome.registers[self.register_index(usize::from(thread), register)]
            }
            Term::Final(at) => outcome.finals[usize::from(at.0)],
        }
    }

    /// Whether a condition holds in an outcome.
    pub fn holds(&self, condition: &Condition, outcome: &Outcome) -> bool {
        match condition {
            Condition::True => true,
            Condition::Compare(a, comparison, b) => comparison.holds(self.term(*a, outcome), self.term(*b, outcome)),
            Condition::And(a, b) => self.holds(a, outcome) && self.holds(b, outcome),
            Condition::Or(a, b) => self.holds(a, outcome) || self.holds(b, outcome),
            Condition::Not(a) => !self.holds(a, outcome),
        }
    }
}
