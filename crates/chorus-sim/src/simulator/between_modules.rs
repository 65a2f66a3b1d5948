//! Messages between modules: their path through the ports of the fabric, and the back-pressure on banks that would send
//! more than the ports can take.

use chorus_protocol::address::AgentId;
use chorus_protocol::message::Message;

use super::packets::Packet;
use super::{Event, Simulator};
use crate::fabric::{Hop, Next};
use crate::stats::{Counter, Distance};

/// Origins of the messages of a bank: its module, its GPU, and other GPUs.
pub(super) const ORIGINS: usize = 3;

/// The path of a message through the ports of the fabric.
#[derive(Clone, Copy)]
pub(super) struct FabricPath {
    /// The first hop of the path.
    pub(super) hop: Hop,
    /// The modules of its source and destination.
    pub(super) modules: [u8; 2],
    /// How far it goes, if it leaves its module.
    pub(super) distance: Option<Distance>,
}

impl FabricPath {
    /// The origin of the message, as its destination sees it.
    pub(super) fn origin(&self) -> u8 {
        match self.distance {
            None | Some(Distance::InterGpm) => 1,
            Some(Distance::InterGpu) => 2,
        }
    }
}

impl<const W: usize> Simulator<'_, W> {
    /// The path of a message through the fabric, or nothing for messages between a private cache and a bank of one
    /// module.
    #[inline]
    pub(super) fn path_between_modules(&self, message: &Message<W>, same_role: bool) -> Option<FabricPath> {
        self.fabric.as_ref()?;
        let place = |agent: AgentId| self.places[usize::from(agent.0)];
        let ((from, from_gpu), (to, to_gpu)) = (place(message.src), place(message.dst));
        if from != to {
            let distance = if from_gpu == to_gpu { Distance::InterGpm } else { Distance::InterGpu };
            return Some(FabricPath { hop: Hop::ModuleOut, modules: [from, to], distance: Some(distance) });
        }
        same_role.then_some(FabricPath { hop: Hop::Inside, modules: [from, to], distance: None })
    }

    /// The module of a private cache.
    #[inline]
    pub(super) fn module_of_unit(&self, unit: u16) -> u16 {
        u16::from(self.places[usize::from(unit)].0)
    }

    /// Counts an access to a line that may lie in another GPU's memory. `load` says whether it is a load that misses in
    /// the private cache.
    pub(super) fn count_remote_access(&mut self, unit: u16, virtual_line: u64, load: bool) {
        let physical = self.caches[usize::from(unit)].head.line;
        let module = self.module_of_unit(unit);
        let gpu = u16::from(self.places[usize::from(unit)].1);
        if self.topology.gpu_of(self.topology.home_module(physical)) == gpu {
            return;
        }
        let shared = self.sharing.access(virtual_line, gpu, module % self.topology.gpms, u32::from(load));
        self.stats.add(Counter::InterGpuLoads, u64::from(load));
        self.stats.add(Counter::InterGpuLoadsShared, u64::from(shared));
    }

    /// Lets a message pass the next port of its path to another module.
    pub(super) fn travel(&mut self, id: u32, hop: Hop) {
        let &Packet { modules: [from, to], bytes, .. } = self.packets.get(id);
        let Some(fabric) = &mut self.fabric else { return };
        match fabric.pass(hop, u16::from(from), u16::from(to), bytes, self.wheel.now()) {
            Next::Port(hop, time) => {
                self.packets.get_mut(id).hop = Some(hop);
                self.wheel.schedule(time, Event::Inject(id));
            }
            Next::Arrived(time) => self.wheel.schedule(time, Event::Arrive(id)),
        }
    }

    /// Whether a bank must not take a request of its own module now, because the request carries data and too many
    /// bytes wait at the ports between the bank and the line's home. The bank then tries again when fewer wait. Loads
    /// are never refused: they are few, since a wavefront waits for each, and a cache on their path may answer them.
    /// Messages from other modules are never refused either, so the messages at ports never wait for themselves.
    pub(super) fn waits_for_fabric(&mut self, bank: u16, id: u32) -> bool {
        let Some(fabric) = &self.fabric else { return false };
        if u32::from(self.packets.get(id).bytes) <= self.config.network.header_bytes {
            return false;
        }
        let home = self.topology.home_module(self.packets.message(id).line);
        let module = u16::from(self.places[usize::from(self.topology.l2(bank).0)].0);
        let Some(until) = fabric.crowded_until(module, home, self.wheel.now()) else { return false };
        if !std::mem::replace(&mut self.banks[usize::from(bank)].retry_planned, true) {
            let now = self.wheel.now();
            self.stats.add(Counter::PortStallTicks, until - now);
            self.wheel.schedule(until, Event::Retry(bank));
        }
        true
    }

    /// Lets a bank try again, since the port that it waits for is less crowded.
    pub(super) fn retry_crowded(&mut self, bank: u16) {
        self.banks[usize::from(bank)].retry_planned = false;
        self.schedule_serve(bank);
    }
}
