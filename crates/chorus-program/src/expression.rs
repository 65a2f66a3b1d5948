//! Expressions of whole numbers: `+ - * / %`, `min`, `max`, `pow2`, parentheses, and names of values.

use std::collections::BTreeMap;

use crate::document::excerpt;
use crate::error::Result;
use crate::place::Place;

/// The deepest nesting of an expression, and the most operations of it, which bound the work of one that is made to
/// hurt.
const DEPTH_MAX: usize = 32;
const LENGTH_MAX: usize = 1000;

/// Values are kept below 2^64, so that every argument of a kernel can be written and no operation overflows 128 bits.
const VALUE_MAX: i128 = u64::MAX as i128;
const VALUE_MIN: i128 = i64::MIN as i128;

const ACCEPTED: &str = "accepted are whole numbers, names, + - * / % ( ), min(a, b), max(a, b) and pow2(a)";

/// The values of names.
pub(crate) type Values = BTreeMap<String, i128>;

/// An expression, and the place at which it is written.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    tree: Tree,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
enum Tree {
    Number(i128),
    Name(String),
    Operation(Operator, Box<[Tree; 2]>),
    Pow2(Box<Tree>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Min,
    Max,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(i128),
    Name(String),
    Sign(char),
}

/// An expression that is a number.
pub(crate) fn constant(value: i128, place: Place) -> Result<Expression> {
    let value = in_range(value).map_err(|message| place.mistake(message))?;
    Ok(Expression { tree: Tree::Number(value), place })
}

/// Reads an expression from a text at a place.
pub(crate) fn parse(text: &str, place: Place) -> Result<Expression> {
    let fault = |message: String| place.mistake(format!("expression `{}`: {message}; {ACCEPTED}", excerpt(text)));
    let mut parser = Parser { tokens: tokens(text).map_err(&fault)?, at: 0 };
    let tree = parser.sum(0).map_err(&fault)?;
    match parser.next() {
        None => Ok(Expression { tree, place }),
        Some(token) => Err(fault(format!("{} is not expected", token.words()))),
    }
}

/// Whether a text can be the name of a value.
pub(crate) fn is_name(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !["min", "max", "pow2"].contains(&text)
}

fn in_range(value: i128) -> std::result::Result<i128, String> {
    let fits = (VALUE_MIN..=VALUE_MAX).contains(&value);
    fits.then_some(value).ok_or_else(|| format!("{value} is out of range; values are from -2^63 to 2^64 - 1"))
}

impl Expression {
    /// The value, or what is wrong with it.
    pub(crate) fn value(&self, values: &Values) -> Result<i128> {
        self.tree.value(values).map_err(|message| self.place.mistake(message))
    }

    /// The value if it is from `min` to `max`.
    pub(crate) fn within(&self, values: &Values, min: i128, max: i128, what: &str) -> Result<i128> {
        let value = self.value(values)?;
        let fits = (min..=max).contains(&value).then_some(value);
        fits.ok_or_else(|| self.place.mistake(format!("it is {value}; {what} is from {min} to {max}")))
    }

    /// The first name in it that `known` does not have.
    pub(crate) fn unknown_name(&self, known: &dyn Fn(&str) -> bool) -> Option<&str> {
        self.tree.unknown_name(known)
    }
}

impl Tree {
    fn value(&self, values: &Values) -> std::result::Result<i128, String> {
        match self {
            Tree::Number(value) => Ok(*value),
            Tree::Name(name) => values.get(name).copied().ok_or_else(|| format!("nothing is called `{name}`")),
            Tree::Operation(operator, sides) => {
                in_range(operator.apply(sides[0].value(values)?, sides[1].value(values)?)?)
            }
            Tree::Pow2(of) => match of.value(values)? {
                exponent @ 0..=63 => Ok(1 << exponent),
                exponent => Err(format!("pow2({exponent}) is out of range; exponents are from 0 to 63")),
            },
        }
    }

    fn unknown_name(&self, known: &dyn Fn(&str) -> bool) -> Option<&str> {
        match self {
            Tree::Number(_) => None,
            Tree::Name(name) => (!known(name)).then_some(name),
            Tree::Operation(_, sides) => sides.iter().find_map(|side| side.unknown_name(known)),
            Tree::Pow2(of) => of.unknown_name(known),
        }
    }
}

impl Operator {
    fn apply(self, a: i128, b: i128) -> std::result::Result<i128, String> {
        let by_zero = || format!("{a} is divided by zero");
        // Both sides are below 2^64, so only the product can leave 128 bits.
        match self {
            Operator::Add => Ok(a + b),
            Operator::Subtract => Ok(a - b),
            Operator::Multiply => a.checked_mul(b).ok_or_else(|| format!("{a} * {b} is out of range")),
            Operator::Divide => a.checked_div(b).ok_or_else(by_zero),
            Operator::Remainder => a.checked_rem(b).ok_or_else(by_zero),
            Operator::Min => Ok(a.min(b)),
            Operator::Max => Ok(a.max(b)),
        }
    }
}

impl Token {
    fn words(&self) -> String {
        match self {
            Token::Number(value) => format!("`{value}`"),
            Token::Name(name) => format!("`{}`", excerpt(name)),
            Token::Sign(sign) => format!("`{sign}`"),
        }
    }
}

fn tokens(text: &str) -> std::result::Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_ascii_alphanumeric() || first == '_';
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = if is_word { rest.find(|c| !inside(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, behind) = rest.split_at(end);
        tokens.push(if first.is_ascii_digit() {
            let value = chorus_system::parse_whole(word).map_err(|error| error.to_string())?;
            Token::Number(i128::from(value))
        } else if is_word {
            Token::Name(word.to_owned())
        } else if "+-*/%(),".contains(first) {
            Token::Sign(first)
        } else {
            return Err(format!("`{}` is not expected", first.escape_debug()));
        });
        if tokens.len() > LENGTH_MAX {
            return Err("it is too long".to_owned());
        }
        rest = behind.trim_start();
    }
    Ok(tokens)
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

type Parsed = std::result::Result<Tree, String>;

impl Parser {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn require(&mut self, sign: char) -> std::result::Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(format!("there is no `{sign}` where one is expected")) }
    }

