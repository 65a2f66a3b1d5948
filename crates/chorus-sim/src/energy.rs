//! Energy of accesses to the memory hierarchy: counts times the constants of the machine, divided as in the CPElide
//! paper's Figure 9.
//!
//! Leakage and the cores are left out. The array of the L3 is left out too, since that figure does not show it either.

use chorus_system::SystemConfig;

use crate::definitions::Definition;
use crate::stats::{Counter, Stats};

/// The parts of the energy, each with its key and its meaning.
const PARTS: [(&str, &str); 6] = [
    (
        "energy.l1i_nj",
        "energy of instruction fetches, one for every access_energy.l1i_instructions wavefront instructions",
    ),
    ("energy.l1d_nj", "energy of accesses to private data caches"),
    ("energy.lds_nj", "energy of accesses to local data shares"),
    ("energy.l2_nj", "energy of inputs of L2 banks"),
    (
        "energy.noc_nj",
        "energy of flits between private caches and L2 banks, between these and the L3, and between modules",
    ),
    ("energy.dram_nj", "energy of lines read from and written to memory"),
];

/// The nanojoules of each part under its key. The list is empty where the machine does not state the energy of
/// accesses.
pub fn access_energies(stats: &Stats, config: &SystemConfig) -> Vec<(String, f64)> {
    let Some(energy) = &config.access_energy else { return Vec::new() };
    let count = |counter| stats.get(counter) as f64;
    let noc = count(Counter::L1L2Flits) * energy.l1_l2_flit_pj
        + count(Counter::L2L3Flits) * energy.l2_l3_flit_pj
        + count(Counter::RemoteFlits) * energy.remote_flit_pj;
    let picojoules = [
        count(Counter::Instructions) / f64::from(energy.l1i_instructions) * energy.l1i_pj,
        count(Counter::L1Accesses) * energy.l1d_pj,
        count(Counter::LdsAccesses) * energy.lds_pj,
        count(Counter::L2Inputs) * energy.l2_pj,
        noc,
        (count(Counter::DramReads) + count(Counter::DramWrites)) * energy.dram_pj,
    ];
    PARTS.iter().zip(picojoules).map(|((key, _), value)| ((*key).to_owned(), value / 1e3)).collect()
}

/// The definitions of the parts as metrics.
pub fn definitions() -> Vec<Definition> {
    let where_reported = "; only on machines whose [access_energy] says what that costs";
    PARTS.iter().map(|(key, meaning)| Definition::new(key, "nJ", &format!("{meaning}{where_reported}"))).collect()
}
