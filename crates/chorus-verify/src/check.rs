//! The configurations in which every protocol is checked, and the check itself.
//!
//! Threads choose each operation freely from an alphabet. One configuration therefore runs every program of its length,
//! prefixes included, in every order of issuing, delivery and eviction.

use std::fmt::Write;

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::address::Topology;
use chorus_protocol::registry::{Counters, Delivery, Protocol, Reach};

use crate::chart::Chart;
use crate::config::{Evictions, Loads, MachineConfig, one_set};
use crate::contention;
use crate::explore::{End, Exploration, OnForbidden};
use crate::heterogeneous;
use crate::pairs;
use crate::program::{Op, Step};
use crate::replay::Replay;
use crate::scoped;
use crate::settings::{Bound, Settings, Storage};
use crate::shape::{self, Shape};
use crate::starvation;
use crate::words::Words;

/// A machine with its threads, under the name by which it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckConfig {
    /// The name on the command line and in reports.
    pub name: &'static str,
    /// One sentence on what the configuration varies.
    pub description: &'static str,
    /// The machine and its threads.
    pub machine: MachineConfig,
}

/// The operations that threads may choose from at each position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alphabet {
    loads: &'static [Words],
    stores: &'static [Words],
    exchanges: &'static [Words],
    fence: bool,
}

impl Alphabet {
    /// The choices of thread number `thread` at `length` positions. Every value written is different, so that a value
    /// read names the write that it came from.
    fn steps(&self, thread: usize, length: usize) -> Vec<Step> {
        let step = |position: usize| {
            let value = (1 + thread * 4 + position) as u32;
            let order = Order::Relaxed;
            let scope = Scope::Gpu;
            let loads = self.loads.iter().map(|&at| Op::Load { at, order, scope });
            let stores = self.stores.iter().map(|&at| Op::Store { at, values: at.values(value), order, scope });
            let op = AtomicOp::Exchange;
            let exchange =
                |at: &Words| Op::Atomic { at: *at, op, operands: at.values(value), order, scope, returns: true };
            let fence = self.fence.then_some(Op::FENCE);
            let alternatives = loads.chain(stores).chain(self.exchanges.iter().map(exchange)).chain(fence).collect();
            Step { alternatives, implied: false }
        };
        (0..length).map(step).collect()
    }
}

const X: Words = Words::one(0, 0);
const X1: Words = Words::one(0, 1);
const BOTH: Words = Words::all(0);
const Y: Words = Words::one(1, 0);
const Y1: Words = Words::one(1, 1);

/// Everything on one word.
const ONE_WORD: Alphabet = Alphabet { loads: &[X], stores: &[X], exchanges: &[X], fence: true };
/// Everything on one word, without fences.
const UNFENCED: Alphabet = Alphabet { fence: false, ..ONE_WORD };
/// Everything on two words of one line.
const TWO_WORDS: Alphabet = Alphabet { loads: &[X, X1], stores: &[X, X1], exchanges: &[X, X1], fence: true };
/// Accesses of both words of a line at once, and of one.
const TOGETHER: Alphabet = Alphabet { loads: &[X, BOTH], stores: &[X1, BOTH], exchanges: &[BOTH], fence: true };
/// Everything on two lines.
const TWO_LINES: Alphabet = Alphabet { loads: &[X, Y], stores: &[X, Y], exchanges: &[X, Y], fence: true };
/// Loads and stores of two words of one line.
const PLAIN_WORDS: Alphabet = Alphabet { exchanges: &[], ..TWO_WORDS };
/// Loads of two words of one line and stores of the first.
const FIRST_WORD_WRITTEN: Alphabet = Alphabet { stores: &[X], ..PLAIN_WORDS };
/// Loads and stores of one word.
const PLAIN_WORD: Alphabet = Alphabet { exchanges: &[], ..ONE_WORD };
/// Loads and stores of two words of each of two lines.
const GRID: Alphabet = Alphabet { loads: &[X, X1, Y, Y1], stores: &[X, X1, Y, Y1], exchanges: &[], fence: true };
/// Loads and stores of two lines.
const PLAIN_LINES: Alphabet = Alphabet { exchanges: &[], ..TWO_LINES };

