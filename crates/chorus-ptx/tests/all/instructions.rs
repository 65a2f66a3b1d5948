//! What instructions do, and how those are refused that are not supported.

use std::panic::{AssertUnwindSafe, catch_unwind};

use chorus_kernel::HostMemory;
use chorus_ptx::Module;

use super::host::{Argument, run};

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n.const .align 4 .b32 table[4] = {{10, 20, 30, 40}};
        .visible .entry k(.param .u64 out, .param .u32 n) {{
            .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<32>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .f64 %d<9>;
            .local .align 8 .b8 room[32];
            mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [out]; cvta.to.global.u64 %rd0, %rd0; ld.param.u32 %r31, [n];
{body}
            ret;
        }}"
    );
    Module::parse("test.ptx", &text).unwrap()
}

/// Runs one thread, whose buffer of 16 words is `words` at first; returns the buffer.
fn of_one_thread(words: &[u32], body: &str) -> Vec<u32> {
    let mut memory = HostMemory::default();
    let mut values = words.to_vec();
    values.resize(16, 0);
    let out = memory.alloc_from(&values);
    run(&module(body), "k", [1, 1], &memory, &[out], &[Argument::Buffer(out), Argument::Word(9)]).unwrap();
    memory.read(out)
}

/// The message with which the run of one thread ends.
fn failure(body: &str) -> String {
    let mut memory = HostMemory::default();
    let out = memory.alloc::<u32>(16);
    let arguments = [Argument::Buffer(out), Argument::Word(9)];
    let module = module(body);
    let ran = catch_unwind(AssertUnwindSafe(|| run(&module, "k", [1, 1], &memory, &[out], &arguments)));
    match ran {
        Ok(result) => result.unwrap_err(),
        Err(panic) => panic.downcast_ref::<String>().unwrap().clone(),
    }
}

#[test]
fn values_of_every_size_are_loaded_and_stored() {
    let words = of_one_thread(
        &[0x8081_fe7f, 0x1122_3344, 0x5566_7788, 0x99aa_bbcc],
        "ld.global.s8 %r1, [%rd0+1]; st.global.u32 [%rd0+16], %r1; ld.global.u16 %h1, [%rd0+2]; st.global.u16 [%rd0+22], %h1;
         ld.global.v2.u32 {%r2, %r3}, [%rd0]; st.global.u8 [%rd0+25], %r3; ld.global.u64 %rd1, [%rd0+8];
         st.global.v2.u64 [%rd0+32], {%rd1, %rd1}; ld.global.v4.u8 {%r4, %r5, %r6, %r7}, [%rd0+4];
         st.global.v4.u8 [%rd0+48], {%r7, %r6, %r5, %r4}; ld.global.s32 %rd2, [%rd0]; st.global.u64 [%rd0+56], %rd2;
         ld.const.u32 %r8, [table+8]; st.global.u32 [%rd0+28], %r8; st.local.v2.u32 [room+8], {%r8, %r2};
         mov.u64 %rd3, room; cvta.local.u64 %rd3, %rd3; ld.u32 %r9, [%rd3+12]; st.global.u32 [%rd0+52], %r9;",
    );
    assert_eq!(words[4..8], [0xffff_fffe, 0x8081_0000, 0x4400, 30]);
    assert_eq!(words[8..12], [0x5566_7788, 0x99aa_bbcc, 0x5566_7788, 0x99aa_bbcc]);
    assert_eq!(words[12..16], [0x4433_2211, 0x8081_fe7f, 0x8081_fe7f, 0xffff_ffff]);
}

