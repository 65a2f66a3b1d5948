//! Do dependencies between the crates point only downwards?

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Every crate of the workspace, with the crates of the workspace that it depends on. A change of a line here changes
/// the architecture, and so must change ARCHITECTURE.md.
const LAYERS: [(&str, &[&str]); 18] = [
    ("chorus-cargo-version", &[]),
    ("chorus-save-derive", &[]),
    ("chorus-protocol", &["chorus-save-derive"]),
    ("chorus-system", &[]),
    ("chorus-kernel", &["chorus-protocol", "chorus-system"]),
    ("chorus-ptx", &["chorus-kernel", "chorus-protocol"]),
    ("chorus-sim", &["chorus-kernel", "chorus-protocol", "chorus-system"]),
    ("chorus-litmus", &["chorus-protocol"]),
    ("chorus-verify", &["chorus-litmus", "chorus-protocol"]),
    ("chorus-workloads", &["chorus-kernel", "chorus-protocol", "chorus-system"]),
    ("chorus-program", &["chorus-kernel", "chorus-ptx", "chorus-system", "chorus-workloads"]),
    ("chorus-trace", &["chorus-kernel", "chorus-protocol"]),
    ("chorus-registry", &["chorus-litmus", "chorus-protocol", "chorus-system", "chorus-verify", "chorus-workloads"]),
    (
        "chorus-lab",
        &[
            "chorus-kernel",
            "chorus-program",
            "chorus-protocol",
            "chorus-registry",
            "chorus-sim",
            "chorus-system",
            "chorus-trace",
            "chorus-workloads",
        ],
    ),
    (
        "chorus-proof",
        &["chorus-lab", "chorus-litmus", "chorus-protocol", "chorus-registry", "chorus-system", "chorus-verify"],
    ),
    (
        "chorus-site",
        &[
            "chorus-lab",
            "chorus-proof",
            "chorus-protocol",
            "chorus-registry",
            "chorus-sim",
            "chorus-system",
            "chorus-verify",
            "chorus-workloads",
        ],
    ),
    (
        "chorus",
        &[
            "chorus-kernel",
            "chorus-lab",
            "chorus-litmus",
            "chorus-program",
            "chorus-proof",
            "chorus-protocol",
            "chorus-ptx",
            "chorus-registry",
            "chorus-sim",
            "chorus-site",
            "chorus-system",
            "chorus-trace",
            "chorus-verify",
            "chorus-workloads",
        ],
    ),
    (
        "chorus-python",
        &[
            "chorus-lab",
            "chorus-program",
            "chorus-proof",
            "chorus-protocol",
            "chorus-registry",
            "chorus-sim",
            "chorus-system",
            "chorus-verify",
        ],
    ),
];

/// A dependency that a manifest declares.
struct Dependency {
    name: String,
    /// Whether only tests or build scripts use the dependency.
    development: bool,
}

/// The crates of the workspace, and the dependencies that their manifests declare.
fn manifests() -> BTreeMap<String, Vec<Dependency>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()
        .expect("cargo runs, since it runs this test");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let dependency = |value: &Value| Dependency { name: text(&value["name"]), development: !value["kind"].is_null() };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&metadata["packages"])
        .iter()
        .map(|package| (text(&package["name"]), list(&package["dependencies"]).iter().map(dependency).collect()))
        .collect()
}

fn is_ours(name: &str) -> bool {
    LAYERS.iter().any(|(layer, _)| *layer == name)
}

#[test]
fn the_workspace_has_exactly_the_crates_of_the_architecture() {
    let found: BTreeSet<String> = manifests().into_keys().collect();
    let expected: BTreeSet<String> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, expected, "crates found in the workspace, and those that LAYERS names");
}

#[test]
fn every_crate_depends_on_exactly_the_crates_below_it() {
    let manifests = manifests();
    for (name, below) in LAYERS {
        let dependencies = manifests[name].iter().filter(|dependency| !dependency.development);
        let found: BTreeSet<&str> =
            dependencies.map(|dependency| &*dependency.name).filter(|name| is_ours(name)).collect();
        let expected: BTreeSet<&str> = below.iter().copied().collect();
        assert_eq!(found, expected, "{name}: dependencies in its Cargo.toml, and those that LAYERS allows");
    }
}

#[test]
fn tests_and_build_scripts_reach_no_higher_than_the_crate_itself() {
    let manifests = manifests();
    for (index, (name, _)) in LAYERS.iter().enumerate() {
        for dependency in manifests[*name].iter().filter(|dependency| dependency.development) {
            let other = &*dependency.name;
            let lower = LAYERS[..index].iter().any(|(earlier, _)| *earlier == other);
            assert!(!is_ours(other) || lower, "{name}: its tests depend on {other}, which is not listed before it");
        }
    }
}

#[test]
fn layers_are_listed_from_the_bottom_up() {
    for (index, (name, below)) in LAYERS.iter().enumerate() {
        for other in *below {
            let lower = LAYERS[..index].iter().any(|(earlier, _)| earlier == other);
            assert!(lower, "{name} depends on {other}, which is not listed before it: there is a cycle");
        }
    }
}

#[test]
fn the_protocol_crate_depends_on_nothing_but_derives_of_its_own_traits() {
    let names: Vec<String> =
        manifests().remove("chorus-protocol").into_iter().flatten().map(|found| found.name).collect();
    assert_eq!(
        names,
        ["chorus-save-derive"],
        "chorus-protocol depends on {names:?}: controllers are plain data and plain functions"
    );
}

#[test]
fn the_verified_protocol_never_passes_through_the_simulator() {
    let names: Vec<String> =
        manifests().remove("chorus-verify").into_iter().flatten().map(|found| found.name).collect();
    assert!(!names.iter().any(|name| name == "chorus-sim"), "chorus-verify depends on chorus-sim");
}
