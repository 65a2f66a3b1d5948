//! A crossbar of one direction: input ports with a queue per virtual network, output ports, flits, and a window of
//! flits per virtual channel that gives back-pressure.
//!
//! A message occupies its input port and its output port for one cycle per flit. It counts against the window of its
//! source's virtual channel until its destination consumes it. The window covers the buffer of the channel and the
//! flits in the pipeline. So a stalled destination fills the windows of its sources, and they stop.

use std::collections::VecDeque;

use chorus_system::Network;

use crate::clock::{Clock, Ticks};
use crate::links::Links;
use crate::mesh::Mesh;

/// A window that never fills.
const UNLIMITED: u32 = u32::MAX / 2;

/// A message as the crossbar sees it.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// The number that the driver gives the message.
    pub id: u32,
    /// The output port of the message.
    pub to: u16,
    /// The virtual network of the message.
    pub network: u8,
    /// Length of the message in flits.
    pub flits: u32,
}

/// The departure of a message from its input port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The number that the driver gives the message.
    pub id: u32,
    /// The time at which its last flit is at the destination.
    pub arrives: Ticks,
}

/// The buffer of one virtual network at an input port.
#[derive(Clone, Debug)]
struct VirtualChannel {
    queue: VecDeque<Parcel>,
    /// Flits that may still leave before some are consumed.
    window: u32,
}

#[derive(Clone, Debug)]
struct InputPort {
    channels: Vec<VirtualChannel>,
    waiting: u32,
    free: Ticks,
    /// The virtual network served last.
    last: usize,
    /// Whether the driver wakes the port when it is free.
    wakes: bool,
}

/// A crossbar with its input and output ports.
#[derive(Clone, Debug)]
pub struct Crossbar {
    inputs: Vec<InputPort>,
    output_free: Vec<Ticks>,
    clock: Clock,
    latency: Ticks,
    /// The latency from each input port to each output port, where they differ.
    legs: Vec<Ticks>,
    /// The links between the ports, where the network is a mesh.
    links: Option<Links>,
    window: u32,
}

impl Crossbar {
    /// Makes an idle crossbar.
    pub fn new(inputs: u16, outputs: u16, networks: u8, config: &Network, clock: Clock) -> Crossbar {
        // The stages of the pipeline hold one flit per cycle of latency. The buffer of the channel holds the flits at
        // its end.
        let window = config.vc_buffer_flits + config.latency_cycles();
        let channel = VirtualChannel { queue: VecDeque::new(), window };
        let port =
            InputPort { channels: vec![channel; usize::from(networks)], waiting: 0, free: 0, last: 0, wakes: false };
        let mut inputs = vec![port; usize::from(inputs)];
        // A cloned queue has no room of its own.
        inputs.iter_mut().flat_map(|port| &mut port.channels).for_each(|channel| channel.queue.reserve(64));
        Crossbar {
            inputs,
            output_free: vec![0; usize::from(outputs)],
            clock,
            latency: clock.cycles(u64::from(config.latency_cycles())),
            legs: Vec::new(),
            links: None,
            window,
        }
    }

    /// Makes an idle network without back-pressure, with the distances and links of a mesh. The controllers of the mesh
    /// are its ports.
    pub fn connecting_all(mut self, mesh: Option<&Mesh>) -> Crossbar {
        self.window = UNLIMITED;
        self.inputs.iter_mut().flat_map(|port| &mut port.channels).for_each(|channel| channel.window = UNLIMITED);
        if let Some(mesh) = mesh {
            let ports = 0..mesh.controllers();
            self.legs = ports.clone().flat_map(|from| ports.clone().map(move |to| mesh.leg(from, to))).collect();
            self.links = Some(mesh.links());
        }
        self
    }

    /// How long a message takes from an input port to an output port, without serialisation and queueing.
    #[inline]
    pub fn latency(&self, from: u16, to: u16) -> Ticks {
        if self.legs.is_empty() {
            return self.latency;
        }
        self.legs[usize::from(from) * self.output_free.len() + usize::from(to)]
    }

    /// Queues a message at an input port.
    pub fn enqueue(&mut self, from: u16, parcel: Parcel) {
        let port = &mut self.inputs[usize::from(from)];
        port.channels[usize::from(parcel.network)].queue.push_back(parcel);
        port.waiting += 1;
    }

    /// Messages that wait at an input port.
    #[inline]
    pub fn waiting(&self, from: u16) -> u32 {
        self.inputs[usize::from(from)].waiting
    }

    /// When an input port that is sending at `now` is free again.
    #[inline]
    pub fn busy_until(&self, from: u16, now: Ticks) -> Option<Ticks> {
        let free = self.inputs[usize::from(from)].free;
        (free > self.clock.edge(now)).then_some(free)
    }

    /// Notes that an input port is to be woken when it is free. Returns false if that was noted before.
    pub fn ask_to_wake(&mut self, from: u16) -> bool {
        !std::mem::replace(&mut self.inputs[usize::from(from)].wakes, true)
    }

    /// An input port has been woken.
    pub fn woken(&mut self, from: u16) {
        self.inputs[usize::from(from)].wakes = false;
    }

    /// Sends a message at once if nothing waits at its input port and nothing holds it up.
    #[inline]
    pub fn pass(&mut self, from: u16, parcel: Parcel, now: Ticks) -> Option<Departure> {
        let port = &mut self.inputs[usize::from(from)];
        let start = self.clock.edge(now);
        let network = usize::from(parcel.network);
        if port.waiting > 0 || port.free > start || !has_room(port.channels[network].window, &parcel, self.window) {
            return None;
        }
        Some(self.launch(from, parcel, start))
    }

