//! The caches that kernels run on: the protocol's controllers, in every order of their work.
//!
//! Every stream has a thread beside the private cache of each chiplet. At a launch its threads give their chiplet's L2
//! the commands of the command processor. When all have been carried out, each thread makes some or all of the accesses
//! that its chiplet declared, in the order of lines, and ends the kernel. Its private cache then begins the next one at
//! once: nobody could see copies that it kept until then. Loads must return what was written last. A thread that is not
//! needed in a place has that place answered from the start, so that a state alone says what is left to do.

use std::ops::Range;

use chorus_protocol::access::{Order, Scope};
use chorus_protocol::address::{AgentId, LineAddr, Role, Topology};
use chorus_protocol::registry::{Commands, DirectoryShape, Protocol};

use super::account::{Need, Needs};
use super::history::{Declared, Kernel, Size};
use crate::config::{Ending, Evictions, MachineConfig, Start, ThreadSpec, one_set};
use crate::machine::{Action, ExploredMachine};
use crate::program::{Edge, Op, Step};
use crate::state::{Progress, State};
use crate::words::Words;

/// Lines of a page.
const PAGE_LINES: usize = 2;

/// The modules in whose memory lines lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// In the memory of one chiplet after the other.
    InTurn,
    /// In the memory of a module of its own, without work-groups.
    Elsewhere,
}

/// The operation of a thread in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Command { need: Need, line: Option<usize> },
    Begin,
    Load { line: usize, word: usize },
    Store { line: usize, word: usize },
    End,
}

/// The machine: private caches, L2s and memory, between launches and during kernels.
pub struct Caches {
    size: Size,
    machine: ExploredMachine,
    /// The physical line of each line.
    lines: Vec<u8>,
    places: Vec<Place>,
}

/// A state of the machine. The newest value of every word that kernels use comes first.
pub type Moment = Vec<u32>;

/// The reason why a move must not happen.
pub type Wrong = String;

