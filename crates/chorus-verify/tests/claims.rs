//! Are the claims of controllers true that explorations rely on, and is a false one noticed?

use chorus_protocol::controller::Controller;
use chorus_protocol::message::Message;
use chorus_protocol::registry::{PROTOCOLS, find};
use chorus_verify::check::{check, check_with, find_configuration, quick_configurations};
use chorus_verify::settings::{Orders, Settings};
use chorus_verify::violation::Violation;

use crate::wrapped::{Wrap, wrapped};

/// Says that every message only counts.
struct Boastful;

impl Wrap for Boastful {
    fn only_counts<const W: usize>(_controller: &dyn Controller<W>, _message: &Message<W>) -> bool {
        true
    }
}

#[test]
fn a_false_claim_is_noticed() {
    for name in ["gpu-vi", "hmg", "mesi", "tc-weak"] {
        let protocol = wrapped::<Boastful>(find(name).unwrap());
        let config = find_configuration(protocol, "smoke-shared").unwrap();
        let report = check(protocol, None, &config);
        let violation = &report.chart().expect("it is noticed").violation;
        let hides_everything = matches!(violation, Violation::FalseClaim { .. });
        assert!(hides_everything || !report.passed(), "{name}: {violation}");
    }
}

#[test]
fn every_order_gives_the_executions_of_the_orders_that_are_followed() {
    for protocol in PROTOCOLS {
        let config = quick_configurations(*protocol).into_iter().find(|config| config.name.ends_with("kernels-smoke"));
        let config = config.unwrap_or_else(|| quick_configurations(*protocol).swap_remove(0));
        let [reduced, all] = [Orders::Reduced, Orders::All]
            .map(|orders| check_with(*protocol, None, &config, &Settings { orders, ..Settings::default() }));
        assert!(reduced.passed() && all.passed(), "{}", protocol.name());
        assert_eq!((reduced.programs, reduced.executions), (all.programs, all.executions), "{}", protocol.name());
        assert!(reduced.states <= all.states, "{}", protocol.name());
    }
}
