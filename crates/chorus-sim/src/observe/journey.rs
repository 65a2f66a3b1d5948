//! Journeys of messages, and how they are followed backwards.

use std::sync::Arc;

use chorus_protocol::access::Txn;
use chorus_protocol::address::{AgentId, LineAddr};

use super::{Cause, Interval, Served};
use crate::clock::Ticks;

/// The most journeys that follow each other in memory. Lines that wander from cache to cache have longer histories, of
/// which nobody needs the beginning.
const HISTORY_MAX: u32 = 256;

/// Segments that the journey of a message has in most cases.
const SEGMENTS: usize = 8;

/// A part of a journey. It begins where the one before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The tick at which it ends.
    pub until: Ticks,
    /// The thing that the time went to.
    pub cause: Cause,
    /// The component at which the time passed.
    pub place: AgentId,
    /// The access that was in the way, where somebody knows it.
    pub blocker: Option<Served>,
}

/// The journey of a message from the step that sent it to the step that took it, or the time of an access before its
/// private cache.
#[derive(Clone, Debug)]
pub(crate) struct Journey {
    /// The tick at which it began.
    pub(crate) sent: Ticks,
    pub(crate) segments: Vec<Segment>,
    /// The access that it serves.
    pub(crate) served: Option<Served>,
    /// The message, by its row in the protocol's table.
    pub(crate) message: Option<u8>,
    pub(crate) is_probe: bool,
    pub(crate) from: AgentId,
    pub(crate) to: AgentId,
    pub(crate) line: LineAddr,
    pub(crate) txn: Txn,
    /// Whether it is known how it came to its destination.
    pub(crate) has_arrived: bool,
    /// The thing that the time before it went to, where nothing led to it.
    pub(crate) before: Cause,
    /// The journey whose end was the step that sent this message.
    pub(super) trigger: Option<Arc<Journey>>,
    /// The request that this message answers, where that came earlier than the trigger.
    pub(super) request: Option<Arc<Journey>>,
    /// How many journeys follow each other up to this one.
    pub(super) history: u32,
}

/// The journey of a packet.
#[derive(Debug, Default)]
pub(crate) enum Carried {
    /// The packet has none.
    #[default]
    Nothing,
    /// Nobody has taken the message yet, so nothing else refers to its journey.
    Travels(Journey),
    /// A controller has been given the message, and what it led to may refer to its journey.
    Taken(Arc<Journey>),
}

impl Carried {
    /// The journey, if there is one.
    pub(super) fn journey(&self) -> Option<&Journey> {
        match self {
            Carried::Nothing => None,
            Carried::Travels(journey) => Some(journey),
            Carried::Taken(journey) => Some(journey),
        }
    }

    /// Whether it is known how the packet came to its destination.
    pub(super) fn has_arrived(&self) -> bool {
        self.journey().is_some_and(|journey| journey.has_arrived)
    }

    /// The journey, to add something to it.
    pub(super) fn journey_mut(&mut self) -> Option<&mut Journey> {
        match self {
            Carried::Nothing => None,
            Carried::Travels(journey) => Some(journey),
            Carried::Taken(journey) => Some(Arc::make_mut(journey)),
        }
    }
}

/// Places and lists of journeys that are over. They are used again, so that the steady state allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Journeys {
    places: Vec<Arc<Journey>>,
    segments: Vec<Vec<Segment>>,
    /// Journeys that are being given back.
    over: Vec<Arc<Journey>>,
}

impl Journeys {
    /// An empty list of segments.
    pub(super) fn segments(&mut self) -> Vec<Segment> {
        self.segments.pop().unwrap_or_else(|| Vec::with_capacity(SEGMENTS))
    }

    /// Lets others refer to a journey.
    pub(super) fn share(&mut self, journey: Journey) -> Arc<Journey> {
        if let Some(mut place) = self.places.pop()
            && let Some(known) = Arc::get_mut(&mut place)
        {
            *known = journey;
            return place;
        }
        Arc::new(journey)
    }

    /// Gives a packet's journey back.
    pub(super) fn give_back_carried(&mut self, carried: Carried) {
        match carried {
            Carried::Nothing => {}
            Carried::Travels(mut journey) => {
                self.over.extend(journey.trigger.take().into_iter().chain(journey.request.take()));
                self.keep(journey.segments);
                self.free_places();
            }
            Carried::Taken(journey) => self.give_back(journey),
        }
    }

    /// Gives a journey back that somebody needs no more. If nobody else does, its place is free, and so may be those of
    /// the journeys that led to it.
    pub(super) fn give_back(&mut self, journey: Arc<Journey>) {
        self.over.push(journey);
        self.free_places();
    }

    fn free_places(&mut self) {
        while let Some(mut journey) = self.over.pop() {
            // To look at the count is cheaper than to ask for the journey alone.
            if Arc::strong_count(&journey) > 1 {
                continue;
            }
            if let Some(known) = Arc::get_mut(&mut journey) {
                let (trigger, request) = (known.trigger.take(), known.request.take());
                let segments = std::mem::take(&mut known.segments);
                self.over.extend(trigger.into_iter().chain(request));
                self.keep(segments);
                self.places.push(journey);
            }
        }
    }

    fn keep(&mut self, mut segments: Vec<Segment>) {
        segments.clear();
        self.segments.push(segments);
    }
}

