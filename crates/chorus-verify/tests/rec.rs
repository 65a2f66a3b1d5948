//! Do the directories of the REC paper do what its sections 2.3 and 4.2 say, sentence by sentence, and is REC the
//! baseline where there is room for everything?

use chorus_protocol::access::{CoreOp, CoreRequest, Order, Scope, Txn};
use chorus_protocol::address::{LineAddr, Role};
use chorus_protocol::cache::Replacement;
use chorus_protocol::controller::{Input, Outbox, Outcome};
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::message::{Message, MsgKind};
use chorus_protocol::registry::{Build, DirectoryShape, find};
use proptest::prelude::*;

use crate::bank::{Bank, FIRST_REMOTE_LINE, GPUS, Request, config};

use Request::{Answer, Atomic, Evict, EvictEntry, Invalidate, Read, Release, Write};

/// Lines of a range of 1 kB.
const RANGE: u64 = 16;

/// A sentence of the paper, with requests that lead to its situation and the reactions that must follow.
struct Row {
    /// The sentence of the paper, shortened.
    says: &'static str,
    before: &'static [Request],
    request: Request,
    /// The entry's state before and after.
    states: [&'static str; 2],
    /// The sharers that are told to drop a line, and why: it was written (`INV`) or its entry replaced (`INV_REPL`).
    told: &'static [(&'static str, u64, u16)],
    /// All that is sent besides. That no acknowledgement is among it is part of what is compared.
    said: &'static [&'static str],
    /// Every line that is tracked afterwards, and for whom.
    tracked: &'static [(u64, &'static [u16])],
}

const fn read(gpu: u16, line: u64) -> Request {
    Read { gpu, line }
}

const fn write(gpu: u16, line: u64) -> Request {
    Write { gpu, line }
}

/// Section 2.3, with Figure 3: local reads, remote reads, local writes, remote writes, replacement. Directories have
/// one set of two entries.
const BASELINE: [Row; 12] = [
    Row {
        says: "a local read of a line that is not tracked leaves the directory alone",
        before: &[],
        request: read(0, 0),
        states: ["I", "I"],
        told: &[],
        said: &["DATA"],
        tracked: &[],
    },
    Row {
        says: "a local read of a tracked line leaves the directory alone",
        before: &[read(1, 0)],
        request: read(0, 0),
        states: ["V", "V"],
        told: &[],
        said: &["DATA"],
        tracked: &[(0, &[1])],
    },
    Row {
        says: "a remote read of a line that is not tracked takes a free entry",
        before: &[],
        request: read(1, 0),
        states: ["I", "V"],
        told: &[],
        said: &["DATA"],
        tracked: &[(0, &[1])],
    },
    Row {
        says: "in a full set it replaces the entry that came first, however it was used since",
        before: &[read(1, 0), read(2, 0), read(2, 16), read(3, 0)],
        request: read(3, 32),
        states: ["I", "V"],
        told: &[("INV_REPL", 0, 1), ("INV_REPL", 0, 2), ("INV_REPL", 0, 3)],
        said: &["DATA"],
        tracked: &[(16, &[2]), (32, &[3])],
    },
    Row {
        says: "a remote read of a tracked line adds the reader",
        before: &[read(1, 0)],
        request: read(3, 0),
        states: ["V", "V"],
        told: &[],
        said: &["DATA"],
        tracked: &[(0, &[1, 3])],
    },
    Row {
        says: "a local write to a line that is not tracked stays in the L2",
        before: &[],
        request: write(0, 0),
        states: ["I", "I"],
        told: &[],
        said: &[],
        tracked: &[],
    },
    Row {
        says: "a local write to a tracked line tells all sharers and frees the entry",
        before: &[read(1, 0), read(3, 0)],
        request: write(0, 0),
        states: ["V", "I"],
        told: &[("INV", 0, 1), ("INV", 0, 3)],
        said: &[],
        tracked: &[],
    },
    Row {
        says: "a remote write to a line that is not tracked records the writer",
        before: &[],
        request: write(2, 0),
        states: ["I", "V"],
        told: &[],
        said: &[],
        tracked: &[(0, &[2])],
    },
    Row {
        says: "in a full set it replaces an entry, too",
        before: &[read(1, 0), read(2, 16)],
        request: write(3, 32),
        states: ["I", "V"],
        told: &[("INV_REPL", 0, 1)],
        said: &[],
        tracked: &[(16, &[2]), (32, &[3])],
    },
    Row {
        says: "a remote write to a tracked line records the writer and tells the others",
        before: &[read(1, 0), read(3, 0)],
        request: write(2, 0),
        states: ["V", "V"],
        told: &[("INV", 0, 1), ("INV", 0, 3)],
        said: &[],
        tracked: &[(0, &[2])],
    },
    Row {
        says: "a remote write of a sharer spares the writer",
        before: &[read(1, 0), read(2, 0)],
        request: write(2, 0),
        states: ["V", "V"],
        told: &[("INV", 0, 1)],
        said: &[],
        tracked: &[(0, &[2])],
    },
    Row {
        says: "an entry that leaves tells all its sharers",
        before: &[read(1, 0), read(2, 0), read(3, 16)],
        request: EvictEntry { line: 0 },
        states: ["V", "I"],
        told: &[("INV_REPL", 0, 1), ("INV_REPL", 0, 2)],
        said: &[],
        tracked: &[(16, &[3])],
    },
];

