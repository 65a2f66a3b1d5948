//! Does every mistake get one message that names place, key, what was given and what is accepted?

use chorus_system::{SYSTEMS, Scale, SystemError, resolve, resolve_text};

fn shipped() -> &'static str {
    SYSTEMS[0].text
}

/// The error of a file made from the shipped one by replacing a piece of it.
fn edited(old: &str, new: &str) -> SystemError {
    assert!(shipped().contains(old), "the shipped file has no {old:?}");
    resolve_text("my.toml", &shipped().replacen(old, new, 1), Scale::Paper, &[]).expect_err("must be refused")
}

#[track_caller]
fn check_file(old: &str, new: &str, expected: &str) {
    let error = edited(old, new);
    let (line, _) = error.place().and_then(|place| place.line_and_column()).expect("an error inside a file");
    assert_eq!(error.to_string(), expected.replace("LINE", &line.to_string()));
    let text = shipped().replacen(old, new, 1);
    let reported = text.lines().nth(line - 1).expect("the reported line exists");
    let mistake = new.lines().last().expect("an edit is not empty");
    assert!(reported.contains(mistake.trim()), "line {line} is {reported:?}, the mistake is {mistake:?}");
}

fn set(overrides: &[&str]) -> SystemError {
    let overrides: Vec<String> = overrides.iter().map(|&text| text.to_owned()).collect();
    resolve("tc", Scale::Paper, &overrides).expect_err("must be refused")
}

#[track_caller]
fn check_set(text: &str, expected: &str) {
    assert_eq!(set(&[text]).to_string(), expected);
}

#[test]
fn an_unknown_system_lists_the_known_ones_and_suggests_the_nearest() {
    let error = resolve("tcc", Scale::Quick, &[]).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "unknown system `tcc`; did you mean `tc`? known: `tc`, `hmg`, `rec`, `rec-8gpu`, `rec-16gpu`, \
         `rec-64gpu`, `rec-nvidia`, `cpelide`, `cpelide-2`, `cpelide-6`, `cpelide-7`, `cpelide-8`, `cpelide-16`, \
         `cpelide-mono`, `spandex`, `spandex-hier`, `h200`; or the path of a file that ends in .toml"
    );
    let error = resolve("fermi", Scale::Quick, &[]).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "unknown system `fermi`; known: `tc`, `hmg`, `rec`, `rec-8gpu`, `rec-16gpu`, `rec-64gpu`, \
         `rec-nvidia`, `cpelide`, `cpelide-2`, `cpelide-6`, `cpelide-7`, `cpelide-8`, `cpelide-16`, `cpelide-mono`, `spandex`, `spandex-hier`, `h200`; or the path of a file that ends in .toml"
    );
}

#[test]
fn an_unknown_scale_lists_the_scales() {
    let error = "quik".parse::<Scale>().expect_err("must be refused");
    assert_eq!(error.to_string(), "unknown scale `quik`; did you mean `quick`? accepted: `quick`, `medium`, `paper`");
}

#[test]
fn a_missing_file_is_named() {
    let error = resolve("no/such.toml", Scale::Quick, &[]).expect_err("must be refused");
    let text = error.to_string();
    assert!(text.starts_with("cannot read system file no/such.toml: no such file"), "{text}");
}

#[test]
fn a_directory_is_not_a_system_file() {
    let error = resolve("./", Scale::Quick, &[]).expect_err("must be refused");
    assert!(error.to_string().starts_with("cannot read system file ./: "), "{error}");
}

#[test]
fn a_file_that_is_not_text_is_refused() {
    let path = std::env::temp_dir().join(format!("chorus-system-not-text-{}.toml", std::process::id()));
    std::fs::write(&path, b"name = \"\xff\"").expect("the temporary directory can be written");
    let error = resolve(path.to_str().expect("a UTF-8 path"), Scale::Quick, &[]).expect_err("must be refused");
    std::fs::remove_file(&path).expect("the file can be removed");
    assert!(error.to_string().ends_with(": it is not UTF-8 text (first bad byte at offset 8)"), "{error}");
}

