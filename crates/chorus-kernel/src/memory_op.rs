//! Memory instructions of a wavefront, from its source until their values are there.

use chorus_protocol::access::{AtomicOp, Order, Scope};

use crate::lanes::{LANES, Mask};

/// The kind of a memory operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryOpKind {
    /// A read of memory.
    #[default]
    Load,
    /// A write to memory.
    Store,
    /// A read-modify-write of memory.
    Atomic(AtomicOp),
}

/// One memory instruction of a wavefront: an address and a value per lane.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct MemoryOp {
    /// The kind of the operation.
    pub kind: MemoryOpKind,
    /// The lanes that take part.
    pub mask: Mask,
    /// The first word of a row, or the only word.
    first: u32,
    /// The next free slot, where this one is free.
    pub(crate) next_free: u16,
    /// The memory order of the operation.
    pub order: Order,
    /// The scope of the operation.
    pub scope: Scope,
    pub(crate) progress: Progress,
    place: Place,
    /// Line accesses that have not come back; set by the driver when it issues the operation.
    pub accesses: u8,
    /// The words of a store or an atomic that lie nowhere else. A slot keeps this memory for later instructions.
    words: Option<Box<[u32; LANES]>>,
    /// Store data and operands, then the values read.
    pub data: [u32; LANES],
}

/// How far a memory instruction has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nobody has asked for its values yet.
    #[default]
    Pending,
    /// The future waits for its values.
    Awaited,
    /// Nobody will ask for its values.
    Abandoned,
    /// Its values are there.
    Done,
}

/// Where a memory instruction has the words that its lanes touch. Slots are most of the memory of a wavefront, so
/// words take room of their own only where nothing else will do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Lane `i` touches the `i`-th word from the first one on, and every lane takes part. This is the usual case.
    #[default]
    Row,
    /// All lanes that take part touch the first one.
    Same,
    /// With the data: a lane of a load has no value before it has been read, and needs no word after that.
    Data,
    /// In memory of their own.
    Apart,
}

/// The parts of a memory instruction that are the same for all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// The kind of the operation.
    pub kind: MemoryOpKind,
    /// The memory order of the operation.
    pub order: Order,
    /// The scope of the operation.
    pub scope: Scope,
    /// The lanes that take part.
    pub mask: Mask,
}

impl MemoryOp {
    /// Becomes an instruction whose words are set next.
    #[inline]
    pub(crate) fn begin(&mut self, Instruction { kind, order, scope, mask }: Instruction) {
        (self.kind, self.order, self.scope, self.mask) = (kind, order, scope, mask);
        self.progress = if matches!(kind, MemoryOpKind::Store) { Progress::Abandoned } else { Progress::Pending };
    }

    /// Whether nobody will ask for its values.
    pub fn is_abandoned(&self) -> bool {
        self.progress == Progress::Abandoned
    }

    /// Sets the words of all lanes to a row that begins with `first`.
    #[inline]
    pub(crate) fn set_row(&mut self, first: u32) {
        (self.place, self.first) = (Place::Row, first);
    }

    /// Sets the word of each lane: element `index` of what begins at word `start`. The lanes that do not take part have
    /// any word, and those of a load get zero.
    pub(crate) fn set_words(&mut self, start: u32, index: &[u32; LANES]) {
        let (kind, mask) = (self.kind, self.mask);
        if let Some(element) = same_of(mask, index) {
            (self.place, self.first) = (Place::Same, start.wrapping_add(element));
            if kind == MemoryOpKind::Load && mask != Mask::ALL {
                self.data = [0; LANES];
            }
            return;
        }
        if kind == MemoryOpKind::Load {
            self.place = Place::Data;
            self.data = std::array::from_fn(|lane| if mask.contains(lane) { start + index[lane] } else { 0 });
            return;
        }
        self.place = Place::Apart;
        let words = self.words.get_or_insert_default();
        words.iter_mut().zip(index).for_each(|(word, &element)| *word = start.wrapping_add(element));
    }

    /// The first word of a row that lanes touch in order, if that is what they do.
    #[inline]
    pub fn row(&self) -> Option<u32> {
        (self.place == Place::Row).then_some(self.first)
    }

    /// The word that a lane touches. A lane of a load has none once it has its value.
    #[inline]
    pub fn word(&self, lane: usize) -> u32 {
        if self.place == Place::Data {
            return self.data[lane];
        }
        match &self.words {
            Some(words) if self.place == Place::Apart => words[lane],
            _ => self.first + if self.place == Place::Row { lane as u32 } else { 0 },
        }
    }

