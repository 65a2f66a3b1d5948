//! Does every mistake in a program file get one message that names line and key, and says what would be accepted?

use chorus_system::Scale;
use chorus_workloads::Workload;

use super::own::Folder;

const RIGHT: &str = r#"modules = ["add.ptx"]
[sizes]
n = { quick = 32, medium = 64, paper = 128 }
[buffers]
x = { type = "u32", length = "n" }
[[steps]]
launch = "add"
grid = 1
block = "n"
args = ["n", "x"]
[[checks]]
buffer = "x"
equals = "n"
"#;

/// The message about a program in which one text is replaced by another.
fn message(folder: &Folder, from: &str, to: &str) -> String {
    assert!(RIGHT.contains(from), "{from}");
    match folder.read(&RIGHT.replacen(from, to, 1)) {
        Err(message) => message,
        Ok(program) => program.misfit(&program.sizes_at(Scale::Quick)).unwrap_or_default(),
    }
}

#[test]
fn a_right_program_has_no_mistake() {
    let folder = Folder::new("right");
    assert_eq!(message(&folder, "n", "n"), "");
}

#[test]
fn a_file_of_another_format_is_refused_before_its_keys_are_read() {
    let folder = Folder::new("format");
    assert_eq!(message(&folder, "modules", "format = 1\nmodules"), "");
    let message = message(&folder, "modules", "format = 2\nmodule");
    assert!(message.contains("program.toml:1: key `format` is 2; accepted: 1, the format of Chorus "), "{message}");
}

#[test]
fn mistakes_in_keys_and_names_are_named_with_what_is_accepted() {
    let folder = Folder::new("names");
    let cases = [
        ("launch =", "lunch =", "program.toml:6: key `steps[0]`: a step has one of the keys `launch`, `set`, `repeat`"),
        (
            "block =",
            "blocks =",
            "program.toml:6: key `steps[0]`: there is no key `block`, but `blocks`: the threads of a block, as in",
        ),
        (
            "\"u32\"",
            "\"u33\"",
            "program.toml:5: key `buffers.x.type`: there is no type `u33`; did you mean `u32`? known: `u8`",
        ),
        ("\"u32\"", "32", "program.toml:5: key `buffers.x.type`: `32` is given; expected the name of a type"),
        ("= \"add\"", "= \"ad\"", "key `steps[0].launch`: there is no entry `ad`; did you mean `add`? known: `add`"),
        (
            "\"x\"]",
            "\"y\"]",
            "program.toml:10: key `steps[0].args[1]`: there is no buffer or value `y`; known: `x`, `n`",
        ),
        ("\"n\" }", "\"m\" }", "program.toml:5: key `buffers.x.length`: there is no value `m`; known: `n`"),
        ("add.ptx", "sub.ptx", "program.toml:1: key `modules[0]`: "),
        ("quick = 32, ", "", "key `sizes.n`: there is no key `quick`: the value at this scale"),
        ("length = \"n\"", "lenght = \"n\"", "key `buffers.x.lenght`: there is no such key; did you mean `length`?"),
        (
            "length = \"n\"",
            "length = \"n\", filll = 1",
            "key `buffers.x.filll`: there is no such key; did you mean `fill`? accepted: ",
        ),
        ("length = \"n\"", "length = \"n\", fill = 1, zero = true", "it does not go together with key `zero`"),
        ("equals", "equal", "there is no key for what is expected: `flat = true`"),
        ("[sizes]", "[sizes]\nx = 1", "something else is called `x` already"),
        ("launch", "stream = 1\nlaunch", "the launches of a program run one after the other"),
        ("modules", "gpu = \"all\"\nmodules", "program.toml:1: key `gpu`: `all` is given; expected \"machine\""),
        ("modules", "modules = [", "program.toml:1: "),
    ];
    for (from, to, expected) in cases {
        let message = message(&folder, from, to);
        assert!(message.contains(expected), "{from} -> {to}:\n{message}\n{expected}");
    }
}

#[test]
fn values_that_cannot_be_are_refused_before_anything_runs() {
    let folder = Folder::new("values");
    let cases = [
        ("[\"n\", \"x\"]", "[\"n\"]", "1 arguments are given; `add` takes 2: by (integer or address of 4 bytes), to ("),
        ("[\"n\", \"x\"]", "[\"x\", \"x\"]", "an address has 8 bytes, and `by` has 4"),
        (
            "[\"n\", \"x\"]",
            "[\"pow2(32)\", \"x\"]",
            "it is 4294967296; an argument of 4 bytes is from -2147483648 to 4294967295",
        ),
        ("\"x\"]", "{ buffer = \"x\", offset = \"4 * n + 1\" }]", "it is 129; an offset in bytes is from 0 to 128"),
        ("\"n\" }", "\"n / (n - 32)\" }", "program.toml:5: key `buffers.x.length`: 32 is divided by zero"),
        ("\"n\" }", "\"n - 32\" }", "it is 0; a number of elements is from 1 to 1073741824"),
        ("\"n\" }", "\"pow2(40)\" }", "a number of elements is from 1 to"),
        ("\"n\" }", "\"pow2(30)\" }\ny = { type = \"u8\", length = 1 }", "at most 4294967296 (4 GiB) are accepted"),
        ("block = \"n\"", "block = [32, 33]", "a block has 1 to 1024 threads, not 1056"),
        ("grid = 1", "grid = [65536, 65536, 2]", "a grid has fewer than 2^32 blocks"),
        ("equals = \"n\"", "equals = -1", "it is -1; an element of type u32 is from 0 to 4294967295"),
        ("equals = \"n\"", "equals = 1\nfirst = 33", "it is 33; a first element is from 0 to 32"),
        ("equals = \"n\"", "equals = 1\nabsolute = 1", "tolerances are for floats"),
        (
            "launch",
            "repeat = \"pow2(31)\"\nsteps = [{ set = { buffer = \"x\", index = 0, value = 0 } }]\n[[steps]]\nlaunch",
            "more than 1048576 launches and writes",
        ),
    ];
    for (from, to, expected) in cases {
        let message = message(&folder, from, to);
        assert!(message.contains(expected), "{from} -> {to}:\n{message}\n{expected}");
    }
}
