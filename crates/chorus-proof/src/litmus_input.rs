//! The litmus tests that somebody asks for: tests of a registry by name, or tests in files and folders.

use std::fs;
use std::path::{Path, PathBuf};

use chorus_lab::message;
use chorus_litmus::error::LitmusError;
use chorus_litmus::parse::{Parsed, parse_all};
use chorus_registry::{Registry, unknown};
use chorus_verify::litmus::SuiteTest;
use serde_json::{Value, json};

/// The litmus tests that somebody asks for.
#[derive(Debug, Default)]
pub struct LitmusInput {
    /// The tests to run.
    pub tests: Vec<SuiteTest>,
    /// The tests that need something that Chorus does not model: name and reason.
    pub unsupported: Vec<(String, String)>,
    /// The files that cannot be used. The tests of the others are run all the same.
    pub bad_files: Vec<BadFile>,
}

/// A file that holds no litmus tests, or a mistake.
#[derive(Debug)]
pub struct BadFile {
    path: PathBuf,
    /// The line of the mistake, where the file could be read.
    line: Option<usize>,
    /// The message for people.
    pub message: String,
}

impl BadFile {
    /// The file as JSON.
    pub fn to_json(&self) -> Value {
        let (what, _) = message::split(&self.message);
        json!({ "file": self.path.display().to_string(), "line": self.line, "error": what.join("\n") })
    }
}

/// The extension of files with litmus tests.
const ENDING: &str = "litmus";

/// The tests that `names` means: names in the registry, files and folders. If there are no names, the tests are `all`.
/// Files that
/// cannot be used are kept apart. If nothing else is left, the message of the last one is the error.
pub fn read(registry: &Registry, names: &[String], all: Vec<SuiteTest>) -> Result<LitmusInput, String> {
    if names.is_empty() {
        return Ok(LitmusInput { tests: all, ..LitmusInput::default() });
    }
    let own = registry.litmus_tests();
    let known: Vec<&str> = own.iter().map(SuiteTest::name).collect();
    let mut input = LitmusInput::default();
    for name in names {
        let path = Path::new(name);
        let is_path = path.extension().is_some_and(|ending| ending == ENDING) || name.contains('/') || path.is_dir();
        if is_path {
            files(path)?.iter().for_each(|file| input.add_file(file));
        } else {
            let found = own.iter().find(|test| test.name().eq_ignore_ascii_case(name)).cloned();
            let hint = "\nhint: files end in .litmus, folders hold such files";
            let missing = || unknown("litmus test", name, &known) + hint;
            input.tests.push(found.ok_or_else(missing)?);
        }
    }
    let is_of_use = !input.tests.is_empty() || !input.unsupported.is_empty();
    let last = if is_of_use { None } else { input.bad_files.pop() };
    last.map_or(Ok(input), |bad| Err(bad.message))
}

impl LitmusInput {
    fn add_file(&mut self, path: &Path) {
        let bad = |line, message| BadFile { path: path.to_owned(), line, message };
        let mistake = |error: LitmusError| bad(Some(error.position.line), error.render(&path.display().to_string()));
        let text = fs::read_to_string(path).map_err(|error| bad(None, unreadable(path, &error)));
        match text.and_then(|text| parse_all(&text).map_err(mistake)) {
            Ok(parsed) => parsed.into_iter().for_each(|parsed| self.add(parsed)),
            Err(bad) => self.bad_files.push(bad),
        }
    }

    fn add(&mut self, parsed: Parsed) {
        match parsed {
            Parsed::Test(test) => self.tests.push(SuiteTest::new(test)),
            Parsed::Unsupported { name, reason } => self.unsupported.push((name, reason)),
        }
    }

    /// The unsupported tests as JSON.
    pub fn unsupported_json(&self) -> Vec<Value> {
        self.unsupported.iter().map(|(name, reason)| json!({ "name": name, "reason": reason })).collect()
    }
}

/// The files that a path means: the file itself, or all files of a folder and its subfolders, ordered by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut found, mut folders) = (Vec::new(), vec![path.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&folder, &error))?;
            let path = entry.path();
            // Symbolic links are not followed, because they may lead back to a parent.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == ENDING) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!("{} holds no file that ends in .{ENDING}", path.display()));
    }
    Ok(found)
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {}", path.display(), error.to_string().to_lowercase())
}
