//! The energies of events in a machine.

use serde::Deserialize;

/// Energy constants of the interconnect, per flit and per virtual-channel buffer.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Energy {
    /// Dynamic energy of one flit through one crossbar.
    pub flit_pj: f64,
    /// Static power of one virtual-channel buffer.
    pub vc_buffer_uw: f64,
    /// Virtual channels of each virtual network at each port.
    pub vcs_per_network: u32,
}

/// Energies of accesses to the memory hierarchy, in picojoules.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessEnergy {
    /// One fetch of a line from an instruction cache.
    pub l1i_pj: f64,
    /// Wavefront instructions that one such fetch delivers.
    pub l1i_instructions: u32,
    /// One access of a wavefront to a line of the private data cache.
    pub l1d_pj: f64,
    /// One access of a wavefront to the local data share.
    pub lds_pj: f64,
    /// One input of an L2 bank.
    pub l2_pj: f64,
    /// One flit of 16 bytes between a private cache and a bank of its module.
    pub l1_l2_flit_pj: f64,
    /// One flit of 16 bytes between an L2 bank and its slice of the L3.
    pub l2_l3_flit_pj: f64,
    /// One flit of 16 bytes from module to module.
    pub remote_flit_pj: f64,
    /// One line read from or written to off-chip memory.
    pub dram_pj: f64,
}