/// Thread `i` beside private cache `caches[i]` chooses `lengths[i]` operations. Caches have one line, there is one
/// bank.
fn machine<const N: usize>(caches: [u16; N], lengths: [usize; N], alphabet: &Alphabet) -> MachineConfig {
    let locations = alphabet.loads.iter().chain(alphabet.stores).chain(alphabet.exchanges);
    let lines = locations.map(|at| at.line + 1).max().unwrap_or(1);
    let steps = lengths.iter().enumerate().map(|(thread, &length)| alphabet.steps(thread, length));
    MachineConfig::for_choices(&caches, lines, steps)
}

/// The configurations that take a fraction of a second each. Tests use them, and searches for faults look there first.
pub fn smoke_configurations() -> Vec<CheckConfig> {
    let config = |name, description, machine| CheckConfig { name, description, machine };
    vec![
        config("smoke", "2 caches, 1 line of 2 words, 2 and 1 operations", machine([0, 1], [2, 1], &TWO_WORDS)),
        config(
            "smoke-lines",
            "2 caches, 2 lines in one place, 2 and 1 operations",
            machine([0, 1], [2, 1], &TWO_LINES),
        ),
        config(
            "smoke-wide",
            "2 caches, 2 and 1 accesses of both words of a line or of one",
            machine([0, 1], [2, 1], &TOGETHER),
        ),
        config(
            "smoke-shared",
            "2 threads beside one cache, 1 beside another, 1 operation each",
            machine([0, 0, 1], [1, 1, 1], &UNFENCED),
        ),
    ]
}

/// The configurations that `protocol` is checked in, cheapest first. Where protocols know time, every machine has
/// several times as many states, so their programs are shorter.
pub fn configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let own = if heterogeneous::applies(protocol) {
        heterogeneous::configurations(protocol)
    } else {
        match (protocol.reach(), protocol.counters()) {
            (Reach::AnyMachine, _) => [smoke_configurations(), scoped::configurations(protocol)].concat(),
            (Reach::OneModule, Counters::None) => untimed_configurations(protocol.delivery()),
            (Reach::OneModule, Counters::Synchronised) => timed_configurations(),
        }
    };
    [own, shape::configurations(protocol), pairs::configurations(protocol), contention::configurations(protocol)]
        .concat()
}

/// The configurations that take minutes.
pub fn larger_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let devices =
        if heterogeneous::applies(protocol) { heterogeneous::larger_configurations(protocol) } else { Vec::new() };
    [devices, shape::larger_configurations(protocol)].concat()
}

/// The configurations that take a moment each.
pub fn quick_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    if heterogeneous::applies(protocol) {
        return heterogeneous::quick_configurations(protocol);
    }
    match protocol.reach() {
        Reach::OneModule => smoke_configurations(),
        Reach::AnyMachine => [smoke_configurations(), scoped::quick_configurations(protocol)].concat(),
    }
}

fn timed_configurations() -> Vec<CheckConfig> {
    let non_blocking = MachineConfig { loads: Loads::NonBlocking, ..machine([0, 1], [2, 1], &PLAIN_WORDS) };
    let long_non_blocking = MachineConfig { loads: Loads::NonBlocking, ..machine([0, 1], [3, 1], &PLAIN_WORD) };
    let config = |name, description, machine| CheckConfig { name, description, machine };
    let mut configurations = smoke_configurations();
    configurations.extend([
        config("ways", "2 caches, 2 lines, room for both but one miss register, 2 and 1 operations", two_ways()),
        config("lines-mshr", "as smoke-lines, with one miss register in every cache", one_mshr([2, 1])),
        config("words-nb", "as smoke, without atomics and with loads that do not block", non_blocking),
        config("long-nb", "as long, with loads that do not block", long_non_blocking),
        config("grid", "2 caches, 2 lines of 2 words in one place, 2 and 1 operations", machine([0, 1], [2, 1], &GRID)),
        config("atomics", "2 caches, 1 word, 2 operations each", machine([0, 1], [2, 2], &ONE_WORD)),
        config(
            "words",
            "2 caches, 1 line of 2 words, 2 loads, stores of the first word or fences each",
            machine([0, 1], [2, 2], &FIRST_WORD_WRITTEN),
        ),
        config(
            "lines",
            "2 caches, 2 lines in one place, 2 loads, stores or fences each",
            machine([0, 1], [2, 2], &PLAIN_LINES),
        ),
        config("long", "2 caches, 1 word, 3 and 1 loads, stores or fences", machine([0, 1], [3, 1], &PLAIN_WORD)),
        config(
            "shared",
            "2 threads beside one cache, 1 beside another, 2, 1 and 1 operations",
            machine([0, 0, 1], [2, 1, 1], &UNFENCED),
        ),
        config("caches", "3 caches, 1 word, 1 operation each", machine([0, 1, 2], [1, 1, 1], &UNFENCED)),
        config(
            "caches-long",
            "3 caches, 1 word, 2, 1 and 1 loads or stores",
            machine([0, 1, 2], [2, 1, 1], &Alphabet { fence: false, ..PLAIN_WORD }),
        ),
        config("banks", "2 caches, 2 lines in 2 banks, 2 and 1 operations", two_banks([2, 1])),
    ]);
    configurations
}

