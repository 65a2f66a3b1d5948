//! Area and power of directories and caches: an analytical model of SRAM arrays, to compare with what the REC paper
//! took from CACTI 7.0 (section 4.3).
//!
//! The paper does not name its technology. Constants are those that CACTI 7.0 ships for 22 nm, the smallest planar node
//! in its files (`tech_params/22nm.dat`, high-performance devices; `cache.cfg` for the temperature; `const.h` for the
//! swing of a bit line and the state bits of a tag). None of them is fitted. The model is coarser than CACTI, which
//! searches for the best organisation of every array:
//!
//! - **Cells** are six-transistor cells in subarrays of at most [`SUBARRAY_LINES`] word lines and as many bit lines. An
//!   access reads one word, whose bits lie in as many subarrays as they need and have bit lines of their own.
//! - **Periphery** is a strip of [`STRIP_CELLS`] cells along two sides of every subarray, for drivers and for sense
//!   amplifiers, so that its share falls with the square root of the bits.
//! - **Wires** for the bits that leave an array cross it once: a bus as long as the side of a square of its area.
//! - **Leakage** is that of three transistors of each cell, and of the periphery as of cells that take its area.
//! - **Energy** of an access: one word line in each subarray that is read, a small swing on each bit line, a sense
//!   amplifier for each, and the wires, of which half change.
//!
//! Left out are decoders, clocks, error correction, and writes, which cost about as much as reads. All but the last
//! grow with the same bits.

use chorus_system::{Directory, SystemConfig};

/// Feature size in micrometres (CACTI 7.0, 22nm.dat).
const FEATURE_UM: f64 = 0.022;
/// Width and height of a cell in features: 146 square features, 1.46 times as wide as high (CACTI 7.0, 22nm.dat).
const CELL_WIDTH: f64 = 14.6;
const CELL_HEIGHT: f64 = 10.0;
/// Widths of a cell's access, pull-up and pull-down transistors in features (CACTI 7.0, 22nm.dat).
const ACCESS_WIDTH: f64 = 1.31;
const PULL_UP_WIDTH: f64 = 1.23;
const PULL_DOWN_WIDTH: f64 = 2.08;
/// Supply voltage (CACTI 7.0, 22nm.dat).
const SUPPLY_V: f64 = 0.8;
/// Current through a transistor that is off, in amperes per micrometre of width, at 360 K (CACTI 7.0, 22nm.dat; the
/// temperature of cache.cfg).
const OFF_A_PER_UM: f64 = 4.256e-7;
/// Capacitances of a transistor in farads per micrometre of width: gate, fringe on each side of it, and junction (CACTI
/// 7.0, 22nm.dat).
const GATE_F_PER_UM: f64 = 3.27e-16;
const FRINGE_F_PER_UM: f64 = 6e-17;
const JUNCTION_F_PER_UM: f64 = 2.5e-16;
/// Swing of a bit line that a sense amplifier needs (CACTI 7.0, const.h).
const SWING_V: f64 = 0.08;
/// Energy of a sense amplifier (CACTI 7.0, 22nm.dat).
const SENSE_J: f64 = 2.16e-15;
/// Distance from wire to wire in features, and thickness over width (CACTI 7.0, 22nm.dat, semi-global wires,
/// conservative).
const WIRE_PITCH: f64 = 4.0;
const WIRE_ASPECT: f64 = 2.0;
/// The capacitance of such a wire follows from these: Miller factor, permittivities beside and above it, micrometres to
/// the next layer, and fringe in farads per micrometre (CACTI 7.0, 22nm.dat); permittivity of free space in farads per
/// micrometre (const.h).
const MILLER: f64 = 1.5;
const PERMITTIVITY_BESIDE: f64 = 2.104;
const PERMITTIVITY_ABOVE: f64 = 3.9;
const LAYER_UM: f64 = 0.15;
const WIRE_FRINGE_F_PER_UM: f64 = 1.15e-16;
const FREE_SPACE_F_PER_UM: f64 = 8.854e-18;
/// Width of a strip of periphery in cells: an array of 32 x 32 takes (32 + 6) x (32 + 6) (Flynn, Computer Architecture,
/// 1995, Table 2.2; after Mulder, Quach and Flynn, An area model for on-chip memories and its application, JSSC 1991).
pub const STRIP_CELLS: u64 = 6;
/// Most word lines, and most bit lines, of a subarray. The number is chosen: with 128 or 512 the shares of the REC
/// paper's directory change by less than a tenth of themselves.
pub const SUBARRAY_LINES: u64 = 256;
/// Part of the wires that change with an access: chosen, as for random data.
const CHANGING: f64 = 0.5;
/// Bits of an address (REC paper, section 3.3).
const ADDRESS_BITS: u32 = 48;
/// Bits of a cache's tag beside the address: valid, dirty, two of coherence and one of replacement (CACTI 7.0,
/// const.h).
const TAG_STATE_BITS: u32 = 5;

