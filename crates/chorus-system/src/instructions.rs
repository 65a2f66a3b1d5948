//! Machine instructions by class: the time until their results are there, and how many of them stand for one
//! instruction of a program.

use serde::Deserialize;

/// A class of instructions. Those of a class take as long as each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstructionClass {
    /// Copies of registers, arguments, and other instructions that name a value and compute none.
    Move,
    /// Arithmetic and logic on integers of up to 32 bits.
    Integer,
    /// Arithmetic and logic on integers of 64 bits, and products of 32 bits that have that width.
    Wide,
    /// Products of integers of 64 bits.
    WideProduct,
    /// Comparisons of two values, and selections of one of them.
    Compare,
    /// Arithmetic on floating-point numbers of up to 32 bits.
    Float,
    /// Arithmetic on floating-point numbers of 64 bits.
    Double,
    /// Reciprocals, roots, exponentials and other functions, and counts of bits.
    Special,
    /// Conversions from or to floating-point numbers.
    Convert,
    /// Divisions, of which a compiler makes many instructions.
    Division,
    /// Exchanges of values between lanes.
    Shuffle,
    /// Questions that all lanes of a wavefront answer together.
    Vote,
    /// Branches and ends of threads.
    Branch,
    /// Accesses of memory, fences and barriers.
    Access,
}

/// Latencies of classes of instructions in core cycles, and hundredths of machine instructions that a compiler makes of
/// one instruction of a program on average.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// Machine instructions for a hundred copies of registers or arguments.
    pub move_percent: u32,
    /// Cycles until the result of an integer instruction is there.
    pub integer_cycles: u32,
    /// Machine instructions for a hundred integer instructions.
    pub integer_percent: u32,
    /// Cycles until the result of an instruction on 64-bit integers is there.
    pub wide_cycles: u32,
    /// Machine instructions for a hundred instructions on 64-bit integers.
    pub wide_percent: u32,
    /// Cycles until the product of 64-bit integers is there.
    pub wide_product_cycles: u32,
    /// Machine instructions for a hundred products of 64-bit integers.
    pub wide_product_percent: u32,
    /// Cycles until the result of a comparison or selection is there.
    pub compare_cycles: u32,
    /// Machine instructions for a hundred comparisons or selections.
    pub compare_percent: u32,
    /// Cycles until the result of a floating-point instruction is there.
    pub float_cycles: u32,
    /// Machine instructions for a hundred floating-point instructions.
    pub float_percent: u32,
    /// Cycles until the result of a 64-bit floating-point instruction is there.
    pub double_cycles: u32,
    /// Machine instructions for a hundred 64-bit floating-point instructions.
    pub double_percent: u32,
    /// Cycles until the result of a special function is there.
    pub special_cycles: u32,
    /// Machine instructions for a hundred special functions.
    pub special_percent: u32,
    /// Cycles until the result of a conversion is there.
    pub convert_cycles: u32,
    /// Machine instructions for a hundred conversions.
    pub convert_percent: u32,
    /// Cycles until the result of a division is there.
    pub division_cycles: u32,
    /// Machine instructions for a hundred divisions.
    pub division_percent: u32,
    /// Cycles until the result of an exchange between lanes is there.
    pub shuffle_cycles: u32,
    /// Machine instructions for a hundred exchanges between lanes.
    pub shuffle_percent: u32,
    /// Cycles until the result of a vote is there.
    pub vote_cycles: u32,
    /// Machine instructions for a hundred votes.
    pub vote_percent: u32,
    /// Machine instructions for a hundred branches.
    pub branch_percent: u32,
    /// Cycles that every further word of a bank adds to an access of the local data share.
    pub conflict_cycles: u32,
    /// Cycles until the result of an atomic on the local data share is there.
    pub local_atomic_cycles: u32,
}

/// The cost of one instruction of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionCost {
    /// Core cycles until its result is there.
    pub cycles: u32,
    /// Hundredths of machine instructions that it stands for.
    pub percent: u32,
}

impl Instructions {
    /// The cost of an instruction of a class. An access has its slot and its latency from the unit that performs it.
    #[inline]
    pub fn cost(&self, class: InstructionClass) -> InstructionCost {
        let (cycles, percent) = match class {
            InstructionClass::Move => (0, self.move_percent),
            InstructionClass::Integer => (self.integer_cycles, self.integer_percent),
            InstructionClass::Wide => (self.wide_cycles, self.wide_percent),
            InstructionClass::WideProduct => (self.wide_product_cycles, self.wide_product_percent),
            InstructionClass::Compare => (self.compare_cycles, self.compare_percent),
            InstructionClass::Float => (self.float_cycles, self.float_percent),
            InstructionClass::Double => (self.double_cycles, self.double_percent),
            InstructionClass::Special => (self.special_cycles, self.special_percent),
            InstructionClass::Convert => (self.convert_cycles, self.convert_percent),
            InstructionClass::Division => (self.division_cycles, self.division_percent),
            InstructionClass::Shuffle => (self.shuffle_cycles, self.shuffle_percent),
            InstructionClass::Vote => (self.vote_cycles, self.vote_percent),
            InstructionClass::Branch => (0, self.branch_percent),
            InstructionClass::Access => (0, 0),
        };
        InstructionCost { cycles, percent }
    }

    /// The keys of the table, with their values.
    pub(crate) fn keys(&self) -> [(&'static str, u32); 26] {
        [
            ("move_percent", self.move_percent),
            ("integer_cycles", self.integer_cycles),
            ("integer_percent", self.integer_percent),
            ("wide_cycles", self.wide_cycles),
            ("wide_percent", self.wide_percent),
            ("wide_product_cycles", self.wide_product_cycles),
            ("wide_product_percent", self.wide_product_percent),
            ("compare_cycles", self.compare_cycles),
            ("compare_percent", self.compare_percent),
            ("float_cycles", self.float_cycles),
            ("float_percent", self.float_percent),
            ("double_cycles", self.double_cycles),
            ("double_percent", self.double_percent),
            ("special_cycles", self.special_cycles),
            ("special_percent", self.special_percent),
            ("convert_cycles", self.convert_cycles),
            ("convert_percent", self.convert_percent),
            ("division_cycles", self.division_cycles),
            ("division_percent", self.division_percent),
            ("shuffle_cycles", self.shuffle_cycles),
            ("shuffle_percent", self.shuffle_percent),
            ("vote_cycles", self.vote_cycles),
            ("vote_percent", self.vote_percent),
            ("branch_percent", self.branch_percent),
            ("conflict_cycles", self.conflict_cycles),
            ("local_atomic_cycles", self.local_atomic_cycles),
        ]
    }
}
