//! Timestamps of ten bits roll over every 1,023 cycles (TC paper, section 6.5): hundreds of times in a run. That must
//! not show in its result.

use chorus_kernel::{HostMemory, Verdict};
use chorus_protocol::registry::{Protocol, find};
use chorus_sim::{Settings, SimError, Simulated, simulate_with};
use chorus_system::{Scale, resolve};

const BITS: u64 = 10;

fn run(protocol: &'static dyn Protocol, workload: &str, fault: Option<u8>) -> Result<Simulated, SimError> {
    let config = resolve("tc", Scale::Quick, &["watchdog.idle_cycles=200000".to_owned()]).unwrap().config;
    let mut settings = Settings { fault, ..Settings::defaults(protocol) };
    settings.parameters.set("timestamp.bits", BITS);
    let mut memory = HostMemory::default();
    let workload = chorus_workloads::find(workload).unwrap();
    let mut program = workload.prepare(&workload.sizes_at(Scale::Quick), 1, &mut memory);
    simulate_with(&config, protocol, settings, program.as_mut(), memory)
}

#[test]
fn results_are_right_across_hundreds_of_roll_overs() {
    for protocol in ["tc-strong", "tc-weak", "tc-weak-fixed"].map(|name| find(name).unwrap()) {
        for workload in ["stn", "dlb", "bh"] {
            let run = run(protocol, workload, None).unwrap();
            assert_eq!(run.check, Verdict::Checked, "{workload} under {}", protocol.name());
            assert!(run.cycles > 100 << BITS, "{workload} under {}: {} cycles", protocol.name(), run.cycles);
        }
    }
}

#[test]
fn copies_that_survive_a_roll_over_are_seen_in_the_result() {
    let protocol = find("tc-weak-fixed").unwrap();
    let fault = protocol.faults().iter().position(|fault| fault.name == "surviving-copy").map(|index| index as u8);
    let run = run(protocol, "stn", fault);
    assert!(run.map_or(true, |run| run.check.is_wrong()), "nothing went wrong");
}
