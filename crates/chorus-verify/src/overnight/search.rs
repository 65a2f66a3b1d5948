//! The search itself: breadth first, one distance from the start after the other, with the states of each on disk.

use chorus_protocol::registry::Protocol;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::journal::{Journal, Record, Visited};
use super::level::{Frontier, LevelReader, LevelWriter, States};
use super::tags::{Insertion, Mark, TagSet, TagShard};
use super::{OvernightError, Reached};
use crate::batch::{BATCH, Batch, expand_batch, symmetric};
use crate::canonical::{Canonical, Scratch};
use crate::chart::Chart;
use crate::check::{CheckConfig, Verdict};
use crate::config::Start;
use crate::examine::{examine_known, examine_new};
use crate::expand::{Entry, Expansion, Fault, Found, Moves, keep_first};
use crate::explore::{Failure, explained};
use crate::hashing::fingerprint;
use crate::invariants::Promised;
use crate::judge::{Judge, provided};
use crate::machine::{Action, ExploredMachine};
use crate::settings::{Bound, Reduction, Settings};
use crate::state::State;
use crate::state_set::{decode, encode};
use crate::symmetry::Group;

/// The first size of the set of tags. The set doubles until all memory that is allowed is taken.
const FIRST_BYTES: usize = 64 << 20;

/// Why a search ends before all states are visited.
enum Stop {
    Bound(Bound),
    /// The protocol does not keep some of the symmetries: the search begins anew without them.
    Asymmetric,
    Error(OvernightError),
}

impl From<OvernightError> for Stop {
    fn from(error: OvernightError) -> Stop {
        Stop::Error(error)
    }
}

/// A state that is new, with what is known of it before it has a number.
struct New {
    /// Its place among all states that a batch led to.
    place: u64,
    mark: Mark,
    parent: u32,
    /// The place of its encoding among those of its shard.
    start: usize,
    end: usize,
    /// Whether it keeps the rules, where that is known.
    right: Option<bool>,
}

/// The new states of one shard.
#[derive(Default)]
struct Added {
    new: Vec<New>,
    bytes: Vec<u8>,
    is_full: bool,
}

/// A search with its records.
pub(super) struct Search<'a> {
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &'a CheckConfig,
    settings: Settings,
    journal: &'a mut Journal,
    machine: ExploredMachine,
    canonical: Canonical,
    promised: Promised,
    judge: Judge,
    tags: TagSet,
    byte_limit: usize,
    /// Whether there is no room for a tag.
    is_full: bool,
    starts: Vec<State>,
    record: Record,
    found: Option<Found>,
    /// The number of symmetries of the configuration.
    symmetries: usize,
    /// A rule that is broken before the first move.
    broken_before: Option<Failure>,
}

