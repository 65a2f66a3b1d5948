//! A valid trace with random mistakes ends in a program that comes to its end, or in one message.

use std::sync::Arc;

use chorus_kernel::{HostMemory, flat};
use chorus_trace::Trace;
use proptest::prelude::*;

use crate::folder::{Folder, block, header};

/// A kernel with every kind of line.
fn valid() -> Vec<u8> {
    let warp = block(&[
        "0000 ffffffff 1 R1 MOV 0 0 0",
        "0010 ffffffff 1 R8 LDG.E 1 R2 4 1 0x7f0000000000 4 0",
        "0020 0000000d 1 R10 LDG.E.64.STRONG.GPU 1 R2 8 2 0x7f0000000100 -16 32 0",
        "0030 80000001 2 R12 R14 ATOMG.E.ADD.STRONG.SYS 2 R8 R10 4 0 0x7f0000000010 0x7f0000000020 0",
        "0040 ffffffff 0 MEMBAR.SC.GPU 0 0 0",
        "0050 ffffffff 0 CCTL.IVALL 0 0 0",
        "0060 ffffffff 0 STL.128 2 R1 R4 16 1 0x40 0 0",
        "0070 ffffffff 0 BAR.SYNC 0 0 0",
        "0080 ffffffff 0 EXIT 0 0 0",
    ]);
    (header(5, 80) + &warp + &warp).into_bytes()
}

/// Pieces that matter to a reader.
const PIECES: [&str; 12] = [
    "#END_TB\n",
    "#BEGIN_TB\n",
    "warp = 1\n",
    "insts = 99999999999\n",
    "0x",
    "-",
    "ffffffff",
    "\0",
    "R255 ",
    "1 ",
    "\n",
    "128 ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mistakes_end_in_a_program_or_a_message(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, any::<u8>()), 1..6),
    ) {
        let mut text = valid();
        for (at, edit, byte) in edits {
            let at = at.index(text.len().max(1)).min(text.len().saturating_sub(1));
            match edit {
                0 if !text.is_empty() => text[at] = byte,
                1 => text.truncate(at),
                2 if !text.is_empty() => { text.remove(at); }
                _ => {
                    let piece = PIECES[usize::from(byte) % PIECES.len()].bytes();
                    text.splice(at..at, piece).for_each(drop);
                }
            }
        }
        let folder = Folder::new();
        let path = folder.file("k.traceg", &text);
        match Trace::open(&path) {
            Err(error) => prop_assert!(error.to_string().contains("k.traceg"), "{}", error),
            Ok(trace) => {
                let trace = Arc::new(trace);
                let mut memory = HostMemory::default();
                let mut program = trace.program(&mut memory);
                prop_assert_eq!(flat::run(&mut program, &memory), Ok(()));
                prop_assert_eq!(trace.failure(), None);
            }
        }
    }

    #[test]
    fn a_file_that_changes_after_it_was_read_ends_in_a_message_or_a_result(
        at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let mut text = valid();
        let folder = Folder::new();
        let path = folder.file("k.traceg", &text);
        let trace = Arc::new(Trace::open(&path).unwrap());
        let at = at.index(text.len());
        if cut { text.truncate(at) } else { text[at] = byte }
        folder.file("k.traceg", &text);
        let mut memory = HostMemory::default();
        let mut program = trace.program(&mut memory);
        let ended = flat::run(&mut program, &memory);
        prop_assert_eq!(ended.is_ok(), trace.failure().is_none());
    }
}
