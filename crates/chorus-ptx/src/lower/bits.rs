//! Logic, shifts, and operations on fields of bits.

use super::Lowering;
use super::form::Form;
use super::names::bank_of;
use crate::arithmetic::integer::word::{self, Overrun, Permute};
use crate::arithmetic::integer::{self, Integer};
use crate::code::Action;
use crate::error::Result;
use crate::registers::{Bank, BankKind, Step, binary, quaternary, ternary, unary};
use crate::syntax::Operand;
use crate::types::ScalarType;

const WORD: ScalarType = ScalarType::Bits(32);

fn overrun(form: &mut Form<'_>) -> Option<Overrun> {
    if form.take("clamp") {
        Some(Overrun::Clamp)
    } else if form.take("wrap") {
        Some(Overrun::Wrap)
    } else {
        None
    }
}

impl<'m> Lowering<'m> {
    pub(super) fn bits(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        let step = match opcode {
            "and" | "or" | "xor" | "not" | "cnot" => self.logic(opcode, form)?,
            "shl" | "shr" => self.shift(opcode, form)?,
            "popc" | "clz" | "brev" => self.count(opcode, form)?,
            "bfind" => self.find(form)?,
            "bfe" | "bfi" => self.field(opcode, form)?,
            "lop3" | "prmt" | "shf" | "bmsk" | "szext" | "fns" => self.word_operation(opcode, form)?,
            _ => return form.wrong_type(),
        };
        Ok(Action::Compute(step))
    }