/// Capacitance of a wire in farads per micrometre: to its neighbours, to the layers above and below, and at its edges.
fn wire_f_per_um() -> f64 {
    let width_um = WIRE_PITCH / 2.0 * FEATURE_UM;
    let above = 2.0 * FREE_SPACE_F_PER_UM * PERMITTIVITY_ABOVE * width_um / LAYER_UM;
    let beside = 2.0 * MILLER * FREE_SPACE_F_PER_UM * PERMITTIVITY_BESIDE * WIRE_ASPECT;
    above + beside + WIRE_FRINGE_F_PER_UM
}

/// Leakage of a cell in watts: one transistor of each pair is off, and one of the two access transistors has the supply
/// across it.
fn cell_leakage_w() -> f64 {
    (ACCESS_WIDTH + PULL_UP_WIDTH + PULL_DOWN_WIDTH) * FEATURE_UM * OFF_A_PER_UM * SUPPLY_V
}

/// An SRAM array that is read word by word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sram {
    bits: u64,
    word_bits: u64,
    output_bits: u64,
    lines_max: u64,
}

impl Sram {
    /// An array of `bits`, of which an access reads `word_bits` and sends them on.
    pub fn new(bits: u64, word_bits: u64) -> Sram {
        let word_bits = word_bits.max(1);
        Sram { bits: bits.max(word_bits), word_bits, output_bits: word_bits, lines_max: SUBARRAY_LINES }
    }

    /// The array with another number of bits that leave it: an access sends on only so many of the bits that it reads.
    pub fn with_output(self, output_bits: u64) -> Sram {
        Sram { output_bits, ..self }
    }

    /// Subarrays side by side over which a word is spread, and subarrays one behind the other; then the bit lines and
    /// the word lines of each.
    fn subarrays(&self) -> ([u64; 2], [u64; 2]) {
        let words = self.bits.div_ceil(self.word_bits);
        let beside = self.word_bits.div_ceil(self.lines_max);
        let behind = words.div_ceil(self.lines_max);
        ([beside, behind], [self.word_bits.div_ceil(beside), words.div_ceil(behind)])
    }

    /// Number of cells, counting the periphery as cells of its area.
    fn cells(&self) -> f64 {
        let ([beside, behind], [columns, rows]) = self.subarrays();
        (beside * behind) as f64 * ((columns + STRIP_CELLS) * (rows + STRIP_CELLS)) as f64
    }

    fn cells_um2(&self) -> f64 {
        self.cells() * CELL_WIDTH * CELL_HEIGHT * FEATURE_UM * FEATURE_UM
    }

    /// Area in square millimetres.
    pub fn area_mm2(&self) -> f64 {
        let bus_um = self.output_bits as f64 * WIRE_PITCH * FEATURE_UM;
        (self.cells_um2() + bus_um * self.cells_um2().sqrt()) / 1e6
    }

    /// Power while nothing is accessed, in milliwatts.
    pub fn leakage_mw(&self) -> f64 {
        self.cells() * cell_leakage_w() * 1e3
    }

    /// Energy of one access in picojoules.
    pub fn energy_pj(&self) -> f64 {
        let ([beside, _], [columns, rows]) = self.subarrays();
        let read = (beside * columns) as f64;
        let (access_um, wire) = (ACCESS_WIDTH * FEATURE_UM, wire_f_per_um());
        let gate = GATE_F_PER_UM + 2.0 * FRINGE_F_PER_UM;
        let word_line_f = 2.0 * access_um * gate + CELL_WIDTH * FEATURE_UM * wire;
        let drain = JUNCTION_F_PER_UM + FRINGE_F_PER_UM;
        let bit_line_f = rows as f64 * (access_um * drain + CELL_HEIGHT * FEATURE_UM * wire);
        let of_column = word_line_f * SUPPLY_V * SUPPLY_V + bit_line_f * SWING_V * SUPPLY_V + SENSE_J;
        let bus_f = CHANGING * self.output_bits as f64 * self.cells_um2().sqrt() * wire;
        (read * of_column + bus_f * SUPPLY_V * SUPPLY_V) * 1e12
    }

