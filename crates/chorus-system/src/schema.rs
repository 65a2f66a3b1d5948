//! Keys and kinds of value, read off the types of [`crate::config`].
//!
//! The types are the only declaration of the schema. A deserialiser that holds no data walks them and notes which
//! fields each struct asks for and which variants each enum has, so that messages can list what is accepted without a
//! second list. An enum whose variants hold structs is a choice that decides which other keys its table has: in a file,
//! the fields of the chosen variant stand beside the choice.

use std::cell::Cell;
use std::sync::LazyLock;

use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, MapAccess, VariantAccess,
    Visitor,
};
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
    /// One of several names.
    Choice(Choice),
    /// A table of further keys.
    Table(Vec<Field>),
}

/// Names of which a key takes one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) names: &'static [&'static str],
    /// The keys that some of the names bring with them, into the table of the key itself.
    brought: Vec<(&'static str, Vec<Field>)>,
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Whether a file may leave the key out.
    pub(crate) optional: bool,
}

impl Choice {
    /// The keys that a name brings into the table.
    pub(crate) fn keys(&self, name: &str) -> &[Field] {
        self.brought.iter().find(|(other, _)| *other == name).map_or(&[], |(_, fields)| fields)
    }

    /// Whether the choice decides which other keys its table has.
    pub(crate) fn decides(&self) -> bool {
        !self.brought.is_empty()
    }
}

impl Kind {
    /// The kind in words, to follow "expected".
    pub(crate) fn expected(&self) -> String {
        match self {
            Kind::Integer(max) => format!("a whole number from 0 to {max}, such as {WHOLE_EXAMPLES}"),
            Kind::Float => "a number".to_owned(),
            Kind::Text => "a string".to_owned(),
            Kind::Choice(choice) => format!("one of {}", quoted(choice.names)),
            Kind::Table(fields) => format!("a table with the keys {}", quoted(&accepted(fields, |_| None))),
        }
    }

    /// The names that a value may be, where the key takes names.
    pub(crate) fn names(&self) -> &'static [&'static str] {
        match self {
            Kind::Choice(choice) => choice.names,
            Kind::Integer(_) | Kind::Float | Kind::Text | Kind::Table(_) => &[],
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

/// The choices of a table that decide which other keys it has.
pub(crate) fn choices(fields: &[Field]) -> impl Iterator<Item = (&'static str, &Choice)> {
    fields.iter().filter_map(|field| match &field.kind {
        Kind::Choice(choice) if choice.decides() => Some((field.name, choice)),
        _ => None,
    })
}

/// The key of a table with this name, whatever the choices of the table are.
pub(crate) fn find<'f>(fields: &'f [Field], name: &str) -> Option<&'f Field> {
    let brought = choices(fields).flat_map(|(_, choice)| choice.brought.iter().flat_map(|(_, fields)| fields));
    fields.iter().chain(brought).find(|field| field.name == name)
}

/// The names of a table's keys. Where `chosen` does not know what a choice is, all the keys that it may bring are among
/// them.
pub(crate) fn accepted(fields: &[Field], chosen: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = fields.iter().map(|field| field.name).collect();
    for (key, choice) in choices(fields) {
        let chosen = chosen(key);
        let possible = |name: &str| chosen.as_deref().is_none_or(|chosen| chosen == name);
        let brought = choice.brought.iter().filter(|(name, _)| possible(name)).flat_map(|(_, fields)| fields);
        for name in brought.map(|field| field.name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The dotted names of all keys that hold a value, in the order of the types. The keys that a choice brings follow
/// those that its table always has.
pub(crate) fn leaves() -> Vec<(String, &'static Kind)> {
    let mut leaves = Vec::new();
    collect("", fields(), &mut leaves);
    leaves
}

/// The dotted names of the keys that hold a value, in a table and below it.
pub(crate) fn leaves_of<'f>(prefix: &str, fields: &'f [Field]) -> Vec<(String, &'f Kind)> {
    let mut leaves = Vec::new();
    collect(prefix, fields, &mut leaves);
    leaves
}

fn collect<'f>(prefix: &str, fields: &'f [Field], leaves: &mut Vec<(String, &'f Kind)>) {
    for field in fields {
        let key = join(prefix, field.name);
        match &field.kind {
            Kind::Table(fields) => collect(&key, fields, leaves),
            kind if leaves.iter().all(|(known, _)| *known != key) => leaves.push((key, kind)),
            _ => {}
        }
    }
    for (_, choice) in choices(fields) {
        choice.brought.iter().for_each(|(_, fields)| collect(prefix, fields, leaves));
    }
}

/// A dotted key, one level deeper.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// The kind of a type. A type is walked several times, each time through other variants of its enums.
fn kind_of<'de, T: Deserialize<'de>>() -> Result<Kind, Error> {
    let mut whole = Kind::Text;
    let mut walk = Walk { number: 0, again: Cell::new(true) };
    while walk.again.replace(false) {
        let mut found = Found::default();
        T::deserialize(Probe { found: &mut found, walk: &walk })?;
        if walk.number == 0 {
            whole = found.kind
        } else {
            merge(&mut whole, found.kind)
        }
        walk.number += 1;
    }
    Ok(whole)
}

/// Adds what another walk has found out.
fn merge(whole: &mut Kind, other: Kind) {
    match (whole, other) {
        (Kind::Table(whole), Kind::Table(other)) => {
            whole.iter_mut().zip(other).for_each(|(field, other)| merge(&mut field.kind, other.kind));
        }
        (Kind::Choice(whole), Kind::Choice(other)) => {
            let is_new = |name: &str| whole.brought.iter().all(|(known, _)| *known != name);
            let brought: Vec<_> = other.brought.into_iter().filter(|(name, _)| is_new(name)).collect();
            whole.brought.extend(brought);
        }
        _ => {}
    }
}

/// One walk through the types.
struct Walk {
    /// The number of the variant that is visited of every enum; the last one of enums that have fewer.
    number: usize,
    /// Whether an enum has further variants.
    again: Cell<bool>,
}

/// The kind of value that a type asked for.
struct Found {
    kind: Kind,
    optional: bool,
}

impl Default for Found {
    fn default() -> Found {
        Found { kind: Kind::Text, optional: false }
    }
}

/// Answers every request of a type with a placeholder and notes what was requested.
struct Probe<'a> {
    found: &'a mut Found,
    walk: &'a Walk,
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("a type that no system file can hold"))
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.found.kind = Kind::Integer(u32::MAX.into());
        visitor.visit_u32(0)
    }

    /// TOML integers are signed, so half of the range of a `u64` is all that a file can hold.
    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.found.kind = Kind::Integer(i64::MAX as u64);
        visitor.visit_u64(0)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.found.kind = Kind::Float;
        visitor.visit_f64(0.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.found.kind = Kind::Text;
        visitor.visit_str("")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.found.optional = true;
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let last = variants.len().checked_sub(1).ok_or_else(|| Error::custom(format!("the empty enum {name}")))?;
        if self.walk.number < last {
            self.walk.again.set(true);
        }
        let mut brought = Vec::new();
        let name = variants[self.walk.number.min(last)];
        let value = visitor.visit_enum(ProbeVariant { name, brought: &mut brought, walk: self.walk })?;
        self.found.kind = Kind::Choice(Choice { names: variants, brought });
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut probe = ProbeFields { names: fields.iter(), current: "", fields: Vec::new(), walk: self.walk };
        let value = visitor.visit_map(&mut probe)?;
        self.found.kind = Kind::Table(probe.fields);
        Ok(value)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// Offers an enum one of its variants.
struct ProbeVariant<'a> {
    name: &'static str,
    brought: &'a mut Vec<(&'static str, Vec<Field>)>,
    walk: &'a Walk,
}

