//! `dwt2d`: the discrete wavelet transform of a colour image.
//!
//! Source: CPElide paper (Dalmia, Kumar, Sinclair), Table II (DWT2d, a bitmap of 4096 x 4096); dwt2d of Rodinia (Che et
//! al., IISWC 2009), the forward 5/3 transform of JPEG 2000 by lifting (Le Gall, Tabatabai, ICASSP 1988), at Rodinia's
//! three levels.
//!
//! One kernel takes the bytes of the image apart into three planes of whole numbers around zero. For each plane, and
//! each level, one kernel transforms a square and leaves its four bands behind each other: averages of both
//! directions, details of one or the other, details of both. Then the averages are copied over the input, which is the
//! next level's. A work-group loads a tile of 64 x 32 with two rows and columns before it and one behind, mirrored at
//! the edges, transforms the rows in local data, and then the columns.
//!
//! Reuse: each plane is read once at its full size, and only the averages, a quarter, are used again, by other
//! chiplets: bands of rows of one level are narrower at the next.
//!
//! Left out: the slide of a work-group down several tiles, and with it that a tile's last rows are the next one's halo;
//! the copy of a level is a kernel here where Rodinia copies within the device.
//!
//! Arithmetic: 8 instructions per pixel to take it apart; per row of a load 6 for addresses and mirrors; a detail
//! takes 3 and an average 4, 6 for each of them in rows, where neighbours compute the details twice; 2 for the address
//! of a store.

use std::ops::Range;

use chorus_kernel::AccessMode::{Read, ReadWrite};
use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Share, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::shares::{rows_of, scaled};
use crate::size::{SizeSpec, Sizes};

const LANES_U32: u32 = LANES as u32;
/// Red, green and blue.
const COMPONENTS: usize = 3;
/// Pixels that a work-group takes apart, one per work-item.
const PIXELS_PER_GROUP: u32 = 256;
/// Columns and rows of a tile.
const TILE: [u32; 2] = [64, 32];
/// Rows and columns that a tile sees before its own; one more lies behind.
const BEFORE: u32 = 2;
const SEEN: [u32; 2] = [TILE[0] + BEFORE + 1, TILE[1] + BEFORE + 1];
/// Where transformed rows lie in local data.
const LOCAL_ROWS: u32 = SEEN[0] * SEEN[1];
const WAVES_PER_TILE: u32 = 4;
/// Elements that a work-group copies, four per work-item.
const COPIED_PER_GROUP: u32 = 512;

pub(crate) struct Dwt2d;

/// The paper scale is Table II's: planes of 64 MB, twice; 17 million line accesses. The quick scale has about a
/// thirtieth of it, 15 MB, which overflow the second-level caches as they do in the paper, and 0.6 million line
/// accesses; the medium scale four times that. The largest image takes 0.42 x 2^30 words.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "rows and columns of the image",
        [768, 1536, 4096],
        "CPElide paper, Table II: a bitmap of 4096 x 4096",
    )
    .range(TILE[0] as u64, 8192)
    .multiple_of(TILE[0] as u64),
    SizeSpec::new("levels", "levels of the transform", [3, 3, 3], "Rodinia's usual number").range(1, 6),
];

/// The detail of an odd element between two even ones.
fn detail(before: i32, odd: i32, behind: i32) -> i32 {
    odd - ((before + behind) >> 1)
}

/// The average at an even element between two details.
fn average(before: i32, even: i32, behind: i32) -> i32 {
    even + ((before + behind + 2) >> 2)
}

/// An index beyond the edge of `size` elements is that of its mirror image.
fn mirror(index: i64, size: u32) -> u32 {
    let last = i64::from(size) - 1;
    (last - (last - index.abs()).abs()) as u32
}

