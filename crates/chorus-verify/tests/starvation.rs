//! Can a read be refused for ever? Spandex paper, section III-C: not if a refused ReqV is replaced by a request that
//! has a place in the order of writes.

use chorus_protocol::registry::find;
use chorus_verify::heterogeneous::{Retries, starving, starving_in_a_crowd};
use chorus_verify::starvation::{Answer, search};

use crate::pages::Page;

/// More states than the machine has.
const LIMIT: usize = 3_000_000;

fn answer(protocol: &str, retries: Retries) -> Answer {
    // The reader is the last of three threads.
    search(find(protocol).unwrap(), &starving(retries), 2, LIMIT).unwrap()
}

#[test]
fn a_read_that_is_always_sent_again_as_it_was_can_starve() {
    let Answer::Starves(starvation) = answer("smg", Retries::ForEver) else { panic!("it does not starve") };
    let cycle = starvation.cycle.to_text();
    assert!(cycle.contains("Nack") && cycle.contains("fwd ReqV"), "{cycle}");
    let text = format!("```text\n{}```", starvation.to_text());
    Page::read("docs/concepts/verification.md").expect("starvation", |_| text);
}

#[test]
fn a_read_that_is_replaced_after_one_refusal_cannot_starve() {
    for protocol in ["smg", "smd"] {
        let Answer::Never(_) = answer(protocol, Retries::One) else { panic!("{protocol}: it starves") };
    }
}

#[test]
fn nor_in_a_crowd() {
    for protocol in ["smg", "smd"] {
        let crowd = starving_in_a_crowd(Retries::One);
        let found = search(find(protocol).unwrap(), &crowd, 2, LIMIT).unwrap();
        let Answer::Never(states) = found else { panic!("{protocol}: it starves") };
        assert!(states > 10_000, "{protocol}: {states}");
    }
}
