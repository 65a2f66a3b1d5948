//! A litmus test as data.

use chorus_protocol::access::{AtomicOp, Order, Scope};

/// A small program with a condition on what it leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LitmusTest {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub comments: Vec<String>,
    /// What its threads do.
    pub program: Program,
    /// Only executions that end so are looked at.
    pub filter: Option<Condition>,
    /// What is asked about the condition.
    pub quantifier: Quantifier,
    /// The condition.
    pub condition: Condition,
}

/// What is asked about a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// Does it hold in some execution?
    Exists,
    /// Does it hold in none?
    NotExists,
    /// Does it hold in all?
    Forall,
}

/// Threads over shared memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Program {
    /// The words of memory. Instructions name them by index.
    pub locations: Vec<Location>,
    /// The threads.
    pub threads: Vec<Thread>,
}

/// A word of memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// Its value in the beginning.
    pub initial: u32,
    /// The cache line it lies in, and its place there. Models look at neither.
    pub line: u8,
    /// Its place in the line.
    pub word: u8,
}

/// A thread with its place in the machine and its code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Its work-group (CTA), unique within its GPU.
    pub cta: u32,
    /// Its GPU.
    pub gpu: u32,
    /// Its registers. Instructions name them by index.
    pub registers: Vec<RegisterSpec>,
    /// Its instructions; one behind the last ends the thread.
    pub code: Vec<Instruction>,
}

/// A register of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegisterSpec {
    /// Its name.
    pub name: String,
    /// Its value in the beginning.
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
    /// Written in the program.
    Constant(u32),
    /// What a register holds.
    Register(Register),
}

/// How strong a fence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FenceKind {
    /// Release and acquire.
    AcqRel,
    /// Sequentially consistent as well.
    Sc,
}

/// What a thread does at a barrier of its work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BarrierMode {
    /// Says that it has come, and goes on.
    Arrive,
    /// Waits for the others as well.
    Sync,
}

/// A comparison of unsigned values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

impl Comparison {
    /// Whether it holds.
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

/// The new value of a word that is read and written at once. What it takes beside the old value may come from registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Modify {
    /// The old value plus the operand.
    Add(Operand),
    /// The old value minus the operand.
    Sub(Operand),
    /// Bitwise and.
    And(Operand),
    /// Bitwise or.
    Or(Operand),
    /// Bitwise exclusive or.
    Xor(Operand),
    /// The operand.
    Exchange(Operand),
    /// The operand, if the old value is as expected.
    CompareExchange {
        /// The value compared with.
        expected: Operand,
        /// The new value.
        new: Operand,
    },
}

impl Modify {
    /// The operation and the operand that a cache performs, where `value` says what operands are worth, if that is known.
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

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Instruction {
    /// Reads a word.
    Load {
        /// The register that gets its value.
        to: Register,
        /// Which word.
        at: LocationId,
        /// Weak, relaxed or acquire.
        order: Order,
        /// Who must agree; without meaning for weak accesses.
        scope: Scope,
    },
    /// Writes a word.
    Store {
        /// Which word.
        at: LocationId,
        /// The new value.
        value: Operand,
        /// Weak, relaxed or release.
        order: Order,
        /// Who must agree; without meaning for weak accesses.
        scope: Scope,
    },
    /// Reads and writes a word indivisibly. Without a register it is a reduction, which acquires nothing.
    Atomic {
        /// The register that gets the old value.
        to: Option<Register>,
        /// Which word.
        at: LocationId,
        /// Its new value.
        modify: Modify,
        /// Relaxed, acquire, release or both.
        order: Order,
        /// Who must agree.
        scope: Scope,
    },
    /// Orders what is before it and what is after it.
    Fence {
        /// How strong it is.
        kind: FenceKind,
        /// Who must agree.
        scope: Scope,
    },
    /// Meets the other threads of the work-group.
    Barrier {
        /// Whether it waits.
        mode: BarrierMode,
        /// Which place in the program it is: threads meet at the same instance only.
        instance: u32,
        /// Which of the work-group's barriers; none is the only one.
        id: Option<Operand>,
        /// How many threads complete it; none is all of the work-group that name it.
        quorum: Option<Operand>,
    },
    /// Sets a register to the sum of two values; a plain move adds zero.
    Add {
        /// The register.
        to: Register,
        /// One value.
        a: Operand,
        /// The other.
        b: Operand,
    },
    /// Goes on elsewhere if a comparison holds.
    Branch {
        /// The comparison.
        comparison: Comparison,
        /// Its left side.
        a: Operand,
        /// Its right side.
        b: Operand,
        /// Index of the instruction to go on with.
        target: u16,
    },
    /// Goes on elsewhere.
    Jump {
        /// Index of the instruction to go on with.
        target: u16,
    },
}

/// A condition on registers and memory in the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// Holds always.
    True,
    /// Compares two values.
    Compare(Term, Comparison, Term),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// One of both holds.
    Or(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

/// A value in a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Term {
    /// Written there.
    Constant(u32),
    /// What a register holds in the end.
    Register {
        /// Index of the thread.
        thread: u8,
        /// The register.
        register: Register,
    },
    /// What a word holds in the end.
    Final(LocationId),
}

/// What an execution left behind.
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

    /// What a term is worth in an outcome.
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
