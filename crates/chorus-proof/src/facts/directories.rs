//! The cost and the coverage of directories at the full size of a system. The arithmetic is that of the HMG paper,
//! sections V-A, VI and VII-C, and of the REC paper, sections 3.3, 4.1 and 4.3. The directories themselves count the
//! bits of their entries.
//!
//! | fact | meaning |
//! |---|---|
//! | `directory.sharers.S` | sharers that an entry of system S's directories tells apart |
//! | `directory.entry_bits.S` | bits of an entry of grouped lines, which has one set of sharers |
//! | `directory.kilobytes.S` | storage of a module's directory of such entries, in units of 1000 bytes |
//! | `directory.kibibytes.S` | storage of that directory, in units of 1024 bytes |
//! | `directory.share_of_l2.S` | storage of that directory, divided by the data of the module's L2 |
//! | `directory.covered_lines.S` | lines that such a directory covers |
//! | `directory.covered_megabytes.S` | data that such a directory covers, in units of 1024 x 1024 bytes |
//! | `directory.Nx.kibibytes.S`, `directory.Nx.share_of_l2.S` | storage with N times the entries, N is 6 or 12 |
//! | `directory.entries_of_other_l2s.S` | lines of the L2 caches of all other modules |
//! | `directory.multiple_of_other_l2s.S` | these lines, divided by the directory's entries |
//! | `directory.hmg_coverage.S` | lines of an entry of `dir-hmg`, divided by the lines of the system's own entries |
//! | `directory.RANGE.base_bits.S` | bits of the base address of an entry that covers a range, such as `1kB` |
//! | `directory.RANGE.position_bits.S` | position bits of that entry |
//! | `directory.RANGE.sharer_bits.S` | all sharer bits of that entry |
//! | `directory.RANGE.entry_bits.S` | bits of that whole entry |
//! | `directory.RANGE.entry_ratio.S` | bits of that entry, divided by those of an entry of grouped lines |
//! | `directory.RANGE.kibibytes.S` | storage of a whole directory of these entries, in units of 1024 bytes |
//! | `directory.RANGE.coverage.S` | lines of such an entry, divided by the lines of an entry of grouped lines |
//! | `directory.RANGE.position_of_0x340.S` | the number of the position bit for offset 0x340 |
//! | `directory.RANGE.area_of_l2.S` | area of that directory over the module's L2, by the model of SRAM arrays |
//! | `directory.RANGE.power_of_l2.S` | power over the module's L2; directory and each bank: an access per cycle |

use chorus_lab::sram::Beside;
use chorus_protocol::directory::DirectoryKind;
use chorus_protocol::directory::storage::{Extent, hierarchical_sharers};
use chorus_protocol::protocols::dir_hmg;
use chorus_system::{Directory, SystemConfig};

/// The multiples of the baseline's directory that the REC paper sizes (section 3.3).
const MULTIPLES: [u32; 2] = [6, 12];

/// The ranges of the REC paper (Table 1), with their names.
const RANGES: [(&str, u32); 4] = [("128B", 128), ("256B", 256), ("1kB", 1024), ("4kB", 4096)];

/// The offset of the REC paper's worked example (section 4.2).
const OFFSET: u32 = 0x340;

/// The facts about a system's directories; their names lack the name of the system. A system of one module has none.
pub fn count(config: &SystemConfig) -> Vec<(String, f64)> {
    let SystemConfig { l1, l2, hierarchy, .. } = config;
    let Some(directory) = &config.directory else { return Vec::new() };
    let l2_bytes = f64::from(l2.banks) * f64::from(l2.bank_bytes);
    let extent = Extent {
        entries: directory.entries,
        lines_per_entry: directory.lines_per_entry,
        line_bytes: l1.line_bytes,
        sharers: hierarchical_sharers(hierarchy.gpus, hierarchy.gpms),
    };
    let bytes = bytes(DirectoryKind::LineGroups, &extent);
    let lines = f64::from(extent.entries) * f64::from(extent.lines_per_entry);
    let other_lines = f64::from(hierarchy.modules() - 1) * l2_bytes / f64::from(extent.line_bytes);
    let plain = [
        ("sharers", f64::from(extent.sharers)),
        ("entry_bits", f64::from(DirectoryKind::LineGroups.entry_bits(&extent).total())),
        ("kilobytes", bytes / 1e3),
        ("kibibytes", bytes / 1024.0),
        ("share_of_l2", bytes / l2_bytes),
        ("covered_lines", lines),
        ("covered_megabytes", lines * f64::from(extent.line_bytes) / f64::from(1 << 20)),
        ("entries_of_other_l2s", other_lines),
        ("multiple_of_other_l2s", other_lines / f64::from(extent.entries)),
        ("hmg_coverage", f64::from(dir_hmg::LINES_PER_ENTRY) / f64::from(extent.lines_per_entry)),
    ];
    let mut facts: Vec<(String, f64)> = plain.map(|(what, value)| (format!("directory.{what}"), value)).to_vec();
    for multiple in MULTIPLES {
        let bytes = bytes * f64::from(multiple);
        facts.push((format!("directory.{multiple}x.kibibytes"), bytes / 1024.0));
        facts.push((format!("directory.{multiple}x.share_of_l2"), bytes / l2_bytes));
    }
    for (name, range_bytes) in RANGES.into_iter().filter(|(_, bytes)| *bytes >= extent.line_bytes) {
        let of_range = of_range(config, directory, &extent, range_bytes);
        facts.extend(of_range.map(|(what, value)| (format!("directory.{name}.{what}"), value)));
    }
    facts
}

