//! What exists: systems, protocols, workloads.

use chorus_lab::experiment::KnownNames;
use chorus_lab::simulate;
use chorus_protocol::registry::{PROTOCOLS, Protocol};
use chorus_system::SYSTEMS;
use chorus_workloads::workloads;

use crate::failure::Failure;

/// The names that experiments may use.
#[derive(Debug)]
pub struct Names {
    systems: Vec<&'static str>,
    protocols: Vec<&'static str>,
    workloads: Vec<&'static str>,
}

impl Names {
    /// Everything that is part of Chorus.
    pub fn all() -> Names {
        Names {
            systems: SYSTEMS.iter().map(|system| system.name).collect(),
            protocols: PROTOCOLS.iter().map(|protocol| protocol.name()).collect(),
            workloads: workloads().map(|workload| workload.name()).collect(),
        }
    }

    /// The same, as experiments take them.
    pub fn known(&self) -> KnownNames<'_> {
        KnownNames { systems: &self.systems, protocols: &self.protocols, workloads: &self.workloads }
    }
}

/// The protocol called `name`.
pub fn protocol(name: &str) -> Result<&'static dyn Protocol, Failure> {
    simulate::find_protocol(name).map_err(Failure::bad_input)
}
