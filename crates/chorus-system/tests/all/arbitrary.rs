//! Does any text at all, as a system file or an override, end in a system or a message?

use chorus_system::{SYSTEMS, Scale, derived, entries, resolve, resolve_text};
use proptest::prelude::*;

/// Resolves, and describes what came out in every way there is.
fn exercise(text: &str, overrides: &[String]) {
    for scale in Scale::ALL {
        match resolve_text("any.toml", text, scale, overrides) {
            Ok(resolved) => {
                assert!(!entries(&resolved).is_empty());
                assert!(!derived(&resolved.config).is_empty());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Keys that exist, and some that do not.
fn any_key() -> impl Strategy<Value = String> {
    let resolved = resolve("tc", Scale::Paper, &[]).expect("the shipped system resolves");
    let keys: Vec<String> = entries(&resolved).into_iter().map(|entry| entry.key).collect();
    prop_oneof![8 => proptest::sample::select(keys), 1 => "[a-z_.]{0,12}", 1 => any::<String>()]
}

fn any_value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u32>().prop_map(|value| value.to_string()),
        (0u32..40).prop_map(|power| (1u64 << power).to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<f64>().prop_map(|value| value.to_string()),
        "[a-z0-9{}\\[\\]\"'=.,-]{0,12}",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn arbitrary_text_as_a_system_file_never_panics(text in any::<String>()) {
        exercise(&text, &[]);
    }

    #[test]
    fn arbitrary_bytes_as_a_system_file_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        exercise(&String::from_utf8_lossy(&bytes), &[]);
    }

    #[test]
    fn a_damaged_system_file_never_panics(
        cut in any::<proptest::sample::Index>(), length in 0usize..40, insert in "[a-z0-9_.=\"'{}\\[\\]# \n-]{0,12}",
    ) {
        let mut characters: Vec<char> = SYSTEMS[0].text.chars().collect();
        let start = cut.index(characters.len());
        let end = (start + length).min(characters.len());
        characters.splice(start..end, insert.chars());
        exercise(&characters.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn arbitrary_values_in_a_system_file_never_panic(key in any_key(), value in any_value()) {
        exercise(&format!("{}\n{key} = {value}\n", SYSTEMS[0].text), &[]);
        exercise(&SYSTEMS[0].text.replacen("= 128 ", &format!("= {value} "), 3), &[]);
    }

    #[test]
    fn arbitrary_overrides_never_panic(pairs in proptest::collection::vec((any_key(), any_value()), 0..4), text in any::<String>()) {
        let mut overrides: Vec<String> = pairs.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        exercise(SYSTEMS[0].text, &overrides);
        overrides.push(text);
        exercise(SYSTEMS[0].text, &overrides);
    }

    #[test]
    fn arbitrary_names_never_panic(name in "[a-z./\\\\-]{0,12}") {
        if let Err(error) = resolve(&name, Scale::Quick, &[]) {
            assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn arbitrary_bytes_in_a_real_file_never_panic() {
    let path = std::env::temp_dir().join(format!("chorus-system-bytes-{}.toml", std::process::id()));
    for byte in 0..=u8::MAX {
        std::fs::write(&path, [byte, b'=', byte, b'\n', byte]).expect("the temporary directory can be written");
        assert!(resolve(path.to_str().expect("a UTF-8 path"), Scale::Quick, &[]).is_err());
    }
    std::fs::remove_file(&path).expect("the file can be removed");
}

#[test]
fn deep_nesting_ends_in_a_message() {
    for text in [
        format!("{} = 1", vec!["a"; 200_000].join(".")),
        format!("[{}]", vec!["a"; 200_000].join(".")),
        format!("a = {}", "[".repeat(200_000)),
        format!("a = {}1", "{a=".repeat(200_000)),
    ] {
        exercise(&text, &[]);
        exercise(SYSTEMS[0].text, &[text]);
    }
}
