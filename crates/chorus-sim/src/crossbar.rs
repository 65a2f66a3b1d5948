//! One crossbar per direction: input ports with a queue per virtual network, output ports, flits, and a window of flits per virtual
//! channel that gives back-pressure.
//!
//! A message occupies its input port and its output port for one cycle per flit. It counts against the window of its source's
//! virtual channel (the channel's buffer and what is in the pipeline) until its destination consumes it, so a stalled destination
//! fills the windows of those who talk to it, and they stop.

use std::collections::VecDeque;

use chorus_system::Network;

use crate::clock::{Clock, Ticks};

/// A message as the crossbar sees it.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// The driver's name for it.
    pub id: u32,
    /// Output port.
    pub to: u16,
    /// Virtual network.
    pub network: u8,
    /// Length.
    pub flits: u32,
}

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Which.
    pub id: u32,
    /// When its last flit is at the destination.
    pub arrives: Ticks,
}

/// What an input port did when asked to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A message left; the port may have more.
    Flight(Flight),
    /// The port is busy until then.
    BusyUntil(Ticks),
    /// Nothing can leave until a window opens or a message is queued.
    Nothing,
}

#[derive(Clone, Debug)]
struct InputPort {
    queues: Vec<VecDeque<Parcel>>,
    window: Vec<u32>,
    waiting: u32,
    free: Ticks,
    /// The virtual network served last.
    last: usize,
}

/// A crossbar.
#[derive(Clone, Debug)]
pub struct Crossbar {
    inputs: Vec<InputPort>,
    output_free: Vec<Ticks>,
    clock: Clock,
    latency: Ticks,
    window: u32,
}

impl Crossbar {
    /// An idle crossbar.
    pub fn new(inputs: u16, outputs: u16, networks: u8, config: &Network, clock: Clock) -> Crossbar {
        // Flits in the pipeline are held by its stages, one per cycle of latency; those at its end by the channel's buffer.
        let window = config.vc_buffer_flits + config.latency_cycles;
        let port = InputPort {
            queues: vec![VecDeque::with_capacity(64); usize::from(networks)],
            window: vec![window; usize::from(networks)],
            waiting: 0,
            free: 0,
            last: 0,
        };
        Crossbar {
            inputs: vec![port; usize::from(inputs)],
            output_free: vec![0; usize::from(outputs)],
            clock,
            latency: clock.cycles(u64::from(config.latency_cycles)),
            window,
        }
    }

    /// Queues a message at an input port.
    pub fn enqueue(&mut self, from: u16, parcel: Parcel) {
        let port = &mut self.inputs[usize::from(from)];
        port.queues[usize::from(parcel.network)].push_back(parcel);
        port.waiting += 1;
    }

    /// Messages that wait at an input port.
    pub fn waiting(&self, from: u16) -> u32 {
        self.inputs[usize::from(from)].waiting
    }

    /// Lets an input port send one message, taking turns between its virtual networks.
    pub fn send(&mut self, from: u16, now: Ticks) -> Sent {
        let port = &mut self.inputs[usize::from(from)];
        if port.waiting == 0 {
            return Sent::Nothing;
        }
        let start = self.clock.edge(now);
        if port.free > start {
            return Sent::BusyUntil(port.free);
        }
        let networks = port.queues.len();
        let mut network = port.last;
        for _ in 0..networks {
            network = if network + 1 == networks { 0 } else { network + 1 };
            let Some(&parcel) = port.queues[network].front() else { continue };
            // A message longer than the window may enter an empty one.
            if port.window[network] < parcel.flits && port.window[network] < self.window {
                continue;
            }
            port.queues[network].pop_front();
            port.waiting -= 1;
            port.window[network] = port.window[network].saturating_sub(parcel.flits);
            port.last = network;
            let length = self.clock.cycles(u64::from(parcel.flits));
            port.free = start + length;
            let output = &mut self.output_free[usize::from(parcel.to)];
            let arrives = (start + self.latency).max(*output) + length;
            *output = arrives;
            return Sent::Flight(Flight { id: parcel.id, arrives });
        }
        Sent::Nothing
    }

    /// A message has been consumed: its flits no longer count against its source's window.
    pub fn consumed(&mut self, from: u16, network: u8, flits: u32) {
        let window = &mut self.inputs[usize::from(from)].window[usize::from(network)];
        *window = (*window + flits).min(self.window);
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::Clocks;

    use super::*;
    use crate::clock::ClockDomains;

    fn crossbar(latency_cycles: u32) -> Crossbar {
        let clocks = Clocks { core_mhz: 700, network_mhz: 700, l2_mhz: 700, dram_mhz: 700 };
        let config = Network { flit_bytes: 32, header_bytes: 8, latency_cycles, vc_buffer_flits: 8 };
        Crossbar::new(2, 2, 2, &config, ClockDomains::new(&clocks).network)
    }

    fn parcel(id: u32, to: u16, network: u8, flits: u32) -> Parcel {
        Parcel { id, to, network, flits }
    }

    fn arrival(sent: Sent) -> Ticks {
        match sent {
            Sent::Flight(flight) => flight.arrives,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_idle_crossbar_takes_its_latency_and_one_cycle_per_flit() {
        let mut crossbar = crossbar(10);
        crossbar.enqueue(0, parcel(1, 0, 0, 5));
        assert_eq!(arrival(crossbar.send(0, 100)), 115);
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
        assert_eq!(crossbar.send(0, 1), Sent::BusyUntil(5));
        assert_eq!(arrival(crossbar.send(0, 5)), 16);
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
        assert_eq!(crossbar.send(0, 8), Sent::Nothing);
        crossbar.enqueue(0, parcel(20, 1, 1, 1));
        assert!(matches!(crossbar.send(0, 8), Sent::Flight(Flight { id: 20, .. })));
        crossbar.consumed(0, 0, 1);
        assert!(matches!(crossbar.send(0, 9), Sent::Flight(Flight { id: 8, .. })));
    }
}
