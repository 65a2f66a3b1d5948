//! Do the tests that tell kinds of protocols apart do so, and does every protocol show and hide what it must?
//!
//! What must never be seen and what must be seen are both asserted.

use std::collections::{BTreeMap, BTreeSet};

use chorus_protocol::registry::{MemoryModel, PROTOCOLS, Protocol, Reach};
use chorus_verify::config::Stores;
use chorus_verify::litmus::{DISCRIMINATORS, SuiteTest, find};

use crate::explored;

/// The telling outcomes that were seen, by test.
type Seen = BTreeMap<&'static str, bool>;

/// Four private caches have the most orders, and those of the writers of `IRIW+fences`, which have one store each,
/// hardly change where cores wait for it. Beside such cores that test is left to `chorus check --all` on machines with
/// many orders.
fn too_large(protocol: &dyn Protocol, test: &SuiteTest, stores: Stores) -> bool {
    // Invalidations and their acknowledgements travel on networks of their own.
    let has_many_orders = protocol.virtual_networks() > 2;
    let has_many_caches = test.test.program.threads.iter().any(|thread| thread.cta > 2);
    stores == Stores::Blocking && has_many_caches && has_many_orders
}

/// Runs the discriminators, each of which must pass.
fn seen(protocol: &'static dyn Protocol, stores: Stores) -> Seen {
    let mut seen = Seen::new();
    for name in DISCRIMINATORS {
        let test = find(name).unwrap_or_else(|| panic!("there is no test {name}"));
        if too_large(protocol, &test, stores) {
            continue;
        }
        let result = explored::litmus(protocol, &test, stores);
        assert!(result.passed(), "{}", result.to_text());
        assert!(result.expectation.is_some(), "{name} says nothing of {}", result.model.name());
        seen.insert(name, result.telling_reached());
    }
    seen
}

/// The protocols of a model that stay within one module. `scoped.rs` tests those that reach further.
fn protocols(model: MemoryModel) -> impl Iterator<Item = &'static dyn Protocol> {
    let is_one =
        move |protocol: &&'static dyn Protocol| protocol.model() == model && protocol.reach() == Reach::OneModule;
    PROTOCOLS.iter().copied().filter(is_one)
}

/// The telling outcomes of all protocols of a model, which agree on every test that was run on them.
fn class(model: MemoryModel, stores: Stores) -> Seen {
    let mut class = Seen::new();
    for protocol in protocols(model) {
        for (test, is_seen) in seen(protocol, stores) {
            let agreed = *class.entry(test).or_insert(is_seen);
            assert_eq!(is_seen, agreed, "{test} on {}", protocol.name());
        }
    }
    class
}

#[track_caller]
fn expect_seen(class: &Seen, expected: &[&str]) {
    let tests: BTreeSet<&str> = class.iter().filter(|&(_, &is_seen)| is_seen).map(|(test, _)| *test).collect();
    assert_eq!(class.len(), DISCRIMINATORS.len());
    assert_eq!(tests, expected.iter().copied().collect());
}

const STALE: [&str; 7] =
    ["MP", "SB+ra", "WRC+ra", "IRIW+fences", "MP+release+weak-reader", "ISA2+cta-gpu", "MP+cta+across"];
const NON_ATOMIC: [&str; 4] = ["MP", "SB+ra", "WRC+ra", "IRIW+fences"];
const ATOMIC: [&str; 2] = ["MP", "SB+ra"];

#[test]
fn without_coherence_everything_is_seen_but_what_one_location_forbids() {
    expect_seen(&class(MemoryModel::PerLocation, Stores::Posted), &STALE);
}

#[test]
fn without_atomic_writes_witnesses_are_not_believed() {
    expect_seen(&class(MemoryModel::Rcpc, Stores::Posted), &NON_ATOMIC);
}

#[test]
fn with_atomic_writes_only_unordered_accesses_are_seen() {
    expect_seen(&class(MemoryModel::WriteAtomicRc, Stores::Posted), &ATOMIC);
}

#[test]
fn with_atomic_writes_and_cores_that_wait_nothing_is_seen() {
    expect_seen(&class(MemoryModel::WriteAtomicRc, Stores::Blocking), &[]);
}

#[test]
fn the_four_classes_differ() {
    let classes: BTreeSet<&[&str]> = [STALE.as_slice(), &NON_ATOMIC, &ATOMIC, &[]].into();
    assert_eq!(classes.len(), 4);
}
