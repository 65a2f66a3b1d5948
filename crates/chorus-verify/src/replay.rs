//! A path through a machine as one line of text, to be walked again: `gpu-vi+early-ack/smoke:w:i0.2,d0,e1.0`.
//!
//! The line names the protocol, the seeded fault (if any), the configuration or litmus test, the networks (if they are
//! finite: `@0.1.1.2x2` is the pool of each virtual network, and the number of messages that a pool holds), whether the
//! caches were cold (`c`) or warm (`w`), with a `b` if stores block, and the moves.
//!
//! | move | what happens |
//! |---|---|
//! | `iT.N` | thread T issues its next operation, alternative N |
//! | `dN` | message N arrives, counted from 0 |
//! | `eA.L` | line L leaves cache A; private caches come first, then banks |
//! | `xA.L` | the directory entry that covers line L leaves the directory of A |
//! | `t` | a tick passes |
//! | `r` | the counters roll over |
//!
//! Moves behind a `~` are a circle: the last of them leads back to the state before the first.
//!
//! Messages in flight are counted by sender, receiver and network, and within a channel by age, or by their contents
//! where the protocol does not need their order. So a message's number depends on nothing but the moves before.

use std::fmt;
use std::str::FromStr;

use chorus_protocol::controller::Passage;
use chorus_protocol::registry::{Delivery, Protocol};
use thiserror::Error;

use crate::chart::{Chart, Sequence};
use crate::check::find_configuration;
use crate::config::{MachineConfig, Stores};
use crate::examine::examine;
use crate::expand::Moves;
use crate::faults;
use crate::invariants::Promised;
use crate::judge::{Judge, provided};
use crate::litmus::{self, Placement, SuiteTest};
use crate::machine::{Action, ExploredMachine};
use crate::networks::Networks;
use crate::node::Victim;
use crate::pressure;
use crate::starvation::starvation;
use crate::state::State;
use crate::violation::Violation;

/// A path through a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The name of the protocol.
    pub protocol: String,
    /// The name of the seeded fault, if any.
    pub fault: Option<String>,
    /// The name of the configuration or litmus test.
    pub test: String,
    /// The virtual networks and their buffers.
    pub networks: Networks,
    /// Whether a thread waits for its stores.
    pub stores: Stores,
    /// Whether every private cache has loaded every line before the first move.
    pub warm: bool,
    /// The moves, with messages numbered as in the module's description.
    pub moves: Vec<Action>,
    /// The number of moves before a circle, if the path ends with one.
    pub circle: Option<usize>,
}

/// The reason why a text is not a replay.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("character {at} of the replay: {problem}")]
pub struct ParseError {
    /// The place, in characters, counted from 1.
    pub at: usize,
    /// The mistake at that place, and the texts accepted there.
    pub problem: String,
}

/// A move that the machine cannot make.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("move {number} of the replay, `{action}`, is not possible there: {reason}")]
pub struct Impossible {
    /// The number of the move, counted from 1.
    pub number: usize,
    /// The move as the replay writes it.
    pub action: String,
    /// The reason, and the moves that are possible.
    pub reason: String,
}

/// The result of walking a path again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// The moves with their events.
    pub sequence: Sequence,
    /// The rule that is broken at the end, if any.
    pub violation: Option<Violation>,
}

impl Replayed {
    /// The sequence in words, with the violation at its end.
    pub fn to_text(&self) -> String {
        let end = match &self.violation {
            Some(violation) => format!("violated: {violation}\n"),
            None => format!("nothing is violated after {} moves\n", self.sequence.moves.len()),
        };
        self.sequence.to_text() + &end
    }

    /// The sequence as an SVG document.
    pub fn to_svg(&self) -> String {
        self.sequence.to_svg(self.violation.as_ref())
    }
}

