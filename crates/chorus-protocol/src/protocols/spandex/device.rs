//! The devices that share a Spandex LLC (Spandex paper, Tables I and V), and the assignment of devices to private
//! caches and translation units.

use crate::address::{AgentId, Role, Topology};
use crate::sharers::Sharers;

/// A coherence strategy of a private cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device {
    /// MESI: writer-invalidated and owned, by line.
    Mesi,
    /// GPU coherence: self-invalidated and written through, read by line and written by word.
    GpuCoherence,
    /// DeNovo: self-invalidated and owned, by word.
    DeNovo,
    /// DeNovo that performs atomics at the LLC unless it owns the word. The CPU cores of SDG are such devices (section
    /// IV-A).
    DeNovoAtLlc,
    /// DeNovo that chooses for each line whether its stores own their words or write through (section VII).
    Adaptive,
    /// The private cache of GPU-VI: writer-invalidated and written through, by line.
    GpuVi,
}

impl Device {
    /// Whether the device has Shared state.
    pub fn shares(self) -> bool {
        match self {
            Device::Mesi | Device::GpuVi => true,
            Device::GpuCoherence | Device::DeNovo | Device::DeNovoAtLlc | Device::Adaptive => false,
        }
    }

    /// Whether the device can own words.
    pub fn owns(self) -> bool {
        match self {
            Device::Mesi | Device::DeNovo | Device::DeNovoAtLlc | Device::Adaptive => true,
            Device::GpuCoherence | Device::GpuVi => false,
        }
    }
}

/// The devices of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fleet {
    /// The caches of CPU cores.
    pub cpu: Device,
    /// The caches of compute units with even numbers.
    pub gpu: Device,
    /// The caches of compute units with odd numbers.
    pub odd_gpu: Device,
}

impl Fleet {
    /// CPU cores of one kind and compute units of another.
    pub const fn new(cpu: Device, gpu: Device) -> Fleet {
        Fleet { cpu, gpu, odd_gpu: gpu }
    }

    /// The device of private cache `index`.
    pub fn of_cache(&self, topology: Topology, index: u16) -> Device {
        match index.checked_sub(topology.cpus) {
            None => self.cpu,
            Some(unit) if unit % 2 == 0 => self.gpu,
            Some(_) => self.odd_gpu,
        }
    }

    /// The device behind translation unit `index`. An L2 counts as a MESI cache to the level behind it.
    pub fn of_unit(&self, topology: Topology, index: u16) -> Device {
        match topology.role(topology.translated(index)) {
            (Role::L1, cache) => self.of_cache(topology, cache),
            (Role::L2 | Role::L3 | Role::Tu | Role::Memory, _) => Device::Mesi,
        }
    }

    /// The translation units whose devices satisfy `is_such`, as places in sets of devices.
    pub fn units(&self, topology: Topology, is_such: impl Fn(Device) -> bool) -> Sharers {
        let mut units = Sharers::NONE;
        for index in (0..topology.tus).filter(|&index| is_such(self.of_unit(topology, index))) {
            units.insert(AgentId(index));
        }
        units
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Structure;

    #[test]
    fn compute_units_come_after_cpu_cores_and_may_alternate() {
        let topology = Structure::Translated.complete(Topology { cpus: 1, ..Topology::one_gpu(3, 1) });
        let fleet = Fleet { odd_gpu: Device::DeNovo, ..Fleet::new(Device::Mesi, Device::GpuCoherence) };
        let devices = [0, 1, 2].map(|cache| fleet.of_cache(topology, cache));
        assert_eq!(devices, [Device::Mesi, Device::GpuCoherence, Device::DeNovo]);
        assert_eq!(fleet.units(topology, Device::shares), Sharers::from_bits(0b001));
        assert_eq!(fleet.units(topology, Device::owns), Sharers::from_bits(0b101));
    }

    #[test]
    fn an_l2_is_a_mesi_cache_to_its_l3() {
        let topology = Structure::ThreeLevelsTranslated.complete(Topology::one_gpu(1, 1));
        let fleet = Fleet::new(Device::DeNovo, Device::DeNovo);
        assert_eq!([0, 1].map(|unit| fleet.of_unit(topology, unit)), [Device::DeNovo, Device::Mesi]);
    }
}