    fn sum(&mut self, depth: usize) -> Parsed {
        let mut left = self.product(depth)?;
        loop {
            let operator = match () {
                () if self.take('+') => Operator::Add,
                () if self.take('-') => Operator::Subtract,
                () => return Ok(left),
            };
            left = Tree::Operation(operator, Box::new([left, self.product(depth)?]));
        }
    }

    fn product(&mut self, depth: usize) -> Parsed {
        let mut left = self.atom(depth)?;
        loop {
            let operator = match () {
                () if self.take('*') => Operator::Multiply,
                () if self.take('/') => Operator::Divide,
                () if self.take('%') => Operator::Remainder,
                () => return Ok(left),
            };
            left = Tree::Operation(operator, Box::new([left, self.atom(depth)?]));
        }
    }

    fn atom(&mut self, depth: usize) -> Parsed {
        if depth > DEPTH_MAX {
            return Err("it is nested too deeply".to_owned());
        }
        match self.next() {
            Some(Token::Number(value)) => Ok(Tree::Number(value)),
            Some(Token::Sign('-')) => {
                Ok(Tree::Operation(Operator::Subtract, Box::new([Tree::Number(0), self.atom(depth + 1)?])))
            }
            Some(Token::Sign('(')) => {
                let inner = self.sum(depth + 1)?;
                self.require(')')?;
                Ok(inner)
            }
            Some(Token::Name(name)) => self.name(name, depth),
            Some(token) => Err(format!("{} is not expected", token.words())),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn name(&mut self, name: String, depth: usize) -> Parsed {
        let operator = match name.as_str() {
            "min" => Operator::Min,
            "max" => Operator::Max,
            "pow2" => {
                self.require('(')?;
                let of = self.sum(depth + 1)?;
                self.require(')')?;
                return Ok(Tree::Pow2(Box::new(of)));
            }
            _ => return Ok(Tree::Name(name)),
        };
        self.require('(')?;
        let first = self.sum(depth + 1)?;
        self.require(',')?;
        let second = self.sum(depth + 1)?;
        self.require(')')?;
        Ok(Tree::Operation(operator, Box::new([first, second])))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn value(text: &str) -> std::result::Result<i128, String> {
        let place = Place::new(&Arc::from("p.toml"), "", 0, "k".to_owned());
        let values = Values::from([("n".to_owned(), 1000), ("g.nodes".to_owned(), 7)]);
        parse(text, place).and_then(|expression| expression.value(&values)).map_err(|error| error.message)
    }

    #[test]
    fn products_bind_closer_than_sums_and_both_go_from_left_to_right() {
        let cases = [("1 + 2 * 3", 7), ("10 - 3 - 2", 5), ("(n + 255) / 256 % 3", 1), ("-n + 1", -999), ("7 - -2", 9)];
        let calls = [("min(n / 256, 1056)", 3), ("max(1, pow2(10))", 1024), ("g.nodes * 64KiB", 7 << 16)];
        cases.into_iter().chain(calls).for_each(|(text, expected)| assert_eq!(value(text), Ok(expected), "{text}"));
    }

    #[test]
    fn what_cannot_be_computed_is_refused() {
        let deep = format!("{}1{}", "(".repeat(100), ")".repeat(100));
        let long = "1+".repeat(2000);
        let cases = [
            ("n / 0", "1000 is divided by zero"),
            ("n % (n - 1000)", "divided by zero"),
            ("pow2(64)", "exponents are from 0 to 63"),
            ("pow2(63) * pow2(63) * pow2(63)", "out of range"),
            ("m", "nothing is called `m`"),
            ("", "it ends too early"),
            ("1 2", "`2` is not expected"),
            ("min(1)", "there is no `,` where one is expected"),
            ("1 $ 2", "`$` is not expected"),
            (&deep, "it is nested too deeply"),
            (&long, "it is too long"),
        ];
        for (text, part) in cases {
            let message = value(text).unwrap_err();
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
