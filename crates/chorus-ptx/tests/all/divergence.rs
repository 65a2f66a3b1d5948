//! Lanes that part, meet, and wait for each other.

use chorus_kernel::HostMemory;
use chorus_ptx::Module;

use super::host::{Argument, run};

/// Runs one work-group whose threads each write a word; `body` leaves it in `%r1`.
fn words(threads: u32, body: &str) -> Vec<u32> {
    let text = format!(
        ".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 out) {{
            .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<9>; .shared .b32 s[64];
            mov.u32 %r0, %tid.x;
            {body}
            ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;
            ret;
        }}"
    );
    let module = Module::parse("test.ptx", &text).unwrap();
    let mut memory = HostMemory::default();
    let out = memory.alloc::<u32>(threads as usize);
    run(&module, "k", [1, threads], &memory, &[out], &[Argument::Buffer(out)]).unwrap();
    memory.read(out)
}

#[test]
fn lanes_meet_after_a_branch_and_shuffle_together() {
    let values = words(
        32,
        "setp.lt.u32 %p1, %r0, 10; @%p1 bra A; add.u32 %r2, %r0, 100; bra.uni B; A: mul.lo.u32 %r2, %r0, 3;
         B: shfl.sync.bfly.b32 %r1|%p2, %r2, 1, 31, -1;",
    );
    let own = |lane: u32| if lane < 10 { lane * 3 } else { lane + 100 };
    assert_eq!(values, (0..32).map(|lane| own(lane ^ 1)).collect::<Vec<_>>());
}

#[test]
fn loops_of_different_lengths_end_together() {
    let values = words(
        64,
        "mov.u32 %r1, 0; mov.u32 %r2, 0; L: setp.ge.u32 %p1, %r2, %r0; @%p1 bra E; add.u32 %r1, %r1, %r2;
         add.u32 %r2, %r2, 1; bra L; E: activemask.b32 %r3; add.u32 %r1, %r1, %r3;",
    );
    let sum = |n: u32| (0..n).sum::<u32>().wrapping_add(u32::MAX);
    assert_eq!(values, (0..64).map(sum).collect::<Vec<_>>(), "all 32 lanes are active behind the loop");
}

#[test]
fn lanes_in_different_branches_vote_and_wait_for_their_members_only() {
    let values = words(
        32,
        "and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 0; setp.lt.u32 %p2, %r0, 8; @%p1 bra A;
         vote.sync.ballot.b32 %r1, %p2, 0xaaaaaaaa; bra B; A: vote.sync.ballot.b32 %r1, %p2, 0x55555555;
         B: bar.warp.sync -1;",
    );
    assert_eq!((values[0], values[1]), (0x55, 0xaa));
}

#[test]
fn shared_memory_barriers_and_their_reductions() {
    let values = words(
        64,
        "mov.u32 %r3, s; shl.b32 %r4, %r0, 2; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r0; bar.sync 0;
         mov.u32 %r5, s; sub.u32 %r6, 252, %r4; add.u32 %r5, %r5, %r6; ld.shared.u32 %r1, [%r5];
         setp.lt.u32 %p1, %r0, 40; bar.red.popc.u32 %r7, 0, %p1; mad.lo.u32 %r1, %r7, 1000, %r1;
         bar.red.or.pred %p2, 0, !%p1; bar.red.and.pred %p3, 0, %p1; selp.u32 %r8, 1, 0, %p2; selp.u32 %r9, 1, 0, %p3;
         mad.lo.u32 %r1, %r8, 100000, %r1; mad.lo.u32 %r1, %r9, 1000000, %r1;",
    );
    assert_eq!(values, (0..64).map(|t| 63 - t + 40_000 + 100_000).collect::<Vec<_>>());
}

