//! The arithmetic of PTX: what one lane's instruction makes of the bits of its operands.
//!
//! Functions are pure and per lane. Registers of up to 32 bits are `u32`, those of 64 bits `u64`. The rules are the PTX
//! ISA's ("Instruction Set"). What it leaves open, such as division by zero, the bits of a NaN or the integer that a
//! NaN becomes, is what an H200 was seen to do: `tests/h200.txt` holds results of every instruction on one, and the
//! tests ask for the same.

pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod integer;
#[cfg(test)]
mod tests;
