//! Copies, conversions between types, and between addresses of spaces.

use super::Lowering;
use super::arithmetic::rounding;
use super::form::Form;
use super::names::{Symbol, bank_of};
use crate::arithmetic::convert::{self, ConvertMode, Scalar};
use crate::arithmetic::float::Rounding;
use crate::code::{Action, Sight};
use crate::error::Result;
use crate::registers::{Bank, BankKind, Register, Step, unary};
use crate::space;
use crate::syntax::Operand;
use crate::types::{ScalarType, Space};

impl<'m> Lowering<'m> {
    pub(super) fn convert(&mut self, opcode: &'m str, form: &mut Form<'m>) -> Result<Action> {
        if opcode == "mov"
            && let Some(action) = self.look(form)?
        {
            return Ok(action);
        }
        let step = match opcode {
            "mov" => self.mov(form)?,
            "cvt" => self.cvt(form)?,
            "cvta" => self.space_address(form)?,
            _ => self.is_in_space(form)?,
        };
        Ok(Action::Compute(step))
    }

    /// A copy of a register that has another value whenever it is read.
    fn look(&mut self, form: &mut Form<'m>) -> Result<Option<Action>> {
        let [to, Operand::Name(name)] = form.operands() else { return Ok(None) };
        let Some(sight) = Sight::named(name) else { return Ok(None) };
        let scalar = form.scalar()?;
        if scalar.bits() != sight.bits() || scalar.is_float() {
            return self.fault(format!("`{name}` has {} bits", sight.bits()));
        }
        Ok(Some(Action::Look { sight, to: self.destination(to, scalar)? }))
    }

    fn mov(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let scalar = form.scalar()?;
        let [to, from] = form.exactly()?;
        match (to, from) {
            (Operand::Vector(parts), from) => self.unpack(parts, from, scalar),
            (to, Operand::Vector(parts)) => self.pack(to, parts, scalar),
            (to, from) if scalar == ScalarType::Predicate => {
                let (from, negated) = match from {
                    Operand::Integer(value) => {
                        let holds = *value != 0;
                        let to = self.write(to, scalar)?;
                        return Ok(unary(to, to, move |_: bool| holds));
                    }
                    from => self.read_predicate(from)?,
                };
                Ok(unary(self.write(to, scalar)?, from, move |value: bool| value != negated))
            }
            (to, from) => {
                let from = self.read(from, scalar)?;
                let to = self.write(to, scalar)?;
                Ok(copy(bank_of(scalar), to, from))
            }
        }
    }

