//! Does the package do what the command line does? Its tests are in Python: those beside this file, the examples in its
//! documentation, and the notebooks.
//!
//! They need the packages that `scripts/python-packages` installs. Without Python or these packages, the test says so
//! and passes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Modules that the tests import.
const NEEDED: &str = "import pytest, pandas, pyarrow, duckdb, matplotlib, tqdm, nbclient, ipykernel";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A Python that has the packages: that of `scripts/python-packages`, or the one of the system.
fn python() -> Option<PathBuf> {
    let own = here().join("../../target/python/bin/python");
    let has_packages = |python: &PathBuf| {
        let output = Command::new(python).args(["-c", NEEDED]).output();
        output.is_ok_and(|output| output.status.success())
    };
    [own, PathBuf::from("python3")].into_iter().find(has_packages)
}

/// The folder that cargo puts programs into, above that of this test.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a program knows where it is");
    test.ancestors().nth(2).expect("it lies two folders deep").to_owned()
}

/// Lays the package out as a wheel does, with the library that cargo built beside this test.
fn lay_out(folder: &Path) {
    let package = folder.join("chorus");
    // There may be files of an earlier test.
    let _ = fs::remove_dir_all(&package);
    fs::create_dir_all(&package).expect("the folder of temporary files can be written");
    for entry in fs::read_dir(here().join("python/chorus")).expect("the package is there") {
        let file = entry.expect("it can be read").path();
        if let Some(name) = file.file_name().filter(|_| file.is_file()) {
            fs::copy(&file, package.join(name)).expect("a file of the package can be copied");
        }
    }
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = built().join("deps").join(format!("{prefix}_native{suffix}"));
    fs::copy(&library, package.join("_native.abi3.so")).expect("cargo builds the library before its tests");
}

fn run(python: &Path, folder: &Path, arguments: &[&str]) {
    let command_line = built().join(format!("chorus{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(python);
    command.current_dir(folder).env("PYTHONPATH", folder).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).args(arguments);
    if command_line.is_file() {
        command.env("CHORUS", command_line);
    }
    let output = command.output().expect("Python was just started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    println!("{text}");
}

#[test]
fn the_tests_of_the_package_and_the_examples_in_its_documentation_pass() {
    let Some(python) = python() else {
        eprintln!("Python is not tested: it or one of its packages is missing; scripts/python-packages installs them");
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    lay_out(&folder);
    run(&python, &folder, &[&here().join("tests").display().to_string()]);
    run(&python, &folder, &["--doctest-modules", "--pyargs", "chorus"]);
}
