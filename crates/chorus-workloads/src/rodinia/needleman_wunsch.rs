//! The program of `ndl` and `nw`: global alignment of two protein sequences by the algorithm of Needleman and Wunsch.
//!
//! Source: nw of Rodinia (Che et al., IISWC 2009), with its gap penalty of 10. The host looks up the similarity of
//! every pair of residues in BLOSUM62 (Henikoff and Henikoff, PNAS 1992), and the kernels fill the score matrix: a cell
//! is the best of its north-western neighbour plus the similarity, and its northern and western neighbours less the
//! penalty. The matrix is cut into tiles of 16 x 16. Tiles of an anti-diagonal are independent, so each anti-diagonal
//! is a launch, of one kernel up to the longest and of a second one from there on. A work-group is 16 work-items, half
//! a wavefront, as in Rodinia: it copies the similarities of its tile and the edges of the tiles before it into local
//! data, computes the tile there one anti-diagonal per step, with a barrier behind each, and copies it out.
//!
//! Sharing: similarities are read once and scores written once; only the edges of a tile, 33 cells, are read in later
//! launches, by three other tiles. So it streams: nothing that a work-group reads is read again in the same launch.
//! Rows begin anywhere in a line, since a matrix row is one word longer than the sequence, and 16 words fill at most
//! half of it. Adjacent tiles of an anti-diagonal lie 256 words per tile of a row apart, so that work-groups in step
//! with each other all want lines of the same L2 bank, whatever the size.
//!
//! Left out: the trace back through the matrix, which Rodinia does on the host.
//!
//! Arithmetic: 12 instructions for tile coordinates and the four addresses; 1 per row read or written for its address;
//! 10 per step: one comparison, four for coordinates and addresses, three additions and two maxima.

use std::ops::Range;

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::size::SizeSpec;

/// Rows and columns of a tile, and work-items of a work-group.
const TILE: u32 = 16;
const REGISTERS_PER_ITEM: u32 = 20;
const PENALTY: i32 = 10;

/// The size of `ndl` and `nw`. Scores and similarities of the longest sequences take 0.5 x 2^30 words.
pub(crate) const fn residues(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("residues", "residues of each sequence", defaults, source)
        .range(TILE as u64, 1 << 14)
        .multiple_of(TILE as u64)
}

/// Local data: the tile's scores with the edges of the tiles before it, and behind them the similarities.
const LOCAL_ROW: u32 = TILE + 1;
const LOCAL_SIMILARITIES: u32 = LOCAL_ROW * LOCAL_ROW;
const LOCAL_WORDS: u32 = LOCAL_SIMILARITIES + TILE * TILE;

const RESIDUES: usize = 20;

/// BLOSUM62, residues in the order ARNDCQEGHILKMFPSTWYV.
const BLOSUM62: [[i32; RESIDUES]; RESIDUES] = [
    [4, -1, -2, -2, 0, -1, -1, 0, -2, -1, -1, -1, -1, -2, -1, 1, 0, -3, -2, 0],
    [-1, 5, 0, -2, -3, 1, 0, -2, 0, -3, -2, 2, -1, -3, -2, -1, -1, -3, -2, -3],
    [-2, 0, 6, 1, -3, 0, 0, 0, 1, -3, -3, 0, -2, -3, -2, 1, 0, -4, -2, -3],
    [-2, -2, 1, 6, -3, 0, 2, -1, -1, -3, -4, -1, -3, -3, -1, 0, -1, -4, -3, -3],
    [0, -3, -3, -3, 9, -3, -4, -3, -3, -1, -1, -3, -1, -2, -3, -1, -1, -2, -2, -1],
    [-1, 1, 0, 0, -3, 5, 2, -2, 0, -3, -2, 1, 0, -3, -1, 0, -1, -2, -1, -2],
    [-1, 0, 0, 2, -4, 2, 5, -2, 0, -3, -3, 1, -2, -3, -1, 0, -1, -3, -2, -2],
    [0, -2, 0, -1, -3, -2, -2, 6, -2, -4, -4, -2, -3, -3, -2, 0, -2, -2, -3, -3],
    [-2, 0, 1, -1, -3, 0, 0, -2, 8, -3, -3, -1, -2, -1, -2, -1, -2, -2, 2, -3],
    [-1, -3, -3, -3, -1, -3, -3, -4, -3, 4, 2, -3, 1, 0, -3, -2, -1, -3, -1, 3],
    [-1, -2, -3, -4, -1, -2, -3, -4, -3, 2, 4, -2, 2, 0, -3, -2, -1, -2, -1, 1],
    [-1, 2, 0, -1, -3, 1, 1, -2, -1, -3, -2, 5, -1, -3, -1, 0, -1, -3, -2, -2],
    [-1, -1, -2, -3, -1, 0, -2, -3, -2, 1, 2, -1, 5, 0, -2, -1, -1, -1, -1, 1],
    [-2, -3, -3, -3, -2, -3, -3, -3, -1, 0, 0, -3, 0, 6, -4, -2, -2, 1, 3, -1],
    [-1, -2, -2, -1, -3, -1, -1, -2, -2, -3, -3, -1, -2, -4, 7, -1, -1, -4, -3, -2],
    [1, -1, 1, 0, -1, 0, 0, 0, -1, -2, -2, 0, -1, -2, -1, 4, 1, -3, -2, -2],
    [0, -1, 0, -1, -1, -1, -1, -2, -2, -1, -1, -1, -1, -2, -1, 1, 5, -2, -2, 0],
    [-3, -3, -4, -4, -2, -2, -3, -2, -2, -3, -2, -3, -1, 1, -4, -3, -2, 11, 2, -3],
    [-2, -2, -2, -3, -2, -1, -2, -3, 2, -1, -1, -2, -1, 3, -3, -2, -2, 2, 7, -1],
    [0, -3, -3, -3, -1, -2, -2, -3, -3, 3, 1, -2, 1, -1, -2, -2, 0, -3, -1, 4],
];

