//! Does a program file do what it says: contents, loops, writes of the host, checks, and text that threads print?

use chorus_kernel::{HostMemory, Verdict, flat};
use chorus_program::ProgramFile;
use chorus_system::Scale;
use chorus_workloads::Workload;

/// Adds `by` to the element of each thread, and says so.
pub const ADD: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u32 by, .param .u64 to)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u32 %r1, [by];
    ld.param.u64 %d1, [to];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r3, [%d3];
    add.u32 %r3, %r3, %r1;
    st.global.u32 [%d3], %r3;
    ret;
}
";

/// A folder with a module, and with other files.
pub struct Folder(std::path::PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("chorus-program-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Folder(path);
        folder.write("add.ptx", ADD.as_bytes());
        folder
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }

    /// Reads a program file that lies in the folder.
    pub fn read(&self, text: &str) -> Result<ProgramFile, String> {
        let path = self.0.join("program.toml").display().to_string();
        ProgramFile::parse(&path, text).map_err(|error| error.to_string().replace(&path, "program.toml"))
    }

    /// Runs a program on the flat machine with these sizes. Returns its verdict and its memory.
    pub fn run(&self, text: &str, sizes: &[(&str, u64)]) -> (Verdict, HostMemory) {
        let program = self.read(text).unwrap_or_else(|error| panic!("{error}"));
        let mut values = program.sizes_at(Scale::Quick);
        sizes.iter().for_each(|(key, value)| values.set(key, *value).unwrap());
        assert_eq!(program.misfit(&values), None);
        let mut memory = HostMemory::default();
        let mut built = program.prepare(&values, 1, &mut memory);
        while let Some(kernel) = built.next_kernel(&memory) {
            flat::run_kernel(&kernel, &memory).unwrap();
        }
        (built.check(&memory), memory)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The first words of a buffer.
pub fn words(memory: &HostMemory, buffer: usize, count: usize) -> Vec<u32> {
    let start = memory.buffers()[buffer].start;
    memory.words(start..start + count)
}

#[test]
fn loops_count_and_wait_and_the_host_writes_between_launches() {
    let text = r#"
        modules = ["add.ptx"]
        [sizes]
        n = 3
        [values]
        twice = "2 * n"
        [buffers]
        x = { type = "u32", length = 32, iota = { start = 10, step = 2 } }
        flag = { type = "u8", length = 7, fill = 1 }
        [[steps]]
        repeat = "n"
        counter = "i"
        [[steps.steps]]
        launch = "add"
        grid = 1
        block = 32
        args = ["i * twice", "x"]
        [[steps]]
        until = { buffer = "x", index = "n", equals = 100 }
        steps = [
            { launch = "add", grid = 1, block = "min(1, 5)", args = [1, { buffer = "x", offset = "4 * n" }] },
            { set = { buffer = "flag", index = 5, value = 255 } },
        ]
        [[checks]]
        buffer = "x"
        first = 3
        count = 1
        equals = 100
    "#;
    let folder = Folder::new("loops");
    let (verdict, memory) = folder.run(text, &[]);
    assert_eq!(verdict, Verdict::Checked);
    // Three passes with 0, 6 and 12.
    assert_eq!(words(&memory, 0, 5), [28, 30, 32, 100, 36]);
    assert_eq!(words(&memory, 1, 2), [0x0101_0101, 0x0001_ff01]);
    let (_, memory) = folder.run(text, &[("n", 1)]);
    assert_eq!(words(&memory, 0, 3), [10, 100, 14]);
}

#[test]
fn contents_come_from_files_graphs_and_generators_and_checks_find_what_is_wrong() {
    let folder = Folder::new("contents");
    folder.write("raw.bin", &[1, 0, 0, 0, 2, 0, 0, 0]);
    folder.write("graph.txt", b"0 1\n0 2\n2 0\n");
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
    let npy =
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), &1.5f64.to_le_bytes()];
    folder.write("one.npy", &npy.concat());
    let text = r#"
        modules = ["add.ptx"]
        [graphs]
        g = { file = "graph.txt" }
        [buffers]
        raw = { type = "u32", file = "raw.bin", length = 3 }
        one = { type = "f64", file = "one.npy" }
        row = { type = "u32", graph = "g.offsets" }
        col = { type = "u32", graph = "g.targets" }
        dice = { type = "s32", length = "g.edges * 100", random = { min = -1, max = 1 } }
        some = { type = "f32", length = 3, values = [0.5, 2] }
        [[steps]]
        launch = "add"
        grid = 1
        block = 1
        args = [1, "raw"]
        [[checks]]
        buffer = "one"
        equals = 1.25
        absolute = 0.1
        relative = 0.2
        [[checks]]
        buffer = "raw"
        file = "raw.bin"
        count = 2
    "#;
    let (verdict, memory) = folder.run(text, &[]);
    let wrong = verdict.not_wrong().unwrap_err().0;
    assert_eq!(wrong, "raw[0] is 2 instead of 1; 1 of 2 elements differ");
    assert_eq!(words(&memory, 0, 3), [2, 2, 0]);
    assert_eq!(words(&memory, 2, 4), [0, 2, 2, 3]);
    assert_eq!(words(&memory, 3, 3), [1, 2, 0]);
    let dice = words(&memory, 4, 300);
    assert!([-1i32 as u32, 0, 1].iter().all(|value| dice.contains(value)));
    assert_eq!(dice.iter().filter(|&&value| ![u32::MAX, 0, 1].contains(&value)).count(), 0);
    assert_eq!(words(&memory, 5, 3), [0.5f32.to_bits(), 2f32.to_bits(), 0]);
}