#[test]
fn broken_toml_names_file_line_and_column() {
    let error = resolve_text("my.toml", "name = \"a\"\ntitle = \n", Scale::Paper, &[]).expect_err("must be refused");
    let text = error.to_string();
    assert!(text.starts_with("my.toml:2:9: not valid TOML: "), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn a_file_of_another_format_is_refused_before_its_keys_are_read() {
    let read = |text: &str| resolve_text("my.toml", text, Scale::Paper, &[]);
    let error = read("unheard_of = 1\nformat = 2\n").expect_err("must be refused");
    let text = error.to_string();
    assert!(text.starts_with("my.toml:2:10: key `format` is 2; accepted: 1, the format of Chorus "), "{text}");
    assert!(text.contains("; use the version of Chorus that the file was written for"), "{text}");
    assert!(error.place().is_some());
    read(&format!("format = 1\n{}", shipped())).expect("the format of this version may be stated");
}

#[test]
fn a_key_given_twice_is_refused_at_the_second() {
    let error = edited("ways = 4 #", "ways = 4\nways = 4 #");
    assert!(error.to_string().contains(": not valid TOML: duplicate key"), "{error}");
}

#[test]
fn an_unknown_key_in_a_table_is_placed_and_corrected() {
    check_file(
        "size_bytes = 32768",
        "sise_bytes = 32768",
        "my.toml:LINE:1: unknown key `l1.sise_bytes`; did you mean `size_bytes`? accepted in [l1]: \
         `size_bytes`, `ways`, `line_bytes`, `banks`, `mshrs`, `replacement`, `latency_cycles`, `atomic_percent`, `sector_bytes`, `sectors_in_flight`",
    );
}

#[test]
fn an_unknown_key_at_the_top_lists_the_tables() {
    check_file(
        "[clocks]",
        "[cloks]",
        "my.toml:LINE:2: unknown key `cloks`; did you mean `clocks`? accepted: `name`, `title`, \
         `source`, `hierarchy`, `clocks`, `core`, `instructions`, `fences`, `cpu`, `l1`, `l2`, `directory`, `network`, \
         `tu`, `inter_gpm`, `inter_gpu`, `memory`, `l3`, `dram`, `timing`, `command_processor`, `energy`, \
         `access_energy`, `watchdog`, `scale`, `base`, `format`",
    );
}

#[test]
fn an_unknown_scale_table_is_refused() {
    check_file(
        "[scale.paper]",
        "[scale.papers]",
        "my.toml:LINE:8: unknown key `scale.papers`; did you mean `paper`? accepted in [scale]: `quick`, \
         `medium`, `paper`",
    );
}

#[test]
fn an_unknown_key_in_a_scale_is_placed_even_when_another_scale_is_asked_for() {
    check_file(
        "banks = 4 ",
        "bank = 4 ",
        "my.toml:LINE:1: unknown key `scale.quick.l2.bank`; did you mean `banks`? accepted in \
         [scale.quick.l2]: `banks`, `interleave_lines`, `bank_bytes`, `ways`, `mshrs`, `replacement`, \
         `tag_latency_cycles`, `data_latency_cycles`, `atomic_percent`, `repeat_percent`, `store_percent`, `bank_order`",
    );
}

#[test]
fn a_string_for_an_integer_is_a_wrong_type() {
    check_file(
        "size_bytes = 32768",
        "size_bytes = \"32K\"",
        "my.toml:LINE:14: key `l1.size_bytes` is given as the string `\"32K\"`; expected a whole number from 0 to 4294967295, such as 65536, 64KiB, 2^16 or 1e6",
    );
}

#[test]
fn a_negative_and_an_oversized_integer_are_out_of_range() {
    check_file(
        "ways = 4 ",
        "ways = -4 ",
        "my.toml:LINE:8: key `l1.ways` is given as the integer `-4`; expected a whole number from 0 to 4294967295, such as 65536, 64KiB, 2^16 or 1e6",
    );
    check_file(
        "ways = 4 ",
        "ways = 4294967296 ",
        "my.toml:LINE:8: key `l1.ways` is given as the integer `4294967296`; expected a whole number from 0 to 4294967295, such as 65536, 64KiB, 2^16 or 1e6",
    );
    check_file(
        "cycles = 10_000_000_000 ",
        "cycles = 9223372036854775808 ",
        "my.toml:LINE:10: key `watchdog.cycles` is given as the integer `9223372036854775808`; expected a whole number from 0 to \
         9223372036854775807, such as 65536, 64KiB, 2^16 or 1e6",
    );
}

#[test]
fn an_unknown_name_of_a_choice_lists_the_choices() {
    check_file(
        "model = \"gddr5\"",
        "model = \"gddr4\"",
        "my.toml:LINE:9: key `dram.model` is given as the string `\"gddr4\"`; did you mean `gddr5`? \
         expected one of `fixed`, `gddr5`",
    );
}

#[test]
fn a_value_in_place_of_a_table_is_a_wrong_type() {
    let error = resolve_text("my.toml", "network = 3\n", Scale::Paper, &[]).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "my.toml:1:11: key `network` is given as the integer `3`; expected a table with the keys `kind`, \
         `flit_bytes`, `header_bytes`, `vc_buffer_flits`, `latency_cycles`, `width`, `diameter_cycles`, \
         `bank_latency_cycles`, `hop_cycles`, `group_size`, `local_cycles`, `global_cycles`"
    );
    let error = resolve_text("my.toml", "[[scale]]\n", Scale::Paper, &[]).expect_err("must be refused");
    assert!(
        error
            .to_string()
            .ends_with("key `scale` is given as an array; expected a table with the keys `quick`, `medium`, `paper`"),
        "{error}"
    );
}

#[test]
fn missing_keys_are_named() {
    assert_eq!(
        edited("ways = 8 # source: Table 4, L2 shared bank\n", "").to_string(),
        "my.toml: missing key `l2.ways`"
    );
    let error = resolve_text("my.toml", "[scale.paper]", Scale::Paper, &[]).expect_err("must be refused");
    assert!(
        error.to_string().starts_with("my.toml: missing keys `name`, `title`, `source`, `clocks.core_mhz`"),
        "{error}"
    );
}

#[test]
fn a_file_that_speaks_of_modules_says_where_its_memory_lies_and_what_joins_them() {
    let error = edited("[clocks]", "[hierarchy]\ngpus = 2\ngpms = 1\n\n[clocks]").to_string();
    assert_eq!(error, "my.toml: missing keys `memory.page_bytes`, `memory.alignment_bytes`, `memory.placement`");
    check_set(
        "hierarchy.gpus=2",
        "--set hierarchy.gpus=2: key `hierarchy.gpus` is 2; accepted: 1 without the table [inter_gpu], which machines with \
         more of them have",
    );
    check_set(
        "hierarchy.gpms=2",
        "--set hierarchy.gpms=2: key `hierarchy.gpms` is 2; accepted: 1 without the table [inter_gpm], which machines with \
         more of them have",
    );
}

#[test]
fn a_table_that_machines_may_lack_is_given_as_a_whole() {
    check_set("cpu.count=2", "--set cpu.count=2: missing keys `cpu.clock_mhz`, `cpu.store_buffer_entries`");
}

#[test]
fn a_section_that_files_may_leave_out_is_given_as_a_whole() {
    let error = edited("[clocks]", "[memory]\npage_bytes = 4096\n\n[clocks]").to_string();
    assert_eq!(error, "my.toml: missing keys `memory.alignment_bytes`, `memory.placement`");
}

#[test]
fn more_agents_than_can_be_named_are_refused() {
    let set = ["hierarchy.gpus=64", "hierarchy.gpms=1", "l2.banks=1024"].map(str::to_owned);
    let error = resolve("hmg", Scale::Paper, &set).expect_err("must be refused").to_string();
    let expected = "key `l2.banks` is 1024; accepted: at most 64, so that 64 modules have at most 4096";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_scale_that_the_file_does_not_have_names_the_system_and_the_scales_that_it_has() {
    let error = edited("[scale.paper]", "");
    assert_eq!(error.to_string(), "my.toml: system `tc` has no scale `paper`; it has: `quick`");
    let error = resolve("tc", Scale::Medium, &[]).expect_err("must be refused");
    let message = "systems/tc.toml: system `tc` has no scale `medium`; it has: `quick`, `paper`";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_file_without_scales_misses_the_one_that_is_asked_for() {
    let without = &shipped()[..shipped().find("[scale.").expect("the shipped file has scales")];
    let error = resolve_text("my.toml", without, Scale::Medium, &[]).expect_err("must be refused");
    assert_eq!(error.to_string(), "my.toml: missing key `scale.medium`");
}

#[test]
fn an_override_without_a_value_is_malformed() {
    check_set("l1.size_bytes", "--set l1.size_bytes: expected KEY=VALUE, for example l1.size_bytes=65536");
    check_set("=3", "--set =3: expected KEY=VALUE, for example l1.size_bytes=65536");
}

#[test]
fn an_override_of_an_unknown_key_lists_its_table_and_suggests() {
    check_set(
        "l1.wayz=4",
        "--set l1.wayz=4: unknown key `l1.wayz`; did you mean `l1.ways`? accepted in [l1]: `size_bytes`, \
         `ways`, `line_bytes`, `banks`, `mshrs`, `replacement`, `latency_cycles`, `atomic_percent`, `sector_bytes`, `sectors_in_flight`",
    );
    check_set(
        "flit_bytes=64",
        "--set flit_bytes=64: unknown key `flit_bytes`; did you mean `network.flit_bytes`? accepted: \
         `name`, `title`, `source`, `hierarchy`, `clocks`, `core`, `instructions`, `fences`, `cpu`, `l1`, `l2`, `directory`, \
         `network`, `tu`, `inter_gpm`, `inter_gpu`, `memory`, `l3`, `dram`, `timing`, `command_processor`, \
         `energy`, `access_energy`, `watchdog`",
    );
}

#[test]
fn an_override_of_a_wrong_type_says_what_is_expected() {
    check_set(
        "l1.size_bytes=big",
        "--set l1.size_bytes=big: key `l1.size_bytes` is given as `big`; expected a whole number from 0 to 4294967295, such as 65536, 64KiB, 2^16 or 1e6",
    );
    check_set(
        "l1.size_bytes=",
        "--set l1.size_bytes=: key `l1.size_bytes` is given as ``; expected a whole number from 0 to 4294967295, such as 65536, 64KiB, 2^16 or 1e6",
    );
    check_set(
        "core.scheduler=greedy",
        "--set core.scheduler=greedy: key `core.scheduler` is given as `greedy`; expected one of `loose-round-robin`, \
         `greedy-then-oldest`",
    );
    check_set(
        "core.atomic_order=acquire",
        "--set core.atomic_order=acquire: key `core.atomic_order` is given as `acquire`; expected one of `relaxed`, `acq-rel`",
    );
    check_set(
        "core.atomic_lanes=together",
        "--set core.atomic_lanes=together: key `core.atomic_lanes` is given as `together`; expected one of `one-by-one`, \
         `combined`",
    );
    check_set(
        "energy.flit_pj=true",
        "--set energy.flit_pj=true: key `energy.flit_pj` is given as `true`; expected a number",
    );
}

#[test]
fn an_override_that_is_not_whole_or_too_large_says_what_is_expected() {
    for value in ["1e-3", "2^32", "4GiB", "32KB", "1.5"] {
        check_set(
            &format!("l1.size_bytes={value}"),
            &format!(
                "--set l1.size_bytes={value}: key `l1.size_bytes` is given as `{value}`; expected a whole number from 0 to \
                 4294967295, such as 65536, 64KiB, 2^16 or 1e6"
            ),
        );
    }
}

#[test]
fn an_override_sets_values_and_not_tables() {
    check_set(
        "network=3",
        "--set network=3: key `network` is given as `3`; expected a table with the keys `kind`, `flit_bytes`, `header_bytes`, \
         `vc_buffer_flits`, `latency_cycles`, `width`, `diameter_cycles`, `bank_latency_cycles`, `hop_cycles`, \
         `group_size`, `local_cycles`, `global_cycles`",
    );
    check_set(
        "l1.ways.x=3",
        "--set l1.ways.x=3: key `l1.ways` is given as a table; expected a whole number from 0 to 4294967295, such as 65536, 64KiB, 2^16 or 1e6",
    );
}

#[test]
fn control_characters_and_long_text_do_not_reach_a_message() {
    let text = set(&[&format!("\u{1b}[31m\n{}=1", "x".repeat(10_000))]).to_string();
    assert!(!text.contains(['\u{1b}', '\n']) && text.len() < 500, "{text}");
}

#[test]
fn impossible_geometry_in_a_file_is_placed_at_its_key() {
    check_file(
        "size_bytes = 32768",
        "size_bytes = 32000",
        "my.toml:LINE:14: key `l1.size_bytes` is 32000; accepted: a multiple of l1.ways x l1.line_bytes = 4 x 128 = 512",
    );
}

#[test]
fn impossible_geometry_is_placed_at_the_override_that_made_it() {
    check_set(
        "l1.ways=3",
        "--set l1.ways=3: key `l1.size_bytes` is 32768; accepted: a multiple of l1.ways x l1.line_bytes = 3 x 128 = 384",
    );
    check_set("core.count=1025", "--set core.count=1025: key `core.count` is 1025; accepted: 1 to 1024");
}

#[test]
fn every_impossible_size_is_refused_with_what_is_accepted() {
    refused_with(&[
        ("name=T C", "1 to 64 lower-case letters, digits and hyphens"),
        ("title=\"\"", "one line of text"),
        ("hierarchy.gpus=0", "1 to 64"),
        ("hierarchy.gpus=65", "1 to 64"),
        ("hierarchy.gpms=65", "1 to 64, so that hierarchy.gpus x hierarchy.gpms = 1 x gpms is at most 64"),
        ("clocks.l2_mhz=0", "1 MHz or more"),
        ("core.count=0", "1 to 1024"),
        ("core.wavefronts=0", "1 to 64"),
        ("core.lanes=33", "32, the width that kernels are written for"),
        ("core.registers=0", "1 or more"),
        ("core.work_groups=0", "1 to 1024"),
        ("core.loads_in_flight=0", "1 to 1024"),
        ("core.lsu_queue=0", "1 to 65536"),
        ("core.store_buffer_entries=65537", "0 to 65536"),
        ("core.lds_latency_cycles=4294967295", "0 to 1000000"),
        ("l1.line_bytes=4", "8, 64 or 128"),
        ("l1.line_bytes=96", "8, 64 or 128"),
        ("l1.line_bytes=256", "8, 64 or 128"),
        ("l1.ways=0", "1 to 256"),
        ("l1.size_bytes=0", "a multiple of l1.ways x l1.line_bytes = 4 x 128 = 512"),
        ("l1.size_bytes=2147483648", "at most 268435455, so that core.count = 16 of them stay within 4294967295 bytes"),
        ("l1.mshrs=0", "1 to 65536"),
        ("l1.latency_cycles=0", "1 to 1000000"),
        ("l2.banks=0", "1 to 1024"),
        ("l2.interleave_lines=3", "a power of two from 1 to 4096"),
        ("l2.bank_bytes=1000", "a multiple of l2.ways x l1.line_bytes = 8 x 128 = 1024"),
        ("l2.bank_bytes=4294966272", "at most 536870911, so that l2.banks = 8 of them stay within 4294967295 bytes"),
        ("network.flit_bytes=0", "1 to 1024"),
        ("network.header_bytes=33", "at most network.flit_bytes = 32, since a header travels in one flit"),
        ("network.vc_buffer_flits=0", "1 to 65536"),
        ("memory.page_bytes=5000", "a power of two from 1 to 1073741824"),
        ("memory.page_bytes=64", "at least l1.line_bytes = 128"),
        ("dram.bytes_per_cycle=0", "1 to 1024"),
        ("dram.queue=1", "2 to 65536"),
        ("dram.banks=0", "1 to 1024"),
        ("dram.row_bytes=2000", "a multiple of l1.line_bytes = 128"),
        ("dram.timing.t_ras=10001", "0 to 10000"),
        ("energy.flit_pj=-0.5", "a finite number from 0 to 1e12"),
        ("energy.flit_pj=nan", "a finite number from 0 to 1e12"),
        ("energy.vc_buffer_uw=1e999", "a finite number from 0 to 1e12"),
        ("energy.vcs_per_network=0", "1 to 1024"),
        ("watchdog.idle_cycles=0", "1 to 1000000000000"),
        ("watchdog.cycles=1000000000001", "1 to 1000000000000"),
    ]);
}

#[test]
fn impossible_sizes_of_what_not_every_machine_has_are_refused_too() {
    refused_on(
        "cpelide",
        &[
            ("l3.ways=0", "1 to 256"),
            ("l3.bank_bytes=1000", "a multiple of l3.ways x l1.line_bytes = 16 x 64 = 1024"),
            ("l3.bytes_per_cycle=0", "1 to 1024"),
            ("l3.kind=coherent", "`memory-side` on machines of several modules; this one has 4"),
            ("command_processor.mhz=0", "1 to 1000000"),
            ("command_processor.rows=0", "1 to 65536"),
            ("command_processor.sets=0", "1 to 1024"),
            ("access_energy.l2_pj=-1", "a finite number from 0 to 1e12"),
            ("access_energy.l1i_instructions=0", "1 to 1024"),
            ("memory.alignment_bytes=128", "256 or more, so that two buffers never share a line"),
        ],
    );
    refused_on(
        "hmg",
        &[
            ("directory.ways=0", "1 to 256"),
            ("directory.entries=1000", "a multiple of directory.ways x l2.banks = 16 x 4 = 64"),
            ("directory.lines_per_entry=3", "a power of two from 1 to 8"),
            ("directory.lines_per_entry=16", "a power of two from 1 to 8"),
            (
                "directory.lines_per_entry=8",
                "at most l2.interleave_lines = 4, since an entry belongs to one of the l2.banks = 4",
            ),
            ("inter_gpm.megabytes_per_second=0", "1 or more"),
            ("inter_gpm.latency_cycles=0", "1 to 1000000"),
            ("inter_gpu.megabytes_per_second=0", "1 or more"),
            ("inter_gpu.queue_bytes=0", "1 or more"),
        ],
    );
    refused_on(
        "spandex",
        &[
            ("cpu.count=0", "1 to 1024"),
            ("cpu.count=1025", "1 to 1024"),
            ("cpu.clock_mhz=0", "1 MHz or more"),
            ("cpu.store_buffer_entries=65537", "0 to 65536"),
            ("network.width=1", "2 to 16"),
            ("network.bank_latency_cycles=0", "1 to 1000000"),
        ],
    );
}

/// Every override of the first shipped system is refused, and what would be accepted is said.
fn refused_with(overrides: &[(&str, &str)]) {
    refused_on("tc", overrides);
}

fn refused_on(system: &str, overrides: &[(&str, &str)]) {
    for (text, accepted) in overrides {
        let error = resolve(system, Scale::Paper, &[text.to_string()]).expect_err("must be refused");
        let SystemError::Geometry { accepted: reported, .. } = &error else { panic!("{text}: {error}") };
        assert_eq!(reported, accepted, "{text}");
        assert!(error.to_string().starts_with(&format!("--set {text}: key `")), "{error}");
    }
}

#[test]
fn a_key_of_another_kind_says_so() {
    check_file(
        "latency_cycles = 47 #",
        "latency_cycles = 47\nwidth = 4 #",
        "my.toml:LINE:9: key `network.width` belongs to `network.kind = \"mesh\"`; here `network.kind` is `crossbar`, whose \
         keys are `latency_cycles`",
    );
    check_set(
        "network.hop_cycles=4",
        "--set network.hop_cycles=4: key `network.hop_cycles` belongs to `network.kind = \"ring\"`; here `network.kind` is \
         `crossbar`, whose keys are `latency_cycles`",
    );
    let error = edited("[scale.quick.l2]", "[scale.quick.network]\nhop_cycles = 3\n\n[scale.quick.l2]").to_string();
    assert!(error.contains("key `network.hop_cycles` belongs to `network.kind = \"ring\"`"), "{error}");
    let set = ["dram.model=fixed", "dram.banks=4"].map(str::to_owned);
    assert_eq!(
        resolve("tc", Scale::Paper, &set).expect_err("must be refused").to_string(),
        "--set dram.banks=4: key `dram.banks` belongs to `dram.model = \"gddr5\"`; here `dram.model` is `fixed`, which has no \
         keys of its own"
    );
}

#[test]
fn an_unknown_key_of_a_kind_lists_the_keys_of_that_kind() {
    check_file(
        "latency_cycles = 47 #",
        "latency_cycle = 47 #",
        "my.toml:LINE:1: unknown key `network.latency_cycle`; did you mean `latency_cycles`? accepted in [network]: `kind`, \
         `flit_bytes`, `header_bytes`, `vc_buffer_flits`, `latency_cycles`",
    );
}

#[test]
fn another_kind_leaves_out_the_keys_of_the_old_one_and_needs_its_own() {
    check_set("network.kind=mesh", "--set network.kind=mesh: missing keys `network.width`, `network.diameter_cycles`");
    let set = ["network.kind=ring", "network.hop_cycles=2"].map(str::to_owned);
    let resolved = resolve("tc", Scale::Paper, &set).expect("resolves");
    assert_eq!(resolved.config.network.latency_cycles(), 2);
    assert!(!resolved.text.contains("latency_cycles = 47"), "{}", resolved.text);
    let own = "base = \"tc\"\nname = \"mine\"\ntitle = \"fixed DRAM\"\n[dram]\nmodel = \"fixed\"\n";
    let resolved = resolve_text("my.toml", own, Scale::Paper, &[]).expect("resolves");
    assert!(!resolved.text.contains("dram.timing"), "{}", resolved.text);
}

#[test]
fn rows_and_groups_of_nodes_are_whole() {
    let refused = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
        resolve("hmg", Scale::Paper, &set).expect_err("must be refused").to_string()
    };
    assert_eq!(
        refused(&["inter_gpu.kind=mesh", "inter_gpu.width=3", "inter_gpu.hop_cycles=40"]),
        "--set inter_gpu.width=3: key `inter_gpu.width` is 3; accepted: a divisor of the 4 nodes that the links join"
    );
    let dragonfly = ["kind=dragonfly", "group_size=3", "local_cycles=40", "global_cycles=400"];
    let dragonfly = dragonfly.map(|text| format!("inter_gpm.{text}"));
    let error = refused(&dragonfly.each_ref().map(String::as_str));
    assert!(error.contains("`inter_gpm.group_size` is 3; accepted: a divisor of the 4 nodes"), "{error}");
}

#[test]
fn clocks_without_a_common_tick_are_refused() {
    check_set(
        "clocks.dram_mhz=1499",
        "--set clocks.dram_mhz=1499: key `clocks.dram_mhz` is 1499; accepted: a frequency whose least common multiple with \
         the clocks before it is below 1000000 MHz (it is 2098600)",
    );
}

#[test]
fn an_error_in_a_file_carries_the_line_for_a_drawn_report() {
    let error = edited("ways = 4 ", "wayz = 4 ");
    let excerpt = error.place().and_then(|place| place.excerpt()).expect("a place in the file");
    let (line, mark) = excerpt.split_once('\n').expect("two lines");
    let marked = mark.find('^').expect("a mark");
    assert_eq!(&line[marked..marked + mark.matches('^').count()], "wayz");
    assert_eq!(set(&["l1.wayz=4"]).place().and_then(|place| place.excerpt()), None);
}

/// The error of a file that consists of these lines.
fn lines(text: &str) -> String {
    resolve_text("my.toml", text, Scale::Paper, &[]).expect_err("must be refused").to_string()
}

#[test]
fn a_base_that_is_no_system_is_placed_and_corrected() {
    assert_eq!(
        lines("name = \"mine\"\nbase = \"recc\"\n"),
        "my.toml:2:8: key `base` is `recc`, which is no system; did you mean `rec`? accepted: `tc`, \
         `hmg`, `rec`, `cpelide`, `spandex`, `h200`"
    );
    assert_eq!(
        lines("base = 3\n"),
        "my.toml:1:8: key `base` is given as the integer `3`; expected the name of a system"
    );
}

#[test]
fn a_system_is_not_its_own_base() {
    assert_eq!(
        lines("name = \"hmg\"\nbase = \"hmg\"\n"),
        "my.toml:2:8: key `base` is `hmg`, which is the name of this system itself; \
         accepted: `tc`, `rec`, `cpelide`, `spandex`, `h200`"
    );
}

#[test]
fn a_base_describes_all_of_its_machine() {
    assert_eq!(
        lines("base = \"rec-8gpu\"\n"),
        "my.toml:1:8: key `base` is `rec-8gpu`, which has the base `rec` itself; accepted: `tc`, `hmg`, `rec`, `cpelide`, `spandex`, `h200`"
    );
}

#[test]
fn name_and_title_are_not_inherited() {
    assert_eq!(lines("base = \"rec\"\n"), "my.toml: missing keys `name`, `title`");
}

#[test]
fn cpu_cores_are_refused_beside_several_modules() {
    let cores = ["cpu.count=8", "cpu.clock_mhz=2000", "cpu.store_buffer_entries=0"].map(str::to_owned);
    let error = resolve("hmg", Scale::Paper, &cores).expect_err("must be refused").to_string();
    assert!(
        error.contains("`cpu.count` is 8") && error.contains("CPU cores share the network of one module"),
        "{error}"
    );
}

#[test]
fn a_range_that_needs_several_banks_is_refused_with_a_remedy() {
    let error = resolve("hmg", Scale::Paper, &["directory.range=2kB".to_owned()]).expect_err("must be refused");
    assert_eq!(
        error.to_string(),
        "--set directory.range=2kB: key `directory.range` is 2048 bytes; accepted: at most l2.interleave_lines x l1.line_bytes = 4 x 128 = 512, \
         since an entry belongs to one of the l2.banks = 4; --set l2.interleave_lines=16 makes room for it"
    );
    let set = ["directory.range=2kB".to_owned(), "l2.interleave_lines=16".to_owned()];
    assert!(resolve("hmg", Scale::Paper, &set).is_ok());
}
