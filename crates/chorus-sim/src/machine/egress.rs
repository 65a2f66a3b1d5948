//! The port by which an agent sends messages into the network of its module: a queue per virtual network, one flit in
//! each cycle, and a window of flits per virtual network that gives back-pressure.
//!
//! A message counts against the window of its virtual network until its destination has consumed it and the news of
//! this has come back. The window covers the buffer at the destination and the flits and news under way. So a
//! destination that stalls fills the windows of its sources, and they stop.
//!
//! A port sends at the end of a window, when all messages that become ready in the window are known.

use std::collections::VecDeque;

use super::plan::NEVER;
use crate::clock::{Clock, Ticks};

/// A window that never fills.
const UNLIMITED: u32 = u32::MAX / 2;

/// A message as its port sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The queue and the window of one virtual network.
#[derive(Clone, Debug)]
struct VirtualChannel {
    queue: VecDeque<Parcel>,
    /// Messages at the head of the queue that are known to wait: they were ready when that was last asked.
    waiting: usize,
    /// Flits that may still leave before some are consumed.
    window: u32,
    /// News of consumed flits in the order of time: when it comes, and how many they are.
    credits: VecDeque<(Ticks, u32)>,
    /// Whether the head of the queue waits for news.
    is_blocked: bool,
}

impl VirtualChannel {
    /// The time from which the head of the queue may leave, as far as readiness and the window go.
    #[inline]
    fn head_time(&mut self, whole: u32) -> Ticks {
        let Some(head) = self.queue.front() else { return NEVER };
        let flits = u32::from(head.flits);
        self.is_blocked = !has_room(self.window, flits, whole);
        if !self.is_blocked {
            return head.ready;
        }
        self.time_of_room(head.ready, flits, whole)
    }

    /// The first time from `ready` on at which news makes room for a message.
    fn time_of_room(&self, ready: Ticks, flits: u32, whole: u32) -> Ticks {
        let mut window = self.window;
        for &(time, returned) in &self.credits {
            window = (window + returned).min(whole);
            if has_room(window, flits, whole) {
                return time.max(ready);
            }
        }
        NEVER
    }

    /// Adds news that comes at `time`. It comes almost in the order of time.
    #[inline]
    fn add_credit(&mut self, time: Ticks, flits: u32) {
        if self.credits.back().is_none_or(|&(last, _)| last <= time) {
            self.credits.push_back((time, flits));
        } else {
            let place = self.credits.partition_point(|&(other, _)| other <= time);
            self.credits.insert(place, (time, flits));
        }
    }

    /// Takes in the news that has come by `time`.
    #[inline]
    fn take_credits(&mut self, time: Ticks, whole: u32) {
        while let Some(&(comes, flits)) = self.credits.front()
            && comes <= time
        {
            self.window = (self.window + flits).min(whole);
            self.credits.pop_front();
        }
    }

    /// How many messages wait at `now`, which never goes back.
    #[inline]
    fn count_waiting(&mut self, now: Ticks) -> usize {
        // Messages become ready in the order in which they are queued.
        while self.queue.get(self.waiting).is_some_and(|parcel| parcel.ready <= now) {
            self.waiting += 1;
        }
        self.waiting
    }
}

/// Whether a window has room for a message. One that is longer than the window may enter an empty one.
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
#[derive(Clone, Debug)]
pub(super) struct Egress {
    channels: Vec<VirtualChannel>,
    /// Virtual networks whose queue is not empty, one bit each.
    occupied: u32,
    /// Messages in all queues.
    queued: usize,
    clock: Clock,
    whole: u32,
    free: Ticks,
    /// The virtual network that sent last.
    last: usize,
    /// When the next queued message leaves and by which virtual network, as far as this is known.
    next: Option<(Ticks, usize)>,
}

impl Egress {
    /// Makes an idle port; `window` is the length of a window in flits, where there are windows.
    pub(super) fn new(networks: usize, clock: Clock, window: Option<u32>) -> Egress {
        let whole = window.unwrap_or(UNLIMITED);
        let channel = VirtualChannel {
            queue: VecDeque::new(),
            waiting: 0,
            window: whole,
            credits: VecDeque::new(),
            is_blocked: false,
        };
        Egress { channels: vec![channel; networks], occupied: 0, queued: 0, clock, whole, free: 0, last: 0, next: None }
    }