/// A move that is written as replays write it.
struct Move(Action);

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Action::Issue { thread, choice } => write!(f, "i{thread}.{choice}"),
            Action::Deliver { position } => write!(f, "d{position}"),
            Action::Evict { agent, victim: Victim::Line(line) } => write!(f, "e{agent}.{line}"),
            Action::Evict { agent, victim: Victim::Entry(line) } => write!(f, "x{agent}.{line}"),
            Action::Time(Passage::Tick) => write!(f, "t"),
            Action::Time(Passage::RollOver) => write!(f, "r"),
            Action::Time(Passage::Wake) => write!(f, "w"),
        }
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.protocol)?;
        if let Some(fault) = &self.fault {
            write!(f, "+{fault}")?;
        }
        write!(f, "/{}", self.test)?;
        if let Networks::Finite { pools, capacity } = &self.networks {
            let pools: Vec<String> = pools.iter().map(u8::to_string).collect();
            write!(f, "@{}x{capacity}", pools.join("."))?;
        }
        let stores = match self.stores {
            Stores::Posted => "",
            Stores::Blocking => "b",
        };
        write!(f, ":{}{stores}:", if self.warm { "w" } else { "c" })?;
        let circle = self.circle.unwrap_or(self.moves.len()).min(self.moves.len());
        let text =
            |moves: &[Action]| moves.iter().map(|&action| Move(action).to_string()).collect::<Vec<_>>().join(",");
        f.write_str(&text(&self.moves[..circle]))?;
        if self.circle.is_some() { write!(f, "~{}", text(&self.moves[circle..])) } else { Ok(()) }
    }
}

/// A piece of the text and its place in it.
#[derive(Clone, Copy)]
struct Piece<'t> {
    text: &'t str,
    /// The number of bytes before the piece.
    at: usize,
}

impl<'t> Piece<'t> {
    fn error(self, whole: &str, problem: String) -> ParseError {
        ParseError { at: whole[..self.at].chars().count() + 1, problem }
    }

    /// The pieces before and after the first `separator`.
    fn split(self, separator: char) -> Option<(Piece<'t>, Piece<'t>)> {
        let (before, after) = self.text.split_once(separator)?;
        let after_at = self.at + before.len() + separator.len_utf8();
        Some((Piece { text: before, at: self.at }, Piece { text: after, at: after_at }))
    }

    /// The pieces before and after the last `separator`.
    fn split_last(self, separator: char) -> Option<(Piece<'t>, Piece<'t>)> {
        let (before, after) = self.text.rsplit_once(separator)?;
        let after_at = self.at + before.len() + separator.len_utf8();
        Some((Piece { text: before, at: self.at }, Piece { text: after, at: after_at }))
    }

    /// A number without signs or leading zeros.
    fn number<T: FromStr + fmt::Display>(self) -> Option<T> {
        self.text.parse().ok().filter(|number: &T| number.to_string() == self.text)
    }
}

const SHAPE: &str =
    "expected PROTOCOL[+FAULT]/TEST[@NETWORKS]:START:MOVES[~MOVES], as in `gpu-vi+early-ack/smoke:w:i0.2,d0`";
const MOVES: &str = "accepted are iT.N (thread T issues alternative N), dN (message N arrives), eA.L (line L leaves cache A), \
                     xA.L (the entry of line L leaves the directory of A), t (a tick passes) and r (the counters roll over)";

impl FromStr for Replay {
    type Err = ParseError;