    /// The words that all lanes touch.
    #[inline]
    pub fn words(&self) -> [u32; LANES] {
        std::array::from_fn(|lane| self.word(lane))
    }
}

/// The first of a row of elements, if the lanes touch them in order and all take part. It is inlined into kernels,
/// whose compiler then knows the answer for most indices.
#[inline(always)]
pub(crate) fn row_of(mask: Mask, index: &[u32; LANES]) -> Option<u32> {
    if mask != Mask::ALL {
        return None;
    }
    let first = index[0];
    let expected = |lane: u32| first.wrapping_add(lane);
    let differences = index.iter().zip(0..).fold(0, |bits, (&element, lane)| bits | (element ^ expected(lane)));
    (differences == 0).then_some(first)
}

/// The one element that all lanes that take part touch, if that is what they do.
fn same_of(mask: Mask, index: &[u32; LANES]) -> Option<u32> {
    let element = index[mask.iter().next().unwrap_or(0)];
    let differences = || index.iter().fold(0, |bits, &other| bits | (element ^ other));
    (mask.count() <= 1 || differences() == 0).then_some(element)
}

/// Stops a kernel that reaches outside its buffer.
pub(crate) fn assert_inside(mask: Mask, index: &[u32; LANES], len: usize) {
    // The union of the bits of all indices is no less than any index. It almost always lies inside the buffer. Only if
    // it does not, each lane is examined.
    if (index.iter().fold(0, |bits, &element| bits | element) as usize) < len {
        return;
    }
    for lane in mask.iter() {
        assert!((index[lane] as usize) < len, "lane {lane}: element {} of a buffer of {len}", index[lane]);
    }
}

/// Stops a kernel whose row of all lanes reaches outside its buffer.
#[cold]
pub(crate) fn assert_row_inside(first: u32, len: usize) {
    assert_inside(Mask::ALL, &std::array::from_fn(|lane| first.wrapping_add(lane as u32)), len);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wave_state::WaveState;

    const START: u32 = 1000;
    const KINDS: [MemoryOpKind; 3] =
        [MemoryOpKind::Load, MemoryOpKind::Store, MemoryOpKind::Atomic(AtomicOp::Exchange)];

    fn queue(state: &mut WaveState, kind: MemoryOpKind, mask: Mask, index: &[u32; LANES]) -> u16 {
        state.access(Instruction { kind, order: Order::Weak, scope: Scope::Gpu, mask }, START, 4096, index)
    }

    #[test]
    fn every_lane_has_its_word_wherever_the_words_lie() {
        let mut state = WaveState::default();
        let patterns: [fn(u32) -> u32; 4] = [|lane| 7 + lane, |_| 9, |lane| lane * 64, |lane| lane / 2];
        for (kind, pattern) in KINDS.into_iter().flat_map(|kind| patterns.map(|pattern| (kind, pattern))) {
            for mask in [Mask::ALL, Mask::NONE, Mask::lane(5), Mask(0xf0f0_0f0f)] {
                let index = std::array::from_fn(|lane| pattern(lane as u32));
                let slot = queue(&mut state, kind, mask, &index);
                let op = state.memory_op_mut(slot);
                mask.iter().for_each(|lane| assert_eq!(op.word(lane), START + index[lane]));
                assert_eq!(op.row(), (mask == Mask::ALL && index[1] == 8).then_some(START + 7));
                if kind == MemoryOpKind::Load && mask != Mask::ALL {
                    mask.iter().for_each(|lane| op.data[lane] = 0);
                    assert_eq!(op.data, [0; LANES], "lanes that do not take part get zero");
                }
                op.data = [u32::MAX; LANES];
                state.abandon(slot);
                state.complete_memory(slot);
            }
        }
    }

    #[test]
    #[should_panic(expected = "lane 31: element 4096 of a buffer of 4096")]
    fn a_row_ends_with_its_buffer() {
        queue(
            &mut WaveState::default(),
            MemoryOpKind::Load,
            Mask::ALL,
            &std::array::from_fn(|lane| 4065 + lane as u32),
        );
    }

    #[test]
    #[should_panic(expected = "lane 3: element 6000 of a buffer of 4096")]
    fn a_lane_that_takes_part_stays_inside_its_buffer() {
        let index = std::array::from_fn(|lane| lane as u32 * 2000);
        queue(&mut WaveState::default(), MemoryOpKind::Store, Mask(0b1001), &index);
    }
}
