//! Systems by name: the shipped ones, those that a user adds, and system files on disk.

use crate::error::SystemError;
use crate::layer::{self, Scalar};
use crate::nearest::nearest;
use crate::place::{SourceText, excerpt, on_one_line};
use crate::text_file::read_text;

/// A system that can be named on the command line and as the `base` of other systems. Its file is embedded in the
/// program, so the system is found from any working directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemFile {
    /// The name of the system. It is the `name` that the file states.
    pub name: &'static str,
    /// The path of the file, as messages show it.
    pub file: &'static str,
    /// The whole TOML file.
    pub text: &'static str,
}

impl SystemFile {
    /// A system with the name that its file states. Only the file's syntax and keys are checked here, since a `base` is
    /// not yet known.
    pub fn new(file: &'static str, text: &'static str) -> Result<SystemFile, SystemError> {
        let document = layer::read(&SourceText::new(file, text))?;
        match document.base.get("name").map(|leaf| &leaf.scalar) {
            // The name lives as long as the program does, like the text that it is read from.
            Some(Scalar::Text(name)) => Ok(SystemFile { name: name.clone().leak(), file, text }),
            _ => Err(SystemError::MissingKeys { file: on_one_line(file), keys: vec!["name".to_owned()] }),
        }
    }

    fn source(&self) -> SourceText {
        SourceText::new(self.file, self.text)
    }
}

/// The systems that are part of Chorus; `systems/NAME.toml` is the file of each.
pub static SYSTEMS: &[SystemFile] = &[
    SystemFile { name: "tc", file: "systems/tc.toml", text: include_str!("../systems/tc.toml") },
    SystemFile { name: "hmg", file: "systems/hmg.toml", text: include_str!("../systems/hmg.toml") },
    SystemFile { name: "rec", file: "systems/rec.toml", text: include_str!("../systems/rec.toml") },
    SystemFile { name: "rec-8gpu", file: "systems/rec-8gpu.toml", text: include_str!("../systems/rec-8gpu.toml") },
    SystemFile { name: "rec-16gpu", file: "systems/rec-16gpu.toml", text: include_str!("../systems/rec-16gpu.toml") },
    SystemFile { name: "rec-64gpu", file: "systems/rec-64gpu.toml", text: include_str!("../systems/rec-64gpu.toml") },
    SystemFile {
        name: "rec-nvidia",
        file: "systems/rec-nvidia.toml",
        text: include_str!("../systems/rec-nvidia.toml"),
    },
    SystemFile { name: "cpelide", file: "systems/cpelide.toml", text: include_str!("../systems/cpelide.toml") },
    SystemFile { name: "cpelide-2", file: "systems/cpelide-2.toml", text: include_str!("../systems/cpelide-2.toml") },
    SystemFile { name: "cpelide-6", file: "systems/cpelide-6.toml", text: include_str!("../systems/cpelide-6.toml") },
    SystemFile { name: "cpelide-7", file: "systems/cpelide-7.toml", text: include_str!("../systems/cpelide-7.toml") },
    SystemFile { name: "cpelide-8", file: "systems/cpelide-8.toml", text: include_str!("../systems/cpelide-8.toml") },
    SystemFile {
        name: "cpelide-16",
        file: "systems/cpelide-16.toml",
        text: include_str!("../systems/cpelide-16.toml"),
    },
    SystemFile {
        name: "cpelide-mono",
        file: "systems/cpelide-mono.toml",
        text: include_str!("../systems/cpelide-mono.toml"),
    },
    SystemFile { name: "spandex", file: "systems/spandex.toml", text: include_str!("../systems/spandex.toml") },
    SystemFile {
        name: "spandex-hier",
        file: "systems/spandex-hier.toml",
        text: include_str!("../systems/spandex-hier.toml"),
    },
    SystemFile { name: "h200", file: "systems/h200.toml", text: include_str!("../systems/h200.toml") },
];

/// The file of the system with this name.
pub(crate) fn find(systems: &[SystemFile], name: &str) -> Option<SourceText> {
    systems.iter().find(|system| system.name == name).map(SystemFile::source)
}

/// The names of the systems whose files describe a whole machine. Only these may be the base of another system.
pub(crate) fn possible_bases(systems: &[SystemFile]) -> Vec<&'static str> {
    let is_whole =
        |system: &&SystemFile| layer::read(&system.source()).is_ok_and(|document| document.extends.is_none());
    systems.iter().filter(is_whole).map(|system| system.name).collect()
}

/// Whether a text is the path of a file and not a name. A path is whatever ends in `.toml` or contains a separator, so
/// the answer never depends on which files happen to lie in the working directory.
pub fn is_path(name_or_path: &str) -> bool {
    name_or_path.ends_with(".toml") || name_or_path.contains(['/', '\\'])
}

/// Finds a system by its name, or reads the file at a path.
pub(crate) fn open(systems: &[SystemFile], name_or_path: &str) -> Result<SourceText, SystemError> {
    if let Some(source) = find(systems, name_or_path) {
        return Ok(source);
    }
    if is_path(name_or_path) {
        return read(name_or_path);
    }
    let known: Vec<&str> = systems.iter().map(|system| system.name).collect();
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
