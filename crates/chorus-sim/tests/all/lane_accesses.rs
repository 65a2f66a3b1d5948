//! Do instructions on several words or on parts of words per lane do on every machine what they do on flat memory, and
//! are they one instruction each?

use chorus_kernel::{HostMemory, Mismatch, Verdict, flat};
use chorus_protocol::registry::{PROTOCOLS, Protocol};
use chorus_sim::simulate;
use chorus_system::{Scale, resolve};

use crate::lane_script::random_kernel;
use crate::once::Once;

/// A machine for a protocol, with three levels of caches if the protocol has as many.
fn check(protocol: &'static dyn Protocol, set: &[&str], seed: u64) {
    let system = if protocol.structure().has_l3() { "spandex-hier" } else { "tc" };
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    let config = resolve(system, Scale::Quick, &set).unwrap().config;
    let (kernel, expected) = random_kernel(seed);
    flat::run_kernel(&kernel, &expected).unwrap();
    let (kernel, memory) = random_kernel(seed);
    let same = |memory: &HostMemory| {
        let word = (0..memory.word_count()).find(|&word| memory.load(word) != expected.load(word));
        let differs = |word| format!("word {word}: {:#x}, not {:#x}", memory.load(word), expected.load(word));
        word.map_or(Ok(()), |word| Err(Mismatch(differs(word))))
    };
    let mut program = Once { kernels: vec![kernel], check: same };
    let run = simulate(&config, protocol, &mut program, memory);
    let run = run.unwrap_or_else(|error| panic!("{} seed {seed}: {error}", protocol.name()));
    assert_eq!(run.check, Verdict::Checked, "{} {set:?} seed {seed}", protocol.name());
}

#[test]
fn random_widths_bytes_and_lanes_are_right_under_every_protocol() {
    for &protocol in PROTOCOLS {
        for seed in 1..6 {
            check(protocol, &[], seed);
        }
    }
}

#[test]
fn random_widths_bytes_and_lanes_are_right_on_machines_of_other_shapes() {
    let variants: &[&[&str]] = &[
        &["l1.line_bytes=64"],
        &["core.store_buffer_entries=3"],
        &["l1.mshrs=1", "l2.mshrs=1", "core.lsu_queue=1", "dram.queue=2", "network.vc_buffer_flits=1"],
    ];
    for &protocol in PROTOCOLS {
        for set in variants {
            (6..8).for_each(|seed| check(protocol, set, seed));
        }
    }
}
