//! The cost of a Chiplet Coherence Table at the full size of a system. The arithmetic is that of the CPElide paper,
//! sections III-A and III-B.
//!
//! | fact | meaning |
//! |---|---|
//! | `table.rows.S` | number of rows of system S's table |
//! | `table.vector_bits.S` | bits of the states of a row: two for each chiplet |
//! | `table.row_bits.S` | bits of a whole row |
//! | `table.kibibytes.S` | size of the whole table, in units of 1024 bytes |

use chorus_protocol::chiplet_table::state::State;
use chorus_system::SystemConfig;

/// Bits of a row's access mode.
const MODE_BITS: f64 = 1.0;

/// Bits of a row's address ranges, as the paper prints them for 4 chiplets.
const RANGE_BITS: f64 = 28.0 * 8.0;

/// Bits of a row's base address.
const BASE_BITS: f64 = 4.0 * 8.0;

/// The facts about a system's table; their names lack the name of the system.
pub fn count(config: &SystemConfig) -> [(String, f64); 4] {
    let rows = f64::from(config.command_processor.rows);
    let vector_bits = (State::ALL.len() as f64).log2() * f64::from(config.hierarchy.modules());
    let row_bits = vector_bits + MODE_BITS + RANGE_BITS + BASE_BITS;
    let facts = [
        ("rows", rows),
        ("vector_bits", vector_bits),
        ("row_bits", row_bits),
        ("kibibytes", rows * row_bits / 8.0 / 1024.0),
    ];
    facts.map(|(what, value)| (format!("table.{what}"), value))
}

#[cfg(test)]
mod tests {
    use chorus_system::{Scale, resolve};

    use super::count;

    #[test]
    fn the_cost_of_a_table_follows_from_the_machine() {
        let config = resolve("cpelide", Scale::Paper, &[]).expect("the shipped system resolves").config;
        let expected = [
            ("table.rows", 64.0),
            ("table.vector_bits", 8.0),
            ("table.row_bits", 265.0),
            ("table.kibibytes", 2.0703125),
        ];
        assert_eq!(count(&config), expected.map(|(what, value)| (what.to_owned(), value)));
    }
}
