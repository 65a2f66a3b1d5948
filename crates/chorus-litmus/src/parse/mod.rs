//! Litmus files: the dialect of PTX tests that herd and Dat3M read, without the parts that only they need.
//!
//! A file is a header `PTX name`, comments in quotes, initial values in braces, a row of threads with their places,
//! rows of instructions, and a condition. Chorus accepts two extensions. In braces, `x1 @ line x;` puts the word `x1`
//! into the cache line of `x`, at its next free place. Every other location has a line of its own. And as in PTX
//! itself, `ld.weak.v2 {r0, r1}, x` accesses `x` and the next word of its line with one instruction.
//!
//! Texts may come from anywhere. So every mistake in a text gives an error with a position, and sizes are limited
//! before anything is built.

mod access;
mod condition;
mod instruction;
mod lexer;
mod names;
mod reader;
mod several;

pub use self::several::{MAX_FILE_BYTES, parse_all};
use crate::error::{LitmusError, Position};
use crate::parse::condition::{condition, quantifier};
use crate::parse::instruction::Cells;
use crate::parse::lexer::{Pieces, TokenKind, pieces};
use crate::parse::names::Names;
use crate::parse::reader::Reader;
use crate::test::{LitmusTest, Program};

/// The largest size of a test in bytes.
pub const MAX_BYTES: usize = 64 * 1024;
/// The largest number of threads of a test.
pub const MAX_THREADS: usize = 16;
/// The largest number of locations of a test.
pub const MAX_LOCATIONS: usize = 32;
/// The largest number of instructions of a thread.
pub const MAX_INSTRUCTIONS: usize = 64;
/// The largest number of registers of a thread.
pub const MAX_REGISTERS: usize = 64;
/// The largest number of comparisons in a condition.
pub const MAX_COMPARISONS: usize = 256;
/// The largest depth to which conditions may be nested.
pub const MAX_NESTING: usize = 32;

/// The contents of a well-formed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A test that Chorus models.
    Test(LitmusTest),
    /// A test that uses something that Chorus does not model.
    Unsupported {
        /// The name of the test.
        name: String,
        /// The feature that is not modelled.
        reason: String,
    },
}

/// Reads a litmus file.
pub fn parse(text: &str) -> Result<Parsed, LitmusError> {
    if text.len() > MAX_BYTES {
        let start = Position { line: 1, column: 1 };
        let found = format!("{} bytes", text.len());
        return Err(LitmusError::new(start, "the file is too large", found, format!("at most {MAX_BYTES} bytes")));
    }
    let Pieces { name, comments, tokens } = pieces(text)?;
    let mut reader = Reader::new(tokens);
    let mut names = Names::default();
    declarations(&mut reader, &mut names)?;
    let mut cells = Cells::new(places(&mut reader)?);
    names.give_registers(&mut cells.threads)?;
    while !at_question(&reader) {
        cells.row(&mut reader, &mut names)?;
    }
    cells.resolve_targets()?;
    let program = Program { locations: names.locations, threads: cells.threads };
    let filter = if reader.accept_word("filter") { Some(condition(&mut reader, &program)?) } else { None };
    let quantifier = quantifier(&mut reader)?;
    let condition = condition(&mut reader, &program)?;
    if reader.peek().kind != TokenKind::End {
        return Err(reader.error("there is more behind the condition", "the end of the file"));
    }
    Ok(match names.unsupported {
        Some(reason) => Parsed::Unsupported { name, reason },
        None => Parsed::Test(LitmusTest { name, comments, program, filter, quantifier, condition }),
    })
}

/// Whether the rows of instructions have ended.
fn at_question(reader: &Reader) -> bool {
    ["exists", "forall", "filter", "not"].iter().any(|word| reader.at_word(word))
        || reader.at_symbol("~")
        || reader.peek().kind == TokenKind::End
}

/// Reads the initial values and lines in braces.
fn declarations(reader: &mut Reader, names: &mut Names) -> Result<(), LitmusError> {
    reader.expect("{", "initial values are missing")?;
    while !reader.accept("}") {
        if reader.accept(";") {
            continue;
        }
        declaration(reader, names)?;
        if !reader.at_symbol("}") {
            reader.expect(";", "a declaration does not end")?;
        }
    }
    Ok(())
}

fn declaration(reader: &mut Reader, names: &mut Names) -> Result<(), LitmusError> {
    let (name, position) = match reader.peek().kind {
        TokenKind::Number(thread) => {
            let position = reader.position();
            reader.take();
            (thread.to_string(), position)
        }
        _ => reader.name("a location or a register")?,
    };
    if reader.accept(":") {
        let (register, _) = reader.name("a register")?;
        reader.expect("=", "a register has no value")?;
        let value = reader.number("the initial value")?;
        return names.initial_register(&name, register, value, position);
    }
    if reader.accept("@") {
        return placement(reader, names, name, position);
    }
    reader.expect("=", "a location has no value")?;
    let value = reader.number("the initial value")?;
    names.declare(name, value, None, position)
}

/// Reads what follows `@`: a line, or an alias through a proxy.
fn placement(reader: &mut Reader, names: &mut Names, name: String, position: Position) -> Result<(), LitmusError> {
    const PROXIES: [&str; 4] = ["generic", "surface", "texture", "constant"];
    if reader.accept_word("line") {
        let (other, other_position) = reader.name("a location")?;
        let line = names.line_of(&other, other_position)?;
        let value = if reader.accept("=") { reader.number("the initial value")? } else { 0 };
        return names.declare(name, value, Some(line), position);
    }
    let Some(proxy) = PROXIES.into_iter().find(|proxy| reader.at_word(proxy)) else {
        return Err(reader.error("a location lies nowhere known", "`line` and a location, or a proxy and `aliases`"));
    };
    reader.take();
    if !reader.accept_word("aliases") {
        return Err(reader.error("an alias of nothing", "`aliases` and a location"));
    }
    let (other, other_position) = reader.name("a location")?;
    names.alias(name, position, &other, other_position)?;
    names.unsupported(format!("proxies are not modelled: a {proxy} alias in line {}", position.line));
    Ok(())
}

/// Reads the row of threads: `P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;`.
fn places(reader: &mut Reader) -> Result<Vec<(u32, u32)>, LitmusError> {
    let mut places = Vec::new();
    loop {
        let expected = format!("P{}", places.len());
        if !reader.at_word(&expected) {
            return Err(reader.error("a thread is missing", format!("`{expected}@cta 0,gpu 0`")));
        }
        if places.len() == MAX_THREADS {
            return Err(reader.error("too many threads", format!("at most {MAX_THREADS}")));
        }
        reader.take();
        reader.expect("@", "the thread has no place")?;
        let cta = place(reader, "cta")?;
        reader.expect(",", "the place ends too early")?;
        let gpu = place(reader, "gpu")?;
        places.push((cta, gpu));
        if reader.accept(";") {
            return Ok(places);
        }
        reader.expect("|", "the row of threads does not end")?;
    }
}

fn place(reader: &mut Reader, level: &str) -> Result<u32, LitmusError> {
    if !reader.accept_word(level) {
        return Err(reader.error(format!("the thread's {level} is missing"), format!("`{level}` and a number")));
    }
    reader.number(level)
}
