//! The number of virtual networks that a protocol needs to be free of deadlock.
//!
//! A virtual network is modelled as one pool of buffers that all its messages share, wherever they go: a network whose
//! buffers are shared as badly as can be. A controller takes an input only if everything that it sends finds room while
//! the input still has its place. Between a bank and its memory there is always room, and so there is for messages that
//! wait in registers of their senders ([`Protocol::registered_networks`]); these count as in flight from the beginning.
//!
//! Message classes that depend on each other need pools of their own. If taking a message of one class waits for room
//! or for an answer of another class, and both share a pool, then the first class fills it and nothing moves any more.
//! Papers count the classes (TC paper, Table 4: 2 for TC, 4 for GPU-VI, 5 for MESI); [`smallest`] tries every way to
//! let the declared networks share.
//!
//! Buffers are as few as they can be: the capacity of the pools is the largest number of places that a single step
//! needs in one of them, the place of its input included. A deadlock is real for every capacity if enough is in flight.
//! That an assignment is free of deadlock is shown for the configurations of [`crate::pressure`] alone.

use std::collections::HashMap;
use std::fmt::Write;

use chorus_protocol::address::AgentId;
use chorus_protocol::message::Channel;
use chorus_protocol::registry::Protocol;

use crate::chart::Chart;
use crate::check::CheckConfig;
use crate::config::MachineConfig;
use crate::explore::{End, Exploration, OnForbidden};
use crate::heterogeneous;
use crate::machine::ExploredMachine;
use crate::node::{StepInput, Victim};
use crate::pressure::configurations_of;
use crate::replay::Replay;
use crate::settings::{Bound, Settings};

/// The number of messages that may be in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Networks {
    /// Any number of messages may be in flight, and every virtual network has channels of its own.
    Unbounded,
    /// Virtual networks share pools of buffers.
    Finite {
        /// The pool of each virtual network that the protocol declares.
        pools: Vec<u8>,
        /// The number of messages that a pool holds, of all senders and receivers together.
        capacity: u16,
    },
}

impl Networks {
    /// The pool of a virtual network. A network that is assigned to no pool has the pool of its own number.
    pub fn pool(&self, network: u8) -> u8 {
        match self {
            Networks::Unbounded => network,
            Networks::Finite { pools, .. } => pools.get(usize::from(network)).copied().unwrap_or(network),
        }
    }
}

/// The distance that a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The message stays within a module.
    Module,
    /// The message goes to another module of its GPU.
    Gpu,
    /// The message goes to another GPU.
    System,
}

impl ExploredMachine {
    /// Whether everything that a step sends finds room while its input still has its place. Steps of time do not wait
    /// for room.
    pub(crate) fn has_room(&self, state: &[u32], result: u32) -> bool {
        let Networks::Finite { capacity, .. } = self.config.networks else { return true };
        let step = self.nodes.result(result);
        let fits = |number: &u32| {
            let pool = self.pool(*number);
            let shares = |other: &&u32| self.pool(**other) == pool;
            let occupied = self.network(state).iter().filter(shares).count() + step.sent.iter().filter(shares).count();
            pool.is_none() || self.has_register(*number) || occupied <= usize::from(capacity)
        };
        matches!(step.input, StepInput::Time(_)) || step.sent.iter().all(fits)
    }

    /// Whether a message waits for room in a register of its sender.
    fn has_register(&self, number: u32) -> bool {
        let registered = self.protocol.registered_networks();
        match self.protocol.messages()[usize::from(self.nodes.message(number).kind.0)].channel {
            Channel::Virtual(network) => registered.contains(&network),
            Channel::Memory | Channel::Instant => false,
        }
    }

    /// The pool of buffers that a message takes a place in, and the distance that it travels: messages within a module,
    /// between modules and between GPUs travel on links of their own. Nothing for messages between a bank and its
    /// memory.
    pub fn pool(&self, number: u32) -> Option<(u8, Distance)> {
        let message = self.nodes.message(number);
        match self.protocol.messages()[usize::from(message.kind.0)].channel {
            Channel::Virtual(network) => {
                Some((self.config.networks.pool(network), self.distance(message.src, message.dst)))
            }
            Channel::Memory | Channel::Instant => None,
        }
    }

    fn distance(&self, from: AgentId, to: AgentId) -> Distance {
        let topology = self.config.topology;
        let [from, to] = [from, to].map(|agent| topology.module_of(agent));
        if from == to {
            Distance::Module
        } else if topology.gpu_of(from) == topology.gpu_of(to) {
            Distance::Gpu
        } else {
            Distance::System
        }
    }
}

/// The most states that the search for deadlocks of one assignment in one configuration visits, unless told otherwise.
pub const STATE_LIMIT: usize = 400_000;

/// The settings of a search for deadlocks, unless told otherwise.
pub fn default_settings() -> Settings {
    Settings::with_states(STATE_LIMIT)
}

