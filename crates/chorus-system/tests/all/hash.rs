//! Does the hash change with any value of a configuration, and with nothing else?

use std::collections::BTreeSet;

use chorus_system::{SYSTEMS, Scale, entries, resolve, resolve_text};

fn hash_of(text: &str) -> String {
    resolve_text("my.toml", text, Scale::Paper, &[]).unwrap_or_else(|error| panic!("{error}")).hash
}

fn shipped_hash() -> String {
    hash_of(SYSTEMS[0].text)
}

#[test]
fn a_hash_is_sixteen_hexadecimal_digits() {
    let hash = shipped_hash();
    assert!(hash.len() == 16 && hash.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{hash}");
}

#[test]
fn comments_and_blank_lines_do_not_change_the_hash() {
    let bare: Vec<&str> = SYSTEMS[0].text.lines().map(|line| line.split(" # ").next().unwrap_or(line)).collect();
    let bare: Vec<&str> = bare.into_iter().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(hash_of(&bare.join("\n")), shipped_hash());
}

#[test]
fn the_order_of_tables_and_keys_does_not_change_the_hash() {
    let (top, tables) = SYSTEMS[0].text.split_once("\n[").expect("the file has tables");
    let mut tables: Vec<String> = tables.split("\n[").map(|table| format!("[{table}")).collect();
    tables.reverse();
    for table in &mut tables {
        let mut lines: Vec<&str> = table.lines().collect();
        lines[1..].reverse();
        *table = lines.join("\n");
    }
    assert_eq!(hash_of(&format!("{top}\n{}", tables.join("\n"))), shipped_hash());
}

#[test]
fn the_form_of_a_number_does_not_change_the_hash() {
    let forms = [
        ("= 32768", "= 0x8000"),
        ("= 32768", "= \"32KiB\""),
        ("= 32768", "= \"2^15\""),
        ("= 32768", "= 3.2768e4"),
        ("= 260.0", "= 260"),
        ("= 10_000_000_000", "= 1e10"),
    ];
    for (written, otherwise) in forms {
        let text = SYSTEMS[0].text.replace(written, otherwise);
        assert_ne!(text, SYSTEMS[0].text, "{written}");
        assert_eq!(hash_of(&text), shipped_hash(), "{otherwise}");
    }
    for size in ["32KiB", "2^15", "32_768", "3.2768e4", "0x8000", "\"32KiB\""] {
        let resolved = resolve("tc", Scale::Paper, &[format!("l1.size_bytes={size}")]).expect("resolves");
        assert_eq!(resolved.hash, shipped_hash(), "{size}");
    }
}

#[test]
fn an_override_with_the_value_it_replaces_does_not_change_the_hash() {
    let resolved = resolve("tc", Scale::Paper, &["l1.ways=4".to_owned()]).expect("resolves");
    assert_eq!(resolved.hash, shipped_hash());
}

#[test]
fn every_single_value_changes_the_hash() {
    let resolved = resolve("tc", Scale::Paper, &[]).expect("resolves");
    let mut hashes = BTreeSet::from([resolved.hash.clone()]);
    let mut keys = 0;
    for entry in entries(&resolved) {
        // Only one width of a wavefront is accepted, and several modules need tables that say what joins them.
        if ["core.lanes", "hierarchy.gpus", "hierarchy.gpms"].contains(&entry.key.as_str()) {
            continue;
        }
        let value = match (entry.key.as_str(), entry.value.parse::<f64>()) {
            ("core.scheduler", _) => "greedy-then-oldest".to_owned(),
            ("core.atomic_order", _) => "acq-rel".to_owned(),
            ("dram.model", _) => "fixed".to_owned(),
            ("l1.replacement" | "l2.replacement", _) => "fifo".to_owned(),
            ("memory.placement", _) => "first-touch".to_owned(),
            ("command_processor.holds", _) => "accessed".to_owned(),
            ("network.kind", _) => "switch".to_owned(),
            ("core.wavefronts" | "l1.ways" | "l1.line_bytes" | "l2.ways", Ok(number)) => (number / 2.0).to_string(),
            (_, Ok(0.0)) => "1".to_owned(),
            (_, Ok(number)) => (number * 2.0).to_string(),
            (_, Err(_)) => "other".to_owned(),
        };
        let changed = resolve("tc", Scale::Paper, &[format!("{}={value}", entry.key)]);
        let changed = changed.unwrap_or_else(|error| panic!("{error}"));
        assert!(hashes.insert(changed.hash), "{} = {value} keeps a hash", entry.key);
        keys += 1;
    }
    assert_eq!(hashes.len(), keys + 1);
}

#[test]
fn a_key_that_a_machine_may_leave_out_changes_the_hash_when_it_is_given() {
    let given = |lanes: &str| resolve("tc", Scale::Paper, &[format!("core.atomic_lanes={lanes}")]).expect("resolves");
    let hashes = BTreeSet::from([shipped_hash(), given("one-by-one").hash, given("combined").hash]);
    assert_eq!(hashes.len(), 3);
}

#[test]
fn the_scale_changes_the_hash_through_its_values() {
    let quick = resolve("tc", Scale::Quick, &[]).expect("resolves");
    assert_ne!(quick.hash, shipped_hash());
    let same = ["core.count=16".to_owned(), "l2.banks=8".to_owned()];
    assert_eq!(resolve("tc", Scale::Quick, &same).expect("resolves").hash, shipped_hash());
}
