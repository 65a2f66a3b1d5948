//! Loads, stores and atomics, of one word or of several.

use chorus_protocol::access::{Order, Scope};

use crate::error::LitmusError;
use crate::parse::instruction::{Cell, scope_of};
use crate::parse::lexer::{TokenKind, shortened};
use crate::test::{Instruction, Location, LocationId, Modify, Operand, Register};
use crate::vector::{VectorMistake, check_parts};

/// The number of words of a vector access; none for a single access.
type Width = Option<usize>;

impl Cell<'_> {
    pub fn load(&mut self, parts: &[&str]) -> Result<Vec<Instruction>, LitmusError> {
        let (parts, width) = self.width(parts)?;
        let (order, scope) = self.strength(parts, ("acquire", Order::Acquire))?;
        let to = self.list(width, Cell::register)?;
        self.comma()?;
        if let (None, TokenKind::Number(value)) = (width, &self.reader.peek().kind) {
            let (a, b) = (Operand::Constant(*value), Operand::Constant(0));
            self.reader.take();
            return Ok(vec![Instruction::Add { to: to[0], a, b }]);
        }
        let parts = to.into_iter().zip(self.words(width)?).enumerate();
        self.joined(parts.map(|(part, (to, at))| Instruction::Load { to, at, order, scope, joined: part > 0 }))
    }

    pub fn store(&mut self, parts: &[&str]) -> Result<Vec<Instruction>, LitmusError> {
        let (parts, width) = self.width(parts)?;
        let (order, scope) = self.strength(parts, ("release", Order::Release))?;
        let at = self.words(width)?;
        let parts = at.into_iter().zip(self.next_operands(width)?).enumerate();
        self.joined(parts.map(|(part, (at, value))| Instruction::Store { at, value, order, scope, joined: part > 0 }))
    }

    pub fn atomic(&mut self, parts: &[&str], returns: bool) -> Result<Vec<Instruction>, LitmusError> {
        const FORM: &str = "relaxed, acquire, release or acq_rel, then cta, gpu or sys, then add, sub, and, or, xor, exch or cas, \
             then v2 or v4 for several words";
        let (parts, width) = self.width(parts)?;
        let [order, scope, operation] = parts else {
            return Err(self.unknown("no such atomic", FORM));
        };
        let order = match *order {
            "relaxed" => Order::Relaxed,
            "acquire" => Order::Acquire,
            "release" => Order::Release,
            "acq_rel" => Order::AcqRel,
            _ => return Err(self.unknown("no such order of an atomic", FORM)),
        };
        let scope = scope_of(scope).ok_or_else(|| self.unknown("no such scope", FORM))?;
        let make: fn(Operand) -> Modify = match *operation {
            "add" => Modify::Add,
            "sub" => Modify::Sub,
            "and" => Modify::And,
            "or" => Modify::Or,
            "xor" => Modify::Xor,
            "exch" => Modify::Exchange,
            "cas" => |expected| Modify::CompareExchange { expected, new: expected },
            _ => return Err(self.unknown("no such operation of an atomic", FORM)),
        };
        let to = if returns { self.results(width)? } else { vec![None; width.unwrap_or(1)] };
        let at = self.words(width)?;
        let mut modifies: Vec<Modify> = self.next_operands(width)?.into_iter().map(make).collect();
        if *operation == "cas" {
            let values = self.next_operands(width)?;
            modifies.iter_mut().zip(values).for_each(|(modify, value)| {
                if let Modify::CompareExchange { new, .. } = modify {
                    *new = value;
                }
            });
        }
        let parts = to.into_iter().zip(at).zip(modifies).enumerate();
        self.joined(parts.map(|(part, ((to, at), modify))| Instruction::Atomic {
            to,
            at,
            modify,
            order,
            scope,
            joined: part > 0,
        }))
    }

    /// The order and the scope that a load or store names.
    fn strength(&self, parts: &[&str], strongest: (&str, Order)) -> Result<(Order, Scope), LitmusError> {
        let accepted = format!("weak without a scope; relaxed or {} with cta, gpu or sys", strongest.0);
        let refuse = || self.unknown("no such kind of access", &accepted);
        match parts {
            [] | ["weak"] => Ok((Order::Weak, Scope::default())),
            ["volatile"] => Ok((Order::Relaxed, Scope::System)),
            [order, scope] => {
                let order = match *order {
                    "relaxed" => Order::Relaxed,
                    name if name == strongest.0 => strongest.1,
                    _ => return Err(refuse()),
                };
                Ok((order, scope_of(scope).ok_or_else(refuse)?))
            }
            _ => Err(refuse()),
        }
    }

    /// Splits off the width that a mnemonic ends with.
    fn width<'p, 'w>(&self, parts: &'p [&'w str]) -> Result<(&'p [&'w str], Width), LitmusError> {
        let Some((last, rest)) = parts.split_last() else { return Ok((parts, None)) };
        let Some(digits) = last.strip_prefix('v').filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
        else {
            return Ok((parts, None));
        };
        match digits {
            "2" => Ok((rest, Some(2))),
            "4" => Ok((rest, Some(4))),
            _ => Err(self.unknown("no such number of words", "v2 or v4")),
        }
    }

    /// Reads one thing, or as many as there are words, in braces.
    fn list<T>(
        &mut self,
        width: Width,
        read: impl Fn(&mut Self) -> Result<T, LitmusError>,
    ) -> Result<Vec<T>, LitmusError> {
        let Some(width) = width else { return Ok(vec![read(self)?]) };
        self.reader.expect("{", "a vector is missing")?;
        let mut list = Vec::with_capacity(width);
        for index in 0..width {
            if index > 0 {
                self.reader.expect(",", "a vector has too few words")?;
            }
            list.push(read(self)?);
        }
        self.reader.expect("}", "a vector does not end")?;
        Ok(list)
    }

    /// Reads the registers of an atomic with a result.
    fn results(&mut self, width: Width) -> Result<Vec<Option<Register>>, LitmusError> {
        let results = self.list(width, Cell::register)?;
        self.comma()?;
        Ok(results.into_iter().map(Some).collect())
    }

    fn next_operands(&mut self, width: Width) -> Result<Vec<Operand>, LitmusError> {
        self.comma()?;
        self.list(width, Cell::operand)
    }

    /// Reads a location. A vector also accesses the words behind it in its line.
    fn words(&mut self, width: Width) -> Result<Vec<LocationId>, LitmusError> {
        let (first, position) = self.location()?;
        let locations = &self.names.locations;
        let start = &locations[usize::from(first.0)];
        let mut words = vec![first];
        for offset in 1..width.unwrap_or(1) {
            let is_next =
                |at: &Location| (at.line, usize::from(at.word)) == (start.line, usize::from(start.word) + offset);
            let Some(next) = locations.iter().position(is_next) else {
                let base = locations.iter().find(|at| at.line == start.line).unwrap_or(start);
                let (found, base) = (format!("`{}`", shortened(&start.name)), shortened(&base.name));
                let accepted = format!("a location with enough words behind it; `NAME @ line {base};` declares one");
                return Err(LitmusError::new(position, "the line ends before the vector", found, accepted));
            };
            words.push(LocationId(next as u8));
        }
        Ok(words)
    }

    /// The parts of an access, if they make one instruction.
    fn joined(&self, parts: impl Iterator<Item = Instruction>) -> Result<Vec<Instruction>, LitmusError> {
        let parts: Vec<Instruction> = parts.collect();
        let refuse = |mistake: VectorMistake| self.unknown(&mistake.to_string(), "a register of its own for each word");
        check_parts(&self.names.locations, &parts).map_err(refuse)?;
        Ok(parts)
    }
}