/// The result of letting networks share pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// No configuration has a deadlock.
    Free {
        /// States visited in all configurations.
        states: usize,
    },
    /// A configuration has a deadlock.
    Stuck(Box<Deadlock>),
    /// A search met its bound, so that nothing is shown.
    Bounded {
        /// The name of the configuration.
        config: &'static str,
        /// The bound that the search met.
        bound: Bound,
    },
}

/// A deadlock of an assignment of networks to pools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The name of the configuration that has the deadlock.
    pub config: &'static str,
    /// The pool of each virtual network.
    pub pools: Vec<u8>,
    /// The number of messages that a pool holds.
    pub capacity: u16,
    /// The shortest path to the deadlock.
    pub chart: Chart,
}

/// An assignment of virtual networks to pools, and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The pool of each virtual network.
    pub pools: Vec<u8>,
    /// The result of the search for deadlocks.
    pub sharing: Sharing,
}

/// The number of virtual networks that a protocol needs, with everything that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkReport {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The number of virtual networks that it declares.
    pub declared: u8,
    /// The smallest number of pools with which some assignment is free of deadlock in every configuration. None if not
    /// even the declared networks are.
    pub smallest: Option<u8>,
    /// Every assignment that was tried, fewest pools first, up to those with the smallest number that works, and the
    /// declared assignment.
    pub attempts: Vec<Attempt>,
}

impl Deadlock {
    /// The path to the deadlock as a replay.
    pub fn replay(&self, protocol: &str) -> Replay {
        let networks = Networks::Finite { pools: self.pools.clone(), capacity: self.capacity };
        Replay { networks, ..Replay::of_chart(protocol, None, self.config, &self.chart) }
    }
}

impl NetworkReport {
    /// The assignments that are free of deadlock with the smallest number of pools.
    pub fn free(&self) -> impl Iterator<Item = &Attempt> {
        let is_free = |attempt: &&Attempt| matches!(attempt.sharing, Sharing::Free { .. });
        self.attempts.iter().filter(is_free).filter(|attempt| Some(pool_count(&attempt.pools)) == self.smallest)
    }

    /// Whether the networks as they are declared are free of deadlock.
    pub fn is_declared_free(&self) -> bool {
        let declared = self.attempts.iter().find(|attempt| pool_count(&attempt.pools) == self.declared);
        declared.is_some_and(|attempt| matches!(attempt.sharing, Sharing::Free { .. }))
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
        // A deadlock while caches are warmed has no chart.
        let is_drawn = |deadlock: &&Deadlock| !deadlock.chart.sequence.rows.is_empty();
        let order =
            |deadlock: &&Deadlock| (std::cmp::Reverse(pool_count(&deadlock.pools)), deadlock.chart.sequence.rows.len());
        deadlocks.filter(is_drawn).min_by_key(order)
    }

    /// The result in words, with the chart of a deadlock of one network fewer.
    pub fn to_text(&self) -> String {
        let bound = self.undecided().find_map(|attempt| match attempt.sharing {
            Sharing::Bounded { bound, .. } => Some(bound),
            Sharing::Free { .. } | Sharing::Stuck(_) => None,
        });
        let needs = match (self.smallest, bound) {
            (Some(smallest), None) => format!("needs {smallest} to be free of deadlock"),
            (Some(smallest), Some(_)) => format!("needs at most {smallest} to be free of deadlock"),
            (None, None) => "which are not free of deadlock".to_owned(),
            (None, Some(_)) => "which are not shown to be free of deadlock".to_owned(),
        };
        let mut text = format!("{} declares {} virtual networks, {needs}\n", self.protocol, self.declared);
        if let Some(bound) = bound {
            let _ = writeln!(text, "undecided assignments: {}, since {bound}", self.undecided().count());
        }
        if let Some(deadlock) = self.deadlock() {
            let Deadlock { config, pools, capacity, chart } = deadlock;
            let networks = plural(usize::from(pool_count(pools)), "network");
            let room = plural(usize::from(*capacity), "message");
            let _ = writeln!(
                text,
                "\na deadlock with {networks} ({}), room for {room} in each; {config}:",
                describe(pools)
            );
            let _ = writeln!(text, "\n{chart}{}", deadlock.replay(self.protocol).command("check"));
        }
        text
    }
}

fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The number of pools of an assignment.
pub fn pool_count(pools: &[u8]) -> u8 {
    pools.iter().max().map_or(0, |highest| highest + 1)
}

/// The virtual networks of each pool: `0 1+3 2`.
pub fn describe(pools: &[u8]) -> String {
    let of_pool = |pool: u8| {
        let networks = (0..pools.len()).filter(|&network| pools[network] == pool);
        networks.map(|network| network.to_string()).collect::<Vec<_>>().join("+")
    };
    (0..pool_count(pools)).map(of_pool).collect::<Vec<_>>().join(" ")
}

/// The names of the messages that travel on a virtual network.
pub fn messages(protocol: &dyn Protocol, network: u8) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for spec in protocol.messages().iter().filter(|spec| spec.channel == Channel::Virtual(network)) {
        if !names.contains(&spec.name) {
            names.push(spec.name);
        }
    }
    names
}

/// Every way to let `networks` networks share `pools` pools, each pool used. Pools are numbered in the order of their
/// first network, so that no two assignments differ in names alone.
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

