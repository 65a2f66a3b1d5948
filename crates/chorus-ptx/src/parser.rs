//! From words to the parts of a module.

mod declaration;
mod operand;
#[cfg(test)]
mod tests;

use crate::error::{Fault, Place, Result};
use crate::lexer::{Token, tokens};
use crate::syntax::{Guard, Instruction, Module, Statement};

/// How deep blocks may lie in each other.
const DEPTH_MAX: usize = 64;

/// Parses the text of a whole file.
pub(crate) fn parse(text: &str) -> Result<Module> {
    let mut parser = Parser { tokens: tokens(text)?, next: 0, depth: 0 };
    let mut module = Module::default();
    while *parser.peek() != Token::End {
        parser.directive(&mut module)?;
    }
    Ok(module)
}

struct Parser {
    /// All words; the last one is the end.
    tokens: Vec<(Token, Place)>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn peek_second(&self) -> &Token {
        &self.tokens[(self.next + 1).min(self.tokens.len() - 1)].0
    }

    fn at(&self) -> Place {
        self.tokens[self.next].1
    }

    /// Takes the next word. The end stays where it is.
    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        if token != Token::End {
            self.next += 1;
        }
        token
    }

    fn fault<T>(&self, expected: &str) -> Result<T> {
        Err(Fault::new(self.at(), format!("expected {expected}, found {}", self.peek().shown())))
    }

    fn takes_sign(&mut self, sign: char) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.take();
        }
        found
    }

    fn expect_sign(&mut self, sign: char) -> Result<()> {
        if self.takes_sign(sign) { Ok(()) } else { self.fault(&format!("`{sign}`")) }
    }

    fn takes_dotted(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Dotted(found) if found == word);
        if found {
            self.take();
        }
        found
    }

    fn expect_word(&mut self, what: &str) -> Result<String> {
        match self.peek() {
            Token::Word(word) => {
                let word = word.clone();
                self.take();
                Ok(word)
            }
            _ => self.fault(what),
        }
    }

    fn expect_integer(&mut self, what: &str) -> Result<u64> {
        match *self.peek() {
            Token::Integer(value) => {
                self.take();
                Ok(value)
            }
            _ => self.fault(what),
        }
    }

    /// The statements up to the closing brace, which is taken.
    fn block(&mut self) -> Result<Vec<Statement>> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Fault::new(self.at(), format!("more than {DEPTH_MAX} blocks lie in each other")));
        }
        let mut statements = Vec::new();
        while !self.takes_sign('}') {
            self.statement(&mut statements)?;
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self, statements: &mut Vec<Statement>) -> Result<()> {
        match self.peek() {
            Token::Sign('{') => {
                self.take();
                let block = self.block()?;
                statements.push(Statement::Block(block));
                Ok(())
            }
            Token::Sign(';') => {
                self.take();
                Ok(())
            }
            Token::Dotted(_) => self.declaration(statements),
            Token::Word(_) if *self.peek_second() == Token::Sign(':') => {
                let at = self.at();
                let name = self.expect_word("a label")?;
                self.take();
                statements.push(Statement::Label { name, at });
                Ok(())
            }
            Token::Word(_) | Token::Sign('@') => {
                let instruction = self.instruction()?;
                statements.push(Statement::Instruction(instruction));
                Ok(())
            }
            _ => self.fault("an instruction, a label, a declaration or `}`"),
        }
    }

    fn instruction(&mut self) -> Result<Instruction> {
        let guard = if self.takes_sign('@') {
            let negated = self.takes_sign('!');
            Some(Guard { register: self.expect_word("a predicate")?, negated })
        } else {
            None
        };
        let at = self.at();
        let mut opcode = vec![self.expect_word("an opcode")?];
        while let Token::Dotted(part) = self.peek() {
            opcode.push(part.clone());
            self.take();
        }
        let operands = self.operands()?;
        Ok(Instruction { at, guard, opcode, operands })
    }
}
