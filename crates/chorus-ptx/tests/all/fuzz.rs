//! Mutated modules: each is parsed and lowered, or refused with a message. None stops the process.

use chorus_ptx::Module;

const MODULE: &str = r#".version 8.7
.target sm_90, debug
.address_size 64
.extern .shared .align 16 .b8 room[];
.shared .align 4 .b8 fixed[64];
.global .align 8 .u64 table[3] = {1, -2, generic(text)+4};
.global .align 1 .b8 text[9] = {108, 37, 100, 32, 37, 115, 10, 0, 0};
.const .align 4 .f32 numbers[2] = {0f3F800000, 0f40000000};
.extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);
.func (.param .b32 result) twice (.param .b32 x, .reg .b32 y)
{
    .reg .b32 %r<4>; .reg .pred %p<2>;
    ld.param.u32 %r1, [x]; setp.eq.u32 %p1, %r1, 3; @%p1 bra E; add.u32 %r1, %r1, y;
    st.param.b32 [result+0], %r1; ret;
    E: st.param.b32 [result+0], 77; ret;
}
.visible .entry k(.param .u64 .ptr .global .align 4 k_param_0, .param .f32 k_param_1) .maxntid 32, 1, 1 .maxnreg 64
{
    .reg .pred %p<5>; .reg .b16 %h<4>; .reg .b32 %r<40>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .f64 %d<4>;
    .local .align 8 .b8 frame[16];
    ld.param.u64 %rd1, [k_param_0]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, %tid.x;
$top:
    @!%p1 bra.uni $next;
    { .reg .b32 t; ld.global.v2.u32 {%r1, t}, [%rd1+-8]; add.u32 %r2, t, 1; }
$next:
    shfl.sync.up.b32 %r1|%p2, %r2, 1, 0x0, -1; vote.sync.ballot.b32 %r3, !%p2, 0xffffffff;
    { .param .b32 a0; st.param.b32 [a0+0], %r1; .param .b32 r0; call.uni (r0), twice, (a0, %r2);
      ld.param.b32 %r5, [r0+0]; }
    setp.lt.and.f32 %p3|%p4, %f1, 0f3F800000, %p2; selp.b32 %r6, %r1, 7, %p3; fma.rn.ftz.f32 %f2, %f1, %f1, %f3;
    atom.global.acq_rel.gpu.cas.b32 %r7, [%rd1], %r6, 9; red.shared.add.u32 [fixed+4], 1; st.shared.v2.u32 [room], {%r1, %r2};
    mad.wide.u32 %rd2, %r1, 4, %rd1; cvt.rzi.s32.f64 %r8, %d1; mov.b64 {%r9, %r10}, %rd2; prmt.b32 %r11, %r9, %r10, 0x3210;
    bar.red.popc.u32 %r12, 0, %p1; bar.sync 0; membar.gl; fence.sc.sys; ld.volatile.global.u32 %r13, [table+8];
    setp.ne.s32 %p1, %r13, 0; @%p1 bra $top;
    mov.u64 %rd3, frame; cvta.local.u64 %rd3, %rd3; ld.const.v2.f32 {%f4, %f5}, [numbers]; st.local.u16 [frame+2], %h1;
    ret;
}
"#;

/// Numbers that differ little from one seed to the next, and are the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }
}

fn mutated(numbers: &mut Numbers) -> String {
    let mut bytes = MODULE.as_bytes().to_vec();
    for _ in 0..1 + numbers.below(4) {
        let (at, length) = (numbers.below(bytes.len()), 1 + numbers.below(12));
        let end = (at + length).min(bytes.len());
        match numbers.below(5) {
            0 => bytes[at] = b" .,;:{}[]()%@!-+|0123456789abcdefghijklmnopqrstuvwxyz\n"[numbers.below(54)],
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].to_vec();
                let to = numbers.below(bytes.len());
                bytes.splice(to..to, part);
            }
            3 => bytes.truncate(at),
            _ => {
                let number = [&b"4294967296"[..], b"-1", b"0", b"18446744073709551615", b"65535"][numbers.below(5)];
                bytes.splice(at..at, number.iter().copied());
            }
        }
        if bytes.is_empty() {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_modules_are_lowered_or_refused() {
    let count = std::env::var("CHORUS_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(3000);
    let (mut numbers, mut lowered) = (Numbers(1), 0);
    Module::parse("k.ptx", MODULE).unwrap().entry("k").unwrap();
    for _ in 0..count {
        let text = mutated(&mut numbers);
        let Ok(module) = Module::parse("k.ptx", &text) else { continue };
        for name in module.entries().map(str::to_owned).collect::<Vec<_>>() {
            lowered += usize::from(module.entry(&name).is_ok());
        }
    }
    assert!(lowered > count / 1000, "{lowered} of {count} are still sound");
}
