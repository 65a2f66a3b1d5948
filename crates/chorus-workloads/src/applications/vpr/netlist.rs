//! The circuit: blocks, the nets that connect them, and the cost of a placement.
//!
//! Every block drives one net, as a logic block with one output does. Blocks are numbered as a packer leaves them, so
//! that blocks that belong together have adjacent numbers: 32 neighbouring numbers form a tile, 8 wide and 4 high, of
//! an imagined good placement. Most nets are short and have few pins. After the first two, another pin follows with a
//! chance of 3 in 5, up to ten; half of all pins lie within 2 blocks of the driver in this placement, half of the rest
//! within 4, and so on.
//!
//! Cost: half the perimeter of the box around a net's pins, times the factor by which VPR corrects it for the number of
//! pins (Betz and Rose, FPL 1997; the factors are those of Cheng, ICCAD 1994), in 64ths.

use chorus_kernel::{Buf, HostMemory};

use crate::generator::SplitMix64;

/// Blocks of a tile.
const TILE_COLUMNS: u32 = 8;
const TILE_ROWS: u32 = 4;

/// Pins of the largest net.
pub(super) const PINS_MAX: u32 = 10;

/// Half the perimeter counts this much, in 64ths, by the number of pins.
const WEIGHTS: [i32; PINS_MAX as usize + 1] = [64, 64, 64, 64, 69, 74, 78, 82, 86, 90, 93];

/// The cost of a net of `pins` per unit of half its perimeter.
pub(super) fn weight(pins: u32) -> i32 {
    WEIGHTS[pins.min(PINS_MAX) as usize]
}

/// A place on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) x: u32,
    pub(super) y: u32,
}

impl Place {
    /// Packs the place into a word of memory.
    pub(super) fn to_word(self) -> u32 {
        self.y << 16 | self.x
    }

    /// Unpacks a place from a word of memory.
    pub(super) fn from_word(word: u32) -> Place {
        Place { x: word & 0xffff, y: word >> 16 }
    }

    /// The number of its site, on a chip of that many columns.
    pub(super) fn site(self, columns: u32) -> usize {
        (self.y * columns + self.x) as usize
    }
}

/// The box around some pins.
#[derive(Clone, Copy)]
pub(super) struct BoundingBox {
    low: Place,
    high: Place,
}

impl BoundingBox {
    /// The box around no pin at all.
    pub(super) const EMPTY: BoundingBox =
        BoundingBox { low: Place { x: u32::MAX, y: u32::MAX }, high: Place { x: 0, y: 0 } };

    /// Grows to contain a pin.
    pub(super) fn add(&mut self, pin: Place) {
        self.low = Place { x: self.low.x.min(pin.x), y: self.low.y.min(pin.y) };
        self.high = Place { x: self.high.x.max(pin.x), y: self.high.y.max(pin.y) };
    }

    /// Half the perimeter; nothing has none.
    pub(super) fn half_perimeter(&self) -> i32 {
        (self.high.x.saturating_sub(self.low.x) + self.high.y.saturating_sub(self.low.y)) as i32
    }
}

/// A circuit on the host.
pub(super) struct Circuit {
    columns: u32,
    /// The blocks of each net, the driver first.
    nets: Vec<Vec<u32>>,
}

impl Circuit {
    /// Draws a circuit whose blocks fill `columns` and `rows` of the imagined placement, which are whole tiles.
    pub(super) fn draw([columns, rows]: [u32; 2], generator: &mut SplitMix64) -> Circuit {
        let mut circuit = Circuit { columns, nets: Vec::new() };
        for driver in 0..columns * rows {
            let mut pins = vec![driver];
            let mut wanted = 2;
            while wanted < PINS_MAX as usize && generator.below(5) < 3 {
                wanted += 1;
            }
            while pins.len() < wanted {
                let reach = (2 << generator.next_u64().leading_ones()).min(columns.max(rows));
                let near = |at: u32, limit: u32, offset: u32| (at + offset).saturating_sub(reach).min(limit - 1);
                let home = circuit.home(driver);
                let x = near(home.x, columns, generator.below(2 * reach + 1));
                let y = near(home.y, rows, generator.below(2 * reach + 1));
                let sink = circuit.block_at(Place { x, y });
                if !pins.contains(&sink) {
                    pins.push(sink);
                }
            }
            circuit.nets.push(pins);
        }
        circuit
    }

    /// The number of blocks, each of which drives a net.
    pub(super) fn blocks(&self) -> u32 {
        self.nets.len() as u32
    }

    /// The place of a block in the imagined placement.
    pub(super) fn home(&self, block: u32) -> Place {
        let (tile, within) = (block / (TILE_COLUMNS * TILE_ROWS), block % (TILE_COLUMNS * TILE_ROWS));
        let across = self.columns / TILE_COLUMNS;
        Place {
            x: tile % across * TILE_COLUMNS + within % TILE_COLUMNS,
            y: tile / across * TILE_ROWS + within / TILE_COLUMNS,
        }
    }

