//! The words of PTX.

use crate::error::{Fault, Place, Result};

/// One word of PTX.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name: an opcode, a register, a label, a function.
    Word(String),
    /// A name with a dot before it: a directive, or a part of an opcode.
    Dotted(String),
    /// An integer, decimal, octal, hexadecimal or binary.
    Integer(u64),
    /// The bits of a 32-bit float.
    Single(u32),
    /// The bits of a 64-bit float.
    Double(u64),
    /// A string between quotes.
    Text(String),
    /// A sign of one character.
    Sign(char),
    /// The end of the file.
    End,
}

impl Token {
    /// The token as a message shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Token::Word(word) => format!("`{word}`"),
            Token::Dotted(word) => format!("`.{word}`"),
            Token::Integer(value) => format!("`{value}`"),
            Token::Single(_) | Token::Double(_) => "a float".to_owned(),
            Token::Text(_) => "a string".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end of the file".to_owned(),
        }
    }
}

/// Splits a file into its words, each with its place. The last one is [`Token::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<(Token, Place)>> {
    let mut lexer = Lexer { rest: text, at: Place { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let at = lexer.at;
        let token = lexer.next()?;
        let ended = token == Token::End;
        tokens.push((token, at));
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    at: Place,
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '%')
}

fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

impl<'t> Lexer<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at = Place { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, mut belongs: impl FnMut(char) -> bool) -> &'t str {
        let start = self.rest;
        while self.peek().is_some_and(&mut belongs) {
            self.bump();
        }
        &start[..start.len() - self.rest.len()]
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest.starts_with("/*") {
                let at = self.at;
                let Some(end) = self.rest.find("*/") else { return Err(Fault::new(at, "this comment has no end")) };
                let after = self.rest.len() - end - 2;
                while self.rest.len() > after {
                    self.bump();
                }
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Token> {
        let at = self.at;
        let Some(c) = self.peek() else { return Ok(Token::End) };
        if begins_name(c) {
            return Ok(Token::Word(self.name()));
        }
        if c.is_ascii_digit() {
            return self.number();
        }
        self.bump();
        match c {
            '.' if self.peek().is_some_and(continues_name) => Ok(Token::Dotted(self.dotted())),
            '"' => self.text(at),
            '{' | '}' | '[' | ']' | '(' | ')' | '<' | '>' | ',' | ';' | ':' | '=' | '+' | '-' | '*' | '/' | '|'
            | '&' | '^' | '~' | '!' | '@' | '?' => Ok(Token::Sign(c)),
            _ => Err(Fault::new(at, format!("PTX has no word that begins with {c:?}"))),
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        name.extend(self.bump());
        name.push_str(self.take_while(continues_name));
        name
    }

    /// A part of an opcode, which may have two names with `::` between them.
    fn dotted(&mut self) -> String {
        let mut word = self.take_while(continues_name).to_owned();
        while self.rest.starts_with("::") {
            word.push_str("::");
            self.bump();
            self.bump();
            word.push_str(self.take_while(continues_name));
        }
        word
    }

    fn text(&mut self, at: Place) -> Result<Token> {
        let mut text = String::new();
        loop {
            match self.bump() {
                None | Some('\n') => return Err(Fault::new(at, "this string has no end")),
                Some('"') => return Ok(Token::Text(text)),
                Some('\\') => text.extend(self.bump()),
                Some(c) => text.push(c),
            }
        }
    }

    fn number(&mut self) -> Result<Token> {
        let at = self.at;
        let word = self.take_while(continues_name);
        let wrong = || Fault::new(at, format!("`{word}` is not a number"));
        let lower = word.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("0f").filter(|digits| digits.len() == 8) {
            return u32::from_str_radix(digits, 16).map(Token::Single).map_err(|_| wrong());
        }
        if let Some(digits) = lower.strip_prefix("0d").filter(|digits| digits.len() == 16) {
            return u64::from_str_radix(digits, 16).map(Token::Double).map_err(|_| wrong());
        }
        if self.rest.starts_with('.') && word.bytes().all(|c| c.is_ascii_digit()) {
            return self.decimal_fraction(word).map(|value| Token::Double(value.to_bits())).ok_or_else(wrong);
        }
        let digits = lower.strip_suffix('u').unwrap_or(&lower);
        let (digits, radix) = match digits.as_bytes() {
            [b'0', b'x', ..] => (&digits[2..], 16),
            [b'0', b'b', ..] => (&digits[2..], 2),
            [b'0', _, ..] => (&digits[1..], 8),
            _ => (digits, 10),
        };
        u64::from_str_radix(digits, radix).map(Token::Integer).map_err(|_| wrong())
    }

    /// A number like `1.5` or `1.5e-3`, whose digits before the point have been read.
    fn decimal_fraction(&mut self, whole: &str) -> Option<f64> {
        self.bump();
        let mut number = format!("{whole}.{}", self.take_while(continues_name));
        if number.ends_with(['e', 'E']) && matches!(self.peek(), Some('+' | '-')) {
            number.extend(self.bump());
            number.push_str(self.take_while(|c| c.is_ascii_digit()));
        }
        if number.ends_with('.') {
            number.push('0');
        }
        number.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(token, _)| token).collect()
    }

    #[test]
    fn words_numbers_and_comments() {
        let word = |word: &str| Token::Word(word.to_owned());
        let dotted = |word: &str| Token::Dotted(word.to_owned());
        assert_eq!(
            words("ld.shared::cta.u32 %r1, [$x+0x10]; // end"),
            [
                word("ld"),
                dotted("shared::cta"),
                dotted("u32"),
                word("%r1"),
                Token::Sign(','),
                Token::Sign('['),
                word("$x"),
                Token::Sign('+'),
                Token::Integer(16),
                Token::Sign(']'),
                Token::Sign(';'),
                Token::End
            ]
        );
        assert_eq!(
            words("0f3F800000 0d3ff0000000000000 017 0b101 12U 1.5e+2 /* a\nb */ \"x\\\"y\""),
            [
                Token::Single(0x3f80_0000),
                Token::Double(0x3ff0_0000_0000_0000),
                Token::Integer(15),
                Token::Integer(5),
                Token::Integer(12),
                Token::Double(150f64.to_bits()),
                Token::Text("x\"y".to_owned()),
                Token::End
            ]
        );
    }

    #[test]
    fn what_is_no_word_is_named_with_its_place() {
        let fault = tokens("add\n  #").unwrap_err();
        assert_eq!((fault.at.line, fault.at.column), (2, 3));
        assert!(tokens("/* ").is_err() && tokens("\"abc").is_err() && tokens("0xg").is_err());
        assert!(tokens("99999999999999999999999").is_err());
    }
}
