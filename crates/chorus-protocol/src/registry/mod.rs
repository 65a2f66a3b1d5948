//! The registry of protocols: the declaration of each, the building of its controllers, and the list of all.
//!
//! | file | subject |
//! |---|---|
//! | `declaration.rs` | the declaration: name, memory model, promises, needs, messages, faults |
//! | `build.rs` | the machine and the parameters from which controllers are built |
//! | `protocol.rs` | the trait that joins the two |

mod build;
mod declaration;
mod protocol;

pub use build::{Build, BuildConfig, CacheShape, DirectoryShape};
pub use declaration::{
    Commands, Counters, Declaration, Delivery, FaultSpec, MemoryModel, Promise, Reach, Structure, Values,
};
pub use protocol::Protocol;

use crate::protocols::{
    cpelide, cpelide_range, dir, dir_hmg, dir_ideal, gpu_vi, gpu_vini, hmg, hopper, ideal, ideal_coh, mesi, nhcc,
    nhcc_wb, nhcc_wt, no_coh, no_l1, no_remote, rec, spandex, sw_flat, sw_hier, tc, viper_chiplet,
};

/// Every protocol, in the order of the papers.
pub static PROTOCOLS: &[&dyn Protocol] = &[
    &no_l1::NoL1,
    &no_coh::NoCoh,
    &ideal_coh::IdealCoh,
    &gpu_vi::GpuVi,
    &gpu_vini::GpuVini,
    &mesi::Mesi,
    &tc::strong::TcStrong,
    &tc::weak::TcWeak,
    &tc::weak::TcWeakFixed,
    &no_remote::NO_REMOTE,
    &sw_flat::SW_FLAT,
    &sw_hier::SW_HIER,
    &nhcc::NHCC,
    &hmg::HMG,
    &ideal::IDEAL,
    &dir::DIR,
    &dir_hmg::DIR_HMG,
    &rec::REC,
    &dir_ideal::DIR_IDEAL,
    &viper_chiplet::VIPER_CHIPLET,
    &cpelide::CPELIDE,
    &cpelide_range::CPELIDE_RANGE,
    &nhcc_wt::NHCC_WT,
    &nhcc_wb::NHCC_WB,
    &spandex::configurations::HMESI_GPU,
    &spandex::configurations::HMESI_DENOVO,
    &spandex::configurations::SMG,
    &spandex::configurations::SMD,
    &spandex::configurations::SDG,
    &spandex::configurations::SDD,
    &spandex::configurations::SPANDEX_MIXED,
    &spandex::configurations::SPANDEX_ADAPTIVE,
    &spandex::configurations::SMV,
    &spandex::configurations::SPANDEX_HIER_MG,
    &spandex::configurations::SPANDEX_HIER_MD,
    &spandex::configurations::SPANDEX_HIER_DG,
    &spandex::configurations::SPANDEX_HIER_DD,
    &hopper::HOPPER,
];

/// The protocol called `name`.
pub fn find(name: &str) -> Option<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Channel, memory};

    #[test]
    fn names_are_unique_and_kebab_case() {
        for (index, protocol) in PROTOCOLS.iter().enumerate() {
            let name = protocol.name();
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
            assert!(PROTOCOLS[..index].iter().all(|earlier| earlier.name() != name), "{name} twice");
            assert!(std::ptr::eq(find(name).unwrap().name(), name));
        }
    }

    #[test]
    fn every_protocol_is_cited_and_summarised() {
        for protocol in PROTOCOLS {
            assert!(protocol.citation().contains("section"), "{}", protocol.name());
            assert!(protocol.summary().ends_with('.'), "{}", protocol.name());
        }
    }

    #[test]
    fn message_tables_begin_with_the_memory_rows_and_stay_within_the_declared_networks() {
        for protocol in PROTOCOLS {
            let table = protocol.messages();
            assert_eq!(table[..memory::SPECS.len()], memory::SPECS, "{}", protocol.name());
            for spec in table {
                if let Channel::Virtual(network) = spec.channel {
                    assert!(network < protocol.virtual_networks(), "{} of {}", spec.name, protocol.name());
                }
            }
        }
    }

    #[test]
    fn every_protocol_has_at_least_eight_seeded_faults_with_distinct_names() {
        for protocol in PROTOCOLS {
            let faults = protocol.faults();
            assert!(faults.len() >= 8, "{}", protocol.name());
            for (index, fault) in faults.iter().enumerate() {
                assert!(faults[..index].iter().all(|earlier| earlier.name != fault.name), "{}", fault.name);
            }
        }
    }
}
