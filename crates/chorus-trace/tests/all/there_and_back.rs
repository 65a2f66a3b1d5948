//! A program is recorded, its trace is replayed, and every wavefront must ask for the same.

use std::path::Path;
use std::sync::Arc;

use chorus_kernel::{HostMemory, MemoryOpKind, Program, Verdict, flat};
use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_system::Scale;
use chorus_trace::{Recorder, Trace};
use chorus_workloads::Workload;

use crate::folder::{Folder, block, header};
use crate::observe::{Notes, Observed, Seen};

/// Records a shipped workload at quick scale with these sizes. Returns what it asked for, and what its trace asks for.
fn both(workload: &dyn Workload, sizes: &[(&str, u64)]) -> (Notes, Notes) {
    let folder = Folder::new();
    let mut memory = HostMemory::default();
    let mut all = workload.sizes_at(Scale::Quick);
    sizes.iter().for_each(|&(size, value)| all.set(size, value).unwrap());
    let recorder = Recorder::create(folder.path()).unwrap();
    let mut program = Observed::new(recorder.record(workload.prepare(&all, 1, &mut memory)));
    flat::run(&mut program, &memory).unwrap();
    let recorded = recorder.finish().unwrap();
    assert!(!recorded.cpu_threads);
    let before = program.into_notes();
    let after = replay(&folder);
    assert_eq!(before.len(), after.len());
    (before, after)
}

/// Everything that the trace in a folder asks for.
pub fn replay(folder: &Folder) -> Notes {
    let trace = Arc::new(Trace::open(folder.path()).unwrap());
    let mut memory = HostMemory::default();
    let mut program = Observed::new(Box::new(trace.program(&mut memory)));
    flat::run(&mut program, &memory).unwrap();
    assert_eq!(program.check(&memory), Verdict::Unchecked);
    assert_eq!(trace.failure(), None);
    program.into_notes()
}

/// The notes without what a trace cannot tell: the value that an atomic compares with, and the scope of an access that
/// is not ordered.
fn as_traced(notes: Notes) -> Notes {
    let seen = |seen| match seen {
        // A memory instruction without lanes takes an issue slot and nothing else.
        Seen::Memory(_, _, _, words) if words.is_empty() => Seen::Alu(1),
        Seen::Memory(MemoryOpKind::Atomic(AtomicOp::CompareExchange { .. }), order, scope, words) => {
            let kind = MemoryOpKind::Atomic(AtomicOp::CompareExchange { expected: 0 });
            Seen::Memory(kind, order, scope, words)
        }
        Seen::Memory(kind, Order::Weak, _, words) => Seen::Memory(kind, Order::Weak, Scope::Gpu, words),
        other => other,
    };
    let joined = |all: Vec<Seen>| {
        let mut joined: Vec<Seen> = Vec::new();
        for seen in all.into_iter().map(seen) {
            match (joined.last_mut(), &seen) {
                (Some(Seen::Alu(count)), Seen::Alu(more)) => *count += more,
                _ => joined.push(seen),
            }
        }
        joined
    };
    notes.into_iter().map(|(key, all)| (key, joined(all))).collect()
}

fn assert_same(workload: &str, sizes: &[(&str, u64)], has: impl Fn(&Seen) -> bool) {
    assert_same_as(chorus_workloads::find(workload).unwrap(), sizes, has);
}

fn assert_same_as(workload: &dyn Workload, sizes: &[(&str, u64)], has: impl Fn(&Seen) -> bool) {
    let (before, after) = both(workload, sizes);
    let before = as_traced(before);
    let workload = workload.name();
    assert!(before.values().flatten().any(has), "{workload} is here for something that it does not do");
    for (key, seen) in &before {
        let replayed = &after[key];
        let differs = seen.iter().zip(replayed).position(|(a, b)| a != b);
        let at = differs.map(|at| (&seen[at.saturating_sub(2)..=at], &replayed[at.saturating_sub(2)..=at]));
        assert_eq!(at, None, "{workload} {key:?}");
        assert_eq!(seen.len(), replayed.len(), "{workload} {key:?}");
    }
}

