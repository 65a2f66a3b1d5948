//! A system file, or one of its scales, as leaves: dotted keys with a checked value and the place at which it was
//! written.
//!
//! A file is read into leaves and not straight into the typed configuration. So positions survive the merge of scales
//! and overrides, and a scale may name only the keys that it changes.

use std::collections::BTreeMap;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::SystemError;
use crate::format::{FORMAT_KEY, take_format};
use crate::kinds;
use crate::nearest::nearest;
use crate::number::parse_whole;
use crate::place::{Place, SourceText, excerpt};
use crate::scale::Scale;
use crate::schema::{Choice, Field, Kind, accepted, choices, fields, find, join, quoted};

/// Values by dotted key.
pub(crate) type Layer = BTreeMap<String, Leaf>;

/// The table that holds the scales.
const SCALE: &str = "scale";

/// The key that names the base: the system that states the keys which this file leaves out.
pub(crate) const BASE: &str = "base";

/// One value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) scalar: Scalar,
    pub(crate) place: Place,
}

/// A value of one of the kinds of the schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    Integer(u64),
    Float(f64),
    Text(String),
}

impl From<&Scalar> for toml::Value {
    fn from(scalar: &Scalar) -> Self {
        match scalar {
            // `Kind::Integer` admits nothing above the largest TOML integer.
            Scalar::Integer(value) => toml::Value::Integer(i64::try_from(*value).unwrap_or(i64::MAX)),
            Scalar::Float(value) => toml::Value::Float(*value),
            Scalar::Text(value) => toml::Value::String(value.clone()),
        }
    }
}

/// The value as TOML.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        toml::Value::from(self).fmt(f)
    }
}

impl Scalar {
    /// Reads a TOML value as the kind that its key takes. Whole numbers may be written in every form of
    /// [`parse_whole`]; TOML has no syntax for units and powers, so these stand in strings.
    pub(crate) fn read(value: &DeValue<'_>, kind: &Kind) -> Option<Scalar> {
        match (kind, value) {
            (Kind::Integer(max), DeValue::Integer(integer)) => {
                Scalar::integer(u64::from_str_radix(integer.as_str(), integer.radix()).ok()?, *max)
            }
            (Kind::Integer(max), DeValue::Float(float)) => Scalar::integer(parse_whole(float.as_str()).ok()?, *max),
            (Kind::Integer(max), DeValue::String(text)) => Scalar::integer(parse_whole(text).ok()?, *max),
            (Kind::Float, DeValue::Integer(integer)) => {
                let value = i64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
                Some(Scalar::Float(value as f64))
            }
            (Kind::Float, DeValue::String(text)) => Some(Scalar::Float(parse_whole(text).ok()? as f64)),
            // Adding zero turns a negative zero into the one zero, so that equal values hash alike.
            (Kind::Float, DeValue::Float(float)) => Some(Scalar::Float(float.as_str().parse::<f64>().ok()? + 0.0)),
            (Kind::Text, DeValue::String(text)) => Some(Scalar::Text(text.to_string())),
            (Kind::Choice(choice), DeValue::String(text)) => {
                choice.names.contains(&text.as_ref()).then(|| Scalar::Text(text.to_string()))
            }
            _ => None,
        }
    }

    fn integer(value: u64, max: u64) -> Option<Scalar> {
        (value <= max).then_some(Scalar::Integer(value))
    }
}

/// A system file: the machine, and what each of its scales changes.
pub(crate) struct Document {
    /// The name of the base, and the place at which it is written.
    pub(crate) extends: Option<(String, Place)>,
    pub(crate) base: Layer,
    pub(crate) scales: BTreeMap<Scale, Layer>,
}

impl Document {
    /// Completes this file with the values of `whole` for the keys that this file leaves out. The tables of scales are
    /// completed one by one in the same way. Where this file makes another choice, keys of the old one are left out.
    pub(crate) fn over(self, whole: Document) -> Document {
        let Document { extends, mut base, mut scales } = whole;
        scales.values_mut().chain([&mut base]).for_each(|layer| kinds::give_way(layer, &self.base));
        base.extend(self.base);
        for (scale, layer) in self.scales {
            scales.entry(scale).or_default().extend(layer);
        }
        Document { extends, base, scales }
    }
}

/// Reads a system file. Every scale is checked, whichever of them is asked for.
pub(crate) fn read(source: &SourceText) -> Result<Document, SystemError> {
    let mut root = DeTable::parse(source.text()).map_err(|error| SystemError::Syntax {
        place: Box::new(Place::in_file(source, error.span().unwrap_or(0..0))),
        message: error.message().replace('\n', ", "),
    })?;
    take_format(root.get_mut())
        .map_err(|(span, advice)| SystemError::OtherFormat { place: Box::new(Place::in_file(source, span)), advice })?;
    let reader = Reader { source };
    let mut document = Document { extends: None, base: Layer::new(), scales: BTreeMap::new() };
    for (key, value) in in_file_order(root.get_ref()) {
        if key.get_ref() == SCALE {
            document.scales = reader.read_scales(value)?;
        } else if key.get_ref() == BASE {
            document.extends = Some(reader.read_base(value)?);
        } else {
            let field = reader.field(key, root.get_ref(), fields(), "")?;
            reader.read_entry(field, value, Prefix::default(), &mut document.base)?;
        }
    }
    Ok(document)
}

