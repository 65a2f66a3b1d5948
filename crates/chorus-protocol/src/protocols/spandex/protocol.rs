//! A protocol of a machine with several kinds of devices: its declaration, and the controllers that follow from its
//! devices and parameters.

use std::hash::Hash;

use crate::address::{AgentId, LineAddr, Role, Topology};
use crate::controller::Controller;
use crate::parameter::{ParameterSpec, Parameters};
use crate::protocols::denovo::l1::{Atomics, DeNovoL1, L1Options, Stores};
use crate::protocols::gpu_coherence::l1::GpuCoherenceL1;
use crate::protocols::mesi::l1::MesiL1;
use crate::protocols::mesi::l2::MesiL2;
use crate::protocols::spandex::device::{Device, Fleet};
use crate::protocols::spandex::llc::SpandexLlc;
use crate::protocols::spandex::llc::policy::{Devices, ReadShared};
use crate::protocols::spandex::messages::{
    HIERARCHICAL, HIERARCHICAL_NETWORKS, REQUEST_NETWORKS, STACKED, STACKED_NETWORKS, TRANSLATED, TRANSLATED_NETWORKS,
};
use crate::protocols::spandex::seeds::{Fault, Group, built_in};
use crate::protocols::spandex::tu::denovo::DeNovoTu;
use crate::protocols::spandex::tu::gpu::GpuTu;
use crate::protocols::spandex::tu::gpu_vi::GpuViTu;
use crate::protocols::spandex::tu::gpu_vi::messages::KINDS;
use crate::protocols::spandex::tu::mesi::MesiTu;
use crate::protocols::spandex::upper::Upper;
use crate::protocols::vi_protocols::private_cache as gpu_vi_cache;
use crate::read_only::ReadOnlyLines;
use crate::registry::{
    Build, BuildConfig, Commands, Counters, Declaration, Delivery, MemoryModel, Promise, Protocol, Reach, Structure,
    Values,
};
use crate::save::Restore;

/// All parameters: the treatment of failed reads and of reads for sharing, and whether DeNovo caches know of regions.
const ALL_PARAMETERS: [ParameterSpec; 3] = [
    ParameterSpec {
        key: "reqv.retries",
        meaning: "failed ReqV requests before a request that cannot fail takes their place; 0: never",
        source: "Spandex paper, section III-C",
        default: 1,
        min: 0,
        max: 255,
        explored: &[1, 0, 2],
    },
    ParameterSpec {
        key: "reqs.option",
        meaning: "the option of Table III that serves ReqS; 0: (1) if the line is Shared or owned by a MESI cache, else (3)",
        source: "Spandex paper, section III-B",
        default: 0,
        min: 0,
        max: 3,
        explored: &[0, 1, 2, 3],
    },
    ParameterSpec {
        key: "regions",
        meaning: "whether acquires spare data that the program declares read-only; 0: no, 1: yes, in DeNovo caches",
        source: "Spandex paper, section II-C",
        default: 0,
        min: 0,
        max: 1,
        explored: &[0, 1],
    },
];

/// The parameters of protocols without DeNovo caches.
static PARAMETERS: [ParameterSpec; 2] = [ALL_PARAMETERS[0], ALL_PARAMETERS[1]];

/// The parameters of protocols with DeNovo caches.
pub static PARAMETERS_OF_DENOVO: [ParameterSpec; 3] = ALL_PARAMETERS;

/// The parameters of protocols whose DeNovo caches own words behind an L2 that is itself a device of the L3. That L2
/// has no value of such a word. It refuses every ReqV for the word until the owner gives it back, which may be never.
/// A reader that repeats ReqV for ever would then wait for ever, so that the number of retries has to be finite.
pub static PARAMETERS_OF_OWNERS_BEHIND_L2: [ParameterSpec; 3] = [
    ParameterSpec {
        meaning: "failed ReqV requests before a request that cannot fail takes their place",
        min: 1,
        explored: &[1, 2],
        ..ALL_PARAMETERS[0]
    },
    ALL_PARAMETERS[1],
    ALL_PARAMETERS[2],
];

/// The common part of the declarations of protocols with a Spandex LLC and translation units for every device.
pub const FLAT: Declaration = Declaration {
    name: "",
    title: "",
    summary: "",
    citation: "Alsop et al., Spandex: A Flexible Interface for Efficient Heterogeneous Coherence, ISCA 2018, section III",
    model: MemoryModel::ScForDrf,
    promises: &[Promise::Ownership, Promise::Communication],
    virtual_networks: TRANSLATED_NETWORKS,
    delivery: Delivery::AnyOrder,
    counters: Counters::None,
    reach: Reach::OneModule,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &PARAMETERS,
    tallies: &[],
    messages: &TRANSLATED,
    faults: &[],
};

/// The common part of the declarations of the two protocols that put a GPU's L2 behind a MESI L3.
pub const HIERARCHICAL_MESI: Declaration = Declaration {
    citation: "Alsop et al., Spandex: A Flexible Interface for Efficient Heterogeneous Coherence, ISCA 2018, section IV-A",
    virtual_networks: HIERARCHICAL_NETWORKS,
    messages: &HIERARCHICAL,
    ..FLAT
};

/// The common part of the declarations of protocols that put a GPU's L2 behind a Spandex L3.
pub const HIERARCHICAL_SPANDEX: Declaration =
    Declaration { virtual_networks: STACKED_NETWORKS, messages: &STACKED, ..HIERARCHICAL_MESI };

