//! `sr`: speckle-reducing anisotropic diffusion of an ultrasound or radar image.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Table 3; srad_v2 of Rodinia (Che et al., IISWC 2009), after
//! Yu and Acton, IEEE Transactions on Image Processing 2002. Two kernels per iteration, work-groups of 16 x 16 pixels.
//! The first takes the differences of each pixel to its four neighbours and from them, and from the speckle of a region
//! that should be uniform, a diffusion coefficient; the second moves each pixel by the divergence of the flow, with its
//! own coefficient and those to the south and east. At the edge of the image a missing neighbour is the pixel itself.
//!
//! Sharing: of the six arrays that the second kernel reads the first has written five, and the next iteration reads the
//! image that the second has written. Tiles are staged in local data without their halo. For the halo every work-item
//! of a tile reads the row above, the row below, the column to the left and the column to the right into arrays of
//! their own, of which only the outermost work-items use anything: a work-group reads its northern and southern lines
//! once per wavefront, and mostly finds them in its private cache or on their way there.
//!
//! As in Rodinia, the host sums up the region between iterations, in the image as the last kernel left it. Left out:
//! reads of pixels outside the image, which Rodinia makes at the edges before it replaces the values read, and double
//! precision of a few intermediate values.
//!
//! Arithmetic of the first kernel: 16 instructions for coordinates, addresses and edges; per path through the choice of
//! neighbours 3 for tests and branch, and 4 subtractions; 61 for the coefficient: 5 divisions of 8 instructions
//! (reciprocal, refinement and rounding), 17 additions, multiplications and fused multiply-adds, and 4 that limit it.
//! Of the second: 12, 2 per path, and 6: four for the divergence, two for the pixel.

use chorus_kernel::{AccessMode, Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};
use crate::tile_rows::TileRows;

/// Work-items and pixels of a tile, in x and in y.
const TILE: u32 = 16;
const TILE_PIXELS: u32 = TILE * TILE;
const WAVES_PER_GROUP: u32 = TILE_PIXELS / LANES as u32;
const REGISTERS_PER_ITEM: u32 = 20;

/// Rodinia's weight of an update.
const LAMBDA: f32 = 0.5;
pub(crate) struct Sr;

/// Six arrays take 3.5 MB and 19 MB. A wavefront takes 35 line accesses in the two kernels of an iteration: 0.3 and 1.8
/// million in all, and 1.3 million at medium scale. Rodinia's 2048 pixels, a power of two, would put all rows of a tile
/// into one set of a private cache; these sides spread them over 16.
static SIZES: [SizeSpec; 3] = [
    side([384, 640, 896], "chosen: 1.8 million line accesses, and no power of two"),
    iterations([2, 3, 2], "Rodinia's usual number"),
    region("Rodinia's usual region"),
];

/// The side of the image of `sr` and `srad`. The six arrays of the largest take 0.38 x 2^30 words.
pub(crate) const fn side(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("side", "pixels of the image in x and in y", defaults, source)
        .range(TILE as u64, 8192)
        .multiple_of(TILE as u64)
}

/// The iterations of `sr` and `srad`.
pub(crate) const fn iterations(defaults: [u64; 3], source: &'static str) -> SizeSpec {
    SizeSpec::new("iterations", "iterations of two kernels each", defaults, source).range(1, 1000)
}

/// The region of interest of `sr` and `srad`. A single pixel would have no speckle.
pub(crate) const fn region(source: &'static str) -> SizeSpec {
    SizeSpec::new("region", "rows and columns of the uniform region, from the first on", [128; 3], source)
        .range(2, 8192)
}

/// Why the sizes of `sr` and `srad` do not go together.
pub(crate) fn region_misfit(sizes: &Sizes) -> Option<String> {
    let (side, region) = (sizes.get("side"), sizes.get("region"));
    (region > side).then(|| format!("region = {region} lies outside an image of side = {side}"))
}

