//! Overrides from the command line: `--set KEY=VALUE`.
//!
//! A value is TOML. Names, sizes such as `64KiB` and powers such as `2^20` may be written without quotes, since a shell
//! would eat them.

use toml::de::DeValue;

use crate::error::SystemError;
use crate::layer::{Leaf, Scalar};
use crate::nearest::nearest;
use crate::place::{Place, excerpt};
use crate::schema::{Kind, accepted, fields, find, join, leaves};

/// Reads one override into the key that it names and its checked value.
pub(crate) fn read(text: &str) -> Result<(String, Leaf), SystemError> {
    let (key, value) = text
        .split_once('=')
        .map(|(key, value)| (key.trim(), value.trim()))
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| SystemError::MalformedOverride { text: excerpt(text) })?;
    let kind = kind_of(text, key)?;
    let scalar = read_value(value, kind).ok_or_else(|| SystemError::WrongType {
        place: Box::new(Place::in_override(text)),
        key: key.to_owned(),
        given: format!("`{}`", excerpt(value)),
        expected: kind.expected(),
        nearest: nearest(value, kind.names().iter().copied()),
    })?;
    Ok((key.to_owned(), Leaf { scalar, place: Place::in_override(text) }))
}

/// Walks the schema down a dotted key.
fn kind_of(text: &str, key: &str) -> Result<&'static Kind, SystemError> {
    let mut level = fields();
    let mut table = String::new();
    let mut names = key.split('.').peekable();
    while let Some(name) = names.next() {
        let field = find(level, name).ok_or_else(|| {
            let accepted = accepted(level, |_| None);
            SystemError::UnknownKey {
                place: Box::new(Place::in_override(text)),
                key: excerpt(key),
                table: table.clone(),
                nearest: nearest(name, accepted.iter().copied())
                    .map(|name| join(&table, &name))
                    .or_else(|| with_last_name(key)),
                accepted,
            }
        })?;
        table = join(&table, field.name);
        match &field.kind {
            Kind::Table(below) if names.peek().is_some() => level = below,
            kind if names.peek().is_none() => return Ok(kind),
            kind => {
                return Err(SystemError::WrongType {
                    place: Box::new(Place::in_override(text)),
                    key: table,
                    given: "a table".to_owned(),
                    expected: kind.expected(),
                    nearest: None,
                });
            }
        }
    }
    // A key is never empty, so its last name has been returned or refused above.
    Err(SystemError::MalformedOverride { text: excerpt(text) })
}

/// The first key that ends in the same name, for a key whose table was left out.
fn with_last_name(key: &str) -> Option<String> {
    let last = key.rsplit('.').next()?;
    leaves().into_iter().map(|(key, _)| key).find(|candidate| candidate.rsplit('.').next() == Some(last))
}

/// Reads the value of an override. Text that is not TOML, such as a bare name or `64KiB`, is read as a string.
fn read_value(value: &str, kind: &Kind) -> Option<Scalar> {
    let toml = DeValue::parse(value).ok();
    let toml = toml.as_ref().map(|value| value.get_ref());
    let string = DeValue::String(value.into());
    match kind {
        Kind::Text | Kind::Choice(_) => match toml {
            Some(quoted @ DeValue::String(_)) => Scalar::read(quoted, kind),
            _ => Scalar::read(&string, kind),
        },
        Kind::Integer(_) | Kind::Float | Kind::Table(_) => Scalar::read(toml.unwrap_or(&string), kind),
    }
}
