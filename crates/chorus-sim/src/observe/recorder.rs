//! The recorder of a partition: it keeps the journeys of messages and accesses, and tells the observer of those that
//! have ended.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use chorus_protocol::access::Txn;
use chorus_protocol::address::{AgentId, LineAddr};

use super::journey::{Carried, Chain, Journeys};
use super::{Access, AccessNumber, Cause, Change, Changes, Interval, Journey, Purpose, Served, SharedObserver};
use crate::clock::Ticks;

/// Requests that are remembered for each private cache because they may be answered later, or are never. When there
/// are more in all, the older half is forgotten.
const PENDING_OF_CACHE: usize = 256;

/// The most of them about one line at one agent. When there are more, the oldest is forgotten.
const PENDING_OF_LINE: usize = 64;

/// The thing that a controller makes a step for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trigger {
    /// A message. The cause says what it waited for at the controller since the last event of its journey.
    Message { id: u32, at: AgentId, cause: Cause },
    /// An access of a wavefront, or of a store buffer.
    Access(AccessTry),
    /// Nothing that was sent: an order of the host, or a moment that the controller waited for.
    Alone { at: AgentId, cause: Cause },
}

/// An access that a private cache is given, perhaps not for the first time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessTry {
    pub(crate) cache: AgentId,
    pub(crate) id: u32,
    pub(crate) purpose: Purpose,
    pub(crate) wave: u16,
    pub(crate) issued: Ticks,
    /// The physical line that it touches, and its virtual line.
    pub(crate) lines: Option<(LineAddr, u64)>,
    /// Since when the head of the queue could not be accepted, and why.
    pub(crate) stalled: Option<(Ticks, Cause)>,
}

/// The end of an access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessEnd<'k> {
    pub(crate) cache: AgentId,
    pub(crate) id: u32,
    pub(crate) purpose: Purpose,
    pub(crate) wave: u16,
    pub(crate) kernel: &'k str,
    pub(crate) line: Option<u64>,
    pub(crate) issued: Ticks,
    pub(crate) now: Ticks,
    /// When its wavefront goes on, which may be later.
    pub(crate) ended: Ticks,
}

/// A message that is sent, or a line that is fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) message: u8,
    pub(crate) is_probe: bool,
    pub(crate) from: AgentId,
    pub(crate) to: AgentId,
    pub(crate) line: LineAddr,
    pub(crate) txn: Txn,
    /// The lookup before it leaves: what it is, and when it ends.
    pub(crate) looked_up: (Ticks, Cause),
    /// From when on it may leave.
    pub(crate) ready: Ticks,
}

/// The last steps of a message: when it left its port, came, and passed the port of its destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) left: Ticks,
    pub(crate) came: Ticks,
    pub(crate) waited: Ticks,
    pub(crate) now: Ticks,
}

/// An access that a private cache has been given.
struct Given {
    journey: Arc<Journey>,
    served: Served,
    /// When it was given the last time.
    at: Ticks,
    /// Whether the cache served it by itself.
    is_hit: bool,
}

/// A hash of agents and lines: one multiplication for each number. Nothing depends on the order of the tables.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixed>>;

/// The accesses of a private cache.
#[derive(Default)]
struct Cache {
    /// Accesses that it has been given, by their numbers in the driver.
    given: Vec<Option<Given>>,
    /// Accesses that have been given numbers so far.
    count: u64,
}

/// The recorder of a partition.
pub(crate) struct Recorder {
    observer: SharedObserver,
    /// Whether the observer wants to know of messages.
    tells_messages: bool,
    caches: Vec<Cache>,
    /// Journeys by the numbers of their packets.
    packets: Vec<Carried>,
    /// The journey whose end is the step that is made now, and when that is.
    step: Arc<Journey>,
    now: Ticks,
    journeys: Journeys,
    /// Messages that agents have taken about a line and that they may still answer.
    pending: Table<(AgentId, LineAddr), Vec<Arc<Journey>>>,
    pending_count: usize,
    /// Empty lists for more of them.
    spare: Vec<Vec<Arc<Journey>>>,
    /// The kernels that accesses have belonged to, the last one first.
    kernels: Vec<Arc<str>>,
    /// The virtual lines of the physical ones that have been touched.
    lines: Table<LineAddr, u64>,
    /// Changes of state in the last step.
    changes: Changes,
    intervals: Vec<Interval>,
}

