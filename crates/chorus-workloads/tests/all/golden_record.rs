//! Golden records as text: every value of every run on a machine.
//!
//! A record is a file per machine. A line `[WORKLOAD PROTOCOL]` begins a run. Each line below it has a key and a value.
//! Keys whose value is zero are left out.

use std::collections::BTreeMap;

/// Values of a run by their keys, as they are written.
pub type Values = BTreeMap<String, String>;

/// The runs of a machine: workload and protocol, with the values of each.
pub type Record = BTreeMap<(String, String), Values>;

/// The record that a text holds. Lines that are neither a run nor a value are left out.
pub fn parse(text: &str) -> Record {
    let mut record = Record::new();
    let mut run = None;
    for line in text.lines() {
        let Some((first, second)) = line.trim_matches(['[', ']']).split_once(' ') else { continue };
        if line.starts_with('[') {
            run = Some((first.to_owned(), second.to_owned()));
            record.entry((first.to_owned(), second.to_owned())).or_default();
        } else if let Some(values) = run.as_ref().and_then(|run| record.get_mut(run)) {
            values.insert(first.to_owned(), second.to_owned());
        }
    }
    record
}

/// The value of a key as a number; zero if it is left out.
pub fn number(values: &Values, key: &str) -> f64 {
    values.get(key).and_then(|value| value.parse().ok()).unwrap_or(0.0)
}

/// The relative difference of two numbers. From zero to anything else it is infinite.
pub fn relative(old: f64, new: f64) -> f64 {
    if old == new { 0.0 } else { (new - old) / old.abs() }
}
