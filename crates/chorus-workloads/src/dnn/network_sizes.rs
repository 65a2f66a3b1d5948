//! Sizes that several networks declare, and relations between the sizes of a network.

use crate::gemm::Tile;
use crate::size::{SizeSpec, Sizes};

/// Rows and columns of the largest plane that a pooling kernel can hold in 64 KiB of local data.
pub const POOLED_SIDE_MAX: u32 = 128;

/// The size `tile_rows` of a workload with tiled matrix products.
pub const fn tile_rows(defaults: [u64; 3]) -> SizeSpec {
    let meaning = "rows of the tile of a matrix product that a work-group computes: 16, 32 or 64";
    SizeSpec::new("tile_rows", meaning, defaults, "chosen: the largest tile that gives all of the machine work")
        .range(16, 64)
        .multiple_of(16)
}

/// The size `hidden` of a recurrent layer. Products compute 32 rows per work-group.
pub const fn hidden(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("hidden", "units of the layer", defaults, source).range(32, 1 << 13).multiple_of(32)
}

/// The size `batch` of a recurrent layer. Products compute 4 or 16 columns per work-group.
pub const fn batch(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("batch", "elements of the minibatch", defaults, source).range(4, 1 << 12).multiple_of(4)
}

/// The size `steps` of a recurrent layer.
pub const fn steps(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("steps", "time steps", defaults, source).range(1, 1 << 12)
}

/// The size `splits` of a recurrent layer.
pub const fn splits(defaults: [u64; 3]) -> SizeSpec {
    let meaning = "work-groups that share the depth of a tile of the recurrent product";
    SizeSpec::new("splits", meaning, defaults, "chosen: enough work-groups for all compute units").range(1, 64)
}

/// The tile that has `tile_rows` rows, if there is one.
fn find_tile(sizes: &Sizes) -> Option<Tile> {
    let rows = sizes.get("tile_rows");
    [Tile::Small, Tile::Medium, Tile::Large].into_iter().find(|tile| tile.rows() == rows)
}

/// The tile that has `tile_rows` rows.
///
/// # Panics
///
/// Where [`tile_misfit`] refuses the sizes.
pub fn tile(sizes: &Sizes) -> Tile {
    find_tile(sizes).expect("there is a tile of `tile_rows` rows")
}

/// Refuses numbers of rows that no tile has.
pub fn tile_misfit(sizes: &Sizes) -> Option<String> {
    let rows = sizes.get("tile_rows");
    find_tile(sizes).is_none().then(|| format!("no tile has tile_rows = {rows}; tiles have 16, 32 or 64 rows"))
}

/// Refuses sizes whose buffers take more memory than a program may have. `words` counts the words of all buffers.
pub fn memory_misfit(sizes: &Sizes, words: u64) -> Option<String> {
    let keys: Vec<&str> = sizes.iter().map(|(spec, _)| spec.key).collect();
    sizes.too_large(words, &keys)
}

#[cfg(test)]
mod tests {
    use chorus_system::Scale;

    use super::*;
    use crate::size::WORDS_MAX;

    static SPECS: [SizeSpec; 2] = [batch([4, 8, 16], "Table 1"), tile_rows([16, 32, 64])];

    #[test]
    fn tiles_have_the_rows_that_the_size_says() {
        let tiles = Scale::ALL.map(|scale| tile(&Sizes::at(&SPECS, scale)));
        assert_eq!(tiles, [Tile::Small, Tile::Medium, Tile::Large]);
    }

    #[test]
    fn rows_that_no_tile_has_are_refused() {
        let mut sizes = Sizes::at(&SPECS, Scale::Quick);
        assert_eq!(tile_misfit(&sizes), None);
        sizes.set("tile_rows", 48).unwrap();
        assert_eq!(tile_misfit(&sizes).unwrap(), "no tile has tile_rows = 48; tiles have 16, 32 or 64 rows");
    }

    #[test]
    fn programs_that_take_too_much_memory_are_refused_with_all_sizes() {
        let sizes = Sizes::at(&SPECS, Scale::Quick);
        assert_eq!(memory_misfit(&sizes, WORDS_MAX), None);
        let message = memory_misfit(&sizes, WORDS_MAX + 1).unwrap();
        let expected = "batch = 4, tile_rows = 16 would take 1073741825 words of memory; \
                        at most 1073741824 (4 GiB) are accepted";
        assert_eq!(message, expected);
    }
}
