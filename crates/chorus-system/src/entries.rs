//! Entries of a resolved system: every key with its value, the layer that set it, and the source that its line states.

use std::fmt;

use crate::resolve::Resolved;
use crate::scale::Scale;
use crate::schema::leaves;

/// The layer that a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A default of a section that files may leave out.
    Default,
    /// The machine as its file describes it.
    System,
    /// The table of a scale in the file.
    Scale(Scale),
    /// An override on the command line or of an experiment.
    Set,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.pad("default"),
            Origin::System => f.pad("system"),
            Origin::Scale(scale) => f.pad(&format!("scale {scale}")),
            Origin::Set => f.pad("--set"),
        }
    }
}

/// One key of a resolved system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The whole dotted key.
    pub key: String,
    /// Its value as TOML.
    pub value: String,
    /// Which layer the value comes from.
    pub origin: Origin,
    /// The `# source:` comment beside the value; none for an override.
    pub source: Option<String>,
}

/// Every key of a resolved system, in the order of the schema.
pub fn entries(resolved: &Resolved) -> Vec<Entry> {
    let layers = [
        (Origin::Set, &resolved.overridden),
        (Origin::Scale(resolved.scale), &resolved.scaled),
        (Origin::System, &resolved.base),
        (Origin::Default, &resolved.defaults),
    ];
    leaves()
        .into_iter()
        .filter_map(|(key, _)| {
            let (origin, leaf) = layers.iter().find_map(|(origin, layer)| Some((*origin, layer.get(&key)?)))?;
            Some(Entry { value: leaf.scalar.to_string(), origin, source: leaf.place.source_comment(), key })
        })
        .collect()
}