/// The entries of a table by position, so that the first mistake of a file is reported.
fn in_file_order<'t, 'i>(
    table: &'t DeTable<'i>,
) -> Vec<(&'t Spanned<toml::de::DeString<'i>>, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The dotted name of a table in the file and in the schema. They differ in a scale, whose keys lie below `scale.NAME`
/// in the file.
#[derive(Clone, Copy, Default)]
struct Prefix<'a> {
    file: &'a str,
    schema: &'a str,
}

struct Reader<'a> {
    source: &'a SourceText,
}

impl Reader<'_> {
    fn read_base(&self, value: &Spanned<DeValue<'_>>) -> Result<(String, Place), SystemError> {
        let wrong_type = || self.wrong_type(BASE, value, "the name of a system".to_owned(), None);
        let name = value.get_ref().as_str().ok_or_else(wrong_type)?;
        Ok((name.to_owned(), Place::in_file(self.source, value.span())))
    }

    fn read_scales(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<Scale, Layer>, SystemError> {
        let names: Vec<&'static str> = Scale::ALL.map(Scale::name).to_vec();
        let expected = || format!("a table with the keys {}", quoted(&names));
        let table = self.table(SCALE, value, expected)?;
        let mut scales = BTreeMap::new();
        for (key, value) in in_file_order(table) {
            let Some(scale) = Scale::ALL.into_iter().find(|scale| scale.name() == key.get_ref()) else {
                return Err(self.unknown_key(key, SCALE, names));
            };
            let prefix = join(SCALE, scale.name());
            let table = self.table(&prefix, value, || "a table of the keys that this scale changes".to_owned())?;
            let mut layer = Layer::new();
            self.read_table(table, fields(), Prefix { file: &prefix, schema: "" }, &mut layer)?;
            scales.insert(scale, layer);
        }
        Ok(scales)
    }

    fn read_table(
        &self,
        table: &DeTable<'_>,
        fields: &'static [Field],
        prefix: Prefix<'_>,
        layer: &mut Layer,
    ) -> Result<(), SystemError> {
        for (key, value) in in_file_order(table) {
            let field = self.field(key, table, fields, prefix.file)?;
            self.read_entry(field, value, prefix, layer)?;
        }
        Ok(())
    }

    fn read_entry(
        &self,
        field: &'static Field,
        value: &Spanned<DeValue<'_>>,
        prefix: Prefix<'_>,
        layer: &mut Layer,
    ) -> Result<(), SystemError> {
        let (file, schema) = (join(prefix.file, field.name), join(prefix.schema, field.name));
        if let Kind::Table(fields) = &field.kind {
            let table = self.table(&file, value, || field.kind.expected())?;
            return self.read_table(table, fields, Prefix { file: &file, schema: &schema }, layer);
        }
        let scalar = Scalar::read(value.get_ref(), &field.kind)
            .ok_or_else(|| self.wrong_type(&file, value, field.kind.expected(), Some(&field.kind)))?;
        layer.insert(schema, Leaf { scalar, place: Place::in_file(self.source, value.span()) });
        Ok(())
    }

    /// The field that a key of a table names. Where the table makes a choice itself, a message lists only its keys.
    fn field(
        &self,
        key: &Spanned<toml::de::DeString<'_>>,
        table: &DeTable<'_>,
        fields: &'static [Field],
        name: &str,
    ) -> Result<&'static Field, SystemError> {
        let chosen = |key: &str| Some(table.get(key)?.get_ref().as_str()?.to_owned());
        let is_known =
            |(key, choice): (&str, &Choice)| chosen(key).filter(|name| choice.names.contains(&name.as_str()));
        find(fields, key.get_ref()).ok_or_else(|| {
            let mut accepted =
                accepted(fields, |key| choices(fields).find(|(name, _)| *name == key).and_then(is_known));
            if name.is_empty() {
                accepted.extend([SCALE, BASE, FORMAT_KEY]);
            }
            self.unknown_key(key, name, accepted)
        })
    }

    fn table<'t, 'i>(
        &self,
        key: &str,
        value: &'t Spanned<DeValue<'i>>,
        expected: impl FnOnce() -> String,
    ) -> Result<&'t DeTable<'i>, SystemError> {
        value.get_ref().as_table().ok_or_else(|| self.wrong_type(key, value, expected(), None))
    }

    fn unknown_key(
        &self,
        key: &Spanned<toml::de::DeString<'_>>,
        table: &str,
        accepted: Vec<&'static str>,
    ) -> SystemError {
        SystemError::UnknownKey {
            place: Box::new(Place::in_file(self.source, key.span())),
            key: join(table, &excerpt(key.get_ref())),
            table: table.to_owned(),
            nearest: nearest(key.get_ref(), accepted.iter().copied()),
            accepted,
        }
    }

    fn wrong_type(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        expected: String,
        kind: Option<&Kind>,
    ) -> SystemError {
        let given = match value.get_ref() {
            DeValue::Table(_) => "a table".to_owned(),
            DeValue::Array(_) => "an array".to_owned(),
            other => {
                let written = self.source.text().get(value.span()).unwrap_or_default();
                format!("the {} `{}`", other.type_str(), excerpt(written))
            }
        };
        let nearest = match (kind, value.get_ref()) {
            (Some(kind), DeValue::String(text)) => nearest(text, kind.names().iter().copied()),
            _ => None,
        };
        let place = Box::new(Place::in_file(self.source, value.span()));
        SystemError::WrongType { place, key: key.to_owned(), given, expected, nearest }
    }
}