/// The configurations of protocols that do not know time. Messages that arrive in any order make so many states that
/// configurations of two lines have no atomics then, unless caches have one miss register.
fn untimed_configurations(delivery: Delivery) -> Vec<CheckConfig> {
    let two_lines = match delivery {
        Delivery::InOrder => &TWO_LINES,
        Delivery::AnyOrder => &PLAIN_LINES,
    };
    let non_blocking = MachineConfig { loads: Loads::NonBlocking, ..machine([0, 1], [2, 2], &TWO_WORDS) };
    let needed = MachineConfig { evictions: Evictions::WhenNeeded, ..machine([0, 1], [3, 2], two_lines) };
    let config = |name, description, machine| CheckConfig { name, description, machine };
    let mut configurations = smoke_configurations();
    configurations.extend([
        config("lines", "2 caches, 2 lines in one place, 2 operations each", machine([0, 1], [2, 2], two_lines)),
        config("ways", "2 caches, 2 lines, room for both but one miss register, 2 and 1 operations", two_ways()),
        config("lines-mshr", "as lines, with one miss register in every cache", one_mshr([2, 2])),
        config("words", "2 caches, 1 line of 2 words, 2 operations each", machine([0, 1], [2, 2], &TWO_WORDS)),
        config("long", "2 caches, 1 word, 3 and 2 operations", machine([0, 1], [3, 2], &ONE_WORD)),
        config(
            "shared",
            "2 threads beside one cache, 1 beside another, 2, 2 and 1 operations",
            machine([0, 0, 1], [2, 2, 1], &UNFENCED),
        ),
        config("words-nb", "as words, with loads that do not block", non_blocking),
        config("lines-long", "2 caches, 2 lines in one place, evicted only when needed, 3 and 2 operations", needed),
        config("caches", "3 caches, 1 word, 2, 2 and 1 operations", machine([0, 1, 2], [2, 2, 1], &UNFENCED)),
        config("banks", "2 caches, 2 lines in 2 banks, 2 operations each", two_banks([2, 2])),
        config("room", "2 caches, 2 lines, room for both in the bank, 2 and 1 operations", two_misses()),
        config("grid", "2 caches, 2 lines of 2 words in one place, 2 and 1 operations", machine([0, 1], [2, 1], &GRID)),
    ]);
    configurations
}

/// The configuration of `protocol` called `name`. The name may also be the text of a [`Shape`].
pub fn find_configuration(protocol: &dyn Protocol, name: &str) -> Option<CheckConfig> {
    let mut known = configurations(protocol).into_iter().chain(larger_configurations(protocol));
    let known = known.find(|config| config.name == name);
    known.or_else(|| name.parse::<Shape>().ok()?.configuration(protocol).ok())
}

/// The configurations that a transition table is filled from. They are small, and together they meet every cell that
/// the larger ones meet.
pub fn table_configurations(protocol: &dyn Protocol) -> Vec<CheckConfig> {
    let config = |name, machine| CheckConfig { name, description: "for the transition table", machine };
    if heterogeneous::applies(protocol) {
        return heterogeneous::table_configurations(protocol);
    }
    if protocol.reach() == Reach::AnyMachine {
        return [quick_configurations(protocol), scoped::table_configurations(protocol)].concat();
    }
    if protocol.counters() == Counters::Synchronised {
        return vec![
            config("table-lines", machine([0, 1], [2, 1], &PLAIN_LINES)),
            config("table-word", machine([0, 1], [2, 1], &ONE_WORD)),
            config("table-mshr", MachineConfig { l1: one_set(1, 1), ..machine([0, 1], [2, 1], &PLAIN_LINES) }),
            config("table-shared", machine([0, 0, 1], [1, 1, 1], &UNFENCED)),
            config("table-caches", machine([0, 1, 2], [1, 1, 1], &UNFENCED)),
        ];
    }
    let mut configurations = smoke_configurations();
    let non_blocking = MachineConfig { loads: Loads::NonBlocking, ..machine([0, 1], [2, 1], &TWO_WORDS) };
    configurations.extend([
        config("table-nb", non_blocking),
        config("table-ways", two_ways()),
        config("table-room", two_misses()),
        config("table-mshr", one_mshr([2, 1])),
        config("table-shared", machine([0, 0, 1], [2, 1, 1], &UNFENCED)),
        config("table-caches", machine([0, 1, 2], [1, 1, 1], &UNFENCED)),
    ]);
    configurations
}

