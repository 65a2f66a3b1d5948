//! A litmus file as tokens with their positions.

use crate::error::{LitmusError, Position};

/// The kind of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a mnemonic with its dots.
    Word(String),
    /// A constant. Negative ones wrap around.
    Number(u32),
    /// A sign of one or two characters.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// A token and the position where it starts.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub position: Position,
}

impl Token {
    /// The token as a message shows it.
    pub fn shown(&self) -> String {
        match &self.kind {
            TokenKind::Word(word) => format!("`{}`", shortened(word)),
            TokenKind::Number(number) => format!("`{number}`"),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end of the file".to_string(),
        }
    }
}

/// A text as a message shows it: on one line, and shortened if it is long.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        short.push('…');
    }
    short
}

/// The signs of the language, longer ones first.
const SYMBOLS: [&str; 21] =
    ["==", "!=", "<=", ">=", "/\\", "\\/", "{", "}", "(", ")", "[", "]", "|", ";", ",", ":", "@", "=", "<", ">", "~"];

/// A position in a text that is being read.
struct Cursor<'a> {
    rest: &'a str,
    position: Position,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        if next == '\n' {
            self.position = Position { line: self.position.line + 1, column: 1 };
        } else {
            self.position.column += 1;
        }
        Some(next)
    }

    /// Takes `bytes` bytes of the text.
    fn take(&mut self, bytes: usize) -> &'a str {
        let taken = &self.rest[..bytes];
        for _ in taken.chars() {
            self.bump();
        }
        taken
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.take(end)
    }
}

/// The parts of a file.
pub(crate) struct Pieces {
    pub name: String,
    pub comments: Vec<String>,
    /// The tokens behind the comments. The last one is [`TokenKind::End`].
    pub tokens: Vec<Token>,
}

/// Splits a file into its name, its comments and its tokens.
pub(crate) fn pieces(text: &str) -> Result<Pieces, LitmusError> {
    let mut cursor = Cursor { rest: text, position: Position { line: 1, column: 1 } };
    let name = header(&mut cursor)?;
    let comments = comments(&mut cursor)?;
    let mut tokens = Vec::new();
    loop {
        cursor.take_while(char::is_whitespace);
        let token = token(&mut cursor)?;
        let end = token.kind == TokenKind::End;
        tokens.push(token);
        if end {
            return Ok(Pieces { name, comments, tokens });
        }
    }
}

fn header(cursor: &mut Cursor) -> Result<String, LitmusError> {
    cursor.take_while(char::is_whitespace);
    let position = cursor.position;
    let architecture = cursor.take_while(|c| !c.is_whitespace());
    if architecture != "PTX" {
        let found = if architecture.is_empty() {
            "the end of the file".to_string()
        } else {
            format!("`{}`", shortened(architecture))
        };
        return Err(LitmusError::new(position, "not a PTX litmus test", found, "`PTX` and a name"));
    }
    let position = cursor.position;
    let name = cursor.take_while(|c| c != '\n').trim();
    if name.is_empty() {
        return Err(LitmusError::new(position, "the test has no name", "the end of the line", "`PTX` and a name"));
    }
    Ok(name.to_string())
}

/// The comments in double quotes before the first brace. Quotes within a comment need not be escaped: a comment ends
/// with a quote behind which a brace follows, or a line break and another comment.
fn comments(cursor: &mut Cursor) -> Result<Vec<String>, LitmusError> {
    cursor.take_while(char::is_whitespace);
    let position = cursor.position;
    let Some(quoted) = cursor.rest.strip_prefix('"') else { return Ok(Vec::new()) };
    let ends = |quote: &usize| quoted[quote + 1..].trim_start().starts_with('{');
    let Some(end) = quoted.match_indices('"').map(|(quote, _)| quote).find(ends) else {
        return Err(LitmusError::new(position, "a comment does not end", "`\"`", "`\"` and a brace after comments"));
    };
    let mut comments = Vec::new();
    let mut rest = &quoted[..end];
    while let Some((comment, next)) = split(rest) {
        comments.push(comment.to_string());
        rest = next;
    }
    comments.push(rest.to_string());
    cursor.take(end + 2);
    Ok(comments)
}

/// Splits text behind a first comment: this comment, and the comments on the lines behind it.
fn split(comments: &str) -> Option<(&str, &str)> {
    comments.match_indices('"').find_map(|(quote, _)| {
        let behind = &comments[quote + 1..];
        let next = behind.trim_start();
        let broken = behind[..behind.len() - next.len()].contains('\n');
        broken.then(|| next.strip_prefix('"')).flatten().map(|next| (&comments[..quote], next))
    })
}

fn token(cursor: &mut Cursor) -> Result<Token, LitmusError> {
    let position = cursor.position;
    let kind = match cursor.peek() {
        None => TokenKind::End,
        Some('-') => {
            cursor.bump();
            TokenKind::Number(number(cursor, position)?.wrapping_neg())
        }
        Some(c) if c.is_ascii_digit() => TokenKind::Number(number(cursor, position)?),
        Some(c) if c.is_ascii_alphabetic() || c == '_' => {
            TokenKind::Word(cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.').to_string())
        }
        Some(c) => {
            let Some(symbol) = SYMBOLS.into_iter().find(|symbol| cursor.rest.starts_with(symbol)) else {
                let found = format!("`{}`", c.escape_default());
                return Err(LitmusError::new(position, "unknown character", found, "names, numbers and signs"));
            };
            cursor.take(symbol.len());
            TokenKind::Symbol(symbol)
        }
    };
    Ok(Token { kind, position })
}

fn number(cursor: &mut Cursor, position: Position) -> Result<u32, LitmusError> {
    let digits = cursor.take_while(|c| c.is_ascii_alphanumeric());
    digits.parse().map_err(|_| {
        let found = format!("`{}`", shortened(digits));
        LitmusError::new(position, "not a number", found, "a number of at most 32 bits, in decimal")
    })
}
