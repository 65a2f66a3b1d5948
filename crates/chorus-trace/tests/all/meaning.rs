//! Instructions of SASS, and what wavefronts ask for when they replay them.

use std::sync::Arc;

use chorus_kernel::{HostMemory, MemoryOpKind, flat};
use chorus_protocol::access::{AtomicOp, Order, PairOp, Scope};
use chorus_trace::Trace;

use crate::folder::{Folder, block, header};
use crate::observe::{Observed, Seen};

/// Everything that a warp with these instructions asks for, under a version of the tracer and of the instruction set.
fn meaning_on(version: u32, binary: u32, instructions: &[&str]) -> Vec<Seen> {
    let folder = Folder::new();
    let path = folder.file("k.traceg", header(version, binary) + &block(instructions));
    let trace = Arc::new(Trace::open(&path).unwrap());
    let mut memory = HostMemory::default();
    let mut program = Observed::new(Box::new(trace.program(&mut memory)));
    flat::run(&mut program, &memory).unwrap();
    program.into_notes().remove(&(0, 0, 0)).unwrap()
}

fn meaning(instructions: &[&str]) -> Vec<Seen> {
    meaning_on(5, 80, instructions)
}

const LOAD: &str = "0010 00000001 1 R8 LDG.E.STRONG.GPU 1 R2 4 1 0x7f0000000000 0 0";
const STORE: &str = "0020 00000001 0 STG.E.STRONG.GPU 2 R2 R4 4 1 0x7f0000000000 0 0";
const INVALIDATE: &str = "0030 ffffffff 0 CCTL.IVALL 0 0 0";
const EXIT: &str = "0040 ffffffff 0 EXIT 0 0 0";

fn access(kind: MemoryOpKind, order: Order) -> Seen {
    Seen::Memory(kind, order, Scope::Gpu, vec![0])
}

#[test]
fn an_acquire_is_a_strong_load_and_an_invalidation() {
    let acquire = [access(MemoryOpKind::Load, Order::Acquire), Seen::Fence(Order::Acquire, Scope::Gpu)];
    assert_eq!(meaning(&[LOAD, INVALIDATE, EXIT]), acquire);
    assert_eq!(meaning(&[LOAD, EXIT]), [access(MemoryOpKind::Load, Order::Relaxed)]);
}

#[test]
fn a_release_is_a_fence_and_a_strong_store_of_its_scope() {
    let fence = |name: &str| format!("0000 ffffffff 0 MEMBAR.{name} 0 0 0");
    let error_barrier = "0010 ffffffff 0 ERRBAR 0 0 0";
    let (all, system) = (fence("ALL.GPU"), fence("ALL.SYS"));
    let release = [Seen::Fence(Order::Release, Scope::Gpu), access(MemoryOpKind::Store, Order::Release)];
    assert_eq!(meaning(&[&all, error_barrier, STORE, EXIT]), release);
    assert_eq!(meaning_on(5, 70, &[&all, STORE, EXIT]), release);
    let of_system = [Seen::Fence(Order::Release, Scope::System), access(MemoryOpKind::Store, Order::Relaxed)];
    assert_eq!(meaning(&[&system, STORE, EXIT]), of_system);
    let sequential = fence("SC.GPU");
    let both = [Seen::Fence(Order::AcqRel, Scope::Gpu), access(MemoryOpKind::Store, Order::Relaxed)];
    assert_eq!(meaning(&[&sequential, error_barrier, INVALIDATE, STORE, EXIT]), both);
    assert_eq!(meaning(&[&sequential, STORE, EXIT]), both);
    let old = meaning_on(3, 60, &["0000 ffffffff 0 MEMBAR.SYS 0 0", "0050 ffffffff 0 EXIT 0 0"]);
    assert_eq!(old, [Seen::Fence(Order::AcqRel, Scope::System)]);
}

#[test]
fn a_bare_sys_is_weak() {
    let load = LOAD.replace("STRONG.GPU", "SYS");
    assert_eq!(meaning_on(5, 70, &[&load, EXIT]), [access(MemoryOpKind::Load, Order::Weak)]);
}

#[test]
fn atomics_acquire_with_an_invalidation_behind_them() {
    let atomic = LOAD.replace("LDG.E", "ATOMG.E.CAS");
    let kind = MemoryOpKind::Atomic(AtomicOp::CompareExchange { expected: 0 });
    let seen = meaning(&[&atomic, INVALIDATE, EXIT]);
    assert_eq!(seen, [access(kind, Order::Relaxed), Seen::Fence(Order::Acquire, Scope::Gpu)]);
}

