//! The shipped systems, and system files of one's own.

use crate::error::SystemError;
use crate::layer;
use crate::nearest::nearest;
use crate::place::{SourceText, excerpt, on_one_line};
use crate::text_file::read_text;

/// A system that is part of Chorus. Its file is embedded, so it is found from any working directory.
#[derive(Clone, Copy, Debug)]
pub struct ShippedSystem {
    /// The name used on the command line.
    pub name: &'static str,
    /// The whole TOML file.
    pub text: &'static str,
}

/// Every shipped system; `systems/NAME.toml` is the file.
pub const SYSTEMS: &[ShippedSystem] = &[
    ShippedSystem { name: "tc", text: include_str!("../../../systems/tc.toml") },
    ShippedSystem { name: "hmg", text: include_str!("../../../systems/hmg.toml") },
    ShippedSystem { name: "rec", text: include_str!("../../../systems/rec.toml") },
    ShippedSystem { name: "rec-8gpu", text: include_str!("../../../systems/rec-8gpu.toml") },
    ShippedSystem { name: "rec-16gpu", text: include_str!("../../../systems/rec-16gpu.toml") },
    ShippedSystem { name: "rec-nvidia", text: include_str!("../../../systems/rec-nvidia.toml") },
    ShippedSystem { name: "cpelide", text: include_str!("../../../systems/cpelide.toml") },
    ShippedSystem { name: "cpelide-2", text: include_str!("../../../systems/cpelide-2.toml") },
    ShippedSystem { name: "cpelide-6", text: include_str!("../../../systems/cpelide-6.toml") },
    ShippedSystem { name: "cpelide-7", text: include_str!("../../../systems/cpelide-7.toml") },
    ShippedSystem { name: "cpelide-8", text: include_str!("../../../systems/cpelide-8.toml") },
    ShippedSystem { name: "cpelide-16", text: include_str!("../../../systems/cpelide-16.toml") },
    ShippedSystem { name: "cpelide-mono", text: include_str!("../../../systems/cpelide-mono.toml") },
    ShippedSystem { name: "spandex", text: include_str!("../../../systems/spandex.toml") },
    ShippedSystem { name: "spandex-hier", text: include_str!("../../../systems/spandex-hier.toml") },
];

/// The file of a shipped system.
pub(crate) fn find(name: &str) -> Option<SourceText> {
    let shipped = SYSTEMS.iter().find(|shipped| shipped.name == name)?;
    Some(SourceText::new(&format!("systems/{}.toml", shipped.name), shipped.text))
}

/// The shipped systems whose files describe all of their machine, and that others may therefore be based on.
pub(crate) fn wholes() -> Vec<&'static str> {
    let names = SYSTEMS.iter().map(|shipped| shipped.name);
    let is_whole =
        |name: &&str| find(name).and_then(|source| layer::read(&source).ok()).is_some_and(|it| it.extends.is_none());
    names.filter(is_whole).collect()
}

/// Finds a system by its name, or reads the file at a path: whatever ends in `.toml` or contains a separator.
/// What is found never depends on which files happen to lie in the working directory.
pub(crate) fn open(name_or_path: &str) -> Result<SourceText, SystemError> {
    if let Some(shipped) = find(name_or_path) {
        return Ok(shipped);
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
    let text = read_text(path).map_err(|reason| SystemError::UnreadableFile { path: on_one_line(path), reason })?;
    Ok(SourceText::new(path, &text))
}