impl<'a> Search<'a> {
    /// A search that begins, or goes on where its record says.
    pub fn begin(
        protocol: &'static dyn Protocol,
        fault: Option<u8>,
        config: &'a CheckConfig,
        settings: &Settings,
        journal: &'a mut Journal,
        record: Option<Record>,
    ) -> Result<Search<'a>, OvernightError> {
        let machine = ExploredMachine::new(protocol, fault, &config.machine);
        let mut search = Search {
            protocol,
            fault,
            config,
            settings: *settings,
            journal,
            canonical: Canonical::of(&machine),
            judge: Judge::new(provided(protocol.model(), &config.machine)),
            machine,
            promised: Promised::of(protocol.promises()),
            tags: TagSet::new(FIRST_BYTES.min(settings.byte_limit())),
            byte_limit: settings.byte_limit(),
            is_full: false,
            starts: Vec::new(),
            record: record.clone().unwrap_or_default(),
            found: None,
            symmetries: 1,
            broken_before: None,
        };
        search.prepare();
        match record.filter(|record| record.states > 0) {
            Some(record) => search.go_on(&record)?,
            None => loop {
                match search.add_starts() {
                    Ok(()) => break,
                    Err(Stop::Asymmetric) => search.begin_anew()?,
                    Err(Stop::Error(error)) => return Err(error),
                    Err(Stop::Bound(_)) => break,
                }
            },
        }
        Ok(search)
    }

    /// Makes the machine with its symmetries, and brings it to its starts.
    fn prepare(&mut self) {
        self.machine = ExploredMachine::new(self.protocol, self.fault, &self.config.machine);
        self.machine.orders = self.settings.orders;
        self.judge = Judge::new(provided(self.protocol.model(), &self.config.machine));
        self.found = None;
        if self.settings.reduction == Reduction::Full {
            let mut group = Group::of_config(self.machine.config());
            self.symmetries = group.order();
            for broken in &self.record.broken {
                group = group.without(broken);
            }
            self.machine.mirror(group);
        }
        self.canonical = Canonical::of(&self.machine);
        self.starts.clear();
        if let Err(violation) = self.warm() {
            self.broken_before = Some(Failure { violation, state: 0, last: Vec::new(), circle: Vec::new() });
        }
        // What is computed from here on is noted.
        self.machine.take_learned();
    }

    fn warm(&mut self) -> Result<(), crate::violation::Violation> {
        self.machine.complete()?;
        self.starts.push(self.machine.cold());
        if self.machine.config().start == Start::ColdAndWarm {
            let warm = self.machine.warm()?;
            self.starts.push(warm);
        }
        Ok(())
    }

    /// Begins anew without the symmetries that the protocol does not keep.
    fn begin_anew(&mut self) -> Result<(), OvernightError> {
        let mut broken = std::mem::take(&mut self.record.broken);
        broken.push(self.machine.mirrors.broken().to_vec());
        self.record = Record { broken, ..Record::default() };
        self.journal.begin_anew(&self.record)?;
        self.tags = TagSet::new(self.tags.bytes());
        self.is_full = false;
        self.prepare();
        Ok(())
    }

    /// Computes everything again that the records tell.
    fn go_on(&mut self, record: &Record) -> Result<(), OvernightError> {
        let Search { journal, machine, judge, canonical, .. } = self;
        journal.each_learned(record.learned, |unknown| machine.learn(unknown))?;
        machine.take_learned();
        if digest(machine) != record.digest {
            return Err(journal.changed());
        }
        let mut state = State::new();
        journal.each_end(record.ends, |number, bytes| {
            decode(bytes, &mut state);
            // Had the model forbidden it, the search would have ended there.
            let _ = judge.judge(machine, canonical, &state, number);
        })?;
        let needed = TagSet::bytes_for(record.states);
        self.read_tags(needed)
    }

    /// Reads the tags of all visited states into a set of at least `bytes` bytes, as far as memory allows.
    fn read_tags(&mut self, bytes: usize) -> Result<(), OvernightError> {
        let Search { journal, tags, is_full, .. } = self;
        *is_full = false;
        tags.renew(bytes.clamp(FIRST_BYTES.min(self.byte_limit), self.byte_limit));
        journal.each_state(self.record.states, |visited| *is_full |= tags.insert(visited.mark) == Insertion::Full)
    }

    /// Makes room for more tags where memory allows that.
    fn make_room(&mut self) -> Result<(), OvernightError> {
        let bytes = self.tags.bytes();
        if self.tags.is_crowded() && bytes + bytes / 4 < self.byte_limit { self.read_tags(bytes * 2) } else { Ok(()) }
    }

    fn add_starts(&mut self) -> Result<(), Stop> {
        if self.broken_before.is_some() {
            return Ok(());
        }
        symmetric(&self.machine).map_err(|_| Stop::Asymmetric)?;
        let mut level = LevelWriter::create(&self.journal.level(0))?;
        for start in self.starts.clone() {
            let (bytes, mark) = self.marked(&start);
            if self.tags.insert(mark) == Insertion::New {
                let number = self.number(Visited { mark, parent: self.record.states as u32 })?;
                level.add(&bytes)?;
                self.check_new(number, &bytes, 0)?;
            }
        }
        level.sync()?;
        self.record.level = self.record.states;
        self.complete()?;
        Ok(())
    }

    /// The encoding of the state that stands for all images of a state, and its mark.
    fn marked(&self, state: &State) -> (Vec<u8>, Mark) {
        let (mut state, mut bytes) = (state.clone(), Vec::new());
        self.canonical.canonicalise(&self.machine, &mut state, &mut Scratch::default());
        encode(&state, &mut bytes);
        let mark = Mark::new(fingerprint(&bytes), &bytes);
        (bytes, mark)
    }

    /// Writes a new state down. Returns its number.
    fn number(&mut self, visited: Visited) -> Result<u32, OvernightError> {
        self.journal.add_state(visited)?;
        self.record.states += 1;
        Ok((self.record.states - 1) as u32)
    }

    /// Checks a new state, running every unknown step that the check needs.
    fn check_new(&mut self, number: u32, bytes: &[u8], length: u32) -> Result<(), Stop> {
        let mut state = State::new();
        decode(bytes, &mut state);
        let Search { machine, canonical, promised, judge, .. } = self;
        let broken = examine_new(machine, canonical, *promised, judge, &state, number);
        if machine.idle(&state) {
            self.record.ends += self.journal.add_end(number, bytes)?;
        }
        let found = |fault| Some(Found { length, fault, rank: u64::from(number), state: number });
        if broken.values {
            keep_first(&mut self.found, found(Fault::Values));
        }
        if broken.state {
            keep_first(&mut self.found, found(Fault::State));
        }
        symmetric(&self.machine).map_err(|_| Stop::Asymmetric)
    }

    /// Writes down that a distance is complete.
    fn complete(&mut self) -> Result<(), OvernightError> {
        let learned = self.machine.take_learned();
        self.journal.add_learned(&learned)?;
        self.record.learned += learned.len() as u64;
        self.record.digest = digest(&self.machine);
        self.journal.complete(&self.record)
    }

    /// Visits all states that are left.
    pub fn run(&mut self, watch: &mut dyn FnMut(Reached)) -> Result<Verdict, OvernightError> {
        if let Some(failure) = self.broken_before.take() {
            let (warm, start) = (!self.starts.is_empty(), self.machine.cold());
            return Ok(Verdict::Violated(Chart::of_path(&mut self.machine, warm, start, &[], &failure)));
        }
        loop {
            match self.visit_all(watch) {
                Ok(()) => break,
                Err(Stop::Error(error)) => return Err(error),
                Err(Stop::Bound(bound)) => return Ok(Verdict::Bounded(bound)),
                Err(Stop::Asymmetric) => self.restart()?,
            }
        }
        match self.found {
            Some(found) => Ok(Verdict::Violated(self.chart(found)?)),
            None => Ok(Verdict::Pass),
        }
    }

    /// Begins anew as often as symmetries break at the start.
    fn restart(&mut self) -> Result<(), OvernightError> {
        loop {
            self.begin_anew()?;
            match self.add_starts() {
                Err(Stop::Asymmetric) => {}
                Err(Stop::Error(error)) => return Err(error),
                Ok(()) | Err(Stop::Bound(_)) => return Ok(()),
            }
        }
    }

    fn visit_all(&mut self, watch: &mut dyn FnMut(Reached)) -> Result<(), Stop> {
        while self.record.level > 0 && self.found.is_none() {
            self.visit_level(watch)?;
        }
        Ok(())
    }

    fn bounded(&self) -> Result<(), Stop> {
        if self.is_full {
            return Err(Stop::Bound(Bound::Bytes(self.tags.bytes())));
        }
        let limit = self.settings.states;
        if self.record.states as usize > limit { Err(Stop::Bound(Bound::States(limit))) } else { Ok(()) }
    }

    /// Expands the states of one distance.
    fn visit_level(&mut self, watch: &mut dyn FnMut(Reached)) -> Result<(), Stop> {
        let depth = self.record.depth;
        let (from, to) = (self.journal.level(depth), self.journal.level(depth + 1));
        let mut reader = LevelReader::open(&from)?;
        let mut writer = LevelWriter::create(&to)?;
        let (mut states, mut expansions) = (States::default(), Vec::new());
        let (first, end) = (self.record.states - self.record.level, self.record.states);
        let mut next = first;
        while next < end {
            self.bounded()?;
            self.make_room()?;
            let count = (end - next).min(BATCH as u64);
            reader.read(count as usize, &mut states)?;
            states.first = next as u32;
            let batch: Vec<(u64, u32)> = (next..next + count).map(|number| (number, number as u32)).collect();
            let Search { machine, canonical, tags, .. } = self;
            let seen = Frontier { states: &states, tags };
            let batch = Batch { seen: &seen, notes: false, depth, states: &batch };
            expand_batch(machine, canonical, batch, &mut expansions).map_err(|_| Stop::Asymmetric)?;
            for expansion in &expansions {
                self.record.transitions += expansion.transitions;
                keep_first(&mut self.found, expansion.found);
            }
            self.add(&expansions, &mut writer)?;
            next += count;
            watch(Reached { depth, states: self.record.states, waiting: self.record.states - next });
        }
        writer.sync()?;
        self.record.level = self.record.states - end;
        self.record.depth += u32::from(self.record.level > 0);
        if self.found.is_none() {
            self.complete()?;
            self.journal.forget_level(depth);
        }
        if self.record.level == 0 {
            self.journal.forget_level(depth + 1);
        }
        Ok(())
    }

    /// Adds the states that a batch led to, and checks the new ones.
    fn add(&mut self, expansions: &[Expansion], level: &mut LevelWriter) -> Result<(), Stop> {
        let Search { machine, judge, promised, tags, .. } = self;
        let adder = Adder { machine, judge, promised: *promised };
        let mut added: Vec<Added> = Vec::new();
        let shards = tags.shards_mut().par_iter_mut().enumerate();
        shards.map(|(shard, tags)| adder.add(shard, tags, expansions)).collect_into_vec(&mut added);
        self.is_full |= added.iter().any(|added| added.is_full);
        self.bounded()?;
        let count: usize = expansions.iter().map(|expansion| expansion.count as usize).sum();
        let mut ranked: Vec<Option<(usize, usize)>> = vec![None; count];
        for (shard, added) in added.iter().enumerate() {
            for (index, new) in added.new.iter().enumerate() {
                ranked[new.place as usize] = Some((shard, index));
            }
        }
        let length = self.record.depth + 1;
        let mut unchecked: Vec<(u32, &[u8])> = Vec::new();
        for (shard, index) in ranked.into_iter().flatten() {
            let New { mark, parent, start, end, right, .. } = added[shard].new[index];
            let number = self.number(Visited { mark, parent })?;
            let bytes = &added[shard].bytes[start..end];
            level.add(bytes)?;
            match right {
                Some(true) => {}
                Some(false) => {
                    let found = Found { length, fault: Fault::State, rank: u64::from(number), state: number };
                    keep_first(&mut self.found, Some(found));
                }
                None => unchecked.push((number, bytes)),
            }
        }
        unchecked.into_iter().try_for_each(|(number, bytes)| self.check_new(number, bytes, length))
    }

    /// The start, the moves that lead to a state, and the state at their end.
    fn follow(&mut self, number: u32) -> Result<(State, Vec<Action>, State), OvernightError> {
        let mut way = vec![self.journal.state(number)?];
        let mut at = number;
        while way.last().is_some_and(|visited| visited.parent != at) {
            at = way[way.len() - 1].parent;
            way.push(self.journal.state(at)?);
        }
        let first = way.pop().map(|visited| visited.mark);
        let start = self.starts.iter().find(|start| Some(self.marked(start).1) == first);
        let start = start.cloned().unwrap_or_else(|| self.machine.cold());
        let (mut state, mut actions, mut moves) = (start.clone(), Vec::new(), Moves::default());
        for visited in way.into_iter().rev() {
            moves.find(&self.machine, &state);
            let leads = |action: &Action| {
                let mut next = state.clone();
                let moved = self.machine.attempt(*action, &mut next) == Ok(true);
                (moved && self.marked(&next).1 == visited.mark).then_some(next)
            };
            let Some((action, next)) = moves.all().find_map(|action| Some((action, leads(&action)?))) else { break };
            actions.push(action);
            state = next;
        }
        Ok((start, actions, state))
    }

    fn chart(&mut self, found: Found) -> Result<Chart, OvernightError> {
        let (start, actions, state) = self.follow(found.state)?;
        let failure = explained(&mut self.machine, self.promised, &mut self.judge, found, &state);
        let warm = start != self.machine.cold();
        Ok(Chart::of_path(&mut self.machine, warm, start, &actions, &failure))
    }

    pub fn states(&self) -> u64 {
        self.record.states
    }

    pub fn transitions(&self) -> u64 {
        self.record.transitions
    }

    pub fn depth(&self) -> u32 {
        self.record.depth
    }

    /// The number of programs, and of executions.
    pub fn judged(&self) -> (usize, usize) {
        (self.judge.programs(), self.judge.executions())
    }

    /// The number of symmetries that the protocol keeps, and of those of the configuration.
    pub fn symmetries(&self) -> (usize, usize) {
        (self.canonical.order(), self.symmetries)
    }

    pub fn bytes(&self) -> usize {
        self.tags.bytes_in_use()
    }

    pub fn omission_probability(&self) -> f64 {
        self.tags.omission_probability()
    }
}