/// The sides on which a pixel has a neighbour.
const NORTH: usize = 0;
const SOUTH: usize = 1;
const WEST: usize = 2;
const EAST: usize = 3;
const SIDES: usize = 4;

#[derive(Clone, Copy)]
struct Data {
    /// Pixels in x and in y.
    pixels: u32,
    /// Rows and columns of the region of interest.
    region: usize,
    image: Buf<f32>,
    coefficients: Buf<f32>,
    differences: [Buf<f32>; SIDES],
}

/// The part of a tile that a wavefront works on: two rows.
struct Tile {
    /// The pixel of each lane, in a tile and in the image.
    local: Lanes<u32>,
    pixel: Lanes<u32>,
    /// Lanes whose neighbour on that side lies in another tile.
    edges: [Mask; SIDES],
    /// The pixel beyond the tile, on each side, of a lane's column or row.
    beyond: [Lanes<u32>; SIDES],
}

impl Tile {
    fn new(w: &Wave, pixels: u32) -> Tile {
        let local = w.local_ids();
        let (column, row) = (local % TILE, local / TILE);
        let tiles = pixels / TILE;
        let (left, top) = (w.work_group() % tiles * TILE, w.work_group() / tiles * TILE);
        let at = |x: Lanes<u32>, y: Lanes<u32>| y * pixels + x;
        let (x, y) = (column + left, row + top);
        // At the edge of the image the pixel itself takes the place of the one beyond.
        let (before, after) = (|at: u32| at.saturating_sub(1).into(), |at: u32| (at + TILE).min(pixels - 1).into());
        Tile {
            local,
            pixel: at(x, y),
            edges: [row.below(1), !row.below(TILE - 1), column.below(1), !column.below(TILE - 1)],
            beyond: [at(x, before(top)), at(x, after(top)), at(before(left), y), at(after(left), y)],
        }
    }

    /// Where the pixel of each lane lies in one of the work-group's arrays in local data.
    fn in_array(&self, array: u32) -> Lanes<u32> {
        self.local + array * TILE_PIXELS
    }

    /// A value of the neighbour on each of `sides`, from local data: array 0 holds the tile, and array 1 + side what
    /// lies beyond it. Lanes with other sides at an edge take other paths, which run one after the other.
    async fn neighbours<const N: usize>(&self, w: &Wave, sides: [usize; N], path_alu: u32) -> [Lanes<f32>; N] {
        const STEPS: [i32; SIDES] = [-(TILE as i32), TILE as i32, -1, 1];
        let mut values = [Lanes::splat(0.0); N];
        for path in 0..1_u32 << N {
            let is_beyond = |side: usize| path >> side & 1 == 1;
            let lanes = (0..N).fold(Mask::ALL, |lanes, side| {
                let edge = self.edges[sides[side]];
                lanes & if is_beyond(side) { edge } else { !edge }
            });
            if !lanes.any() {
                continue;
            }
            w.alu(path_alu).await;
            for (side, value) in values.iter_mut().enumerate() {
                let at = if is_beyond(side) {
                    self.in_array(1 + sides[side] as u32)
                } else {
                    self.local.map(|local| local.wrapping_add_signed(STEPS[sides[side]]))
                };
                *value = w.lds_read::<f32>(lanes, at).select(lanes, *value);
            }
        }
        values
    }
}

/// Copies the pixels that `at` names into one array of local data each.
async fn stage<const N: usize>(w: &Wave, tile: &Tile, from: Buf<f32>, at: [(u32, Lanes<u32>); N]) {
    let values = w.join_all(at.map(|(_, pixel)| w.load(from, pixel))).await;
    for ((array, _), value) in at.into_iter().zip(values) {
        w.lds_write(Mask::ALL, tile.in_array(array), value);
    }
}

/// Further arrays of local data: the results of the first kernel, behind what lies beyond each side, and pixels and
/// results of the second, which takes nothing from north and west.
const RESULT: u32 = 1 + SIDES as u32;
const PIXEL: u32 = 1 + NORTH as u32;
const UPDATED: u32 = 1 + WEST as u32;
const DERIVE_ARRAYS: u32 = 6;
const UPDATE_ARRAYS: u32 = 5;