    fn from_str(whole: &str) -> Result<Replay, ParseError> {
        let all = Piece { text: whole, at: 0 };
        let shape = || all.error(whole, SHAPE.to_owned());
        // Names of tests may hold colons; the fields behind them do not.
        let (head, moves) = all.split_last(':').ok_or_else(shape)?;
        let (head, start) = head.split_last(':').ok_or_else(shape)?;
        let (protocol, test) = head.split('/').ok_or_else(shape)?;
        let (protocol, fault) = match protocol.split('+') {
            Some((protocol, fault)) => (protocol, Some(fault)),
            None => (protocol, None),
        };
        // Names of tests may hold an @, but no number follows it.
        let is_number = |piece: &Piece<'_>| piece.text.starts_with(|first: char| first.is_ascii_digit());
        let (test, networks) = match test.split_last('@').filter(|(_, networks)| is_number(networks)) {
            Some((test, networks)) => {
                (test, parse_networks(networks).map_err(|problem| networks.error(whole, problem))?)
            }
            None => (test, Networks::Unbounded),
        };
        for (piece, what) in [(Some(protocol), "protocol"), (fault, "fault"), (Some(test), "test")] {
            if let Some(piece) = piece.filter(|piece| piece.text.is_empty()) {
                return Err(piece.error(whole, format!("the name of the {what} is missing; {SHAPE}")));
            }
        }
        let (warm, stores) = match start.text {
            "c" => (false, Stores::Posted),
            "w" => (true, Stores::Posted),
            "cb" => (false, Stores::Blocking),
            "wb" => (true, Stores::Blocking),
            other => {
                let accepted = "accepted are c (cold caches) and w (warm caches), with a b where stores block";
                return Err(start.error(whole, format!("`{other}` is not a start; {accepted}")));
            }
        };
        let (before, circle) = match moves.split('~') {
            Some((_, circle)) if circle.text.is_empty() => {
                return Err(circle.error(whole, format!("the moves of the circle are missing; {MOVES}")));
            }
            Some((before, circle)) => (before, Some(circle)),
            None => (moves, None),
        };
        let mut moves = parse_moves(before, whole)?;
        let first = circle.map(|_| moves.len());
        moves.append(&mut circle.map_or(Ok(Vec::new()), |circle| parse_moves(circle, whole))?);
        Ok(Replay {
            protocol: protocol.text.to_owned(),
            fault: fault.map(|fault| fault.text.to_owned()),
            test: test.text.to_owned(),
            networks,
            stores,
            warm,
            moves,
            circle: first,
        })
    }
}

fn parse_moves(moves: Piece<'_>, whole: &str) -> Result<Vec<Action>, ParseError> {
    let (mut parsed, mut rest) = (Vec::new(), (!moves.text.is_empty()).then_some(moves));
    while let Some(piece) = rest {
        let (first, after) = match piece.split(',') {
            Some((first, after)) => (first, Some(after)),
            None => (piece, None),
        };
        let action = parse_move(first);
        parsed.push(action.ok_or_else(|| first.error(whole, format!("`{}` is not a move; {MOVES}", first.text)))?);
        rest = after;
    }
    Ok(parsed)
}

fn parse_move(piece: Piece<'_>) -> Option<Action> {
    let kind = piece.text.chars().next()?;
    let numbers = Piece { text: &piece.text[kind.len_utf8()..], at: piece.at };
    match kind {
        'i' => {
            let (thread, choice) = numbers.split('.')?;
            Some(Action::Issue { thread: thread.number()?, choice: choice.number()? })
        }
        'd' => Some(Action::Deliver { position: numbers.number()? }),
        'e' | 'x' => {
            let (agent, line) = numbers.split('.')?;
            let line = line.number()?;
            let victim = if kind == 'e' { Victim::Line(line) } else { Victim::Entry(line) };
            Some(Action::Evict { agent: agent.number()?, victim })
        }
        't' | 'r' | 'w' if !numbers.text.is_empty() => None,
        't' => Some(Action::Time(Passage::Tick)),
        'r' => Some(Action::Time(Passage::RollOver)),
        'w' => Some(Action::Time(Passage::Wake)),
        _ => None,
    }
}

