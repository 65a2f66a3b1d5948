//! The links between modules. Every module and every GPU has an outgoing port and an incoming port, with a latency in
//! between.
//!
//! A message to another module of its GPU passes its module's outgoing port and, one latency later, the incoming port
//! of the other module. A message to another GPU passes its module's outgoing port, its GPU's outgoing port, the
//! switch, the other GPU's incoming port and the other module's incoming port. Every port serves first come, first
//! served. The two ends of a link stream: a message occupies the incoming port while it still leaves the outgoing port.
//! Between a module's link and a GPU's link a message is stored first. A message that found nobody waiting takes its
//! turn at the next port at once, an instant early, which saves the driver an event (HMG paper, section II and Table
//! II).
//!
//! Queues at ports are not bounded here. The driver prevents banks from accepting messages that would have to wait too
//! long ([`Fabric::crowded_until`]).

use chorus_system::{Link, SystemConfig};

use crate::clock::{ClockDomains, Ticks};
use crate::port::{Port, Rate};

/// The next part of a message's path between modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Within a module, past no port.
    Inside,
    /// The outgoing port of its module.
    ModuleOut,
    /// The outgoing port of its GPU.
    GpuOut,
    /// The incoming port of the other GPU.
    GpuIn,
    /// The incoming port of the other module.
    ModuleIn,
}

/// The next stop of a message, and when it gets there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The message comes to a port at this time.
    Port(Hop, Ticks),
    /// The message comes to its destination at this time.
    Arrived(Ticks),
}

/// The ports of one level.
#[derive(Clone, Debug)]
struct Level {
    out: Vec<Port>,
    into: Vec<Port>,
    latency: Ticks,
    /// The waiting time at an outgoing port above which the port counts as crowded.
    queue: Ticks,
}

impl Level {
    /// The idle ports of a level. Where a machine describes no links, messages pass them at once.
    fn new(link: Option<&Link>, ports: u32, clocks: &ClockDomains) -> Level {
        let rate = match link {
            // Megabytes per second are bytes per microsecond.
            Some(link) => Rate { bytes: u64::from(link.megabytes_per_second), ticks: clocks.ticks_per_microsecond() },
            None => Rate { bytes: 1, ticks: 0 },
        };
        let idle = vec![Port::new(rate, 0); ports as usize];
        Level {
            out: idle.clone(),
            into: idle,
            latency: clocks.network.cycles(link.map_or(0, |link| u64::from(link.latency_cycles()))),
            queue: rate.duration(link.map_or(0, |link| u64::from(link.queue_bytes))),
        }
    }

    fn crowded_until(&self, port: u16, now: Ticks) -> Option<Ticks> {
        let enough = self.out[usize::from(port)].free().saturating_sub(self.queue);
        (enough > now).then_some(enough)
    }
}

/// All links between modules.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// The GPU of each module.
    gpu_of: Vec<u16>,
    modules: Level,
    gpus: Level,
    inside: Ticks,
}

impl Fabric {
    /// The idle links of a machine.
    pub fn new(config: &SystemConfig, clocks: &ClockDomains) -> Fabric {
        let hierarchy = &config.hierarchy;
        Fabric {
            gpu_of: (0..hierarchy.modules()).map(|module| (module / hierarchy.gpms) as u16).collect(),
            modules: Level::new(config.inter_gpm.as_ref(), hierarchy.modules(), clocks),
            gpus: Level::new(config.inter_gpu.as_ref(), hierarchy.gpus, clocks),
            inside: clocks.network.cycles(u64::from(config.network.latency_cycles())),
        }
    }

    /// Lets a message of `bytes` that is at `hop` now go on, from module `from` to module `to`.
    #[inline]
    pub fn pass(&mut self, hop: Hop, from: u16, to: u16, bytes: u16, now: Ticks) -> Next {
        let (from_gpu, to_gpu) = (self.gpu_of[usize::from(from)], self.gpu_of[usize::from(to)]);
        let bytes = u64::from(bytes);
        match hop {
            Hop::Inside => Next::Arrived(now + self.inside),
            Hop::ModuleOut => {
                let passing = self.modules.out[usize::from(from)].pass(bytes, now);
                if from_gpu == to_gpu {
                    Next::Port(Hop::ModuleIn, passing.start + self.modules.latency)
                } else if passing.alone {
                    self.leave_gpu(from_gpu, bytes, passing.end)
                } else {
                    Next::Port(Hop::GpuOut, passing.end)
                }
            }
            Hop::GpuOut => self.leave_gpu(from_gpu, bytes, now),
            Hop::GpuIn => {
                let passing = self.gpus.into[usize::from(to_gpu)].pass(bytes, now);
                if passing.alone {
                    self.enter_module(to, bytes, passing.end)
                } else {
                    Next::Port(Hop::ModuleIn, passing.end)
                }
            }
            Hop::ModuleIn => self.enter_module(to, bytes, now),
        }
    }