/// Section 4.2, with Figure 10: the same for ranges of 16 lines. Directories have one set of two entries.
const RANGES: [Row; 14] = [
    Row {
        says: "a remote read without an entry for its range takes a new one",
        before: &[],
        request: read(1, 13),
        states: ["I", "V"],
        told: &[],
        said: &["DATA"],
        tracked: &[(13, &[1])],
    },
    Row {
        says: "in a full set it replaces the entry that remote requests used longest ago, line by line",
        before: &[read(1, 0), read(2, 3), read(3, 3), read(2, 16), write(1, 20), read(2, 5), write(0, 21)],
        request: read(3, 32),
        states: ["I", "V"],
        told: &[("INV_REPL", 16, 2), ("INV_REPL", 20, 1)],
        said: &["DATA"],
        tracked: &[(0, &[1]), (3, &[2, 3]), (5, &[2]), (32, &[3])],
    },
    Row {
        says: "a remote read with an entry for its range sets the bits of its line",
        before: &[read(1, 0)],
        request: read(2, 13),
        states: ["V", "V"],
        told: &[],
        said: &["DATA"],
        tracked: &[(0, &[1]), (13, &[2])],
    },
    Row {
        says: "bits that are set already stay set",
        before: &[read(1, 13), read(2, 13)],
        request: read(2, 13),
        states: ["V", "V"],
        told: &[],
        said: &["DATA"],
        tracked: &[(13, &[1, 2])],
    },
    Row {
        says: "a local write tells the sharers of its line alone, and the entry stays for the others",
        before: &[read(1, 0), read(2, 14), read(3, 14)],
        request: write(0, 0),
        states: ["V", "V"],
        told: &[("INV", 0, 1)],
        said: &[],
        tracked: &[(14, &[2, 3])],
    },
    Row {
        says: "a local write to the last line that an entry tracks frees the entry",
        before: &[read(1, 0), read(2, 0)],
        request: write(0, 0),
        states: ["V", "I"],
        told: &[("INV", 0, 1), ("INV", 0, 2)],
        said: &[],
        tracked: &[],
    },
    Row {
        says: "a local write to another line of a range does nothing",
        before: &[read(1, 0)],
        request: write(0, 1),
        states: ["V", "V"],
        told: &[],
        said: &[],
        tracked: &[(0, &[1])],
    },
    Row {
        says: "a local write without an entry does nothing",
        before: &[read(1, 16)],
        request: write(0, 0),
        states: ["I", "I"],
        told: &[],
        said: &[],
        tracked: &[(16, &[1])],
    },
    Row {
        says: "a remote write to a line that its entry does not track sets the bits as a read does",
        before: &[read(1, 0)],
        request: write(2, 14),
        states: ["V", "V"],
        told: &[],
        said: &[],
        tracked: &[(0, &[1]), (14, &[2])],
    },
    Row {
        says: "a remote write to a tracked line leaves the writer alone with it and tells the others",
        before: &[read(1, 0), read(3, 14)],
        request: write(2, 14),
        states: ["V", "V"],
        told: &[("INV", 14, 3)],
        said: &[],
        tracked: &[(0, &[1]), (14, &[2])],
    },
    Row {
        says: "a remote write of a sharer spares the writer",
        before: &[read(1, 14), read(2, 14), read(3, 15)],
        request: write(2, 14),
        states: ["V", "V"],
        told: &[("INV", 14, 1)],
        said: &[],
        tracked: &[(14, &[2]), (15, &[3])],
    },
    Row {
        says: "a remote write without an entry takes a new one",
        before: &[],
        request: write(2, 14),
        states: ["I", "V"],
        told: &[],
        said: &[],
        tracked: &[(14, &[2])],
    },
    Row {
        says: "in a full set it replaces an entry, too",
        before: &[read(1, 1), read(2, 2), read(3, 16)],
        request: write(2, 32),
        states: ["I", "V"],
        told: &[("INV_REPL", 1, 1), ("INV_REPL", 2, 2)],
        said: &[],
        tracked: &[(16, &[3]), (32, &[2])],
    },
    Row {
        says: "an entry that leaves gives back every address that it tracks, and tells its sharers",
        before: &[read(1, 0), read(2, 0), read(3, 15), read(1, 16)],
        request: EvictEntry { line: 15 },
        states: ["V", "I"],
        told: &[("INV_REPL", 0, 1), ("INV_REPL", 0, 2), ("INV_REPL", 15, 3)],
        said: &[],
        tracked: &[(16, &[1])],
    },
];

