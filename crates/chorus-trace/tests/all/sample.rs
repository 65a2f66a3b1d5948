//! A trace of a real GPU, where one is at hand beside the project.

use std::path::Path;
use std::sync::Arc;

use chorus_kernel::{HostMemory, MemoryOpKind, flat};
use chorus_trace::Trace;

use crate::observe::{Observed, Seen};

#[test]
fn a_compressed_trace_is_the_same_as_a_plain_one() {
    let replay = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        let trace = Arc::new(Trace::open(&path).unwrap());
        let mut memory = HostMemory::default();
        let mut program = Observed::new(Box::new(trace.program(&mut memory)));
        flat::run(&mut program, &memory).unwrap();
        (trace.sha256().to_owned(), program.into_notes())
    };
    // The compressed file has two streams with zeros between them.
    let (plain, compressed) = (replay("saxpy.traceg"), replay("saxpy.traceg.xz"));
    assert_eq!(plain, compressed);
    assert_eq!(plain.1.len(), 2 * 8);
}

#[test]
fn a_sum_of_vectors_that_was_traced_on_a_real_gpu_is_replayed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/samples/vectoradd50k-v5-sm80");
    if !path.exists() {
        println!("not run: there is no {}", path.display());
        return;
    }
    let trace = Arc::new(Trace::open(&path).unwrap());
    assert_eq!((trace.kernels(), trace.warnings()), (1, &[][..]));
    let mut memory = HostMemory::default();
    let mut program = Observed::new(Box::new(trace.program(&mut memory)));
    flat::run(&mut program, &memory).unwrap();
    let notes = program.into_notes();
    assert_eq!(notes.len(), 196 * 8);
    let words = |of: MemoryOpKind| -> usize {
        let seen = notes.values().flatten();
        seen.map(|seen| match seen {
            Seen::Memory(kind, _, _, words) if *kind == of => words.len(),
            _ => 0,
        })
        .sum()
    };
    assert_eq!((words(MemoryOpKind::Load), words(MemoryOpKind::Store)), (100_000, 50_000));
}
