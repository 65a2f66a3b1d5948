//! Timelines of runs, for Perfetto: what every wavefront, cache, port, bank and memory channel did when.
//!
//! A core cycle is shown as a nanosecond. Every access is a slice of its wavefront, with its chain of causes inside.
//! Every message is a slice of each place that it passed, and a flow joins the slices of one access. Counters show how
//! many things were in each place on average.

mod occupancy;
mod perfetto;
mod place;
mod protobuf;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use chorus_protocol::address::AgentId;
use chorus_sim::observe::{
    Access, Change, Interval, Observer, Passage, Purpose, Scene, Segment, Served, SharedObserver,
};

use self::occupancy::{Bins, Occupancy};
use self::perfetto::{Facts, Trace, Track};
use self::place::Place;

/// The parts of a run that a timeline shows. Every condition that is given has to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The core cycles that are shown.
    pub window: Option<Range<u64>>,
    /// An address in the line that is shown.
    pub address: Option<u64>,
    /// The name of the kernel that is shown.
    pub kernel: Option<String>,
}

impl Bounds {
    /// Whether everything is shown.
    pub fn is_everything(&self) -> bool {
        *self == Bounds::default()
    }
}

/// Events between two times at which counters are written.
const COUNTERS_EVERY: u64 = 1 << 16;

/// Something that was shown, by which bounds that hold for nothing are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Events in the file, and its bytes.
    pub size: (u64, u64),
    /// Whether the line was touched.
    pub touches_line: bool,
}

