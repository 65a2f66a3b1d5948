//! Do directories track every copy, however they are organised?

use std::collections::BTreeSet;

use chorus_protocol::address::{AgentId, LineAddr, Topology};
use chorus_protocol::cache::Replacement;
use chorus_protocol::directory::{Directory, LineGroups, Positions, RangeEntries, Recorded, Stale, Unbounded};
use chorus_protocol::parameter::Parameters;
use chorus_protocol::read_only::ReadOnlyLines;
use chorus_protocol::registry::{BuildConfig, CacheShape, DirectoryShape};
use chorus_protocol::sharers::Sharers;
use proptest::prelude::*;

/// Lines that the sequences use, and the sharers among which two positions are the directory's own.
const LINES: u64 = 64;
const POSITIONS: u16 = 10;
const OWN: [u16; 2] = [2, 7];

/// An event that concerns a line.
#[derive(Clone, Copy, Debug)]
enum Event {
    Read {
        sharer: u16,
    },
    LocalWrite,
    RemoteWrite {
        writer: u16,
    },
    /// A sharer drops its copies of the lines that share the line's sharers, and says so.
    Downgrade {
        sharer: u16,
    },
    /// A sharer drops its copy and says nothing.
    SilentEviction {
        sharer: u16,
    },
    ReplaceEntry,
}

fn events() -> impl Strategy<Value = Vec<(LineAddr, Event)>> {
    let sharer = || (0..POSITIONS).prop_filter("a sharer", |position| !OWN.contains(position));
    let event = prop_oneof![
        6 => sharer().prop_map(|sharer| Event::Read { sharer }),
        1 => Just(Event::LocalWrite),
        2 => sharer().prop_map(|writer| Event::RemoteWrite { writer }),
        1 => sharer().prop_map(|sharer| Event::Downgrade { sharer }),
        1 => sharer().prop_map(|sharer| Event::SilentEviction { sharer }),
        1 => Just(Event::ReplaceEntry),
    ];
    prop::collection::vec(((0..LINES).prop_map(LineAddr), event), 1..300)
}

fn shapes() -> impl Strategy<Value = DirectoryShape> {
    let replacement = prop_oneof![Just(Replacement::Lru), Just(Replacement::Fifo)];
    (1..4_u32, 1..4_u32, 0..6_u32, replacement).prop_map(|(sets, ways, shift, replacement)| DirectoryShape {
        sets,
        ways,
        lines_per_entry: 1 << shift,
        range_lines: 1 << shift,
        replacement: Some(replacement),
    })
}

fn build<D: Directory>(directory: DirectoryShape) -> D {
    let cache = CacheShape { sets: 1, ways: 1, mshrs: 1, replacement: Replacement::Lru };
    let config = BuildConfig {
        topology: Topology { interleave: 64, ..Topology::one_gpu(1, 1) },
        l1: cache,
        l2: cache,
        l3: cache,
        directory,
        page_lines: 1,
        waves: 1,
        buffer_wave: None,
        fences: true,
        read_only: ReadOnlyLines::NONE,
        parameters: Parameters::default(),
        fault: None,
    };
    let mut own = Sharers::NONE;
    OWN.into_iter().for_each(|position| own.insert(AgentId(position)));
    D::new(&config, Positions { count: POSITIONS, own })
}

/// A shape with room for all lines.
fn ample(lines_per_entry: u32) -> DirectoryShape {
    DirectoryShape {
        sets: 1,
        ways: LINES as u32,
        lines_per_entry,
        range_lines: lines_per_entry,
        replacement: Some(Replacement::Lru),
    }
}

/// All that a directory answers to an event. A replacement is that of the whole range of `range` lines.
fn answers<D: Directory>(directory: &mut D, line: LineAddr, event: Event, range: u64) -> Vec<Stale> {
    let mut stale = Vec::new();
    match event {
        Event::Read { sharer } => assert_eq!(directory.record(line, sharer), Recorded::Done),
        Event::LocalWrite => stale.push(directory.write(line, None)),
        Event::RemoteWrite { writer } => {
            assert_eq!(directory.record(line, writer), Recorded::Done);
            stale.push(directory.write(line, Some(writer)));
        }
        Event::Downgrade { sharer } => directory.forget(line, sharer),
        Event::SilentEviction { .. } => {}
        Event::ReplaceEntry => {
            let first = line.0 & !(range - 1);
            (first..first + range).for_each(|line| directory.replace(LineAddr(line), |gone| stale.push(gone)));
        }
    }
    stale
}

