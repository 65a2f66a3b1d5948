//! The shortest path to a violation, drawn as a sequence chart: a column for each agent, a row for each event.

use std::fmt::{self, Write};

use chorus_protocol::address::{AgentId, LineAddr};
use chorus_protocol::controller::{Outcome as StepOutcome, Passage};
use chorus_protocol::message::{Channel, Message, Size};

use crate::config::Start;
use crate::explore::{Exploration, Failure};
use crate::machine::{Action, ExploredMachine, Happening};
use crate::node::{NOW, StepInput, StepResult, Victim};
use crate::program::{Location, WORDS};
use crate::replay;
use crate::state::State;
use crate::violation::Violation;

/// One event of a path: a row of the chart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The column that the event came from; none if an agent acted by itself.
    pub from: Option<usize>,
    /// The column in which the event happened.
    pub to: usize,
    /// Whether the event took no time, as a part of the row above.
    pub instant: bool,
    /// The message or operation that arrived, with its line and values.
    pub label: String,
    /// The change of the state of each line concerned.
    pub states: Vec<String>,
    /// The answers and messages that the event caused.
    pub follows: Vec<String>,
}

impl Row {
    /// The changes and messages of the event, in words.
    fn effect(&self, columns: &[String]) -> String {
        let agent = columns.get(self.to).map_or("", String::as_str);
        let states = self.states.iter().map(|state| format!("{agent} {state}"));
        states.chain(self.follows.iter().cloned()).collect::<Vec<_>>().join(", ")
    }
}

/// The moves of a machine, with the events of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// The names of the agents, one for each column.
    pub columns: Vec<String>,
    /// Whether the caches had loaded every line before the first row.
    pub warm: bool,
    /// The events in their order.
    pub rows: Vec<Row>,
    /// The moves, as a replay names them.
    pub moves: Vec<Action>,
    /// The beginning of a circle that goes on for ever, if the sequence ends with one.
    pub circle: Option<CircleStart>,
}

/// The first row and the first move of a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CircleStart {
    /// The number of rows before it.
    pub row: usize,
    /// The number of moves before it.
    pub action: usize,
}

/// A violation with the path to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// The moves that lead to the violation.
    pub sequence: Sequence,
    /// The rule that is broken at the end.
    pub violation: Violation,
}

impl Sequence {
    /// A sequence without moves.
    pub fn new(machine: &ExploredMachine, warm: bool) -> Sequence {
        Sequence { columns: columns(machine), warm, rows: Vec::new(), moves: Vec::new(), circle: None }
    }

    /// Makes a move and notes its events. Returns whether the move was possible.
    pub fn make(
        &mut self,
        machine: &mut ExploredMachine,
        action: Action,
        state: &mut State,
    ) -> Result<bool, Violation> {
        self.moves.push(replay::named(machine, action, state));
        let (moved, happenings) = machine.replay(action, state);
        self.rows.extend(happenings.iter().filter_map(|happening| row(machine, state, *happening)));
        moved
    }

    /// Begins the circle that the sequence ends with.
    pub fn begin_circle(&mut self) {
        self.circle = Some(CircleStart { row: self.rows.len(), action: self.moves.len() });
    }

    /// The sequence as text.
    pub fn to_text(&self) -> String {
        let width = self.columns.iter().map(String::len).max().unwrap_or(0) + 2;
        let label_width = self.rows.iter().map(|row| row.label.len()).max().unwrap_or(0);
        let mut text = String::from("    ");
        for column in &self.columns {
            let _ = write!(text, "{column:^width$}");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        if self.warm {
            text.push_str("    (every private cache has loaded every line)\n");
        }
        for (number, row) in self.rows.iter().enumerate() {
            if self.circle.is_some_and(|circle| circle.row == number) {
                text.push_str("    (from here on, again and again)\n");
            }
            let lanes = lanes(row, self.columns.len(), width);
            let line = format!("{:>3} {lanes} {:<label_width$}  {}", number + 1, row.label, row.effect(&self.columns));
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

impl Chart {
    /// Replays the path to a failure on the machine that was explored.
    pub fn of_failure(exploration: &mut Exploration, failure: &Failure) -> Chart {
        let (start, actions) = exploration.path_to(failure.state);
        // A rule that breaks while caches are warmed breaks before there is a state.
        let has_begun = exploration.has_begun();
        let machine = exploration.machine_mut();
        let warm = machine.config().start == Start::ColdAndWarm && !(has_begun && start == machine.cold());
        Chart::of_path(machine, warm, start, &actions, failure)
    }

    /// The chart of a failure after some moves from a start.
    pub(crate) fn of_path(
        machine: &mut ExploredMachine,
        warm: bool,
        start: State,
        actions: &[Action],
        failure: &Failure,
    ) -> Chart {
        let mut state = start;
        let mut sequence = Sequence::new(machine, warm);
        for &action in actions.iter().chain(&failure.last) {
            // The last move returns the violation, which is known already.
            let _ = sequence.make(machine, action, &mut state);
        }
        if !failure.circle.is_empty() {
            sequence.begin_circle();
        }
        for &action in &failure.circle {
            let _ = sequence.make(machine, action, &mut state);
        }
        Chart { sequence, violation: failure.violation.clone() }
    }

    /// The chart as text, with the violation below it.
    pub fn to_text(&self) -> String {
        format!("{}violated: {}\n", self.sequence.to_text(), self.violation)
    }

    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        self.sequence.to_svg(Some(&self.violation))
    }
}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text())
    }
}

