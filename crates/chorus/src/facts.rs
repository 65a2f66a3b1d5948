//! What Chorus counts in its own controllers and machines, for the claims of the papers.
//!
//! | fact | meaning |
//! |---|---|
//! | `states.ROLE.P` | states of protocol P's controllers of a role, `l1` or `l2` (TC paper, Table 1) |
//! | `states.transient_coherent.ROLE.P` | those of them that only coherence needs |
//! | `states.transient_coherent.P` | the same of both roles together |
//! | `virtual_networks.extra.P` | virtual networks beyond those of the non-coherent GPU (TC paper, Table 4) |
//! | `worst_case_buffer.S` | a buffer for one request per thread, over the L2 of system S at full size (TC paper, section 5.2) |

use std::collections::{BTreeMap, BTreeSet};

use chorus_lab::paper::Paper;
use chorus_protocol::address::Role;
use chorus_protocol::registry::{self, Protocol};
use chorus_system::{Scale, SystemConfig, resolve};
use chorus_verify::table::{StateCounts, TransitionTable};

/// The protocol whose virtual networks others are compared with.
const NON_COHERENT: &str = "no-coh";

/// A coherence request in a buffer that is sized for the worst case. The TC paper does not print it; of the sizes that are whole
/// words, this one alone gives its 28 %.
const REQUEST_BYTES: f64 = 12.0;

/// The facts about every protocol and system that a claim of these papers names.
pub fn count(papers: &[Paper]) -> BTreeMap<String, f64> {
    let claims = papers.iter().flat_map(|paper| &paper.statements.claims);
    let named = claims.filter_map(|claim| claim.fact.as_deref()).filter_map(|fact| fact.rsplit('.').next());
    let names: BTreeSet<&str> = named.collect();
    let protocols = names.iter().filter_map(|name| registry::find(name)).flat_map(of_protocol);
    protocols.chain(names.iter().filter_map(|name| of_system(name))).collect()
}

fn of_protocol(protocol: &'static dyn Protocol) -> Vec<(String, f64)> {
    let name = protocol.name();
    let table = TransitionTable::extract(protocol);
    let mut facts = Vec::new();
    let mut transient_coherent = 0;
    for (role, key) in [(Role::L1, "l1"), (Role::L2, "l2")] {
        let counts = table.role(role).map_or_else(StateCounts::default, |role| role.counts());
        transient_coherent += counts.transient_coherent;
        facts.push((format!("states.{key}.{name}"), counts.total() as f64));
        facts.push((format!("states.transient_coherent.{key}.{name}"), counts.transient_coherent as f64));
    }
    facts.push((format!("states.transient_coherent.{name}"), transient_coherent as f64));
    facts.extend(registry::find(NON_COHERENT).map(|baseline| {
        let extra = f64::from(protocol.virtual_networks()) - f64::from(baseline.virtual_networks());
        (format!("virtual_networks.extra.{name}"), extra)
    }));
    facts
}

/// Facts about a shipped system; none where there is none of that name.
fn of_system(name: &str) -> Option<(String, f64)> {
    let SystemConfig { core, l2, .. } = resolve(name, Scale::Paper, &[]).ok()?.config;
    // Of one module, whose L2 answers the threads of that module.
    let threads = [core.count, core.wavefronts, core.lanes].map(f64::from).iter().product::<f64>();
    let l2_bytes = f64::from(l2.banks) * f64::from(l2.bank_bytes);
    Some((format!("worst_case_buffer.{name}"), threads * REQUEST_BYTES / l2_bytes))
}

#[cfg(test)]
mod tests {
    use super::of_system;

    #[test]
    fn the_worst_case_buffer_follows_from_the_machine() {
        let expected = 16.0 * 48.0 * 32.0 * 12.0 / (8.0 * 128.0 * 1024.0);
        assert_eq!(of_system("tc"), Some(("worst_case_buffer.tc".to_owned(), expected)));
        assert_eq!(of_system("gpu-vi"), None);
    }
}
