//! Do a user's own systems work beside the shipped ones?

use chorus_system::{SYSTEMS, Scale, SystemFile, resolve, resolve_among, resolve_text_among, scales_among};

const HALF: &str = "base = \"tc\"\nname = \"half\"\ntitle = \"tc with half its L1\"\n[l1]\nsize_bytes = \"16KiB\"\n";

fn own(text: &'static str) -> SystemFile {
    SystemFile::new("mine.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// A whole machine of its own: the shipped `tc` under another name.
fn whole() -> SystemFile {
    own(SYSTEMS[0].text.replacen("name = \"tc\"", "name = \"whole\"", 1).leak())
}

fn with_shipped(own: &[SystemFile]) -> Vec<SystemFile> {
    [SYSTEMS, own].concat()
}

#[test]
fn a_system_has_the_name_that_its_file_states() {
    assert_eq!(own(HALF).name, "half");
    let error = SystemFile::new("mine.toml", "title = \"x\"\n").expect_err("must be refused");
    assert_eq!(error.to_string(), "mine.toml: missing key `name`");
    let error = SystemFile::new("mine.toml", "nam = \"x\"\n").expect_err("must be refused");
    assert!(error.to_string().starts_with("mine.toml:1:1: unknown key `nam`; did you mean `name`? "), "{error}");
}

#[test]
fn an_own_system_may_be_based_on_a_shipped_one() {
    let systems = with_shipped(&[own(HALF)]);
    let resolved = resolve_among(&systems, "half", Scale::Paper, &[]).expect("resolves");
    assert_eq!((resolved.config.name.as_str(), resolved.config.l1.size_bytes), ("half", 16 << 10));
    assert_eq!(resolved.config.l2, resolve("tc", Scale::Paper, &[]).expect("resolves").config.l2);
    assert_eq!(scales_among(&systems, "half").expect("has scales"), [Scale::Quick, Scale::Paper]);
}

#[test]
fn an_own_system_may_be_the_base_of_another() {
    let systems = with_shipped(&[whole()]);
    let text = "base = \"whole\"\nname = \"child\"\ntitle = \"a child\"\n";
    let resolved = resolve_text_among(&systems, "child.toml", text, Scale::Quick, &[]).expect("resolves");
    assert_eq!(resolved.config.name, "child");
    let error = resolve_text_among(SYSTEMS, "child.toml", text, Scale::Quick, &[]).expect_err("must be refused");
    assert!(error.to_string().contains("key `base` is `whole`, which is no system; accepted: `tc`, "), "{error}");
}

#[test]
fn an_unknown_system_is_looked_for_among_those_given() {
    let error = resolve_among(&[own(HALF)], "hall", Scale::Paper, &[]).expect_err("must be refused").to_string();
    let expected =
        "unknown system `hall`; did you mean `half`? known: `half`; or the path of a file that ends in .toml";
    assert_eq!(error, expected);
    let error = resolve("half", Scale::Paper, &[]).expect_err("must be refused").to_string();
    assert!(error.starts_with("unknown system `half`; "), "{error}");
}

#[test]
fn a_mistake_in_an_own_system_is_placed_in_its_file() {
    let broken = own("base = \"tc\"\nname = \"broken\"\ntitle = \"no ways\"\n[l1]\nways = 0\n");
    let error = resolve_among(&with_shipped(&[broken]), "broken", Scale::Paper, &[]).expect_err("must be refused");
    assert_eq!(error.to_string(), "mine.toml:5:8: key `l1.ways` is 0; accepted: 1 to 256");
}
