//! Keys and kinds of value, read off the types of [`crate::config`].
//!
//! The types are the only declaration of the schema. A deserialiser that holds no data walks them and notes which
//! fields each struct asks for and which variants each enum has, so that messages can list what is accepted without a
//! second list.

use std::sync::LazyLock;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::config::SystemConfig;
use crate::number::WHOLE_EXAMPLES;

/// The kind of value that a key takes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// An integer from 0 to the number given.
    Integer(u64),
    /// A number with a fraction.
    Float,
    /// Any string of text.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A table of further keys.
    Table(Vec<Field>),
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

impl Kind {
    /// The kind in words, to follow "expected".
    pub(crate) fn expected(&self) -> String {
        match self {
            Kind::Integer(max) => format!("a whole number from 0 to {max}, such as {WHOLE_EXAMPLES}"),
            Kind::Float => "a number".to_owned(),
            Kind::Text => "a string".to_owned(),
            Kind::Choice(names) => format!("one of {}", quoted(names)),
            Kind::Table(fields) => {
                format!("a table with the keys {}", quoted(&fields.iter().map(|field| field.name).collect::<Vec<_>>()))
            }
        }
    }
}

/// Names in backticks, separated by commas.
pub(crate) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The keys of a system, in the order of the types.
pub(crate) fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| match kind_of::<SystemConfig>() {
        Ok(Kind::Table(fields)) => fields,
        other => {
            unreachable!("SystemConfig is a struct of integers, floats, strings, enums and structs, not {other:?}")
        }
    });
    &FIELDS
}

/// The dotted names of all keys that hold a value, in the order of the types.
pub(crate) fn leaves() -> Vec<(String, &'static Kind)> {
    fn collect(prefix: &str, fields: &'static [Field], leaves: &mut Vec<(String, &'static Kind)>) {
        for field in fields {
            let key = join(prefix, field.name);
            match &field.kind {
                Kind::Table(fields) => collect(&key, fields, leaves),
                kind => leaves.push((key, kind)),
            }
        }
    }
    let mut leaves = Vec::new();
    collect("", fields(), &mut leaves);
    leaves
}

/// A dotted key, one level deeper.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

fn kind_of<'de, T: Deserialize<'de>>() -> Result<Kind, Error> {
    let mut kind = Kind::Text;
    T::deserialize(Probe(&mut kind))?;
    Ok(kind)
}

/// Answers every request of a type with a placeholder and notes what was requested.
struct Probe<'a>(&'a mut Kind);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("a type that no system file can hold"))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Kind::Integer(u32::MAX.into());
        visitor.visit_u32(0)
    }

    /// TOML integers are signed, so half of the range of a `u64` is all that a file can hold.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Kind::Integer(i64::MAX as u64);
        visitor.visit_u64(0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Kind::Float;
        visitor.visit_f64(0.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        *self.0 = Kind::Text;
        visitor.visit_str("")
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Kind::Choice(variants);
        let first = variants.first().ok_or_else(|| Error::custom(format!("the empty enum {name}")))?;
        visitor.visit_enum(StrDeserializer::new(first))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut probe = ProbeFields { names: fields.iter(), current: "", fields: Vec::new() };
        let value = visitor.visit_map(&mut probe)?;
        *self.0 = Kind::Table(probe.fields);
        Ok(value)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 char str bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// Offers a struct each of its own fields in turn.
struct ProbeFields {
    names: std::slice::Iter<'static, &'static str>,
    current: &'static str,
    fields: Vec<Field>,
}

impl<'de> MapAccess<'de> for &mut ProbeFields {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.current = name;
        let name: StrDeserializer<'static, Error> = self.current.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut kind = Kind::Text;
        let value = seed.deserialize(Probe(&mut kind))?;
        self.fields.push(Field { name: self.current, kind });
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, leaves};

    #[test]
    fn the_schema_holds_every_kind_of_key() {
        let leaves = leaves();
        let kind = |key: &str| leaves.iter().find(|(name, _)| name == key).map(|(_, kind)| (*kind).clone());
        assert_eq!(kind("name"), Some(Kind::Text));
        assert_eq!(kind("l1.size_bytes"), Some(Kind::Integer(u64::from(u32::MAX))));
        assert_eq!(kind("watchdog.cycles"), Some(Kind::Integer(i64::MAX as u64)));
        assert_eq!(kind("energy.flit_pj"), Some(Kind::Float));
        assert_eq!(kind("dram.model"), Some(Kind::Choice(&["fixed", "gddr5"])));
        assert_eq!(kind("dram.timing.t_cl"), Some(Kind::Integer(u64::from(u32::MAX))));
        assert_eq!(kind("dram.timing"), None);
    }
}
