//! Messages between modules: past the ports of the fabric, and what keeps banks from sending more than these can take.

use chorus_protocol::address::Role;

use super::{Event, InFlight, Machine};
use crate::fabric::{Hop, Next};
use crate::stats::{Counter, Distance};

/// From how far messages come to a bank: from its module, its GPU, or other GPUs.
pub(super) const SIDES: usize = 3;

impl<const W: usize> Machine<'_, W> {
    /// The way of a message that does not stay between a private cache and a bank of one module: its first hop, and the modules of its source
    /// and destination.
    #[inline]
    pub(super) fn way(&self, from: (Role, u16), to: (Role, u16)) -> Option<(Hop, [u8; 2])> {
        self.fabric.as_ref()?;
        let modules = [from, to].map(|(role, index)| self.module_of(role, index));
        if modules[0] != modules[1] {
            return Some((Hop::ModuleOut, modules.map(|module| module as u8)));
        }
        (from.0 == to.0).then_some((Hop::Inside, modules.map(|module| module as u8)))
    }

    /// The module of the private cache or bank number `index`.
    #[inline]
    pub(super) fn module_of(&self, role: Role, index: u16) -> u16 {
        let per_module = match role {
            Role::L1 => self.config.core.count,
            Role::L2 | Role::Memory => self.config.l2.banks,
        };
        index / per_module as u16
    }

    /// How far a message between two modules goes.
    #[inline]
    pub(super) fn distance(&self, [from, to]: [u8; 2]) -> Distance {
        let gpms = self.topology.gpms as u8;
        if from / gpms == to / gpms { Distance::InterGpm } else { Distance::InterGpu }
    }

    /// Notes an access to a line that may lie in another GPU's memory. `load` says whether it is a load that has to leave the private cache.
    pub(super) fn count_remote_access(&mut self, unit: u16, virtual_line: u64, load: bool) {
        let physical = self.caches[usize::from(unit)].head.line;
        let module = self.module_of(Role::L1, unit);
        let gpu = self.topology.gpu_of(module);
        if self.topology.gpu_of(self.topology.home_module(physical)) == gpu {
            return;
        }
        let shared = self.sharing.access(virtual_line, gpu, module % self.topology.gpms, u32::from(load));
        self.stats.add(Counter::InterGpuLoads, u64::from(load));
        self.stats.add(Counter::InterGpuLoadsShared, u64::from(shared));
    }

    /// A message is at the next port on its way to another module.
    pub(super) fn travel(&mut self, id: u32, hop: Hop) {
        let &InFlight { modules: [from, to], bytes, .. } = self.in_flight.get(id);
        let Some(fabric) = &mut self.fabric else { return };
        match fabric.pass(hop, u16::from(from), u16::from(to), bytes, self.wheel.now()) {
            Next::Port(hop, time) => {
                self.in_flight.get_mut(id).hop = Some(hop);
                self.wheel.schedule(time, Event::Inject(id));
            }
            Next::Arrived(time) => self.wheel.schedule(time, Event::Arrive(id)),
        }
    }

    /// Whether a bank must not take a request of its own module now, because so much waits at the ports between it and the line's home. Then
    /// it tries again when there is less. What comes from other modules is always taken, so what waits at ports never depends on itself.
    pub(super) fn is_held_by_port(&mut self, bank: u16, id: u32) -> bool {
        let Some(fabric) = &self.fabric else { return false };
        let home = self.topology.home_module(self.in_flight.get(id).message.line);
        let module = self.module_of(Role::L2, bank);
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

    /// The queue of its bank that a message joins.
    #[inline]
    pub(super) fn bank_queue(&self, id: u32) -> usize {
        let &InFlight { network, hop, modules, .. } = self.in_flight.get(id);
        let side = match (hop, self.distance(modules)) {
            (None, _) => 0,
            (Some(_), Distance::InterGpm) => 1,
            (Some(_), Distance::InterGpu) => 2,
        };
        side * (self.lanes_per_agent - 1) + usize::from(network)
    }
}
