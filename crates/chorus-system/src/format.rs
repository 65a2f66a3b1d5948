//! The format of the TOML files that people write: systems, experiments, claims, validations and programs. A file may
//! state it with the key `format`. A file of another format is refused before its other keys are read, so that its
//! reader learns the reason, and not the first key that has changed.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use crate::place::excerpt;

/// The key by which a file states its format.
pub const FORMAT_KEY: &str = "format";

/// The format that this version reads. A file that states none has it.
pub const FORMAT_VERSION: u64 = 1;

/// Takes the statement of the format out of a file. If this version does not read that format, the result is the place
/// of the statement, and a sentence that says what to do.
pub fn take_format(root: &mut DeTable<'_>) -> Result<(), (Range<usize>, String)> {
    let Some(stated) = root.remove(FORMAT_KEY) else { return Ok(()) };
    let given = match stated.get_ref() {
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::String(text) => format!("\"{}\"", excerpt(text)),
        other => format!("a value of the type {}", other.type_str()),
    };
    if given.parse() == Ok(FORMAT_VERSION) {
        return Ok(());
    }
    let version = env!("CARGO_PKG_VERSION");
    let advice = format!(
        "key `{FORMAT_KEY}` is {given}; accepted: {FORMAT_VERSION}, the format of Chorus {version}; use the version of \
         Chorus that the file was written for, or bring its keys up to date as CHANGELOG.md says"
    );
    Err((stated.span(), advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Result<(), (Range<usize>, String)> {
        let mut root = DeTable::parse(text).unwrap();
        let taken = take_format(root.get_mut());
        assert!(!root.get_ref().contains_key(FORMAT_KEY));
        taken
    }

    #[test]
    fn the_format_of_this_version_may_be_stated() {
        assert_eq!((taken("a = 1"), taken("format = 1\na = 1")), (Ok(()), Ok(())));
    }

    #[test]
    fn another_format_is_refused_with_its_place_and_advice() {
        for (text, given) in [("a = 1\nformat = 2", "2"), ("format = \"new\"", "\"new\""), ("format = -1", "-1")] {
            let (span, message) = taken(text).unwrap_err();
            assert_eq!(text[span].trim_matches('"'), given.trim_matches('"'));
            assert!(message.starts_with(&format!("key `format` is {given}; accepted: 1, ")), "{message}");
        }
        assert!(taken("format = [1]").unwrap_err().1.contains("a value of the type array"));
    }
}