/// The diffusion coefficient of a pixel from its differences to its neighbours.
fn coefficient(centre: f32, [north, south, west, east]: [f32; SIDES], speckle: f32) -> f32 {
    let gradient = (north * north + south * south + west * west + east * east) / (centre * centre);
    let laplacian = (north + south + west + east) / centre;
    let numerator = 0.5 * gradient - (1.0 / 16.0) * (laplacian * laplacian);
    let denominator = 1.0 + 0.25 * laplacian;
    let variation = numerator / (denominator * denominator);
    let excess = (variation - speckle) / (speckle * (1.0 + speckle));
    (1.0 / (1.0 + excess)).clamp(0.0, 1.0)
}

/// A pixel after one iteration. The coefficients are its own, the southern and the eastern.
fn diffuse(pixel: f32, [own, south, east]: [f32; 3], differences: [f32; SIDES]) -> f32 {
    let flow =
        own * differences[NORTH] + south * differences[SOUTH] + own * differences[WEST] + east * differences[EAST];
    pixel + 0.25 * LAMBDA * flow
}

/// The first kernel: differences and coefficients.
async fn derive(w: Wave, data: Data, speckle: f32) {
    let tile = Tile::new(&w, data.pixels);
    let beyond = |side: usize| (1 + side as u32, tile.beyond[side]);
    w.alu(16).await;
    stage(&w, &tile, data.image, [beyond(NORTH), beyond(SOUTH)]).await;
    w.barrier().await;
    stage(&w, &tile, data.image, [beyond(WEST), beyond(EAST)]).await;
    w.barrier().await;
    stage(&w, &tile, data.image, [(0, tile.pixel)]).await;
    w.barrier().await;

    let centre: Lanes<f32> = w.lds_read(Mask::ALL, tile.local);
    let around = tile.neighbours(&w, [NORTH, SOUTH, WEST, EAST], 7).await;
    let differences = around.map(|neighbour| neighbour - centre);
    w.alu(61).await;
    let coefficients =
        Lanes::from_fn(|lane| coefficient(centre[lane], differences.map(|difference| difference[lane]), speckle));
    w.lds_write(Mask::ALL, tile.in_array(RESULT), coefficients);
    w.barrier().await;
    w.store(data.coefficients, tile.pixel, w.lds_read(Mask::ALL, tile.in_array(RESULT)));
    for (buf, difference) in data.differences.into_iter().zip(differences) {
        w.store(buf, tile.pixel, difference);
    }
}

/// The second kernel: the image after one iteration.
async fn update(w: Wave, data: Data) {
    let tile = Tile::new(&w, data.pixels);
    w.alu(12).await;
    stage(&w, &tile, data.image, [(PIXEL, tile.pixel)]).await;
    w.barrier().await;
    for side in [SOUTH, EAST] {
        stage(&w, &tile, data.coefficients, [(1 + side as u32, tile.beyond[side])]).await;
        w.barrier().await;
    }
    stage(&w, &tile, data.coefficients, [(0, tile.pixel)]).await;
    w.barrier().await;

    let own: Lanes<f32> = w.lds_read(Mask::ALL, tile.local);
    let [south, east] = tile.neighbours(&w, [SOUTH, EAST], 2).await;
    let differences = w.join_all(data.differences.map(|buf| w.load(buf, tile.pixel))).await;
    let pixel: Lanes<f32> = w.lds_read(Mask::ALL, tile.in_array(PIXEL));
    w.alu(6).await;
    let updated = Lanes::from_fn(|lane| {
        let coefficients = [own[lane], south[lane], east[lane]];
        diffuse(pixel[lane], coefficients, differences.map(|difference| difference[lane]))
    });
    w.lds_write(Mask::ALL, tile.in_array(UPDATED), updated);
    w.barrier().await;
    w.store(data.image, tile.pixel, w.lds_read(Mask::ALL, tile.in_array(UPDATED)));
}

