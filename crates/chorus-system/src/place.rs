//! Places at which keys are written: a position in a system file, or an override.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::NamedSource;

/// The longest piece of a user's text that is repeated in a message.
const EXCERPT_CHARS_MAX: usize = 60;

/// A system file with the name that messages give it. Clones share the text.
#[derive(Clone, Debug)]
pub(crate) struct SourceText(Arc<NamedSource<String>>);

impl SourceText {
    pub(crate) fn new(name: &str, text: &str) -> Self {
        SourceText(Arc::new(NamedSource::new(on_one_line(name), text.to_owned())))
    }

    pub(crate) fn name(&self) -> &str {
        self.0.name()
    }

    pub(crate) fn text(&self) -> &str {
        self.0.inner()
    }

    /// The text and its name, as miette draws them.
    pub(crate) fn named(&self) -> &NamedSource<String> {
        &self.0
    }
}

/// The place at which a key was written. It displays as `FILE:LINE:COLUMN` or as `--set KEY=VALUE`.
#[derive(Clone, Debug)]
pub struct Place(Written);

#[derive(Clone, Debug)]
enum Written {
    File { source: SourceText, span: Range<usize> },
    Override(String),
}

impl Place {
    pub(crate) fn in_file(source: &SourceText, span: Range<usize>) -> Self {
        Place(Written::File { source: source.clone(), span })
    }

    pub(crate) fn in_override(text: &str) -> Self {
        Place(Written::Override(text.to_owned()))
    }

    /// Whether the key was written with `--set`.
    pub fn is_override(&self) -> bool {
        matches!(self.0, Written::Override(_))
    }

    /// The line and column in the file, both counted from 1 and the column in characters.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let Written::File { source, span } = &self.0 else { return None };
        let before = source.text().get(..span.start).unwrap_or(source.text());
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }

    /// The file and the bytes of it that are meant.
    pub(crate) fn source_and_span(&self) -> Option<(&SourceText, Range<usize>)> {
        match &self.0 {
            Written::File { source, span } => Some((source, span.clone())),
            Written::Override(_) => None,
        }
    }

    /// The text that follows `# source:` on the line on which the value ends.
    pub(crate) fn source_comment(&self) -> Option<String> {
        let (source, span) = self.source_and_span()?;
        let rest_of_line = source.text().get(span.end..)?.lines().next()?;
        let (_, comment) = rest_of_line.split_once("# source:")?;
        Some(comment.trim().to_owned()).filter(|comment| !comment.is_empty())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.0, self.line_and_column()) {
            (Written::File { source, .. }, Some((line, column))) => write!(f, "{}:{line}:{column}", source.name()),
            (Written::File { source, .. }, None) => f.write_str(source.name()),
            (Written::Override(text), _) => write!(f, "--set {}", excerpt(text)),
        }
    }
}

/// The start of a user's text, fit for one line of a message; an ellipsis stands for the rest.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", on_one_line(&text[..end])),
        None => on_one_line(text),
    }
}

/// A user's text with its control characters escaped.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}
