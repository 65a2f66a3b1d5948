//! Protocols that are derived from others with nothing but what this workspace's crates make public. Each is one file
//! and passes the checks that its base passes.

#[path = "derived/put.rs"]
mod put;
#[path = "derived/tc_per_block.rs"]
mod tc_per_block;

use chorus_protocol::address::Role;
use chorus_protocol::protocols::gpu_vi::GpuVi;
use chorus_protocol::registry::Protocol;
use chorus_verify::check::{check, smoke_configurations};
use chorus_verify::faults::{caught, find_fault};
use chorus_verify::table::TransitionTable;
use put::GpuViPut;
use tc_per_block::TcWeakBlock;

/// A hole in the transition table that is reached fails a check, so a pass shows that every state has a transition for
/// every event that it meets.
fn passes_the_smallest_checks(protocol: &'static dyn Protocol) {
    for config in smoke_configurations() {
        let report = check(protocol, None, &config);
        assert!(report.passed() && report.states > 1_000, "{}", report.to_text());
    }
}

#[test]
fn gpu_vi_with_puts_passes_the_smallest_checks() {
    passes_the_smallest_checks(&GpuViPut);
}

#[test]
fn tc_with_leases_per_block_passes_the_smallest_checks() {
    passes_the_smallest_checks(&TcWeakBlock);
}

#[test]
fn the_fault_of_puts_is_found() {
    let fault = find_fault(&GpuViPut, "put-forgets-all").unwrap();
    let catch = caught(&GpuViPut, fault).expect("a check or a litmus test finds it");
    assert!(catch.chart.violation.to_string().contains("inclusion broken"), "{}", catch.summary());
}

#[test]
fn inherited_faults_are_built_in_as_in_the_base() {
    let fault = find_fault(&GpuViPut, "lost-invalidation").unwrap();
    assert_eq!(find_fault(&GpuVi, "lost-invalidation"), Some(fault));
    assert!(caught(&GpuViPut, fault).is_some());
}

#[test]
fn a_put_meets_every_state_of_the_bank_and_takes_the_last_sharer_back_to_v() {
    let table = TransitionTable::extract(&GpuViPut);
    let bank = table.role(Role::L2).unwrap();
    let put = bank.vocabulary.events.iter().position(|event| *event == "PUT").unwrap() as u8;
    let cell = |state: &str| {
        let index = bank.vocabulary.states.iter().position(|spec| spec.name == state).unwrap();
        bank.words(index as u8, put).unwrap_or_else(|| panic!("no PUT was met in {state}"))
    };
    assert_eq!(cell("S"), ["S", "V"]);
    for state in ["I", "V", "I_S", "I_M", "S_M", "S_A", "S_I"] {
        assert_eq!(cell(state), [state]);
    }
}

#[test]
fn gpu_vi_with_puts_is_a_short_file() {
    let lines = include_str!("derived/put.rs").lines().map(str::trim);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with("//")).count();
    assert!(code < 60, "{code} lines of code");
}