    /// Lets an input port that is not busy send one message, taking turns between its virtual networks. Nothing leaves
    /// if no waiting message fits into its window.
    pub fn send(&mut self, from: u16, now: Ticks) -> Option<Departure> {
        let port = &mut self.inputs[usize::from(from)];
        if port.waiting == 0 {
            return None;
        }
        let networks = port.channels.len();
        let mut network = port.last;
        for _ in 0..networks {
            network = if network + 1 == networks { 0 } else { network + 1 };
            let channel = &mut port.channels[network];
            let Some(&parcel) = channel.queue.front() else { continue };
            if !has_room(channel.window, &parcel, self.window) {
                continue;
            }
            channel.queue.pop_front();
            port.waiting -= 1;
            return Some(self.launch(from, parcel, self.clock.edge(now)));
        }
        None
    }

    /// A message has been consumed: its flits no longer count against its source's window.
    #[inline]
    pub fn consumed(&mut self, from: u16, network: u8, flits: u32) {
        let window = &mut self.inputs[usize::from(from)].channels[usize::from(network)].window;
        *window = (*window + flits).min(self.window);
    }

    /// A message takes its ports from `start` on.
    #[inline]
    fn launch(&mut self, from: u16, parcel: Parcel, start: Ticks) -> Departure {
        let port = &mut self.inputs[usize::from(from)];
        let network = usize::from(parcel.network);
        let window = &mut port.channels[network].window;
        *window = window.saturating_sub(parcel.flits);
        port.last = network;
        let length = self.clock.cycles(u64::from(parcel.flits));
        port.free = start + length;
        let waits = self.links.as_mut().map_or(0, |links| links.take(from, parcel.to, start, length));
        let latency = self.latency(from, parcel.to) + waits;
        let output = &mut self.output_free[usize::from(parcel.to)];
        *output = (start + latency).max(*output) + length;
        Departure { id: parcel.id, arrives: *output }
    }
}

/// Whether a window has room for a message. One that is longer than the window may enter an empty one.
#[inline]
fn has_room(window: u32, parcel: &Parcel, whole: u32) -> bool {
    window >= parcel.flits || window >= whole
}

#[cfg(test)]
mod tests {
    use chorus_system::{Clocks, Direct, NetworkKind};

    use super::*;
    use crate::clock::ClockDomains;

    fn crossbar(latency_cycles: u32) -> Crossbar {
        let clocks = Clocks { core_mhz: 700, network_mhz: 700, l2_mhz: 700, dram_mhz: 700 };
        let kind = NetworkKind::Crossbar(Direct { latency_cycles });
        let config = Network { kind, flit_bytes: 32, header_bytes: 8, vc_buffer_flits: 8 };
        Crossbar::new(2, 2, 2, &config, ClockDomains::new(&clocks).network)
    }

    fn parcel(id: u32, to: u16, network: u8, flits: u32) -> Parcel {
        Parcel { id, to, network, flits }
    }

    fn arrival(sent: Option<Departure>) -> Ticks {
        sent.unwrap().arrives
    }

    #[test]
    fn an_idle_crossbar_takes_its_latency_and_one_cycle_per_flit() {
        let mut crossbar = crossbar(10);
        crossbar.enqueue(0, parcel(1, 0, 0, 5));
        assert_eq!(arrival(crossbar.send(0, 100)), 115);
    }

    #[test]
    fn a_message_that_finds_its_port_idle_passes_as_if_it_had_been_queued() {
        let (mut passed, mut queued) = (crossbar(10), crossbar(10));
        queued.enqueue(0, parcel(1, 0, 0, 5));
        assert_eq!(passed.pass(0, parcel(1, 0, 0, 5), 100), queued.send(0, 100));
        assert_eq!(passed.pass(0, parcel(2, 1, 0, 1), 104), None);
    }

    #[test]
    fn two_messages_to_one_output_share_its_bandwidth() {
        let mut crossbar = crossbar(10);
        crossbar.enqueue(0, parcel(1, 0, 0, 5));
        crossbar.enqueue(1, parcel(2, 0, 0, 5));
        assert_eq!((arrival(crossbar.send(0, 0)), arrival(crossbar.send(1, 0))), (15, 20));
    }

    #[test]
    fn an_input_port_is_busy_while_it_sends() {
        let mut crossbar = crossbar(10);
        crossbar.enqueue(0, parcel(1, 0, 0, 5));
        crossbar.enqueue(0, parcel(2, 1, 0, 1));
        crossbar.send(0, 0);
        assert_eq!(crossbar.busy_until(0, 1), Some(5));
        assert_eq!(crossbar.busy_until(0, 5), None);
        assert_eq!(arrival(crossbar.send(0, 5)), 16);
    }

    #[test]
    fn what_connects_all_never_holds_anybody_up() {
        let mut crossbar = crossbar(0).connecting_all(None);
        for id in 0..100 {
            crossbar.enqueue(0, parcel(id, 0, 0, 1));
            assert_eq!(arrival(crossbar.send(0, u64::from(id))), u64::from(id) + 1);
        }
    }

    #[test]
    fn an_unconsumed_window_stops_its_own_network_and_no_other() {
        let mut crossbar = crossbar(0);
        for id in 0..9 {
            crossbar.enqueue(0, parcel(id, 0, 0, 1));
        }
        for now in 0..8 {
            arrival(crossbar.send(0, now));
        }
        assert_eq!(crossbar.send(0, 8), None);
        crossbar.enqueue(0, parcel(20, 1, 1, 1));
        assert!(matches!(crossbar.send(0, 8), Some(Departure { id: 20, .. })));
        crossbar.consumed(0, 0, 1);
        assert!(matches!(crossbar.send(0, 9), Some(Departure { id: 8, .. })));
    }
}