/// Two entries in one set.
const TWO_ENTRIES: DirectoryShape =
    DirectoryShape { sets: 1, ways: 2, lines_per_entry: 1, range_lines: RANGE as u32, replacement: None };

/// The state of the entry that covers a line among `range` others.
fn entry_state(bank: &Bank, line: u64, range: u64) -> &'static str {
    let first = line & !(range - 1);
    let is_valid = (first..first + range).any(|line| bank.tracked(line).0 == "V");
    if is_valid { "V" } else { "I" }
}

fn compare(protocol: &str, range: u64, rows: &[Row]) {
    for Row { says, before, request, states, told, said, tracked } in rows {
        let mut bank = Bank::new(protocol, 64, TWO_ENTRIES);
        for &request in *before {
            assert_eq!(bank.step(request).0, Outcome::Done, "{protocol}: {says}: {request:?}");
            bank.settle();
        }
        let (Read { line, .. } | Write { line, .. } | EvictEntry { line }) = *request else { panic!("{request:?}") };
        let old = entry_state(&bank, line, range);
        let (outcome, mut sent) = bank.step(*request);
        assert_eq!(outcome, Outcome::Done, "{protocol}: {says}");
        if sent.iter().any(|message| bank.name_of(message) == "FETCH") {
            sent.extend(bank.step(Answer).1);
        }
        assert_eq!(bank.told(&sent), *told, "{protocol}: {says}");
        assert_eq!(bank.said(&sent), *said, "{protocol}: {says}");
        assert_eq!([old, entry_state(&bank, line, range)], *states, "{protocol}: {says}");
        let all = (0..4 * RANGE).map(|line| (line, bank.tracked(line).1)).filter(|(_, gpus)| !gpus.is_empty());
        let expected: Vec<(u64, Vec<u16>)> = tracked.iter().map(|(line, gpus)| (*line, gpus.to_vec())).collect();
        assert_eq!(all.collect::<Vec<_>>(), expected, "{protocol}: {says}");
    }
}

#[test]
fn the_baseline_does_what_section_2_3_says() {
    compare("dir", 1, &BASELINE);
}

#[test]
fn rec_does_what_section_4_2_says() {
    compare("rec", RANGE, &RANGES);
}

/// Section 3.3: with room for everything, only writes are left to tell anybody.
#[test]
fn the_ideal_does_what_section_2_3_says_of_writes_and_replaces_nothing() {
    let replaces = |row: &&Row| row.told.iter().any(|(kind, ..)| *kind == "INV_REPL");
    assert_eq!(BASELINE.iter().filter(replaces).count(), 3);
    for row in BASELINE.iter().filter(|row| !replaces(row)) {
        compare("dir-ideal", 1, std::slice::from_ref(row));
    }
    let mut bank = Bank::new("dir-ideal", 64, TWO_ENTRIES);
    for line in 0..1000 {
        let (_, sent) = bank.step(read(1, line));
        assert_eq!(bank.told(&sent), []);
        bank.settle();
    }
    assert_eq!(bank.step(EvictEntry { line: 0 }), (Outcome::Done, vec![]));
    assert!((0..1000).all(|line| bank.tracked(line) == ("V", vec![1])));
}

