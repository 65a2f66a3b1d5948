//! Do instructions of PTX take as long on the system `h200` as was measured on an H200, alone and many at once?

use std::sync::Arc;

use chorus_kernel::{Buf, HostMemory};
use chorus_protocol::registry;
use chorus_ptx::{Device, GLOBAL_MEMORY, Launch, Memory, Module};
use chorus_sim::simulate;
use chorus_system::{Scale, resolve};

use crate::once::Once;

/// A protocol, and what differs from the whole machine.
type Under = (&'static str, &'static [&'static str]);
/// The machine as it is.
const WHOLE: Under = ("nhcc-wb", &[]);
/// About one half of the machine, so that the protocol can be one whose fences only wait for stores.
const HALF: Under = ("no-coh", &["hierarchy.gpms=1", "core.count=64"]);

/// A kernel that does nothing but repeat some instructions.
fn module(body: &str, times: u32) -> Module {
    let body = body.repeat(times as usize);
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
         .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .b32 %r<8>; .reg .b64 %l<8>; .reg .pred %p<8>;\n\
         .shared .align 4 .b8 s[4096];\n\
         mov.u32 %r1, 0; mov.u32 %r2, s; mov.u32 %r3, %tid.x; shl.b32 %r4, %r3, 2; add.s32 %r4, %r4, %r2;\n\
         ld.param.u64 %l1, [p]; cvta.to.global.u64 %l1, %l1;\n\
         {body}\nret; }}\n"
    );
    Module::parse("k.ptx", &text).unwrap()
}