/// A timeline that is being written.
struct Timeline<O> {
    bounds: Bounds,
    trace: Trace<O>,
    scene: Option<Scene>,
    /// The track of every agent, and the tracks below it.
    agents: HashMap<AgentId, Track>,
    /// The tracks of changes of state.
    states: HashMap<AgentId, Track>,
    places: HashMap<(AgentId, Place), Track>,
    slots: HashMap<(AgentId, u16), Track>,
    /// The tracks of what wavefronts issue and wait for, and what each waits for since when.
    waves: HashMap<(AgentId, u16), Track>,
    waits: HashMap<(AgentId, u16), (u64, &'static str)>,
    bins: Bins,
    counters: BTreeMap<(AgentId, &'static str), (Track, Occupancy)>,
    /// The number of events after which counters are written again.
    next_counters: u64,
    /// The kernels of wavefronts by their slots: since when.
    kernels: HashMap<(AgentId, u16), Vec<(u64, bool)>>,
    running: HashMap<(AgentId, u16), (u64, String)>,
    touches_line: bool,
}

impl<O: Write> Timeline<O> {
    fn cycles(&self, ticks: u64) -> u64 {
        ticks / self.scene.as_ref().map_or(1, |scene| scene.cycle)
    }

    /// The address of a virtual line.
    fn address(&self, line: u64) -> u64 {
        line * self.scene.as_ref().map_or(1, |scene| u64::from(scene.line_bytes))
    }

    /// Whether a time between two ticks is in the window.
    fn is_inside(&self, from: u64, until: u64) -> bool {
        let window = self.bounds.window.as_ref();
        window.is_none_or(|window| self.cycles(from) < window.end && self.cycles(until) >= window.start)
    }

    /// Whether a virtual line is shown.
    fn shows_line(&mut self, line: Option<u64>) -> bool {
        let Some(address) = self.bounds.address else { return true };
        let line_bytes = self.address(1);
        let shows = line == Some(address / line_bytes);
        self.touches_line |= shows;
        shows
    }

    /// Whether the kernel is shown that a wavefront belongs to which made an access.
    fn shows_kernel_of(&self, served: Option<Served>, time: u64) -> bool {
        if self.bounds.kernel.is_none() {
            return true;
        }
        let kernels = served.and_then(|served| self.kernels.get(&(served.cache, served.wave)));
        kernels.is_some_and(|kernels| {
            let after = kernels.partition_point(|&(began, _)| began <= time);
            after.checked_sub(1).is_some_and(|place| kernels[place].1)
        })
    }

    fn agent(&mut self, agent: AgentId) -> Track {
        let Timeline { agents, trace, scene, .. } = self;
        let name = || scene.as_ref().map_or_else(String::new, |scene| scene.topology.name(agent));
        *agents.entry(agent).or_insert_with(|| trace.track(&name(), None))
    }

    /// Draws a slice at a place of an agent, and counts it there.
    fn draw(&mut self, agent: AgentId, place: Place, name: &str, [from, until]: [u64; 2], facts: Facts) {
        let parent = self.agent(agent);
        let trace = &mut self.trace;
        let track = *self.places.entry((agent, place)).or_insert_with(|| trace.lanes(place.name(), parent));
        let lane = trace.lane(track, from, until);
        trace.slice(lane, name, from, until, facts);
        self.occupy(agent, place.counter(), [from, until]);
    }

    /// Counts something that was with an agent for some time.
    fn occupy(&mut self, agent: AgentId, name: &'static str, [from, until]: [u64; 2]) {
        let parent = self.agent(agent);
        let Timeline { counters, trace, bins, .. } = self;
        let counter = counters.entry((agent, name));
        let (_, occupancy) = counter.or_insert_with(|| (trace.counter(name, Some(parent)), Occupancy::new(*bins)));
        occupancy.add(from, until);
        if self.trace.events() >= self.next_counters {
            self.write_counters();
        }
    }

    /// Writes what has changed of the counters.
    fn write_counters(&mut self) {
        let end = self.bounds.window.as_ref().map_or(u64::MAX, |window| window.end);
        for (counter, occupancy) in self.counters.values_mut() {
            for (time, value) in occupancy.take_changes().into_iter().filter(|(time, _)| *time <= end) {
                self.trace.count(*counter, time, value);
            }
        }
        self.next_counters = self.trace.events() + COUNTERS_EVERY;
    }

    /// The track of what a wavefront slot issues and waits for, if it is shown now.
    fn wave(&mut self, cache: AgentId, slot: u16) -> Option<Track> {
        let is_of_kernel =
            |(_, kernel): &(u64, String)| self.bounds.kernel.as_ref().is_none_or(|wanted| wanted == kernel);
        if self.bounds.address.is_some() || !self.running.get(&(cache, slot)).is_some_and(is_of_kernel) {
            return None;
        }
        let parent = self.agent(cache);
        let trace = &mut self.trace;
        Some(
            *self.waves.entry((cache, slot)).or_insert_with(|| trace.track(&format!("wavefront {slot}"), Some(parent))),
        )
    }

    fn draw_segment(&mut self, passage: &Passage<'_>, from: u64, segment: &Segment, facts: Facts) {
        let Some(place) = Place::of(segment.cause) else { return };
        let table = self.scene.as_ref().map_or(&[][..], |scene| scene.messages);
        let message = table.get(usize::from(passage.message)).map_or("", |spec| spec.name);
        // The time of one message in one place is one slice, and its name says what the time went to.
        let name = format!("{message}: {}", segment.cause.name());
        self.draw(segment.place, place, &name, [self.cycles(from), self.cycles(segment.until)], facts);
    }

    /// Writes what is not written yet.
    fn finish(mut self) -> io::Result<Shown> {
        self.write_counters();
        Ok(Shown { size: self.trace.finish()?, touches_line: self.touches_line })
    }
}

impl<O: Write + Send> Observer for Timeline<O> {
    fn begin(&mut self, scene: &Scene) {
        self.scene = Some(scene.clone());
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn access(&mut self, access: &Access, chain: &[Interval]) {
        let is_of_kernel = self.bounds.kernel.as_deref().is_none_or(|kernel| kernel == &*access.kernel);
        if !is_of_kernel || !self.shows_line(access.line) || !self.is_inside(access.issued, access.ended) {
            return;
        }
        let Served { number, purpose, cache, wave } = access.served;
        let parent = self.agent(cache);
        let (trace, slot) = (&mut self.trace, format!("slot {wave}"));
        let track = *self.slots.entry((cache, wave)).or_insert_with(|| trace.lanes(&slot, parent));
        let [from, until] = [access.issued, access.ended].map(|ticks| self.cycles(ticks));
        let facts = Facts { access: Some(number.0), address: access.line.map(|line| self.address(line)) };
        let lane = self.trace.lane(track, from, until);
        self.trace.begin(lane, purpose.one(), from, facts);
        for interval in chain {
            let [from, until] = [interval.from, interval.until].map(|ticks| self.cycles(ticks));
            let for_other = interval.other.map(|other| other.number.0);
            self.trace.begin(lane, interval.cause.name(), from, Facts::default());
            if let Some(other) = for_other {
                self.trace.instant(lane, "for another access", from, Facts { access: Some(other), address: None });
            }
            self.trace.end(lane, until);
        }
        self.trace.end(lane, until);
        if purpose != Purpose::Store {
            self.occupy(cache, "accesses outstanding", [from, until]);
        }
    }

    fn message(&mut self, passage: &Passage<'_>) {
        let end = passage.segments.last().map_or(passage.sent, |segment| segment.until);
        let shows = self.is_inside(passage.sent, end) && self.shows_kernel_of(passage.served, passage.sent);
        if !self.shows_line(passage.line) || !shows {
            return;
        }
        let access = passage.served.map(|served| served.number.0);
        let facts = Facts { access, address: passage.line.map(|line| self.address(line)) };
        let mut from = passage.sent;
        for segment in passage.segments {
            self.draw_segment(passage, from, segment, facts);
            from = segment.until;
        }
    }

    fn change(&mut self, change: &Change, now: u64) {
        if self.bounds.kernel.is_some() || !self.shows_line(change.line) || !self.is_inside(now, now) {
            return;
        }
        let parent = self.agent(change.at);
        let trace = &mut self.trace;
        let track = *self.states.entry(change.at).or_insert_with(|| trace.track("states of lines", Some(parent)));
        let facts = Facts { access: None, address: change.line.map(|line| self.address(line)) };
        let time = self.cycles(now);
        self.trace.instant(track, &format!("{} → {}", change.before, change.after), time, facts);
    }

    fn wave_begins(&mut self, cache: AgentId, slot: u16, kernel: &str, now: u64) {
        if let Some(wanted) = &self.bounds.kernel {
            self.kernels.entry((cache, slot)).or_default().push((now, wanted == kernel));
        }
        self.running.insert((cache, slot), (now, kernel.to_owned()));
    }

    fn wave_issues(&mut self, cache: AgentId, slot: u16, instruction: &'static str, now: u64) {
        if self.is_inside(now, now)
            && let Some(track) = self.wave(cache, slot)
        {
            self.trace.instant(track, instruction, self.cycles(now), Facts::default());
        }
    }

    fn wave_waits(&mut self, cache: AgentId, slot: u16, reason: Option<&'static str>, now: u64) {
        let key = (cache, slot);
        if self.waits.get(&key).map(|(_, reason)| *reason) == reason {
            return;
        }
        let before = match reason {
            Some(reason) => self.waits.insert(key, (now, reason)),
            None => self.waits.remove(&key),
        };
        let Some((since, reason)) = before else { return };
        let [from, until] = [since, now].map(|ticks| self.cycles(ticks));
        if from < until
            && self.is_inside(since, now)
            && let Some(track) = self.wave(cache, slot)
        {
            self.trace.slice(track, reason, from, until, Facts::default());
        }
    }

    fn wave_ends(&mut self, cache: AgentId, slot: u16, now: u64) {
        self.wave_waits(cache, slot, None, now);
        let Some((began, kernel)) = self.running.remove(&(cache, slot)) else { return };
        let is_of_kernel = self.bounds.kernel.as_ref().is_none_or(|wanted| *wanted == kernel);
        if !is_of_kernel || self.bounds.address.is_some() || !self.is_inside(began, now) {
            return;
        }
        let parent = self.agent(cache);
        let (trace, name) = (&mut self.trace, "wavefronts");
        let track = *self.slots.entry((cache, u16::MAX)).or_insert_with(|| trace.lanes(name, parent));
        let [from, until] = [began, now].map(|ticks| self.cycles(ticks));
        let lane = self.trace.lane(track, from, until);
        self.trace.slice(lane, &kernel, from, until, Facts::default());
    }
}

/// Lets `run` be observed by a timeline that is written to `out`. The run takes so many cycles, if that is known.
/// Returns the result of the run, and what the timeline shows or why it could not be written.
pub fn observe<O: Write + Send + 'static, R>(
    out: O,
    bounds: Bounds,
    cycles: Option<u64>,
    run: impl FnOnce(&SharedObserver) -> R,
) -> (R, io::Result<Shown>) {
    let bins = match (cycles, &bounds.window) {
        (_, Some(window)) => Bins::between(window.start, Some(window.end)),
        (Some(cycles), None) => Bins::of_run(cycles),
        (None, None) => Bins::between(0, None),
    };
    let timeline = Timeline {
        bounds,
        bins,
        trace: Trace::new(out),
        scene: None,
        agents: HashMap::new(),
        states: HashMap::new(),
        places: HashMap::new(),
        slots: HashMap::new(),
        waves: HashMap::new(),
        waits: HashMap::new(),
        counters: BTreeMap::new(),
        next_counters: COUNTERS_EVERY,
        kernels: HashMap::new(),
        running: HashMap::new(),
        touches_line: false,
    };
    let timeline = Arc::new(Mutex::new(timeline));
    let observer: SharedObserver = timeline.clone();
    let result = run(&observer);
    drop(observer);
    // The machine is gone, and nobody else has the timeline.
    let shown = match Arc::into_inner(timeline) {
        Some(timeline) => timeline.into_inner().unwrap_or_else(PoisonError::into_inner).finish(),
        None => Err(io::Error::other("the timeline is still in use")),
    };
    (result, shown)
}

#[cfg(test)]
mod tests;
