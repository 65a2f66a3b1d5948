//! The port by which an agent sends messages into the network of its module: one flit in each cycle, the message that
//! is ready longest first, and a window of flits per virtual network that gives back-pressure.
//!
//! A message counts against the window of its virtual network until its destination has consumed it and the news of
//! this has come back. The window covers the buffer at the destination and the flits and news under way. So a
//! destination that stalls fills the windows of its sources, and they stop. Messages of a full window wait, and those
//! of other virtual networks pass them.
//!
//! A port sends at the end of a window of time, when all messages that become ready in that window are known. The
//! messages of some agents become ready in the order in which they are sent. Such a message leaves at once where
//! nothing is in its way.

use std::collections::VecDeque;

use chorus_protocol::save::{self, Restore, Save};

use super::by_time::{ByTime, Timed};
use super::plan::NEVER;
use crate::clock::{Clock, Ticks};

/// A window that never fills.
const UNLIMITED: u32 = u32::MAX / 2;

/// A message as its port sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Save)]
pub(super) struct Parcel {
    /// The time from which it may leave.
    pub(super) ready: Ticks,
    /// The number of the message among those of its partition.
    pub(super) id: u32,
    /// The agent that it goes to.
    pub(super) to: u16,
    pub(super) flits: u16,
    /// The virtual network of the message.
    pub(super) network: u8,
}

impl Timed for Parcel {
    #[inline]
    fn time(&self) -> Ticks {
        self.ready
    }

    #[inline]
    fn is_before(&self, other: &Parcel) -> bool {
        self.ready < other.ready
    }
}

/// The window of one virtual network.
#[derive(Clone, Debug, Save)]
struct Window {
    /// Flits that may still leave before more news is taken in.
    flits: u32,
    /// Messages in the queue.
    queued: u32,
    /// Whether a message waits for news.
    is_blocked: bool,
    /// When the last message on the virtual network was ready.
    ready: Ticks,
    /// News of consumed flits in the order of time, as far as it has not been taken in: when it comes, and how many
    /// they are.
    credits: VecDeque<(Ticks, u32)>,
}

impl Window {
    /// Whether there is room for a message at `time`. News is taken in only where it is needed.
    #[inline]
    fn has_room_at(&mut self, time: Ticks, flits: u32, whole: u32) -> bool {
        self.flits >= flits || self.has_room_with_news(time, flits, whole)
    }

    /// Whether there is room for a message with the news that has come by `time`. A message that finds none waits.
    #[inline(never)]
    fn has_room_with_news(&mut self, time: Ticks, flits: u32, whole: u32) -> bool {
        while let Some(&(comes, returned)) = self.credits.front()
            && comes <= time
        {
            self.flits = (self.flits + returned).min(whole);
            self.credits.pop_front();
        }
        self.is_blocked = !has_room(self.flits, flits, whole);
        !self.is_blocked
    }

    /// The time at which later news makes room for a message, as far as it is known.
    fn time_of_room(&self, flits: u32, whole: u32) -> Ticks {
        let mut window = self.flits;
        for &(comes, returned) in &self.credits {
            window = (window + returned).min(whole);
            if has_room(window, flits, whole) {
                return comes;
            }
        }
        NEVER
    }

    /// Adds news that comes at `time`. It comes almost in the order of time.
    #[inline(always)]
    fn add_credit(&mut self, time: Ticks, flits: u32) {
        if self.credits.back().is_none_or(|&(last, _)| last <= time) {
            self.credits.push_back((time, flits));
        } else {
            self.insert_credit(time, flits);
        }
    }

    #[inline(never)]
    fn insert_credit(&mut self, time: Ticks, flits: u32) {
        let place = self.credits.partition_point(|&(other, _)| other <= time);
        self.credits.insert(place, (time, flits));
    }
}

/// Whether a window has room for a message. One that is longer than the whole window may enter an empty one.
fn has_room(window: u32, flits: u32, whole: u32) -> bool {
    window >= flits || window >= whole
}

/// The departure of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) parcel: Parcel,
    /// The time at which its first flit leaves.
    pub(super) start: Ticks,
}

/// The port of one agent.
#[derive(Clone, Debug, Restore)]
pub(super) struct Egress {
    /// Messages in the order in which they become ready.
    queue: ByTime<Parcel>,
    #[save(built)]
    clock: Clock,
    free: Ticks,
    /// Whether messages become ready in the order in which they are sent.
    #[save(built)]
    is_in_order: bool,
    /// Flits of a whole window.
    #[save(built)]
    whole: u32,
    windows: Vec<Window>,
}