/// The speckle of the region of interest: its variance in units of its squared mean.
fn speckle(pixels: usize, region: usize, image: &[f32]) -> f32 {
    let (mut sum, mut sum_of_squares) = (0.0_f32, 0.0_f32);
    for row in image.chunks(pixels).take(region) {
        for &pixel in &row[..region] {
            sum += pixel;
            sum_of_squares += pixel * pixel;
        }
    }
    let region_pixels = (region * region) as f32;
    let mean = sum / region_pixels;
    let variance = sum_of_squares / region_pixels - mean * mean;
    variance / (mean * mean)
}

/// The image and the arrays of the kernels on the host.
struct Reference {
    pixels: usize,
    region: usize,
    image: Vec<f32>,
    coefficients: Vec<f32>,
    differences: [Vec<f32>; SIDES],
}

impl Reference {
    fn new(pixels: usize, region: usize, image: Vec<f32>) -> Reference {
        let zeros = vec![0.0; image.len()];
        let differences = std::array::from_fn(|_| zeros.clone());
        Reference { pixels, region, image, coefficients: zeros, differences }
    }

    /// The pixel on each side of another.
    fn around(&self, pixel: usize) -> [usize; SIDES] {
        let (x, y, last) = (pixel % self.pixels, pixel / self.pixels, self.pixels - 1);
        let at = |x: usize, y: usize| y * self.pixels + x;
        [at(x, y.saturating_sub(1)), at(x, last.min(y + 1)), at(x.saturating_sub(1), y), at(last.min(x + 1), y)]
    }

    /// Makes one iteration of both kernels.
    fn iterate(&mut self) {
        let speckle = speckle(self.pixels, self.region, &self.image);
        for pixel in 0..self.image.len() {
            let centre = self.image[pixel];
            let differences = self.around(pixel).map(|neighbour| self.image[neighbour] - centre);
            self.coefficients[pixel] = coefficient(centre, differences, speckle);
            for (array, difference) in self.differences.iter_mut().zip(differences) {
                array[pixel] = difference;
            }
        }
        for pixel in 0..self.image.len() {
            let around = self.around(pixel);
            let coefficients = [pixel, around[SOUTH], around[EAST]].map(|at| self.coefficients[at]);
            let differences = std::array::from_fn(|side| self.differences[side][pixel]);
            self.image[pixel] = diffuse(self.image[pixel], coefficients, differences);
        }
    }
}

/// The launch of a number: the two kernels take turns.
fn launch(memory: &HostMemory, data: Data, number: u32) -> Kernel {
    let tiles = (data.pixels / TILE) * (data.pixels / TILE);
    let (kernel, arrays) = if number.is_multiple_of(2) {
        let speckle = speckle(data.pixels as usize, data.region, &memory.read(data.image));
        (Kernel::new("srad 1", tiles, WAVES_PER_GROUP, move |w| derive(w, data, speckle)), DERIVE_ARRAYS)
    } else {
        (Kernel::new("srad 2", tiles, WAVES_PER_GROUP, move |w| update(w, data)), UPDATE_ARRAYS)
    };
    let kernel = kernel.registers(REGISTERS_PER_ITEM).lds(arrays * TILE_PIXELS * 4);
    annotated(kernel, data, number.is_multiple_of(2))
}

/// A kernel that says what it accesses: the rows of a chiplet's tiles, and of the image the rows around them in the
/// first kernel, of the coefficients the row below them in the second.
fn annotated(kernel: Kernel, data: Data, is_first: bool) -> Kernel {
    let (pixels, across) = (data.pixels, data.pixels / TILE);
    let rows = TileRows { across, rows_per_tile: TILE, rows: pixels, columns: pixels };
    let name = |kernel: Kernel, buf: Buf<f32>, mode: AccessMode, before: u32, after: u32| {
        kernel.access_parts(buf, mode, move |share| vec![rows.elements(share, before, after)])
    };
    let (derived, kernel) = if is_first {
        let kernel = name(kernel, data.image, AccessMode::Read, 1, 1);
        (AccessMode::ReadWrite, name(kernel, data.coefficients, AccessMode::ReadWrite, 0, 0))
    } else {
        let kernel = name(kernel, data.image, AccessMode::ReadWrite, 0, 0);
        (AccessMode::Read, name(kernel, data.coefficients, AccessMode::Read, 0, 1))
    };
    data.differences.into_iter().fold(kernel, |kernel, buf| name(kernel, buf, derived, 0, 0))
}