/// Takes 256 pixels apart; their bytes go through local data.
async fn take_apart(w: Wave, image: Buf<u32>, planes: [Buf<i32>; COMPONENTS]) {
    let words = PIXELS_PER_GROUP / 4 * COMPONENTS as u32;
    let own = w.id().wave * LANES_U32;
    w.alu(3).await;
    if own < words {
        let bytes = w.load(image, w.lane_ids() + w.work_group() * words + own).await;
        w.lds_write(Mask::ALL, w.local_ids(), bytes);
    }
    w.barrier().await;
    let first = w.local_ids() * 3;
    let low: Lanes<u32> = w.lds_read(Mask::ALL, first / 4);
    let high: Lanes<u32> = w.lds_read(Mask::ALL, (first + 2) / 4);
    for (component, plane) in (0..).zip(planes) {
        w.alu(3).await;
        let value = Lanes::from_fn(|lane| {
            let byte = first[lane] + component;
            let word = if byte / 4 == first[lane] / 4 { low[lane] } else { high[lane] };
            (word >> (byte % 4 * 8) & 0xff) as i32 - 128
        });
        w.store(plane, w.global_ids(), value);
    }
}

/// Loads the rows of a tile that are the wavefront's into local data.
async fn load_tile(w: &Wave, size: u32, [column, row]: [u32; 2], input: Buf<i32>) {
    let mut loads = Vec::new();
    for seen in (w.id().wave..SEEN[1]).step_by(WAVES_PER_TILE as usize) {
        let y = mirror(i64::from(row + seen) - i64::from(BEFORE), size);
        let halo = w.lane_ids().map(|lane| if lane < BEFORE { lane } else { SEEN[0] - 1 });
        let inner = w.lane_ids() + BEFORE;
        w.alu(6).await;
        for (mask, at) in [(Mask::ALL, inner), (Mask::ALL, inner + LANES_U32), (Mask::first(3), halo)] {
            let x = at.map(|at| mirror(i64::from(column + at) - i64::from(BEFORE), size));
            loads.push((mask, at + seen * SEEN[0], w.load_where(mask, input, x + y * size)));
        }
    }
    for (mask, local, load) in loads {
        let values = load.await;
        w.lds_write(mask, local, values);
    }
}

/// Transforms the rows of a tile that are the wavefront's: averages first, then details.
async fn transform_rows(w: &Wave) {
    for row in (w.id().wave..SEEN[1]).step_by(WAVES_PER_TILE as usize) {
        let x: [Lanes<i32>; 5] =
            std::array::from_fn(|place| w.lds_read(Mask::ALL, w.lane_ids() * 2 + row * SEEN[0] + place as u32));
        w.alu(12).await;
        let details = Lanes::from_fn(|lane| detail(x[2][lane], x[3][lane], x[4][lane]));
        let averages =
            Lanes::from_fn(|lane| average(detail(x[0][lane], x[1][lane], x[2][lane]), x[2][lane], details[lane]));
        let to = w.lane_ids() + LOCAL_ROWS + row * TILE[0];
        w.lds_write(Mask::ALL, to, averages);
        w.lds_write(Mask::ALL, to + LANES_U32, details);
    }
}

/// Transforms a square of `size` into four bands.
async fn transform(w: Wave, size: u32, input: Buf<i32>, output: Buf<i32>) {
    let across = size / TILE[0];
    let [column, row] = [w.work_group() % across * TILE[0], w.work_group() / across * TILE[1]];
    w.alu(8).await;
    load_tile(&w, size, [column, row], input).await;
    transform_rows(&w).await;
    w.barrier().await;
    // The averages or the details of the rows, and the upper or the lower half.
    let (side, pairs) = (w.id().wave % 2, TILE[1] / 4);
    let first = w.id().wave / 2 * pairs;
    let read = |seen: u32| -> Lanes<i32> {
        w.lds_read(Mask::ALL, w.lane_ids() + LOCAL_ROWS + seen * TILE[0] + side * LANES_U32)
    };
    let lift = |a: Lanes<i32>, b: Lanes<i32>, c: Lanes<i32>, f: fn(i32, i32, i32) -> i32| {
        Lanes::from_fn(|lane| f(a[lane], b[lane], c[lane]))
    };
    let mut even = read(2 * first + 2);
    let mut before = lift(read(2 * first), read(2 * first + 1), even, detail);
    w.alu(3).await;
    let half = size / 2;
    for pair in first..first + pairs {
        let (odd, next) = (read(2 * pair + 3), read(2 * pair + 4));
        let behind = lift(even, odd, next, detail);
        let mean = lift(before, even, behind, average);
        w.alu(11).await;
        let at = w.lane_ids() + side * half * half + (row / 2 + pair) * half + column / 2;
        w.store(output, at, mean);
        w.store(output, at + 2 * half * half, behind);
        (before, even) = (behind, next);
    }
}