    /// The parts of a value, the lowest first.
    fn unpack(&mut self, parts: &[Operand], from: &Operand, scalar: ScalarType) -> Result<Step> {
        let part = self.part_of(parts, scalar)?;
        let from = self.read(from, scalar)?;
        let parts = parts.iter().map(|to| self.write(to, part)).collect::<Result<Vec<u16>>>()?;
        let (bits, bank) = (u32::from(part.bits()), bank_of(scalar));
        let low = u32::MAX >> (32 - bits);
        Ok(Box::new(move |registers, mask| {
            // A part may be the register that is taken apart, so that is read first.
            let values: [u64; chorus_kernel::LANES] = match bank {
                BankKind::Long => registers.longs[usize::from(from)],
                _ => registers.words[usize::from(from)].map(u64::from),
            };
            for (&to, index) in parts.iter().zip(0..) {
                Bank::write(registers, to, mask, &values.map(|value| (value >> (bits * index)) as u32 & low));
            }
        }))
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand], scalar: ScalarType) -> Result<Step> {
        let part = self.part_of(parts, scalar)?;
        let parts = parts.iter().map(|from| self.read(from, part)).collect::<Result<Vec<u16>>>()?;
        let to = self.write(to, scalar)?;
        let (bits, bank) = (u32::from(part.bits()), bank_of(scalar));
        let low = u64::MAX >> (64 - bits);
        Ok(Box::new(move |registers, mask| {
            let values: [u64; chorus_kernel::LANES] = std::array::from_fn(|lane| {
                let part = |(&number, index): (&u16, u32)| {
                    (u64::from(registers.words[usize::from(number)][lane]) & low) << (bits * index)
                };
                parts.iter().zip(0..).map(part).fold(0, |value, part| value | part)
            });
            match bank {
                BankKind::Long => Bank::write(registers, to, mask, &values),
                _ => Bank::write(registers, to, mask, &values.map(|value| value as u32)),
            }
        }))
    }

    /// The type of the parts of a value.
    fn part_of(&self, parts: &[Operand], scalar: ScalarType) -> Result<ScalarType> {
        let bits = usize::from(scalar.bits()) / parts.len().max(1);
        match bits {
            8 | 16 | 32 if bits * parts.len() == usize::from(scalar.bits()) => Ok(ScalarType::Bits(bits as u8)),
            _ => self.fault("the parts of a value have 8, 16 or 32 bits each, and together as many as it has"),
        }
    }

    fn cvt(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let integral = form.find(|name| match name {
            "rni" => Some(Rounding::Nearest),
            "rzi" => Some(Rounding::Zero),
            "rmi" => Some(Rounding::Down),
            "rpi" => Some(Rounding::Up),
            _ => None,
        });
        let rounding = integral.or(form.find(rounding)).unwrap_or(Rounding::Nearest);
        let (flush, saturate) = (form.take("ftz"), form.take("sat"));
        let (Some(to_scalar), Some(from_scalar)) = (form.find(half_or_scalar), form.find(half_or_scalar)) else {
            return form.wrong_type();
        };
        let [to, from] = form.exactly()?;
        let source = self.convertible(from, from_scalar)?;
        let target = self.converted(to, to_scalar)?;
        let mode = ConvertMode { rounding, integral: integral.is_some(), flush, saturate };
        Ok(match (from_scalar, to_scalar, source.bank, target.bank, saturate) {
            (Scalar::U32, Scalar::U64, BankKind::Word, BankKind::Long, false) => {
                unary(target.number, source.number, |value: u32| u64::from(value))
            }
            (Scalar::S32, Scalar::S64, BankKind::Word, BankKind::Long, false) => {
                unary(target.number, source.number, |value: u32| i64::from(value as i32) as u64)
            }
            (_, _, BankKind::Long, BankKind::Long, _) => unary(target.number, source.number, move |value: u64| {
                convert::convert(value, from_scalar, to_scalar, mode)
            }),
            (_, _, BankKind::Long, _, _) => unary(target.number, source.number, move |value: u64| {
                convert::convert(value, from_scalar, to_scalar, mode) as u32
            }),
            (_, _, _, BankKind::Long, _) => unary(target.number, source.number, move |value: u32| {
                convert::convert(u64::from(value), from_scalar, to_scalar, mode)
            }),
            _ => unary(target.number, source.number, move |value: u32| {
                convert::convert(u64::from(value), from_scalar, to_scalar, mode) as u32
            }),
        })
    }

    /// The register of a source, which may be wider than its type.
    fn convertible(&mut self, operand: &Operand, scalar: Scalar) -> Result<Register> {
        match self.any_register(operand)? {
            Some(register) if register.bank != BankKind::Predicate => {
                self.reads.push(register);
                Ok(register)
            }
            _ => self.source(operand, plain(scalar)),
        }
    }

    /// The register of a result, which may be wider than its type.
    fn converted(&mut self, operand: &Operand, scalar: Scalar) -> Result<Register> {
        match self.any_register(operand)? {
            Some(register) if register.bank == BankKind::Long || scalar.bits() <= 32 => {
                self.destination(operand, ScalarType::Bits(if register.bank == BankKind::Long { 64 } else { 32 }))
            }
            _ => self.destination(operand, plain(scalar)),
        }
    }

    fn space_address(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let from_generic = form.take("to");
        let Some(space) = form.find(Space::named) else { return form.wrong_type() };
        let scalar = form.scalar()?;
        if scalar.bits() != 64 {
            return self.fault("addresses have 64 bits");
        }
        let [to, from] = form.exactly()?;
        // The address of a variable that the function handed over lies in local memory.
        let is_local = match from {
            Operand::Name(name) | Operand::Sum { name, .. } => {
                matches!(self.symbol(name)?, Some(Symbol::Variable { space: Space::Local, .. }))
            }
            _ => false,
        };
        let base = space::window(if is_local { Space::Local } else { space });
        let from = self.read(from, scalar)?;
        let to = self.write(to, scalar)?;
        Ok(match (base, from_generic) {
            (0, _) => copy(BankKind::Long, to, from),
            (_, true) => unary(to, from, move |address: u64| address.wrapping_sub(base)),
            (_, false) => unary(to, from, move |address: u64| address.wrapping_add(base)),
        })
    }

    fn is_in_space(&mut self, form: &mut Form<'m>) -> Result<Step> {
        let Some(space) = form.find(Space::named) else { return form.wrong_type() };
        let [to, from] = form.exactly()?;
        let from = self.read(from, ScalarType::Unsigned(64))?;
        Ok(unary(self.write(to, ScalarType::Predicate)?, from, move |address: u64| space::space_of(address) == space))
    }
}

fn copy(bank: BankKind, to: u16, from: u16) -> Step {
    match bank {
        BankKind::Word => unary(to, from, |value: u32| value),
        BankKind::Long => unary(to, from, |value: u64| value),
        BankKind::Predicate => unary(to, from, |value: bool| value),
    }
}

fn half_or_scalar(name: &str) -> Option<Scalar> {
    match name {
        "u8" | "b8" => Some(Scalar::U8),
        "s8" => Some(Scalar::S8),
        "u16" | "b16" => Some(Scalar::U16),
        "s16" => Some(Scalar::S16),
        "u32" | "b32" => Some(Scalar::U32),
        "s32" => Some(Scalar::S32),
        "u64" | "b64" => Some(Scalar::U64),
        "s64" => Some(Scalar::S64),
        "f16" => Some(Scalar::F16),
        "bf16" => Some(Scalar::Bf16),
        "f32" => Some(Scalar::F32),
        "f64" => Some(Scalar::F64),
        _ => None,
    }
}

/// The type of a register that holds such a value.
fn plain(scalar: Scalar) -> ScalarType {
    match scalar {
        Scalar::F32 => ScalarType::Float(32),
        Scalar::F64 => ScalarType::Float(64),
        _ => ScalarType::Bits(scalar.bits() as u8),
    }
}