impl Egress {
    /// Makes an idle port; `window` is the length of a window in flits, where there are windows. `is_in_order` says
    /// whether messages become ready in the order in which they are sent.
    pub(super) fn new(networks: usize, clock: Clock, window: Option<u32>, is_in_order: bool) -> Egress {
        let whole = window.unwrap_or(UNLIMITED);
        let window = Window { flits: whole, queued: 0, is_blocked: false, ready: 0, credits: VecDeque::new() };
        Egress { queue: ByTime::default(), clock, free: 0, is_in_order, whole, windows: vec![window; networks] }
    }

    /// Whether no message is queued.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// The first time from `ready` on at which messages on one virtual network stay in order.
    #[inline]
    pub(super) fn in_order(&mut self, network: u8, ready: Ticks) -> Ticks {
        let last = &mut self.windows[usize::from(network)].ready;
        *last = ready.max(*last);
        *last
    }

    /// Takes a message of the agent. Returns the time at which it leaves, if that is known.
    #[inline(always)]
    pub(super) fn put(&mut self, parcel: Parcel) -> Option<Ticks> {
        if self.is_in_order && self.queue.is_empty() {
            let (start, flits) = (self.clock.edge(parcel.ready), u32::from(parcel.flits));
            let window = &mut self.windows[usize::from(parcel.network)];
            if self.free <= start && window.has_room_at(start, flits, self.whole) {
                self.leave(parcel.network, flits, start);
                return Some(start);
            }
        }
        self.windows[usize::from(parcel.network)].queued += 1;
        self.queue.put(parcel);
        None
    }

    /// Notes that a message leaves at `start`.
    #[inline]
    fn leave(&mut self, network: u8, flits: u32, start: Ticks) {
        if self.whole != UNLIMITED {
            let window = &mut self.windows[usize::from(network)];
            window.flits = window.flits.saturating_sub(flits);
        }
        self.free = start + self.clock.cycles(u64::from(flits));
    }

    /// Notes that news of consumed flits comes at `time`. Returns whether a queued message may wait for it.
    #[inline]
    pub(super) fn credit(&mut self, network: u8, flits: u16, time: Ticks) -> bool {
        let window = &mut self.windows[usize::from(network)];
        window.add_credit(time, u32::from(flits));
        window.is_blocked
    }

    /// The next message that leaves before `horizon`. All messages that become ready before that time are queued.
    #[inline(always)]
    pub(super) fn send(&mut self, horizon: Ticks) -> Option<Departure> {
        let (start, place) = self.next_departure()?;
        if start >= horizon {
            return None;
        }
        let parcel = *self.queue.get(place)?;
        self.queue.remove(place);
        let (flits, window) = (u32::from(parcel.flits), &mut self.windows[usize::from(parcel.network)]);
        // News that comes later than the message was ready may have made room.
        window.has_room_at(start, flits, self.whole);
        window.queued -= 1;
        self.leave(parcel.network, flits, start);
        Some(Departure { parcel, start })
    }

    /// The time at which the next message leaves as far as is known, and its place in the queue.
    #[inline(always)]
    fn next_departure(&mut self) -> Option<(Ticks, usize)> {
        let parcel = self.queue.front()?;
        let time = parcel.ready.max(self.free);
        let window = &mut self.windows[usize::from(parcel.network)];
        if window.has_room_at(time, u32::from(parcel.flits), self.whole) {
            return Some((self.clock.edge(time), 0));
        }
        self.next_past_full_windows()
    }

    /// The time at which the next message leaves, and its place in the queue, where the first message has to wait for
    /// room.
    #[inline(never)]
    fn next_past_full_windows(&mut self) -> Option<(Ticks, usize)> {
        let Egress { queue, clock, free, whole, windows, .. } = self;
        let mut left = windows.iter().filter(|window| window.queued > 0).count();
        let (mut seen, mut next) = (0u32, None);
        for (place, parcel) in queue.iter().enumerate() {
            let time = parcel.ready.max(*free);
            // Messages behind it become ready later.
            if left == 0 || next.is_some_and(|(start, _)| start <= clock.edge(time)) {
                break;
            }
            // Only the first message of a virtual network may leave.
            let bit = 1 << parcel.network;
            if seen & bit != 0 {
                continue;
            }
            (seen, left) = (seen | bit, left - 1);
            let (window, flits) = (&mut windows[usize::from(parcel.network)], u32::from(parcel.flits));
            let has_room = window.has_room_at(time, flits, *whole);
            let time = if has_room { time } else { window.time_of_room(flits, *whole) };
            if time != NEVER && next.is_none_or(|(start, _)| clock.edge(time) < start) {
                next = Some((clock.edge(time), place));
            }
        }
        next
    }

