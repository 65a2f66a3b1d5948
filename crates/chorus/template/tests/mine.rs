//! The facts that must stay true of this crate: names, the protocol's smallest explorations, its seeded mistake, the
//! kernel's result.

use chorus::lab::simulate::simulate;
use chorus::lab::run::{CheckResult, RunSpec};
use chorus::system::Scale;
use chorus::verify::check::{check, quick_configurations};
use chorus::verify::faults::{caught, find_fault};
use {{module}}::protocol::MINE;
use {{module}}::registry;

#[test]
fn everything_can_be_registered() {
    let errors = registry().errors();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn the_protocol_passes_check_smoke() {
    for configuration in quick_configurations(&MINE) {
        let report = check(&MINE, None, &configuration);
        assert!(report.passed(), "{}", report.to_text());
    }
}

#[test]
fn the_seeded_mistake_is_found() {
    let fault = find_fault(&MINE, "put-forgets-all").expect("the protocol declares it");
    assert!(caught(&MINE, fault).is_some());
}

#[test]
fn the_kernel_computes_its_reference_under_the_protocol() {
    let spec = RunSpec {
        system: "mine".to_owned(),
        protocol: "mine".to_owned(),
        workload: "mine".to_owned(),
        scale: Scale::Quick,
        seed: 1,
        set: vec!["workload.elements=4096".to_owned()],
        graph: None,
        annotate: Default::default(),
        observed: false,
    };
    let run = simulate(&registry(), &spec, false).expect("it runs");
    assert_eq!(run.result, CheckResult::Pass);
}
