//! Tables II, III and IV of the Spandex paper against what the controllers do, read off every move of small machines.
//!
//! A device is a private cache with its translation unit: what counts is what comes to the unit from the network, and
//! what it sends there. A word of a device is Owned if the cache must write it back, Shared if its line is in S, and
//! Valid if it can be read otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use chorus_protocol::address::{AgentId, Role};
use chorus_protocol::controller::{Input, StateClass};
use chorus_protocol::line::ByteMask;
use chorus_protocol::message::Message;
use chorus_protocol::registry::{Protocol, find};
use chorus_verify::check::find_configuration;
use chorus_verify::machine::Action;
use chorus_verify::node::NOW;
use chorus_verify::observe::{Move, every_move};
use chorus_verify::program::{Op, WORDS};
use chorus_verify::state::Progress;

/// Spandex paper, Table II: device, its request, the request of Spandex, granularity.
const TABLE_II: [[&str; 4]; 11] = [
    ["GPU coherence", "Read", "ReqV", "line"],
    ["GPU coherence", "Write", "ReqWT", "word"],
    ["GPU coherence", "RMW", "ReqWT+data", "word"],
    ["DeNovo", "Read", "ReqV", "flexible"],
    ["DeNovo", "Write", "ReqO", "word"],
    ["DeNovo", "RMW", "ReqO+data", "word"],
    ["DeNovo", "Owned replacement", "ReqWB", "word"],
    ["MESI", "Read", "ReqS", "line"],
    ["MESI", "Write", "ReqO+data", "line"],
    ["MESI", "RMW", "ReqO+data", "line"],
    ["MESI", "Owned replacement", "ReqWB", "line"],
];

/// Spandex paper, Table III: request, next state at the LLC, what is forwarded if a word is owned; `-` is none.
const TABLE_III: [[&str; 3]; 10] = [
    ["ReqV", "-", "ReqV"],
    ["ReqS (1)", "S", "ReqS"],
    ["ReqS (2)", "-", "ReqV"],
    ["ReqS (3)", "O", "ReqO+data"],
    ["ReqWT", "V", "ReqO"],
    ["ReqO", "O", "ReqO"],
    ["ReqWT+data", "V", "RvkO"],
    ["ReqO+data", "O", "ReqO+data"],
    ["ReqWB from owner", "V", "-"],
    ["ReqWB from non-owner", "-", "-"],
];

/// Spandex paper, Table IV: external request, expected state, next state, what is sent.
const TABLE_IV: [[&str; 4]; 6] = [
    ["ReqV", "O", "O", "RspV to requestor"],
    ["ReqO", "O", "I", "RspO to requestor"],
    ["ReqO+data", "O", "I", "RspO+data to requestor"],
    ["RvkO", "O", "I", "RspRvkO to LLC"],
    ["Inv", "S", "I", "Ack to LLC"],
    ["ReqS", "O", "S", "RspS to requestor and RspRvkO to LLC"],
];

/// The observed reactions, in the form of the three tables.
#[derive(Default)]
struct Seen {
    requests: BTreeSet<[String; 4]>,
    /// For each request at the LLC, the next states of the words.
    next: BTreeMap<&'static str, BTreeSet<&'static str>>,
    /// The forwarded request for each request at the LLC, when a word was owned.
    forwarded: BTreeMap<&'static str, BTreeSet<String>>,
    external: BTreeSet<[String; 4]>,
    /// Whether a reader of some words was given more.
    generous: bool,
}

fn protocol(name: &str) -> &'static dyn Protocol {
    find(name).unwrap()
}

/// Looks at every move of a protocol in these configurations.
fn look(seen: &mut Seen, name: &str, configurations: &[&str]) {
    for config in configurations {
        let config = find_configuration(protocol(name), config).unwrap();
        let (_, reached) = every_move(protocol(name), &config.machine, 2_000_000, &mut |tried| {
            seen.issue(tried);
            seen.at_llc(tried);
            seen.at_device(tried);
        })
        .unwrap();
        assert!(reached.is_some(), "{name} {} has too many states", config.name);
    }
}

fn granularity(mask: ByteMask) -> &'static str {
    match mask.words().count() {
        1 => "word",
        _ if mask == ByteMask::full::<WORDS>() => "line",
        _ => "words",
    }
}

