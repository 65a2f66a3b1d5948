//! Messages between modules: past the ports of the fabric, and what keeps banks from sending more than these can take.

use chorus_protocol::address::AgentId;
use chorus_protocol::message::Message;

use super::flights::Flight;
use super::{Event, Machine};
use crate::fabric::{Hop, Next};
use crate::stats::{Counter, Distance};

/// From how far messages come to a bank: from its module, its GPU, or other GPUs.
pub(super) const SIDES: usize = 3;

/// The way of a message past ports.
#[derive(Clone, Copy)]
pub(super) struct Way {
    /// Its first hop.
    pub(super) hop: Hop,
    /// The modules of its source and destination.
    pub(super) modules: [u8; 2],
    /// How far it goes, if it leaves its module.
    pub(super) distance: Option<Distance>,
}

impl Way {
    /// From how far it comes, as its destination sees it.
    pub(super) fn side(&self) -> u8 {
        match self.distance {
            None | Some(Distance::InterGpm) => 1,
            Some(Distance::InterGpu) => 2,
        }
    }
}

impl<const W: usize> Machine<'_, W> {
    /// The way of a message that does not stay between a private cache and a bank of one module.
    #[inline]
    pub(super) fn way(&self, message: &Message<W>, same_role: bool) -> Option<Way> {
        self.fabric.as_ref()?;
        let place = |agent: AgentId| self.places[usize::from(agent.0)];
        let ((from, from_gpu), (to, to_gpu)) = (place(message.src), place(message.dst));
        if from != to {
            let distance = if from_gpu == to_gpu { Distance::InterGpm } else { Distance::InterGpu };
            return Some(Way { hop: Hop::ModuleOut, modules: [from, to], distance: Some(distance) });
        }
        same_role.then_some(Way { hop: Hop::Inside, modules: [from, to], distance: None })
    }

    /// The module of a private cache.
    #[inline]
    pub(super) fn module_of_unit(&self, unit: u16) -> u16 {
        u16::from(self.places[usize::from(unit)].0)
    }

    /// Notes an access to a line that may lie in another GPU's memory. `load` says whether it is a load that has to leave the private cache.
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

    /// A message is at the next port on its way to another module.
    pub(super) fn travel(&mut self, id: u32, hop: Hop) {
        let &Flight { modules: [from, to], bytes, .. } = self.in_flight.get(id);
        let Some(fabric) = &mut self.fabric else { return };
        match fabric.pass(hop, u16::from(from), u16::from(to), bytes, self.wheel.now()) {
            Next::Port(hop, time) => {
                self.in_flight.get_mut(id).hop = Some(hop);
                self.wheel.schedule(time, Event::Inject(id));
            }
            Next::Arrived(time) => self.wheel.schedule(time, Event::Arrive(id)),
        }
    }

    /// Whether a bank must not take a request of its own module now: one that carries data while too much waits at the ports between it and the
    /// line's home. Then it tries again when there is less. Loads are few, since somebody waits for each, and may find what they look
    /// for on the way. What comes from other modules is always taken, so what waits at ports never depends on itself.
    pub(super) fn is_held_by_port(&mut self, bank: u16, id: u32) -> bool {
        let Some(fabric) = &self.fabric else { return false };
        if u32::from(self.in_flight.get(id).bytes) <= self.config.network.header_bytes {
            return false;
        }
        let home = self.topology.home_module(self.in_flight.message(id).line);
        let module = u16::from(self.places[usize::from(self.topology.l2(bank).0)].0);
        let Some(until) = fabric.crowded_until(module, home, self.wheel.now()) else { return false };
        if !std::mem::replace(&mut self.banks[usize::from(bank)].retry_planned, true) {
            let now = self.wheel.now();
            self.stats.add(Counter::PortStallTicks, until - now);
            self.wheel.schedule(until, Event::Retry(bank));
        }
        true
    }

    /// A port that held up a bank is less crowded.
    pub(super) fn retry_crowded(&mut self, bank: u16) {
        self.banks[usize::from(bank)].retry_planned = false;
        self.schedule_serve(bank);
    }
}