    fn block_at(&self, home: Place) -> u32 {
        let across = self.columns / TILE_COLUMNS;
        let tile = home.y / TILE_ROWS * across + home.x / TILE_COLUMNS;
        tile * TILE_COLUMNS * TILE_ROWS + home.y % TILE_ROWS * TILE_COLUMNS + home.x % TILE_COLUMNS
    }

    /// The cost of a placement, over all nets.
    pub(super) fn cost(&self, place: impl Fn(u32) -> Place) -> i64 {
        let cost = |pins: &Vec<u32>| {
            let mut around = BoundingBox::EMPTY;
            pins.iter().for_each(|&block| around.add(place(block)));
            i64::from(weight(pins.len() as u32) * around.half_perimeter())
        };
        self.nets.iter().map(cost).sum()
    }

    /// Lays the circuit out in memory.
    pub(super) fn lay_out(&self, memory: &mut HostMemory) -> Netlist {
        let mut nets_of = vec![Vec::new(); self.nets.len()];
        for (net, pins) in (0..).zip(&self.nets) {
            pins.iter().for_each(|&block| nets_of[block as usize].push(net));
        }
        let mut lists = |lists: &[Vec<u32>]| {
            let mut end = 0;
            let ends = lists.iter().map(|list| {
                end += list.len() as u32;
                end
            });
            let starts: Vec<u32> = std::iter::once(0).chain(ends).collect();
            Lists { starts: memory.alloc_from(&starts), elements: memory.alloc_from(&lists.concat()) }
        };
        Netlist { nets_of_block: lists(&nets_of), pins_of_net: lists(&self.nets) }
    }
}

/// Lists one after the other in memory.
#[derive(Clone, Copy)]
pub(super) struct Lists {
    /// The beginning of each list, and the end of the last one.
    pub(super) starts: Buf<u32>,
    /// The elements of all lists.
    pub(super) elements: Buf<u32>,
}

/// A circuit in memory.
#[derive(Clone, Copy)]
pub(super) struct Netlist {
    /// The nets that each block has a pin of.
    pub(super) nets_of_block: Lists,
    /// The blocks that each net has a pin of.
    pub(super) pins_of_net: Lists,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_one_home() {
        let circuit = Circuit::draw([32, 16], &mut SplitMix64::new(1));
        for block in 0..circuit.blocks() {
            assert_eq!(circuit.block_at(circuit.home(block)), block);
        }
    }

    #[test]
    fn nets_are_short_and_have_few_different_pins() {
        let circuit = Circuit::draw([64, 64], &mut SplitMix64::new(1));
        let pins: usize = circuit.nets.iter().map(Vec::len).sum();
        assert!((3.2..3.7).contains(&(pins as f64 / circuit.nets.len() as f64)), "{pins} pins");
        for net in &circuit.nets {
            assert!((2..=PINS_MAX as usize).contains(&net.len()));
            assert!((1..net.len()).all(|pin| !net[..pin].contains(&net[pin])));
        }
        let at_home = circuit.cost(|block| circuit.home(block));
        let scattered = circuit.cost(|block| circuit.home(block.wrapping_mul(0x9e37_79b1) % circuit.blocks()));
        assert!(4 * at_home < scattered, "{at_home} against {scattered}");
    }

    #[test]
    fn a_box_holds_all_pins() {
        let mut around = BoundingBox::EMPTY;
        assert_eq!(around.half_perimeter(), 0);
        [(3, 4), (7, 1), (5, 5)].into_iter().for_each(|(x, y)| around.add(Place { x, y }));
        assert_eq!(around.half_perimeter(), 8);
    }

    #[test]
    fn both_lists_name_every_pin() {
        let circuit = Circuit::draw([16, 16], &mut SplitMix64::new(3));
        let mut memory = HostMemory::default();
        let netlist = circuit.lay_out(&mut memory);
        let pairs = |lists: Lists| {
            let (starts, elements) = (memory.read(lists.starts), memory.read(lists.elements));
            let list = move |of: usize| elements[starts[of] as usize..starts[of + 1] as usize].to_vec();
            (0..circuit.nets.len()).flat_map(move |of| list(of).into_iter().map(move |element| (of as u32, element)))
        };
        let mut by_block: Vec<_> = pairs(netlist.nets_of_block).map(|(block, net)| (net, block)).collect();
        let mut by_net: Vec<_> = pairs(netlist.pins_of_net).collect();
        by_block.sort_unstable();
        by_net.sort_unstable();
        assert_eq!(by_block, by_net);
    }
}
