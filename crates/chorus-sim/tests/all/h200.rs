//! Has the system `h200` the latencies that were measured on an H200?

use std::ops::Range;

use chorus_kernel::{Buf, HostMemory, Kernel, Lanes, Mask};
use chorus_protocol::access::AtomicOp;
use chorus_protocol::registry;
use chorus_sim::{Simulated, simulate};
use chorus_system::{Scale, resolve};

use crate::once::Once;

/// Words of a line.
const LINE_WORDS: u32 = 32;
/// Lines of a page: all of them have the same home.
const PAGE_LINES: u32 = 32;

fn run(kernels: Vec<Kernel>, memory: HostMemory) -> Simulated {
    let config = resolve("h200", Scale::Paper, &[]).unwrap().config;
    let mut program = Once { kernels: kernels.into_iter().rev().collect(), check: |_: &HostMemory| Ok(()) };
    simulate(&config, registry::find("nhcc-wb").unwrap(), &mut program, memory).unwrap()
}

/// A kernel of one wavefront on each half. That of `half` loads the first word of each line, one after the other,
/// `times` times.
fn chase(data: Buf<u32>, half: u32, lines: Range<u32>, times: u32) -> Kernel {
    Kernel::new("chase", 2, 1, move |w| {
        let lines = lines.clone();
        async move {
            for _ in 0..if w.work_group() == half { times } else { 0 } {
                for line in lines.clone() {
                    w.load_one(data, line * LINE_WORDS).await;
                }
            }
        }
    })
}

/// Lines whose home is the first half, and lines whose home is the other one.
const NEAR: Range<u32> = 0..PAGE_LINES;
const FAR: Range<u32> = PAGE_LINES..2 * PAGE_LINES;
const BOTH: Range<u32> = 0..2 * PAGE_LINES;

/// The latency of all loads of the last kernel together.
fn latencies(kernels: impl Fn(Buf<u32>) -> Vec<Kernel>) -> f64 {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>((4 * PAGE_LINES * LINE_WORDS) as usize);
    run(kernels(data), memory).kernels.last().unwrap().metrics["l1.load_latency_cycles"]
}

/// The latency of a load of the last kernel.
fn latency(kernels: impl Fn(Buf<u32>) -> Vec<Kernel>) -> f64 {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>((4 * PAGE_LINES * LINE_WORDS) as usize);
    let metrics = run(kernels(data), memory).kernels.pop().unwrap().metrics;
    metrics["l1.load_latency_cycles"] / metrics["l1.loads"]
}

/// Asserts that a latency is the measured one within five per cent.
fn is_near(simulated: f64, measured: f64) {
    let error = simulated / measured - 1.0;
    assert!(error.abs() < 0.05, "{simulated} cycles instead of {measured}: {:.1} %", error * 100.0);
}

#[test]
fn a_hit_in_the_l1_takes_32_cycles() {
    let twice = latencies(|data| vec![chase(data, 0, NEAR, 2)]);
    let once = latencies(|data| vec![chase(data, 0, NEAR, 1)]);
    is_near((twice - once) / f64::from(PAGE_LINES), 32.0);
}

#[test]
fn a_hit_in_the_near_half_of_the_l2_takes_280_cycles() {
    is_near(latency(|data| vec![chase(data, 0, BOTH, 1), chase(data, 0, BOTH, 1)]), 280.0);
    is_near(latency(|data| vec![chase(data, 1, NEAR, 1), chase(data, 0, NEAR, 1)]), 280.0);
}

#[test]
fn a_line_of_the_far_half_takes_450_cycles() {
    is_near(latency(|data| vec![chase(data, 1, FAR, 1), chase(data, 0, FAR, 1)]), 450.0);
}

#[test]
fn a_line_of_memory_takes_650_cycles() {
    is_near(latency(|data| vec![chase(data, 0, BOTH, 1)]), 650.0);
}

/// One wavefront performs atomics on the lines, one after the other.
fn atomics(data: Buf<u32>, lines: Range<u32>) -> f64 {
    let cycles = |times: u32| {
        let lines = lines.clone();
        let kernel = Kernel::new("atomics", 2, 1, move |w| {
            let lines = lines.clone();
            async move {
                for _ in 0..if w.work_group() == 0 { times } else { 0 } {
                    for line in lines.clone() {
                        let index = Lanes::splat(line * LINE_WORDS);
                        w.atomic_where(AtomicOp::Add, Mask::lane(0), data, index, Lanes::splat(1)).await;
                    }
                }
            }
        });
        let mut memory = HostMemory::default();
        memory.alloc::<u32>((4 * PAGE_LINES * LINE_WORDS) as usize);
        run(vec![kernel], memory).cycles as f64
    };
    (cycles(2) - cycles(1)) / f64::from(PAGE_LINES)
}

/// The matrix has 299 and 495 cycles, and 297 for loads that take 280: 17 of them are those of measuring.
#[test]
fn atomics_take_282_cycles_at_the_near_half_and_478_at_the_far_half() {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>((4 * PAGE_LINES * LINE_WORDS) as usize);
    is_near(atomics(data, NEAR), 282.0);
    is_near(atomics(data, FAR), 478.0);
}