impl Recorder {
    /// A recorder for a machine with so many private caches.
    pub(crate) fn new(observer: SharedObserver, caches: u16, changes: Changes) -> Recorder {
        let tells_messages = observer.lock().unwrap_or_else(PoisonError::into_inner).wants_messages();
        Recorder {
            observer,
            tells_messages,
            caches: (0..caches).map(|_| Cache::default()).collect(),
            packets: Vec::new(),
            step: Arc::new(Journey::root(AgentId::NOBODY, 0, None)),
            now: 0,
            journeys: Journeys::default(),
            pending: Table::default(),
            pending_count: 0,
            spare: Vec::new(),
            kernels: Vec::new(),
            lines: Table::default(),
            changes,
            intervals: Vec::new(),
        }
    }

    /// Notes what the next step is made for.
    pub(crate) fn begin_step(&mut self, now: Ticks, trigger: Trigger) {
        if self.tells_messages {
            self.tell_changes();
        }
        let step = match trigger {
            Trigger::Message { id, at, cause } => self.take(id, at, cause, now),
            Trigger::Access(given) => self.give(given, now),
            Trigger::Alone { at, cause } => {
                self.journeys.share(Journey { before: cause, ..Journey::root(at, now, None) })
            }
        };
        self.journeys.give_back(std::mem::replace(&mut self.step, step));
        self.now = now;
    }

    /// Tells the observer of the changes of the last step.
    fn tell_changes(&self) {
        for (line, change) in self.changes.get().drain(..) {
            let change = Change { line: self.lines.get(&line).copied(), ..change };
            self.observer.lock().unwrap_or_else(PoisonError::into_inner).change(&change, self.now);
        }
    }

    /// A controller is given a message.
    fn take(&mut self, id: u32, at: AgentId, cause: Cause, now: Ticks) -> Arc<Journey> {
        let carried = self.packets.get_mut(id as usize).map(std::mem::take).unwrap_or_default();
        let Some(key) = carried.journey().map(|journey| (at, journey.line)) else {
            return self.journeys.share(Journey::root(at, now, None));
        };
        // A message that was given before could not be taken.
        if let Carried::Taken(journey) = &carried
            && let Some(same) = self.pending.get_mut(&key)
        {
            let before = same.len();
            same.retain(|other| !Arc::ptr_eq(other, journey));
            self.pending_count -= before - same.len();
        }
        let others = (cause == Cause::Directory).then(|| self.pending.get(&key)).flatten();
        let blocker = others.and_then(|others| others.last()).and_then(|other| other.served);
        let mut carried = carried;
        if let Some(tried) = carried.journey_mut() {
            tried.mark_blocked(now, cause, at, blocker);
        }
        let journey = match carried {
            Carried::Nothing => return self.journeys.share(Journey::root(at, now, None)),
            Carried::Travels(journey) => self.journeys.share(journey),
            Carried::Taken(journey) => journey,
        };
        self.packets[id as usize] = Carried::Taken(Arc::clone(&journey));
        if journey.to == at && journey.txn != Txn::None {
            let same = self.pending.entry(key).or_insert_with(|| self.spare.pop().unwrap_or_default());
            if same.len() == PENDING_OF_LINE {
                self.journeys.give_back(same.remove(0));
                self.pending_count -= 1;
            }
            same.push(Arc::clone(&journey));
            self.pending_count += 1;
            if self.pending_count > PENDING_OF_CACHE * self.caches.len().max(16) {
                self.forget_older();
            }
        }
        journey
    }

    /// Forgets the older half of the requests that may still be answered.
    #[cold]
    fn forget_older(&mut self) {
        let mut ends: Vec<Ticks> = self.pending.values().flatten().map(|journey| journey.end()).collect();
        let middle = ends.len() / 2;
        let (_, &mut median, _) = ends.select_nth_unstable(middle);
        self.pending.retain(|_, same| {
            same.extract_if(.., |journey| journey.end() <= median).for_each(|over| self.journeys.give_back(over));
            let is_empty = same.is_empty();
            if is_empty {
                self.spare.push(std::mem::take(same));
            }
            !is_empty
        });
        self.pending_count = self.pending.values().map(Vec::len).sum();
    }

