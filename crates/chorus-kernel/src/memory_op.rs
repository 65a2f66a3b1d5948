//! Memory instructions of a wavefront, from its source until their values are there.

use std::ops::Range;

use chorus_protocol::access::{AtomicOp, Order, Scope};
use chorus_protocol::save::{self, Save};

use crate::lanes::{LANES, Mask};

/// The kind of a memory operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
pub enum MemoryOpKind {
    /// A read of memory.
    #[default]
    Load,
    /// A write to memory.
    Store,
    /// A read-modify-write of memory.
    Atomic(AtomicOp),
}

/// One memory instruction of a wavefront: an address and a value per lane, or up to four adjacent ones.
#[derive(Clone, Debug, Default, Save)]
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
    /// Everything that lies nowhere else. A slot keeps this memory for later instructions.
    apart: Option<Box<Apart>>,
    /// Store data and operands, then the values read.
    pub data: [u32; LANES],
}

/// How far a memory instruction has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Save)]
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
    /// In memory of their own, together with what only few instructions have.
    Wide,
}

/// The parts of a memory instruction that most instructions do without.
#[derive(Clone, Debug, Default, Save)]
struct Apart {
    /// The words of a store or an atomic, the first ones of each lane.
    words: [u32; LANES],
    /// The words behind the first.
    wide: Option<Box<Wide>>,
}

/// An instruction on several words per lane, on parts of words, or with an expected value per lane.
#[derive(Clone, Debug, Default, Save)]
struct Wide {
    words_per_lane: u8,
    /// The bytes that a store writes in each word of a lane, one bit each.
    bytes: [u8; LANES],
    /// Data and operands of the words behind the first one, then the values read.
    more: [[u32; LANES]; WORDS_MAX - 1],
    /// The values that a compare-exchange compares the words with, if each lane has its own.
    expected: Option<[[u32; LANES]; 2]>,
}

/// The most words that a lane touches in one instruction.
pub const WORDS_MAX: usize = 4;

/// The bytes of a word, one bit each.
const WHOLE_WORD: u8 = 0xF;

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

/// A memory instruction whose lanes touch adjacent words or parts of a word.
#[derive(Clone, Copy, Debug)]
pub struct LaneAccess<'a> {
    /// The parts that are the same for all lanes.
    pub instruction: Instruction,
    /// The adjacent words that each lane touches: 1, 2 or 4.
    pub words_per_lane: u8,
    /// The absolute number of the first word of each lane that takes part. The words of an atomic lie in one line.
    pub word: &'a [u32; LANES],
    /// The bytes that a store narrower than a word writes: bit `b` stands for byte `b` of the word. Nothing: all bytes.
    pub bytes: Option<&'a [u8; LANES]>,
    /// The values that a compare-exchange compares with, one array for each word, where they differ from lane to lane.
    pub expected: Option<&'a [[u32; LANES]]>,
}

impl LaneAccess<'_> {
    /// Whether each lane touches one whole word, and what is done with it is the same for all of them.
    fn is_plain(&self) -> bool {
        self.words_per_lane == 1 && self.bytes.is_none() && self.expected.is_none()
    }
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
        let words = &mut self.apart.get_or_insert_default().words;
        words.iter_mut().zip(index).for_each(|(word, &element)| *word = start.wrapping_add(element));
    }

    /// Sets what each lane touches.
    pub(crate) fn set_lanes(&mut self, access: &LaneAccess<'_>) {
        let LaneAccess { words_per_lane, word, bytes, expected, .. } = *access;
        assert!(matches!(words_per_lane, 1 | 2 | 4), "{words_per_lane} words per lane");
        if access.is_plain() {
            match row_of(self.mask, word) {
                Some(first) => self.set_row(first),
                None => self.set_words(0, word),
            }
            return;
        }
        self.place = Place::Wide;
        let apart = self.apart.get_or_insert_default();
        apart.words = *word;
        let wide = apart.wide.get_or_insert_default();
        wide.words_per_lane = words_per_lane;
        wide.bytes = *bytes.unwrap_or(&[WHOLE_WORD; LANES]);
        wide.expected = expected.map(|expected| std::array::from_fn(|k| expected.get(k).copied().unwrap_or_default()));
        if self.kind == MemoryOpKind::Load {
            self.data = [0; LANES];
            wide.more = Default::default();
        }
    }

    /// The parts that only few instructions have.
    fn wide(&self) -> Option<&Wide> {
        if self.place != Place::Wide {
            return None;
        }
        self.apart.as_ref().and_then(|apart| apart.wide.as_deref())
    }

    /// Whether each lane touches one whole word, and what is done with it is the same for all of them.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.place != Place::Wide
    }

    /// The adjacent words that each lane touches.
    #[inline]
    pub fn words_per_lane(&self) -> usize {
        self.wide().map_or(1, |wide| usize::from(wide.words_per_lane))
    }

    /// The bytes that a store writes in each word of a lane, one bit each.
    pub fn bytes(&self, lane: usize) -> u8 {
        self.wide().map_or(WHOLE_WORD, |wide| wide.bytes[lane])
    }

    /// The read-modify-write that a lane performs, if this is an atomic.
    pub fn atomic_of(&self, lane: usize) -> Option<AtomicOp> {
        let MemoryOpKind::Atomic(op) = self.kind else { return None };
        let expected = self.wide().and_then(|wide| wide.expected.as_ref());
        Some(expected.map_or(op, |expected| op.expecting(expected.map(|of_word| of_word[lane]))))
    }

    /// The `k`-th word of each lane: store data and operands, then the values read.
    pub fn values(&self, k: usize) -> &[u32; LANES] {
        match (k, self.wide()) {
            (1.., Some(wide)) => &wide.more[k - 1],
            _ => &self.data,
        }
    }

    /// The `k`-th word of each lane, mutably.
    pub fn values_mut(&mut self, k: usize) -> &mut [u32; LANES] {
        match self.apart.as_mut().and_then(|apart| apart.wide.as_deref_mut()) {
            Some(wide) if k > 0 && self.place == Place::Wide => &mut wide.more[k - 1],
            _ => &mut self.data,
        }
    }

    /// The words that a lane touches.
    #[inline]
    pub fn words_of(&self, lane: usize) -> Range<u32> {
        let first = self.word(lane);
        first..first + self.words_per_lane() as u32
    }

    /// The words that the lanes touch which take part, lane by lane.
    pub fn touched(&self) -> impl Iterator<Item = u32> {
        self.mask.iter().flat_map(|lane| self.words_of(lane))
    }

    /// The first word of a row that lanes touch in order, if that is what they do.
    #[inline]
    pub fn row(&self) -> Option<u32> {
        (self.place == Place::Row).then_some(self.first)
    }

    /// The first word that a lane touches. A lane of a load may have none once it has its value.
    #[inline]
    pub fn word(&self, lane: usize) -> u32 {
        if self.place == Place::Data {
            return self.data[lane];
        }
        match &self.apart {
            Some(apart) if matches!(self.place, Place::Apart | Place::Wide) => apart.words[lane],
            _ => self.first + if self.place == Place::Row { lane as u32 } else { 0 },
        }
    }

    /// The first words that all lanes touch.
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
