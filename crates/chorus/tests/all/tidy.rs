//! Does the source tree keep the rules of the project? Each test is one rule. Its message names the file that breaks
//! the rule and says what to do.
//!
//! The rules look at everything that git would track. Outside a checkout they look at everything but `target` and
//! `results`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use chorus_protocol::registry::PROTOCOLS;
use chorus_sim::stats::COUNTERS;

/// The most lines of a file: a longer one has more than one subject.
const FILE_LINES_MAX: usize = 600;
/// The most lines of a file of tests.
const TEST_FILE_LINES_MAX: usize = 800;
/// The most lines of a function, from its name to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// The most bytes of a file, because git keeps every file for ever.
const FILE_BYTES_MAX: u64 = 200_000;

/// Texts that must not occur in the code of chorus-protocol, each with the reason.
const FORBIDDEN_IN_PROTOCOLS: [(&str, &str); 10] = [
    ("std::time", "time belongs to the drivers"),
    ("std::fs", "controllers do no I/O"),
    ("std::net", "controllers do no I/O"),
    ("std::process", "controllers do no I/O"),
    ("std::thread", "controllers start no threads"),
    ("std::env", "a controller's whole input is its configuration and its messages"),
    ("rand", "controllers draw no random numbers"),
    ("println", "what a controller has to say is a message or a completion"),
    ("HashMap", "its order differs from run to run"),
    ("HashSet", "its order differs from run to run"),
];

/// Module names that say nothing about the contents.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "common", "misc", "helper", "helpers"];

pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is where this crate is")
}

/// A file with its path from the root, separated by slashes.
pub struct File {
    pub path: String,
    full: PathBuf,
}

impl File {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.full).unwrap_or_default()).into_owned()
    }

    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Everything that git tracks or would track.
pub fn files() -> Vec<File> {
    let root = root();
    let paths = git_files(&root).unwrap_or_else(|| {
        let mut paths = Vec::new();
        walk(&root, "", &mut paths);
        paths
    });
    assert!(paths.iter().any(|path| path == "Cargo.toml"), "no files found under {}", root.display());
    let present = paths.into_iter().map(|path| File { full: root.join(&path), path });
    present.filter(|file| file.full.is_file()).collect()
}

fn git_files(root: &Path) -> Option<Vec<String>> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").current_dir(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?.trim());
    // The source tree may lie inside the repository of another project.
    if top.canonicalize().ok()? != root {
        return None;
    }
    let listed = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"])?;
    Some(listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
}

fn walk(root: &Path, below: &str, paths: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if entry.path().is_file() {
            paths.push(path);
        } else if !["target", "results", ".git"].contains(&&*name) {
            walk(root, &path, paths);
        }
    }
}

/// Fails with all complaints at once.
pub fn assert_none(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Replaces comments, strings and characters in Rust source by blanks, so that only code is left. Lines keep their
/// numbers.
fn code_of(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &source.as_bytes()[at..];
        let end = at
            + match rest {
                [b'/', b'/', ..] => rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => block_comment(rest),
                [b'"', ..] => string(rest),
                [b'r', b'"' | b'#', ..] if !is_word(bytes, at) => raw_string(rest),
                [b'\'', ..] => character(rest),
                _ => 0,
            };
        for byte in &mut code[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end.max(at + 1);
    }
    String::from_utf8_lossy(&code).into_owned()
}

/// Whether the byte before `at` belongs to a word.
fn is_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_')
}

fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

