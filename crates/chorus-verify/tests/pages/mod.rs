//! Pages of the documentation, and the blocks in them that are generated.
//!
//! A block lies between the lines `<!-- generated: NAME -->` and `<!-- end -->`. A page that differs from what is
//! generated fails its test. `CHORUS_UPDATE_DOCS=1` in the environment rewrites the pages instead; parts of the paths
//! of pages, separated by commas, in place of the `1` rewrite those pages alone.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// How to bring pages up to date.
const HINT: &str = "hint: CHORUS_UPDATE_DOCS=1 cargo test --workspace rewrites the generated blocks";

/// Held while a page is read or rewritten: tests that run at the same time may rewrite blocks of the same page.
static FILES: Mutex<()> = Mutex::new(());

/// A page of the documentation.
pub struct Page {
    path: String,
    text: String,
}

impl Page {
    /// Reads the page at `path`, from the root of the workspace.
    pub fn read(path: &str) -> Page {
        let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        Page { path: path.to_owned(), text: text_of(path) }
    }

    /// Compares a block with what `generate` gives, or rewrites it. `generate` gets the text of the block, or nothing
    /// where the block is to be rewritten.
    pub fn expect(&mut self, name: &str, generate: impl FnOnce(Option<&str>) -> String) {
        let (start, end) = self.place(name);
        let asked = std::env::var("CHORUS_UPDATE_DOCS").unwrap_or_default();
        let names_page = |part: &str| !part.is_empty() && self.path.contains(part);
        let updating = asked == "1" || asked.split(',').any(names_page);
        let generated = generate((!updating).then_some(&self.text[start..end]));
        let generated = format!("\n{}\n\n", generated.trim());
        if updating {
            return self.rewrite(name, &generated);
        }
        let found = &self.text[start..end];
        if found != generated {
            let line = found.lines().zip(generated.lines()).position(|(found, expected)| found != expected);
            let line = line.unwrap_or(found.lines().count().min(generated.lines().count()));
            panic!(
                "{}: block `{name}` differs from what is generated, first in its line {line}\n   page: {}\nexpects: {}\n{HINT}",
                self.path,
                found.lines().nth(line).unwrap_or("(ends here)"),
                generated.lines().nth(line).unwrap_or("(ends here)"),
            );
        }
    }

    /// Puts `generated` into the page as it is on the disk by now: other tests may have rewritten other blocks.
    fn rewrite(&mut self, name: &str, generated: &str) {
        let _files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        self.text = text_of(&self.path);
        let (start, end) = self.place(name);
        self.text.replace_range(start..end, generated);
        fs::write(full(&self.path), &self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path));
    }

    fn place(&self, name: &str) -> (usize, usize) {
        let open = format!("<!-- generated: {name} -->\n");
        let start = self.text.find(&open).map(|at| at + open.len());
        let start = start.unwrap_or_else(|| panic!("{}: no line `{}`", self.path, open.trim()));
        let length = self.text[start..].find("<!-- end -->");
        let length = length.unwrap_or_else(|| panic!("{}: block `{name}` has no `<!-- end -->`", self.path));
        (start, start + length)
    }
}

fn text_of(path: &str) -> String {
    fs::read_to_string(full(path)).unwrap_or_else(|error| {
        panic!("{path}: {error}\nhint: write it; `<!-- generated: NAME -->` and `<!-- end -->` mark what is filled in")
    })
}

fn full(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