/// The program of `sr` and `srad`.
pub(crate) fn diffusion(sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
    let (pixels, iterations, region) = (sizes.get("side"), sizes.get("iterations"), sizes.get("region") as usize);
    let mut generator = SplitMix64::new(seed);
    // The range of Rodinia's image, which is the exponential of numbers between 0 and 1.
    let image: Vec<f32> = (0..pixels * pixels).map(|_| generator.between_f32(1.0, std::f32::consts::E)).collect();
    let data = Data {
        pixels,
        region,
        image: memory.alloc_from(&image),
        coefficients: memory.alloc(image.len()),
        differences: std::array::from_fn(|_| memory.alloc(image.len())),
    };
    let mut reference = Reference::new(pixels as usize, region, image);
    for _ in 0..iterations {
        reference.iterate();
    }
    let names = ["northern differences", "southern differences", "western differences", "eastern differences"];
    let mut outputs = vec![
        Output::new("image", data.image, &reference.image),
        Output::new("coefficients", data.coefficients, &reference.coefficients),
    ];
    for side in [NORTH, SOUTH, WEST, EAST] {
        outputs.push(Output::new(names[side], data.differences[side], &reference.differences[side]));
    }
    let mut launches = 0..2 * iterations;
    HostProgram::deciding(move |memory| launches.next().map(|number| launch(memory, data, number)), outputs)
}

impl Workload for Sr {
    fn name(&self) -> &'static str {
        "sr"
    }

    fn title(&self) -> &'static str {
        "Anisotropic diffusion (SRAD)"
    }

    fn summary(&self) -> &'static str {
        "Removes speckle from an image, two kernels per iteration, tiles in local data."
    }

    fn suite(&self) -> Suite {
        Suite::Rodinia
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (SR); \
         Rodinia srad_v2 (Che et al., IISWC 2009)"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn misfit(&self, sizes: &Sizes) -> Option<String> {
        region_misfit(sizes)
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        diffusion(sizes, seed, memory)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chorus_system::{Scale, resolve};

    use super::*;

    #[test]
    fn rows_of_a_tile_spread_over_as_many_sets_of_a_private_cache_at_all_scales() {
        let l1 = resolve("tc", Scale::Paper, &[]).unwrap().config.l1;
        let sets_used = SIZES[0].defaults.map(|side| {
            let (row_lines, sets) = (side as u32 * 4 / l1.line_bytes, l1.size_bytes / (l1.ways * l1.line_bytes));
            (0..TILE).map(|row| row * row_lines % sets).collect::<BTreeSet<u32>>().len()
        });
        assert_eq!(sets_used, [16; 3]);
    }

    #[test]
    fn flat_regions_diffuse_fully_and_edges_hardly() {
        let speckle = 0.05;
        assert_eq!(coefficient(2.0, [0.01, -0.01, 0.0, 0.01], speckle), 1.0);
        assert!(coefficient(1.0, [0.0, 0.0, 0.0, 5.0], speckle) < 0.1);
    }

    #[test]
    fn iterations_reduce_speckle() {
        let mut generator = SplitMix64::new(4);
        let image = (0..128 * 128).map(|_| generator.between_f32(1.0, 3.0)).collect();
        let mut reference = Reference::new(128, 128, image);
        let before = speckle(128, 128, &reference.image);
        reference.iterate();
        let after = speckle(128, 128, &reference.image);
        assert!(after < before, "{before} {after}");
    }
}
