//! What a wavefront that replays a warp does, step by step.

use chorus_kernel::{Instruction, LANES, Mask, MemoryOpKind, WaveState};
use chorus_protocol::access::{Order, Scope};

/// One step of a wavefront.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// That many arithmetic instructions.
    Alu(u32),
    /// That many accesses of the local data share.
    Lds(u32),
    Barrier,
    Fence {
        order: Order,
        scope: Scope,
    },
    /// Waits for the values of the load with this number.
    Wait(u32),
    Access(Access),
}

/// A memory instruction of some lanes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Access {
    pub kind: MemoryOpKind,
    pub order: Order,
    pub scope: Scope,
    pub mask: u32,
    /// Adjacent words that each lane accesses: a power of two.
    pub words: u8,
    pub places: Places,
    /// The number by which a later step waits for the values, if one may.
    pub load: Option<u32>,
}

/// The first word of each lane that takes part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Places {
    /// Words at equal distances, from the first lane that takes part on.
    Row { first: u32, stride: i32 },
    /// A word for each lane that takes part.
    Each(Box<[u32]>),
}

impl Places {
    /// The shortest form of these words.
    pub(crate) fn of(words: &[u32]) -> Places {
        let (first, second) = (words.first().copied().unwrap_or(0), words.get(1).copied());
        let stride = second.map_or(0, |second| second.wrapping_sub(first) as i32);
        let in_row = words.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) as i32 == stride);
        if in_row { Places::Row { first, stride } } else { Places::Each(words.into()) }
    }

    /// The word of the lane that is the `index`-th of those that take part.
    fn word(&self, index: u32) -> u32 {
        match self {
            Places::Row { first, stride } => first.wrapping_add_signed(stride.wrapping_mul(index as i32)),
            Places::Each(words) => words.get(index as usize).copied().unwrap_or(0),
        }
    }
}

/// The most memory instructions that one [`Access`] becomes, for lanes of 32 bytes.
pub(crate) const PARTS_MAX: usize = 8;

/// Queues a memory instruction. Returns the slots of its parts.
///
/// An instruction of Chorus has one word for each lane. An access of 2, 4 or 8 words per lane is therefore issued as 2,
/// 4 or 8 instructions with the words of a half, a quarter or an eighth of the lanes each. GPUs divide wide accesses in
/// this way too, and so the lines that are accessed are the right ones, each as often as on them.
pub(crate) fn queue(state: &mut WaveState, access: &Access) -> impl Iterator<Item = u16> {
    let words = usize::from(access.words);
    let lanes_of_part = LANES / words;
    let mut slots = [None; PARTS_MAX];
    for (part, slot) in slots.iter_mut().enumerate().take(words) {
        let (mut mask, mut places) = (0u32, [0; LANES]);
        for lane in (part * lanes_of_part..(part + 1) * lanes_of_part).filter(|lane| access.mask >> lane & 1 == 1) {
            let before = (access.mask & ((1u32 << lane) - 1)).count_ones();
            let first = access.places.word(before);
            for word in 0..words {
                let place = (lane - part * lanes_of_part) * words + word;
                mask |= 1 << place;
                places[place] = first.wrapping_add(word as u32);
            }
        }
        if mask != 0 {
            let &Access { kind, order, scope, .. } = access;
            let instruction = Instruction { kind, order, scope, mask: Mask(mask) };
            let queued = state.access(instruction, 0, u32::MAX as usize, &places);
            if kind != MemoryOpKind::Load {
                state.memory_op_mut(queued).data = [0; LANES];
            }
            *slot = Some(queued);
        }
    }
    slots.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(access: &Access) -> Vec<Vec<u32>> {
        let mut state = WaveState::default();
        let slots: Vec<u16> = queue(&mut state, access).collect();
        let words = |&slot: &u16| {
            let op = state.memory_op(slot);
            op.mask.iter().map(|lane| op.word(lane)).collect()
        };
        slots.iter().map(words).collect()
    }

    fn access(mask: u32, words: u8, places: &[u32]) -> Access {
        let kind = MemoryOpKind::Load;
        Access { kind, order: Order::Weak, scope: Scope::Gpu, mask, words, places: Places::of(places), load: None }
    }

    #[test]
    fn wide_accesses_are_issued_in_parts_of_whole_lines() {
        let places: Vec<u32> = (0..32).map(|lane| 64 + 4 * lane).collect();
        let parts = queued(&access(u32::MAX, 4, &places));
        assert_eq!(parts, (0..4).map(|part| (64 + 32 * part..96 + 32 * part).collect()).collect::<Vec<Vec<u32>>>());
        assert_eq!(queued(&access(1 << 31, 2, &[7])), [[7, 8]]);
    }

    #[test]
    fn lanes_that_do_not_take_part_have_no_words() {
        assert_eq!(queued(&access(0b1010_0000, 1, &[9, 3])), [[9, 3]]);
        assert_eq!(queued(&access(0b111, 1, &[1, 2, 5])), [[1, 2, 5]]);
        assert_eq!(queued(&access(0b1000_0001, 8, &[8, 80])).len(), 2);
    }
}