/// Sections 2.3 and 5.2: a directory of four lines per entry takes all of them back, with one message.
#[test]
fn a_write_to_one_of_four_lines_takes_all_four_back_from_the_others() {
    let mut bank = Bank::new("dir-hmg", 64, TWO_ENTRIES);
    for request in [read(1, 0), read(2, 3), read(3, 1)] {
        bank.step(request);
        bank.settle();
    }
    assert_eq!(bank.tracked(2), ("V", vec![1, 2, 3]));
    let (_, sent) = bank.step(write(2, 2));
    assert_eq!(bank.told(&sent), [("INV", 0, 1), ("INV", 0, 3)]);
    assert!((0..4).all(|line| bank.tracked(line) == ("V", vec![2])));
}

/// Section 2.2: a store to another GPU's memory is written through, and its bytes are kept, too; one to the own memory
/// stays.
#[test]
fn stores_to_remote_memory_are_written_through_and_kept() {
    for protocol in ["dir", "dir-hmg", "rec", "dir-ideal"] {
        let mut bank = Bank::new(protocol, 64, TWO_ENTRIES);
        let (_, sent) = bank.step(write(0, FIRST_REMOTE_LINE));
        assert_eq!((bank.said(&sent), bank.held(FIRST_REMOTE_LINE)), (vec!["ST"], (1, 0)), "{protocol}");
        let (_, sent) = bank.step(write(0, 0));
        assert_eq!((bank.said(&sent), bank.held(0)), (vec![], (1, 1)), "{protocol}");
        let (_, sent) = bank.step(write(3, 1));
        assert_eq!((bank.said(&sent), bank.held(1)), (vec![], (1, 1)), "{protocol}");
    }
}

/// Section 2.3: whoever is told to drop a line does so and does not answer, whether it has the line or not.
#[test]
fn a_sharer_drops_its_line_and_does_not_answer() {
    let line = FIRST_REMOTE_LINE;
    for protocol in ["dir", "rec", "dir-ideal"] {
        let mut bank = Bank::new(protocol, 64, TWO_ENTRIES);
        assert_eq!(bank.step(Invalidate { line }), (Outcome::Done, vec![]), "{protocol}");
        for line in [line, line + 1] {
            bank.step(read(0, line));
            bank.settle();
        }
        assert_eq!([bank.held(line), bank.held(line + 1)], [(2, 0), (2, 0)], "{protocol}");
        assert_eq!(bank.step(Invalidate { line }), (Outcome::Done, vec![]), "{protocol}");
        assert_eq!([bank.held(line), bank.held(line + 1)], [(0, 0), (2, 0)], "{protocol}");
    }
}

/// Section 2.3: releases flush what is dirty. The line stays, clean.
#[test]
fn a_release_writes_back_what_is_dirty_and_keeps_it() {
    for protocol in ["dir", "dir-hmg", "rec", "dir-ideal"] {
        let mut bank = Bank::new(protocol, 64, TWO_ENTRIES);
        bank.step(read(0, 0));
        bank.settle();
        bank.step(write(0, 0));
        assert_eq!(bank.held(0), (2, 1), "{protocol}");
        let (_, sent) = bank.step(Release { gpu: 0 });
        assert_eq!(sent.iter().filter(|message| bank.name_of(message) == "WB").count(), 1, "{protocol}");
        assert_eq!(bank.held(0), (2, 0), "{protocol}");
    }
}

/// Section 2.3: a kernel starts with empty private caches, and no L2 hears of it.
#[test]
fn an_acquire_empties_the_private_cache_alone() {
    for protocol in ["dir", "dir-hmg", "rec", "dir-ideal"].map(|name| find(name).unwrap()) {
        let config = config(protocol, 64, TWO_ENTRIES);
        let mut cache = Build::<2>::build(protocol, Role::L1, 0, &config).unwrap();
        let request = |op, order, txn| CoreRequest {
            op,
            order,
            scope: Scope::System,
            line: LineAddr(0),
            mask: ByteMask::full::<2>(),
            data: LineData::default(),
            wave: 0,
            txn: Txn::Operation(txn),
        };
        let mut out = Outbox::default();
        cache.step(&Input::Core(&request(CoreOp::Load, Order::Weak, 1)), &mut out).unwrap();
        let data = protocol.messages().iter().position(|spec| spec.name == "DATA").unwrap();
        let answer: Message<2> = out.messages[0].reply_line(MsgKind(data as u8), &LineData([7, 8]));
        out.clear();
        cache.step(&Input::Message(&answer), &mut out).unwrap();
        assert!(!cache.view(LineAddr(0), 0).readable.is_empty(), "{}", protocol.name());
        out.clear();
        cache.step(&Input::Core(&request(CoreOp::KernelBegin, Order::Acquire, 2)), &mut out).unwrap();
        assert_eq!((out.messages.len(), out.completions.len()), (0, 1), "{}", protocol.name());
        assert!(cache.view(LineAddr(0), 0).readable.is_empty(), "{}", protocol.name());
    }
}

