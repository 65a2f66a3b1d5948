//! The shipped systems, and system files of one's own.

use std::fs::File;
use std::io::Read;

use crate::error::SystemError;
use crate::nearest::nearest;
use crate::place::{SourceText, excerpt, on_one_line};

/// A system that is part of Chorus. Its file is embedded, so it is found from any working directory.
#[derive(Clone, Copy, Debug)]
pub struct ShippedSystem {
    /// The name used on the command line.
    pub name: &'static str,
    /// The whole TOML file.
    pub text: &'static str,
}

/// Every shipped system; `systems/NAME.toml` is the file.
pub const SYSTEMS: &[ShippedSystem] = &[ShippedSystem { name: "tc", text: include_str!("../../../systems/tc.toml") }];

/// The largest system file that is read: far above any real one, and a bound where a device is named by mistake.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Finds a system by its name, or reads the file at a path: whatever ends in `.toml` or contains a separator.
/// What is found never depends on which files happen to lie in the working directory.
pub(crate) fn open(name_or_path: &str) -> Result<SourceText, SystemError> {
    if let Some(shipped) = SYSTEMS.iter().find(|shipped| shipped.name == name_or_path) {
        return Ok(SourceText::new(&format!("systems/{}.toml", shipped.name), shipped.text));
    }
    if name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\']) {
        return read(name_or_path);
    }
    let known: Vec<&str> = SYSTEMS.iter().map(|shipped| shipped.name).collect();
    Err(SystemError::UnknownSystem {
        given: excerpt(name_or_path),
        nearest: nearest(name_or_path, known.iter().copied()),
        known,
    })
}

fn read(path: &str) -> Result<SourceText, SystemError> {
    let unreadable = |reason: String| SystemError::UnreadableFile { path: on_one_line(path), reason };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string().to_lowercase()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unreadable(format!("it is larger than {FILE_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        unreadable(format!("it is not UTF-8 text (first bad byte at offset {})", error.utf8_error().valid_up_to()))
    })?;
    Ok(SourceText::new(path, &text))
}