/// The state of one word of a device, as the rest of the system sees it.
fn word_state(tried: &Move<'_>, state: &[u32], agent: u16, line: u64, word: usize) -> &'static str {
    let node = tried.machine.node(state, agent);
    let view = &node.views[line as usize];
    let name = node.controller.vocabulary().states[usize::from(view.state)].name;
    let has = |mask: ByteMask| mask.words().any(|other| other == word);
    match tried.machine.config().topology.role(AgentId(agent)).0 {
        Role::L1 if has(view.dirty) => "O",
        Role::L1 | Role::L2 if has(view.readable) => {
            if name == "S" {
                "S"
            } else {
                "V"
            }
        }
        Role::L2 if name != "I" => "O",
        _ => "I",
    }
}

/// The common state of the words that a message is about, if they have one.
fn states(tried: &Move<'_>, state: &[u32], agent: u16, message: &Message<WORDS>) -> Option<&'static str> {
    let states: BTreeSet<&str> =
        message.mask.words().map(|word| word_state(tried, state, agent, message.line.0, word)).collect();
    states.first().copied().filter(|_| states.len() == 1)
}

fn is_stable(tried: &Move<'_>, state: &[u32], agent: u16, line: u64) -> bool {
    let node = tried.machine.node(state, agent);
    let spec = &node.controller.vocabulary().states[usize::from(node.views[line as usize].state)];
    spec.class == StateClass::Stable
}

impl Seen {
    /// Table II: what a core asks for, or a line that leaves, and the request that follows.
    fn issue(&mut self, tried: Move<'_>) {
        let (machine, Some((_, after))) = (tried.machine, tried.after) else { return };
        let topology = machine.config().topology;
        let (cache, event) = match tried.action {
            Action::Issue { thread, choice } => {
                let spec = &machine.config().threads[usize::from(thread)];
                let new = |slot: &usize| {
                    machine.progress(tried.before.1, usize::from(thread), *slot) == Progress::Waiting
                        && machine.progress(after, usize::from(thread), *slot) != Progress::Waiting
                };
                let Some(slot) = (0..spec.steps.len()).find(new) else { return };
                let event = match spec.steps[slot].alternatives[usize::from(choice)] {
                    Op::Load { order: chorus_protocol::access::Order::Weak, .. } => "Read",
                    Op::Store { order: chorus_protocol::access::Order::Weak, .. } => "Write",
                    Op::Atomic { .. } => "RMW",
                    _ => return,
                };
                (spec.cache, event)
            }
            Action::Evict { agent, .. } if u16::from(agent) < topology.l1s => (u16::from(agent), "Owned replacement"),
            _ => return,
        };
        let device = machine.node(after, cache).controller.vocabulary().device;
        let unit = topology.tu_of(AgentId(cache)).unwrap();
        for message in tried.sent().into_iter().filter(|message| message.src == unit) {
            let size = match (device, event) {
                ("DeNovo", "Read") => "flexible",
                _ => granularity(message.mask),
            };
            self.requests.insert([device, event, tried.name(message), size].map(str::to_owned));
        }
    }

    /// Table III: what the LLC makes of a request.
    fn at_llc(&mut self, tried: Move<'_>) {
        let (Some(message), Some((_, after))) = (tried.delivered(), tried.after) else { return };
        let (role, _) = tried.machine.config().topology.role(message.dst);
        if role != Role::L2 {
            return;
        }
        let node = tried.machine.node(tried.before.1, message.dst.0);
        let class = node.controller.classify(&Input::Message(message), NOW).unwrap();
        let vocabulary = node.controller.vocabulary();
        let event = vocabulary.events[usize::from(class.event)];
        let words = |state: &[u32], mask: ByteMask| {
            let of_mask = Message { mask, ..*message };
            states(&tried, state, message.dst.0, &of_mask)
        };
        for answer in tried.sent() {
            let blocked = match tried.name(answer) {
                "RspWT+data" => "ReqWT+data",
                "RspS" if is_stable(&tried, after, message.dst.0, message.line.0) => "ReqS (1)",
                "RspV" if answer.mask.bytes() > message.mask.bytes() => {
                    self.generous = true;
                    continue;
                }
                _ => continue,
            };
            self.next.entry(blocked).or_default().extend(words(after, answer.mask));
        }
        if !TABLE_III.iter().any(|row| row[0] == event) {
            return;
        }
        let state = vocabulary.states[usize::from(class.state)].name;
        if state == "O" {
            let probes = tried.sent().into_iter().map(|sent| tried.name(sent));
            let probes = probes.filter_map(|name| name.strip_prefix("fwd ").or((name == "RvkO").then_some(name)));
            let probes: Vec<&str> = probes.collect();
            let forwarded = if probes.is_empty() { "-".to_owned() } else { probes.join(" and ") };
            self.forwarded.entry(event).or_default().insert(forwarded);
        }
        if is_stable(&tried, after, message.dst.0, message.line.0)
            && is_stable(&tried, tried.before.1, message.dst.0, message.line.0)
        {
            let (old, new) = (words(tried.before.1, message.mask), words(after, message.mask));
            let unchanged = message.mask.words().all(|word| {
                let of = |state: &[u32]| word_state(&tried, state, message.dst.0, message.line.0, word);
                of(tried.before.1) == of(after)
            });
            let table = TABLE_III.iter().find(|row| row[0] == event).map(|row| row[1]);
            let next = if unchanged && (table == Some("-") || old == Some("I")) { Some("-") } else { new };
            self.next.entry(event).or_default().extend(next);
        }
    }

    /// Table IV: what a device makes of a request from outside.
    fn at_device(&mut self, tried: Move<'_>) {
        let (Some(message), Some((_, after))) = (tried.delivered(), tried.after) else { return };
        let topology = tried.machine.config().topology;
        let (role, index) = topology.role(message.dst);
        let name = tried.name(message);
        let request = name.strip_prefix("fwd ").or(["RvkO", "Inv"].contains(&name).then_some(name));
        let (Role::Tu, Some(request)) = (role, request) else { return };
        let cache = topology.translated(index).0;
        let stable = |agent| is_stable(&tried, tried.before.1, agent, message.line.0);
        let Some(old) =
            states(&tried, tried.before.1, cache, message).filter(|_| stable(cache) && stable(message.dst.0))
        else {
            return;
        };
        let Some(row) = TABLE_IV.iter().find(|row| row[0] == request && row[1] == old) else { return };
        // Once a word of the line has been given away, the rest of it is given away too.
        if request == "ReqS" && message.mask != ByteMask::full::<WORDS>() {
            return;
        }
        let next = states(&tried, after, cache, message).unwrap_or("several");
        let mut answers: Vec<String> = Vec::new();
        for sent in tried.sent().into_iter().filter(|sent| tried.name(sent) != "ReqWB") {
            let to = if topology.role(sent.dst).0 == Role::L2 { "LLC" } else { "requestor" };
            answers.push(format!("{} to {to}", tried.name(sent)));
        }
        answers.sort_by_key(|answer| answer.ends_with("LLC"));
        self.external.insert([row[0].to_owned(), old.to_owned(), next.to_owned(), answers.join(" and ")]);
    }
}

fn rows<const N: usize, const M: usize>(table: [[&str; N]; M]) -> BTreeSet<[String; N]> {
    table.into_iter().map(|row| row.map(str::to_owned)).collect()
}

#[test]
fn devices_ask_as_table_ii_says() {
    let mut seen = Seen::default();
    look(&mut seen, "smg", &["devices-smoke"]);
    look(&mut seen, "smd", &["devices-smoke"]);
    assert_eq!(seen.requests, rows(TABLE_II));
    assert!(seen.generous, "a reader is given more of the line than it asked for");
}

#[test]
fn the_llc_does_as_table_iii_says() {
    let mut seen = Seen::default();
    look(&mut seen, "smg", &["devices-smoke", "option-1", "option-2", "option-3"]);
    look(&mut seen, "sdd", &["devices-smoke"]);
    for [request, next, forwarded] in TABLE_III {
        assert_eq!(seen.next.get(request), Some(&BTreeSet::from([next])), "{request}");
        assert_eq!(seen.forwarded.get(request), Some(&BTreeSet::from([forwarded.to_owned()])), "{request}");
    }
}

#[test]
fn devices_answer_as_table_iv_says() {
    let mut seen = Seen::default();
    look(&mut seen, "smg", &["devices-smoke", "option-1"]);
    look(&mut seen, "smd", &["devices-smoke"]);
    look(&mut seen, "sdd", &["devices-smoke"]);
    assert_eq!(seen.external, rows(TABLE_IV));
}

/// The claims that lie beside the project say the same.
#[test]
fn the_tables_are_those_of_the_paper() {
    let Ok(claims) = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/claims/spandex.toml"))
    else {
        println!("the papers' claims are not there: nothing to compare with");
        return;
    };
    let find = |cells: &[(&str, &str)]| {
        let cell = |line: &str, (key, value): &(&str, &str)| line.contains(&format!("{key} = \"{value}"));
        assert!(claims.lines().any(|line| cells.iter().all(|pair| cell(line, pair))), "{cells:?}");
    };
    for [device, event, request, size] in TABLE_II {
        find(&[("device", device), ("device_request", event), ("spandex_request", request), ("granularity", size)]);
    }
    for [request, next, forwarded] in TABLE_III {
        find(&[("request", request), ("next_state", next), ("fwd_if_owned", forwarded)]);
    }
    for [request, expected, next, response] in TABLE_IV {
        find(&[("request", request), ("expected", expected), ("next", next), ("response", response)]);
    }
}