/// A protocol of a machine with several kinds of devices.
pub struct SpandexProtocol {
    /// The declaration of the protocol.
    pub declaration: &'static Declaration,
    /// The levels of its caches.
    pub structure: Structure,
    /// The devices of its private caches.
    pub fleet: Fleet,
    /// The mistakes that can be built in, in the order in which they are declared.
    pub seeds: &'static [Group],
}

impl Protocol for SpandexProtocol {
    fn declaration(&self) -> &'static Declaration {
        self.declaration
    }

    fn structure(&self) -> Structure {
        self.structure
    }

    fn registered_networks(&self) -> &'static [u8] {
        &REQUEST_NETWORKS
    }
}

impl SpandexProtocol {
    fn retries(parameters: &Parameters) -> u8 {
        parameters.get("reqv.retries") as u8
    }

    fn read_shared(parameters: &Parameters) -> ReadShared {
        ReadShared::of_number(parameters.get("reqs.option"))
    }

    fn regions(config: &BuildConfig) -> ReadOnlyLines {
        if config.parameters.get("regions") == 1 { config.read_only } else { ReadOnlyLines::NONE }
    }

    /// An LLC's knowledge of its devices.
    fn devices(&self, topology: Topology) -> Devices {
        Devices {
            first: topology.tu(0),
            share: self.fleet.units(topology, Device::shares),
            never_own: self.fleet.units(topology, |device| !device.owns()),
        }
    }

    fn llc<const W: usize>(
        &self,
        role: Role,
        index: u16,
        config: &BuildConfig,
        fault: Option<Fault>,
    ) -> Box<dyn Controller<W>> {
        let read_shared = Self::read_shared(&config.parameters);
        let fault = fault.and_then(Fault::of_llc);
        let llc = SpandexLlc::new(role, index, config, self.devices(config.topology), read_shared, fault);
        at_level(llc, role == Role::L3)
    }
}

impl<const W: usize> Build<W> for SpandexProtocol {
    fn build(&self, role: Role, index: u16, config: &BuildConfig) -> Option<Box<dyn Controller<W>>> {
        let fault = built_in(self.seeds, config);
        match role {
            Role::L1 => Some(private_cache(self.fleet.of_cache(config.topology, index), index, config, fault)),
            Role::L2 => Some(self.llc(role, index, config, fault)),
            Role::L3 if self.structure == Structure::ThreeLevels => Some(Box::new(MesiL2::l3(index, config, None))),
            Role::L3 => Some(self.llc(role, index, config, fault)),
            Role::Tu => Some(translation_unit(self.fleet.of_unit(config.topology, index), index, config, fault)),
            Role::Memory => None,
        }
    }
}

/// Boxes a controller. `is_upper` says that it is one between L2 and L3.
fn at_level<const W: usize, C: Controller<W> + Clone + Hash + Restore + 'static>(
    controller: C,
    is_upper: bool,
) -> Box<dyn Controller<W>> {
    if is_upper { Box::new(Upper(controller)) } else { Box::new(controller) }
}

/// Whether the requests of a cache go to an L3.
fn is_before_l3(topology: Topology, cache: AgentId) -> bool {
    topology.role(topology.beyond(cache, LineAddr(0))).0 == Role::L3
}

fn private_cache<const W: usize>(
    device: Device,
    index: u16,
    config: &BuildConfig,
    fault: Option<Fault>,
) -> Box<dyn Controller<W>> {
    match device {
        Device::Mesi => Box::new(MesiL1::new(index, config, fault.and_then(Fault::of_mesi))),
        Device::GpuCoherence => Box::new(GpuCoherenceL1::new(index, config, fault.and_then(Fault::of_gpu))),
        Device::DeNovo | Device::DeNovoAtLlc | Device::Adaptive => {
            let options = L1Options {
                atomics: if device == Device::DeNovoAtLlc { Atomics::AtLlc } else { Atomics::Here },
                stores: if device == Device::Adaptive { Stores::Learn } else { Stores::Own },
                regions: SpandexProtocol::regions(config),
            };
            Box::new(DeNovoL1::new(index, config, options, fault.and_then(Fault::of_denovo)))
        }
        Device::GpuVi => Box::new(gpu_vi_cache(index, config, None).with_kinds(KINDS)),
    }
}

fn translation_unit<const W: usize>(
    device: Device,
    index: u16,
    config: &BuildConfig,
    fault: Option<Fault>,
) -> Box<dyn Controller<W>> {
    let retries = SpandexProtocol::retries(&config.parameters);
    let is_upper = is_before_l3(config.topology, config.topology.translated(index));
    match device {
        Device::Mesi => {
            let unit = MesiTu::new(index, config, fault.and_then(Fault::of_mesi_unit));
            let reads_once = SpandexProtocol::read_shared(&config.parameters) == ReadShared::Two;
            at_level(if reads_once { unit.reading_once() } else { unit }, is_upper)
        }
        Device::GpuCoherence => {
            at_level(GpuTu::new(index, config, retries, fault.and_then(Fault::of_gpu_unit)), is_upper)
        }
        Device::DeNovo | Device::DeNovoAtLlc | Device::Adaptive => {
            at_level(DeNovoTu::new(index, config, retries, fault.and_then(Fault::of_denovo_unit)), is_upper)
        }
        Device::GpuVi => at_level(GpuViTu::new(index, config, fault.and_then(Fault::of_gpu_vi_unit)), is_upper),
    }
}