#[derive(Clone, Copy)]
struct Data {
    tiles: u32,
    similarities: Buf<i32>,
    scores: Buf<i32>,
}

impl Data {
    /// Words of a matrix row: a cell per residue, and one before the first.
    fn columns(&self) -> u32 {
        self.tiles * TILE + 1
    }

    /// The cells of so many rows of tiles, and those of the row before them.
    fn cells_of(&self, tile_rows: Range<u32>) -> [Range<usize>; 2] {
        let at = |row: u32| (row * self.columns()) as usize;
        let (first, end) = (tile_rows.start * TILE + 1, tile_rows.end * TILE + 1);
        [at(first)..at(end), at(first - 1)..at(first)]
    }

    /// A launch that says what it accesses. Its first tile lies in row `last` of tiles, the others in the rows above.
    fn annotated(self, kernel: Kernel, last: u32) -> Kernel {
        let rows_of = move |share: Share| last + 1 - share.groups().end..last + 1 - share.groups().start;
        let cells = move |share: Share| {
            let rows = rows_of(share);
            if rows.is_empty() { [0..0, 0..0] } else { self.cells_of(rows) }
        };
        kernel
            .access_parts(self.similarities, AccessMode::Read, move |share| vec![cells(share)[0].clone()])
            .access_parts(self.scores, AccessMode::ReadWrite, move |share| vec![cells(share)[0].clone()])
            .access_parts(self.scores, AccessMode::Read, move |share| vec![cells(share)[1].clone()])
    }
}

/// The score of a cell.
fn best(north_west: i32, north: i32, west: i32, similarity: i32) -> i32 {
    (north_west + similarity).max(west - PENALTY).max(north - PENALTY)
}

/// Computes one tile in local data.
async fn needle(w: Wave, data: Data, tile_x: u32, tile_y: u32) {
    let items = Mask::first(TILE as usize);
    let item = w.lane_ids() % TILE;
    let columns = data.columns();
    let north_west = tile_y * TILE * columns + tile_x * TILE;
    w.alu(12).await;

    let corner = w.load_where(Mask::lane(0), data.scores, north_west.into());
    let rows: [u32; TILE as usize] = std::array::from_fn(|row| north_west + (row as u32 + 1) * columns + 1);
    w.alu(TILE).await;
    let similarities = w.join_all(rows.map(|row| w.load_where(items, data.similarities, item + row))).await;
    w.lds_write(Mask::lane(0), Lanes::splat(0), corner.await);
    for (row, similarity) in (0..).zip(similarities) {
        w.lds_write(items, item + (LOCAL_SIMILARITIES + row * TILE), similarity);
    }
    w.barrier().await;
    let west = w.load_where(items, data.scores, item * columns + (north_west + columns)).await;
    w.lds_write(items, (item + 1) * LOCAL_ROW, west);
    w.barrier().await;
    let north = w.load_where(items, data.scores, item + (north_west + 1)).await;
    w.lds_write(items, item + 1, north);
    w.barrier().await;

    for diagonal in 0..2 * TILE - 1 {
        step(&w, item, diagonal).await;
        w.barrier().await;
    }
    for (local, row) in (1..).zip(rows) {
        w.alu(1).await;
        let scores: Lanes<i32> = w.lds_read(items, item + (local * LOCAL_ROW + 1));
        w.store_where(items, data.scores, item + row, scores);
    }
}