impl Caches {
    /// Empty caches. L2s have room for `room` lines.
    pub fn new(
        size: &Size,
        protocol: &'static dyn Protocol,
        parameters: &'static [(&'static str, u64)],
        homes: Homes,
        room: usize,
        evictions: Evictions,
    ) -> Caches {
        let (lines, home_shift, modules) = layout(size, homes);
        let by_ranges = protocol.declaration().commands == Commands::TableOfRanges;
        let places = places(size, by_ranges);
        let last = lines.iter().copied().max().unwrap_or(0);
        let threads = (0..=size.streams).flat_map(|stream| (0..modules).map(move |module| (stream, module)));
        let wave = |stream: usize, module: u16| {
            let steps = places.iter().map(|&place| step(size, &lines, modules, module, place)).collect();
            ThreadSpec { cache: module, wave: stream as u16, steps, code: None, repeats: false }
        };
        let plain = MachineConfig::for_choices(&[0], last + PAGE_LINES as u8, []);
        let config = MachineConfig {
            threads: threads.map(|(stream, module)| wave(stream, module)).collect(),
            l1: one_set(size.all_lines() as u32, size.all_lines() as u32),
            l2: one_set(room as u32, size.all_lines() as u32),
            directory: DirectoryShape { ways: 2, ..DirectoryShape::SMALLEST },
            memory: vec![0; (usize::from(last) + PAGE_LINES) * crate::program::WORDS],
            evictions,
            start: Start::Cold,
            ending: Ending::Complete,
            parameters: parameters.to_vec(),
            ..plain
        };
        let config = config.on_modules([1, modules], 1, home_shift);
        let machine = ExploredMachine::new(protocol, None, &config);
        Caches { size: *size, machine, lines, places }
    }

    /// The agents of the machine and how they are grouped.
    pub fn topology(&self) -> Topology {
        self.machine.config().topology
    }

    /// The addresses of each line in the table: those of its page, in lines.
    pub fn addresses(&self) -> Vec<Range<u64>> {
        self.lines.iter().map(|&line| u64::from(line)..u64::from(line) + PAGE_LINES as u64).collect()
    }

    /// The module in whose memory each line lies.
    pub fn homes(&self) -> Vec<usize> {
        let home = |&line: &u8| usize::from(self.topology().home_module(LineAddr(u64::from(line))));
        self.lines.iter().map(home).collect()
    }

    /// The moment before the first launch.
    pub fn start(&self) -> Result<Moment, Wrong> {
        self.machine.complete().map_err(|violation| violation.to_string())?;
        let mut state = self.machine.cold();
        state[self.machine.ops_at..].fill(Progress::Answered(0, 0).pack());
        Ok([vec![0; self.words()], state].concat())
    }

    fn words(&self) -> usize {
        self.size.all_lines() * self.size.words()
    }

    /// The number of a thread.
    fn thread(&self, stream: usize, module: usize) -> usize {
        stream * usize::from(self.topology().modules()) + module
    }

    /// The moment after a launch: commands and accesses are left to do.
    pub fn launched(&self, moment: &Moment, stream: usize, kernel: &Kernel, needs: &Needs, whole: bool) -> Moment {
        let mut moment = moment.clone();
        for (chiplet, needed) in needs.iter().enumerate().take(self.size.chiplets) {
            let is_left = |place: &Place| match *place {
                Place::Command { need, line: None } => whole && needed[0] == need,
                Place::Command { need, line: Some(line) } => !whole && needed[line] == need,
                Place::Begin | Place::End => kernel.uses(chiplet),
                Place::Load { line, word } => self.size.uses_word(kernel, chiplet, line, word),
                Place::Store { line, word } => {
                    kernel.of(chiplet, line) == Declared::Write && self.size.uses_word(kernel, chiplet, line, word)
                }
            };
            self.leave(&mut moment, self.thread(stream, chiplet), is_left);
        }
        moment
    }

    /// The moment when all programs have ended: L2s are written back, and everything is read at its home.
    pub fn ending(&self, moment: &Moment, needs: &Needs) -> Moment {
        let mut moment = moment.clone();
        let homes = self.homes();
        for module in 0..usize::from(self.topology().modules()) {
            let is_left = |place: &Place| match *place {
                Place::Command { need, line: None } => {
                    needs.get(module).is_some_and(|lines| lines[0] == need && need == Need::WriteBack)
                }
                Place::Command { line: Some(_), .. } | Place::Store { .. } | Place::End | Place::Begin => false,
                Place::Load { line, .. } => homes[line] == module,
            };
            self.leave(&mut moment, self.thread(self.size.streams, module), is_left);
        }
        moment
    }

    fn leave(&self, moment: &mut Moment, thread: usize, is_left: impl Fn(&Place) -> bool) {
        let first = self.words() + self.machine.ops_at + thread * self.machine.slots;
        for (slot, place) in self.places.iter().enumerate() {
            let progress = if is_left(place) { Progress::Waiting } else { Progress::Answered(0, 0) };
            moment[first + slot] = progress.pack();
        }
    }

    fn is_over(&self, moment: &Moment, stream: usize) -> bool {
        self.places_left(moment, stream, |_| true).next().is_none()
    }

    /// The streams that have nothing left to do, as a bit for each. What happens in the end counts as a stream, and the
    /// commands of all streams count as one more.
    pub fn over(&self, moment: &Moment) -> u8 {
        let is_command = |place| matches!(place, Place::Command { .. });
        let all = 0..=self.size.streams;
        let commands_left = all.clone().any(|stream| self.places_left(moment, stream, is_command).next().is_some());
        let streams = all.fold(0, |set, stream| set | u8::from(self.is_over(moment, stream)) << stream);
        streams | u8::from(!commands_left) << (self.size.streams + 1)
    }

    /// The bits of a stream, and of all commands: the table takes what it has ordered for done, so that no launch is
    /// planned before.
    pub fn one_stream(&self, stream: usize) -> u8 {
        1 << stream | 1 << (self.size.streams + 1)
    }

    /// The bits of all streams.
    pub fn all_streams(&self) -> u8 {
        (1 << (self.size.streams + 2)) - 1
    }

    /// The places of a stream's threads that are not answered.
    fn places_left<'a>(
        &'a self,
        moment: &'a Moment,
        stream: usize,
        wanted: impl Fn(Place) -> bool + 'a,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let modules = 0..usize::from(self.topology().modules());
        let all = modules.flat_map(|module| (0..self.places.len()).map(move |slot| (module, slot)));
        all.filter(move |&(module, slot)| {
            let progress = self.progress(moment, self.thread(stream, module), slot);
            wanted(self.places[slot]) && !matches!(progress, Progress::Answered(..))
        })
    }

    fn progress(&self, moment: &Moment, thread: usize, slot: usize) -> Progress {
        Progress::unpack(moment[self.words() + self.machine.ops_at + thread * self.machine.slots + slot])
    }

    /// The moments that one move leads to. Where a move commutes with all others, it alone is made (a persistent set).
    pub fn next(&mut self, moment: &Moment) -> Result<Vec<Moment>, Wrong> {
        let state = moment[self.words()..].to_vec();
        let mut deliveries = Vec::new();
        self.machine.deliveries(&state, &mut deliveries);
        let commuting = deliveries.iter().copied().filter(|delivery| self.commutes(&state, delivery));
        for delivery in commuting.collect::<Vec<_>>() {
            let after = self.make(vec![(moment.clone(), delivery)])?;
            if !after.is_empty() {
                return Ok(after);
            }
        }
        let mut moves: Vec<(Moment, Action)> = Vec::new();
        for stream in 0..=self.size.streams {
            self.issues(moment, stream, &mut moves);
        }
        if let Some(alone) = self.moves_of_one(&moves) {
            let after = self.make(alone)?;
            if !after.is_empty() {
                return Ok(after);
            }
        }
        let mut others = deliveries;
        self.machine.evictions(&state, &mut others);
        moves.extend(others.into_iter().map(|action| (moment.clone(), action)));
        let all = self.make(moves)?;
        if all.is_empty() && self.over(moment) != self.all_streams() {
            return Err(format!("nothing can move: {}", self.machine.waiting(&state)));
        }
        Ok(all)
    }

    /// Makes moves, each from a moment of its own.
    fn make(&mut self, moves: Vec<(Moment, Action)>) -> Result<Vec<Moment>, Wrong> {
        let mut all = Vec::new();
        for (before, action) in moves {
            let mut after: State = before[self.words()..].to_vec();
            if self.machine.apply(action, &mut after).map_err(|violation| violation.to_string())? {
                let mut after = [before[..self.words()].to_vec(), after].concat();
                self.check_loads(&before, &mut after)?;
                all.push(after);
            }
        }
        Ok(all)
    }

    /// Whether a delivery commutes with every other move. Memory hears only its bank, in order. A private cache hears
    /// only its own L2, and its one thread waits for the answer.
    fn commutes(&self, state: &State, delivery: &Action) -> bool {
        let Action::Deliver { position } = delivery else { return false };
        let message = self.machine.nodes().message(self.machine.network(state)[usize::from(*position)]);
        match self.topology().role(message.dst).0 {
            Role::Memory => true,
            Role::L1 => self.size.streams == 1,
            Role::L2 => self.machine.independent(state, &[*delivery]).is_some(),
            Role::L3 | Role::Tu => false,
        }
    }

    /// The moves of one thread that concern its private cache alone. What it sends can still arrive at any time, so
    /// that nothing depends on when it is issued. Threads of several streams share private caches and disturb each
    /// other.
    fn moves_of_one(&self, moves: &[(Moment, Action)]) -> Option<Vec<(Moment, Action)>> {
        if self.size.streams > 1 {
            return None;
        }
        let thread_of = |action: &Action| match *action {
            Action::Issue { thread, .. } => Some(usize::from(thread)),
            Action::Deliver { .. } | Action::Evict { .. } | Action::Time(_) => None,
        };
        let commands = |moment: &Moment, thread: usize| {
            let mut places = self.places.iter().enumerate();
            let waits = |slot| !matches!(self.progress(moment, thread, slot), Progress::Answered(..));
            places.any(|(slot, place)| matches!(place, Place::Command { .. }) && waits(slot))
        };
        let first =
            moves.iter().find_map(|(moment, action)| thread_of(action).filter(|&thread| !commands(moment, thread)))?;
        Some(moves.iter().filter(|(_, action)| thread_of(action) == Some(first)).cloned().collect())
    }

    /// The operations that the threads of a stream may issue, each with the moment in which earlier accesses are left
    /// out and the newest value is noted.
    fn issues(&self, moment: &Moment, stream: usize, moves: &mut Vec<(Moment, Action)>) {
        let is_command = |place| matches!(place, Place::Command { .. });
        let is_commanding = self.places_left(moment, stream, is_command).next().is_some();
        for module in 0..usize::from(self.topology().modules()) {
            let thread = self.thread(stream, module);
            let mut before = moment.clone();
            for (slot, &place) in self.places.iter().enumerate() {
                match (self.progress(moment, thread, slot), place) {
                    (Progress::Answered(..), _) => continue,
                    // Commands to one L2 overlap where histories are few.
                    (Progress::Outstanding(_), Place::Command { .. }) if self.size.does_all => break,
                    (Progress::Outstanding(_), Place::Command { .. } | Place::Store { .. }) => continue,
                    (Progress::Outstanding(_), Place::Begin | Place::Load { .. } | Place::End) => break,
                    (Progress::Waiting, _) => {}
                }
                let mut issued = before.clone();
                let choice = match place {
                    Place::Command { .. } => 0,
                    Place::Load { .. } | Place::Store { .. } | Place::End | Place::Begin if is_commanding => break,
                    Place::Begin | Place::Load { .. } | Place::End => 0,
                    Place::Store { line, word } => {
                        let newest = &mut issued[line * self.size.words() + word];
                        *newest += 1;
                        (*newest - 1) as u8
                    }
                };
                moves.push((issued, Action::Issue { thread: thread as u8, choice }));
                let may_be_left_out = matches!(place, Place::Load { .. } | Place::Store { .. });
                if !may_be_left_out || self.size.does_all || stream == self.size.streams {
                    break;
                }
                let at = self.words() + self.machine.ops_at + thread * self.machine.slots + slot;
                before[at] = Progress::Answered(0, 0).pack();
            }
        }
    }

    /// Compares loads that were answered by a move with the newest values, and forgets their values.
    fn check_loads(&self, before: &Moment, after: &mut Moment) -> Result<(), Wrong> {
        let modules = usize::from(self.topology().modules());
        for thread in 0..(self.size.streams + 1) * modules {
            for (slot, &place) in self.places.iter().enumerate() {
                let Progress::Answered(_, value) = self.progress(after, thread, slot) else { continue };
                let was_answered = matches!(self.progress(before, thread, slot), Progress::Answered(..));
                if let Place::Load { line, word } = place
                    && !was_answered
                {
                    let newest = after[line * self.size.words() + word];
                    if value != newest {
                        return Err(self.stale(thread, line, value, newest));
                    }
                }
                let at = self.words() + self.machine.ops_at + thread * self.machine.slots + slot;
                after[at] = Progress::Answered(0, 0).pack();
            }
        }
        Ok(())
    }

    fn stale(&self, thread: usize, line: usize, value: u32, newest: u32) -> Wrong {
        let modules = usize::from(self.topology().modules());
        let (stream, module, name) = (thread / modules, thread % modules, self.size.name(line));
        let ending = |value| if value == 1 { "" } else { "s" };
        let which = format!("{value} of {newest} write{}", ending(newest));
        if stream == self.size.streams {
            return format!("lost write: in the end {name} has seen {which}");
        }
        format!("stale read: chiplet {module} reads {name} after {which}")
    }
}

