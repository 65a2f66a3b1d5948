//! Mistakes in traces, and the messages about them.

use std::path::Path;

use chorus_trace::Trace;

use crate::folder::{Folder, block, header};

const EXIT: &str = "0040 ffffffff 0 EXIT 0 0 0";

fn message(path: &Path) -> String {
    Trace::open(path).err().map(|error| error.to_string()).expect("it is refused")
}

/// The message about a kernel file with this text, without its folder.
fn about(text: &str) -> String {
    let folder = Folder::new();
    let path = folder.file("k.traceg", text);
    message(&path).replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn every_mistake_in_a_kernel_has_its_line() {
    let good = header(5, 80) + &block(&[EXIT]);
    let cases = [
        (
            good.replace("version = 5", "version = 9"),
            "k.traceg:9: `accelsim tracer version` is `9`; accepted: a version",
        ),
        (good.replace("insts = 1", "insts = 2"), "k.traceg:20: found `#END_TB`; accepted: a program counter"),
        (good.replace("#END_TB\n", "").replace("insts = 1", "insts = 9"), "the file ends after 1 of 9 instructions"),
        (good.replace("warp = 0", "warp = 32"), "k.traceg:16: found `warp = 32`; accepted: `warp = N`"),
        (good.replace("ffffffff", "fffffff"), "k.traceg:18: found `fffffff`; accepted: a mask of 8 hexadecimal digits"),
        (header(5, 80).replace("#traces", "#trace"), "k.traceg:11: found `#trace format = whatever`; accepted: `-KEY"),
        (String::new(), "k.traceg:1: the file ends within its header"),
        (header(5, 80), "there is no kernel with a work-group in this trace"),
        (format!("{good}junk\n"), "found `junk`; accepted: `#BEGIN_TB`"),
    ];
    for (text, expected) in cases {
        let message = about(&text);
        assert!(message.contains(expected), "{message}\nexpected {expected}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn impossible_addresses_are_refused() {
    let load = |address: &str| {
        about(&(header(5, 80) + &block(&[&format!("0000 00000003 1 R8 LDG.E 1 R2 4 1 {address} 0"), EXIT])))
    };
    assert!(load("0xfffffffffffffff0 4").contains("k.traceg:18: address 0xfffffffffffffff0 is impossible"));
    assert!(load("0x10 -64").contains("address -0x30 is impossible"));
}

#[test]
fn a_line_without_end_is_refused_when_it_is_too_long() {
    let message = about(&(header(5, 80) + &"x".repeat(3 << 20)));
    assert!(message.starts_with("k.traceg:12: has more than 1048576 bytes in one line"), "{message}");
}

#[test]
fn lists_are_checked_line_by_line() {
    let folder = Folder::new();
    let list = |text: &str| {
        folder.file("kernelslist.g", text);
        message(folder.path())
    };
    folder.file("k.traceg", header(5, 80) + &block(&[EXIT]));
    assert!(list("k.traceg\nkernel-2.traceg\n").contains("kernelslist.g:2: there is no file"));
    let compact = list("kernel-1.tracez\n");
    assert!(
        compact.contains("kernelslist.g:1: kernel-1.tracez: the compact format `.tracez` is not read"),
        "{compact}"
    );
    assert!(list("kernel-1.trace\n").contains("has not been through Accel-Sim's post-processor"));
    assert!(list("MemcpyHtoD,0x10\n").contains("accepted: a copy such as"));
    assert!(
        list("MemcpyHtoD,0x10,100000000000000\nk.traceg").contains("kernelslist.g:1: the trace uses more than 8 GiB")
    );
    assert!(list("").contains("there is no kernel"));
    folder.file("kernelslist.g", "MemcpyDtoH,x\nncclAllReduce\n\nk.traceg\n");
    let trace = Trace::open(folder.path()).unwrap();
    assert_eq!((trace.kernels(), trace.warnings().len()), (1, 2), "{:?}", trace.warnings());
}

#[test]
fn a_missing_list_names_what_makes_one() {
    let folder = Folder::new();
    assert!(message(folder.path()).ends_with("kernelslist.g: there is no such file"));
    folder.file("kernelslist", "kernel-1.trace\n");
    assert!(message(folder.path()).contains("hint: Accel-Sim's post-processor makes"));
}

#[test]
fn garbage_that_is_called_compressed_is_refused() {
    let folder = Folder::new();
    for contents in [&b""[..], b"no xz at all", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"] {
        let path = folder.file("k.traceg.xz", contents);
        assert!(message(&path).contains("k.traceg.xz:1: cannot be read: "), "{}", message(&path));
    }
}