/// Copies the averages of a level.
async fn copy(w: Wave, from: Buf<i32>, to: Buf<i32>) {
    let first = w.work_group() * COPIED_PER_GROUP + w.id().wave * LANES_U32;
    let at: [Lanes<u32>; 4] = std::array::from_fn(|row| w.lane_ids() + first + row as u32 * 4 * LANES_U32);
    w.alu(6).await;
    for (at, values) in at.into_iter().zip(w.join_all(at.map(|at| w.load(from, at))).await) {
        w.store(to, at, values);
    }
}

fn take_apart_kernel(image: Buf<u32>, planes: [Buf<i32>; COMPONENTS]) -> Kernel {
    let (len, waves) = (planes[0].len(), PIXELS_PER_GROUP / LANES_U32);
    let work_groups = len as u32 / PIXELS_PER_GROUP;
    let kernel = Kernel::new("components", work_groups, waves, move |w| take_apart(w, image, planes))
        .lds(PIXELS_PER_GROUP * 3)
        .access_parts(image, Read, |share| vec![scaled(share.groups(), PIXELS_PER_GROUP / 4 * 3)]);
    planes.into_iter().fold(kernel, |kernel, plane| {
        kernel.access_parts(plane, ReadWrite, |share| vec![scaled(share.groups(), PIXELS_PER_GROUP)])
    })
}

fn transform_kernel(size: u32, input: Buf<i32>, output: Buf<i32>) -> Kernel {
    let [across, down] = [size / TILE[0], size / TILE[1]];
    let reads = move |share: Share| {
        let Range { start, end } = rows_of(share, across);
        let rows = (start * TILE[1]).saturating_sub(BEFORE)..(end * TILE[1] + 1).min(size);
        if start == end { Vec::new() } else { vec![scaled(rows, size)] }
    };
    let writes = move |share: Share| {
        let own = scaled(rows_of(share, across), TILE[1] / 2 * (size / 2));
        let band = (size / 2 * (size / 2)) as usize;
        (0..4).map(|number| number * band + own.start..number * band + own.end).collect()
    };
    Kernel::new("transform", across * down, WAVES_PER_TILE, move |w| transform(w, size, input, output))
        .registers(32)
        .lds((LOCAL_ROWS + TILE[0] * SEEN[1]) * 4)
        .access_parts(input, Read, reads)
        .access_parts(output, ReadWrite, writes)
}

fn copy_kernel(size: u32, from: Buf<i32>, to: Buf<i32>) -> Kernel {
    let own = |share: Share| vec![scaled(share.groups(), COPIED_PER_GROUP)];
    Kernel::new("copy", size * size / COPIED_PER_GROUP, WAVES_PER_TILE, move |w| copy(w, from, to))
        .access_parts(from, Read, own)
        .access_parts(to, ReadWrite, own)
}

/// One level on the host, from and to the beginning of `values`.
fn reference_level(size: u32, values: &mut [i32]) {
    let (side, half) = (size as usize, size as usize / 2);
    // A row or a column becomes averages, and behind them details.
    let lift = |line: &[i32]| -> Vec<i32> {
        let at = |index: i64| line[mirror(index, size) as usize];
        let odd = |pair: i64| detail(at(2 * pair), at(2 * pair + 1), at(2 * pair + 2));
        let pairs = 0..half as i64;
        let averages = pairs.clone().map(|pair| average(odd(pair - 1), at(2 * pair), odd(pair)));
        averages.chain(pairs.map(odd)).collect()
    };
    let rows: Vec<Vec<i32>> = values[..side * side].chunks_exact(side).map(lift).collect();
    for column in 0..side {
        let line: Vec<i32> = rows.iter().map(|row| row[column]).collect();
        for (row, value) in lift(&line).into_iter().enumerate() {
            let band = column / half + row / half * 2;
            values[band * half * half + row % half * half + column % half] = value;
        }
    }
}