#[test]
fn the_identity_follows_the_contents_of_every_file() {
    let text = "modules = [\"add.ptx\"]\n[buffers]\nx = { type = \"u8\", file = \"x\" }\n\
                [[steps]]\nlaunch = \"add\"\ngrid = 1\nblock = 1\nargs = [1, \"x\"]\n";
    let folder = Folder::new("identity");
    let of = |bytes: &[u8], text: &str| {
        folder.write("x", bytes);
        folder.read(text).unwrap().own_file().unwrap().sha256
    };
    let first = of(b"abcd", text);
    assert_eq!(first.len(), 64);
    assert_eq!(first, of(b"abcd", text));
    assert_ne!(first, of(b"abce", text));
    assert_ne!(first, of(b"abcd", &text.replace("[1, ", "[2, ")));
    folder.write("add.ptx", ADD.replace("sm_70", "sm_75").as_bytes());
    assert_ne!(first, of(b"abcd", text));
}

#[test]
fn a_program_is_passed_over_again_from_the_first_contents_of_its_buffers() {
    let text = r#"
        modules = ["add.ptx"]
        reset = ["x"]
        [buffers]
        x = { type = "u32", length = 40, iota = { start = 1, step = 1 } }
        y = { type = "u32", length = 40 }
        [[steps]]
        launch = "add"
        grid = 1
        block = 32
        args = [5, "x"]
        [[steps]]
        launch = "add"
        grid = 1
        block = 32
        args = [1, "y"]
        [[checks]]
        buffer = "x"
        flat = true
        [readings]
        halves = { buffer = "x", first = 1, count = 2, per = 2 }
    "#;
    let folder = Folder::new("passes");
    let (verdict, memory) = folder.run(text, &[("passes", 3)]);
    assert_eq!(verdict, Verdict::Checked);
    assert_eq!(words(&memory, 0, 3), [6, 7, 8]);
    assert_eq!(words(&memory, 0, 40)[39], 40);
    assert_eq!(words(&memory, 1, 2), [3, 3], "it is not reset");
    let program = folder.read(text).unwrap();
    let mut other = HostMemory::default();
    let built = program.prepare(&program.sizes_at(Scale::Quick), 1, &mut other);
    assert_eq!(built.readings(&memory), [("halves".to_owned(), vec![3.5, 4.0])]);
    let wrong = text.replace("count = 2, per", "count = 40, per");
    let program = folder.read(&wrong).unwrap();
    let misfit = program.misfit(&program.sizes_at(Scale::Quick)).unwrap();
    assert!(misfit.contains("40"), "{misfit}");
}

#[test]
fn launches_are_replayed_behind_emptied_caches_and_restored_buffers() {
    let text = r#"
        modules = ["add.ptx"]
        reset = ["x"]
        [buffers]
        x = { type = "u32", length = 40, iota = { start = 1, step = 1 } }
        small = { type = "u32", length = 40 }
        large = { type = "u32", length = 524288 }
        [[steps]]
        launch = "add"
        grid = 1
        block = 32
        args = [5, "x"]
        [[steps]]
        launch = "add"
        grid = 1
        block = 32
        args = [1, "small"]
    "#;
    let folder = Folder::new("replays");
    let names = |text: &str, small: [u32; 2]| {
        let program = folder.read(text).unwrap();
        let mut sizes = program.sizes_at(Scale::Quick);
        sizes.set("replay_mib", 1).unwrap();
        let mut memory = HostMemory::default();
        let mut built = program.prepare(&sizes, 1, &mut memory);
        let mut names = Vec::new();
        while let Some(kernel) = built.next_kernel(&memory) {
            flat::run_kernel(&kernel, &memory).unwrap();
            names.push(kernel.name.clone());
        }
        assert_eq!(words(&memory, 0, 3), [6, 7, 8], "each pass begins with the first contents");
        assert_eq!(words(&memory, 1, 2), small, "what is written back is what was there");
        names.join(", ")
    };
    let emptied = "add, add, set x, read other memory, add, read other memory, add";
    let before = "read other memory, set x, read small, add";
    assert_eq!(names(text, [3, 3]), format!("{emptied}, set x, {before}, {before}"), "small buffers share a piece");
    let (once, _) = text.rsplit_once("[[steps]]").unwrap();
    let before = "add, set x, read other memory, set x, read small, add";
    assert_eq!(names(once, [0, 0]), before, "the first pass has found empty caches");
    let long = text.replace("x = { type = \"u32\", length = 40", "x = { type = \"u32\", length = 524288");
    let before = "read other memory, set x, add";
    assert_eq!(names(&long, [3, 3]), format!("{emptied}, set x, {before}, {before}"));
}
