//! Traces for Perfetto, written as a stream: tracks, slices, flows and counters as packets that stand alone. So a file
//! whose writer was killed opens up to there.
//!
//! Slices of one track must lie one after the other or within each other. Transactions overlap, so a track has lanes:
//! tracks of the same name, which viewers show as one.

use std::collections::HashMap;
use std::io::{self, Write};

use super::protobuf::Message;

/// Bytes that are kept before they are written.
const KEPT: usize = 1 << 16;

/// The number of the only sequence of packets.
const SEQUENCE: u64 = 1;

/// Numbers of fields, as `perfetto_trace.proto` has them.
mod field {
    pub const PACKET: u64 = 1;
    pub mod packet {
        pub const TIMESTAMP: u64 = 8;
        pub const SEQUENCE: u64 = 10;
        pub const TRACK_EVENT: u64 = 11;
        pub const INTERNED_DATA: u64 = 12;
        pub const SEQUENCE_FLAGS: u64 = 13;
        pub const TRACK_DESCRIPTOR: u64 = 60;
    }
    pub mod track {
        pub const UUID: u64 = 1;
        pub const NAME: u64 = 2;
        pub const PARENT: u64 = 5;
        pub const COUNTER: u64 = 8;
    }
    pub mod event {
        pub const ANNOTATIONS: u64 = 4;
        pub const TYPE: u64 = 9;
        pub const NAME: u64 = 10;
        pub const TRACK: u64 = 11;
        pub const DOUBLE_VALUE: u64 = 44;
        pub const FLOWS: u64 = 47;
    }
    pub mod annotation {
        pub const NAME: u64 = 1;
        pub const NUMBER: u64 = 3;
        pub const POINTER: u64 = 7;
    }
    pub mod interned {
        pub const EVENT_NAMES: u64 = 2;
        pub const ANNOTATION_NAMES: u64 = 3;
        pub const ID: u64 = 1;
        pub const NAME: u64 = 2;
    }
}

/// Kinds of events, as `perfetto_trace.proto` numbers them.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// The state of a sequence begins anew, and events refer to names that were given before.
const CLEARED: u64 = 1;
const REFERS: u64 = 2;

/// Facts that a slice carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The number of the access.
    pub access: Option<u64>,
    /// The address of the line.
    pub address: Option<u64>,
}

/// A track: its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Track(u64);

/// The lanes of a track.
#[derive(Debug)]
struct Lanes {
    parent: Track,
    name: String,
    /// The number of each, and the end of its last slice.
    lanes: Vec<(Track, u64)>,
}

/// A trace that is being written.
pub struct Trace<O> {
    out: O,
    kept: Vec<u8>,
    /// The first failure. After it, nothing is written.
    failure: Option<io::Error>,
    bytes: u64,
    events: u64,
    names: HashMap<String, u64>,
    facts_are_named: bool,
    tracks: u64,
    lanes: HashMap<Track, Lanes>,
    packet: Message,
    event: Message,
    inner: Message,
}

impl<O: Write> Trace<O> {
    /// Begins a trace that is written to `out`.
    pub fn new(out: O) -> Trace<O> {
        let mut trace = Trace {
            out,
            kept: Vec::with_capacity(KEPT * 2),
            failure: None,
            bytes: 0,
            events: 0,
            names: HashMap::new(),
            facts_are_named: false,
            tracks: 0,
            lanes: HashMap::new(),
            packet: Message::default(),
            event: Message::default(),
            inner: Message::default(),
        };
        trace.packet.number(field::packet::SEQUENCE, SEQUENCE).number(field::packet::SEQUENCE_FLAGS, CLEARED);
        trace.put_packet();
        trace
    }

    /// The number of events so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A new track below another.
    pub fn track(&mut self, name: &str, parent: Option<Track>) -> Track {
        self.describe(name, parent, false)
    }

    /// A new counter below a track.
    pub fn counter(&mut self, name: &str, parent: Option<Track>) -> Track {
        self.describe(name, parent, true)
    }

    /// A new track below another, for slices that may overlap.
    pub fn lanes(&mut self, name: &str, parent: Track) -> Track {
        self.tracks += 1;
        let track = Track(self.tracks);
        self.lanes.insert(track, Lanes { parent, name: name.to_owned(), lanes: Vec::new() });
        track
    }

    fn describe(&mut self, name: &str, parent: Option<Track>, counts: bool) -> Track {
        self.tracks += 1;
        let track = Track(self.tracks);
        self.event.clear();
        self.event.number(field::track::UUID, track.0).text(field::track::NAME, name);
        parent.iter().for_each(|parent| {
            self.event.number(field::track::PARENT, parent.0);
        });
        if counts {
            self.event.message(field::track::COUNTER, &Message::default());
        }
        self.packet.number(field::packet::SEQUENCE, SEQUENCE);
        self.packet.message(field::packet::TRACK_DESCRIPTOR, &self.event);
        self.put_packet();
        track
    }

