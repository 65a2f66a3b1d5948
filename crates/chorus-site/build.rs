//! Packs the pages of the documentation into one file, which the crate carries: an installed program has no source tree
//! beside it. `source.rs` unpacks it.
//!
//! Each page is its path, a line break, its length in bytes as digits, a line break, and its bytes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The folder whose links lead to everything that the site shows.
const BOOK: &str = "book";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={BOOK}");
    let mut files = Vec::new();
    collect(Path::new(BOOK), &mut files)?;
    files.sort();
    let mut pack = Vec::new();
    for file in files {
        let contents = fs::read(&file)?;
        let path = file.strip_prefix(BOOK).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        pack.extend(format!("{path}\n{}\n", contents.len()).into_bytes());
        pack.extend(contents);
    }
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("book.pack"), pack)
}

/// The files of a folder and of the folders in it. Links are followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