/// Adds states to one shard, and checks the new ones as far as all steps that a check needs are known.
struct Adder<'a> {
    machine: &'a ExploredMachine,
    judge: &'a Judge,
    promised: Promised,
}

impl Adder<'_> {
    fn add(&self, shard: usize, tags: &mut TagShard, expansions: &[Expansion]) -> Added {
        let (mut added, mut state, mut execution) = (Added::default(), State::new(), Vec::new());
        let mut first = 0;
        for expansion in expansions {
            for (Entry { fingerprint, parent, place, .. }, bytes) in expansion.buckets[shard].entries() {
                let mark = Mark::new(fingerprint, bytes);
                match tags.insert(mark) {
                    Insertion::Known => continue,
                    Insertion::Full => added.is_full = true,
                    Insertion::New => {}
                }
                decode(bytes, &mut state);
                let start = added.bytes.len();
                added.bytes.extend_from_slice(bytes);
                let right = examine_known(self.machine, self.promised, self.judge, &state, &mut execution);
                let (place, end) = (first + u64::from(place), added.bytes.len());
                added.new.push(New { place, mark, parent, start, end, right });
            }
            first += u64::from(expansion.count);
        }
        added
    }
}

/// A digest of all states, messages and steps that the machine has computed.
fn digest(machine: &ExploredMachine) -> u64 {
    let nodes = machine.nodes();
    let mut bytes = Vec::new();
    let mut add = |number: u32| bytes.extend(number.to_le_bytes());
    add(nodes.all_nodes().len() as u32);
    add(nodes.all_messages().len() as u32);
    for index in 0..nodes.all_results().len() as u32 {
        let effect = nodes.effect(index);
        add(effect.after);
        add(u32::from(effect.done));
        nodes.sent(effect).iter().for_each(|&message| add(message));
        nodes.completions(effect).iter().for_each(|completion| completion.data.0.iter().for_each(|&word| add(word)));
    }
    fingerprint(&bytes)
}
