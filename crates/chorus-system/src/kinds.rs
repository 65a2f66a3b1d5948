//! Kinds of tables: the keys that a layer must have and must not have, given what it chooses.

use std::sync::LazyLock;

use crate::error::SystemError;
use crate::layer::{Layer, Scalar};
use crate::schema::{Choice, Field, Kind, accepted, choices, fields, join, leaves_of};

/// A key whose value decides which other keys its table has.
struct Decision {
    table: String,
    /// The dotted key that decides.
    key: String,
    choice: &'static Choice,
}

impl Decision {
    /// Every decision of the schema, in the order of the types.
    fn all() -> &'static [Decision] {
        static ALL: LazyLock<Vec<Decision>> = LazyLock::new(|| {
            let mut decisions = Vec::new();
            collect("", fields(), &mut decisions);
            decisions
        });
        fn collect(table: &str, fields: &'static [Field], decisions: &mut Vec<Decision>) {
            for (name, choice) in choices(fields) {
                decisions.push(Decision { table: table.to_owned(), key: join(table, name), choice });
            }
            for field in fields {
                if let Kind::Table(below) = &field.kind {
                    collect(&join(table, field.name), below, decisions);
                }
            }
        }
        &ALL
    }

    /// The name that a layer chooses.
    fn chosen(&self, layer: &Layer) -> Option<&'static str> {
        let scalar = &layer.get(&self.key)?.scalar;
        self.choice.names.iter().copied().find(|name| matches!(scalar, Scalar::Text(text) if text == name))
    }

    /// The dotted keys that a name brings.
    fn keys(&self, name: &str) -> Vec<String> {
        leaves_of(&self.table, self.choice.keys(name)).into_iter().map(|(key, _)| key).collect()
    }

    /// The dotted keys that other names bring and this one does not.
    fn others(&self, name: &str) -> Vec<String> {
        let own = self.keys(name);
        let all = self.choice.names.iter().flat_map(|other| self.keys(other));
        all.filter(|key| !own.contains(key)).collect()
    }
}

/// Removes from a layer the keys that mean nothing under what a layer above it chooses.
pub(crate) fn give_way(lower: &mut Layer, upper: &Layer) {
    for decision in Decision::all() {
        if let Some(name) = decision.chosen(upper) {
            decision.others(name).iter().for_each(|key| {
                lower.remove(key);
            });
        }
    }
}

/// Refuses keys that belong to another choice than the one that is made.
pub(crate) fn check(layer: &Layer) -> Result<(), SystemError> {
    for decision in Decision::all() {
        let Some(name) = decision.chosen(layer) else { continue };
        for key in decision.others(name) {
            let Some(leaf) = layer.get(&key) else { continue };
            let brings_it = |other: &&&str| decision.keys(other).contains(&key);
            return Err(SystemError::KeyOfAnotherKind {
                place: Box::new(leaf.place.clone()),
                owners: decision.choice.names.iter().filter(brings_it).copied().collect(),
                decision: &decision.key,
                chosen: name,
                accepted: accepted(decision.choice.keys(name), |_| None),
                key,
            });
        }
    }
    Ok(())
}

/// The keys that a layer lacks, in the order of the schema. Tables that a machine may leave out are complete or absent.
pub(crate) fn missing(layer: &Layer) -> Vec<String> {
    fn collect(prefix: &str, fields: &[Field], layer: &Layer, missing: &mut Vec<String>) {
        for field in fields {
            let key = join(prefix, field.name);
            let below = format!("{key}.");
            match &field.kind {
                Kind::Table(fields) => {
                    if !field.optional || layer.keys().any(|given| given.starts_with(&below)) {
                        collect(&key, fields, layer, missing);
                    }
                }
                _ if !field.optional && !layer.contains_key(&key) => missing.push(key),
                Kind::Choice(choice) => {
                    if let Some(Scalar::Text(name)) = layer.get(&key).map(|leaf| &leaf.scalar) {
                        collect(prefix, choice.keys(name), layer, missing);
                    }
                }
                Kind::Integer(_) | Kind::Float | Kind::Text => {}
            }
        }
    }
    let mut keys = Vec::new();
    collect("", fields(), layer, &mut keys);
    keys
}

/// Turns leaves into nested tables, as the types of the configuration have them: the keys that a choice brings lie
/// below the name that is chosen.
pub(crate) fn nest(layer: &Layer) -> toml::Table {
    fn collect(prefix: &str, fields: &[Field], layer: &Layer) -> toml::Table {
        let mut table = toml::Table::new();
        for field in fields {
            let key = join(prefix, field.name);
            let value = match &field.kind {
                Kind::Table(fields) => {
                    Some(collect(&key, fields, layer)).filter(|below| !below.is_empty()).map(Into::into)
                }
                kind => layer.get(&key).map(|leaf| match (kind, &leaf.scalar) {
                    (Kind::Choice(choice), Scalar::Text(name)) if !choice.keys(name).is_empty() => {
                        let brought = collect(prefix, choice.keys(name), layer);
                        toml::Table::from_iter([(name.clone(), brought.into())]).into()
                    }
                    (_, scalar) => toml::Value::from(scalar),
                }),
            };
            table.extend(value.map(|value| (field.name.to_owned(), value)));
        }
        table
    }
    collect("", fields(), layer)
}