/// Protocols with more virtual networks than this are not searched for a smaller number: there are too many
/// assignments.
const MERGED_MAX: u8 = 5;

/// Tries every assignment of a protocol's virtual networks to pools, fewest pools first, until some are free of
/// deadlock. Where there are too many assignments, only the one in which no networks share is tried.
pub fn smallest(protocol: &'static dyn Protocol, settings: &Settings) -> NetworkReport {
    let declared = protocol.virtual_networks();
    let mut report = NetworkReport { protocol: protocol.name(), declared, smallest: None, attempts: Vec::new() };
    let attempt = |pools: Vec<u8>| Attempt { sharing: try_sharing(protocol, &pools, settings), pools };
    let fewest = if declared > MERGED_MAX { declared } else { 1 };
    for pools in fewest..=declared {
        report.attempts.extend(assignments(declared, pools).into_iter().map(attempt));
        report.smallest = Some(pools);
        if report.free().next().is_some() {
            break;
        }
        report.smallest = None;
    }
    if report.smallest.is_some_and(|smallest| smallest < declared) {
        report.attempts.push(attempt((0..declared).collect()));
    }
    report
}

/// Looks for a deadlock of one assignment, in one configuration after the other.
pub fn try_sharing(protocol: &'static dyn Protocol, pools: &[u8], settings: &Settings) -> Sharing {
    let mut all_states = 0;
    for config in configurations_of(protocol) {
        match try_configuration(protocol, pools, &config, settings) {
            Sharing::Free { states } => all_states += states,
            sharing @ (Sharing::Stuck(_) | Sharing::Bounded { .. }) => return sharing,
        }
    }
    Sharing::Free { states: all_states }
}

/// Looks for a deadlock of one assignment in one configuration, with as little room as possible.
pub fn try_configuration(
    protocol: &'static dyn Protocol,
    pools: &[u8],
    config: &CheckConfig,
    settings: &Settings,
) -> Sharing {
    // A message that takes no time may make a translation unit send twice in one move.
    let least = if heterogeneous::applies(protocol) { 2 } else { 1 };
    try_with_room(protocol, pools, config, least, settings)
}

/// Looks for a deadlock of one assignment in one configuration. Each pool has room for `room` messages, or for more:
/// the capacity grows until every step that is ever tried fits into pools that are otherwise empty.
pub fn try_with_room(
    protocol: &'static dyn Protocol,
    pools: &[u8],
    config: &CheckConfig,
    room: u16,
    settings: &Settings,
) -> Sharing {
    let mut capacity = room;
    loop {
        let networks = Networks::Finite { pools: pools.to_vec(), capacity };
        let machine = MachineConfig { networks, ..config.machine.clone() };
        let mut exploration = Exploration::new(protocol, None, &machine, OnForbidden::Stop);
        let end = exploration.run(settings);
        let needed = largest_step(exploration.machine());
        if needed > capacity {
            capacity = needed;
            continue;
        }
        return match end {
            End::Exhausted => Sharing::Free { states: exploration.states() },
            End::Bounded(bound) => Sharing::Bounded { config: config.name, bound },
            End::Violated(failure) => {
                let chart = Chart::of_failure(&mut exploration, &failure);
                Sharing::Stuck(Box::new(Deadlock { config: config.name, pools: pools.to_vec(), capacity, chart }))
            }
        };
    }
}

/// The largest number of places in one pool that any step tried so far needs, the place of its input included. The
/// input of an eviction that makes room is the input that needs the room.
fn largest_step(machine: &ExploredMachine) -> u16 {
    let results = machine.nodes().all_results();
    let by_input: HashMap<_, _> = results.iter().map(|step| ((step.before, step.input), step)).collect();
    let places = |input: StepInput, sent: &[u32]| {
        let input_pool = match input {
            StepInput::Message(number) => machine.pool(number),
            StepInput::Request(_) | StepInput::Evict(_) | StepInput::Time(_) => None,
        };
        let pools = sent.iter().filter_map(|&number| machine.pool(number));
        let places = |pool: (u8, Distance)| {
            let sent = sent.iter().filter(|&&number| machine.pool(number) == Some(pool)).count();
            sent + usize::from(input_pool == Some(pool))
        };
        pools.map(places).max().unwrap_or(0)
    };
    let needs = results.iter().map(|step| match step.outcome.ok().and_then(Victim::of) {
        Some(victim) => {
            let eviction = by_input.get(&(step.before, StepInput::Evict(victim)));
            eviction.map_or(0, |eviction| places(step.input, &eviction.sent))
        }
        None => places(step.input, &step.sent),
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
    fn assignments_are_described_pool_by_pool() {
        assert_eq!(describe(&[0, 1, 2, 1]), "0 1+3 2");
    }

    #[test]
    fn unbounded_networks_do_not_share() {
        assert_eq!(Networks::Unbounded.pool(3), 3);
        assert_eq!(Networks::Finite { pools: vec![0, 1, 1], capacity: 2 }.pool(2), 1);
    }
}