    /// Power in milliwatts when it is accessed so many times in a second.
    pub fn power_mw(&self, accesses_per_second: f64) -> f64 {
        self.leakage_mw() + self.energy_pj() * accesses_per_second / 1e9
    }
}

/// The arrays of one module: what a directory costs beside its L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The whole directory. An access reads all ways of a set and uses one entry.
    pub directory: Sram,
    /// Banks of the L2.
    pub banks: u32,
    /// The tags of a bank. An access reads all ways of a set, and nothing but the hit leaves.
    pub tags: Sram,
    /// The data of a bank. An access reads one line, once the tags are known.
    pub data: Sram,
}

impl Beside {
    /// The arrays of a module of `config` with this directory, whose entries have `entry_bits`.
    pub fn new(config: &SystemConfig, directory: &Directory, entry_bits: u32) -> Beside {
        let SystemConfig { l1, l2, .. } = config;
        let [line_bytes, ways, banks] = [l1.line_bytes, l2.ways, l2.banks].map(u64::from);
        let lines = u64::from(l2.bank_bytes) / line_bytes;
        let indexed_bytes = u64::from(l2.bank_bytes) * banks / ways;
        let tag_bits = u64::from(ADDRESS_BITS.saturating_sub(indexed_bytes.ilog2()) + TAG_STATE_BITS);
        let entry_bits = u64::from(entry_bits);
        let directory = Sram::new(u64::from(directory.entries) * entry_bits, u64::from(directory.ways) * entry_bits);
        Beside {
            directory: directory.with_output(entry_bits),
            banks: l2.banks,
            tags: Sram::new(lines * tag_bits, ways * tag_bits).with_output(0),
            data: Sram::new(lines * line_bytes * 8, line_bytes * 8),
        }
    }

    /// Area of the directory over that of the L2.
    pub fn area_ratio(&self) -> f64 {
        self.directory.area_mm2() / (f64::from(self.banks) * (self.tags.area_mm2() + self.data.area_mm2()))
    }

    /// Power of the directory over that of the L2, with so many accesses of each in a second. Those of the L2 are
    /// spread over its banks.
    pub fn power_ratio(&self, directory_accesses: f64, l2_accesses: f64) -> f64 {
        let banks = f64::from(self.banks);
        let of_bank = l2_accesses / banks;
        let l2 = banks * (self.tags.power_mw(of_bank) + self.data.power_mw(of_bank));
        self.directory.power_mw(directory_accesses) / l2
    }

    /// Power of the directory over that of the L2 while each L2 bank and the directory are accessed in every cycle of
    /// this frequency. That is the most that arrays with one port take.
    pub fn busy_power_ratio(&self, mhz: u32) -> f64 {
        let every_cycle = f64::from(mhz) * 1e6;
        self.power_ratio(every_cycle, every_cycle * f64::from(self.banks))
    }
}

#[cfg(test)]
mod tests {
    use chorus_protocol::directory::DirectoryKind;
    use chorus_protocol::directory::storage::{Extent, hierarchical_sharers};
    use chorus_system::{Scale, resolve};

