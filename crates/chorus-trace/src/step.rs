//! What a wavefront that replays a warp does, step by step.

use chorus_kernel::{Instruction, LANES, LaneAccess, Mask, MemoryOpKind, WORDS_MAX, WaveState};
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
    /// Adjacent words that each lane accesses: 1, 2, 4 or 8.
    pub words: u8,
    /// The bytes that a store narrower than a word writes, one bit each.
    pub bytes: Option<Box<[u8; LANES]>>,
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

/// Queues a memory instruction. Returns the slots of its parts: two for lanes of 32 bytes, and otherwise one.
pub(crate) fn queue(state: &mut WaveState, access: &Access) -> impl Iterator<Item = u16> {
    let &Access { kind, order, scope, mask, words, .. } = access;
    let words_per_lane = words.min(WORDS_MAX as u8);
    let mut first = [0; LANES];
    for (index, lane) in (0..).zip(Mask(mask).iter()) {
        first[lane] = access.places.word(index);
    }
    let instruction = Instruction { kind, order, scope, mask: Mask(mask) };
    let mut queue = |behind: u32| {
        let word = first.map(|word| word.wrapping_add(behind));
        let bytes = access.bytes.as_deref();
        let slot = state.access_lanes(LaneAccess { instruction, words_per_lane, word: &word, bytes, expected: None });
        if kind != MemoryOpKind::Load {
            let op = state.memory_op_mut(slot);
            (0..usize::from(words_per_lane)).for_each(|k| *op.values_mut(k) = [0; LANES]);
        }
        slot
    };
    let parts = [Some(queue(0)), (words > words_per_lane).then(|| queue(words_per_lane.into()))];
    parts.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(access: &Access) -> Vec<Vec<u32>> {
        let mut state = WaveState::default();
        let slots: Vec<u16> = queue(&mut state, access).collect();
        let words = |&slot: &u16| {
            let op = state.memory_op(slot);
            op.touched().collect()
        };
        slots.iter().map(words).collect()
    }

    fn access(mask: u32, words: u8, places: &[u32]) -> Access {
        let kind = MemoryOpKind::Load;
        Access {
            kind,
            order: Order::Weak,
            scope: Scope::Gpu,
            mask,
            words,
            bytes: None,
            places: Places::of(places),
            load: None,
        }
    }

    #[test]
    fn wide_accesses_have_their_words_side_by_side() {
        let places: Vec<u32> = (0..32).map(|lane| 64 + 4 * lane).collect();
        assert_eq!(queued(&access(u32::MAX, 4, &places)), [(64..192).collect::<Vec<u32>>()]);
        assert_eq!(queued(&access(1 << 31, 2, &[6])), [[6, 7]]);
        assert_eq!(queued(&access(1 << 3, 8, &[8])), [[8, 9, 10, 11], [12, 13, 14, 15]]);
    }

    #[test]
    fn lanes_that_do_not_take_part_have_no_words() {
        assert_eq!(queued(&access(0b1010_0000, 1, &[9, 3])), [[9, 3]]);
        assert_eq!(queued(&access(0b111, 1, &[1, 2, 5])), [[1, 2, 5]]);
    }
}
