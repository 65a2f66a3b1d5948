//! The lanes of a memory instruction and the words of one line: what a line access carries there, and what it brings
//! back.
//!
//! Most instructions touch one whole word per lane. The others, which touch several words or parts of words or whose
//! lanes share a read-modify-write, have functions of their own here, so that they cost the usual ones nothing.

use chorus_kernel::{HostMemory, LANES, MemoryOp, WORDS_MAX};
use chorus_protocol::access::AtomicOp;
use chorus_protocol::line::{ByteMask, LineData};

use crate::coalescer::LineAccess;

/// The lanes of a set.
pub(super) fn each(mut lanes: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// A word that a lane touches.
struct Place {
    lane: usize,
    /// The number of the word among those of the lane.
    k: usize,
    /// The word of the line.
    word: usize,
}

/// The words of a line access, lane by lane.
fn places<const W: usize>(op: &MemoryOp, access: &LineAccess) -> impl Iterator<Item = Place> {
    let (count, line) = (op.words_per_lane(), access.line);
    let of_lane = move |lane: usize| {
        let first = op.word(lane) as usize;
        let inside = move |&k: &usize| ((first + k) / W) as u64 == line;
        (0..count).filter(inside).map(move |k| Place { lane, k, word: (first + k) % W })
    };
    each(access.lanes).flat_map(of_lane)
}

/// The bytes of a line that an access of a load reads: whole words.
#[inline(never)]
pub(super) fn read<const W: usize>(op: &MemoryOp, access: &LineAccess) -> ByteMask {
    ByteMask::of_words(places::<W>(op, access).fold(0, |words, place| words | 1 << place.word))
}

/// Puts the store data or operands of an access into a line. Returns the bytes that the access concerns.
#[inline(never)]
pub(super) fn collect<const W: usize>(op: &MemoryOp, access: &LineAccess, line: &mut LineData<W>) -> ByteMask {
    if access.is_combined {
        return combine(op, access, line);
    }
    places::<W>(op, access).fold(ByteMask::EMPTY, |mask, Place { lane, k, word }| {
        let bytes = ByteMask::of_bytes(word, op.bytes(lane));
        let bits = bytes.bits_of(word);
        line.0[word] = line.0[word] & !bits | op.values(k)[lane] & bits;
        mask | bytes
    })
}

/// Puts the operands of an atomic into a line, those of lanes that touch the same word as one.
fn combine<const W: usize>(op: &MemoryOp, access: &LineAccess, line: &mut LineData<W>) -> ByteMask {
    each(access.lanes).fold(ByteMask::EMPTY, |mask, lane| {
        let (first, count) = (op.word(lane) as usize % W, op.words_per_lane());
        let mut operands = [0; WORDS_MAX];
        (0..count).for_each(|k| operands[k] = op.values(k)[lane]);
        let (operands, words) = (&mut operands[..count], first..first + count);
        let mask = match op.atomic_of(lane) {
            Some(atomic) if !(mask & ByteMask::word(first)).is_empty() => {
                atomic.apply_all(&line.0[words.clone()], operands);
                mask
            }
            Some(_) | None => words.clone().fold(mask, |mask, word| mask | ByteMask::word(word)),
        };
        line.0[words].copy_from_slice(operands);
        mask
    })
}

/// Gives lanes the words of a line.
#[inline(never)]
pub(super) fn distribute<const W: usize>(op: &mut MemoryOp, access: &LineAccess, line: &LineData<W>) {
    for lane in each(access.lanes) {
        let first = op.word(lane) as usize;
        for k in (0..op.words_per_lane()).filter(|k| ((first + k) / W) as u64 == access.line) {
            op.values_mut(k)[lane] = line.0[(first + k) % W];
        }
    }
}

/// Gives the lanes of an atomic the words that they found in a line, each behind the lanes before it. Returns whether
/// the atomic changed any.
#[inline(never)]
pub(super) fn distribute_old<const W: usize>(op: &mut MemoryOp, access: &LineAccess, line: &LineData<W>) -> bool {
    let mut line = *line;
    each(access.lanes).fold(false, |changed, lane| {
        let (first, count) = (op.word(lane) as usize % W, op.words_per_lane());
        let words = &mut line.0[first..first + count];
        let new = exchange(op, lane, words);
        new.iter().for_each(|new| words.copy_from_slice(&new[..count]));
        changed | new.is_some()
    })
}

/// Performs a load or an atomic on memory at once. The lanes get the values of memory. Returns whether memory changed.
#[inline(never)]
pub(super) fn perform_in_memory<const W: usize>(memory: &HostMemory, op: &mut MemoryOp, access: &LineAccess) -> bool {
    if op.atomic_of(0).is_none() {
        let line = memory.read_line::<W>(chorus_protocol::address::LineAddr(access.line));
        distribute(op, access, &line);
        return false;
    }
    each(access.lanes).fold(false, |changed, lane| {
        let (first, count) = (op.word(lane) as usize, op.words_per_lane());
        let mut old = [0; WORDS_MAX];
        (0..count).for_each(|k| old[k] = memory.load(first + k));
        let new = exchange(op, lane, &old[..count]);
        new.iter().for_each(|new| (0..count).for_each(|k| memory.store(first + k, new[k])));
        changed | new.is_some()
    })
}

/// Gives a lane of an atomic the words that it found. Returns what they are afterwards, if that is anything else.
fn exchange(op: &mut MemoryOp, lane: usize, old: &[u32]) -> Option<[u32; WORDS_MAX]> {
    let mut new = [0; WORDS_MAX];
    (0..old.len()).for_each(|k| new[k] = std::mem::replace(&mut op.values_mut(k)[lane], old[k]));
    let atomic = op.atomic_of(lane)?;
    AtomicOp::apply_all(atomic, old, &mut new[..old.len()]);
    (new[..old.len()] != *old).then_some(new)
}