fn string(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// The length of the raw string at the start of `bytes`; 0 for a raw identifier.
fn raw_string(bytes: &[u8]) -> usize {
    let hashes = bytes[1..].iter().take_while(|&&byte| byte == b'#').count();
    if bytes.get(1 + hashes) != Some(&b'"') {
        return 0;
    }
    let close = [vec![b'"'], vec![b'#'; hashes]].concat();
    let body = hashes + 2;
    let end = bytes[body..].windows(close.len()).position(|window| window == close);
    end.map_or(bytes.len(), |end| body + end + close.len())
}

/// The length of the character literal at the start of `bytes`; 0 for a lifetime.
fn character(bytes: &[u8]) -> usize {
    let first_bytes = match bytes.get(1) {
        Some(b'\\') => {
            let end = bytes.iter().skip(3).position(|&byte| byte == b'\'');
            return end.map_or(0, |end| end + 4);
        }
        Some(0xF0..) => 4,
        Some(0xE0..) => 3,
        Some(0xC0..) => 2,
        Some(_) | None => 1,
    };
    if bytes.get(1 + first_bytes) == Some(&b'\'') { first_bytes + 2 } else { 0 }
}

/// The places where a word occurs, with no word character on either side.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(move |&at| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word))
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Every function of a piece of code: the line of its name, its name, and its number of lines.
fn functions(code: &str) -> Vec<(usize, String, usize)> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let name: String =
            code[at + 2..].trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        // The type of a function pointer has no name.
        if name.is_empty() {
            continue;
        }
        let (mut nesting, mut braces, mut end) = (0, 0, None);
        for (offset, c) in code[at..].char_indices() {
            match c {
                '(' | '[' => nesting += 1,
                ')' | ']' => nesting -= 1,
                // This is a declaration without a body.
                ';' if braces == 0 && nesting == 0 => break,
                '{' => braces += 1,
                '}' => {
                    braces -= 1;
                    if braces == 0 && nesting == 0 {
                        end = Some(at + offset);
                        break;
                    }
                }
                _ => {}
            }
        }
        if let Some(end) = end {
            found.push((line_of(code, at), name, line_of(code, end) - line_of(code, at) + 1));
        }
    }
    found
}

#[test]
fn the_scanner_tells_code_from_comments_and_strings() {
    let source = "fn a<'x>(s: &'x str) -> char {\n    // }\n    let _ = (\"{\\\"\", r#\"}\"}\"#, '{', '\\'', b'\\\\');\n    'é'\n}\nfn b(_: [u8; 2]);";
    let code = code_of(source);
    assert_eq!(code.matches(['{', '}']).count(), 2, "{code}");
    assert_eq!(functions(&code), [(1, "a".to_owned(), 5)]);
}

#[test]
fn files_and_functions_are_short() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let text = file.text();
        let is_test = file.path.split('/').any(|part| part == "tests" || part == "benches");
        let (lines, most) = (text.lines().count(), if is_test { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX });
        if lines > most {
            complaints.push(format!("{}: {lines} lines; at most {most}: split it by subject", file.path));
        }
        for (line, name, length) in functions(&code_of(&text)) {
            if length > FUNCTION_LINES_MAX {
                let path = &file.path;
                complaints.push(format!("{path}:{line}: fn {name} has {length} lines; at most {FUNCTION_LINES_MAX}"));
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn every_source_file_says_what_it_is_about() {
    let undocumented = |file: &File| file.is_rust() && !file.text().starts_with("//!");
    let complaint = |file: File| format!("{}: begins without a module doc (//!)", file.path);
    assert_none(files().into_iter().filter(undocumented).map(complaint).collect());
}

#[test]
fn transitions_have_no_catch_all_arms() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("crates/chorus-protocol/src/protocols/")) {
        for (number, line) in code_of(&file.text()).lines().enumerate() {
            let Some((pattern, _)) = line.split_once("=>") else { continue };
            let pattern = pattern.split_once(" if ").map_or(pattern, |(pattern, _)| pattern).trim();
            if pattern.contains('_') && pattern.chars().all(|c| "_(),| ".contains(c)) {
                let arm = line.trim();
                complaints.push(format!("{}:{}: `{arm}`: name the states and events", file.path, number + 1));
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn controllers_have_no_clock_no_io_no_threads_and_no_chance() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("crates/chorus-protocol/src/")) {
        let code = code_of(&file.text());
        for (word, why) in FORBIDDEN_IN_PROTOCOLS {
            let places = words(&code, word).map(|at| line_of(&code, at));
            complaints.extend(places.map(|line| format!("{}:{line}: {word}: {why}", file.path)));
        }
    }
    assert_none(complaints);
}

#[test]
fn modules_are_named_after_what_they_hold() {
    let names_nothing = |file: &File| {
        let stem = file.path.trim_end_matches(".rs");
        file.is_rust() && stem.split('/').any(|part| EMPTY_NAMES.contains(&part))
    };
    let complaint = |file: File| format!("{}: the name says nothing about its subject", file.path);
    assert_none(files().into_iter().filter(names_nothing).map(complaint).collect());
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not contain them.
    let markers =
        [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["to", "do!"], ["unimple", "mented!"]].map(|parts| parts.concat());
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| !file.path.ends_with("Cargo.lock")) {
        let text = file.text();
        for marker in &markers {
            let places = words(&text, marker).map(|at| line_of(&text, at));
            complaints.extend(places.map(|line| format!("{}:{line}: {marker}: do it or leave it out", file.path)));
        }
    }
    assert_none(complaints);
}

#[test]
fn no_test_is_switched_off_and_no_dead_code_kept() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.is_rust()) {
        let code = code_of(&file.text());
        for (pattern, advice) in [
            ("#[ignore", "a test that never runs tests nothing"),
            ("allow(dead_code", "delete what nobody uses"),
            ("allow(unused", "delete what nobody uses"),
        ] {
            let places = code.match_indices(pattern).map(|(at, _)| line_of(&code, at));
            complaints.extend(places.map(|line| format!("{}:{line}: {pattern}: {advice}", file.path)));
        }
    }
    assert_none(complaints);
}