    use super::*;

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
    }

    /// The REC paper's machine at full size.
    fn machine() -> SystemConfig {
        resolve("rec", Scale::Paper, &[]).unwrap().config
    }

    /// The arrays of a GPU of it, with REC's directory.
    fn rec() -> Beside {
        let config = machine();
        let directory = config.directory.as_ref().unwrap();
        let extent = Extent {
            entries: directory.entries,
            lines_per_entry: directory.range_bytes(config.l1.line_bytes) / config.l1.line_bytes,
            line_bytes: config.l1.line_bytes,
            sharers: hierarchical_sharers(config.hierarchy.gpus, config.hierarchy.gpms),
        };
        Beside::new(&config, directory, DirectoryKind::Ranges.entry_bits(&extent).total())
    }

    #[test]
    fn a_cell_is_146_square_features_and_leaks_35_nanowatts() {
        near(CELL_WIDTH * CELL_HEIGHT, 146.0);
        near(CELL_WIDTH / CELL_HEIGHT, 1.46);
        near(cell_leakage_w(), 4.62 * 0.022 * 4.256e-7 * 0.8);
        near(wire_f_per_um(), 2.471e-16);
    }

    #[test]
    fn a_subarray_has_a_strip_on_two_sides() {
        let array = Sram::new(32 * 32, 32).with_output(0);
        assert_eq!(array.cells(), 38.0 * 38.0);
        near(array.area_mm2(), 38.0 * 38.0 * 146.0 * 0.022 * 0.022 / 1e6);
        near(array.leakage_mw(), 38.0 * 38.0 * cell_leakage_w() * 1e3);
    }

    #[test]
    fn wide_words_and_many_words_take_several_subarrays() {
        assert_eq!(Sram::new(1 << 20, 512).subarrays(), ([2, 8], [256, 256]));
        assert_eq!(rec().directory.subarrays(), ([4, 4], [206, 256]));
        assert_eq!(rec().tags.subarrays(), ([3, 1], [192, 128]));
    }

    #[test]
    fn the_arrays_of_the_rec_machine_are_those_of_section_4_3() {
        let Beside { directory, banks, tags, data } = rec();
        assert_eq!((directory.bits, directory.word_bits), (103 * 1024 * 8, 8 * 103));
        assert_eq!(u64::from(banks) * data.bits, 2 * 1024 * 1024 * 8);
        // An address without 17 bits of line and set, and five bits of state, for each of 2,048 lines.
        assert_eq!(tags.bits, 2048 * (48 - 17 + 5));
    }

    #[test]
    fn more_bits_cost_more_area_and_leak_more() {
        let arrays: Vec<Sram> = (1..3000).map(|words| Sram::new(words * 64, 64)).collect();
        assert!(arrays.windows(2).all(|pair| pair[0].area_mm2() <= pair[1].area_mm2()));
        assert!(arrays.windows(2).all(|pair| pair[0].leakage_mw() <= pair[1].leakage_mw()));
    }

    #[test]
    fn longer_words_cost_more_energy() {
        let energies: Vec<f64> = (1..64).map(|words| Sram::new(1 << 20, words * 16).energy_pj()).collect();
        assert!(energies.windows(2).all(|pair| pair[0] < pair[1]), "{energies:?}");
    }

    #[test]
    fn the_share_of_the_periphery_falls_with_the_bits() {
        let overhead = |side: u64| Sram::new(side * side, side).cells() / (side * side) as f64;
        assert!([16, 32, 64, 128].windows(2).all(|sides| overhead(sides[0]) > overhead(sides[1])));
    }

    #[test]
    fn power_grows_with_the_rate_of_accesses_by_their_energy() {
        let array = Sram::new(1 << 20, 512);
        near(array.power_mw(0.0), array.leakage_mw());
        near(array.power_mw(1e9) - array.leakage_mw(), array.energy_pj());
    }

    /// The paper has 3.94 % of the area and 3.28 % of the power. The directory has 5.03 % of the bits of the L2's data,
    /// and 4.70 % with its tags.
    #[test]
    fn the_directory_of_rec_costs_less_than_its_share_of_the_bits() {
        let busy = rec().busy_power_ratio(machine().clocks.l2_mhz);
        let ratios = [rec().area_ratio(), busy, rec().power_ratio(0.0, 0.0)].map(|ratio| (ratio * 1e4).round());
        assert_eq!(ratios, [425.0, 401.0, 472.0]);
    }

    #[test]
    fn the_size_of_subarrays_hardly_matters() {
        let with = |lines_max: u64| {
            let Beside { directory, banks, tags, data } = rec();
            let [directory, tags, data] = [directory, tags, data].map(|array| Sram { lines_max, ..array });
            Beside { directory, banks, tags, data }
        };
        for lines_max in [128, 512] {
            let changed = [
                with(lines_max).area_ratio() / rec().area_ratio(),
                with(lines_max).power_ratio(1e9, 16e9) / rec().power_ratio(1e9, 16e9),
            ];
            assert!(changed.iter().all(|ratio| (ratio - 1.0).abs() < 0.1), "{lines_max}: {changed:?}");
        }
    }
}
