//! The cost of the interface of Spandex. The arithmetic is that of the Spandex paper, sections III-A, III-B and III-F.
//!
//! | fact | meaning |
//! |---|---|
//! | `interface.requests.P` | kinds of request that devices make of protocol P's LLC |
//! | `interface.message_bits_extra.P` | bits that name a message on P's networks, beyond those of MESI |
//! | `interface.line_bits.P` | bits of the LLC that hold the state of a line: all that are not about words |
//! | `interface.word_bits.P` | bits of the LLC that hold the state of a word |

use std::collections::BTreeSet;

use chorus_protocol::address::Role;
use chorus_protocol::controller::{StateClass, StateSpec};
use chorus_protocol::message::{Channel, MessageSpec};
use chorus_protocol::registry::{Build, BuildConfig, Protocol};
use chorus_registry::Registry;
use chorus_verify::config::MachineConfig;

/// The protocol with which the messages of others are compared.
const COMPARED_WITH: &str = "mesi";

/// The first letters of the names of requests. Requests that are forwarded have other names.
const REQUEST: &str = "Req";

/// The state that each word of a line has by itself.
const OF_WORDS: &str = "O";

/// The facts about a protocol's interface; their names lack the name of the protocol.
pub fn count(registry: &Registry, protocol: &dyn Protocol) -> Vec<(String, f64)> {
    let messages = messages(protocol);
    let requests = messages.iter().filter(|name| name.starts_with(REQUEST)).count();
    let states = stable_states(protocol);
    let of_words = states.iter().filter(|state| state.name == OF_WORDS).count();
    let mut facts = vec![
        ("requests", requests as f64),
        ("line_bits", bits(states.len() - of_words)),
        // A word is in such a state or it is not, so that one bit is enough for each state.
        ("word_bits", of_words as f64),
    ];
    facts.extend(
        registry
            .find_protocol(COMPARED_WITH)
            .map(|mesi| ("message_bits_extra", bits(messages.len()) - bits(self::messages(mesi).len()))),
    );
    facts.into_iter().map(|(what, value)| (format!("interface.{what}"), value)).collect()
}

/// The messages on a protocol's networks. A message that two levels both use counts once.
fn messages(protocol: &dyn Protocol) -> BTreeSet<&'static str> {
    let networked = |spec: &&MessageSpec| matches!(spec.channel, Channel::Virtual(_));
    protocol.messages().iter().filter(networked).map(|spec| spec.name).collect()
}

/// The stable states of the LLC of a small machine.
fn stable_states(protocol: &dyn Protocol) -> Vec<&'static StateSpec> {
    let config = MachineConfig::for_choices(&[0, 1], 1, Vec::new()).build_config(protocol, None);
    let config = BuildConfig { topology: protocol.structure().complete(config.topology), ..config };
    let llc = Build::<2>::build(protocol, Role::L2, 0, &config);
    let states = llc.into_iter().flat_map(|llc| llc.vocabulary().states);
    states.filter(|state| state.class == StateClass::Stable).collect()
}

/// The number of bits that tell this many things apart.
fn bits(things: usize) -> f64 {
    (things as f64).log2().ceil()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chorus_registry::Registry;

    use super::count;

    #[test]
    fn the_interface_is_as_small_as_the_paper_says() {
        let registry = Registry::standard();
        let facts: BTreeMap<String, f64> =
            count(&registry, registry.find_protocol("sdd").unwrap()).into_iter().collect();
        assert_eq!(facts["interface.requests"], 7.0);
        assert_eq!((facts["interface.line_bits"], facts["interface.word_bits"]), (2.0, 1.0));
        assert!(facts["interface.message_bits_extra"] <= 1.0, "{facts:?}");
    }
}