/// The bytes of a smooth image with some noise, pixel by pixel.
fn draw(size: u32, seed: u64) -> Vec<u8> {
    let mut generator = SplitMix64::new(seed);
    let slopes: [u32; 2 * COMPONENTS] = std::array::from_fn(|_| 1 + generator.below(7));
    let mut bytes = Vec::with_capacity((size * size) as usize * COMPONENTS);
    for (y, x) in (0..size).flat_map(|y| (0..size).map(move |x| (y, x))) {
        let noise = generator.next_u64();
        for component in 0..COMPONENTS {
            let wave = x * slopes[component] / 8 + y * slopes[component + COMPONENTS] / 8;
            bytes.push((wave % 224) as u8 + (noise >> (8 * component) & 0x1f) as u8);
        }
    }
    bytes
}

impl Workload for Dwt2d {
    fn name(&self) -> &'static str {
        "dwt2d"
    }

    fn title(&self) -> &'static str {
        "Discrete wavelet transform"
    }

    fn summary(&self) -> &'static str {
        "Transforms the planes of a colour image into wavelets, level by level; little is used again."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::CpElide]
    }

    fn source(&self) -> &'static str {
        "Dalmia et al., CPElide: Efficient Multi-Chiplet GPU Implicit Synchronization, MICRO 2024, Table II (DWT2d); \
         Rodinia dwt2d (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        let (side, levels) = (sizes.get("side"), sizes.get("levels"));
        let multiple = TILE[0] << (levels - 1);
        (!side.is_multiple_of(multiple)).then(|| {
            format!(
                "side = {side} cannot be halved into whole tiles at levels = {levels}; \
                 a multiple of {multiple} is accepted"
            )
        })
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (size, levels) = (sizes.get("side"), sizes.get("levels"));
        let bytes = draw(size, seed);
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect();
        let image = memory.alloc_from(&words);
        let len = (size * size) as usize;
        let planes: [Buf<i32>; COMPONENTS] = std::array::from_fn(|_| memory.alloc(len));
        let bands: [Buf<i32>; COMPONENTS] = std::array::from_fn(|_| memory.alloc(len));
        let mut kernels = vec![take_apart_kernel(image, planes)];
        let mut outputs = Vec::new();
        for (component, name) in ["red", "green", "blue"].into_iter().enumerate() {
            let mut values: Vec<i32> =
                bytes[component..].iter().step_by(COMPONENTS).map(|&byte| i32::from(byte) - 128).collect();
            for size in (0..levels).map(|level| size >> level) {
                if values.len() > (size * size) as usize {
                    kernels.push(copy_kernel(size, bands[component], planes[component]));
                }
                kernels.push(transform_kernel(size, planes[component], bands[component]));
                reference_level(size, &mut values);
            }
            outputs.push(Output::new(name, bands[component], &values));
        }
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_one_colour_has_no_details() {
        let mut values = vec![7; 16];
        reference_level(4, &mut values);
        assert_eq!(values, [7, 7, 7, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn indices_beyond_an_edge_are_mirrored() {
        assert_eq!([-2, -1, 0, 7, 8].map(|index| mirror(index, 8)), [2, 1, 0, 7, 6]);
    }

    #[test]
    fn details_and_averages_give_the_elements_back() {
        let x = [5, -3, 8, 120, -7];
        let (before, behind) = (detail(x[0], x[1], x[2]), detail(x[2], x[3], x[4]));
        let even = average(before, x[2], behind) - ((before + behind + 2) >> 2);
        assert_eq!([even, behind + ((even + x[4]) >> 1)], [x[2], x[3]]);
    }
}
