//! How many virtual networks a protocol needs to be free of deadlock.
//!
//! A virtual network is modelled as one pool of buffers that all its messages share, wherever they go: a network whose buffers are
//! shared as badly as can be. A controller takes an input only if everything that it sends finds room while the input still has its
//! place. Between a bank and its memory there is always room.
//!
//! Message classes that depend on each other need pools of their own: if taking a message of one class waits for room or for an answer
//! of another class, and both share a pool, then the first class fills it and nothing moves any more. Papers count the classes
//! (TC paper, Table 4: 2 for TC, 4 for GPU-VI, 5 for MESI); [`smallest`] tries every way to let the declared networks share.
//!
//! Buffers are as few as they can be: the capacity of the pools is the largest number of places that a single step needs in one, its
//! input's included. A deadlock is real for every capacity if enough is in flight; that an assignment is free of them is
//! shown for the configurations of [`crate::pressure`] alone.

use std::collections::HashMap;
use std::fmt::Write;

use chorus_protocol::controller::Outcome as StepOutcome;
use chorus_protocol::message::Channel;
use chorus_protocol::registry::Protocol;

use crate::chart::Chart;
use crate::check::CheckConfig;
use crate::config::MachineConfig;
use crate::explore::{End, Exploration, OnForbidden};
use crate::machine::Machine;
use crate::node::StepInput;
use crate::pressure::configurations;

/// How many messages may be in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Networks {
    /// As many as are sent; every virtual network has channels of its own.
    Unbounded,
    /// Virtual networks share pools of buffers.
    Finite {
        /// The pool of each virtual network that the protocol declares.
        pools: Vec<u8>,
        /// Messages that a pool holds, of all senders and receivers together.
        capacity: u16,
    },
}

impl Networks {
    /// The pool of a virtual network. A network that is not among those assigned has its own number's.
    pub fn pool(&self, network: u8) -> u8 {
        match self {
            Networks::Unbounded => network,
            Networks::Finite { pools, .. } => pools.get(usize::from(network)).copied().unwrap_or(network),
        }
    }
}

/// The most states that the search for deadlocks of one assignment in one configuration visits.
pub const STATE_LIMIT: usize = 400_000;

/// What came of letting networks share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No configuration has a deadlock.
    Free {
        /// States visited in all configurations.
        states: usize,
    },
    /// One has.
    Stuck(Box<Deadlock>),
    /// A search met its bound: nothing is shown.
    Bounded {
        /// The configuration.
        config: &'static str,
    },
}

/// A deadlock of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The configuration that has it.
    pub config: &'static str,
    /// The pool of each virtual network.
    pub pools: Vec<u8>,
    /// Messages that a pool holds.
    pub capacity: u16,
    /// The shortest way to it.
    pub chart: Chart,
}

/// An assignment of virtual networks to pools and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The pool of each virtual network.
    pub pools: Vec<u8>,
    /// What came of it.
    pub sharing: Sharing,
}

/// How few virtual networks a protocol can do with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkReport {
    /// The protocol's name.
    pub protocol: &'static str,
    /// Virtual networks that it declares.
    pub declared: u8,
    /// The smallest number of pools with which some assignment is free of deadlock in every configuration. None if not even the
    /// declared networks are.
    pub smallest: Option<u8>,
    /// Every assignment that was tried, fewest pools first, up to those with the smallest number that works.
    pub attempts: Vec<Attempt>,
}

impl NetworkReport {
    /// The assignments that are free of deadlock with the smallest number of pools.
    pub fn free(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| matches!(attempt.sharing, Sharing::Free { .. }))
    }

    /// The assignments of which nothing is known, since a search met its bound.
    pub fn undecided(&self) -> impl Iterator<Item = &Attempt> {
        self.attempts.iter().filter(|attempt| matches!(attempt.sharing, Sharing::Bounded { .. }))
    }

    /// The shortest deadlock among the assignments with the most pools that have one.
    pub fn deadlock(&self) -> Option<&Deadlock> {
        let deadlocks = self.attempts.iter().filter_map(|attempt| match &attempt.sharing {
            Sharing::Stuck(deadlock) => Some(&**deadlock),
            Sharing::Free { .. } | Sharing::Bounded { .. } => None,
        });
        let fewer = |deadlock: &&Deadlock| self.smallest.is_none_or(|smallest| pool_count(&deadlock.pools) < smallest);
        deadlocks.filter(fewer).min_by_key(|deadlock| {
            (std::cmp::Reverse(pool_count(&deadlock.pools)), deadlock.chart.rows.len())
        })
    }

    /// The report in words, with the chart of the deadlock that one network fewer leads to.
    pub fn to_text(&self, protocol: &dyn Protocol) -> String {
        let mut text = format!("{}: declares {} virtual networks, ", self.protocol, self.declared);
        match self.smallest {
            Some(smallest) => {
                let _ = writeln!(text, "needs {smallest} to be free of deadlock");
            }
            None => text.push_str("which are not free of deadlock\n"),
        }
        for attempt in self.free() {
            let _ = writeln!(text, "  free of deadlock: {}", describe(protocol, &attempt.pools));
        }
        for attempt in self.undecided() {
            let _ = writeln!(text, "  not finished: {}", describe(protocol, &attempt.pools));
        }
        if let Some(deadlock) = self.deadlock() {
            let Deadlock { config, pools, capacity, chart } = deadlock;
            let shared = describe(protocol, pools);
            let _ = writeln!(text, "  deadlock with {}: {shared}", count(usize::from(pool_count(pools)), "network"));
            let _ = writeln!(text, "\n{config}, {} per network\n{}", count(usize::from(*capacity), "message"), chart);
        }
        text
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The number of pools of an assignment.
pub fn pool_count(pools: &[u8]) -> u8 {
    pools.iter().max().map_or(0, |highest| highest + 1)
}

/// The messages of each pool, by name.
pub fn describe(protocol: &dyn Protocol, pools: &[u8]) -> String {
    let of_pool = |pool: u8| {
        let networks = (0..pools.len()).filter(|&network| pools[network] == pool);
        let names = networks.map(|network| messages(protocol, network as u8).join(" "));
        format!("[{}]", names.collect::<Vec<_>>().join(" + "))
    };
    (0..pool_count(pools)).map(of_pool).collect::<Vec<_>>().join(" ")
}

/// The names of the messages that travel on a virtual network.
fn messages(protocol: &dyn Protocol, network: u8) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for spec in protocol.messages().iter().filter(|spec| spec.channel == Channel::Virtual(network)) {
        if !names.contains(&spec.name) {
            names.push(spec.name);
        }
    }
    names
}

