//! What Chorus counts in its own controllers, for the claims of the papers: states per role as in Table 1 of the TC paper, and
//! virtual networks beyond those of the non-coherent GPU.

use std::collections::{BTreeMap, BTreeSet};

use chorus_lab::paper::Paper;
use chorus_protocol::address::Role;
use chorus_protocol::registry::{self, Protocol};
use chorus_verify::table::TransitionTable;

/// The protocol whose virtual networks others are compared with.
const NON_COHERENT: &str = "no-coh";

/// The facts about every protocol that a claim of these papers names: `states.l1.P`, `states.l2.P` and `virtual_networks.extra.P`.
pub fn count(papers: &[Paper]) -> BTreeMap<String, f64> {
    let claimed = papers.iter().flat_map(|paper| &paper.claims).filter_map(|claim| claim.fact.as_deref());
    let names: BTreeSet<&str> = claimed.filter_map(|fact| fact.rsplit('.').next()).collect();
    names.into_iter().filter_map(registry::find).flat_map(about).collect()
}

fn about(protocol: &'static dyn Protocol) -> Vec<(String, f64)> {
    let name = protocol.name();
    let table = TransitionTable::extract(protocol);
    let states = |role: Role, key: &str| {
        let total = table.role(role)?.counts().total();
        Some((format!("states.{key}.{name}"), total as f64))
    };
    let extra = registry::find(NON_COHERENT).map(|baseline| {
        let extra = f64::from(protocol.virtual_networks()) - f64::from(baseline.virtual_networks());
        (format!("virtual_networks.extra.{name}"), extra)
    });
    [states(Role::L1, "l1"), states(Role::L2, "l2"), extra].into_iter().flatten().collect()
}
