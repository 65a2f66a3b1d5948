//! TOML with places: values that know where they are written and which keys lead to them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use chorus_system::{nearest, take_format};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{ProgramError, Result};
use crate::expression::{self, Expression};
use crate::place::Place;

/// The longest part of a value that messages show, in characters.
const SHOWN_MAX: usize = 40;

/// The text of a program file.
pub(crate) struct Document<'d> {
    file: Arc<str>,
    text: &'d str,
    root: Spanned<DeTable<'d>>,
}

/// A value of a document.
#[derive(Clone)]
pub(crate) struct Node<'n> {
    document: &'n Document<'n>,
    key: String,
    at: usize,
    value: Value<'n>,
}

#[derive(Clone, Copy)]
enum Value<'n> {
    Root(&'n DeTable<'n>),
    Inner(&'n DeValue<'n>),
}

impl<'d> Document<'d> {
    pub(crate) fn parse(file: &str, text: &'d str) -> Result<Document<'d>> {
        let file: Arc<str> = file.into();
        let mut root = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Place::new(&file, text, at, String::new()).mistake(error.message().replace('\n', ", "))
        })?;
        let other =
            |(span, advice): (Range<usize>, String)| Place::new(&file, text, span.start, String::new()).mistake(advice);
        take_format(root.get_mut()).map_err(other)?;
        Ok(Document { file, text, root })
    }
}

impl<'n> Node<'n> {
    pub(crate) fn root(document: &'n Document<'n>) -> Node<'n> {
        Node { document, key: String::new(), at: 0, value: Value::Root(document.root.get_ref()) }
    }

    pub(crate) fn place(&self) -> Place {
        Place::new(&self.document.file, self.document.text, self.at, self.key.clone())
    }

    pub(crate) fn mistake(&self, message: impl Into<String>) -> ProgramError {
        self.place().mistake(message)
    }

    /// The mistake of a value that is something else than expected.
    pub(crate) fn expected(&self, accepted: &str) -> ProgramError {
        let given = match self.value {
            Value::Root(_) => "a table".to_owned(),
            Value::Inner(DeValue::String(text)) => format!("`{}`", excerpt(text)),
            Value::Inner(DeValue::Integer(integer)) => format!("`{}`", excerpt(&integer.to_string())),
            Value::Inner(DeValue::Float(float)) => format!("`{}`", excerpt(float.as_str())),
            Value::Inner(DeValue::Boolean(value)) => format!("`{value}`"),
            Value::Inner(DeValue::Datetime(_)) => "a date".to_owned(),
            Value::Inner(DeValue::Array(_)) => "a list".to_owned(),
            Value::Inner(DeValue::Table(_)) => "a table".to_owned(),
        };
        self.mistake(format!("{given} is given; expected {accepted}"))
    }

    /// The entries of a table by position, so that the first mistake of a file is reported.
    pub(crate) fn entries(&self, accepted: &str) -> Result<Vec<(String, Node<'n>)>> {
        let table = match self.value {
            Value::Root(table) | Value::Inner(DeValue::Table(table)) => table,
            Value::Inner(_) => return Err(self.expected(accepted)),
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let node = |(key, value): (&'n Spanned<_>, &'n Spanned<DeValue<'n>>)| {
            let name: &std::borrow::Cow<'n, str> = key.get_ref();
            let path = if self.key.is_empty() { name.to_string() } else { format!("{}.{name}", self.key) };
            let value = Value::Inner(value.get_ref());
            (name.to_string(), Node { document: self.document, key: path, at: key.span().start, value })
        };
        Ok(entries.into_iter().map(node).collect())
    }

    /// The table, of which every key must be asked for before it is finished.
    pub(crate) fn table(&self, accepted: &str) -> Result<Table<'n>> {
        Ok(Table { node: self.clone(), entries: self.entries(accepted)?, known: BTreeSet::new() })
    }

    pub(crate) fn list(&self) -> Option<Vec<Node<'n>>> {
        let Value::Inner(DeValue::Array(array)) = self.value else { return None };
        let node = |(index, value): (usize, &'n Spanned<DeValue<'n>>)| Node {
            document: self.document,
            key: format!("{}[{index}]", self.key),
            at: value.span().start,
            value: Value::Inner(value.get_ref()),
        };
        Some(array.iter().enumerate().map(node).collect())
    }

    pub(crate) fn is_table(&self) -> bool {
        matches!(self.value, Value::Inner(DeValue::Table(_)))
    }

    pub(crate) fn text(&self) -> Option<&'n str> {
        match self.value {
            Value::Inner(DeValue::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn boolean(&self) -> Result<bool> {
        match self.value {
            Value::Inner(DeValue::Boolean(value)) => Ok(*value),
            _ => Err(self.expected("true or false")),
        }
    }

    pub(crate) fn name(&self, accepted: &str) -> Result<&'n str> {
        self.text().ok_or_else(|| self.expected(accepted))
    }

    pub(crate) fn integer(&self) -> Option<i128> {
        match self.value {
            Value::Inner(DeValue::Integer(integer)) => i128::from_str_radix(integer.as_str(), integer.radix()).ok(),
            _ => None,
        }
    }

    /// A float, or a whole number where a float is expected.
    pub(crate) fn real(&self) -> Option<f64> {
        match self.value {
            Value::Inner(DeValue::Float(float)) => float.as_str().parse().ok(),
            _ => self.integer().map(|integer| integer as f64),
        }
    }

    /// A whole number from 0 to `max`.
    pub(crate) fn whole(&self, max: u64) -> Result<u64> {
        let value = match self.text() {
            Some(text) => chorus_system::parse_whole(text).ok(),
            None => self.integer().and_then(|integer| u64::try_from(integer).ok()),
        };
        value.filter(|&value| value <= max).ok_or_else(|| self.expected(&format!("a whole number from 0 to {max}")))
    }

    /// A whole number or an expression of whole numbers.
    pub(crate) fn expression(&self) -> Result<Expression> {
        if let Some(integer) = self.integer() {
            return expression::constant(integer, self.place());
        }
        let accepted = "a whole number, or an expression in quotes such as \"n / 256\"";
        expression::parse(self.text().ok_or_else(|| self.expected(accepted))?, self.place())
    }
}