    /// The time at which the next queued message leaves, as far as is known.
    pub(super) fn next_start(&mut self) -> Ticks {
        self.next_departure().map_or(NEVER, |(start, _)| start)
    }

    /// Whether so many messages are queued that at least `most` wait at `now`. All that leave before have been sent.
    #[inline]
    pub(super) fn is_full(&self, most: usize, now: Ticks) -> bool {
        self.queue.get(most.saturating_sub(1)).is_some_and(|parcel| parcel.ready <= now)
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Clocks;

    use super::*;
    use crate::clock::ClockDomains;

    fn egress(window: Option<u32>, is_in_order: bool) -> Egress {
        let clocks = Clocks { core_mhz: 700, network_mhz: 700, l2_mhz: 700, dram_mhz: 700 };
        Egress::new(2, ClockDomains::new(&clocks).network, window, is_in_order)
    }

    fn parcel(id: u32, ready: Ticks, network: u8, flits: u16) -> Parcel {
        Parcel { ready, id, to: 0, flits, network }
    }

    fn sent(egress: &mut Egress, horizon: Ticks) -> Vec<(u32, Ticks)> {
        std::iter::from_fn(|| egress.send(horizon).map(|Departure { parcel, start }| (parcel.id, start))).collect()
    }

    #[test]
    fn messages_leave_one_after_the_other_in_the_order_in_which_they_are_ready() {
        let mut egress = egress(None, false);
        for parcel in [parcel(0, 10, 0, 5), parcel(1, 12, 0, 1), parcel(2, 11, 1, 1)] {
            assert_eq!(egress.put(parcel), None);
        }
        assert_eq!(sent(&mut egress, 16), [(0, 10), (2, 15)]);
        assert_eq!(sent(&mut egress, 17), [(1, 16)]);
    }

    #[test]
    fn a_message_leaves_at_once_where_nothing_is_in_its_way() {
        let mut egress = egress(Some(4), true);
        assert_eq!(egress.put(parcel(0, 10, 0, 3)), Some(10));
        assert_eq!(egress.put(parcel(1, 11, 1, 1)), None, "the port is busy until 13");
        assert_eq!(egress.put(parcel(2, 13, 1, 1)), None, "another message is before it");
        assert_eq!(sent(&mut egress, 100), [(1, 13), (2, 14)]);
        assert_eq!(egress.put(parcel(3, 20, 0, 3)), None, "the window is full");
        egress.credit(0, 3, 25);
        assert_eq!(sent(&mut egress, 100), [(3, 25)]);
    }

    #[test]
    fn a_full_window_stops_its_own_network_until_news_comes() {
        let mut egress = egress(Some(4), false);
        for parcel in [parcel(0, 0, 0, 3), parcel(1, 0, 0, 2), parcel(2, 0, 1, 1)] {
            egress.put(parcel);
        }
        assert_eq!(sent(&mut egress, 100), [(0, 0), (2, 3)]);
        assert_eq!(egress.next_start(), NEVER);
        assert!(egress.credit(0, 3, 50));
        assert_eq!(egress.next_start(), 50);
        assert_eq!(sent(&mut egress, 100), [(1, 50)]);
    }

    #[test]
    fn a_message_longer_than_the_window_enters_an_empty_one() {
        let mut egress = egress(Some(4), false);
        egress.put(parcel(0, 0, 0, 9));
        assert_eq!(sent(&mut egress, 100), [(0, 0)]);
    }

    #[test]
    fn a_port_is_full_while_messages_wait_that_have_not_left() {
        let mut egress = egress(None, false);
        for id in 0..4 {
            egress.put(parcel(id, 2, 0, 10));
        }
        assert!(!egress.is_full(3, 1) && egress.is_full(3, 2));
        assert_eq!(sent(&mut egress, 13), [(0, 2), (1, 12)]);
        assert_eq!((egress.is_full(3, 13), egress.next_start()), (false, 22));
    }
}
