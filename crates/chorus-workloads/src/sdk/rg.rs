//! `rg`: Gaussian blur of images by a recursive filter.
//!
//! Source: TC paper (Singh et al., HPCA 2013), section 7, Table 3; recursiveGaussian of the CUDA SDK, with its image
//! size of 512 x 512, its sigma of 10 and 64 work-items per work-group. The filter is Deriche's (INRIA research report
//! 1893, 1993): a pass down a column, in which a pixel depends on the two filtered before it, and a pass up, whose
//! result is added. A pixel is a word of four channels of 8 bits, filtered as four floating-point numbers. Each
//! work-item filters one column of the image; a kernel with tiles of 16 x 16 in local data transposes the result; the
//! same two kernels again filter the rows and turn the image back.
//!
//! Sharing: within a kernel nobody reads what others write, but every kernel reads what other compute units wrote in
//! the kernel before, and writes the buffer that they read two kernels before: lines of the temporary image and of the
//! result change hands with every kernel. The way up reads the words that the same work-item wrote on the way down.
//! Few wavefronts run at a time, 16 for a whole image, so column kernels wait for memory most of the time.
//!
//! The SDK filters one image over and over. Here several images are filtered one after the other through the same
//! temporary image, so that each result can be checked and a stale word is seen.
//!
//! Arithmetic: 4 instructions per row for addresses and loop; 40 unpack a pixel (per channel one to extract, one to
//! convert and 8 to divide), 16 filter it (per channel a multiplication and three fused multiply-adds), 4 add the
//! passes, 15 pack it (per channel one each to saturate, scale and convert, and three to combine them); 10 for a
//! column's coordinate, first addresses and edge. 8 per work-item of the transposition for coordinates and addresses.

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Wave};

use crate::generator::SplitMix64;
use crate::program::{HostProgram, Output};
use crate::registry::{Paper, Suite, Workload};
use crate::size::{SizeSpec, Sizes};

/// Wavefronts of a work-group of 64 work-items, each of which has a column.
const COLUMN_WAVES: u32 = 2;
const COLUMN_REGISTERS: u32 = 32;

/// Work-items and pixels of a tile of the transposition, in x and in y.
const TILE: u32 = 16;
const TILE_WAVES: u32 = TILE * TILE / LANES as u32;
/// One word longer than the tile, so that a column lies in different banks.
const LOCAL_ROW: u32 = TILE + 1;

const SIGMA: f32 = 10.0;

const UNPACK_ALU: u32 = 40;
const FILTER_ALU: u32 = 16;
const PACK_ALU: u32 = 15;

/// The recursive Gaussian filter.
pub struct Rg;

/// The three buffers of an image take 1.8 MB at quick and 3.1 MB at paper scale, about three times the L2 of both
/// machines. The kernels of an image take 0.08 million line accesses at quick and 0.15 million at paper scale. All
/// images take 0.3 million at quick, 1.3 million at medium and 2.4 million at paper scale.
static SIZES: [SizeSpec; 2] = [
    SizeSpec::new(
        "side",
        "rows and columns of an image",
        [384, 448, 512],
        "CUDA SDK recursiveGaussian: an image of 512 x 512",
    )
    .range(64, 1 << 11)
    .multiple_of(64),
    SizeSpec::new(
        "images",
        "images that are filtered one after the other",
        [4, 12, 16],
        "chosen: 2.4 million line accesses",
    )
    .range(1, 100),
];

/// The channels of a pixel, from 0 to 1.
type Channels = [f32; 4];

fn unpack(pixel: u32) -> Channels {
    pixel.to_le_bytes().map(|channel| f32::from(channel) / 255.0)
}

fn pack(channels: Channels) -> u32 {
    u32::from_le_bytes(channels.map(|channel| (channel.clamp(0.0, 1.0) * 255.0) as u8))
}

/// Weights of the filter, named as in the SDK: of inputs on the way down and up, of outputs, and of the first input.
#[derive(Clone, Copy)]
struct Filter {
    a: [f32; 4],
    b: [f32; 2],
    first_down: f32,
    first_up: f32,
}

/// The exponential function near zero, by its series: the same bits on every machine.
fn exponential(x: f32) -> f32 {
    let x = f64::from(x);
    let (sum, _) = (1..20).fold((1.0, 1.0), |(sum, term), n| {
        let term = term * x / f64::from(n);
        (sum + term, term)
    });
    sum as f32
}

impl Filter {
    /// The SDK's filter of order 0.
    fn new(sigma: f32) -> Filter {
        let alpha = 1.695 / sigma;
        let (decay, decay_twice) = (exponential(-alpha), exponential(-2.0 * alpha));
        let scale = (1.0 - decay) * (1.0 - decay) / (1.0 + 2.0 * alpha * decay - decay_twice);
        let a = [scale, scale * (alpha - 1.0) * decay, scale * (alpha + 1.0) * decay, -scale * decay_twice];
        let b = [-2.0 * decay, decay_twice];
        let sum = 1.0 + b[0] + b[1];
        Filter { a, b, first_down: (a[0] + a[1]) / sum, first_up: (a[2] + a[3]) / sum }
    }
}

