//! `chorus new`: its crate is built, tested and used as the crate's README says.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::chorus::{Directory, Ended, chorus, end};

/// The generated crate. It is built once for all tests of this file.
struct Template {
    directory: Directory,
}

impl Template {
    fn new() -> Template {
        let directory = Directory::new();
        chorus(&format!("new {}", directory.join("my-lab").display())).expect_code(0);
        let template = Template { directory };
        // Both crates use the same versions of their dependencies, so that nothing is downloaded.
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        std::fs::copy(lock, template.path().join("Cargo.lock")).expect("the lock file can be copied");
        template
    }

    fn path(&self) -> PathBuf {
        self.directory.join("my-lab")
    }

    /// Runs cargo in the generated crate, offline.
    fn cargo(&self, verb: &str) -> Ended {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(self.path()).args([verb, "--offline", "--target-dir"]).arg(target());
        end(command)
    }

    /// Runs the program of the generated crate.
    fn run(&self, arguments: &str) -> Ended {
        let mut command = Command::new(target().join("debug").join("my-lab"));
        command.arg("--no-progress").args(arguments.split_whitespace());
        end(command)
    }
}

/// The folder that generated crates are built in. It stays, so that Chorus is compiled for them only when it has
/// changed.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("template-target")
}

#[test]
fn the_crate_that_new_writes_builds_passes_its_tests_and_does_what_its_readme_says() {
    let template = Template::new();
    let tested = template.cargo("test").expect_code(0);
    assert!(tested.stdout.contains("4 passed"), "{}", tested.stdout);
    let chorus = |arguments: &str| template.run(arguments);
    let checked = chorus("check mine --smoke").expect_code(0);
    assert!(checked.stdout.contains("4 of 4 configurations pass"), "{}", checked.stdout);
    let broken = chorus("check mine --fault put-forgets-all").expect_code(1);
    let replay = broken.stdout.split_once("--replay '").and_then(|(_, rest)| rest.split_once('\''));
    let (replay, _) = replay.unwrap_or_else(|| panic!("no replay in {}", broken.stdout));
    chorus(&format!("check mine --replay {replay}")).expect_code(1);
    chorus("litmus mine MINE").expect_code(0);
    chorus("torture mine --steps 200000").expect_code(0);
    chorus("table mine").expect_code(0);
    let run = chorus("run --system mine --protocol mine --workload mine --set workload.elements=8KiB --json");
    assert_eq!(run.expect_code(0).json()["sizes"]["elements"], 8192);
    let out = template.directory.join("out");
    chorus(&format!("reproduce mine --out {}", out.display())).expect_code(0);
    assert!(out.join("mine.html").is_file());
    let listed = chorus("list --json").expect_code(0).json();
    for kind in ["systems", "protocols", "workloads", "experiments"] {
        let names: Vec<&str> =
            listed[kind].as_array().into_iter().flatten().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names.last(), Some(&"mine"), "{kind}");
    }
}

#[test]
fn nothing_is_overwritten_and_bad_names_are_refused() {
    let directory = Directory::new();
    let file = directory.file("precious", "do not lose me");
    let folder = file.parent().expect("it lies in a directory");
    let full = folder.join("full");
    std::fs::create_dir(&full).expect("the directory can be written");
    std::fs::write(full.join("notes"), "mine").expect("the directory can be written");
    chorus(&format!("new {}", full.display())).expect_code(2).expect_error(&["is not empty", "nothing was written"]);
    assert_eq!(std::fs::read_dir(&full).expect("it is there").count(), 1);
    chorus(&format!("new {}", file.display())).expect_code(2).expect_error(&["cannot write"]);
    for name in ["Upper", "9lives", "chorus", "with.dot"] {
        let ended = chorus(&format!("new {}", folder.join(name).display())).expect_code(2);
        ended.expect_error(&["cannot be the name of a crate; accepted: lower-case letters"]);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "do not lose me");
}
