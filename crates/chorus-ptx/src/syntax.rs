//! The parts of a module of PTX, as they are written.

use crate::error::Place;
use crate::types::{ScalarType, Space};

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Module {
    pub(crate) version: String,
    pub(crate) target: String,
    pub(crate) variables: Vec<Variable>,
    pub(crate) functions: Vec<Function>,
}

/// A variable of a module or a function, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) at: Place,
    pub(crate) name: String,
    /// The space. A parameter of a function may be in registers, which have none.
    pub(crate) space: Option<Space>,
    pub(crate) scalar: ScalarType,
    /// The least alignment in bytes.
    pub(crate) align: u32,
    pub(crate) bytes: u64,
    /// Its size is only known at the launch: shared memory that the host asks for.
    pub(crate) unsized_array: bool,
    /// It is defined in another module.
    pub(crate) external: bool,
    pub(crate) initial: Vec<Initial>,
}

/// One value of an initializer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Initial {
    Bits(u64),
    /// The address of another variable, in its space or generic, and a distance from there.
    Address {
        name: String,
        offset: i64,
        generic: bool,
        at: Place,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) at: Place,
    pub(crate) name: String,
    pub(crate) is_entry: bool,
    pub(crate) returns: Vec<Variable>,
    pub(crate) params: Vec<Variable>,
    /// The most registers of a thread, where the file says so.
    pub(crate) registers_max: Option<u32>,
    /// The statements. A declaration has none.
    pub(crate) body: Option<Vec<Statement>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Statement {
    /// A register, or those of a row of names: `%r<7>` is `%r0` to `%r6`.
    Register {
        name: String,
        count: Option<u64>,
        scalar: ScalarType,
    },
    Variable(Variable),
    Label {
        name: String,
        at: Place,
    },
    Instruction(Instruction),
    /// Statements with names of their own.
    Block(Vec<Statement>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instruction {
    pub(crate) at: Place,
    pub(crate) guard: Option<Guard>,
    /// The parts of the opcode: `ld`, `global`, `u32`.
    pub(crate) opcode: Vec<String>,
    pub(crate) operands: Vec<Operand>,
}

impl Instruction {
    /// The opcode as it is written.
    pub(crate) fn name(&self) -> String {
        self.opcode.join(".")
    }
}

/// The predicate of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guard {
    pub(crate) register: String,
    pub(crate) negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A register, a variable, a label, a function, or a special register with its dimension: `%tid.x`.
    Name(String),
    Integer(i128),
    Single(u32),
    Double(u64),
    /// The address of a variable with a distance.
    Sum {
        name: String,
        offset: i64,
    },
    /// `[base+offset]`; without a base, an absolute address.
    Address {
        base: Option<String>,
        offset: i64,
    },
    Vector(Vec<Operand>),
    /// Two destinations with a bar between them: `%r1|%p1`.
    Pair(Box<Operand>, Box<Operand>),
    /// A negated predicate: `!%p1`.
    Not(String),
    /// The arguments or results of a call.
    List(Vec<Operand>),
}
