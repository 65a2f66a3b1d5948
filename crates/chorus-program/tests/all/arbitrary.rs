//! Does any program file at all end in a program or a message?

use chorus_kernel::HostMemory;
use chorus_system::Scale;
use chorus_workloads::Workload;
use proptest::prelude::*;

use super::own::Folder;

/// A program file with every kind of key.
const EVERYTHING: &str = r#"title = "all"
modules = ["add.ptx"]
communicates = false
gpu = "each"
[sizes]
n = { quick = 32, medium = 64, paper = 128, min = 1, max = 256, multiple_of = 2, meaning = "elements" }
m = 3
[values]
k = "min(n / 2, max(m % 5, 1)) - (2 * 1)"
[graphs]
g = { nodes = "n", degree = 2, seed = 1 }
h = { nodes = "n", kind = "hash" }
[buffers]
x = { type = "u32", length = "n", iota = true }
y = { type = "f32", length = "n", random = { min = -1.0, max = 1.0, seed = 7 } }
z = { type = "s64", length = 4, values = [1, -2, "n"] }
r = { type = "u32", graph = "g.offsets", read_only = true }
c = { type = "u32", graph = "h.targets" }
f = { type = "u16", length = 9, hash = { factor = 3, seed = 4, modulo = 100 } }
[[steps]]
set = { buffer = "z", index = 3, value = 9 }
[[steps]]
repeat = 2
counter = "i"
steps = [
  { launch = "add", grid = [1, 1], block = 32, args = ["i + n", "x"], access = { x = "write" }, shared_bytes = 0 },
  { launch = "add", grid = 1, block = 1, args = [1, { buffer = "x", offset = 4 }] },
]
[[steps]]
until = { buffer = "x", index = 0, equals = 66 }
at_most = 5
steps = [{ launch = "add", grid = 1, block = 1, args = [1, "x"] }]
[[checks]]
buffer = "y"
flat = true
absolute = 1e-6
[[checks]]
buffer = "x"
equals = 66
first = 0
count = "k - k + 1"
"#;

/// Reads a program, examines it and lays it out.
fn try_all(folder: &Folder, text: &str) {
    let Ok(program) = folder.read(text) else { return };
    let sizes = program.sizes_at(Scale::Quick);
    if program.misfit(&sizes).is_none() {
        let build = || drop(program.prepare(&sizes, 1, &mut HostMemory::default()));
        // A change may make a kernel go wrong on the flat machine. Such a panic says so.
        if let Err(panic) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(build)) {
            let text = panic.downcast_ref::<String>().map_or("", String::as_str);
            assert!(text.starts_with("kernel ") || text.starts_with(chorus_program::PANIC), "{text}");
        }
    }
}

#[test]
fn the_program_with_every_key_is_right() {
    let folder = Folder::new("everything");
    let (verdict, _) = folder.run(EVERYTHING, &[]);
    assert_eq!(verdict.not_wrong(), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_programs_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..5), 1..4),
    ) {
        let folder = Folder::new("changed");
        let mut tokens: Vec<&str> = EVERYTHING.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).collect();
        for (at, other, kind) in changes {
            let (at, other) = (at.index(tokens.len()), other.index(tokens.len()));
            match kind {
                0 => drop(tokens.remove(at)),
                1 => tokens.insert(at, tokens[other]),
                2 => tokens[at] = tokens[other],
                3 => tokens.swap(at, other),
                _ => tokens[at] = ["-1 ", "18446744073709551616 ", "\"", "}", "é", "0 ", "nan "][other % 7],
            }
        }
        try_all(&folder, &tokens.concat());
    }

    #[test]
    fn any_text_ends_in_a_message(text in "\\PC{0,200}") {
        prop_assert!(Folder::new("text").read(&text).is_err());
    }
}
