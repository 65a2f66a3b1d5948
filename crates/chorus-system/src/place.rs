//! Places at which keys are written: a position in a system file, or an override.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The longest piece of a user's text that is repeated in a message.
const EXCERPT_CHARS_MAX: usize = 60;

/// A file with the name that messages give it. Clones share the text.
#[derive(Clone, Debug)]
pub struct SourceText(Arc<Named>);

#[derive(Debug)]
struct Named {
    name: String,
    text: String,
}

impl SourceText {
    /// A text and the name of its file.
    pub fn new(name: &str, text: &str) -> Self {
        SourceText(Arc::new(Named { name: on_one_line(name), text: text.to_owned() }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    pub(crate) fn text(&self) -> &str {
        &self.0.text
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
    /// A piece of a file, in bytes.
    pub fn in_file(source: &SourceText, span: Range<usize>) -> Self {
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

    /// The line of the file, with its number, and a second line that underlines the place.
    pub fn excerpt(&self) -> Option<String> {
        let Written::File { source, span } = &self.0 else { return None };
        let (number, column) = self.line_and_column()?;
        let line = source.text().lines().nth(number - 1)?;
        // The text before the mark and under it is counted in characters, because a terminal shows characters.
        let marked = source.text().get(span.clone())?.lines().next().map_or(0, |marked| marked.chars().count());
        let number = number.to_string();
        let (margin, indent, mark) = (" ".repeat(number.len()), " ".repeat(column - 1), "^".repeat(marked.max(1)));
        Some(format!(" {number} | {line}\n {margin} | {indent}{mark}\n"))
    }

    /// The text that follows `# source:` on the line on which the value ends.
    pub(crate) fn source_comment(&self) -> Option<String> {
        let Written::File { source, span } = &self.0 else { return None };
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
