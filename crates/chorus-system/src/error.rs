//! Errors in systems: each says what is wrong and where.
//!
//! The text of each error is complete on its own: place, key, what was given, what is accepted and, where one is close,
//! the name that was probably meant. Its place ([`SystemError::place`]) can show the line of the file as well.

use std::fmt;

use crate::place::Place;
use crate::schema::quoted;

/// The reason why a system could not be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SystemError {
    /// A name that no known system has and that is no path.
    #[error("unknown system `{given}`{} known: {}; or the path of a file that ends in .toml", DidYouMean(.nearest), quoted(.known))]
    UnknownSystem {
        /// The text that was given.
        given: String,
        /// The names of the known systems.
        known: Vec<&'static str>,
        /// The nearest of these names.
        nearest: Option<String>,
    },
    /// A scale that does not exist.
    #[error("unknown scale `{given}`{} accepted: {}", DidYouMean(.nearest), quoted(.accepted))]
    UnknownScale {
        /// The text that was given.
        given: String,
        /// The names of the scales.
        accepted: Vec<&'static str>,
        /// The nearest of these names.
        nearest: Option<String>,
    },
    /// A scale that the system does not have.
    #[error("{file}: system `{system}` has no scale `{given}`; it has: {}", quoted(.accepted))]
    NoSuchScale {
        /// The name of the system file.
        file: String,
        /// The name that the system gives itself.
        system: String,
        /// The scale that was asked for.
        given: &'static str,
        /// The scales that the file has.
        accepted: Vec<&'static str>,
    },
    /// A system file that cannot be opened, is too large or is not text.
    #[error("cannot read system file {path}: {reason}")]
    UnreadableFile {
        /// The path as given.
        path: String,
        /// The reason, in words.
        reason: String,
    },
    /// A file of a format that this version does not read.
    #[error("{place}: {advice}")]
    OtherFormat {
        /// The place at which the format is stated.
        place: Box<Place>,
        /// The format, the one that is read, and what to do.
        advice: String,
    },
    /// Text that is not TOML.
    #[error("{place}: not valid TOML: {message}")]
    Syntax {
        /// The place at which the parser stopped.
        place: Box<Place>,
        /// The message of the parser.
        message: String,
    },
    /// A key that the schema does not have.
    #[error("{place}: unknown key `{key}`{} accepted{}: {}", DidYouMean(.nearest), In(.table), quoted(.accepted))]
    UnknownKey {
        /// The place at which the key was written.
        place: Box<Place>,
        /// The whole dotted key.
        key: String,
        /// The table that does not have it; empty for the top level.
        table: String,
        /// The keys of that table.
        accepted: Vec<&'static str>,
        /// The nearest valid key.
        nearest: Option<String>,
    },
    /// A key that its table has only where another choice is made.
    #[error("{place}: key `{key}` belongs to {}; here `{decision}` is `{chosen}`, {}", Owners(.decision, .owners), Brings(.accepted))]
    KeyOfAnotherKind {
        /// The place at which the value was written.
        place: Box<Place>,
        /// The whole dotted key.
        key: String,
        /// The dotted key whose value decides.
        decision: &'static str,
        /// The values of that key with which the table has the key.
        owners: Vec<&'static str>,
        /// The value of that key.
        chosen: &'static str,
        /// The keys that this value brings.
        accepted: Vec<&'static str>,
    },
    /// A value whose kind is not the one that its key takes.
    #[error("{place}: key `{key}` is given as {given}{} expected {expected}", DidYouMean(.nearest))]
    WrongType {
        /// The place at which the value was written.
        place: Box<Place>,
        /// The whole dotted key.
        key: String,
        /// The value as written.
        given: String,
        /// The values that the key takes, in words.
        expected: String,
        /// The nearest valid name, where the key takes names.
        nearest: Option<String>,
    },
    /// A base that a system cannot have.
    #[error("{place}: key `base` is `{given}`{reason}{} accepted: {}", DidYouMean(.nearest), quoted(.accepted))]
    Base {
        /// The place at which the base was written.
        place: Box<Place>,
        /// The text that was given.
        given: String,
        /// Why it is refused.
        reason: String,
        /// The systems whose files describe a whole machine.
        accepted: Vec<&'static str>,
        /// The nearest of these names.
        nearest: Option<String>,
    },
    /// Keys that the file or the override lacks.
    #[error("{file}: missing {} {}", if .keys.len() == 1 { "key" } else { "keys" }, quoted(.keys))]
    MissingKeys {
        /// The name of the system file, or the override that makes the keys necessary.
        file: String,
        /// The dotted keys, in the order of the schema.
        keys: Vec<String>,
    },
    /// An override that is not `key=value`.
    #[error("--set {text}: expected KEY=VALUE, for example l1.size_bytes=65536")]
    MalformedOverride {
        /// The text that was given.
        text: String,
    },
    /// A value that makes no machine.
    #[error("{place}: key `{key}` is {given}; accepted: {accepted}")]
    Geometry {
        /// The place at which the value was written, or the override that made it impossible.
        place: Box<Place>,
        /// The whole dotted key.
        key: String,
        /// The value of the key.
        given: String,
        /// The values that are accepted, given the values of other keys.
        accepted: String,
    },
    /// Checked values that the typed configuration still refuses: a defect of this crate, reported without a panic.
    #[error("{file}: the resolved configuration is not a system: {message}")]
    Inconsistent {
        /// The name of the system file.
        file: String,
        /// The message of the deserialiser.
        message: String,
    },
}

impl SystemError {
    /// The place at which the mistake was written. Errors about names and whole files have none.
    pub fn place(&self) -> Option<&Place> {
        match self {
            SystemError::OtherFormat { place, .. }
            | SystemError::Syntax { place, .. }
            | SystemError::UnknownKey { place, .. }
            | SystemError::KeyOfAnotherKind { place, .. }
            | SystemError::WrongType { place, .. }
            | SystemError::Base { place, .. }
            | SystemError::Geometry { place, .. } => Some(place),
            SystemError::UnknownSystem { .. }
            | SystemError::UnknownScale { .. }
            | SystemError::NoSuchScale { .. }
            | SystemError::UnreadableFile { .. }
            | SystemError::MissingKeys { .. }
            | SystemError::MalformedOverride { .. }
            | SystemError::Inconsistent { .. } => None,
        }
    }
}

/// The part of a message between what was given and what is accepted. The name that was probably meant comes here,
/// before a list of accepted names that may be long.
struct DidYouMean<'a>(&'a Option<String>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => f.write_str(";"),
        }
    }
}

/// The table of a key, where it is not the top level.
struct In<'a>(&'a str);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " in [{}]", self.0) }
    }
}

/// The choices to which a key belongs: the key that decides, and the values that bring it.
struct Owners<'a>(&'a str, &'a [&'static str]);

impl fmt::Display for Owners<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choices: Vec<String> = self.1.iter().map(|name| format!("`{} = \"{name}\"`", self.0)).collect();
        f.write_str(&choices.join(" or "))
    }
}

/// The keys that a choice brings into its table.
struct Brings<'a>(&'a [&'static str]);

impl fmt::Display for Brings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            f.write_str("which has no keys of its own")
        } else {
            write!(f, "whose keys are {}", quoted(self.0))
        }
    }
}
