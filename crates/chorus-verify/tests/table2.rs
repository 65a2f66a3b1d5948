//! The extracted table of TC-Weak against Table 2 of the TC paper, cell by cell.
//!
//! A cell of the paper is written as this project's tables write it: messages sent, then the next state, alternatives
//! separated by `|`; `hit` answers the core, `×` cannot happen, `stall` waits. Cells marked `?` cannot be read in the
//! copies of the paper that there are, and are filled in from the text.

use std::collections::BTreeSet;

use chorus_protocol::address::Role;
use chorus_protocol::registry::find;
use chorus_verify::table::{Reaction, RoleTable};

use crate::explored;

/// State by state: Load, Store, Atomic, Eviction, Expire, Data, Write Ack.
const L1: [(&str, [&str; 7]); 5] = [
    ("I", ["GETS / I_V", "? GETX / I_I", "? ATOMIC / I_I", "×", "×", "×", "×"]),
    ("V", ["hit / V", "UPGR / V_M", "ATOMIC / I_I", "? I", "I", "×", "×"]),
    ("V_M", ["hit / V_M", "UPGR / V_M", "ATOMIC / I_I", "stall", "I_I", "V | V_M", "V | V_M"]),
    ("I_V", ["? I_V", "? GETX / I_I", "ATOMIC / I_I", "stall", "×", "? V", "×"]),
    ("I_I", ["GETS / I_I", "GETX / I_I", "ATOMIC / I_I", "stall", "×", "I | I_I", "I | I_I"]),
];

/// State by state: GETS, GETX, UPGR, ATOMIC, Evict, Expire, Mem Data.
const L2: [(&str, [&str; 7]); 7] = [
    ("I", ["FETCH / I_S", "FETCH / I_M", "? FETCH / I_M", "FETCH / I_M", "×", "×", "×"]),
    ("P", ["DATA / S", "? ACK-G / P", "ACK / P | DATA-G / P", "DATA-G / P", "M_I | WB / M_I", "E", "×"]),
    ("S", ["DATA / S", "ACK-G / P", "ACK-G / P | DATA-G / P", "? DATA-G / S", "M_I | WB / M_I", "E", "×"]),
    ("E", ["DATA / P", "ACK / E", "ACK / E", "DATA-G / E", "I | WB / I", "×", "×"]),
    ("I_S", ["I_S", "stall", "stall", "stall", "stall", "×", "DATA / P | DATA / S"]),
    ("I_M", ["stall", "stall", "stall", "stall", "stall", "×", "ACK / E | DATA-G / E"]),
    ("M_I", ["FETCH / I_S", "FETCH / I_M", "? FETCH / I_M", "FETCH / I_M", "×", "I", "×"]),
];

/// The reactions of the controllers beyond the paper's cells, each for a reason that `docs/protocols/tc-weak.md` gives.
const BEYOND: [(&str, &str, &str); 5] = [
    // A lease may end while its line is on the way.
    ("I_V", "Data", "I"),
    // Loads that merged after the lease had ended are asked for again.
    ("I_V", "Data", "GETS / I_V"),
    ("I_I", "Data", "GETS / I_I"),
    // A write miss keeps the timestamp of the line's earlier stay.
    ("I_M", "MemData", "ACK-G / P"),
    ("I_M", "MemData", "DATA-G / P"),
];

/// The reactions of a cell, apart from waiting for places and registers, which the paper's table leaves out.
fn seen(table: &RoleTable, state: &str, event: &str) -> BTreeSet<String> {
    let vocabulary = table.vocabulary;
    let state = vocabulary.states.iter().position(|spec| spec.name == state).unwrap() as u8;
    let event = vocabulary.events.iter().position(|name| *name == event).unwrap() as u8;
    let reactions = table.cell(state, event).into_iter().flatten();
    let done: BTreeSet<String> = reactions.clone().filter_map(describe).collect();
    match done.is_empty() && reactions.clone().any(|reaction| *reaction == Reaction::Stall) {
        true => BTreeSet::from(["stall".to_owned()]),
        false => done,
    }
}

/// A reaction without whether the core is answered, except where nothing else happens.
fn describe(reaction: &Reaction) -> Option<String> {
    match reaction {
        Reaction::Done { sends, next, .. } if sends.is_empty() => Some((*next).to_owned()),
        Reaction::Done { sends, next, .. } => Some(format!("{} / {next}", sends.join(", "))),
        Reaction::MakeRoom | Reaction::Stall => None,
    }
}

fn expected(cell: &str, state: &str, event: &str) -> BTreeSet<String> {
    let paper = cell.trim_start_matches("? ").split(" | ").filter(|reaction| *reaction != "×");
    let beyond = BEYOND.iter().filter(|beyond| (beyond.0, beyond.1) == (state, event)).map(|beyond| beyond.2);
    paper.chain(beyond).map(|reaction| reaction.trim_start_matches("hit / ").to_owned()).collect()
}

fn compare(table: &RoleTable, rows: &[(&str, [&str; 7])]) {
    for (state, cells) in rows {
        for (event, cell) in table.vocabulary.events.iter().zip(cells) {
            assert_eq!(seen(table, state, event), expected(cell, state, event), "{state} on {event}");
        }
    }
}

#[test]
fn tc_weak_does_what_table_2_says_and_what_is_documented_beyond_it() {
    for protocol in ["tc-weak", "tc-weak-fixed"] {
        let table = explored::table(find(protocol).unwrap());
        compare(table.role(Role::L1).unwrap(), &L1);
        compare(table.role(Role::L2).unwrap(), &L2);
    }
}
