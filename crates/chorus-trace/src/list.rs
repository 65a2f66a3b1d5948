//! `kernelslist.g`: the commands of a traced program, in order.

use std::path::{Path, PathBuf};

use sha2::Sha256;

use crate::error::{TraceError, quote};
use crate::file::open_stream;
use crate::instruction::{ADDRESS_MAX, decimal, hexadecimal};
use crate::lines::Lines;

/// The name of the list within the directory of a trace.
pub(crate) const LIST: &str = "kernelslist.g";

/// A command of a traced program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// A copy to or from this range of addresses, which was therefore allocated.
    Copy { first: u64, bytes: u64, line: u64 },
    /// A launch, whose instructions are in this file.
    Kernel(PathBuf),
}

/// The commands of a trace, and what it is good to know about it.
pub(crate) struct List {
    pub commands: Vec<Command>,
    pub warnings: Vec<String>,
    pub digest: Sha256,
    /// The path of the list, as messages name it.
    pub path: PathBuf,
}

impl List {
    /// Reads the list of a trace: that of a directory, a list under another name, or a single kernel.
    pub(crate) fn read(given: &Path) -> Result<List, TraceError> {
        let path = if given.is_dir() { given.join(LIST) } else { given.to_path_buf() };
        if given.is_file() && check_name(&path).is_ok() {
            let commands = vec![Command::Kernel(path.clone())];
            return Ok(List { commands, warnings: Vec::new(), digest: Sha256::default(), path });
        }
        if !path.exists() {
            return Err(missing(given, &path));
        }
        let mut lines = Lines::new(open_stream(&path)?, path.display().to_string().into()).digested(Sha256::default());
        let folder = path.parent().unwrap_or(Path::new(""));
        let (mut commands, mut warnings) = (Vec::new(), Vec::new());
        while lines.advance()? {
            match command(lines.line(), folder, lines.place().1) {
                Ok(Some(command)) => commands.push(command),
                Ok(None) => warnings.push(lines.error(format!("{} is passed over", quote(lines.line()))).to_string()),
                Err(what) => return Err(lines.error(what)),
            }
        }
        Ok(List { commands, warnings, digest: lines.into_digest(), path })
    }
}

fn missing(given: &Path, path: &Path) -> TraceError {
    let hint = "\nhint: Accel-Sim's post-processor makes `kernelslist.g` and `.traceg` files of what its tracer writes";
    let is_raw = given.is_dir() && given.join("kernelslist").exists();
    TraceError::of_file(path.display(), format!("there is no such file{}", if is_raw { hint } else { "" }))
}

/// One line of the list; nothing for a line whose meaning is unknown.
fn command(line: &[u8], folder: &Path, number: u64) -> Result<Option<Command>, String> {
    if line.starts_with(b"Memcpy") {
        let copied = copy(line, number).map(Some);
        return if line.starts_with(b"MemcpyHtoD") { copied } else { Ok(copied.unwrap_or(None)) };
    }
    let Ok(name) = std::str::from_utf8(line) else { return Ok(None) };
    if !name.contains("kernel") && !name.contains(".trace") {
        return Ok(None);
    }
    let path = folder.join(name);
    check_name(&path)?;
    if !path.is_file() {
        return Err(format!("there is no file {}", path.display()));
    }
    Ok(Some(Command::Kernel(path)))
}

/// Refuses kernel files of other formats by their names.
fn check_name(path: &Path) -> Result<(), String> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.ends_with(".traceg") || name.ends_with(".traceg.xz") {
        return Ok(());
    }
    let why = if name.contains(".tracez") {
        "the compact format `.tracez` is not read"
    } else if name.ends_with(".trace") || name.ends_with(".trace.xz") {
        "a `.trace` has not been through Accel-Sim's post-processor, which makes a `.traceg` of it"
    } else {
        "this is no kernel of a trace"
    };
    Err(format!("{name}: {why}; accepted: `.traceg` and `.traceg.xz`"))
}

/// A line such as `MemcpyHtoD,0x00007fb0fc400000,200000`.
fn copy(line: &[u8], number: u64) -> Result<Command, String> {
    let mut parts = line.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).skip(1);
    let first = parts.next().and_then(hexadecimal);
    let bytes = parts.next().and_then(decimal);
    match (first, bytes) {
        (Some(first), Some(bytes)) if first.checked_add(bytes).is_some_and(|end| end <= ADDRESS_MAX) => {
            Ok(Command::Copy { first, bytes, line: number })
        }
        _ => Err(format!("found {}; accepted: a copy such as `MemcpyHtoD,0x7fb0fc400000,200000`", quote(line))),
    }
}