#[test]
fn plain_loads_and_stores_come_back() {
    let is_load = |seen: &Seen| matches!(seen, Seen::Memory(MemoryOpKind::Load, ..));
    assert_same("saxpy", &[("elements", 10_000)], is_load);
}

#[test]
fn fences_and_scopes_come_back() {
    let is_release = |seen: &Seen| matches!(seen, Seen::Memory(MemoryOpKind::Store, Order::Release, ..));
    assert_same("stn", &[], is_release);
}

#[test]
fn atomics_come_back() {
    let is_atomic = |seen: &Seen| matches!(seen, Seen::Memory(MemoryOpKind::Atomic(_), ..));
    assert_same("dlb", &[], is_atomic);
}

#[test]
fn local_data_comes_back() {
    assert_same("hsp", &[], |seen| matches!(seen, Seen::Lds(_)));
}

#[test]
fn programs_in_ptx_come_back() {
    let program = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cuda").join(name).join("program.toml");
        chorus_program::load(&path.display().to_string()).unwrap_or_else(|error| panic!("{error}"))
    };
    let is = |order: Order| move |seen: &Seen| matches!(seen, Seen::Memory(_, found, ..) if *found == order);
    assert_same_as(program("saxpy"), &[], is(Order::Weak));
    assert_same_as(program("transpose_tiled"), &[], |seen| matches!(seen, Seen::Lds(_)));
    assert_same_as(program("pipeline_flags"), &[], is(Order::Release));
    assert_same_as(program("scan_lookback"), &[], is(Order::Relaxed));
    assert_same_as(program("ticket_lock"), &[], |seen| matches!(seen, Seen::Fence(..)));
}

#[test]
fn accesses_of_every_width_and_atomics_of_every_type_come_back() {
    let (first, second) = (Folder::new(), Folder::new());
    let mut lines = vec!["0000 0000ffff 1 R8 LDG.E.128 1 R2 16 1 0x7f0000000000 32 0".to_owned()];
    lines.extend(["U8 1", "U16 2", "64 8", "128 16"].map(|width| {
        let (token, bytes) = width.split_once(' ').unwrap();
        format!("0010 0000000f 0 STG.E.{token} 2 R2 R4 {bytes} 1 0x7f0000000000 16 0")
    }));
    for op in ["ADD.64", "MIN.S64", "MAX.U64", "ADD.F64.RN", "CAS.64", "EXCH.64", "INC", "DEC", "MAX.S32", "XOR"] {
        let bytes = if op.contains("64") { 8 } else { 4 };
        lines.push(format!("0020 0000000f 1 R8 ATOMG.E.{op}.STRONG.SYS 2 R2 R4 {bytes} 1 0x7f0000000000 16 0"));
    }
    lines.push("0040 ffffffff 0 EXIT 0 0 0".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    first.file("k.traceg", header(5, 80) + &block(&lines));
    first.file("kernelslist.g", "k.traceg\n");
    let trace = Arc::new(Trace::open(first.path()).unwrap());
    let mut memory = HostMemory::default();
    let recorder = Recorder::create(second.path()).unwrap();
    let program = Box::new(trace.program(&mut memory));
    flat::run(recorder.record(program).as_mut(), &memory).unwrap();
    recorder.finish().unwrap();
    assert_eq!(replay(&first), replay(&second));
    let written = std::fs::read_to_string(second.path().join("kernel-1.traceg")).unwrap();
    assert!(written.contains("STG.E.U16 2 R2 R4 2 1 0x7f0000000000 16"), "{written}");
}

#[test]
fn a_folder_with_files_is_not_written_to() {
    let folder = Folder::new();
    folder.file("mine.txt", "something dear");
    let error = Recorder::create(folder.path()).err().unwrap();
    assert!(error.to_string().ends_with("accepted: a directory that is empty or does not exist"), "{error}");
}
