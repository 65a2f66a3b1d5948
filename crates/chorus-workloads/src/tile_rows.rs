//! The rows of a grid that a chiplet has when work-groups are tiles of the grid, counted along the rows first.

use std::ops::Range;

use chorus_kernel::Share;

/// A grid, row by row, cut into tiles. A work-group has one tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileRows {
    /// Tiles in a row of them.
    pub across: u32,
    /// Rows of a tile.
    pub rows_per_tile: u32,
    /// Rows of the grid.
    pub rows: u32,
    /// Columns of the grid.
    pub columns: u32,
}

impl TileRows {
    /// The elements of the rows in which a chiplet has tiles, and of so many rows before and after them. Where two
    /// chiplets share a row of tiles, both have all of it.
    pub fn elements(self, share: Share, before: u32, after: u32) -> Range<usize> {
        let tiles = share.groups();
        if tiles.is_empty() {
            return 0..0;
        }
        let first = (tiles.start / self.across * self.rows_per_tile).saturating_sub(before);
        let end = (tiles.end.div_ceil(self.across) * self.rows_per_tile + after).min(self.rows);
        (first * self.columns) as usize..(end * self.columns) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chiplets_have_the_rows_of_their_tiles_and_what_lies_around() {
        let grid = TileRows { across: 3, rows_per_tile: 4, rows: 14, columns: 10 };
        let share = |index| Share { index, count: 3, work_groups: 12 };
        assert_eq!(grid.elements(share(0), 1, 1), 0..90);
        assert_eq!(grid.elements(share(1), 0, 0), 40..120);
        assert_eq!(grid.elements(share(2), 1, 1), 70..140);
        assert_eq!(grid.elements(Share { index: 0, count: 2, work_groups: 0 }, 1, 1), 0..0);
    }
}