/// The last two inputs and the last two outputs, which a work-item carries from row to row.
#[derive(Clone, Copy)]
struct History {
    inputs: [Channels; 2],
    outputs: [Channels; 2],
}

impl History {
    /// The history before the first row, as if the image went on with the pixel of its edge.
    fn new(edge: u32, weight: f32) -> History {
        let input = unpack(edge);
        History { inputs: [input; 2], outputs: [input.map(|channel| weight * channel); 2] }
    }

    /// The next output. On the way down the next input counts towards it, on the way up it does not yet.
    fn next(&mut self, filter: &Filter, pixel: u32, down: bool) -> Channels {
        let input = unpack(pixel);
        let [last, before_last] = self.inputs;
        let (weights, inputs) = if down {
            ([filter.a[0], filter.a[1]], [input, last])
        } else {
            ([filter.a[2], filter.a[3]], [last, before_last])
        };
        let [output, output_before] = self.outputs;
        let next = std::array::from_fn(|channel| {
            weights[0] * inputs[0][channel] + weights[1] * inputs[1][channel]
                - filter.b[0] * output[channel]
                - filter.b[1] * output_before[channel]
        });
        self.inputs = [input, last];
        self.outputs = [next, output];
        next
    }
}

/// Adds the output of the way up to the pixel of the way down.
fn add(pixel: u32, output: Channels) -> u32 {
    let below = unpack(pixel);
    pack(std::array::from_fn(|channel| below[channel] + output[channel]))
}

/// Filters the columns of an image, one per work-item.
async fn filter_columns(w: Wave, side: u32, filter: Filter, from: Buf<u32>, to: Buf<u32>) {
    let column = w.global_ids();
    w.alu(10).await;
    let edge = w.load(from, column).await;
    let mut history = edge.map(|edge| History::new(edge, filter.first_down));
    w.alu(UNPACK_ALU + 4).await;
    for row in 0..side {
        let at = column + row * side;
        let pixel = w.load(from, at).await;
        w.alu(4 + UNPACK_ALU + FILTER_ALU + PACK_ALU).await;
        let filtered = Lanes::from_fn(|lane| pack(history.0[lane].next(&filter, pixel[lane], true)));
        w.store(to, at, filtered);
    }
    let edge = w.load(from, column + (side - 1) * side).await;
    history = edge.map(|edge| History::new(edge, filter.first_up));
    w.alu(UNPACK_ALU + 4).await;
    for row in (0..side).rev() {
        let at = column + row * side;
        let (pixel, filtered) = w.join(w.load(from, at), w.load(to, at)).await;
        w.alu(4 + 2 * UNPACK_ALU + FILTER_ALU + 4 + PACK_ALU).await;
        let sum = Lanes::from_fn(|lane| add(filtered[lane], history.0[lane].next(&filter, pixel[lane], false)));
        w.store(to, at, sum);
    }
}

/// Transposes an image, a tile per work-group.
async fn transpose(w: Wave, side: u32, from: Buf<u32>, to: Buf<u32>) {
    let tiles = side / TILE;
    let (left, top) = (w.work_group() % tiles * TILE, w.work_group() / tiles * TILE);
    let (column, row) = (w.local_ids() % TILE, w.local_ids() / TILE);
    w.alu(4).await;
    let pixel = w.load(from, (row + top) * side + column + left).await;
    w.lds_write(Mask::ALL, row * LOCAL_ROW + column, pixel);
    w.barrier().await;
    w.alu(4).await;
    w.store(to, (row + left) * side + column + top, w.lds_read(Mask::ALL, column * LOCAL_ROW + row));
}

/// Filters the columns of an image on the host.
fn reference_columns(side: usize, filter: &Filter, from: &[u32]) -> Vec<u32> {
    let mut to = vec![0; from.len()];
    for column in 0..side {
        let mut history = History::new(from[column], filter.first_down);
        for at in (column..from.len()).step_by(side) {
            to[at] = pack(history.next(filter, from[at], true));
        }
        history = History::new(from[(side - 1) * side + column], filter.first_up);
        for at in (column..from.len()).step_by(side).rev() {
            to[at] = add(to[at], history.next(filter, from[at], false));
        }
    }
    to
}

/// Transposes an image on the host.
fn reference_transpose(side: usize, from: &[u32]) -> Vec<u32> {
    (0..from.len()).map(|at| from[at % side * side + at / side]).collect()
}

