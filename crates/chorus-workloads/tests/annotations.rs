//! Do kernels touch only what they declare, however many chiplets share them? What declares nothing is not compared.

use chorus_sim::frontend::{HostMemory, flat};
use chorus_system::Scale;
use chorus_workloads::WORKLOADS;

/// Numbers of chiplets, odd ones among them, so that parts begin anywhere.
const CHIPLETS: [u32; 5] = [1, 2, 4, 7, 16];

#[test]
fn kernels_touch_what_they_declare_and_nothing_else() {
    let of_the_paper = WORKLOADS.iter().filter(|workload| workload.source().contains("CPElide"));
    for workload in of_the_paper {
        let mut memory = HostMemory::default();
        let mut program = workload.prepare(Scale::Quick, 1, &mut memory);
        assert_eq!(flat::run_declared(&CHIPLETS, program.as_mut(), &mut memory), Ok(()), "{}", workload.name());
    }
}