/// A machine with two lines that share one place in every cache, and with one miss register in each.
fn one_mshr(lengths: [usize; 2]) -> MachineConfig {
    MachineConfig { l1: one_set(1, 1), l2: one_set(1, 1), ..machine([0, 1], lengths, &TWO_LINES) }
}

/// A machine with two lines that lie in different banks.
fn two_banks(lengths: [usize; 2]) -> MachineConfig {
    let one = machine([0, 1], lengths, &PLAIN_LINES);
    MachineConfig { topology: Topology { l2s: 2, ..one.topology }, ..one }
}

/// A machine whose caches have room for two lines but only one miss register.
fn two_ways() -> MachineConfig {
    MachineConfig { l1: one_set(2, 1), l2: one_set(2, 1), ..machine([0, 1], [2, 1], &PLAIN_LINES) }
}

/// A machine whose bank has room for two lines and a miss register for each.
fn two_misses() -> MachineConfig {
    MachineConfig { l2: one_set(2, 2), ..machine([0, 1], [2, 1], &TWO_LINES) }
}

/// The result of a check in one word, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every state was visited and none was wrong.
    Pass,
    /// A rule was broken; the chart shows the shortest path to it.
    Violated(Chart),
    /// A bound was met before the end, so that nothing is shown.
    Bounded(Bound),
}

/// The result of a check, with the size of its search.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckReport {
    /// The name of the protocol.
    pub protocol: &'static str,
    /// The seeded fault of the controllers, if any.
    pub fault: Option<&'static str>,
    /// The name of the configuration.
    pub config: &'static str,
    /// One sentence on what the configuration varies.
    pub description: &'static str,
    /// The number of states visited.
    pub states: usize,
    /// The number of moves between states.
    pub transitions: u64,
    /// The number of moves to the farthest state.
    pub depth: u32,
    /// Different programs that ran to their end.
    pub programs: usize,
    /// The number of different executions that the memory model judged. An execution is a program with its outcome.
    pub executions: usize,
    /// The number of permutations of caches, lines, words and values that map the machine to itself: each state stands
    /// for up to as many.
    pub symmetry: usize,
    /// The number of symmetries of the configuration, whether the protocol keeps them or not.
    pub configuration_symmetry: usize,
    /// The bytes held for all states, with the index and the parent of each.
    pub bytes: usize,
    /// An upper bound of the probability that two states were taken for one, where states were not stored whole.
    pub omission_probability: Option<f64>,
    /// The result in one word, with its evidence.
    pub verdict: Verdict,
}

impl CheckReport {
    /// Whether every state was visited and none was wrong.
    pub fn passed(&self) -> bool {
        self.verdict == Verdict::Pass
    }

    /// The bytes held for each state, with its part of the index and its parent.
    pub fn bytes_per_state(&self) -> usize {
        self.bytes / self.states.max(1)
    }

    /// The report in words, with the chart of a violation.
    pub fn to_text(&self) -> String {
        let fault = self.fault.map_or(String::new(), |fault| format!(" with fault {fault}"));
        let mut text = format!("{}{fault}, {}: {}\n", self.protocol, self.config, self.description);
        let verdict = match &self.verdict {
            Verdict::Pass => "pass".to_owned(),
            Verdict::Violated(_) => "VIOLATED".to_owned(),
            Verdict::Bounded(bound) => format!("not finished: {bound}, nothing is shown"),
        };
        let _ = writeln!(
            text,
            "  {} states, {} transitions, depth {}, {} programs, {} executions: {verdict}",
            self.states, self.transitions, self.depth, self.programs, self.executions
        );
        let _ = write!(text, "  {} bytes per state", self.bytes_per_state());
        if self.configuration_symmetry > 1 {
            let _ = write!(text, ", each stands for up to {} that are its mirror images", self.symmetry);
        }
        if self.symmetry < self.configuration_symmetry {
            let _ = write!(text, " (of {}: the protocol does not keep the others)", self.configuration_symmetry);
        }
        text.push('\n');
        if let Some(probability) = self.omission_probability {
            let _ = writeln!(
                text,
                "  states were not kept whole: one was missed with a probability below {probability:.1e}; \
                 livelocks and false claims were not looked for"
            );
        }
        if let Verdict::Violated(chart) = &self.verdict {
            let _ = write!(text, "\n{}", chart.to_text());
        }
        if let Some(replay) = self.replay() {
            let _ = writeln!(text, "{}", replay.command("check"));
        }
        text
    }

