//! Resolution: layers are merged into one configuration with a hash and a text.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

use crate::config::SystemConfig;
use crate::error::SystemError;
use crate::geometry;
use crate::kinds;
use crate::layer::{self, Document, Layer, Scalar};
use crate::nearest::nearest;
use crate::overrides;
use crate::place::{Place, SourceText, excerpt};
use crate::registry::{self, SYSTEMS, SystemFile};
use crate::scale::Scale;
use crate::schema::{join, leaves};

/// Bytes of the SHA-256 that make the hash: 16 hexadecimal digits.
const HASH_BYTES: usize = 8;

/// The sections that files may leave out, with the values that they then have.
const DEFAULTS: &str = include_str!("defaults.toml");

/// A system with its scale and overrides applied and every value checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The configuration of the machine.
    pub config: SystemConfig,
    /// The scale that was asked for.
    pub scale: Scale,
    /// 16 hexadecimal digits that change with any value of the configuration, and with nothing else.
    pub hash: String,
    /// The configuration as TOML, as stored with results.
    pub text: String,
    pub(crate) defaults: Layer,
    pub(crate) base: Layer,
    pub(crate) scaled: Layer,
    pub(crate) overridden: Layer,
}

/// Finds a shipped system by name, or a system file by path, and applies a scale and overrides.
///
/// A path is whatever ends in `.toml` or contains a separator; everything else is a name. Overrides are
/// `key.path=value`, and later ones win.
pub fn resolve(name_or_path: &str, scale: Scale, overrides: &[String]) -> Result<Resolved, SystemError> {
    resolve_among(SYSTEMS, name_or_path, scale, overrides)
}

/// Like [`resolve`], with these systems instead of the shipped ones. They are also the systems that a file may have as
/// its base.
pub fn resolve_among(
    systems: &[SystemFile],
    name_or_path: &str,
    scale: Scale,
    overrides: &[String],
) -> Result<Resolved, SystemError> {
    resolve_source(systems, &registry::open(systems, name_or_path)?, scale, overrides)
}

/// Like [`resolve`], for the text of a system file; `file` is its name in messages.
pub fn resolve_text(file: &str, text: &str, scale: Scale, overrides: &[String]) -> Result<Resolved, SystemError> {
    resolve_text_among(SYSTEMS, file, text, scale, overrides)
}

/// Like [`resolve_text`], for a file that may have any of these systems as its base.
pub fn resolve_text_among(
    systems: &[SystemFile],
    file: &str,
    text: &str,
    scale: Scale,
    overrides: &[String],
) -> Result<Resolved, SystemError> {
    resolve_source(systems, &SourceText::new(file, text), scale, overrides)
}

/// Lists the scales of a shipped system or of a system file. The system is found as in [`resolve`].
pub fn scales(name_or_path: &str) -> Result<Vec<Scale>, SystemError> {
    scales_among(SYSTEMS, name_or_path)
}

/// Like [`scales`], with these systems instead of the shipped ones.
pub fn scales_among(systems: &[SystemFile], name_or_path: &str) -> Result<Vec<Scale>, SystemError> {
    let document = layer::read(&registry::open(systems, name_or_path)?)?;
    Ok(with_base(systems, document)?.scales.into_keys().collect())
}

fn resolve_source(
    systems: &[SystemFile],
    source: &SourceText,
    scale: Scale,
    overrides: &[String],
) -> Result<Resolved, SystemError> {
    let Document { mut base, mut scales, .. } = with_base(systems, layer::read(source)?)?;
    let overridden = overrides.iter().map(|text| overrides::read(text)).collect::<Result<Layer, _>>()?;
    let missing = |keys| SystemError::MissingKeys { file: source.name().to_owned(), keys };

    // A scale or an override changes a machine; it does not complete one.
    let defaults = defaults(&base)?;
    complete(source, &merge([&defaults, &base]))?;
    for scaled in scales.values() {
        let mut lower = base.clone();
        kinds::give_way(&mut lower, scaled);
        kinds::check(&merge([&lower, scaled]))?;
    }
    let mut scaled = match scales.remove(&scale) {
        Some(scaled) => scaled,
        None if scales.is_empty() => return Err(missing(vec![join("scale", scale.name())])),
        None => return Err(no_such_scale(source, &base, scale, scales.keys())),
    };
    kinds::give_way(&mut base, &scaled);
    kinds::give_way(&mut base, &overridden);
    kinds::give_way(&mut scaled, &overridden);
    let merged = merge([&defaults, &base, &scaled, &overridden]);
    complete(source, &merged)?;

    let inconsistent = |message: String| SystemError::Inconsistent {
        file: source.name().to_owned(),
        message: message.trim().to_owned(),
    };
    let config: SystemConfig =
        kinds::nest(&merged).try_into().map_err(|error: toml::de::Error| inconsistent(error.to_string()))?;
    geometry::check(&config).map_err(|violation| impossible(violation, source, &merged))?;
    let (hash, text) = (hash(&merged), text(&merged));
    Ok(Resolved { config, scale, hash, text, defaults, base, scaled, overridden })
}