/// A directory and the copies that there are: sharers drop what the directory takes back, and nothing else.
struct TrackedCopies<D> {
    directory: D,
    copies: BTreeSet<(LineAddr, u16)>,
}

impl<D: Directory> TrackedCopies<D> {
    fn take_back(copies: &mut BTreeSet<(LineAddr, u16)>, stale: Stale) {
        let lines = stale.first.0..stale.first.0 + u64::from(stale.lines);
        copies.retain(|(line, sharer)| !(lines.contains(&line.0) && stale.sharers.contains(AgentId(*sharer))));
    }

    fn replace(&mut self, line: LineAddr) {
        let TrackedCopies { directory, copies } = self;
        directory.replace(line, |stale| Self::take_back(copies, stale));
    }

    fn record(&mut self, line: LineAddr, sharer: u16) {
        if let Recorded::Full(victim) = self.directory.record(line, sharer) {
            assert!(self.directory.covers(victim), "{victim:?} is not tracked, and is to be replaced");
            self.replace(victim);
            assert_eq!(self.directory.record(line, sharer), Recorded::Done, "after a replacement there is room");
        }
        self.copies.insert((line, sharer));
    }

    fn step(&mut self, line: LineAddr, event: Event) {
        match event {
            Event::Read { sharer } => self.record(line, sharer),
            Event::LocalWrite => self.write(line, None),
            Event::RemoteWrite { writer } => {
                self.record(line, writer);
                self.write(line, Some(writer));
            }
            Event::Downgrade { sharer } => {
                let (first, lines) = self.directory.entry_of(line);
                let mut only = Sharers::NONE;
                only.insert(AgentId(sharer));
                Self::take_back(&mut self.copies, Stale { first, lines, sharers: only });
                self.directory.forget(line, sharer);
            }
            Event::SilentEviction { sharer } => {
                self.copies.remove(&(line, sharer));
            }
            Event::ReplaceEntry => {
                self.replace(line);
                assert!(!self.directory.covers(line));
            }
        }
    }

    fn write(&mut self, line: LineAddr, writer: Option<u16>) {
        let stale = self.directory.write(line, writer);
        Self::take_back(&mut self.copies, stale);
        let other = self.copies.iter().find(|(copy, sharer)| *copy == line && Some(*sharer) != writer);
        assert_eq!(other, None, "a copy survives a write by {writer:?}");
    }

    /// Every copy is tracked.
    fn check(&self) {
        for &(line, sharer) in &self.copies {
            assert!(self.directory.sharers(line).contains(AgentId(sharer)), "{sharer} holds {line:?} untracked");
        }
        for line in (0..LINES).map(LineAddr) {
            assert!(self.directory.covers(line) || self.directory.sharers(line).is_empty(), "{line:?}");
        }
    }

    fn run(shape: DirectoryShape, events: &[(LineAddr, Event)]) {
        let mut machine = TrackedCopies::<D> { directory: build(shape), copies: BTreeSet::new() };
        for &(line, event) in events {
            machine.step(line, event);
            machine.check();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn coalesced_lines_are_tracked_exactly_as_lines_with_entries_of_their_own(events in events(), shift in 0..7_u32) {
        let range = 1 << shift;
        let mut ranges: RangeEntries = build(ample(range));
        let mut lines: LineGroups = build(ample(1));
        let mut unbounded: Unbounded = build(ample(1));
        for (line, event) in events {
            let range = u64::from(range);
            let expected = answers(&mut lines, line, event, range);
            prop_assert_eq!(&answers(&mut ranges, line, event, range), &expected);
            prop_assert_eq!(&answers(&mut unbounded, line, event, range), &expected);
            for line in (0..LINES).map(LineAddr) {
                let tracked = (lines.covers(line), lines.sharers(line), lines.entry_of(line));
                prop_assert_eq!((ranges.covers(line), ranges.sharers(line), ranges.entry_of(line)), tracked);
                prop_assert_eq!((unbounded.covers(line), unbounded.sharers(line), unbounded.entry_of(line)), tracked);
            }
        }
    }

    #[test]
    fn no_copy_is_ever_untracked_and_none_survives_the_write_of_another(events in events(), shape in shapes()) {
        TrackedCopies::<RangeEntries>::run(shape, &events);
        TrackedCopies::<LineGroups>::run(shape, &events);
        TrackedCopies::<Unbounded>::run(shape, &events);
    }
}