    /// Whether no message is queued.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.occupied == 0
    }

    /// Queues a message of the agent.
    #[inline]
    pub(super) fn put(&mut self, parcel: Parcel) {
        let channel = &mut self.channels[usize::from(parcel.network)];
        if channel.queue.is_empty() {
            self.next = None;
        }
        channel.queue.push_back(parcel);
        self.occupied |= 1 << parcel.network;
        self.queued += 1;
    }

    /// Notes that news of consumed flits comes at `time`. Returns whether a queued message may wait for it.
    #[inline]
    pub(super) fn credit(&mut self, network: u8, flits: u16, time: Ticks) -> bool {
        let channel = &mut self.channels[usize::from(network)];
        channel.add_credit(time, u32::from(flits));
        if channel.is_blocked {
            self.next = None;
        }
        channel.is_blocked
    }

    /// The next message that leaves before `horizon`. All messages that become ready before that time are queued.
    #[inline(always)]
    pub(super) fn send(&mut self, horizon: Ticks) -> Option<Departure> {
        if self.occupied == 0 {
            return None;
        }
        let (start, network) = self.next();
        if start >= horizon {
            return None;
        }
        self.next = None;
        let channel = &mut self.channels[network];
        let parcel = channel.queue.pop_front()?;
        channel.waiting = channel.waiting.saturating_sub(1);
        self.queued -= 1;
        if channel.queue.is_empty() {
            self.occupied &= !(1 << network);
        }
        let flits = u32::from(parcel.flits);
        if self.whole != UNLIMITED {
            channel.take_credits(start, self.whole);
            channel.window = channel.window.saturating_sub(flits);
        }
        self.last = network;
        self.free = start + self.clock.cycles(u64::from(flits));
        Some(Departure { parcel, start })
    }

    /// The time at which the next message leaves, and its virtual network.
    #[inline]
    fn next(&mut self) -> (Ticks, usize) {
        if let Some(next) = self.next {
            return next;
        }
        let next = if self.occupied.is_power_of_two() {
            let network = self.occupied.trailing_zeros() as usize;
            (self.start(network), network)
        } else {
            self.find_next()
        };
        self.next = Some(next);
        next
    }

    /// The time at which the head of a virtual network's queue leaves if no other network sends before.
    #[inline]
    fn start(&mut self, network: usize) -> Ticks {
        let time = self.channels[network].head_time(self.whole);
        if time == NEVER { NEVER } else { self.clock.edge(time.max(self.free)) }
    }

    /// Finds the message that leaves next. Virtual networks take turns.
    fn find_next(&mut self) -> (Ticks, usize) {
        let networks = self.channels.len();
        let first = if self.last + 1 == networks { 0 } else { self.last + 1 };
        // The bits are repeated, so that the virtual networks can be taken in turn from any of them on.
        let mut turns = (self.occupied | self.occupied << networks) >> first & ((1 << networks) - 1);
        let mut next = (NEVER, 0);
        while turns != 0 {
            let turn = first + turns.trailing_zeros() as usize;
            let network = if turn < networks { turn } else { turn - networks };
            turns &= turns - 1;
            let start = self.start(network);
            if start < next.0 {
                next = (start, network);
            }
        }
        next
    }

    /// The time at which the next queued message leaves, as far as is known.
    pub(super) fn next_start(&mut self) -> Ticks {
        if self.occupied == 0 { NEVER } else { self.next().0 }
    }

    /// Whether so many messages are queued that at least `most` may wait.
    #[inline]
    pub(super) fn may_be_full(&self, most: usize) -> bool {
        self.queued >= most
    }

    /// Whether at least `most` messages wait at `now`. All that leave before have been sent.
    #[inline]
    pub(super) fn is_full(&mut self, most: usize, now: Ticks) -> bool {
        self.channels.iter_mut().map(|channel| channel.count_waiting(now)).sum::<usize>() >= most
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Clocks;

    use super::*;
    use crate::clock::ClockDomains;

    fn egress(window: Option<u32>) -> Egress {
        let clocks = Clocks { core_mhz: 700, network_mhz: 700, l2_mhz: 700, dram_mhz: 700 };
        Egress::new(2, ClockDomains::new(&clocks).network, window)
    }

    fn parcel(id: u32, ready: Ticks, network: u8, flits: u16) -> Parcel {
        Parcel { ready, id, to: 0, flits, network }
    }

    fn sent(egress: &mut Egress, horizon: Ticks) -> Vec<(u32, Ticks)> {
        std::iter::from_fn(|| egress.send(horizon).map(|Departure { parcel, start }| (parcel.id, start))).collect()
    }

    #[test]
    fn messages_leave_one_after_the_other_when_they_are_ready() {
        let mut egress = egress(None);
        [parcel(0, 10, 0, 5), parcel(1, 12, 0, 1), parcel(2, 11, 1, 1)]
            .into_iter()
            .for_each(|parcel| egress.put(parcel));
        assert_eq!(sent(&mut egress, 16), [(0, 10), (2, 15)]);
        assert_eq!(sent(&mut egress, 17), [(1, 16)]);
    }

    #[test]
    fn a_full_window_stops_its_own_network_until_news_comes() {
        let mut egress = egress(Some(4));
        [parcel(0, 0, 0, 3), parcel(1, 0, 0, 2), parcel(2, 0, 1, 1)].into_iter().for_each(|parcel| egress.put(parcel));
        assert_eq!(sent(&mut egress, 100), [(2, 0), (0, 1)]);
        assert_eq!(egress.next_start(), NEVER);
        egress.credit(0, 3, 50);
        assert_eq!(sent(&mut egress, 100), [(1, 50)]);
    }

    #[test]
    fn a_message_longer_than_the_window_enters_an_empty_one() {
        let mut egress = egress(Some(4));
        egress.put(parcel(0, 0, 0, 9));
        assert_eq!(sent(&mut egress, 100), [(0, 0)]);
    }

    #[test]
    fn a_port_is_full_while_messages_wait_that_have_not_left() {
        let mut egress = egress(None);
        (0..4).for_each(|id| egress.put(parcel(id, 2, 0, 10)));
        assert!(egress.may_be_full(3) && !egress.is_full(3, 1));
        assert!(egress.is_full(3, 2));
        assert_eq!(sent(&mut egress, 13), [(0, 2), (1, 12)]);
        assert_eq!((egress.may_be_full(3), egress.next_start()), (false, 22));
    }
}