    /// A private cache is given an access.
    fn give(&mut self, given: AccessTry, now: Ticks) -> Arc<Journey> {
        let AccessTry { cache, id, purpose, wave, issued, lines, stalled } = given;
        if self.tells_messages {
            self.lines.extend(lines);
        }
        let blocker = self.step.served;
        let is_known = |given: &Given| given.journey.sent == issued && given.served.wave == wave;
        if !self.slot(cache, id).as_ref().is_some_and(is_known) {
            let served = Served { number: self.number(cache), purpose, cache, wave };
            let segments = self.journeys.segments();
            let journey = self.journeys.share(Journey { segments, ..Journey::root(cache, issued, Some(served)) });
            let before = self.slot(cache, id).replace(Given { journey, served, at: now, is_hit: false });
            before.into_iter().for_each(|before| self.journeys.give_back(before.journey));
        }
        let Some(known) = self.slot(cache, id) else {
            return self.journeys.share(Journey::root(cache, issued, None));
        };
        let journey = Arc::make_mut(&mut known.journey);
        let (since, cause) = stalled.unwrap_or((now, Cause::L1Queue));
        journey.mark(since, Cause::L1Queue, cache);
        journey.mark_blocked(now, cause, cache, blocker.filter(|_| cause == Cause::L1Busy));
        known.at = now;
        Arc::clone(&known.journey)
    }

    /// The place of an access of a private cache.
    fn slot(&mut self, cache: AgentId, id: u32) -> &mut Option<Given> {
        let (given, id) = (&mut self.caches[usize::from(cache.0)].given, id as usize);
        if id >= given.len() {
            given.resize_with(id + 1, || None);
        }
        &mut given[id]
    }

    fn number(&mut self, cache: AgentId) -> AccessNumber {
        let caches = self.caches.len() as u64;
        let count = &mut self.caches[usize::from(cache.0)].count;
        *count += 1;
        AccessNumber((*count - 1) * caches + u64::from(cache.0))
    }

    /// Notes that a private cache serves an access by itself.
    pub(crate) fn hits(&mut self, cache: AgentId, id: u32) {
        if let Some(given) = self.slot(cache, id) {
            given.is_hit = true;
        }
    }

    /// Notes a message that the current step sends.
    pub(crate) fn send(&mut self, id: u32, sent: Sent) {
        let Sent { message, is_probe, from, to, line, txn, looked_up, ready } = sent;
        let is_direct = self.step.from == to && self.step.line == line && self.step.message.is_some();
        // A message that is answered at once waits for no other answer.
        let request = self.answered(from, to, line, txn).filter(|_| !is_direct);
        let mut journey = Journey {
            segments: self.journeys.segments(),
            message: Some(message),
            is_probe,
            to,
            line,
            txn,
            ..Journey::root(from, self.now, None).led_to_by(Some(Arc::clone(&self.step)), request)
        };
        journey.mark(looked_up.0, looked_up.1, from);
        journey.mark(ready, Cause::Ordering, from);
        self.put(id, Carried::Travels(journey));
    }

    /// Takes the request that a message from `from` to `to` answers, where that request came earlier.
    fn answered(&mut self, from: AgentId, to: AgentId, line: LineAddr, txn: Txn) -> Option<Arc<Journey>> {
        if txn == Txn::None {
            return None;
        }
        let requests = self.pending.get_mut(&(from, line))?;
        let place = requests.iter().rposition(|request| request.from == to && request.txn == txn)?;
        let request = requests.remove(place);
        self.pending_count -= 1;
        if requests.is_empty() {
            self.spare.extend(self.pending.remove(&(from, line)));
        }
        Some(request)
    }

    /// Lets a packet have a journey. The journey that it had is over.
    pub(crate) fn put(&mut self, id: u32, carried: Carried) {
        let id = id as usize;
        if id >= self.packets.len() {
            self.packets.resize_with(id + 1, Carried::default);
        }
        let over = std::mem::replace(&mut self.packets[id], carried);
        if self.tells_messages
            && let Some(journey) = over.journey()
        {
            tell(&self.observer, &self.lines, journey);
        }
        self.journeys.give_back_carried(over);
    }