impl<'de> EnumAccess<'de> for ProbeVariant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let name: StrDeserializer<'static, Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> VariantAccess<'de> for ProbeVariant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        let mut found = Found::default();
        let value = seed.deserialize(Probe { found: &mut found, walk: self.walk })?;
        let Kind::Table(fields) = found.kind else { return Err(Error::custom("a variant that holds no struct")) };
        self.brought.push((self.name, fields));
        Ok(value)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("a variant of several values"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("a variant with fields of its own"))
    }
}

/// Offers a struct each of its own fields in turn.
struct ProbeFields<'a> {
    names: std::slice::Iter<'static, &'static str>,
    current: &'static str,
    fields: Vec<Field>,
    walk: &'a Walk,
}

impl<'de> MapAccess<'de> for &mut ProbeFields<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(name) = self.names.next() else { return Ok(None) };
        self.current = name;
        let name: StrDeserializer<'static, Error> = self.current.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let mut found = Found::default();
        let value = seed.deserialize(Probe { found: &mut found, walk: self.walk })?;
        self.fields.push(Field { name: self.current, kind: found.kind, optional: found.optional });
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_holds_every_kind_of_key() {
        let leaves = leaves();
        let kind = |key: &str| leaves.iter().find(|(name, _)| name == key).map(|(_, kind)| (*kind).clone());
        assert_eq!(kind("name"), Some(Kind::Text));
        assert_eq!(kind("l1.size_bytes"), Some(Kind::Integer(u64::from(u32::MAX))));
        assert_eq!(kind("watchdog.cycles"), Some(Kind::Integer(i64::MAX as u64)));
        assert_eq!(kind("energy.flit_pj"), Some(Kind::Float));
        assert_eq!(kind("core.scheduler").unwrap().names(), ["loose-round-robin", "greedy-then-oldest"]);
        assert_eq!(kind("dram.model").unwrap().names(), ["fixed", "gddr5"]);
        assert_eq!(kind("dram.timing.t_cl"), Some(Kind::Integer(u64::from(u32::MAX))));
        assert_eq!(kind("dram.timing"), None);
    }

    #[test]
    fn a_choice_brings_the_keys_of_its_name_and_of_no_other() {
        let Some(Kind::Table(network)) = find(fields(), "network").map(|field| &field.kind) else { panic!("a table") };
        let of = |kind: &str| accepted(network, |_| Some(kind.to_owned())).split_off(4);
        assert_eq!(of("crossbar"), ["latency_cycles"]);
        assert_eq!(of("mesh"), ["width", "latency_cycles", "diameter_cycles", "bank_latency_cycles"]);
        assert_eq!(of("dragonfly"), ["group_size", "local_cycles", "global_cycles"]);
        assert!(find(network, "bank_latency_cycles").is_some_and(|field| field.optional));
    }

    #[test]
    fn keys_of_several_choices_are_of_one_kind() {
        fn check(prefix: &str, fields: &[Field]) {
            for (_, choice) in choices(fields) {
                for brought in choice.brought.iter().flat_map(|(_, fields)| fields) {
                    let first = find(fields, brought.name).unwrap();
                    assert_eq!(first.kind, brought.kind, "{prefix}.{}", brought.name);
                }
            }
            for field in fields {
                if let Kind::Table(below) = &field.kind {
                    check(&join(prefix, field.name), below);
                }
            }
        }
        check("", fields());
    }
}
