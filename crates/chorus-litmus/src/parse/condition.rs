//! Conditions on the outcome of a test.

use crate::error::{LitmusError, Position};
use crate::parse::lexer::{TokenKind, shortened};
use crate::parse::names::thread_index;
use crate::parse::reader::Reader;
use crate::parse::{MAX_COMPARISONS, MAX_NESTING};
use crate::test::{Comparison, Condition, LocationId, Program, Quantifier, Register, Term};

/// Reads the quantifier of the question.
pub(crate) fn quantifier(reader: &mut Reader) -> Result<Quantifier, LitmusError> {
    let negated = reader.accept("~") || reader.accept_word("not");
    if reader.accept_word("exists") {
        return Ok(if negated { Quantifier::NotExists } else { Quantifier::Exists });
    }
    if !negated && reader.accept_word("forall") {
        return Ok(Quantifier::Forall);
    }
    let accepted = if negated { "`exists`" } else { "`exists`, `~exists` or `forall`" };
    Err(reader.error("the question is missing", accepted))
}

/// Reads a condition on the program's registers and locations.
pub(crate) fn condition(reader: &mut Reader, program: &Program) -> Result<Condition, LitmusError> {
    Conditions { reader, program, comparisons: 0, depth: 0 }.either()
}

struct Conditions<'a> {
    reader: &'a mut Reader,
    program: &'a Program,
    comparisons: usize,
    depth: usize,
}

impl Conditions<'_> {
    fn either(&mut self) -> Result<Condition, LitmusError> {
        let mut condition = self.both()?;
        while self.reader.accept("\\/") {
            condition = Condition::Or(Box::new(condition), Box::new(self.both()?));
        }
        Ok(condition)
    }

    fn both(&mut self) -> Result<Condition, LitmusError> {
        let mut condition = self.single()?;
        while self.reader.accept("/\\") {
            condition = Condition::And(Box::new(condition), Box::new(self.single()?));
        }
        Ok(condition)
    }

    fn single(&mut self) -> Result<Condition, LitmusError> {
        if self.depth == MAX_NESTING {
            return Err(self.reader.error("the condition is nested too deep", format!("at most {MAX_NESTING} levels")));
        }
        self.depth += 1;
        let condition = if self.reader.accept("~") || self.reader.accept_word("not") {
            Condition::Not(Box::new(self.single()?))
        } else if self.reader.accept("(") {
            let condition = self.either()?;
            self.reader.expect(")", "a parenthesis does not end")?;
            condition
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(condition)
    }

    fn comparison(&mut self) -> Result<Condition, LitmusError> {
        self.comparisons += 1;
        if self.comparisons > MAX_COMPARISONS {
            let accepted = format!("at most {MAX_COMPARISONS} comparisons");
            return Err(self.reader.error("the condition is too long", accepted));
        }
        if self.reader.accept_word("true") {
            return Ok(Condition::True);
        }
        let left = self.term()?;
        let comparison = match self.reader.peek().kind {
            TokenKind::Symbol("==" | "=") => Comparison::Equal,
            TokenKind::Symbol("!=") => Comparison::NotEqual,
            TokenKind::Symbol("<") => Comparison::Less,
            TokenKind::Symbol("<=") => Comparison::LessOrEqual,
            TokenKind::Symbol(">") => Comparison::Greater,
            TokenKind::Symbol(">=") => Comparison::GreaterOrEqual,
            _ => return Err(self.reader.error("a comparison is missing", "`==`, `!=`, `<`, `<=`, `>` or `>=`")),
        };
        self.reader.take();
        Ok(Condition::Compare(left, comparison, self.term()?))
    }

    fn term(&mut self) -> Result<Term, LitmusError> {
        if self.reader.accept("[") {
            let (name, position) = self.reader.name("a location")?;
            self.reader.expect("]", "a bracket does not end")?;
            return self.location(&name, position);
        }
        if let TokenKind::Number(value) = self.reader.peek().kind {
            let position = self.reader.position();
            self.reader.take();
            if self.reader.accept(":") {
                return self.register(&value.to_string(), position);
            }
            return Ok(Term::Constant(value));
        }
        let (name, position) = self.reader.name("a register, a location or a number")?;
        if self.reader.accept(":") { self.register(&name, position) } else { self.location(&name, position) }
    }

    fn register(&mut self, thread: &str, position: Position) -> Result<Term, LitmusError> {
        let threads = &self.program.threads;
        let Some(index) = thread_index(thread).filter(|index| *index < threads.len()) else {
            let accepted = format!("`P0` to `P{}`", threads.len() - 1);
            return Err(LitmusError::new(position, "no such thread", format!("`{}`", shortened(thread)), accepted));
        };
        let (name, position) = self.reader.name("a register")?;
        let registers = &threads[index].registers;
        let Some(register) = registers.iter().position(|register| register.name == name) else {
            let known: Vec<String> = registers.iter().map(|register| shortened(&register.name)).collect();
            let accepted = if known.is_empty() { format!("P{index} has none") } else { known.join(", ") };
            return Err(LitmusError::new(position, "no such register", format!("`{}`", shortened(&name)), accepted));
        };
        Ok(Term::Register { thread: index as u8, register: Register(register as u8) })
    }

    fn location(&self, name: &str, position: Position) -> Result<Term, LitmusError> {
        let locations = &self.program.locations;
        if let Some(index) = locations.iter().position(|location| location.name == name) {
            return Ok(Term::Final(LocationId(index as u8)));
        }
        let known: Vec<String> = locations.iter().map(|location| shortened(&location.name)).collect();
        let accepted = format!("`P0:` and a register, or a location: {}", known.join(", "));
        Err(LitmusError::new(position, "no such location", format!("`{}`", shortened(name)), accepted))
    }
}