    /// Takes the journey of a packet that goes to another partition.
    pub(crate) fn hand_over(&mut self, id: u32) -> Carried {
        self.packets.get_mut(id as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Notes what a packet has waited for until some time.
    pub(crate) fn mark(&mut self, id: u32, until: Ticks, cause: Cause, place: AgentId) {
        if let Some(journey) = self.packets.get_mut(id as usize).and_then(Carried::journey_mut) {
            journey.mark(until, cause, place);
        }
    }

    /// Notes that a packet has come to its destination through ports, unless that is known already.
    pub(crate) fn arrive(&mut self, id: u32, arrived: Arrived) {
        let Arrived { left, came, waited, now } = arrived;
        let carried = self.packets.get_mut(id as usize).filter(|carried| !carried.has_arrived());
        let Some(journey) = carried.and_then(Carried::journey_mut) else { return };
        journey.has_arrived = true;
        let (from, to) = (journey.from, journey.to);
        journey.mark(left, Cause::NetworkQueue, from);
        journey.mark(came, Cause::Network, from);
        journey.mark(came + waited, Cause::NetworkQueue, to);
        journey.mark(now, Cause::Serialisation, to);
    }

    /// An access has ended. Tells the observer where its time went.
    pub(crate) fn end(&mut self, end: AccessEnd<'_>) {
        let AccessEnd { cache, id, purpose, wave, kernel, line, issued, now, ended } = end;
        let given = self.slot(cache, id).take().filter(|given| given.journey.sent == issued);
        let served = match &given {
            Some(given) => given.served,
            None => Served { number: self.number(cache), purpose, cache, wave },
        };
        let mut chain = Chain::new(served, std::mem::take(&mut self.intervals));
        match given {
            None => chain.push_own(issued, now, Cause::StoreBuffer, cache),
            Some(Given { journey, at, is_hit, .. }) => {
                if is_hit {
                    chain.push_own(at, now, Cause::L1Lookup, cache);
                } else {
                    chain.cover(&self.step, now, at);
                }
                chain.cover(&journey, at, issued);
                self.journeys.give_back(journey);
            }
        }
        let mut intervals = chain.intervals;
        intervals.reverse();
        if ended > now {
            let (place, cause) = (cache, Cause::FencePrice);
            intervals.push(Interval {
                from: now,
                until: ended,
                cause,
                place,
                message: None,
                is_probe: false,
                other: None,
            });
        }
        let kernel = self.kernel(kernel);
        let access = Access { served, kernel, line, issued, ended };
        self.observer.lock().unwrap_or_else(PoisonError::into_inner).access(&access, &intervals);
        intervals.clear();
        self.intervals = intervals;
    }

    fn kernel(&mut self, name: &str) -> Arc<str> {
        match self.kernels.iter().position(|known| **known == *name) {
            Some(place) => self.kernels.swap(0, place),
            None => self.kernels.insert(0, Arc::from(name)),
        }
        Arc::clone(&self.kernels[0])
    }

    /// A wavefront begins in a slot of a unit.
    pub(crate) fn wave_begins(&self, unit: AgentId, slot: u16, kernel: &str, now: Ticks) {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner).wave_begins(unit, slot, kernel, now);
    }

    /// The wavefront in a slot of a unit issues an instruction.
    pub(crate) fn wave_issues(&self, unit: AgentId, slot: u16, instruction: &'static str, now: Ticks) {
        if self.tells_messages {
            let mut observer = self.observer.lock().unwrap_or_else(PoisonError::into_inner);
            observer.wave_issues(unit, slot, instruction, now);
        }
    }

    /// The wavefront in a slot of a unit waits for something or can go on.
    pub(crate) fn wave_waits(&self, unit: AgentId, slot: u16, reason: Option<&'static str>, now: Ticks) {
        if self.tells_messages {
            self.observer.lock().unwrap_or_else(PoisonError::into_inner).wave_waits(unit, slot, reason, now);
        }
    }

    /// The wavefront in a slot of a unit has ended.
    pub(crate) fn wave_ends(&self, unit: AgentId, slot: u16, now: Ticks) {
        self.observer.lock().unwrap_or_else(PoisonError::into_inner).wave_ends(unit, slot, now);
    }
}

impl Drop for Recorder {
    /// Tells the observer of the messages whose places nobody has needed again.
    fn drop(&mut self) {
        if self.tells_messages {
            self.tell_changes();
            let journeys = self.packets.iter().filter_map(Carried::journey);
            journeys.for_each(|journey| tell(&self.observer, &self.lines, journey));
        }
    }
}

fn tell(observer: &Mutex<dyn super::Observer>, lines: &Table<LineAddr, u64>, journey: &Journey) {
    if let Some(passage) = journey.passage(lines.get(&journey.line).copied()) {
        observer.lock().unwrap_or_else(PoisonError::into_inner).message(&passage);
    }
}