#[test]
fn no_path_of_a_particular_machine_is_written_down() {
    // Put together here, so that this file does not contain them.
    let paths = ["work", "tmp", "root", "home"].map(|directory| format!("/{directory}"));
    let before = |c: char| c.is_alphanumeric() || ".-_/*>".contains(c);
    let after = |c: char| c.is_alphanumeric() || "-_".contains(c);
    let mut complaints = Vec::new();
    for file in files() {
        let text = file.text();
        for path in &paths {
            for (at, _) in text.match_indices(path.as_str()) {
                if !text[..at].ends_with(before) && !text[at + path.len()..].starts_with(after) {
                    let line = line_of(&text, at);
                    complaints.push(format!("{}:{line}: {path}: say it without a machine's own paths", file.path));
                }
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn every_value_of_a_system_carries_its_source() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.path.starts_with("systems/") && file.path.ends_with(".toml")) {
        let mut in_table = false;
        for (number, line) in file.text().lines().enumerate() {
            let line = line.trim();
            in_table |= line.starts_with('[');
            if in_table && !line.starts_with(['[', '#']) && line.contains('=') && !line.contains("# source: ") {
                let path = &file.path;
                complaints.push(format!("{path}:{}: `{line}`: add `# source:` with paper and section", number + 1));
            }
        }
    }
    assert_none(complaints);
}

#[test]
fn every_protocol_has_its_page() {
    let page = |name: &str| format!("docs/protocols/{name}.md");
    let missing = PROTOCOLS.iter().map(|protocol| page(protocol.name())).filter(|page| !root().join(page).is_file());
    assert_none(missing.map(|page| format!("{page} is missing")).collect());
}

#[test]
fn every_counter_is_documented() {
    let page = "docs/concepts/statistics.md";
    let text = fs::read_to_string(root().join(page)).unwrap_or_default();
    let missing = COUNTERS.iter().filter(|counter| !text.contains(&format!("`{}`", counter.key)));
    assert_none(missing.map(|counter| format!("{page} does not explain `{}`", counter.key)).collect());
}

#[test]
fn no_large_file_is_kept() {
    let mut complaints = Vec::new();
    for file in files().iter().filter(|file| file.path != "Cargo.lock") {
        let bytes = fs::metadata(&file.full).map_or(0, |metadata| metadata.len());
        if bytes > FILE_BYTES_MAX {
            complaints.push(format!("{}: {bytes} bytes; at most {FILE_BYTES_MAX}", file.path));
        }
    }
    assert_none(complaints);
}

#[test]
fn the_test_command_of_the_readme_is_what_ci_runs() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap_or_default();
    let (readme, script) = (read("README.md"), read(".ci/run"));
    let commands: Vec<&str> = readme
        .lines()
        .map(|line| line.trim().trim_start_matches("$ "))
        .filter(|line| line.starts_with("cargo test") || line.starts_with("cargo nextest"))
        .map(|line| line.split(" #").next().unwrap_or(line).trim())
        .collect();
    assert!(!commands.is_empty(), "README.md does not say how to run the tests (a line that begins with `cargo test`)");
    let runs = |command: &str| script.lines().any(|line| line.trim() == command);
    let missing = commands.into_iter().filter(|command| !runs(command));
    assert_none(missing.map(|command| format!("README.md says `{command}`, but .ci/run does not run it")).collect());
}