/// Lines of the bank's own memory that random requests are about, and as many of GPU1's.
const LINES: u64 = 64;

fn requests() -> impl Strategy<Value = Vec<Request>> {
    let gpu = || 0..GPUS;
    let line = || 0..LINES;
    let remote = || (0..LINES).prop_map(|line| FIRST_REMOTE_LINE + line);
    let request = prop_oneof![
        8 => (gpu(), line()).prop_map(|(gpu, line)| Read { gpu, line }),
        4 => (gpu(), line()).prop_map(|(gpu, line)| Write { gpu, line }),
        1 => (gpu(), line()).prop_map(|(gpu, line)| Atomic { gpu, line }),
        1 => remote().prop_map(|line| Read { gpu: 0, line }),
        1 => remote().prop_map(|line| Write { gpu: 0, line }),
        1 => remote().prop_map(|line| Invalidate { line }),
        1 => gpu().prop_map(|gpu| Release { gpu }),
        1 => line().prop_map(|line| Evict { line }),
        12 => Just(Answer),
    ];
    prop::collection::vec(request, 1..400)
}

/// Room for `entries` entries of so many lines.
fn shape(entries: u32, range_lines: u32) -> DirectoryShape {
    DirectoryShape { sets: 1, ways: entries, lines_per_entry: 1, range_lines, replacement: Some(Replacement::Lru) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With room for all entries, the banks of REC, of the baseline and of the ideal send the same messages in the same
    /// order, whatever is asked of them.
    #[test]
    fn rec_with_room_for_everything_is_the_baseline_with_room_for_everything(
        requests in requests(),
        shift in 0..7_u32,
        l2_lines in 1..12_u32,
    ) {
        let mut rec = Bank::new("rec", l2_lines, shape(LINES as u32, 1 << shift));
        let mut others = ["dir", "dir-ideal"].map(|name| Bank::new(name, l2_lines, shape(LINES as u32, 1)));
        for request in requests {
            let done = rec.step(request);
            for other in &mut others {
                prop_assert_eq!(&other.step(request), &done, "{:?}", request);
                for line in (0..LINES).chain(FIRST_REMOTE_LINE..FIRST_REMOTE_LINE + LINES) {
                    prop_assert_eq!((other.tracked(line), other.held(line)), (rec.tracked(line), rec.held(line)));
                }
            }
        }
    }

    /// However full its directory is, a write takes back copies of its own line and of no other; neighbours lose theirs
    /// only when their entry leaves.
    #[test]
    fn a_write_to_one_line_of_a_range_invalidates_that_line_alone(
        requests in requests(),
        shift in 0..7_u32,
        entries in 1..4_u32,
    ) {
        let mut bank = Bank::new("rec", 8, shape(entries, 1 << shift));
        for request in requests {
            let all = |bank: &Bank| (0..LINES).map(|line| bank.tracked(line).1).collect::<Vec<_>>();
            let before = all(&bank);
            let (_, sent) = bank.step(request);
            let told = bank.told(&sent);
            let after = all(&bank);
            let replaced = |line: usize| told.iter().any(|&(kind, other, _)| kind == "INV_REPL" && other == line as u64);
            for (line, (before, after)) in before.iter().zip(&after).enumerate() {
                match request {
                    Write { line: written, .. } | Atomic { line: written, .. } if written == line as u64 => {}
                    Read { line: read, .. } if read == line as u64 => {}
                    _ => prop_assert!(before == after || replaced(line), "{:?}: line {}", request, line),
                }
            }
            for (kind, line, _) in told {
                let written = match request {
                    Write { line, .. } | Atomic { line, .. } => Some(line),
                    _ => None,
                };
                prop_assert!(kind == "INV_REPL" || Some(line) == written, "{:?} takes line {} back", request, line);
            }
        }
    }
}