/// The lifelines of all agents, with the row's arrow across them.
fn lanes(row: &Row, columns: usize, width: usize) -> String {
    let centre = |column: usize| column * width + (width - 1) / 2;
    let mut lanes = vec![' '; columns * width];
    for column in 0..columns {
        lanes[centre(column)] = '|';
    }
    let to = centre(row.to);
    match row.from.map(centre) {
        None => lanes[to] = 'x',
        Some(from) => {
            let shaft = if row.instant { '~' } else { '-' };
            lanes[from.min(to) + 1..from.max(to)].fill(shaft);
            if from < to { lanes[to - 1] = '>' } else { lanes[to + 1] = '<' }
        }
    }
    lanes.into_iter().collect()
}

/// Threads, then private caches, then banks, then memory.
fn columns(machine: &ExploredMachine) -> Vec<String> {
    let topology = machine.config().topology;
    let threads = (0..machine.config().threads.len()).map(|thread| format!("T{thread}"));
    let caches = (0..topology.controllers()).map(|agent| topology.name(AgentId(agent)));
    let memory = |bank: u16| if topology.channels() == 1 { "Memory".to_owned() } else { format!("Mem.{bank}") };
    threads.chain(caches).chain((0..topology.channels()).map(memory)).collect()
}

fn row(machine: &ExploredMachine, state: &[u32], happening: Happening) -> Option<Row> {
    let column = |agent: AgentId| machine.config().threads.len() + usize::from(agent.0);
    match happening {
        Happening::Memory(number) => {
            let message = machine.nodes().message(number);
            let (from, to) = (Some(column(message.src)), column(message.dst));
            let (states, follows) = (Vec::new(), Vec::new());
            Some(Row { from, to, instant: false, label: label(machine, message), states, follows })
        }
        Happening::Step(number) => {
            let step = machine.nodes().result(number);
            let refused =
                matches!(step.outcome, Ok(StepOutcome::Stall | StepOutcome::Evict(_) | StepOutcome::EvictEntry(_)));
            if refused || (matches!(step.input, StepInput::Time(_)) && step.before == step.after) {
                return None;
            }
            let to = column(AgentId(machine.nodes().node(step.before).agent));
            let (from, instant, label) = match step.input {
                StepInput::Request(request) => {
                    let (thread, op) = machine.op_of_request(request)?;
                    (Some(thread), false, op.to_string())
                }
                StepInput::Message(number) => {
                    let message = machine.nodes().message(number);
                    let spec = &machine.protocol().messages()[usize::from(message.kind.0)];
                    (Some(column(message.src)), spec.channel == Channel::Instant, label(machine, message))
                }
                StepInput::Evict(Victim::Line(line)) => (None, false, format!("evict {}", Location { line, word: 0 })),
                StepInput::Evict(Victim::Entry(line)) => {
                    (None, false, format!("evict entry of {}", Location { line, word: 0 }))
                }
                StepInput::Time(Passage::RollOver) => (None, false, "roll-over".to_owned()),
                StepInput::Time(Passage::Tick | Passage::Wake) => (None, false, "a tick passes".to_owned()),
            };
            let (states, follows) = (states(machine, step), follows(machine, state, step));
            Some(Row { from, to, instant, label, states, follows })
        }
    }
}

/// A message's name, its line, and the values it carries.
pub(crate) fn label(machine: &ExploredMachine, message: &Message<WORDS>) -> String {
    let spec = &machine.protocol().messages()[usize::from(message.kind.0)];
    let line = message.line.0 as u8;
    if spec.size == Size::Control {
        return format!("{} {}", spec.name, Location { line, word: 0 });
    }
    let value = |word: usize| format!(" {}={}", Location { line, word: word as u8 }, message.data.0[word]);
    message.mask.words().fold(spec.name.to_owned(), |label, word| label + &value(word))
}

/// The change of state of each line that a step changed or was about.
fn states(machine: &ExploredMachine, step: &StepResult) -> Vec<String> {
    let nodes = machine.nodes();
    let (before, after) = (nodes.node(step.before), nodes.node(step.after));
    let class = before.controller.classify(&nodes.input(step.input), NOW);
    let states = before.controller.vocabulary().states;
    let name = |state: u8| states[usize::from(state)].name;
    let mut parts = Vec::new();
    for (line, (old, new)) in before.views.iter().zip(&after.views).enumerate() {
        if old.state != new.state {
            parts.push(format!("{} -> {}", name(old.state), name(new.state)));
        } else if class.is_some_and(|class| class.line == LineAddr(line as u64)) {
            parts.push(format!("in {}", name(old.state)));
        }
    }
    parts
}

/// The answers and messages of a step, in words.
fn follows(machine: &ExploredMachine, state: &[u32], step: &StepResult) -> Vec<String> {
    let mut parts = Vec::new();
    for completion in &step.completions {
        if let Some((thread, op)) = machine.op_of_txn(state, completion.txn) {
            parts.push(match op.words().filter(|_| op.returns_value()) {
                Some(at) => {
                    let value = |at: Location| format!(" {at}={}", completion.data.0[usize::from(at.word)]);
                    format!("T{thread} gets{}", at.iter().map(value).collect::<String>())
                }
                None => format!("T{thread} done"),
            });
        }
    }
    for &number in &step.sent {
        let message = machine.nodes().message(number);
        let name = machine.protocol().messages()[usize::from(message.kind.0)].name;
        let column = machine.config().threads.len() + usize::from(message.dst.0);
        parts.push(match columns(machine).get(column) {
            Some(to) => format!("sends {name} to {to}"),
            None => format!("sends {name} to nobody"),
        });
    }
    parts
}
