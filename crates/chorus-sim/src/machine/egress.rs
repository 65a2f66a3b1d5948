//! The port by which an agent sends messages into the network of its module: a queue per virtual network, one flit in
//! each cycle, and a window of flits per virtual network that gives back-pressure.
//!
//! A message counts against the window of its virtual network until its destination has consumed it and the news of this
//! has come back. The window covers the buffer at the destination and the flits and news under way. So a destination
//! that stalls fills the windows of its sources, and they stop.
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
    /// Flits that may still leave before some are consumed.
    window: u32,
    /// News of consumed flits: when it comes, and how many they are.
    credits: Vec<(Ticks, u32)>,
}

impl VirtualChannel {
    /// The time from which the head of the queue may leave, as far as readiness and the window go.
    fn head_time(&mut self, whole: u32) -> Ticks {
        let Some(head) = self.queue.front() else { return NEVER };
        let flits = u32::from(head.flits);
        if has_room(self.window, flits, whole) {
            return head.ready;
        }
        self.credits.sort_unstable();
        let mut window = self.window;
        for &(time, returned) in &self.credits {
            window = (window + returned).min(whole);
            if has_room(window, flits, whole) {
                return time.max(head.ready);
            }
        }
        NEVER
    }

    /// Takes in the news that has come by `time`.
    fn take_credits(&mut self, time: Ticks, whole: u32) {
        let VirtualChannel { window, credits, .. } = self;
        credits.retain(|&(comes, flits)| {
            let is_here = comes <= time;
            if is_here {
                *window = (*window + flits).min(whole);
            }
            !is_here
        });
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
}

/// News that a queue may collect before the port takes it in.
const CREDITS_MAX: usize = 64;

impl Egress {
    /// Makes an idle port; `window` is the length of a window in flits, where there are windows.
    pub(super) fn new(networks: usize, clock: Clock, window: Option<u32>) -> Egress {
        let whole = window.unwrap_or(UNLIMITED);
        let channel = VirtualChannel { queue: VecDeque::new(), window: whole, credits: Vec::new() };
        Egress { channels: vec![channel; networks], occupied: 0, queued: 0, clock, whole, free: 0, last: 0 }
    }

    /// Queues a message.
    #[inline]
    pub(super) fn put(&mut self, parcel: Parcel) {
        self.channels[usize::from(parcel.network)].queue.push_back(parcel);
        self.occupied |= 1 << parcel.network;
        self.queued += 1;
    }

    /// Notes that news of consumed flits comes at `time`. Returns whether a queued message may wait for it.
    #[inline]
    pub(super) fn credit(&mut self, network: u8, flits: u16, time: Ticks) -> bool {
        let channel = &mut self.channels[usize::from(network)];
        if channel.credits.len() == CREDITS_MAX {
            // Whatever leaves from now on leaves after this news has come.
            let earliest = channel.queue.front().map_or(self.free, |head| head.ready.max(self.free));
            channel.take_credits(earliest, self.whole);
        }
        channel.credits.push((time, u32::from(flits)));
        self.queued > 0
    }

    /// The next message that leaves before `horizon`. All messages that become ready before that time are queued.
    #[inline]
    pub(super) fn send(&mut self, horizon: Ticks) -> Option<Departure> {
        if self.occupied == 0 {
            return None;
        }
        let (start, network) = self.next();
        if start >= horizon {
            return None;
        }
        let channel = &mut self.channels[network];
        let parcel = channel.queue.pop_front()?;
        self.queued -= 1;
        if channel.queue.is_empty() {
            self.occupied &= !(1 << network);
        }
        let flits = u32::from(parcel.flits);
        if !has_room(channel.window, flits, self.whole) {
            channel.take_credits(start, self.whole);
        }
        if self.whole != UNLIMITED {
            channel.window = channel.window.saturating_sub(flits);
        }
        self.last = network;
        self.free = start + self.clock.cycles(u64::from(flits));
        Some(Departure { parcel, start })
    }

    /// The time at which the next message leaves, and its virtual network. Virtual networks take turns.
    fn next(&mut self) -> (Ticks, usize) {
        let networks = self.channels.len();
        let (mut first, mut chosen) = (NEVER, 0);
        for turn in 1..=networks {
            let network = (self.last + turn) % networks;
            if self.occupied >> network & 1 == 0 {
                continue;
            }
            let time = self.channels[network].head_time(self.whole);
            if time == NEVER {
                continue;
            }
            let start = self.clock.edge(time.max(self.free));
            if start < first {
                (first, chosen) = (start, network);
            }
        }
        (first, chosen)
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
    pub(super) fn is_full(&self, most: usize, now: Ticks) -> bool {
        let queued = self.channels.iter().flat_map(|channel| &channel.queue);
        queued.filter(|parcel| parcel.ready <= now).count() >= most
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
