//! The flow network of an image: its pixels, their arcs, and how they lie in memory.

use chorus_kernel::{Buf, HostMemory, LANES};

use crate::generator::SplitMix64;

/// Directions of the arcs to neighbours. An even one and the odd one after it are opposite.
pub(super) const DIRECTIONS: usize = 4;

/// The direction that leads back from a neighbour.
pub(super) fn opposite(direction: usize) -> usize {
    direction ^ 1
}

/// The sides of an image in pixels, multiples of the sides of a work-group's tile.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) width: u32,
    pub(super) height: u32,
}

impl Size {
    pub(super) fn pixels(self) -> usize {
        (self.width * self.height) as usize
    }

    /// The neighbour of a pixel to the right, to the left, below or above.
    pub(super) fn neighbour(self, pixel: u32, direction: usize) -> Option<u32> {
        let (x, y) = (pixel % self.width, pixel / self.width);
        match direction {
            0 => (x + 1 < self.width).then(|| pixel + 1),
            1 => (x > 0).then(|| pixel - 1),
            2 => (y + 1 < self.height).then(|| pixel + self.width),
            _ => (y > 0).then(|| pixel - self.width),
        }
    }
}

/// Capacities of the arcs from the source, to the sink and to the neighbours. A pixel has no arcs both from the source
/// and to the sink.
#[derive(Clone)]
pub(super) struct Network {
    pub(super) size: Size,
    pub(super) source: Vec<u32>,
    pub(super) sink: Vec<u32>,
    pub(super) arcs: [Vec<u32>; DIRECTIONS],
}

/// Intensities of the two regions of the image, and how far noise takes a pixel away from them.
const BRIGHT: u32 = 160;
const DARK: u32 = 96;
const NOISE: u32 = 96;
/// The capacity between pixels of the same intensity.
const SMOOTHNESS: u32 = 40;
/// The contrast that halves a capacity.
const CONTRAST: u32 = 32;

impl Network {
    /// The network that segments a noisy image into the bright discs and the dark background. A pixel's terminal arc is
    /// its distance from the middle intensity, as the difference of two linear data costs.
    pub(super) fn new(size: Size, generator: &mut SplitMix64) -> Network {
        const DISCS: usize = 6;
        let discs = [(); DISCS].map(|()| {
            let radius = size.height / 12 + generator.below(size.height / 8);
            (generator.below(size.width), generator.below(size.height), radius)
        });
        let inside = |x: u32, y: u32| {
            discs.iter().any(|&(cx, cy, radius)| x.abs_diff(cx).pow(2) + y.abs_diff(cy).pow(2) < radius.pow(2))
        };
        let image: Vec<u32> = (0..size.pixels() as u32)
            .map(|pixel| {
                let region = if inside(pixel % size.width, pixel / size.width) { BRIGHT } else { DARK };
                (region + generator.below(2 * NOISE)).saturating_sub(NOISE)
            })
            .collect();
        let middle = (BRIGHT + DARK) / 2;
        let capacity = |pixel: u32, direction| {
            size.neighbour(pixel, direction).map_or(0, |neighbour| {
                let contrast = image[pixel as usize].abs_diff(image[neighbour as usize]);
                SMOOTHNESS * CONTRAST / (CONTRAST + contrast)
            })
        };
        Network {
            size,
            source: image.iter().map(|intensity| intensity.saturating_sub(middle)).collect(),
            sink: image.iter().map(|intensity| middle.saturating_sub(*intensity)).collect(),
            arcs: std::array::from_fn(|direction| {
                (0..size.pixels() as u32).map(|pixel| capacity(pixel, direction)).collect()
            }),
        }
    }
}

/// The network as the kernels change it.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub(super) size: Size,
    /// Flow that has come to a pixel and not left it.
    pub(super) excess: Buf<u32>,
    /// A pixel's distance to the sink in the residual network, as far as it is known.
    pub(super) height: Buf<u32>,
    /// Residual capacities to the neighbours.
    pub(super) arcs: [Buf<u32>; DIRECTIONS],
    /// All flow that a pixel has sent to its neighbours, and all that it has received from them.
    pub(super) sent: [Buf<u32>; DIRECTIONS],
    pub(super) received: [Buf<u32>; DIRECTIONS],
    /// Residual capacity to the sink.
    pub(super) sink: Buf<u32>,
    /// 1 for pixels on the side of the source.
    pub(super) label: Buf<u32>,
    /// The latest sweep that sent flow to a row segment of 32 pixels.
    pub(super) notes: Buf<u32>,
    /// The latest phase that found an active pixel, and the latest that lowered a height: a line each.
    pub(super) active: Buf<u32>,
    pub(super) lowered: Buf<u32>,
}

impl Grid {
    /// All arcs from the source are saturated.
    pub(super) fn new(network: &Network, memory: &mut HostMemory) -> Grid {
        let pixels = network.size.pixels();
        assert!(network.size.width.is_multiple_of(LANES as u32), "rows of whole wavefronts");
        Grid {
            size: network.size,
            excess: memory.alloc_from(&network.source),
            height: memory.alloc(pixels),
            arcs: std::array::from_fn(|direction| memory.alloc_from(&network.arcs[direction])),
            sent: [(); DIRECTIONS].map(|()| memory.alloc(pixels)),
            received: [(); DIRECTIONS].map(|()| memory.alloc(pixels)),
            sink: memory.alloc_from(&network.sink),
            label: memory.alloc(pixels),
            notes: memory.alloc(pixels / LANES),
            active: memory.alloc(1),
            lowered: memory.alloc(1),
        }
    }

    /// The height of pixels that cannot reach the sink; no path is as long.
    pub(super) fn height_max(&self) -> u32 {
        self.size.pixels() as u32
    }
}
