//! Operands, and the constant expressions of initializers.

use super::Parser;
use crate::error::{Fault, Result};
use crate::lexer::Token;
use crate::syntax::{Initial, Operand};
use crate::types::ScalarType;

/// Names that have a dimension behind a dot.
const VECTOR_REGISTERS: [&str; 8] =
    ["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

/// How many operands in parentheses, braces or signs may lie in each other.
const NESTED_MAX: usize = 8;

impl Parser {
    /// The operands of an instruction, up to the semicolon, which is taken.
    pub(super) fn operands(&mut self) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.takes_sign(';') {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(0)?);
            if self.takes_sign(';') {
                return Ok(operands);
            }
            if !self.takes_sign(',') {
                return self.fault("`,` or `;`");
            }
        }
    }

    fn operand(&mut self, nested: usize) -> Result<Operand> {
        if nested > NESTED_MAX {
            return self.fault("a simpler operand");
        }
        match self.peek().clone() {
            Token::Sign('{') => {
                self.take();
                Ok(Operand::Vector(self.list('}', nested)?))
            }
            Token::Sign('(') => {
                self.take();
                Ok(Operand::List(self.list(')', nested)?))
            }
            Token::Sign('[') => {
                self.take();
                let address = self.address()?;
                self.expect_sign(']')?;
                Ok(address)
            }
            Token::Sign('!') => {
                self.take();
                Ok(Operand::Not(self.expect_word("a predicate")?))
            }
            Token::Sign('-' | '~' | '+') | Token::Integer(_) => Ok(self.number()?),
            Token::Single(bits) => {
                self.take();
                Ok(Operand::Single(bits))
            }
            Token::Double(bits) => {
                self.take();
                Ok(Operand::Double(bits))
            }
            Token::Word(_) => self.named(nested),
            _ => self.fault("an operand"),
        }
    }

    fn list(&mut self, end: char, nested: usize) -> Result<Vec<Operand>> {
        let mut operands = Vec::new();
        if self.takes_sign(end) {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(nested + 1)?);
            if self.takes_sign(end) {
                return Ok(operands);
            }
            self.expect_sign(',')?;
        }
    }

    /// A number with signs before it.
    fn number(&mut self) -> Result<Operand> {
        let (mut negative, mut inverted) = (false, false);
        loop {
            match self.peek() {
                Token::Sign('-') => negative = !negative,
                Token::Sign('~') => inverted = !inverted,
                Token::Sign('+') => {}
                _ => break,
            }
            self.take();
        }
        match *self.peek() {
            Token::Integer(value) => {
                self.take();
                let value = i128::from(value);
                let value = if negative { -value } else { value };
                Ok(Operand::Integer(if inverted { !value } else { value }))
            }
            Token::Single(bits) if !inverted => {
                self.take();
                Ok(Operand::Single(bits ^ u32::from(negative) << 31))
            }
            Token::Double(bits) if !inverted => {
                self.take();
                Ok(Operand::Double(bits ^ u64::from(negative) << 63))
            }
            _ => self.fault("a number"),
        }
    }

    fn named(&mut self, nested: usize) -> Result<Operand> {
        let mut name = self.expect_word("a name")?;
        if VECTOR_REGISTERS.contains(&name.as_str()) {
            let Token::Dotted(dimension) = self.peek().clone() else { return self.fault("`.x`, `.y` or `.z`") };
            self.take();
            name = format!("{name}.{dimension}");
        }
        match self.peek() {
            Token::Sign('|') => {
                self.take();
                let second = self.operand(nested + 1)?;
                Ok(Operand::Pair(Box::new(Operand::Name(name)), Box::new(second)))
            }
            Token::Sign('+' | '-') => Ok(Operand::Sum { name, offset: self.offset()? }),
            _ => Ok(Operand::Name(name)),
        }
    }

    /// The text between the brackets of an address.
    fn address(&mut self) -> Result<Operand> {
        let base = match self.peek() {
            Token::Word(_) => Some(self.expect_word("a name")?),
            _ => None,
        };
        if base.is_some() && *self.peek() == Token::Sign(']') {
            return Ok(Operand::Address { base, offset: 0 });
        }
        Ok(Operand::Address { base, offset: self.offset()? })
    }

    fn offset(&mut self) -> Result<i64> {
        let at = self.at();
        match self.number()? {
            // A distance may be written as an unsigned number of 64 bits.
            Operand::Integer(value) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) => {
                Ok(value as i64)
            }
            _ => Err(Fault::new(at, "expected a distance in bytes")),
        }
    }

    /// The values of an initializer, in braces or alone.
    pub(super) fn initial_values(&mut self, scalar: ScalarType, values: &mut Vec<Initial>) -> Result<()> {
        self.initial_value(scalar, values, 0)
    }

    fn initial_value(&mut self, scalar: ScalarType, values: &mut Vec<Initial>, nested: usize) -> Result<()> {
        if nested > NESTED_MAX {
            return self.fault("a simpler initializer");
        }
        if self.takes_sign('{') {
            while !self.takes_sign('}') {
                self.initial_value(scalar, values, nested + 1)?;
                if !self.takes_sign(',') && *self.peek() != Token::Sign('}') {
                    return self.fault("`,` or `}`");
                }
            }
            return Ok(());
        }
        let at = self.at();
        if let Token::Word(word) = self.peek().clone() {
            self.take();
            let generic = word == "generic" && self.takes_sign('(');
            let name = if generic { self.expect_word("a variable")? } else { word };
            if generic {
                self.expect_sign(')')?;
            }
            let has_offset = matches!(self.peek(), Token::Sign('+' | '-'));
            let offset = if has_offset { self.offset()? } else { 0 };
            values.push(Initial::Address { name, offset, generic, at });
            return Ok(());
        }
        let bits = match (self.number()?, scalar) {
            (Operand::Integer(value), ScalarType::Float(32)) => u64::from((value as f32).to_bits()),
            (Operand::Integer(value), ScalarType::Float(_)) => (value as f64).to_bits(),
            (Operand::Integer(value), _) => value as u64,
            (Operand::Single(bits), ScalarType::Float(64)) => f64::from(f32::from_bits(bits)).to_bits(),
            (Operand::Single(bits), _) => u64::from(bits),
            (Operand::Double(bits), ScalarType::Float(32)) => u64::from((f64::from_bits(bits) as f32).to_bits()),
            (Operand::Double(bits), _) => bits,
            _ => return Err(Fault::new(at, "expected a number")),
        };
        values.push(Initial::Bits(bits));
        Ok(())
    }
}