/// The physical lines, the bits of a line number below its home's, and the number of modules.
fn layout(size: &Size, homes: Homes) -> (Vec<u8>, u8, u16) {
    let pages: Vec<u8> = (0..size.all_lines()).map(|line| (line * PAGE_LINES) as u8).collect();
    match homes {
        Homes::InTurn => (pages, 1, size.chiplets as u16),
        Homes::Elsewhere => {
            let shift = (size.all_lines() * PAGE_LINES).next_power_of_two().trailing_zeros() as u8;
            let first = (size.chiplets as u8) << shift;
            (pages.into_iter().map(|page| first + page).collect(), shift, size.chiplets as u16 + 1)
        }
    }
}

/// The places of every thread.
fn places(size: &Size, by_ranges: bool) -> Vec<Place> {
    let lines = 0..size.all_lines();
    let concerned = [None].into_iter().chain(lines.clone().map(Some).filter(|_| by_ranges));
    let needs = [Need::WriteBack, Need::Empty];
    let commands = concerned.flat_map(|line| needs.map(|need| Place::Command { need, line }));
    let words = || lines.clone().flat_map(|line| (0..size.words()).map(move |word| (line, word)));
    let accesses = words().flat_map(|(line, word)| [Place::Load { line, word }, Place::Store { line, word }]);
    commands.chain(accesses).chain([Place::End, Place::Begin]).collect()
}

/// The operations that a thread may issue in a place.
fn step(size: &Size, lines: &[u8], modules: u16, module: u16, place: Place) -> Step {
    let at = |line: usize, word: usize| Words::one(lines[line], word as u8);
    // Private caches are numbered before L2s, and there is one of each in a module.
    let bank = AgentId(modules + module);
    let (order, scope) = (Order::Weak, Scope::WorkGroup);
    let alternatives = match place {
        Place::Command { need, line } => {
            let edge = if need == Need::Empty { Edge::Begin } else { Edge::End };
            vec![Op::Command { bank, edge, page: line.map(|line| lines[line]) }]
        }
        Place::Begin => vec![Op::Kernel(Edge::Begin)],
        Place::End => vec![Op::Kernel(Edge::End)],
        Place::Load { line, word } => vec![Op::Load { at: at(line, word), order, scope }],
        Place::Store { line, word } => {
            let store = |value| Op::Store { at: at(line, word), values: at(line, word).values(value), order, scope };
            (1..=size.launches as u32).map(store).collect()
        }
    };
    Step { alternatives, implied: false }
}
