//! The cost of directories: the bits of an entry, field by field (REC paper, section 3.3 and Table 1; HMG paper,
//! section VII-C).

/// The bits of a whole address. The papers count them for a tag, and take no bits off for the set that an entry is in.
pub(super) const ADDRESS_BITS: u32 = 48;

/// The numbers from which the storage of a directory follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The number of entries in total.
    pub entries: u32,
    /// The number of lines of an entry, a power of two.
    pub lines_per_entry: u32,
    /// The number of bytes of a line, a power of two.
    pub line_bytes: u32,
    /// The number of sharers that are told apart.
    pub sharers: u32,
}

/// The fields of an entry, in bits.
///
/// Bit 0 is the first position bit. Each position bit is followed by the sharer bits of its line. The address and the
/// state come last (REC paper, Figure 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryBits {
    /// Position bits, one for every line that is tracked by itself.
    pub position: u32,
    /// Sharer bits of all lines.
    pub sharers: u32,
    /// Bits of the tag or base address.
    pub address: u32,
    /// Bits that say whether the entry is valid.
    pub state: u32,
}

impl EntryBits {
    /// The bits of the whole entry.
    pub fn total(self) -> u32 {
        self.position + self.sharers + self.address + self.state
    }
}

/// The number of sharers that an entry tells apart where a home tracks the other modules of its GPU and the other GPUs
/// (HMG paper, section V-A). With one module in every GPU these are the other GPUs.
pub fn hierarchical_sharers(gpus: u32, gpms: u32) -> u32 {
    gpus + gpms - 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::DirectoryKind;

    /// The directory of one GPU of several, as the REC paper sizes it.
    fn extent(gpus: u32, range_bytes: u32) -> Extent {
        let sharers = hierarchical_sharers(gpus, 1);
        Extent { entries: 8192, lines_per_entry: range_bytes / 64, line_bytes: 64, sharers }
    }

    fn total(kind: DirectoryKind, gpus: u32, range_bytes: u32) -> u32 {
        kind.entry_bits(&extent(gpus, range_bytes)).total()
    }

    fn kilobytes(kind: DirectoryKind, extent: &Extent, kilobyte: f64) -> Option<f64> {
        kind.storage_bits(extent).map(|bits| bits as f64 / 8.0 / kilobyte)
    }

    #[test]
    fn the_fields_of_an_entry_are_those_of_table_1() {
        let fields = |range_bytes| {
            let bits = DirectoryKind::Ranges.entry_bits(&extent(4, range_bytes));
            (bits.address, bits.position, bits.sharers, bits.total())
        };
        let table = [(41, 2, 6, 50), (40, 4, 12, 57), (38, 16, 48, 103), (36, 64, 192, 293)];
        assert_eq!([128, 256, 1024, 4096].map(fields), table);
        let baseline = DirectoryKind::LineGroups.entry_bits(&extent(4, 64));
        assert_eq!(baseline, EntryBits { position: 0, sharers: 3, address: 48, state: 1 });
        assert_eq!(baseline.total(), 52);
    }

    #[test]
    fn the_base_address_of_figure_9_is_in_bits_64_to_101_and_the_valid_bit_is_the_last() {
        let EntryBits { position, sharers, address, state } = DirectoryKind::Ranges.entry_bits(&extent(4, 1024));
        assert_eq!((position + sharers, position + sharers + address - 1, state), (64, 101, 1));
    }

    #[test]
    fn whole_directories_take_52_and_103_kilobytes() {
        let baseline = kilobytes(DirectoryKind::LineGroups, &extent(4, 64), 1024.0);
        let ranges = kilobytes(DirectoryKind::Ranges, &extent(4, 1024), 1024.0);
        assert_eq!((baseline, ranges), (Some(52.0), Some(103.0)));
        assert_eq!(DirectoryKind::Unbounded.storage_bits(&extent(4, 64)), None);
    }

    #[test]
    fn entries_grow_with_the_gpus_as_section_4_3_computes() {
        assert_eq!([8, 16].map(|gpus| total(DirectoryKind::Ranges, gpus, 1024)), [167, 295]);
        assert_eq!(total(DirectoryKind::LineGroups, 8, 64), 56);
    }

    #[test]
    fn storage_is_what_the_hmg_paper_computes() {
        let hmg =
            Extent { entries: 12 * 1024, lines_per_entry: 4, line_bytes: 128, sharers: hierarchical_sharers(4, 4) };
        assert_eq!(DirectoryKind::LineGroups.entry_bits(&hmg).total(), 55);
        assert_eq!(kilobytes(DirectoryKind::LineGroups, &hmg, 1000.0), Some(84.48));
    }
}