    /// The lane of a track with room for a slice.
    pub fn lane(&mut self, track: Track, begin: u64, end: u64) -> Track {
        let Some(lanes) = self.lanes.get_mut(&track) else { return track };
        // The lane that has been free for the shortest time leaves the most room for slices that come late.
        let free = lanes.lanes.iter_mut().filter(|(_, last)| *last <= begin);
        if let Some((lane, last)) = free.max_by_key(|(_, last)| *last) {
            *last = end;
            return *lane;
        }
        let (name, parent) = (lanes.name.clone(), lanes.parent);
        let lane = self.describe(&name, Some(parent), false);
        if let Some(lanes) = self.lanes.get_mut(&track) {
            lanes.lanes.push((lane, end));
        }
        lane
    }

    /// Writes a slice of a lane, or of a track whose slices do not overlap.
    pub fn slice(&mut self, track: Track, name: &str, begin: u64, end: u64, facts: Facts) {
        self.begin(track, name, begin, facts);
        self.end(track, end);
    }

    /// Begins a slice. Slices within it follow, and then its end.
    pub fn begin(&mut self, track: Track, name: &str, time: u64, facts: Facts) {
        self.named_event(BEGIN, track, name, time, facts);
    }

    /// Ends the slice that began last on a track.
    pub fn end(&mut self, track: Track, time: u64) {
        self.event.clear();
        self.event.number(field::event::TYPE, END).number(field::event::TRACK, track.0);
        self.put_event(time);
    }

    /// Writes something that takes no time.
    pub fn instant(&mut self, track: Track, name: &str, time: u64, facts: Facts) {
        self.named_event(INSTANT, track, name, time, facts);
    }

    /// Writes the value of a counter from a time on.
    pub fn count(&mut self, track: Track, time: u64, value: f64) {
        self.event.clear();
        self.event.number(field::event::TYPE, COUNTER).number(field::event::TRACK, track.0);
        self.event.fixed(field::event::DOUBLE_VALUE, value.to_bits());
        self.put_event(time);
    }

    fn named_event(&mut self, kind: u64, track: Track, name: &str, time: u64, facts: Facts) {
        let name = self.name(name);
        self.event.clear();
        self.event.number(field::event::TYPE, kind).number(field::event::TRACK, track.0);
        self.event.number(field::event::NAME, name);
        let annotated =
            [(ACCESS, field::annotation::NUMBER, facts.access), (ADDRESS, field::annotation::POINTER, facts.address)];
        for (name, kind, value) in annotated {
            if let Some(value) = value {
                self.inner.clear();
                self.inner.number(field::annotation::NAME, name).number(kind, value);
                self.event.message(field::event::ANNOTATIONS, &self.inner);
            }
        }
        if let Some(access) = facts.access.filter(|_| kind == BEGIN) {
            self.event.fixed(field::event::FLOWS, access + 1);
        }
        self.put_event(time);
    }

    /// The number of a name, which is given in the file before its first use.
    fn name(&mut self, name: &str) -> u64 {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let number = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), number);
        self.intern(field::interned::EVENT_NAMES, &[(number, name)]);
        if !std::mem::replace(&mut self.facts_are_named, true) {
            self.intern(field::interned::ANNOTATION_NAMES, &[(ACCESS, "access"), (ADDRESS, "line")]);
        }
        number
    }

    fn intern(&mut self, kind: u64, names: &[(u64, &str)]) {
        self.event.clear();
        for &(number, name) in names {
            self.inner.clear();
            self.inner.number(field::interned::ID, number).text(field::interned::NAME, name);
            self.event.message(kind, &self.inner);
        }
        self.packet.number(field::packet::SEQUENCE, SEQUENCE).number(field::packet::SEQUENCE_FLAGS, REFERS);
        self.packet.message(field::packet::INTERNED_DATA, &self.event);
        self.put_packet();
    }

    fn put_event(&mut self, time: u64) {
        self.events += 1;
        self.packet.number(field::packet::TIMESTAMP, time).number(field::packet::SEQUENCE, SEQUENCE);
        self.packet.number(field::packet::SEQUENCE_FLAGS, REFERS);
        self.packet.message(field::packet::TRACK_EVENT, &self.event);
        self.put_packet();
    }

    /// Adds the packet to the file and begins the next one.
    fn put_packet(&mut self) {
        self.inner.clear();
        self.inner.message(field::PACKET, &self.packet);
        self.packet.clear();
        self.bytes += self.inner.bytes().len() as u64;
        self.kept.extend_from_slice(self.inner.bytes());
        if self.kept.len() >= KEPT {
            self.write_kept();
        }
    }

    fn write_kept(&mut self) {
        if self.failure.is_none() {
            self.failure = self.out.write_all(&self.kept).and_then(|()| self.out.flush()).err();
        }
        self.kept.clear();
    }

    /// Writes everything that is kept. Returns the numbers of events and bytes.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.write_kept();
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok((self.events, self.bytes)),
        }
    }
}

/// Numbers of the names of facts.
const ACCESS: u64 = 1;
const ADDRESS: u64 = 2;