fn parse_networks(piece: Piece<'_>) -> Result<Networks, String> {
    let problem = || {
        let text = piece.text;
        format!(
            "`{text}` is not an assignment of networks; accepted is the pool of each and the capacity, as in `0.1.1x2`"
        )
    };
    let (pools, capacity) = piece.split('x').ok_or_else(problem)?;
    let pool = |text| Piece { text, at: 0 }.number::<u8>();
    let pools: Option<Vec<u8>> = pools.text.split('.').map(pool).collect();
    Ok(Networks::Finite { pools: pools.ok_or_else(problem)?, capacity: capacity.number().ok_or_else(problem)? })
}

impl Replay {
    /// The replay of a chart, on networks without bound and beside cores that post their stores.
    pub fn of_chart(protocol: &str, fault: Option<&str>, test: &str, chart: &Chart) -> Replay {
        Replay {
            protocol: protocol.to_owned(),
            fault: fault.map(str::to_owned),
            test: test.to_owned(),
            networks: Networks::Unbounded,
            stores: Stores::Posted,
            warm: chart.sequence.warm,
            moves: chart.sequence.moves.clone(),
            circle: chart.sequence.circle.map(|circle| circle.action),
        }
    }

    /// The command line that walks the path again with a verb.
    pub fn command(&self, verb: &str) -> String {
        let quoted = self.to_string().replace('\'', r"'\''");
        format!("replay: chorus {verb} {} --replay '{quoted}'", self.protocol)
    }

    /// The machine of the configuration, of the program made for faults or of the litmus test called `name`. Litmus
    /// tests are looked for among `tests` first, and then among those that Chorus ships.
    pub fn machine_of(protocol: &dyn Protocol, name: &str, tests: &[SuiteTest]) -> Option<MachineConfig> {
        let found = find_configuration(protocol, name);
        let others = || pressure::configurations_of(protocol).into_iter().chain(faults::programs_of(protocol));
        let found = found.or_else(|| others().find(|config| config.name == name));
        let of_litmus = || {
            let (name, placement) = Placement::parse(name);
            let test = tests.iter().find(|test| test.name() == name).cloned().or_else(|| litmus::find(name))?;
            MachineConfig::for_placed(&test.test.program, placement).ok()
        };
        found.map(|config| config.machine).or_else(of_litmus)
    }

    /// Makes the moves on a machine, one after the other, up to the first violation. `fault` indexes the protocol's
    /// faults.
    pub fn run(
        &self,
        protocol: &'static dyn Protocol,
        fault: Option<u8>,
        config: &MachineConfig,
    ) -> Result<Replayed, Impossible> {
        let config = MachineConfig { networks: self.networks.clone(), stores: self.stores, ..config.clone() };
        let mut machine = ExploredMachine::new(protocol, fault, &config);
        let mut sequence = Sequence::new(&machine, self.warm);
        let violation = self.walk(&mut machine, &mut sequence)?.err();
        Ok(Replayed { sequence, violation })
    }

    /// Makes the moves. The inner result is the violation that they show.
    fn walk(
        &self,
        machine: &mut ExploredMachine,
        sequence: &mut Sequence,
    ) -> Result<Result<(), Violation>, Impossible> {
        if let Err(violation) = machine.complete() {
            return Ok(Err(violation));
        }
        let mut state = match if self.warm { machine.warm() } else { Ok(machine.cold()) } {
            Ok(state) => state,
            Err(violation) => return Ok(Err(violation)),
        };
        let mut examiner = Examiner::new(machine);
        if let Err(violation) = examiner.examine(machine, &state) {
            return Ok(Err(violation));
        }
        let mut circle = None;
        for (index, &action) in self.moves.iter().enumerate() {
            if self.circle == Some(index) {
                sequence.begin_circle();
                circle = Some(state.clone());
            }
            let impossible =
                |reason: String| Err(Impossible { number: index + 1, action: Move(action).to_string(), reason });
            let Some(possible) = located(machine, action, &state) else {
                return impossible(alternatives(machine, &state));
            };
            match sequence.make(machine, possible, &mut state) {
                Ok(true) => {}
                Ok(false) => {
                    let waits = machine.waiting(&state);
                    let reason = if waits.is_empty() {
                        "it changes nothing".to_owned()
                    } else {
                        format!("it is refused while {waits}")
                    };
                    return impossible(reason);
                }
                Err(violation) => return Ok(Err(violation)),
            }
            if let Err(violation) = examiner.examine(machine, &state) {
                return Ok(Err(violation));
            }
        }
        let is_back = circle.is_some_and(|first| first == state);
        Ok(match (is_back, machine.config().is_endless()) {
            (false, _) => Ok(()),
            (true, true) => Err(starvation(machine, &state)),
            (true, false) => Err(Violation::Livelock(machine.waiting(&state))),
        })
    }
}

