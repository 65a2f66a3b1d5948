//! TOML files with positions, and messages about mistakes in them.
//!
//! A mistake is reported with file, line, column and key, with what was given, the nearest valid name and what is
//! accepted. The accepted keys are read from the message of the typed deserialiser, so that the types stay the only
//! declaration of the keys.

use std::fmt;
use std::ops::{Deref, Range};

pub(crate) use chorus_registry::wording::{did_you_mean, excerpt, nearest, question, quoted, suggest_known};
use chorus_system::{Place, SourceText, take_format};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::DeTable;

/// Why an experiment or claims file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// A name that is neither that of a shipped paper nor a path.
    #[error("unknown paper `{given}`{}; or the path of an experiment file that ends in .toml", suggest_known("paper", .nearest, .known))]
    UnknownPaper {
        /// The name as it was given.
        given: String,
        /// The names of all shipped papers.
        known: Vec<String>,
        /// The shipped paper whose name is nearest.
        nearest: Option<String>,
    },
    /// A file that cannot be opened, is too large or is not text.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// The path as given.
        path: String,
        /// The reason as the system gives it.
        reason: String,
    },
    /// A mistake at a place in a file.
    #[error(transparent)]
    Mistake(Box<Mistake>),
}

impl DocumentError {
    /// The place at which the mistake was written. Errors about names and whole files have none.
    pub fn place(&self) -> Option<&Place> {
        match self {
            DocumentError::Mistake(mistake) => Some(&mistake.place),
            DocumentError::UnknownPaper { .. } | DocumentError::Unreadable { .. } => None,
        }
    }
}

/// A mistake and where it was written. Displays as `FILE:LINE:COLUMN: MESSAGE`.
#[derive(Debug)]
pub struct Mistake {
    place: Place,
    message: String,
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// A file's name in messages and its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Document<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Document<'_> {
    /// Reads the whole file as a value of one type.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, DocumentError> {
        let explain = |error: toml::de::Error| self.explain(error.message(), error.span().unwrap_or(0..0));
        let mut root = DeTable::parse(self.text).map_err(explain)?;
        take_format(root.get_mut()).map_err(|(span, advice)| self.mistake(span, advice))?;
        T::deserialize(toml::Deserializer::from(root)).map_err(explain)
    }

    /// A mistake at a place.
    pub(crate) fn mistake(&self, span: Range<usize>, message: impl Into<String>) -> DocumentError {
        DocumentError::Mistake(Box::new(Mistake {
            place: Place::in_file(&SourceText::new(self.name, self.text), span),
            message: message.into(),
        }))
    }

    /// Refuses a name that is not one of those known.
    pub(crate) fn check_known<S: AsRef<str>>(&self, what: &str, name: &Name, known: &[S]) -> Result<(), DocumentError> {
        if known.iter().any(|known| known.as_ref() == &**name) {
            return Ok(());
        }
        let key = self.key_at(&name.span()).map_or_else(String::new, |key| format!("key `{key}`: "));
        let known = suggest_known(what, &nearest(name, known), known);
        let message = format!("{key}unknown {what} `{}`{known}", excerpt(name));
        Err(self.mistake(name.span(), message))
    }

    /// Refuses a name that stands twice in a list.
    pub(crate) fn check_unique<'n>(
        &self,
        what: &str,
        names: impl IntoIterator<Item = &'n Name>,
    ) -> Result<(), DocumentError> {
        let mut seen: Vec<&str> = Vec::new();
        for name in names {
            if seen.contains(&&**name) {
                return Err(self.mistake(name.span(), format!("{what} `{}` is given twice", excerpt(name))));
            }
            seen.push(name);
        }
        Ok(())
    }

    /// The words of the deserialiser in the order of this crate's messages.
    fn explain(&self, message: &str, span: Range<usize>) -> DocumentError {
        let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let explained = match (message.split_once('`').map(|(start, _)| start.trim()), names.as_slice()) {
            (Some("unknown field"), [given, accepted @ ..]) => {
                format!("unknown key `{}`{}", excerpt(given), suggest_accepted(given, accepted))
            }
            (Some("unknown variant"), [given, accepted @ ..]) => {
                let key = self.key_at(&span).unwrap_or_default();
                format!("key `{key}` is `{}`{}", excerpt(given), suggest_accepted(given, accepted))
            }
            (Some("missing field"), [key]) => format!("missing key `{key}`"),
            _ => match self.key_at(&span) {
                Some(key) => format!("key `{key}`: {}", message.replace('\n', ", ")),
                None => format!("not valid TOML: {}", message.replace('\n', ", ")),
            },
        };
        self.mistake(span, explained)
    }

    /// The key whose value contains a place: the last one that is assigned before it.
    fn key_at(&self, span: &Range<usize>) -> Option<&str> {
        let before = self.text.get(..span.start)?;
        let lines = before.lines().rev();
        let assigned = lines.map(|line| line.rsplit_once('=').map(|(before, _)| before)).find_map(|found| found)?;
        let key = assigned.rsplit(['{', ',', '[', ' ']).find(|word| !word.is_empty())?;
        Some(key)
    }
}

/// A string of a file that remembers where it was written.
#[derive(Clone, Debug)]
pub struct Name(Spanned<String>);

impl Name {
    /// The bytes of the file that hold it.
    pub(crate) fn span(&self) -> Range<usize> {
        self.0.span()
    }

    /// Another text at the same place.
    pub(crate) fn renamed(&self, text: String) -> Name {
        Name(Spanned::new(self.span(), text))
    }

    /// A copy that messages place elsewhere.
    pub(crate) fn at(&self, span: Range<usize>) -> Name {
        Name(Spanned::new(span, self.to_string()))
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.get_ref()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Spanned::deserialize(deserializer).map(Name)
    }
}

/// The text of the file at a path.
pub(crate) fn read_file(path: &str) -> Result<String, DocumentError> {
    chorus_system::read_text(path).map_err(|reason| DocumentError::Unreadable { path: path.to_owned(), reason })
}

/// The end of a message about a key or a value that is not accepted: the nearest one, then all that are accepted.
fn suggest_accepted(given: &str, accepted: &[&str]) -> String {
    format!("{} accepted: {}", question(&nearest(given, accepted)), quoted(accepted))
}