#[test]
fn generic_addresses_reach_three_memories() {
    let generic = |address: &str| format!("0000 00000001 1 R8 LD.E 1 R2 4 0 {address} 0");
    let seen = meaning(&[&generic("0x7e0000000010"), &generic("0x7e0001000010"), &generic("0x7f0000000000"), EXIT]);
    assert_eq!(seen[0], Seen::Lds(1));
    let Seen::Memory(_, _, _, local) = &seen[1] else { panic!("{seen:?}") };
    assert!(local[0] >= 16 << 10, "local memory lies behind the pages: {local:?}");
    assert_eq!(seen[2], access(MemoryOpKind::Load, Order::Weak));
}

#[test]
fn local_memory_has_a_row_for_each_word_of_a_thread() {
    let store = "0000 ffffffff 0 STL.64 2 R1 R4 8 1 0xfffdc0 0 0";
    let seen = meaning(&[store, EXIT]);
    let rows: Vec<u32> = seen
        .iter()
        .map(|seen| match seen {
            Seen::Memory(_, _, _, words) => words[31] - words[0],
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(rows, [31, 31]);
}

#[test]
fn arithmetic_and_lanes_that_are_switched_off_take_issue_slots() {
    let off = LOAD.replace("00000001", "00000000");
    let seen = meaning(&["0000 ffffffff 1 R1 MOV 0 0 0", &off, "0020 ffffffff 0 BAR.SYNC 0 0 0", EXIT, EXIT]);
    assert_eq!(seen, [Seen::Alu(2), Seen::Barrier, Seen::Alu(1)], "the last exit ends the wavefront");
}

#[test]
fn old_tracers_write_two_lines_for_a_copy_to_shared_memory() {
    let line = |address: &str| format!("0000 00000001 0 LDGSTS.E 2 R2 R4 4 1 {address} 0");
    let seen = meaning_on(4, 80, &[&line("0x40"), &line("0x7f0000000000"), "0050 ffffffff 0 EXIT 0 0"]);
    assert_eq!(seen, [Seen::Lds(1), access(MemoryOpKind::Load, Order::Weak)]);
}

#[test]
fn an_opcode_that_nobody_knows_is_named_where_it_has_addresses() {
    let folder = Folder::new();
    let line = "0000 00000001 1 R8 LDNEW.E 1 R2 4 1 0x7f0000000000 0 0";
    let prefetch = "0000 00000001 0 CCTL.E.PF2 1 R2 4 1 0x7f0000000000 0 0";
    let path = folder.file("k.traceg", header(5, 80) + &block(&[line, prefetch, line, EXIT]));
    let warnings = Trace::open(&path).unwrap().warnings().join("\n");
    assert!(warnings.contains("LDNEW.E does to memory") && warnings.lines().count() == 1, "{warnings}");
}

#[test]
fn wide_accesses_are_one_instruction_and_atomics_have_types() {
    let wide = "0000 ffffffff 1 R8 LDG.E.128 1 R2 16 1 0x7f0000000000 16 0";
    let reduction = "0010 00000001 0 RED.E.ADD.F64.RN.STRONG.GPU 2 R2 R4 8 1 0x7f0000000008 0 0";
    let signed = "0020 00000001 0 RED.E.MIN.S32.STRONG.GPU 2 R2 R4 4 1 0x7f0000000000 0 0";
    let atomic = |op, words| Seen::Memory(MemoryOpKind::Atomic(op), Order::Relaxed, Scope::Gpu, words);
    let seen = meaning(&[wide, reduction, signed, EXIT]);
    let all = (0..128).collect();
    assert_eq!(seen[0], Seen::Memory(MemoryOpKind::Load, Order::Weak, Scope::Gpu, all));
    let [sum, least] = [AtomicOp::Pair(PairOp::AddF64), AtomicOp::MinSigned];
    assert_eq!(seen[1..], [atomic(sum, vec![2, 3]), atomic(least, vec![0])]);
}

#[test]
fn a_loop_that_polls_is_named() {
    let warnings = |instructions: &[&str]| {
        let folder = Folder::new();
        let path = folder.file("k.traceg", header(5, 80) + &block(instructions));
        Trace::open(&path).unwrap().warnings().join("\n")
    };
    let round = [LOAD, "0020 ffffffff 0 BRA 0 0 0"];
    let polls = warnings(&[round, round, round, [INVALIDATE, EXIT]].concat());
    assert!(polls.contains("the loop at PC 0x0010 polls address 0x7f0000000000"), "{polls}");
    assert_eq!(warnings(&[round, round, [INVALIDATE, EXIT]].concat()), "");
    assert_eq!(warnings(&[[LOAD, STORE], [LOAD, STORE], [LOAD, STORE]].concat()), "", "it also writes");
}
