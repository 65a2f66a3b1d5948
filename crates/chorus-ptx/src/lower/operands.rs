//! Operands: the registers that an instruction reads and writes.

use super::Lowering;
use super::names::{Symbol, bank_of};
use crate::code::Preset;
use crate::error::Result;
use crate::registers::{BankKind, Register};
use crate::space;
use crate::syntax::Operand;
use crate::types::{ScalarType, Space};

impl<'m> Lowering<'m> {
    /// The register that an operand of this type is read from.
    pub(super) fn read(&mut self, operand: &Operand, scalar: ScalarType) -> Result<u16> {
        let register = self.source(operand, scalar)?;
        Ok(register.number)
    }

    /// The register that an operand of this type is read from, noted as one that the instruction reads.
    pub(super) fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Register> {
        let bank = bank_of(scalar);
        let preset = match operand {
            Operand::Name(name) => match self.symbol(name)? {
                Some(Symbol::Register { register, scalar: declared }) => {
                    let register = self.fitting(name, register, declared, scalar)?;
                    self.reads.push(register);
                    return Ok(register);
                }
                Some(Symbol::Variable { space, offset }) => self.address_of(space, offset),
                Some(Symbol::DynamicShared) => Preset::DynamicOffset,
                Some(Symbol::Label(_) | Symbol::Row { .. }) => return self.fault(format!("`{name}` is no value")),
                None if name == "WARP_SZ" => Preset::Value(32),
                None => match self.special(name)? {
                    Some(special) => Preset::Special(special),
                    None => return self.fault(format!("`{name}` is declared nowhere")),
                },
            },
            Operand::Sum { name, offset } => match self.symbol(name)? {
                Some(Symbol::Variable { space, offset: start }) => {
                    self.address_of(space, start.wrapping_add_signed(*offset))
                }
                _ => return self.fault(format!("`{name}` is no variable whose address is known")),
            },
            Operand::Integer(value) if !scalar.is_float() => Preset::Value(truncated(*value as u64, scalar)),
            Operand::Integer(value) if *value == 0 => Preset::Value(0),
            Operand::Single(bits) if scalar == ScalarType::Float(64) => {
                Preset::Value(f64::from(f32::from_bits(*bits)).to_bits())
            }
            Operand::Single(bits) if scalar.bits() == 32 => Preset::Value(u64::from(*bits)),
            Operand::Double(bits) if scalar == ScalarType::Float(32) => {
                Preset::Value(u64::from((f64::from_bits(*bits) as f32).to_bits()))
            }
            Operand::Double(bits) if scalar.bits() == 64 => Preset::Value(*bits),
            _ => return self.fault("this operand is no register and no constant of the instruction's type"),
        };
        if bank == BankKind::Predicate {
            return self.fault("a predicate must be a register");
        }
        self.preset(bank, preset)
    }

    /// The address of a variable in its own space.
    fn address_of(&self, space: Space, offset: u64) -> Preset {
        match space {
            Space::Global => Preset::Global(offset),
            _ => Preset::Value(offset),
        }
    }

    /// A register, if a value of this type fits it.
    fn fitting(&self, name: &str, register: Register, declared: ScalarType, scalar: ScalarType) -> Result<Register> {
        if register.bank == bank_of(scalar) {
            return Ok(register);
        }
        let (has, takes) = (declared.bits(), scalar.bits());
        self.fault(format!("`{name}` has {has} bits, and the instruction takes {takes}"))
    }

    /// The register that a result of this type is written to, noted as one that the instruction writes. A result that
    /// nobody wants gets a register of its own.
    pub(super) fn write(&mut self, operand: &Operand, scalar: ScalarType) -> Result<u16> {
        Ok(self.destination(operand, scalar)?.number)
    }

    pub(super) fn destination(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Register> {
        let register = match operand {
            Operand::Name(name) if name == "_" => self.new_register(bank_of(scalar))?,
            Operand::Name(name) => match self.symbol(name)? {
                Some(Symbol::Register { register, scalar: declared }) => {
                    self.fitting(name, register, declared, scalar)?
                }
                _ => return self.fault(format!("`{name}` is no register")),
            },
            _ => return self.fault("a result must go to a register"),
        };
        self.writes.push(register);
        Ok(register)
    }

    /// A register of any type, as loads and stores take them.
    pub(super) fn any_register(&mut self, operand: &Operand) -> Result<Option<Register>> {
        let Operand::Name(name) = operand else { return Ok(None) };
        match self.symbol(name)? {
            Some(Symbol::Register { register, .. }) => Ok(Some(register)),
            _ => Ok(None),
        }
    }

    /// The register of a predicate, and whether it is negated. It is noted as one that the instruction reads.
    pub(super) fn read_predicate(&mut self, operand: &Operand) -> Result<(u16, bool)> {
        let (name, negated) = match operand {
            Operand::Name(name) => (name, false),
            Operand::Not(name) => (name, true),
            _ => return self.fault("a predicate must be a register"),
        };
        let number = self.predicate_named(name)?;
        self.reads.push(Register { bank: BankKind::Predicate, number });
        Ok((number, negated))
    }

    pub(super) fn predicate_named(&mut self, name: &str) -> Result<u16> {
        match self.symbol(name)? {
            Some(Symbol::Register { register: Register { bank: BankKind::Predicate, number }, .. }) => Ok(number),
            _ => self.fault(format!("`{name}` is no predicate")),
        }
    }

    /// The constant that an operand must be.
    pub(super) fn constant(&self, operand: &Operand) -> Result<i128> {
        match operand {
            Operand::Integer(value) => Ok(*value),
            _ => self.fault("this operand must be a number"),
        }
    }

    /// Where an access goes, and the registers that say so.
    pub(super) fn address(&mut self, operand: &Operand, space: Space) -> Result<crate::code::Address> {
        let Operand::Address { base, offset } = operand else { return self.fault("expected an address in brackets") };
        let at = *offset as u64;
        let Some(name) = base else { return Ok(crate::code::Address { space, base: None, offset: at }) };
        match self.symbol(name)? {
            Some(Symbol::Register { register, .. }) if register.bank != BankKind::Predicate => {
                self.reads.push(register);
                Ok(crate::code::Address { space, base: Some(register), offset: at })
            }
            Some(Symbol::Variable { space: own, offset: start }) => {
                self.variable_address(name, space, own, start.wrapping_add(at))
            }
            Some(Symbol::DynamicShared) => {
                let base = self.preset(BankKind::Long, Preset::DynamicOffset)?;
                let generic = if space == Space::Generic { space::window(Space::Shared) } else { 0 };
                Ok(crate::code::Address { space, base: Some(base), offset: at.wrapping_add(generic) })
            }
            _ => self.fault(format!("`{name}` is no register and no variable")),
        }
    }

    fn variable_address(&mut self, name: &str, space: Space, own: Space, offset: u64) -> Result<crate::code::Address> {
        // What a function hands over in parameter space lies with its local variables.
        let fits = space == own || space == Space::Generic || (space == Space::Param && own == Space::Local);
        if !fits {
            return self.fault(format!("`{name}` lies in {} memory", own.name()));
        }
        if own == Space::Global {
            let base = self.preset(BankKind::Long, Preset::Global(offset))?;
            return Ok(crate::code::Address { space: own, base: Some(base), offset: 0 });
        }
        Ok(crate::code::Address { space: own, base: None, offset })
    }
}

/// The lower bits of a value that a type has.
fn truncated(value: u64, scalar: ScalarType) -> u64 {
    match scalar.bits() {
        64 => value,
        bits => value & ((1 << bits) - 1),
    }
}