/// A table that is read key by key.
pub(crate) struct Table<'n> {
    pub(crate) node: Node<'n>,
    entries: Vec<(String, Node<'n>)>,
    known: BTreeSet<&'static str>,
}

impl<'n> Table<'n> {
    pub(crate) fn get(&mut self, key: &'static str) -> Option<Node<'n>> {
        self.known.insert(key);
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node.clone())
    }

    pub(crate) fn require(&mut self, key: &'static str, meaning: &str) -> Result<Node<'n>> {
        self.get(key).ok_or_else(|| {
            let strangers =
                self.entries.iter().map(|(name, _)| name.as_str()).filter(|name| !self.known.contains(name));
            let near = nearest(key, strangers).map_or_else(String::new, |near| format!(", but `{near}`"));
            self.node.mistake(format!("there is no key `{key}`{near}: {meaning}"))
        })
    }

    /// The only one of several keys that stands in the table, if any does.
    pub(crate) fn one_of(&mut self, keys: &[&'static str]) -> Result<Option<(&'static str, Node<'n>)>> {
        let mut found = keys.iter().filter_map(|&key| self.get(key).map(|node| (key, node))).collect::<Vec<_>>();
        if let [(first, _), (_, second), ..] = &found[..] {
            return Err(second.mistake(format!("it does not go together with key `{first}`")));
        }
        Ok(found.pop())
    }

    /// Refuses keys that nobody asked for.
    pub(crate) fn finish(self) -> Result<()> {
        let Some((name, node)) = self.entries.iter().find(|(name, _)| !self.known.contains(name.as_str())) else {
            return Ok(());
        };
        let known: Vec<String> = self.known.iter().map(|key| format!("`{key}`")).collect();
        let near = nearest(name, self.known.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        Err(node.mistake(format!("there is no such key; {near}accepted: {}", known.join(", "))))
    }
}

/// The beginning of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// Refuses a name that is none of these.
pub(crate) fn unknown(node: &Node<'_>, what: &str, name: &str, known: &[&str]) -> ProgramError {
    let near = nearest(name, known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let list = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let list = if list.is_empty() { "there is none".to_owned() } else { format!("known: {list}") };
    node.mistake(format!("there is no {what} `{}`; {near}{list}", excerpt(name)))
}