    fn logic(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Step> {
        let scalar = form.scalar()?;
        match bank_of(scalar) {
            BankKind::Predicate => self.predicate_logic(opcode, form),
            BankKind::Word if scalar.bits() == 16 => self.logic_of::<u16>(opcode, scalar, form),
            BankKind::Word => self.logic_of::<u32>(opcode, scalar, form),
            BankKind::Long => self.logic_of::<u64>(opcode, scalar, form),
        }
    }

    fn predicate_logic(&mut self, opcode: &str, form: &Form<'m>) -> Result<Step> {
        if opcode == "not" {
            let [to, a] = form.exactly()?;
            let (a, negated) = self.read_predicate(a)?;
            return Ok(unary(self.write(to, ScalarType::Predicate)?, a, move |a: bool| a == negated));
        }
        let [to, a, b] = form.exactly()?;
        let ((a, not_a), (b, not_b)) = (self.read_predicate(a)?, self.read_predicate(b)?);
        let to = self.write(to, ScalarType::Predicate)?;
        Ok(match opcode {
            "and" => binary(to, [a, b], move |a: bool, b: bool| (a != not_a) & (b != not_b)),
            "or" => binary(to, [a, b], move |a: bool, b: bool| (a != not_a) | (b != not_b)),
            "xor" => binary(to, [a, b], move |a: bool, b: bool| (a != not_a) ^ (b != not_b)),
            _ => return form.wrong_type(),
        })
    }

    fn logic_of<T>(&mut self, opcode: &str, scalar: ScalarType, form: &Form<'m>) -> Result<Step>
    where
        T: Integer + 'static,
        T::Register: Bank,
    {
        if matches!(opcode, "not" | "cnot") {
            let [to, a] = form.exactly()?;
            let a = self.read(a, scalar)?;
            let to = self.write(to, scalar)?;
            return Ok(if opcode == "not" {
                unary(to, a, integer::not::<T>)
            } else {
                unary(to, a, integer::cnot::<T>)
            });
        }
        let [to, a, b] = form.exactly()?;
        let ab = [self.read(a, scalar)?, self.read(b, scalar)?];
        let to = self.write(to, scalar)?;
        Ok(match opcode {
            "and" => binary(to, ab, integer::and::<T>),
            "or" => binary(to, ab, integer::or::<T>),
            _ => binary(to, ab, integer::xor::<T>),
        })
    }

    fn shift(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Step> {
        let scalar = form.scalar()?;
        match scalar {
            ScalarType::Bits(16) | ScalarType::Unsigned(16) => self.shift_of::<u16>(opcode, scalar, form),
            ScalarType::Signed(16) => self.shift_of::<i16>(opcode, scalar, form),
            ScalarType::Bits(32) | ScalarType::Unsigned(32) => self.shift_of::<u32>(opcode, scalar, form),
            ScalarType::Signed(32) => self.shift_of::<i32>(opcode, scalar, form),
            ScalarType::Bits(64) | ScalarType::Unsigned(64) => self.shift_of::<u64>(opcode, scalar, form),
            ScalarType::Signed(64) => self.shift_of::<i64>(opcode, scalar, form),
            _ => form.wrong_type(),
        }
    }

    fn shift_of<T>(&mut self, opcode: &str, scalar: ScalarType, form: &Form<'m>) -> Result<Step>
    where
        T: Integer + 'static,
        T::Register: Bank,
    {
        let [to, a, amount] = form.exactly()?;
        let ab = [self.read(a, scalar)?, self.read(amount, ScalarType::Unsigned(32))?];
        let to = self.write(to, scalar)?;
        Ok(if opcode == "shl" { binary(to, ab, integer::shl::<T>) } else { binary(to, ab, integer::shr::<T>) })
    }

    fn count(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Step> {
        let scalar = form.scalar()?;
        match scalar.bits() {
            32 => self.count_of::<u32>(opcode, scalar, form),
            64 => self.count_of::<u64>(opcode, scalar, form),
            _ => form.wrong_type(),
        }
    }

    fn count_of<T>(&mut self, opcode: &str, scalar: ScalarType, form: &Form<'m>) -> Result<Step>
    where
        T: Integer + 'static,
        T::Register: Bank,
    {
        let [to, a] = form.exactly()?;
        let a = self.read(a, scalar)?;
        Ok(match opcode {
            "popc" => unary(self.write(to, WORD)?, a, integer::popc::<T>),
            "clz" => unary(self.write(to, WORD)?, a, integer::clz::<T>),
            _ => unary(self.write(to, scalar)?, a, integer::brev::<T>),
        })
    }

    fn find(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let distance = form.take("shiftamt");
        let scalar = form.scalar()?;
        let [to, a] = form.exactly()?;
        let a = self.read(a, scalar)?;
        let to = self.write(to, WORD)?;
        match scalar {
            ScalarType::Unsigned(32) => Ok(unary(to, a, move |a| integer::bfind::<u32>(a, distance))),
            ScalarType::Signed(32) => Ok(unary(to, a, move |a| integer::bfind::<i32>(a, distance))),
            ScalarType::Unsigned(64) => Ok(unary(to, a, move |a| integer::bfind::<u64>(a, distance))),
            ScalarType::Signed(64) => Ok(unary(to, a, move |a| integer::bfind::<i64>(a, distance))),
            _ => form.wrong_type(),
        }
    }

    fn field(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Step> {
        let scalar = form.scalar()?;
        if opcode == "bfe" {
            let [to, a, position, length] = form.exactly()?;
            let abc = [self.read(a, scalar)?, self.read(position, WORD)?, self.read(length, WORD)?];
            let to = self.write(to, scalar)?;
            return match scalar {
                ScalarType::Unsigned(32) => Ok(ternary(to, abc, integer::bfe::<u32>)),
                ScalarType::Signed(32) => Ok(ternary(to, abc, integer::bfe::<i32>)),
                ScalarType::Unsigned(64) => Ok(ternary(to, abc, integer::bfe::<u64>)),
                ScalarType::Signed(64) => Ok(ternary(to, abc, integer::bfe::<i64>)),
                _ => form.wrong_type(),
            };
        }
        let [to, a, b, position, length] = form.exactly()?;
        let (a, b) = (self.read(a, scalar)?, self.read(b, scalar)?);
        let (position, length) = (self.read(position, WORD)?, self.read(length, WORD)?);
        let to = self.write(to, scalar)?;
        match scalar.bits() {
            32 => Ok(quaternary(to, [a, b, position, length], integer::bfi::<u32>)),
            64 => Ok(Box::new(move |registers, mask| {
                let (rows, words) =
                    ([a, b].map(|n| u64::row(registers, n)), [position, length].map(|n| u32::row(registers, n)));
                let values = std::array::from_fn(|lane| {
                    integer::bfi::<u64>(rows[0][lane], rows[1][lane], words[0][lane], words[1][lane])
                });
                Bank::write(registers, to, mask, &values);
            })),
            _ => form.wrong_type(),
        }
    }

    /// Operations that only words of 32 bits have.
    fn word_operation(&mut self, opcode: &str, form: &mut Form<'m>) -> Result<Step> {
        let (left, right) = (form.take("l"), form.take("r"));
        let overrun = overrun(form);
        let mode = form.find(permute).unwrap_or(Permute::Selectors);
        let signed = form.scalar()?.is_signed();
        if opcode == "lop3" {
            let [to, a, b, c, table] = form.exactly()?;
            let table = self.constant(table)? as u8;
            let abc = [self.read(a, WORD)?, self.read(b, WORD)?, self.read(c, WORD)?];
            return Ok(ternary(self.write(to, WORD)?, abc, move |a, b, c| word::lop3(a, b, c, table)));
        }
        let (to, sources) = self.words(form.operands())?;
        match (opcode, sources.as_slice(), overrun) {
            ("prmt", &[a, b, c], None) => Ok(ternary(to, [a, b, c], move |a, b, c| word::prmt(a, b, c, mode))),
            ("fns", &[a, b, c], None) => Ok(ternary(to, [a, b, c], word::fns)),
            ("shf", &[a, b, c], Some(overrun)) if left != right => Ok(if left {
                ternary(to, [a, b, c], move |a, b, c| word::shf_left(a, b, c, overrun))
            } else {
                ternary(to, [a, b, c], move |a, b, c| word::shf_right(a, b, c, overrun))
            }),
            ("bmsk", &[a, b], Some(overrun)) => Ok(binary(to, [a, b], move |a, b| word::bmsk(a, b, overrun))),
            ("szext", &[a, b], Some(overrun)) => Ok(if signed {
                binary(to, [a, b], move |a, b| word::szext_signed(a, b, overrun))
            } else {
                binary(to, [a, b], move |a, b| word::szext_unsigned(a, b, overrun))
            }),
            _ => form.wrong_type(),
        }
    }

    /// A destination and the sources behind it, all words.
    fn words(&mut self, operands: &[Operand]) -> Result<(u16, Vec<u16>)> {
        let Some((to, sources)) = operands.split_first() else { return self.fault("expected operands") };
        let sources = sources.iter().map(|source| self.read(source, WORD)).collect::<Result<_>>()?;
        Ok((self.write(to, WORD)?, sources))
    }
}

fn permute(name: &str) -> Option<Permute> {
    match name {
        "f4e" => Some(Permute::Forward),
        "b4e" => Some(Permute::Backward),
        "rc8" => Some(Permute::Byte),
        "ecl" => Some(Permute::ClampLow),
        "ecr" => Some(Permute::ClampHigh),
        "rc16" => Some(Permute::Half),
        _ => None,
    }
}
