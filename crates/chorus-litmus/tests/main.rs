//! All suites of this crate in one binary. `cargo test -p chorus-litmus SUITE::` runs one suite. A new file of tests
//! needs a line here.

mod shapes;
mod wide;

mod corpus;
mod hostile;
mod models;
mod parsing;
mod properties;
mod ptx_literal;
mod race_free;
mod release_consistency;

/// Cargo looks for no tests by itself here, so that a file without a line above would never run.
#[test]
fn every_file_of_tests_is_a_module_of_this_binary() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let root = std::fs::read_to_string(folder.join("main.rs")).expect("this file is there");
    for entry in std::fs::read_dir(folder).expect("the folder of this file is there") {
        let name = entry.expect("its entries can be read").file_name().into_string().expect("names are plain");
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "main") else { continue };
        let line = format!("mod {module};");
        assert!(root.lines().any(|found| found == line), "tests/{name} is never run: add `{line}` to tests/main.rs");
    }
}
mod vectors;
