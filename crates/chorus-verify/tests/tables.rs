//! Transition tables as the explorations saw them.

use chorus_protocol::address::Role;
use chorus_protocol::registry::{PROTOCOLS, find};
use chorus_verify::heterogeneous;
use chorus_verify::table::StateCounts;

use crate::{explored, recorded};

fn counts(protocol: &str, role: Role) -> StateCounts {
    explored::table(find(protocol).unwrap()).role(role).unwrap().counts()
}

fn state_counts(stable: usize, transient_cache: usize, transient_coherent: usize) -> StateCounts {
    StateCounts { stable, transient_cache, transient_coherent }
}

/// TC paper, Table 1, column GPU-VI: 5 states in the L1 and 8 in the L2.
#[test]
fn gpu_vi_has_the_states_that_the_tc_paper_counts() {
    assert_eq!(counts("gpu-vi", Role::L1), state_counts(2, 2, 1));
    assert_eq!(counts("gpu-vi", Role::L2), state_counts(3, 2, 3));
}

/// TC paper, Table 1, column NonCoh: 4 states in each.
#[test]
fn no_coh_has_the_states_that_the_tc_paper_counts() {
    assert_eq!(counts("no-coh", Role::L1), state_counts(2, 2, 0));
    assert_eq!(counts("no-coh", Role::L2), state_counts(2, 2, 0));
}

/// TC paper, Table 1, column GPU-VIni: 5 states in the L1 and 15 in the L2.
#[test]
fn gpu_vini_has_the_states_that_the_tc_paper_counts() {
    assert_eq!(counts("gpu-vini", Role::L1), state_counts(2, 2, 1));
    assert_eq!(counts("gpu-vini", Role::L2), state_counts(5, 2, 8));
}

/// TC paper, Table 1, column MESI: 10 states in the L1 and 16 in the L2.
#[test]
fn mesi_has_the_states_that_the_tc_paper_counts() {
    assert_eq!(counts("mesi", Role::L1), state_counts(4, 2, 4));
    assert_eq!(counts("mesi", Role::L2), state_counts(4, 3, 9));
}

/// TC paper, Table 1, column TC-Weak: 5 states in the L1 and 7 in the L2.
#[test]
fn tc_weak_has_the_states_that_the_tc_paper_counts() {
    for protocol in ["tc-weak", "tc-weak-fixed"] {
        assert_eq!(counts(protocol, Role::L1), state_counts(2, 2, 1));
        assert_eq!(counts(protocol, Role::L2), state_counts(4, 2, 1));
    }
}

/// The tables of protocols for several kinds of devices take longest to extract, and are recorded on their pages alone
/// (`docs.rs`).
#[test]
fn tables_of_one_kind_of_device_are_as_recorded() {
    for protocol in PROTOCOLS.iter().filter(|protocol| !heterogeneous::applies(**protocol)) {
        let text = explored::table(*protocol).to_text();
        let (cells, _) = text.split_once("\nExtracted").unwrap();
        recorded::expect("tables", protocol.name(), cells);
    }
}

#[test]
fn columns_and_states_that_were_never_met_are_left_out() {
    let table = explored::table(find("no-coh").unwrap()).to_text();
    assert!(!table.contains("Inv") && !table.contains("Foreign") && !table.contains("V_M"), "{table}");
}

#[test]
fn markdown_and_html_hold_the_same_cells_as_text() {
    let table = explored::table(find("no-l1").unwrap());
    assert!(table.to_markdown().contains("| I_I (t) | GETS / I_I | GETX / I_I |"), "{}", table.to_markdown());
    assert!(table.to_html().contains("<tr><th>I_I (t)</th><td>GETS / I_I</td>"), "{}", table.to_html());
}