    /// The chart of a violation, if there is one.
    pub fn chart(&self) -> Option<&Chart> {
        match &self.verdict {
            Verdict::Violated(chart) => Some(chart),
            Verdict::Pass | Verdict::Bounded(_) => None,
        }
    }

    /// The path to a violation as a replay, if there is one.
    pub fn replay(&self) -> Option<Replay> {
        self.chart().map(|chart| Replay::of_chart(self.protocol, self.fault, self.config, chart))
    }
}

/// Checks a protocol in a configuration; `fault` indexes the protocol's faults.
pub fn check(protocol: &'static dyn Protocol, fault: Option<u8>, config: &CheckConfig) -> CheckReport {
    check_with(protocol, fault, config, &Settings::default())
}

/// Checks a protocol in a configuration, visiting at most `limit` states.
pub fn check_bounded(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &CheckConfig,
    limit: usize,
) -> CheckReport {
    check_with(protocol, fault, config, &Settings::with_states(limit))
}

/// Checks a protocol in a configuration, with these settings of the search.
pub fn check_with(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &CheckConfig,
    settings: &Settings,
) -> CheckReport {
    if config.machine.is_endless() {
        return look_for_starvation(protocol, fault, config, settings);
    }
    explore_and_check(protocol, fault, config, settings).0
}

/// Looks for starvation in a configuration whose threads repeat their operations. No program ends there, so none is
/// judged.
fn look_for_starvation(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &CheckConfig,
    settings: &Settings,
) -> CheckReport {
    let searched = starvation::search(protocol, fault, &config.machine, settings);
    CheckReport {
        protocol: protocol.name(),
        fault: fault_name(protocol, fault),
        config: config.name,
        description: config.description,
        states: searched.states,
        transitions: searched.transitions,
        depth: searched.depth,
        programs: 0,
        executions: 0,
        symmetry: 1,
        configuration_symmetry: 1,
        bytes: searched.bytes,
        omission_probability: None,
        verdict: searched.verdict,
    }
}

fn fault_name(protocol: &dyn Protocol, fault: Option<u8>) -> Option<&'static str> {
    fault.and_then(|index| protocol.faults().get(usize::from(index))).map(|fault| fault.name)
}

/// Checks a protocol in a configuration, and returns the search beside its report.
pub fn explore_and_check(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &CheckConfig,
    settings: &Settings,
) -> (CheckReport, Exploration) {
    let mut exploration = Exploration::new(protocol, fault, &config.machine, OnForbidden::Stop);
    let verdict = match exploration.run(settings) {
        End::Exhausted => Verdict::Pass,
        End::Bounded(bound) => Verdict::Bounded(bound),
        End::Violated(failure) => Verdict::Violated(Chart::of_failure(&mut exploration, &failure)),
    };
    let report = CheckReport {
        protocol: protocol.name(),
        fault: fault_name(protocol, fault),
        config: config.name,
        description: config.description,
        states: exploration.states(),
        transitions: exploration.transitions(),
        depth: exploration.depth(),
        programs: exploration.judge().programs(),
        executions: exploration.judge().executions(),
        symmetry: exploration.symmetry(),
        configuration_symmetry: exploration.configuration_symmetry(),
        bytes: exploration.bytes(),
        omission_probability: (settings.storage == Storage::Fingerprints).then(|| omission(exploration.states())),
        verdict,
    };
    (report, exploration)
}

/// An upper bound of the probability that two of `states` states have the same fingerprint. There are fewer than half
/// of the square of their number pairs, each with the same fingerprint once in 2^64.
fn omission(states: usize) -> f64 {
    let states = states as f64;
    states * states / 65_f64.exp2()
}