/// A message that has been on its way, for observers.
#[derive(Clone, Copy, Debug)]
pub struct Passage<'j> {
    /// The message, by its row in the protocol's table.
    pub message: u8,
    /// The agent that sent it, and the agent that it went to.
    pub from: AgentId,
    /// The agent that took it.
    pub to: AgentId,
    /// The virtual line that it was about, where an access has touched it.
    pub line: Option<u64>,
    /// When the step was that sent it.
    pub sent: Ticks,
    /// Adjoining segments from then on.
    pub segments: &'j [Segment],
    /// The access that it served.
    pub served: Option<Served>,
}

impl Journey {
    /// A journey that nothing led to.
    pub(crate) fn root(place: AgentId, sent: Ticks, served: Option<Served>) -> Journey {
        Journey {
            sent,
            segments: Vec::new(),
            served,
            message: None,
            is_probe: false,
            from: place,
            to: place,
            line: LineAddr(0),
            txn: Txn::None,
            has_arrived: false,
            before: Cause::Earlier,
            trigger: None,
            request: None,
            history: 0,
        }
    }

    /// Notes what led to the journey: the trigger of the step that began it, and the request that it answers.
    pub(crate) fn led_to_by(mut self, trigger: Option<Arc<Journey>>, request: Option<Arc<Journey>>) -> Journey {
        let history = [&trigger, &request].into_iter().flatten().map(|journey| journey.history + 1).max();
        let of_request = request.as_ref().and_then(|request| request.served);
        self.served = of_request.or_else(|| trigger.as_ref().and_then(|trigger| trigger.served));
        self.history = history.unwrap_or(0);
        if self.history < HISTORY_MAX {
            (self.trigger, self.request) = (trigger, request);
        } else {
            self.history = 0;
        }
        self
    }

    /// The tick at which the last segment ends.
    pub(crate) fn end(&self) -> Ticks {
        self.segments.last().map_or(self.sent, |segment| segment.until)
    }

    /// Adds a segment that ends at `until`, if that is later than the end.
    pub(crate) fn mark(&mut self, until: Ticks, cause: Cause, place: AgentId) {
        self.mark_blocked(until, cause, place, None);
    }

    /// Adds a segment in which another access was in the way.
    pub(crate) fn mark_blocked(&mut self, until: Ticks, cause: Cause, place: AgentId, blocker: Option<Served>) {
        if until <= self.end() {
            return;
        }
        match self.segments.last_mut() {
            Some(last) if (last.cause, last.place, last.blocker) == (cause, place, blocker) => last.until = until,
            Some(_) | None => self.segments.push(Segment { until, cause, place, blocker }),
        }
    }

    /// The journey as observers see it, if it is that of a message.
    pub(crate) fn passage(&self, line: Option<u64>) -> Option<Passage<'_>> {
        let &Journey { from, to, sent, ref segments, served, .. } = self;
        self.message.map(|message| Passage { message, from, to, line, sent, segments, served })
    }
}

/// Follows journeys backwards for an access, and collects intervals, the last one first.
pub(crate) struct Chain {
    pub(crate) intervals: Vec<Interval>,
    served: Served,
}

impl Chain {
    /// An empty chain of an access. The intervals are empty, and their memory is used again.
    pub(crate) fn new(served: Served, intervals: Vec<Interval>) -> Chain {
        Chain { intervals, served }
    }

    /// Adds an interval that the access spent at its private cache.
    pub(crate) fn push_own(&mut self, from: Ticks, until: Ticks, cause: Cause, place: AgentId) {
        if from < until {
            self.intervals.push(Interval { from, until, cause, place, message: None, is_probe: false, other: None });
        }
    }

    /// Covers the time from `floor` until `top` by a journey that ends at `top`, and by what led to it.
    pub(crate) fn cover(&mut self, journey: &Arc<Journey>, mut top: Ticks, floor: Ticks) {
        let mut journey = journey;
        loop {
            top = self.cover_by_segments(journey, top, floor);
            if top <= floor {
                return;
            }
            match (&journey.request, &journey.trigger) {
                (Some(request), Some(trigger)) if request.end() <= top => {
                    self.cover(trigger, top, floor.max(request.end()));
                    top = request.end();
                    if top <= floor {
                        return;
                    }
                    journey = request;
                }
                (_, Some(trigger)) => journey = trigger,
                (_, None) => {
                    self.push(floor, top, journey.before, journey.from, journey, None);
                    return;
                }
            }
        }
    }

    /// Covers the time from `floor` until `top` by the segments of a journey. Returns where they begin.
    fn cover_by_segments(&mut self, journey: &Journey, mut top: Ticks, floor: Ticks) -> Ticks {
        for (place, segment) in journey.segments.iter().enumerate().rev() {
            let begin = place.checked_sub(1).map_or(journey.sent, |before| journey.segments[before].until);
            let from = begin.max(floor);
            if from < top && segment.until > floor {
                self.push(from, top, segment.cause, segment.place, journey, segment.blocker);
                top = from;
            }
        }
        top
    }

    fn push(
        &mut self,
        from: Ticks,
        until: Ticks,
        cause: Cause,
        place: AgentId,
        journey: &Journey,
        blocker: Option<Served>,
    ) {
        let other = blocker.or(journey.served).filter(|other| other.number != self.served.number);
        let &Journey { message, is_probe, .. } = journey;
        self.intervals.push(Interval { from, until, cause, place, message, is_probe, other });
    }
}