/// Everything that is possible in a state, as far as the state alone tells.
fn possible(machine: &ExploredMachine, state: &State) -> Vec<Action> {
    let mut moves = Moves::default();
    moves.find(machine, state);
    moves.all().collect()
}

/// The possible moves as a list of words.
fn alternatives(machine: &ExploredMachine, state: &State) -> String {
    let moves = possible(machine, state).into_iter().map(|action| Move(named(machine, action, state)).to_string());
    match moves.collect::<Vec<_>>() {
        moves if moves.is_empty() => "nothing is left to do".to_owned(),
        moves => format!("possible are {}", moves.join(", ")),
    }
}

/// The positions of the messages in flight, in the order in which replays count them.
fn counted(machine: &ExploredMachine, state: &[u32]) -> Vec<u16> {
    let network = machine.network(state);
    let mut positions: Vec<u16> = (0..network.len() as u16).collect();
    let any_order = machine.protocol().delivery() == Delivery::AnyOrder;
    positions.sort_by_key(|&position| {
        let number = network[usize::from(position)];
        let (message, pool) = (machine.nodes().message(number), machine.pool(number));
        let contents = (any_order && pool.is_some()).then_some((
            (message.kind, message.line, message.txn, message.wave),
            (message.atomic, message.stamp, message.mask.0, message.data.0),
        ));
        (message.src, message.dst, pool.map_or(u8::MAX, |(pool, _)| pool), contents)
    });
    positions
}

/// A move of the machine as replays name it.
pub(crate) fn named(machine: &ExploredMachine, action: Action, state: &[u32]) -> Action {
    let Action::Deliver { position } = action else { return action };
    let number = |position: u16| machine.network(state).get(usize::from(position));
    // Of equal messages the first is meant.
    let place = counted(machine, state).into_iter().position(|other| number(other) == number(position));
    Action::Deliver { position: place.map_or(position, |place| place as u16) }
}

/// The machine's move for a move of a replay, if it is possible in this state.
fn located(machine: &ExploredMachine, action: Action, state: &State) -> Option<Action> {
    possible(machine, state).into_iter().find(|&other| named(machine, other, state) == action)
}

/// Checks one state after the other, as a search does.
struct Examiner {
    promised: Promised,
    judge: Judge,
}

impl Examiner {
    fn new(machine: &ExploredMachine) -> Examiner {
        let protocol = machine.protocol();
        Examiner {
            promised: Promised::of(protocol.promises()),
            judge: Judge::new(provided(protocol.model(), machine.config())),
        }
    }

    fn examine(&mut self, machine: &mut ExploredMachine, state: &State) -> Result<(), Violation> {
        examine(machine, self.promised, &mut self.judge, state, 0)?;
        if stuck(machine, state) { Err(Violation::Deadlock(machine.waiting(state))) } else { Ok(()) }
    }
}

/// Whether something waits and nothing can move any more. A move that breaks a rule counts as a move.
fn stuck(machine: &mut ExploredMachine, state: &State) -> bool {
    let mut moves = Moves::default();
    moves.find(machine, state);
    let mut possible = |&action: &Action| machine.apply(action, &mut state.clone()).unwrap_or(true);
    !moves.finished && !moves.progress.iter().any(&mut possible)
}