    fn leave_gpu(&mut self, gpu: u16, bytes: u64, now: Ticks) -> Next {
        Next::Port(Hop::GpuIn, self.gpus.out[usize::from(gpu)].pass(bytes, now).start + self.gpus.latency)
    }

    fn enter_module(&mut self, module: u16, bytes: u64, now: Ticks) -> Next {
        Next::Arrived(self.modules.into[usize::from(module)].pass(bytes, now).end)
    }

    /// The time until which the outgoing ports between module `from` and module `home` are crowded. Returns nothing if
    /// they are not, so that more may be sent at once.
    #[inline]
    pub fn crowded_until(&self, from: u16, home: u16, now: Ticks) -> Option<Ticks> {
        if from == home {
            return None;
        }
        let module = self.modules.crowded_until(from, now);
        let (from_gpu, home_gpu) = (self.gpu_of[usize::from(from)], self.gpu_of[usize::from(home)]);
        if from_gpu == home_gpu {
            return module;
        }
        module.max(self.gpus.crowded_until(from_gpu, now))
    }
}

#[cfg(test)]
mod tests {
    use chorus_system::{Scale, resolve};

    use super::*;

    /// Two GPUs of two modules; ticks are cycles of 1 GHz, a module moves 8 bytes per tick and a GPU 2.
    fn fabric() -> Fabric {
        let set = [
            "hierarchy.gpus=2",
            "hierarchy.gpms=2",
            "clocks.core_mhz=1000",
            "clocks.network_mhz=1000",
            "clocks.l2_mhz=1000",
            "clocks.dram_mhz=1000",
            "inter_gpm.megabytes_per_second=8000",
            "inter_gpm.latency_cycles=10",
            "inter_gpu.megabytes_per_second=2000",
            "inter_gpu.latency_cycles=100",
            "inter_gpu.queue_bytes=64",
        ];
        let config = resolve("hmg", Scale::Quick, &set.map(String::from)).unwrap().config;
        Fabric::new(&config, &ClockDomains::new(&config.clocks))
    }

    /// When a message that leaves at `now` has arrived, if nothing else is sent meanwhile.
    fn arrival(fabric: &mut Fabric, from: u16, to: u16, bytes: u16, now: Ticks) -> Ticks {
        let mut next = Next::Port(Hop::ModuleOut, now);
        loop {
            match next {
                Next::Port(hop, time) => next = fabric.pass(hop, from, to, bytes, time),
                Next::Arrived(time) => return time,
            }
        }
    }

    #[test]
    fn another_module_is_one_latency_and_one_serialisation_away() {
        assert_eq!(arrival(&mut fabric(), 0, 1, 16, 50), 50 + 10 + 2);
    }

    #[test]
    fn another_gpu_is_the_switch_and_the_serialisation_of_every_link_away() {
        assert_eq!(arrival(&mut fabric(), 0, 3, 16, 50), 50 + 2 + 100 + 8 + 2);
    }

    #[test]
    fn modules_share_the_port_of_their_gpu() {
        let mut fabric = fabric();
        let first = arrival(&mut fabric, 0, 2, 16, 0);
        assert_eq!(arrival(&mut fabric, 1, 3, 16, 0), first + 8);
    }

    #[test]
    fn a_busy_link_between_gpus_does_not_delay_what_stays_in_its_gpu() {
        let mut fabric = fabric();
        for _ in 0..10 {
            arrival(&mut fabric, 0, 2, 160, 0);
        }
        assert_eq!(arrival(&mut fabric, 1, 0, 16, 200), 212);
    }

    #[test]
    fn a_port_with_too_much_waiting_is_crowded_for_those_who_need_it() {
        let mut fabric = fabric();
        for _ in 0..10 {
            fabric.pass(Hop::GpuOut, 0, 2, 16, 0);
        }
        assert_eq!(fabric.crowded_until(1, 3, 0), Some(80 - 32));
        assert_eq!(fabric.crowded_until(1, 3, 48), None);
        assert_eq!(fabric.crowded_until(1, 0, 0), None);
    }
}
