//! The tokens of a file, taken one after the other.

use crate::error::{LitmusError, Position};
use crate::parse::lexer::{Token, TokenKind, shortened};

/// The tokens of a file, and the position of the next one.
pub(crate) struct Reader {
    tokens: Vec<Token>,
    next: usize,
}

impl Reader {
    /// A reader at the first token. `tokens` has to end with [`TokenKind::End`].
    pub fn new(tokens: Vec<Token>) -> Reader {
        Reader { tokens, next: 0 }
    }

    pub fn peek(&self) -> &Token {
        &self.tokens[self.next]
    }

    pub fn position(&self) -> Position {
        self.peek().position
    }

    /// Takes a token. The end token stays.
    pub fn take(&mut self) -> Token {
        let token = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// An error about the next token.
    pub fn error(&self, message: impl Into<String>, accepted: impl Into<String>) -> LitmusError {
        LitmusError::new(self.position(), message, self.peek().shown(), accepted)
    }

    pub fn at_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek().kind, TokenKind::Symbol(found) if found == symbol)
    }

    pub fn at_word(&self, word: &str) -> bool {
        matches!(&self.peek().kind, TokenKind::Word(found) if found == word)
    }

    /// Takes a sign if it comes next.
    pub fn accept(&mut self, symbol: &str) -> bool {
        let found = self.at_symbol(symbol);
        if found {
            self.take();
        }
        found
    }

    /// Takes a word if it comes next.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.take();
        }
        found
    }

    /// Takes a sign that must come next.
    pub fn expect(&mut self, symbol: &'static str, message: &str) -> Result<(), LitmusError> {
        if self.accept(symbol) { Ok(()) } else { Err(self.error(message, format!("`{symbol}`"))) }
    }

    /// Takes a number that must come next.
    pub fn number(&mut self, what: &str) -> Result<u32, LitmusError> {
        if let TokenKind::Number(number) = self.peek().kind {
            self.take();
            return Ok(number);
        }
        Err(self.error(format!("{what} is missing"), "a number"))
    }

    /// Takes a word that must come next.
    pub fn word(&mut self, what: &str) -> Result<(String, Position), LitmusError> {
        let position = self.position();
        if let TokenKind::Word(word) = &self.peek().kind {
            let word = word.clone();
            self.take();
            return Ok((word, position));
        }
        Err(self.error(format!("{what} is missing"), "a name"))
    }

    /// Takes a name that must come next: a word without dots.
    pub fn name(&mut self, what: &str) -> Result<(String, Position), LitmusError> {
        let (name, position) = self.word(what)?;
        if name.contains('.') {
            let found = format!("`{}`", shortened(&name));
            return Err(LitmusError::new(position, format!("{what} has a dot in it"), found, "a name without dots"));
        }
        Ok((name, position))
    }
}
