//! Do the variants that protocols offer as parameters keep their memory model, too?

use chorus_protocol::registry::{Protocol, find};
use chorus_verify::check::{CheckConfig, check, configurations, quick_configurations};
use chorus_verify::config::MachineConfig;
use chorus_verify::explore::{Exploration, OnForbidden};
use chorus_verify::settings::Settings;

/// Values of parameters.
type Variant = &'static [(&'static str, u64)];

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

fn variant_of(config: CheckConfig, parameters: Variant) -> CheckConfig {
    CheckConfig { machine: MachineConfig { parameters, ..config.machine }, ..config }
}

/// Explores all that takes a moment, and what is named.
fn passes(name: &str, parameters: Variant, larger: &[&str]) {
    let protocol = protocol(name);
    let named = configurations(protocol).into_iter().filter(|config| larger.contains(&config.name));
    for config in quick_configurations(protocol).into_iter().chain(named) {
        let report = check(protocol, None, &variant_of(config, parameters));
        assert!(report.passed(), "{name} with {parameters:?}: {}", report.to_text());
    }
}

/// Whether an agent ever has a readable copy of line 0, which lies in the memory of the first of two GPUs.
fn ever_keeps(parameters: Variant, agent: u16) -> bool {
    let config = configurations(protocol("dir")).into_iter().find(|config| config.name == "beside-smoke").unwrap();
    let machine = variant_of(config, parameters).machine;
    let mut exploration = Exploration::new(protocol("dir"), None, &machine, OnForbidden::Stop);
    exploration.run(&Settings::with_states(200_000));
    let nodes = exploration.machine().nodes();
    nodes
        .all_results()
        .iter()
        .map(|step| nodes.node(step.before))
        .any(|node| node.agent == agent && !node.views[0].readable.is_empty())
}

#[test]
fn directories_are_coherent_whichever_caches_keep_lines_of_other_gpus() {
    passes("dir", &[("remote_caching", 0)], &["weak", "message-gpus", "kernels"]);
    passes("dir", &[("remote_caching", 1)], &["weak", "message-gpus", "kernels"]);
}

#[test]
fn only_the_caches_that_remote_caching_names_keep_lines_of_other_gpus() {
    // Two private caches and two banks, module by module.
    let (remote_l1, remote_l2) = (1, 3);
    let cases: [(Variant, [bool; 2]); 3] = [
        (&[("remote_caching", 0)], [false, false]),
        (&[("remote_caching", 1)], [true, false]),
        (&[("remote_caching", 2)], [true, true]),
    ];
    for (parameters, keeping) in cases {
        assert_eq!([remote_l1, remote_l2].map(|agent| ever_keeps(parameters, agent)), keeping, "{parameters:?}");
        assert!([0, 2].into_iter().all(|agent| ever_keeps(parameters, agent)), "{parameters:?}");
    }
}