#[test]
fn arithmetic_conversions_and_carries() {
    let words = of_one_thread(
        &[],
        "add.cc.u32 %r1, -1, 1; addc.u32 %r2, 0, 5; st.global.u32 [%rd0], %r2; sub.cc.u32 %r1, 0, 1; subc.u32 %r2, 9, 0;
         st.global.u32 [%rd0+4], %r2; mov.f32 %f1, 0f40490FDB; cvt.rzi.s32.f32 %r3, %f1; st.global.u32 [%rd0+8], %r3;
         cvt.f64.f32 %d1, %f1; cvt.rn.f32.f64 %f2, %d1; st.global.f32 [%rd0+12], %f2; setp.gt.f32 %p1|%p2, %f1, 0f40000000;
         selp.b32 %r4, 1, 2, %p1; selp.b32 %r5, 1, 2, %p2; st.global.v2.u32 [%rd0+16], {%r4, %r5};
         mov.b64 {%r6, %r7}, %rd0; mov.b64 %rd4, {%r7, %r6}; shr.u64 %rd4, %rd4, 32; cvt.u32.u64 %r8, %rd4;
         sub.u32 %r8, %r8, %r6; st.global.u32 [%rd0+24], %r8; mov.u16 %h1, 65535; add.s16 %h2, %h1, 3; cvt.u32.u16 %r9, %h2;
         st.global.u32 [%rd0+28], %r9; rem.u32 %r10, %r31, 4; st.global.u32 [%rd0+32], %r10; mul.wide.s32 %rd5, -3, 4;
         st.global.u64 [%rd0+40], %rd5; lop3.b32 %r11, 12, 10, 9, 0x96; st.global.u32 [%rd0+48], %r11;",
    );
    assert_eq!(words[..9], [6, 8, 3, 0x4049_0fdb, 1, 2, 0, 2, 1]);
    assert_eq!(words[10..13], [0xffff_fff4, 0xffff_ffff, 12 ^ 10 ^ 9]);
}

#[test]
fn atomics_of_every_kind() {
    let words = of_one_thread(
        &[5, 0, 0, 0, 7, 0, 0xffff_ffff, 0xffff_ffff],
        "atom.global.add.u32 %r1, [%rd0], 3; st.global.u32 [%rd0+4], %r1; atom.global.cas.b32 %r2, [%rd0], 8, 50;
         red.global.max.s32 [%rd0+8], -4; atom.global.min.s32 %r3, [%rd0+12], -4; atom.global.inc.u32 %r4, [%rd0+16], 7;
         atom.global.add.u64 %rd1, [%rd0+24], 1; atom.global.cas.b64 %rd2, [%rd0+24], 0, 4294967298;
         atom.global.exch.b64 %rd3, [%rd0+32], 12884901892; atom.add.f32 %f1, [%rd0+40], 0f3F800000;",
    );
    assert_eq!(words[..5], [50, 5, 0, 0xffff_fffc, 0]);
    assert_eq!(words[6..11], [2, 1, 4, 3, 0x3f80_0000]);
}

#[test]
fn what_is_not_supported_is_refused_with_its_place() {
    for (body, part) in [
        ("mma.sync.aligned.m16n8k8 %r1;", "`mma.sync.aligned.m16n8k8` is not supported"),
        ("cp.async.ca.shared.global [%r1], [%rd0], 4;", "cp.async"),
        ("bar.sync 1;", "named barriers"),
        ("add.u32 %r1, %rd0, 1;", "64 bits, and the instruction takes 32"),
        ("add.u32 %r1, %nothing, 1;", "declared nowhere"),
        ("add.u32 %r1, %clock, 1;", "only `mov` reads it"),
        ("mov.u32 %r1, %clock64;", "has 64 bits"),
        ("mov.u64 %rd1, %gridid;", "must not depend on it"),
        ("bra nowhere;", "no label `nowhere`"),
        ("ld.global.v8.u32 %r1, [%rd0];", "`.v8`"),
        ("call k2, ();", "no function `k2`"),
        ("shfl.down.b32 %r1, %r0, 1, 31;", "without `.sync`"),
        ("ld.acquire.global.u32 %r1, [%rd0];", "needs a scope"),
    ] {
        let error = module(body).entry("k").err().unwrap_or_else(|| panic!("{body} is accepted")).to_string();
        assert!(error.contains(part) && error.starts_with("test.ptx:9:1: "), "{body}: {error}");
    }
    assert!(module("").entry("other").err().unwrap().to_string().contains("there are: k"));
}

#[test]
fn wrong_addresses_end_the_run_with_line_and_lane() {
    for (body, part) in [
        ("st.global.u32 [%rd0+64], %r0;", "outside every buffer"),
        ("ld.global.u32 %r1, [%rd0+2];", "misaligned load of 4 bytes"),
        ("mov.u64 %rd1, 0; ld.global.u8 %r1, [%rd1];", "at global address 0x0, outside every buffer"),
        ("atom.global.add.u64 %rd1, [%rd0+60], 1;", "misaligned atomic of 8 bytes"),
        ("mov.u32 %r1, 4096; st.shared.u32 [%r1], 1;", "at shared address 0x1000"),
        ("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+8];", "misaligned load of 16 bytes"),
    ] {
        let message = failure(body);
        assert!(message.contains(part) && message.contains("kernel k, test.ptx:9, lane 0 of"), "{body}: {message}");
    }
}