#[test]
fn threads_that_have_ended_are_not_waited_for() {
    let values = words(
        64,
        "mov.u32 %r1, 7; setp.ge.u32 %p1, %r0, 48; ld.param.u64 %rd5, [out]; @%p1 exit; setp.lt.u32 %p2, %r0, 16;
         @%p2 bra S; bar.sync 0; bra T; S: bar.sync 0; T: add.u32 %r1, %r1, %r0;",
    );
    let expected = (0..64).map(|t| if t < 48 { 7 + t } else { 0 });
    assert_eq!(values, expected.collect::<Vec<_>>());
}

#[test]
fn functions_are_called_by_some_lanes_and_return_early() {
    let text = ".version 8.0\n.target sm_70\n.address_size 64
        .global .align 1 .b8 text[9] = {108, 37, 100, 32, 37, 115, 10, 0, 0};
        .global .align 1 .b8 word[3] = {111, 107, 0};
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
        .func (.param .b32 result) twice (.param .b32 x, .param .align 4 .b8 pair[8]) {
            .reg .b32 %r<5>; .reg .pred %p<2>;
            ld.param.u32 %r1, [x]; setp.eq.u32 %p1, %r1, 3; @%p1 bra E;
            ld.param.u32 %r2, [pair+4]; mad.lo.u32 %r3, %r1, 2, %r2; st.param.b32 [result+0], %r3; ret;
            E: st.param.b32 [result+0], 77; ret;
        }
        .visible .entry k(.param .u64 out) {
            .reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %rd<9>; .local .align 8 .b8 frame[16];
            mov.u32 %r0, %tid.x; mov.u32 %r1, 5; setp.lt.u32 %p1, %r0, 8;
            @!%p1 bra B;
            { .param .b32 a0; st.param.b32 [a0+0], %r0; .param .align 4 .b8 a1[8]; st.param.b32 [a1+4], 1000;
              .param .b32 r0; call.uni (r0), twice, (a0, a1); ld.param.b32 %r1, [r0+0]; }
            B:
            setp.eq.u32 %p2, %r0, 2; @!%p2 bra C;
            mov.u64 %rd3, frame; cvta.local.u64 %rd4, %rd3; st.local.u32 [frame], %r1;
            mov.u64 %rd6, word; cvta.global.u64 %rd6, %rd6; st.local.u64 [%rd3+8], %rd6;
            mov.u64 %rd5, text; cvta.global.u64 %rd5, %rd5;
            { .param .b64 p0; st.param.b64 [p0+0], %rd5; .param .b64 p1; st.param.b64 [p1+0], %rd4;
              .param .b32 q; call.uni (q), vprintf, (p0, p1); ld.param.b32 %r5, [q+0]; }
            C:
            ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1;
            ret;
        }";
    let module = Module::parse("call.ptx", text).unwrap();
    let mut memory = HostMemory::default();
    let out = memory.alloc::<u32>(32);
    let variables = memory.alloc::<u32>(64);
    let said = run(&module, "k", [1, 32], &memory, &[out, variables], &[Argument::Buffer(out)]).unwrap();
    let expected = |t: u32| {
        if t == 3 {
            77
        } else if t < 8 {
            2 * t + 1000
        } else {
            5
        }
    };
    assert_eq!(memory.read(out), (0..32).map(expected).collect::<Vec<_>>());
    assert_eq!(said, "l1004 ok\n");
}

#[test]
fn clocks_go_on_and_are_read_where_they_stand() {
    let values = words(
        32,
        "mov.u32 %r2, %clock; mov.u64 %rd3, %clock64; add.u32 %r3, %r2, 1; mul.lo.u32 %r3, %r3, %r3;
         mov.u64 %rd4, %clock64; sub.u64 %rd5, %rd4, %rd3; cvt.u32.u64 %r1, %rd5; mov.u32 %r4, %smid;
         mov.u32 %r5, %nsmid; setp.ge.u32 %p1, %r4, %r5; @%p1 mov.u32 %r1, 0;
         mov.u64 %rd6, %globaltimer; setp.lt.u64 %p1, %rd6, %rd4; @%p1 mov.u32 %r1, 0;",
    );
    // The flat machine counts the operations of the wavefront: two of arithmetic, and the second look.
    assert_eq!(values, [3; 32]);
}