/// An image of coloured patches under noise, so that filtering changes it everywhere.
fn draw_image(side: u32, generator: &mut SplitMix64) -> Vec<u32> {
    const PATCH: u32 = 64;
    const NOISE: u32 = 32;
    let across = side.div_ceil(PATCH);
    let colours: Vec<[u32; 4]> =
        (0..across * across).map(|_| std::array::from_fn(|_| generator.below(256 - NOISE))).collect();
    (0..side * side)
        .map(|at| {
            let patch = at / side / PATCH * across + at % side / PATCH;
            u32::from_le_bytes(colours[patch as usize].map(|channel| (channel + generator.below(NOISE)) as u8))
        })
        .collect()
}

/// The four kernels of an image.
fn launches(side: u32, filter: Filter, source: Buf<u32>, temporary: Buf<u32>, result: Buf<u32>) -> [Kernel; 4] {
    let columns = |from, to| {
        let work_groups = side / (COLUMN_WAVES * LANES as u32);
        Kernel::new("columns", work_groups, COLUMN_WAVES, move |w| filter_columns(w, side, filter, from, to))
            .registers(COLUMN_REGISTERS)
    };
    let turn = |from, to| {
        let tiles = (side / TILE) * (side / TILE);
        Kernel::new("transpose", tiles, TILE_WAVES, move |w| transpose(w, side, from, to)).lds(LOCAL_ROW * TILE * 4)
    };
    [columns(source, temporary), turn(temporary, result), columns(result, temporary), turn(temporary, result)]
}

impl Workload for Rg {
    fn name(&self) -> &'static str {
        "rg"
    }

    fn title(&self) -> &'static str {
        "Recursive Gaussian filter"
    }

    fn summary(&self) -> &'static str {
        "Blurs images by columns and by rows, four kernels per image; each kernel reads what the one before wrote."
    }

    fn suite(&self) -> Suite {
        Suite::Sdk
    }

    fn papers(&self) -> &'static [Paper] {
        &[Paper::Tc]
    }

    fn source(&self) -> &'static str {
        "Singh et al., Cache Coherence for GPU Architectures, HPCA 2013, section 7 (RG); \
         recursiveGaussian of the NVIDIA CUDA SDK, after Deriche, INRIA report 1893, 1993"
    }

    fn sizes(&self) -> &'static [SizeSpec] {
        &SIZES
    }

    fn build(&self, sizes: &Sizes, seed: u64, memory: &mut HostMemory) -> HostProgram {
        let (side, images) = (sizes.get("side"), sizes.get("images"));
        let filter = Filter::new(SIGMA);
        let mut generator = SplitMix64::new(seed);
        let pixels = (side * side) as usize;
        let temporary = memory.alloc(pixels);
        let mut last_temporary = Vec::new();
        let (mut kernels, mut outputs) = (Vec::new(), Vec::new());
        for _ in 0..images {
            let image = draw_image(side, &mut generator);
            let (source, result) = (memory.alloc_from(&image), memory.alloc(pixels));
            kernels.extend(launches(side, filter, source, temporary, result));
            let side = side as usize;
            let turned = reference_transpose(side, &reference_columns(side, &filter, &image));
            last_temporary = reference_columns(side, &filter, &turned);
            outputs.push(Output::new("result", result, &reference_transpose(side, &last_temporary)));
        }
        outputs.push(Output::new("temporary image", temporary, &last_temporary));
        HostProgram::new(kernels, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_groups_divide_the_image() {
        let side = SIZES[0].multiple_of as u32;
        assert_eq!([side % (COLUMN_WAVES * LANES as u32), side % TILE], [0, 0]);
    }

    #[test]
    fn the_series_is_the_exponential_function() {
        for x in [-1.0_f32, -0.339, -0.1695, 0.0] {
            assert!((exponential(x) - x.exp()).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn packing_undoes_unpacking_but_for_rounding() {
        for pixel in [0, 0x00ff_80ff, 0xffff_ffff, 0x1234_5678] {
            let again = pack(unpack(pixel)).to_le_bytes();
            assert!(again.iter().zip(pixel.to_le_bytes()).all(|(&again, channel)| again.abs_diff(channel) <= 1));
        }
    }

    #[test]
    fn a_bright_line_spreads_evenly_and_keeps_its_light() {
        let side = 128;
        let image: Vec<u32> = (0..side * side).map(|at| if at / side == 64 { 0xffff_ffff } else { 0 }).collect();
        let blurred = reference_columns(side, &Filter::new(2.0), &image);
        let rows: Vec<u32> = (0..side).map(|row| blurred[row * side] & 0xff).collect();
        assert!((1..8).all(|distance| rows[64 - distance].abs_diff(rows[64 + distance]) <= 2), "{rows:?}");
        assert!(rows[64] > rows[66] && rows[66] > rows[69]);
        // Each of about 20 pixels loses at most a level on the way down and another on the way up.
        assert!((215..=255).contains(&rows.iter().sum::<u32>()), "{rows:?}");
    }
}