/// The facts about entries that cover a range of `range_bytes`, compared with the entries of `grouped`.
fn of_range(
    config: &SystemConfig,
    directory: &Directory,
    grouped: &Extent,
    range_bytes: u32,
) -> [(&'static str, f64); 10] {
    let extent = Extent { lines_per_entry: range_bytes / grouped.line_bytes, ..*grouped };
    let bits = DirectoryKind::Ranges.entry_bits(&extent);
    let grouped_bits = DirectoryKind::LineGroups.entry_bits(grouped).total();
    // The position bit of a line and its sharer bits are next to each other.
    let field_bits = (bits.position + bits.sharers) / extent.lines_per_entry;
    let position = OFFSET % range_bytes / extent.line_bytes * field_bits;
    let arrays = Beside::new(config, directory, bits.total());
    [
        ("base_bits", f64::from(bits.address)),
        ("position_bits", f64::from(bits.position)),
        ("sharer_bits", f64::from(bits.sharers)),
        ("entry_bits", f64::from(bits.total())),
        ("entry_ratio", f64::from(bits.total()) / f64::from(grouped_bits)),
        ("kibibytes", bytes(DirectoryKind::Ranges, &extent) / 1024.0),
        ("coverage", f64::from(extent.lines_per_entry) / f64::from(grouped.lines_per_entry)),
        ("position_of_0x340", f64::from(position)),
        ("area_of_l2", arrays.area_ratio()),
        ("power_of_l2", arrays.busy_power_ratio(config.clocks.l2_mhz)),
    ]
}

/// The size of a whole directory in bytes; infinite for a kind of directory without a bound.
fn bytes(kind: DirectoryKind, extent: &Extent) -> f64 {
    kind.storage_bits(extent).map_or(f64::INFINITY, |bits| bits as f64 / 8.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chorus_system::{Scale, resolve};

    use super::count;

    fn check(system: &str, expected: &[(&str, f64)]) {
        let config = resolve(system, Scale::Paper, &[]).expect("the shipped system resolves").config;
        let facts: BTreeMap<String, f64> = count(&config).into_iter().collect();
        for (what, value) in expected {
            assert_eq!(facts.get(&format!("directory.{what}")), Some(value), "{what}");
        }
    }

    #[test]
    fn the_cost_of_a_directory_follows_from_the_machine() {
        let expected = [
            ("sharers", 4.0 + 4.0 - 2.0),
            ("entry_bits", 48.0 + 6.0 + 1.0),
            ("kilobytes", 12.0 * 1024.0 * 55.0 / 8.0 / 1000.0),
            ("share_of_l2", 12.0 * 1024.0 * 55.0 / 8.0 / (3.0 * 1024.0 * 1024.0)),
            ("covered_lines", 12.0 * 1024.0 * 4.0),
            ("covered_megabytes", 12.0 * 1024.0 * 4.0 * 128.0 / 1024.0 / 1024.0),
        ];
        check("hmg", &expected);
    }

    #[test]
    fn the_arithmetic_of_the_rec_paper_follows_from_the_machine() {
        let expected = [
            ("entry_bits", 52.0),
            ("kibibytes", 52.0),
            ("6x.kibibytes", 312.0),
            ("12x.share_of_l2", 624.0 / 2048.0),
            ("entries_of_other_l2s", 98_304.0),
            ("multiple_of_other_l2s", 12.0),
            ("hmg_coverage", 4.0),
            ("256B.base_bits", 40.0),
            ("4kB.sharer_bits", 192.0),
            ("1kB.entry_ratio", 103.0 / 52.0),
            ("1kB.kibibytes", 103.0),
            ("1kB.coverage", 16.0),
            ("1kB.position_of_0x340", 52.0),
        ];
        check("rec", &expected);
    }
}
