//! `chorus new`: writes a crate of the user's own that builds on Chorus.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::failure::{Failure, Verdict};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus new my-lab                                     then: cd my-lab && cargo run --release -- check mine --smoke
  chorus new my-lab --chorus '{ git = \"URL\" }'          a dependency other than the sources that this binary was built from";

/// The source tree that this binary was built from. Crates on the same machine can depend on it.
const SOURCES: &str = env!("CARGO_MANIFEST_DIR");

/// The files of the template: their paths in the new crate, and their texts.
const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("../../template/Cargo.toml.in")),
    (".gitignore", include_str!("../../template/gitignore")),
    ("README.md", include_str!("../../template/README.md")),
    ("src/main.rs", include_str!("../../template/src/main.rs")),
    ("src/lib.rs", include_str!("../../template/src/lib.rs")),
    ("src/kernel.rs", include_str!("../../template/src/kernel.rs")),
    ("src/protocol.rs", include_str!("../../template/src/protocol.rs")),
    ("systems/mine.toml", include_str!("../../template/systems/mine.toml")),
    ("experiments/mine.toml", include_str!("../../template/experiments/mine.toml")),
    ("litmus/mine.litmus", include_str!("../../template/litmus/mine.litmus")),
];

/// The test of the template: its path in the new crate, and its text.
const TEST: (&str, &str) = ("tests/mine.rs", include_str!("../../template/tests/mine.rs"));

/// Arguments of `chorus new`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Directory to write. It must be new or empty. Its name becomes the name of the crate.
    directory: PathBuf,
    /// Dependency on Chorus, as Cargo.toml has it after `chorus = `. By default the sources that this binary was built
    /// from.
    #[arg(long, value_name = "DEPENDENCY")]
    chorus: Option<String>,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let directory = &arguments.directory;
    let name = crate_name(directory)?;
    refuse_contents(directory)?;
    let dependency = arguments.chorus.clone().unwrap_or_else(dependency);
    let fill = |text: &str| {
        text.replace("{{crate}}", &name)
            .replace("{{module}}", &name.replace('-', "_"))
            .replace("{{chorus}}", &dependency)
    };
    for (path, text) in FILES.into_iter().chain([TEST]) {
        let path = directory.join(path);
        let folder = path.parent().unwrap_or(directory);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, fill(text)))
            .map_err(|error| failed(&path, &error))?;
    }
    let shown = directory.display();
    session
        .output
        .line(&format!("{shown}: a crate with a protocol, a kernel, a system, an experiment and a litmus test"))?;
    session.output.line(&format!("next:  cd {shown} && cargo run --release -- check mine --smoke"))?;
    Ok(Verdict::Good)
}

/// The name of the crate, made from the name of its directory.
fn crate_name(directory: &Path) -> Result<String, Failure> {
    let given = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let starts_well = given.starts_with(|c: char| c.is_ascii_lowercase());
    if starts_well && given.chars().all(is_good) && given != "chorus" {
        return Ok(given.to_owned());
    }
    Err(Failure::bad_input(format!(
        "`{}` cannot be the name of a crate; accepted: lower-case letters, digits, `-` and `_`, a letter first, and not `chorus`",
        directory.display()
    )))
}

/// Refuses a directory that has contents, so that nothing is lost.
fn refuse_contents(directory: &Path) -> Result<(), Failure> {
    match fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Failure::bad_input(format!(
                "{} is not empty; nothing was written\nhint: choose a new directory",
                directory.display()
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(directory, &error)),
    }
}

/// A dependency on the sources of this binary if they still exist, otherwise on the published version.
fn dependency() -> String {
    match Path::new(SOURCES).join("Cargo.toml").is_file() {
        true => format!("{{ path = {SOURCES:?} }}"),
        false => format!("{:?}", env!("CARGO_PKG_VERSION")),
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::bad_input(format!("cannot write {}: {}", path.display(), error.to_string().to_lowercase()))
}