/// Every way to let `networks` networks share `pools` pools, each pool used. Pools are numbered in the order of their first network, so
/// that no two assignments differ in names alone.
pub fn assignments(networks: u8, pools: u8) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    for _ in 0..networks {
        let longer = |shorter: Vec<u8>| {
            let next = pool_count(&shorter);
            (0..=next.min(pools.saturating_sub(1))).map(move |pool| [shorter.as_slice(), &[pool]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all.retain(|assignment| pool_count(assignment) == pools);
    all
}

/// Tries every assignment of a protocol's virtual networks to pools, fewest pools first, until some are free of deadlock.
pub fn smallest(protocol: &'static dyn Protocol) -> NetworkReport {
    let declared = protocol.virtual_networks();
    let mut report = NetworkReport { protocol: protocol.name(), declared, smallest: None, attempts: Vec::new() };
    for pools in 1..=declared {
        for pools in assignments(declared, pools) {
            let sharing = try_sharing(protocol, &pools);
            report.attempts.push(Attempt { pools, sharing });
        }
        if report.free().next().is_some() {
            report.smallest = Some(pools);
            break;
        }
    }
    report
}

/// Looks for a deadlock of one assignment, in one configuration after the other.
pub fn try_sharing(protocol: &'static dyn Protocol, pools: &[u8]) -> Sharing {
    let mut all_states = 0;
    for config in configurations(protocol) {
        match try_configuration(protocol, pools, &config) {
            Sharing::Free { states } => all_states += states,
            sharing @ (Sharing::Stuck(_) | Sharing::Bounded { .. }) => return sharing,
        }
    }
    Sharing::Free { states: all_states }
}

/// Looks for a deadlock of one assignment in one configuration. The capacity grows until every step that is ever tried fits into
/// pools that are otherwise empty.
pub fn try_configuration(protocol: &'static dyn Protocol, pools: &[u8], config: &CheckConfig) -> Sharing {
    let mut capacity = 1;
    loop {
        let networks = Networks::Finite { pools: pools.to_vec(), capacity };
        let machine = MachineConfig { networks, ..config.machine.clone() };
        let mut exploration = Exploration::new(protocol, None, &machine, OnForbidden::Stop);
        let end = exploration.run(STATE_LIMIT);
        let needed = largest_step(exploration.machine());
        if needed > capacity {
            capacity = needed;
            continue;
        }
        return match end {
            End::Exhausted => Sharing::Free { states: exploration.states() },
            End::Bounded => Sharing::Bounded { config: config.name },
            End::Violated(failure) => {
                let chart = Chart::of_failure(&mut exploration, &failure);
                Sharing::Stuck(Box::new(Deadlock { config: config.name, pools: pools.to_vec(), capacity, chart }))
            }
        };
    }
}

/// The largest number of places in one pool that any step tried so far needs, with that of its input. The input of an eviction that
/// makes room is what needs the room.
fn largest_step(machine: &Machine) -> u16 {
    let results = machine.nodes().all_results();
    let by_input: HashMap<_, _> = results.iter().map(|step| ((step.before, step.input), step)).collect();
    let places = |input: StepInput, sent: &[u32]| {
        let input_pool = match input {
            StepInput::Message(number) => machine.pool(number),
            StepInput::Request(_) | StepInput::Evict(_) | StepInput::Time(_) => None,
        };
        let pools = sent.iter().filter_map(|&number| machine.pool(number));
        let places = |pool: u8| {
            let sent = sent.iter().filter(|&&number| machine.pool(number) == Some(pool)).count();
            sent + usize::from(input_pool == Some(pool))
        };
        pools.map(places).max().unwrap_or(0)
    };
    let needs = results.iter().map(|step| match step.outcome {
        Ok(StepOutcome::Evict(victim)) => {
            let eviction = by_input.get(&(step.before, StepInput::Evict(victim.0 as u8)));
            eviction.map_or(0, |eviction| places(step.input, &eviction.sent))
        }
        Ok(StepOutcome::Done | StepOutcome::Stall) | Err(_) => places(step.input, &step.sent),
    });
    needs.max().map_or(1, |places| places.max(1) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_all_set_partitions_each_once() {
        assert_eq!(assignments(3, 2), [vec![0, 0, 1], vec![0, 1, 0], vec![0, 1, 1]]);
        let counts = [1, 15, 25, 10, 1];
        assert_eq!((1..=5).map(|pools| assignments(5, pools).len()).collect::<Vec<_>>(), counts);
    }

    #[test]
    fn unbounded_networks_do_not_share() {
        assert_eq!(Networks::Unbounded.pool(3), 3);
        assert_eq!(Networks::Finite { pools: vec![0, 1, 1], capacity: 2 }.pool(2), 1);
    }
}