/// Core cycles of so many work-groups of so many threads that run a module.
fn cycles((protocol, set): Under, module: &Module, [groups, threads]: [u32; 2]) -> f64 {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    let config = resolve("h200", Scale::Paper, &set).unwrap().config;
    let mut memory = HostMemory::default();
    let buffer: Buf<u32> = memory.alloc(1024);
    let address = GLOBAL_MEMORY + u64::from(buffer.start()) * 4;
    let launch = Launch {
        grid: [groups, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared_bytes: 0,
        arguments: vec![address.to_le_bytes().to_vec()],
        device: Device::Machine,
    };
    let buffers = Arc::new(std::iter::once(address..address + 4096).collect());
    let entry = module.entry("k").unwrap();
    let (kernel, _) = entry.kernel(&launch, &Memory { buffers, variables: address + 4096 }).unwrap();
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    simulate(&config, registry::find(protocol).unwrap(), &mut program, memory).unwrap().cycles as f64
}

/// Core cycles of one more repetition of some instructions, with so many threads.
fn of_one(under: Under, body: &str, threads: u32) -> f64 {
    let cycles = |times: u32| cycles(under, &module(body, times), [1, threads]);
    (cycles(400) - cycles(200)) / 200.0
}

/// Asserts that a number of cycles is the measured one, as nearly as asked for.
fn is_near(body: &str, simulated: f64, measured: f64, tolerance: f64) {
    let error = simulated / measured - 1.0;
    assert!(error.abs() <= tolerance, "{body}: {simulated} cycles instead of {measured}");
}

#[test]
fn chains_of_dependent_instructions_take_the_measured_latencies() {
    for (body, measured) in [
        ("fma.rn.f32 %f1, %f1, %f2, %f3;\n", 4.0),
        ("fma.rn.f64 %d1, %d1, %d2, %d3;\n", 8.0),
        ("ex2.approx.f32 %f1, %f1;\n", 17.0),
        ("shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;\n", 26.0),
        ("ld.shared.u32 %r2, [%r2];\n", 23.0),
        ("atom.shared.add.u32 %r1, [%r2], %r1; add.s32 %r2, %r1, %r2;\n", 88.0 + 4.0),
    ] {
        is_near(body, of_one(HALF, body, 32), measured, 0.05);
    }
}

#[test]
fn independent_instructions_of_a_warp_issue_one_in_a_cycle() {
    let body = "fma.rn.f32 %f1, %f2, %f3, %f4;\n";
    is_near(body, of_one(HALF, body, 32), 1.0 / 0.8605, 0.15);
}

#[test]
fn a_unit_issues_four_instructions_in_a_cycle() {
    let body = "fma.rn.f32 %f1, %f1, %f2, %f3;\n";
    is_near(body, of_one(HALF, body, 1024), 32.0 / 3.81, 0.07);
}

#[test]
fn fences_take_as_long_as_measured_alone_and_with_stores_pending() {
    let store = |line: u32| format!("st.global.u32 [%l1+{}], %r1;\n", line * 128);
    let stores = |count: u32| (0..count).map(store).collect::<String>();
    for (scope, measured) in
        [("cta", [48.0, 118.0, 207.0]), ("gpu", [304.0, 497.0, 777.0]), ("sys", [1056.0, 1123.0, 1212.0])]
    {
        for (count, measured) in [0, 1, 4].into_iter().zip(measured) {
            let body = format!("{}fence.acq_rel.{scope};\n", stores(count));
            let under = if scope == "cta" { WHOLE } else { HALF };
            is_near(&body, of_one(under, &body, 32), measured, 0.05);
        }
    }
}

#[test]
fn orders_of_atomics_cost_what_was_measured_beyond_the_atomic_itself() {
    let cycles = |order: &str| of_one(HALF, &format!("atom.{order}.gpu.global.add.u32 %r1, [%l1], %r1;\n"), 1);
    let relaxed = cycles("relaxed");
    for (order, measured) in [("acquire", 6.0), ("release", 120.0), ("acq_rel", 389.0)] {
        let more = cycles(order) - relaxed;
        assert!((more - measured).abs() < 0.05 * (272.0 + measured), "{order}: {more} instead of {measured} more");
    }
}

#[test]
fn barriers_take_longer_the_more_warps_they_have() {
    for (threads, measured) in [(32, 14.3), (128, 20.3), (256, 28.3), (512, 44.4), (1024, 76.5)] {
        is_near("bar.sync", of_one(HALF, "bar.sync 0;\n", threads), measured, 0.1);
    }
}

#[test]
fn empty_kernels_take_as_long_as_measured_with_one_block_and_with_many() {
    let empty = Module::parse(
        "k.ptx",
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n",
    );
    let empty = empty.unwrap();
    is_near("one block", cycles(WHOLE, &empty, [1, 32]), 2515.0, 0.1);
    let many =
        |threads: u32| (cycles(WHOLE, &empty, [20_000, threads]) - cycles(WHOLE, &empty, [10_000, threads])) / 10_000.0;
    is_near("many blocks", many(32), 1.205, 0.05);
    is_near("many blocks", many(256), 1.208, 0.05);
}

/// Lane operations per cycle of all 132 units, whose 1,056 blocks of 256 threads perform atomics in a loop without
/// waiting for them.
fn atomics_per_cycle(address: &str) -> f64 {
    let text = |times: u32| {
        let red = "red.relaxed.gpu.global.add.u32 [%l3], 1;\n".repeat(times as usize);
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n\
             .reg .b32 %r<8>; .reg .b64 %l<8>;\n\
             ld.param.u64 %l1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n{address}\n\
             mul.wide.u32 %l2, %r3, 4; add.s64 %l3, %l1, %l2;\n{red}ret; }}\n"
        )
    };
    let cycles = |times: u32| cycles(WHOLE, &Module::parse("k.ptx", &text(times)).unwrap(), [132, 256]);
    let (few, many) = (4, 12);
    f64::from(132 * 256 * (many - few)) / (cycles(many) - cycles(few))
}

#[test]
fn atomics_are_as_many_as_measured_on_one_word_and_on_one_line() {
    is_near("one word", atomics_per_cycle("mov.u32 %r3, 0;"), 0.686, 0.1);
    is_near("one line", atomics_per_cycle("and.b32 %r3, %r1, 31;"), 6.17, 0.1);
}

#[test]
fn loads_come_before_what_uses_the_loads_before_them() {
    let load = |to: u32| format!("ld.global.u32 %r{to}, [%l1]; add.s32 %r4, %r4, %r{to};\n");
    let body = [5, 6, 7].map(load).concat();
    let cycles = of_one(HALF, &body, 32);
    assert!(cycles < 60.0, "three loads on their way together take {cycles} cycles instead of one of 32");
}
