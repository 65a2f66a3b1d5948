//! Names the git revision that is compiled, for the results that it makes.
//!
//! A changed working tree gets the suffix `-dirty` and a digest of its changes, so that results of two different trees
//! on the same commit are never taken for each other. Outside a checkout, or without git, the revision is left out.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::path::Path;
use std::process::Command;

/// Paths of everything that is compiled, relative to the root of the repository.
const COMPILED: [&str; 5] = ["crates/*/src/**", "crates/*/Cargo.toml", "Cargo.lock", "systems/*", "papers/**"];

fn main() {
    watch(&["build.rs"]);
    let Some(root) = git(Path::new("."), &["rev-parse", "--show-toplevel"]) else { return };
    let root = Path::new(root.trim());
    if !root.join("crates/chorus-lab/build.rs").is_file() {
        // The sources lie inside a repository of something else.
        return;
    }
    watch_sources(root);
    if let Some(revision) = revision(root) {
        println!("cargo::rustc-env=CHORUS_GIT_REVISION={revision}");
    }
}

fn revision(root: &Path) -> Option<String> {
    let commit = git(root, &["rev-parse", "--short", "HEAD"])?;
    let compiled: Vec<String> = COMPILED.iter().map(|path| format!(":(glob){path}")).collect();
    let with_paths = |arguments: &[&str]| {
        let paths = compiled.iter().map(String::as_str);
        git(root, &arguments.iter().copied().chain(["--"]).chain(paths).collect::<Vec<_>>())
    };
    let changes = with_paths(&["diff", "HEAD"])?;
    let added = with_paths(&["ls-files", "--others", "--exclude-standard"])?;
    if changes.is_empty() && added.is_empty() {
        return Some(commit.trim().to_owned());
    }
    let mut digest = DefaultHasher::new();
    digest.write(changes.as_bytes());
    for file in added.lines() {
        digest.write(file.as_bytes());
        digest.write(&std::fs::read(root.join(file)).unwrap_or_default());
    }
    Some(format!("{}-dirty-{:08x}", commit.trim(), digest.finish() >> 32))
}

/// The revision follows commits, checkouts and every change of what is compiled.
fn watch_sources(root: &Path) {
    let from_root = |path: &str| root.join(path).display().to_string();
    for path in ["Cargo.lock", "systems", "papers"] {
        watch(&[&from_root(path)]);
    }
    for entry in std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten() {
        let inside = |path: &str| entry.path().join(path).display().to_string();
        watch(&[&inside("src"), &inside("Cargo.toml")]);
    }
    for (what, path) in
        [("--absolute-git-dir", "HEAD"), ("--git-common-dir", "refs"), ("--git-common-dir", "packed-refs")]
    {
        if let Some(directory) = git(root, &["rev-parse", what]) {
            watch(&[&from_root(&format!("{}/{path}", directory.trim()))]);
        }
    }
}

/// Has cargo watch paths that exist. Cargo takes a path that does not exist for one that changes all the time.
fn watch(paths: &[&str]) {
    for path in paths.iter().filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

/// The output of a git command. There is none where git fails or does not exist.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(directory).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