/// Computes an anti-diagonal of the tile in local data, one cell per lane from the lower left to the upper right.
async fn step(w: &Wave, item: Lanes<u32>, diagonal: u32) {
    let (first_column, first_row) = (diagonal.saturating_sub(TILE - 1), diagonal.min(TILE - 1));
    let lanes = Mask::first((first_row - first_column + 1) as usize);
    let (x, y) = (item + first_column, item.map(|item| first_row.saturating_sub(item)));
    let cell = (y + 1) * LOCAL_ROW + x + 1;
    w.alu(10).await;
    let north_west: Lanes<i32> = w.lds_read(lanes, cell - (LOCAL_ROW + 1));
    let north: Lanes<i32> = w.lds_read(lanes, cell - LOCAL_ROW);
    let west: Lanes<i32> = w.lds_read(lanes, cell - 1);
    let similarity: Lanes<i32> = w.lds_read(lanes, y * TILE + x + LOCAL_SIMILARITIES);
    let score = Lanes::from_fn(|lane| best(north_west[lane], north[lane], west[lane], similarity[lane]));
    w.lds_write(lanes, cell, score);
}

/// One launch per anti-diagonal of tiles.
fn launches(data: Data) -> Vec<Kernel> {
    let tiles = data.tiles;
    let sized = |kernel: Kernel| kernel.registers(REGISTERS_PER_ITEM).lds(LOCAL_WORDS * 4);
    let growing = (1..=tiles).map(|length| {
        let kernel = Kernel::new("needle 1", length, 1, move |w| {
            let tile = w.work_group();
            needle(w, data, tile, length - 1 - tile)
        });
        data.annotated(sized(kernel), length - 1)
    });
    let shrinking = (1..tiles).rev().map(|length| {
        let kernel = Kernel::new("needle 2", length, 1, move |w| {
            let tile = w.work_group();
            needle(w, data, tile + tiles - length, tiles - 1 - tile)
        });
        data.annotated(sized(kernel), tiles - 1)
    });
    growing.chain(shrinking).collect()
}

/// The similarity of every pair of residues of two random sequences, row by row. The first row and column stand before
/// the sequences.
fn draw_similarities(columns: usize, generator: &mut SplitMix64) -> Vec<i32> {
    let mut sequence = || (1..columns).map(|_| generator.below(RESIDUES as u32) as usize).collect::<Vec<usize>>();
    let (down, across) = (sequence(), sequence());
    let mut similarities = vec![0; columns * columns];
    for (y, &residue) in (1..).zip(&down) {
        for (x, &other) in (1..).zip(&across) {
            similarities[y * columns + x] = BLOSUM62[residue][other];
        }
    }
    similarities
}

/// The matrix before the first kernel: gaps before the sequences, and nothing elsewhere.
fn initial_scores(columns: usize) -> Vec<i32> {
    let mut scores = vec![0; columns * columns];
    for (gaps, cell) in (0..columns as i32).zip(0..columns) {
        scores[cell] = -gaps * PENALTY;
        scores[cell * columns] = -gaps * PENALTY;
    }
    scores
}

/// The score matrix on the host, row by row.
fn reference(columns: usize, similarities: &[i32], mut scores: Vec<i32>) -> Vec<i32> {
    for y in 1..columns {
        for x in 1..columns {
            let cell = y * columns + x;
            scores[cell] =
                best(scores[cell - columns - 1], scores[cell - columns], scores[cell - 1], similarities[cell]);
        }
    }
    scores
}

/// The alignment of two random sequences of so many residues, a multiple of 16.
pub(crate) fn align(residues: u32, seed: u64, memory: &mut HostMemory) -> HostProgram {
    let (tiles, columns) = (residues / TILE, residues as usize + 1);
    let similarities = draw_similarities(columns, &mut SplitMix64::new(seed));
    let initial = initial_scores(columns);
    let data = Data { tiles, similarities: memory.alloc_from(&similarities), scores: memory.alloc_from(&initial) };
    let scores = reference(columns, &similarities, initial);
    HostProgram::new(launches(data), vec![Output::new("scores", data.scores, &scores)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_symmetric_and_greatest_with_oneself() {
        for (residue, row) in BLOSUM62.iter().enumerate() {
            for (other, &similarity) in row.iter().enumerate() {
                assert_eq!(similarity, BLOSUM62[other][residue]);
                assert!(residue == other || similarity < row[residue]);
            }
        }
    }

    #[test]
    fn launches_cover_every_tile_once_and_in_order() {
        let mut memory = HostMemory::default();
        let data = Data { tiles: 5, similarities: memory.alloc(0), scores: memory.alloc(0) };
        let lengths: Vec<u32> = launches(data).iter().map(|kernel| kernel.work_groups).collect();
        assert_eq!(lengths, [1, 2, 3, 4, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn a_sequence_aligned_with_itself_scores_its_own_similarities() {
        let sequence = [0, 4, 9, 17];
        let mut similarities = vec![0; 25];
        for (y, &residue) in (1..).zip(&sequence) {
            for (x, &other) in (1..).zip(&sequence) {
                similarities[y * 5 + x] = BLOSUM62[residue][other];
            }
        }
        let scores = reference(5, &similarities, initial_scores(5));
        assert_eq!(scores[24], 4 + 9 + 4 + 11);
        assert_eq!(scores[4], -4 * PENALTY);
    }
}
