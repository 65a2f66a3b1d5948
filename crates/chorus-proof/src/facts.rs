//! Facts that Chorus counts in its own controllers and machines, for the claims of the papers.
//!
//! | fact | meaning |
//! |---|---|
//! | `states.ROLE.P` | states of protocol P's controllers of a role, `l1` or `l2` (TC paper, Table 1) |
//! | `states.transient_coherent.ROLE.P` | transient states of these controllers that only coherence needs |
//! | `states.transient_coherent.P` | transient states that only coherence needs, of both roles together |
//! | `virtual_networks.extra.P` | virtual networks beyond those of the non-coherent GPU (TC paper, Table 4) |
//! | `states.transient.ROLE.P` | transient states of any kind of these controllers (HMG paper, section III-B) |
//! | `worst_case_buffer.S` | buffer for a request per thread, over S's L2 at full size (TC paper, section 5.2) |
//!
//! Three modules count further facts: [`directories`] those about directories, [`chiplet_tables`] those about the
//! tables of command processors, and [`interface`] those about the interface of Spandex.

mod chiplet_tables;
mod directories;
mod interface;

use std::collections::{BTreeMap, BTreeSet};

use chorus_lab::paper::Paper;
use chorus_lab::run::Build;
use chorus_lab::store::{Store, StoreError};
use chorus_protocol::address::Role;
use chorus_protocol::registry::{Protocol, find};
use chorus_registry::Registry;
use chorus_system::{Scale, SystemConfig};
use chorus_verify::table::{StateCounts, TransitionTable};

/// The protocol with which the virtual networks of others are compared.
const NON_COHERENT: &str = "no-coh";

/// Bytes of a coherence request in a buffer that is sized for the worst case. The TC paper does not print this size. Of
/// the sizes that are whole words, only this one gives the paper's 28 %.
const REQUEST_BYTES: f64 = 12.0;

/// The facts about every protocol and system that a claim of these papers names. Those that take long are taken from
/// the store, if this build has counted them before.
pub fn count(
    registry: &Registry,
    papers: &[Paper],
    store: &Store,
    build: &Build,
) -> Result<BTreeMap<String, f64>, StoreError> {
    let claims = papers.iter().flat_map(|paper| &paper.statements.claims);
    let facts: Vec<(&str, &str)> = claims.filter_map(|claim| claim.fact.as_deref()?.rsplit_once('.')).collect();
    // A system and a protocol may have the same name, so the fact decides which of them is meant.
    let is_of_system =
        |what: &str| what.starts_with("directory.") || what.starts_with("table.") || what == "worst_case_buffer";
    let is_of_interface = |what: &str| what.starts_with("interface.");
    let names = |takes: &dyn Fn(&str) -> bool| -> BTreeSet<&str> {
        facts.iter().filter(|(what, _)| takes(what)).map(|(_, name)| *name).collect()
    };
    let protocols = names(&|what| !is_of_system(what) && !is_of_interface(what));
    let protocols = protocols.into_iter().filter_map(|name| registry.find_protocol(name));
    let protocols = protocols.map(|protocol| kept_of_protocol(registry, protocol, store, build));
    let protocols: Vec<BTreeMap<String, f64>> = protocols.collect::<Result<_, _>>()?;
    let interfaces = names(&is_of_interface).into_iter().filter_map(|name| registry.find_protocol(name));
    let interfaces = interfaces.flat_map(|protocol| of_interface(registry, protocol));
    let systems = names(&is_of_system).into_iter().flat_map(|name| of_system(registry, name));
    Ok(protocols.into_iter().flatten().chain(interfaces).chain(systems).collect())
}

/// The facts about a protocol, from the store if it has them. Only those of shipped protocols are kept: a build of
/// Chorus says nothing about the code of others.
fn kept_of_protocol(
    registry: &Registry,
    protocol: &'static dyn Protocol,
    store: &Store,
    build: &Build,
) -> Result<BTreeMap<String, f64>, StoreError> {
    let is_shipped = find(protocol.name()).is_some();
    let subject = format!("protocol {}", protocol.name());
    if is_shipped && let Some(kept) = store.facts(&subject, build)? {
        return Ok(kept);
    }
    let facts = of_protocol(registry, protocol).into_iter().collect();
    if is_shipped {
        store.keep_facts(&subject, build, &facts)?;
    }
    Ok(facts)
}

fn of_interface(registry: &Registry, protocol: &'static dyn Protocol) -> Vec<(String, f64)> {
    let facts = interface::count(registry, protocol);
    facts.into_iter().map(|(what, value)| (format!("{what}.{}", protocol.name()), value)).collect()
}

fn of_protocol(registry: &Registry, protocol: &'static dyn Protocol) -> Vec<(String, f64)> {
    let name = protocol.name();
    let table = TransitionTable::extract(protocol);
    let mut facts = Vec::new();
    let mut transient_coherent = 0;
    for (role, key) in [(Role::L1, "l1"), (Role::L2, "l2")] {
        let counts = table.role(role).map_or_else(StateCounts::default, |role| role.counts());
        transient_coherent += counts.transient_coherent;
        facts.push((format!("states.{key}.{name}"), counts.total() as f64));
        facts.push((format!("states.transient.{key}.{name}"), (counts.total() - counts.stable) as f64));
        facts.push((format!("states.transient_coherent.{key}.{name}"), counts.transient_coherent as f64));
    }
    facts.push((format!("states.transient_coherent.{name}"), transient_coherent as f64));
    facts.extend(registry.find_protocol(NON_COHERENT).map(|baseline| {
        let extra = f64::from(protocol.virtual_networks()) - f64::from(baseline.virtual_networks());
        (format!("virtual_networks.extra.{name}"), extra)
    }));
    facts
}

/// The facts about a system of this name; none if the registry has no such system.
fn of_system(registry: &Registry, name: &str) -> Vec<(String, f64)> {
    let Ok(system) = registry.resolve_system(name, Scale::Paper, &[]) else { return Vec::new() };
    let SystemConfig { core, l2, .. } = &system.config;
    // The threads of one module: its L2 answers only these.
    let threads = [core.count, core.wavefronts, core.lanes].map(f64::from).iter().product::<f64>();
    let l2_bytes = f64::from(l2.banks) * f64::from(l2.bank_bytes);
    let buffer = ("worst_case_buffer".to_owned(), threads * REQUEST_BYTES / l2_bytes);
    let beside = directories::count(&system.config).into_iter().chain(chiplet_tables::count(&system.config));
    let facts = std::iter::once(buffer).chain(beside);
    facts.map(|(what, value)| (format!("{what}.{name}"), value)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chorus_registry::Registry;

    use super::of_system;

    fn fact(system: &str, what: &str) -> Option<f64> {
        of_system(&Registry::standard(), system)
            .into_iter()
            .collect::<BTreeMap<_, _>>()
            .get(&format!("{what}.{system}"))
            .copied()
    }

    #[test]
    fn the_worst_case_buffer_follows_from_the_machine() {
        let expected = 16.0 * 48.0 * 32.0 * 12.0 / (8.0 * 128.0 * 1024.0);
        assert_eq!(fact("tc", "worst_case_buffer"), Some(expected));
        assert_eq!(of_system(&Registry::standard(), "gpu-vi"), []);
    }
}
