//! The parts that the declarations of the scoped protocols have in common.

use crate::protocols::scoped::messages::{NETWORKS, SOFTWARE_NETWORKS, SOFTWARE_TABLE, TABLE};
use crate::protocols::scoped::parameters::{
    ACQUIRE_PARAMETERS, DIRECTORY_PARAMETERS, FORWARDING_PARAMETERS, RANGE_PARAMETERS,
};
use crate::protocols::scoped::tallies::{COMMAND_TALLIES, TALLIES};
use crate::registry::{Commands, Counters, Declaration, Delivery, MemoryModel, Promise, Reach, Values};

/// The common part of the declarations of all scoped protocols.
pub const SCOPED: Declaration = Declaration {
    name: "",
    title: "",
    summary: "",
    citation: "",
    model: MemoryModel::Ptx,
    promises: &[Promise::Progress, Promise::MultiCopyAtomicity, Promise::Communication],
    virtual_networks: NETWORKS,
    delivery: Delivery::InOrder,
    counters: Counters::None,
    reach: Reach::AnyMachine,
    commands: Commands::None,
    values: Values::Carried,
    parameters: &[],
    tallies: &TALLIES,
    messages: &TABLE,
    faults: &[],
};

/// The common part of the declarations of protocols with directories.
pub const TRACKING: Declaration = Declaration {
    promises: &[Promise::Tracking, Promise::Progress, Promise::MultiCopyAtomicity, Promise::Communication],
    ..SCOPED
};

/// The declaration [`TRACKING`] with parameters for options that the HMG paper leaves open.
pub const WITH_DIRECTORIES: Declaration = Declaration { parameters: &DIRECTORY_PARAMETERS, ..TRACKING };

/// The declaration [`WITH_DIRECTORIES`] with a parameter that chooses a directory of ranges.
pub const WITH_RANGES: Declaration = Declaration { parameters: &RANGE_PARAMETERS, ..WITH_DIRECTORIES };

/// The common part of the declarations of software protocols.
pub const WITH_ACQUIRES: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &ACQUIRE_PARAMETERS,
    ..SCOPED
};

/// The common part of what the CPElide paper's own protocols declare.
pub const WITH_COMMANDS: Declaration = Declaration {
    virtual_networks: SOFTWARE_NETWORKS,
    messages: &SOFTWARE_TABLE,
    parameters: &FORWARDING_PARAMETERS,
    tallies: &COMMAND_TALLIES,
    ..SCOPED
};
