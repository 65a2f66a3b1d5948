//! All suites of this crate in one binary: it links once, and its tests share both cores and what they explore.
//!
//! `cargo test -p chorus-verify SUITE::` runs one suite. A new file of tests needs a line here.

mod bank;
mod explored;
#[path = "pages/markdown.rs"]
mod markdown;
mod pages;
mod race_free;
mod recorded;
mod wrapped;

mod bank_commands;
mod charts;
mod chiplet_commands;
mod chiplet_states;
mod chiplet_table;
mod claims;
mod contract;
mod derived;
mod devices;
mod directories;
mod discriminators;
mod docs;
mod driver;
mod elision;
mod engine;
mod expectations;
mod hopper;
mod hopper_probes;
mod mutants;
mod mutation;
mod networks;
mod overnight;
mod progress;
mod protocols;
mod ptx_twins;
mod rec;
mod registered;
mod replays;
mod scoped;
mod shared_litmus;
mod spandex_races;
mod spandex_tables;
mod starvation;
mod table2;
mod tables;
mod torture;
mod variants;

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
