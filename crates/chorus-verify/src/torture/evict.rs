//! Evictions without need: lines of private caches and of shared banks, and entries of directories.

use chorus_protocol::address::LineAddr;
use chorus_protocol::controller::{Input, Time};

use super::driver::Driver;
use super::network::{Event, Evicted};
use super::problem::Problem;
use super::setup::Evictions;

/// The most times that the time between two evictions doubles while nothing else happens.
const DOUBLINGS_MAX: u32 = 20;

impl Driver {
    /// The time between two evictions of a kind.
    pub(super) fn eviction_ticks(&self, evicted: Evicted) -> u32 {
        let Evictions { private, shared, entries } = self.setup.evictions;
        match evicted {
            Evicted::Private => private,
            Evicted::Shared => shared,
            Evicted::Entry => entries,
        }
    }

    /// Evicts a line or an entry of a random controller, if the drawn one can leave. While a machine only waits for the
    /// end of a lease, evictions become rare: soon nothing is left that could leave.
    pub(super) fn evict_something(&mut self, evicted: Evicted) -> Result<(), Problem> {
        let wait = u64::from(self.random.below(2 * self.eviction_ticks(evicted)));
        let next = self.now + 1 + (wait << (self.quiet_evictions / 4).min(DOUBLINGS_MAX)) as Time;
        self.network.schedule(next, Event::Evict(evicted), &mut self.random);
        let topology = self.topology();
        let agent = match evicted {
            Evicted::Private => self.random.below(u32::from(topology.l1s)) as u16,
            Evicted::Shared | Evicted::Entry => {
                let shared = topology.l2s + topology.l3s;
                topology.l1s + self.random.below(u32::from(shared)) as u16
            }
        };
        let line = LineAddr(u64::from(self.random.below(u32::from(self.setup.lines))));
        let controller = &self.controllers[usize::from(agent)];
        let (eviction, can_leave) = match evicted {
            Evicted::Private | Evicted::Shared => (Input::Evict(line), controller.evictable(line, self.now)),
            Evicted::Entry => (Input::EvictEntry(line), controller.entry_evictable(line)),
        };
        if can_leave {
            self.offer(agent, &eviction)?;
        }
        Ok(())
    }
}