/// Lays layers over each other; later ones win.
fn merge<const N: usize>(layers: [&Layer; N]) -> Layer {
    layers.into_iter().flat_map(|layer| layer.clone()).collect()
}

/// Refuses a machine with keys of a choice that it does not make, or without keys of one that it makes.
fn complete(source: &SourceText, machine: &Layer) -> Result<(), SystemError> {
    kinds::check(machine)?;
    let keys = kinds::missing(machine);
    let Some(first) = keys.first() else { return Ok(()) };
    // The override that chose a kind, or began a table, and left the rest out.
    let table = first.rsplit_once('.').map_or("", |(table, _)| table);
    let is_beside = |key: &str| key.rsplit_once('.').is_some_and(|(other, _)| other == table);
    let overridden = machine.iter().find(|(key, leaf)| is_beside(key) && leaf.place.is_override());
    let file = overridden.map_or_else(|| source.name().to_owned(), |(_, leaf)| leaf.place.to_string());
    Err(SystemError::MissingKeys { file, keys })
}

/// Completes a file that has a base with what the base states. A system has a name and a title of its own, so these are
/// not inherited. A base describes a whole machine and has no base itself, so that whoever reads a system reads two
/// files at most.
fn with_base(systems: &[SystemFile], document: Document) -> Result<Document, SystemError> {
    let Some((given, place)) = document.extends.clone() else { return Ok(document) };
    let name = document.base.get("name").map(|leaf| leaf.scalar.clone());
    let is_own_name = |system: &str| name == Some(Scalar::Text(system.to_owned()));
    let refuse = |reason: &str| {
        let mut accepted = registry::possible_bases(systems);
        accepted.retain(|system| !is_own_name(system));
        SystemError::Base {
            place: Box::new(place),
            given: excerpt(&given),
            reason: reason.to_owned(),
            nearest: nearest(&given, accepted.iter().copied()),
            accepted,
        }
    };
    if is_own_name(&given) {
        return Err(refuse(", which is the name of this system itself"));
    }
    let Some(source) = registry::find(systems, &given) else { return Err(refuse(", which is no system")) };
    let mut whole = layer::read(&source)?;
    if let Some((further, _)) = &whole.extends {
        return Err(refuse(&format!(", which has the base `{further}` itself")));
    }
    ["name", "title"].iter().for_each(|key| {
        whole.base.remove(*key);
    });
    Ok(document.over(whole))
}

fn no_such_scale<'a>(
    source: &SourceText,
    base: &Layer,
    scale: Scale,
    scales: impl Iterator<Item = &'a Scale>,
) -> SystemError {
    let system = match base.get("name").map(|leaf| &leaf.scalar) {
        Some(Scalar::Text(name)) => excerpt(name),
        _ => String::new(),
    };
    let accepted = scales.map(|scale| scale.name()).collect();
    SystemError::NoSuchScale { file: source.name().to_owned(), system, given: scale.name(), accepted }
}

/// Defaults for the sections that a file leaves out. A file that speaks of GPUs and modules says itself where its
/// memory lies.
fn defaults(base: &Layer) -> Result<Layer, SystemError> {
    let section = |key: &str| key.split_once('.').map(|(section, _)| section.to_owned());
    let given = |name: &str| base.keys().any(|key| section(key).as_deref() == Some(name));
    let mut defaults = layer::read(&SourceText::new("defaults.toml", DEFAULTS))?.base;
    // A section is given as a whole or not at all.
    let left_out = |name: &str| !given(name) && (name != "memory" || !given("hierarchy"));
    defaults.retain(|key, _| section(key).is_some_and(|name| left_out(&name)));
    Ok(defaults)
}

/// The machine as TOML, in the order of the schema.
fn text(layer: &Layer) -> String {
    let (mut text, mut table) = (String::new(), "");
    let leaves = leaves();
    for (key, _) in &leaves {
        let Some(leaf) = layer.get(key) else { continue };
        let (above, name) = key.rsplit_once('.').unwrap_or(("", key));
        if above != table {
            text.push_str(&format!("\n[{above}]\n"));
            table = above;
        }
        text.push_str(&format!("{name} = {}\n", leaf.scalar));
    }
    text
}

/// The digest of all keys in sorted order with their values as TOML writes them.
fn hash(layer: &Layer) -> String {
    let mut canonical = String::new();
    for (key, leaf) in layer {
        canonical.push_str(&format!("{key} = {}\n", leaf.scalar));
    }
    Sha256::digest(canonical.as_bytes()).iter().take(HASH_BYTES).fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Points at the override that made the machine impossible where there is one, otherwise at the key.
fn impossible(violation: geometry::Violation, source: &SourceText, merged: &Layer) -> SystemError {
    let place_of = |key: &str| merged.get(key).map(|leaf| leaf.place.clone());
    let overridden = std::iter::once(violation.key.as_str())
        .chain(violation.depends_on.iter().copied())
        .filter_map(place_of)
        .find(Place::is_override);
    let place = overridden.or_else(|| place_of(&violation.key)).unwrap_or_else(|| Place::in_file(source, 0..0));
    SystemError::Geometry {
        place: Box::new(place),
        key: violation.key,
        given: violation.given,
        accepted: violation.accepted,
    }
}
