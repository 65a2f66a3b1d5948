//! The ports between modules, as far as they belong to one partition. Every port serves first come, first served.
//!
//! Queues at ports are not bounded. Banks accept no message that would have to wait too long
//! ([`Fabric::crowded_until`]). A bank learns of the state of a port some time later, as a signal would tell it.

use chorus_protocol::save::{self, Restore};

use super::endpoint::{Entry, Inbox};
use super::paths::Paths;
use super::plan::NEVER;
use crate::clock::Ticks;
use crate::port::Port;

/// States of a port that are remembered.
const REMEMBERED: usize = 4;

/// A port with the messages that come to it.
#[derive(Clone, Debug, Restore)]
struct BusyPort {
    port: Port,
    inbox: Inbox,
    /// The waiting time above which the port counts as crowded.
    #[save(built)]
    queue: Ticks,
    /// When the port was free, as of the last multiples of the interval.
    remembered: [Ticks; REMEMBERED],
    /// The next multiple of the interval, whose state is not remembered yet.
    next: u64,
    /// The time of that multiple.
    next_time: Ticks,
}

impl BusyPort {
    /// Remembers the state of the port at all multiples of the interval up to `time`.
    #[inline]
    fn remember(&mut self, time: Ticks, interval: Ticks) {
        if time >= self.next_time {
            self.remember_anew(time / interval, interval);
        }
    }

    /// Remembers the state of the port at all multiples of the interval up to `now`.
    fn remember_anew(&mut self, now: u64, interval: Ticks) {
        let free = self.port.free();
        for multiple in self.next.max((now + 1).saturating_sub(REMEMBERED as u64))..=now {
            self.remembered[multiple as usize % REMEMBERED] = free;
        }
        (self.next, self.next_time) = (now + 1, (now + 1) * interval);
    }

    /// When the port was free, as of a multiple of the interval that is not long past.
    fn free_at(&self, multiple: u64) -> Ticks {
        if multiple >= self.next { self.port.free() } else { self.remembered[multiple as usize % REMEMBERED] }
    }
}

/// A message that has passed a port: the step of its path that comes next, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) entry: Entry,
    /// When its first byte passed.
    pub(super) start: Ticks,
    /// When its last byte had passed.
    pub(super) end: Ticks,
}

/// The ports between modules.
#[derive(Clone, Debug, Restore)]
pub(super) struct Fabric {
    #[save(each)]
    ports: Vec<BusyPort>,
    /// When the next message comes to each port.
    next: Vec<Ticks>,
    #[save(built)]
    interval: Ticks,
    /// The ports that belong to the partition.
    #[save(built)]
    own: Vec<u16>,
}

impl Fabric {
    /// The idle ports of a machine, of which those of `own` are used. Banks learn of the state of a port as of
    /// multiples of `interval`, one interval later.
    pub(super) fn new(paths: &Paths, own: Vec<u16>, interval: Ticks) -> Fabric {
        let idle = paths.ports().iter().map(|plan| BusyPort {
            port: plan.port(),
            inbox: Inbox::default(),
            queue: plan.queue,
            remembered: [0; REMEMBERED],
            next: 1,
            next_time: interval,
        });
        Fabric { ports: idle.collect(), next: vec![NEVER; paths.ports().len()], interval, own }
    }

    /// Adds a message that comes to a port. The length of the entry is the number of its step among those of all paths.
    #[inline]
    pub(super) fn put(&mut self, port: u16, entry: Entry) {
        let next = &mut self.next[usize::from(port)];
        *next = entry.time.min(*next);
        self.ports[usize::from(port)].inbox.put(entry);
    }

    /// The time of the first message that comes to any port.
    pub(super) fn next(&self) -> Ticks {
        self.own.iter().map(|&port| self.next[usize::from(port)]).min().unwrap_or(NEVER)
    }

    /// The time at which the last message that is on its way to a port comes there, if there is one.
    pub(super) fn last_coming(&self) -> Option<Ticks> {
        self.ports.iter().filter_map(|port| port.inbox.back()).map(|entry| entry.time).max()
    }

    /// Lets the next message that comes to a port before `horizon` pass it. `bytes` gives the length of a message.
    #[inline]
    pub(super) fn pass(&mut self, number: u16, horizon: Ticks, bytes: impl Fn(u32) -> u64) -> Option<Passed> {
        if self.next[usize::from(number)] >= horizon {
            return None;
        }
        let port = &mut self.ports[usize::from(number)];
        let entry = port.inbox.take(horizon)?;
        self.next[usize::from(number)] = port.inbox.front_time();
        port.remember(entry.time, self.interval);
        let passing = port.port.pass(bytes(entry.id), entry.time);
        Some(Passed { entry, start: passing.start, end: passing.end })
    }

    /// The time until which some of these ports are crowded, as far as a bank knows at `now`.
    pub(super) fn crowded_until(&self, ports: impl Iterator<Item = u16>, now: Ticks) -> Option<Ticks> {
        let known = now.checked_sub(self.interval)? / self.interval;
        let until = ports.map(|number| {
            let port = &self.ports[usize::from(number)];
            port.free_at(known).saturating_sub(port.queue)
        });
        until.max().filter(|&until| until > now)
    }
}
