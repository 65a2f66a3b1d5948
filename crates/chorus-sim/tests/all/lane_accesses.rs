//! Do instructions on several words or on parts of words per lane do on every machine what they do on flat memory, and
//! are they one instruction each?

use std::cell::RefCell;
use std::pin::Pin;
use std::time::{Duration, Instant};

use chorus_kernel::{
    HostMemory, Instruction, Kernel, LANES, LaneAccess, Lanes, Mask, MemoryOpKind, Mismatch, Operation, Verdict,
    WaveSource, WaveState, flat,
};
use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::registry::{PROTOCOLS, Protocol, find};
use chorus_sim::simulate;
use chorus_system::{Scale, resolve};

use crate::lane_script::random_kernel;
use crate::once::Once;

/// Compares a random kernel on a machine for a protocol, with three levels of caches if the protocol has as many, with
/// the same kernel on flat memory.
fn check(protocol: &'static dyn Protocol, set: &[&str], seed: u64) {
    check_on(if protocol.structure().has_l3() { "spandex-hier" } else { "tc" }, protocol, set, seed);
}

fn check_on(system: &str, protocol: &'static dyn Protocol, set: &[&str], seed: u64) {
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
fn random_widths_bytes_and_lanes_are_right_on_the_machines_of_papers() {
    let machines = [
        ("hmg", ["hmg", "nhcc", "sw-hier"]),
        ("rec", ["hmg", "rec", "nhcc"]),
        ("spandex", ["smg", "sdd", "smv"]),
        ("spandex-hier", ["hmesi-denovo", "spandex-hier-dd", "spandex-hier-mg"]),
    ];
    for (system, protocols) in machines {
        for name in protocols {
            (11..14).for_each(|seed| check_on(system, find(name).unwrap(), &[], seed));
        }
    }
}

#[test]
fn lanes_of_an_atomic_that_are_combined_find_what_they_would_find_one_by_one() {
    for &protocol in PROTOCOLS {
        (8..11).for_each(|seed| check(protocol, &["core.atomic_lanes=combined"], seed));
    }
}

/// Atomic accesses of a private cache when all lanes of a wavefront do something to one word.
fn atomic_accesses(set: &[&str], op: AtomicOp) -> f64 {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    let config = resolve("tc", Scale::Quick, &set).unwrap().config;
    let mut memory = HostMemory::default();
    let (word, found) = (memory.alloc::<u32>(1), memory.alloc::<u32>(LANES));
    let kernel = Kernel::new("count", 1, 1, move |w| async move {
        let old = w.atomic_where(op, Mask::ALL, word, Lanes::splat(0), w.lane_ids() + 1).await;
        w.store(found, w.lane_ids(), old);
    });
    let check = move |memory: &HostMemory| {
        let old = (0..32).scan(0, |word, lane| Some(std::mem::replace(word, op.apply(*word, lane + 1))));
        let right = memory.read(found).into_iter().eq(old);
        if right { Ok(()) } else { Err(Mismatch(format!("{:?}", memory.read(found)))) }
    };
    let mut program = Once { kernels: vec![kernel], check };
    let run = simulate(&config, find("gpu-vi").unwrap(), &mut program, memory).unwrap();
    assert_eq!(run.check, Verdict::Checked, "{op:?} {set:?}");
    run.metrics["l1.atomics"]
}

#[test]
fn lanes_of_an_atomic_are_combined_where_the_machine_says_so_and_the_operation_allows_it() {
    let combined = &["core.atomic_lanes=combined"];
    for op in [AtomicOp::Add, AtomicOp::Max, AtomicOp::Exchange, AtomicOp::MinSigned] {
        assert_eq!([&[], &combined[..]].map(|set| atomic_accesses(set, op)), [32.0, 1.0], "{op:?}");
    }
    for op in [AtomicOp::Inc, AtomicOp::AddF32, AtomicOp::CompareExchange { expected: 0 }] {
        assert_eq!(atomic_accesses(combined, op), 32.0, "{op:?}");
    }
    assert_eq!(atomic_accesses(&["core.atomic_lanes=one-by-one"], AtomicOp::Add), 32.0);
}

/// Instructions and accesses of one wavefront that loads as many words per lane from `first` on.
fn wide_load(words_per_lane: u8, first: u32) -> [f64; 3] {
    let config = resolve("tc", Scale::Quick, &[]).unwrap().config;
    let mut memory = HostMemory::default();
    let words = memory.alloc::<u32>(256).start() + first;
    let kernel = Kernel::of_sources("load", 1, 1, move |_| WideLoad { words, words_per_lane, slot: None });
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    let run = simulate(&config, find("gpu-vi").unwrap(), &mut program, memory).unwrap();
    ["core.memory_instructions", "l1.loads", "l1.load_misses"].map(|metric| run.metrics[metric])
}

struct WideLoad {
    words: u32,
    words_per_lane: u8,
    slot: Option<u16>,
}

impl WaveSource for WideLoad {
    fn advance(mut self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        let mut state = state.borrow_mut();
        if let Some(slot) = self.slot {
            return state.is_ready(slot);
        }
        let (order, scope, mask) = (Order::Weak, Scope::Gpu, Mask::ALL);
        let word = std::array::from_fn(|lane| self.words + lane as u32 * u32::from(self.words_per_lane));
        let slot = state.access_lanes(LaneAccess {
            instruction: Instruction { kind: MemoryOpKind::Load, order, scope, mask },
            words_per_lane: self.words_per_lane,
            word: &word,
            bytes: None,
            expected: None,
        });
        state.is_ready(slot);
        self.slot = Some(slot);
        false
    }
}

#[test]
fn a_wide_load_is_one_instruction_and_one_access_for_each_line() {
    assert_eq!([1, 2, 4].map(|words| wide_load(words, 0)), [[1.0, 1.0, 1.0], [1.0, 2.0, 2.0], [1.0, 4.0, 4.0]]);
    assert_eq!(wide_load(4, 4), [1.0, 5.0, 5.0]);
}

/// A source that computes for ever.
struct Endless;

impl WaveSource for Endless {
    fn advance(self: Pin<&mut Self>, state: &RefCell<WaveState>) -> bool {
        state.borrow_mut().push(Operation::Alu(1));
        false
    }
}

#[test]
fn a_source_that_computes_for_ever_is_stopped() {
    let began = Instant::now();
    let kernel = || Kernel::of_sources("endless", 2, 2, |_| Endless);
    let wrong = flat::run_kernel(&kernel(), &HostMemory::default()).unwrap_err();
    assert_eq!(wrong.0, "kernel endless makes no progress on flat memory");
    let config = resolve("tc", Scale::Quick, &[]).unwrap().config;
    let mut program = Once { kernels: vec![kernel()], check: |_: &HostMemory| Ok(()) };
    let stuck = simulate(&config, find("gpu-vi").unwrap(), &mut program, HostMemory::default()).unwrap_err();
    assert!(stuck.to_string().starts_with("kernel endless is livelocked"), "{stuck}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
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
