//! Runs the binary, and makes temporary directories and files for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

/// The exit code, stdout and stderr of an invocation.
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// Asserts the exit code. The message of a failure shows stdout and stderr.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Asserts that the error message contains all of these texts.
    #[track_caller]
    pub fn expect_error(self, parts: &[&str]) -> Ended {
        assert!(self.stderr.starts_with("error: "), "stderr: {}", self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in stderr: {}", self.stderr);
        }
        self
    }

    /// Reads stdout as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in stdout: {}", self.stdout))
    }

    /// Reads every line of stdout as JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let read = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in line: {line}"));
        self.stdout.lines().map(read).collect()
    }
}

/// The binary with `arguments`, which are separated by spaces.
pub fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chorus"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

/// Runs a command until it ends.
pub fn end(mut command: Command) -> Ended {
    let output = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the binary with `arguments`, which are separated by spaces.
pub fn chorus(arguments: &str) -> Ended {
    end(command(arguments))
}

/// A temporary directory that is removed when this value is dropped. Its path has no spaces.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cli-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).expect("the directory for temporary files can be written");
        Directory(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.join(name);
        std::fs::write(&path, text).expect("the directory for temporary files can be written");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that is left behind harms no other test.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs of an experiment: saxpy with a short lease and with a long one.
pub const LEASES: &str = r#"
[[matrix]]
name = "leases"
workloads = ["saxpy"]
protocols = ["tc-weak-fixed"]
variant = [{ name = "short", set = ["lease.cycles=100"] }, { name = "long", set = ["lease.cycles=6400"] }]
"#;

/// Writes an experiment that runs saxpy under one protocol, with this many seeds.
pub fn experiment(directory: &Directory, seeds: u32) -> PathBuf {
    let seeds: Vec<String> = (1..=seeds).map(|seed| seed.to_string()).collect();
    let text = format!(
        r#"
name = "small"
title = "A small experiment"
source = "none"
system = "tc"

[[matrix]]
name = "all"
workloads = ["saxpy"]
protocols = ["no-l1", "gpu-vi"]
seeds = [{}]

[[figure]]
id = "1"
title = "Speed-up"
axis = "speed-up over NO-L1"
headline = true
matrices = ["all"]
chart = "bars"
measure = "speed-up"
baseline = "no-l1"
mean = "harmonic"
series = [{{ label = "GPU-VI", protocol = "gpu-vi" }}]
"#,
        seeds.join(", ")
    );
    directory.file("small.toml", &text)
}

/// The rows of an export, without the columns about the time that a run took.
pub fn exported(out: &Path) -> BTreeSet<Vec<String>> {
    let csv = chorus(&format!("export {}", out.display())).expect_code(0).stdout;
    let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let timed = |column: usize| ["wall_s", "user_s"].contains(&header[column].as_str());
    let kept =
        |row: Vec<String>| row.into_iter().enumerate().filter(|(column, _)| !timed(*column)).map(|(_, cell)| cell);
    lines.map(|row| kept(row).collect()).collect()
}
