//! A program is recorded, its trace is replayed, and every wavefront must ask for the same.

use std::sync::Arc;

use chorus_kernel::{HostMemory, MemoryOpKind, Program, Verdict, flat};
use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_system::Scale;
use chorus_trace::{Recorder, Trace};

use crate::folder::Folder;
use crate::observe::{Notes, Observed, Seen};

/// Records a shipped workload at quick scale with these sizes. Returns what it asked for, and what its trace asks for.
fn both(workload: &str, sizes: &[(&str, u64)]) -> (Notes, Notes) {
    let folder = Folder::new();
    let mut memory = HostMemory::default();
    let workload = chorus_workloads::find(workload).unwrap();
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
        Seen::Memory(MemoryOpKind::Atomic(AtomicOp::CompareExchange { .. }), order, scope, words) => {
            let kind = MemoryOpKind::Atomic(AtomicOp::CompareExchange { expected: 0 });
            Seen::Memory(kind, order, scope, words)
        }
        Seen::Memory(kind, Order::Weak, _, words) => Seen::Memory(kind, Order::Weak, Scope::Gpu, words),
        other => other,
    };
    notes.into_iter().map(|(key, all)| (key, all.into_iter().map(seen).collect())).collect()
}

fn assert_same(workload: &str, sizes: &[(&str, u64)], has: impl Fn(&Seen) -> bool) {
    let (before, after) = both(workload, sizes);
    let before = as_traced(before);
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
fn a_folder_with_files_is_not_written_to() {
    let folder = Folder::new();
    folder.file("mine.txt", "something dear");
    let error = Recorder::create(folder.path()).err().unwrap();
    assert!(error.to_string().ends_with("accepted: a directory that is empty or does not exist"), "{error}");
}
