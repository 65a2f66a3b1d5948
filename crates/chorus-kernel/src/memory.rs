//! The memory of a program: a flat array of words, and typed views of pieces of it.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use chorus_protocol::address::LineAddr;
use chorus_protocol::line::{ByteMask, LineData};
use chorus_protocol::save::{Damaged, Reader, Save};

use crate::host_reads::HostReads;
use crate::lanes::Word;
use crate::word_set::normal;

/// The least alignment of buffers, so that two never share a line.
const ALIGNMENT_WORDS: usize = 64;

/// A typed piece of memory: `len` words from word number `start`.
#[derive(Debug)]
pub struct Buf<T> {
    start: u32,
    len: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Buf<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Buf<T> {}

impl<T> Buf<T> {
    /// The number of elements of the buffer.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The word number of the first element.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// The part from element `first` on, of `len` elements.
    pub fn slice(&self, first: usize, len: usize) -> Buf<T> {
        assert!(first + len <= self.len, "slice {first}+{len} of a buffer of {}", self.len);
        Buf { start: self.start + first as u32, len, of: PhantomData }
    }
}

/// All memory of a simulated machine as the host sees it. Threads that simulate parts of the machine share it. Words
/// are read and written one by one, without any order among them.
#[derive(Debug)]
pub struct HostMemory {
    /// Buffers begin at multiples of this.
    alignment_words: usize,
    words: Vec<AtomicU32>,
    /// The words of each buffer, in the order in which they were made.
    buffers: Vec<Range<usize>>,
    /// Words that no kernel writes, as sorted ranges.
    read_only: Vec<Range<usize>>,
    /// The words that the host program reads.
    pub(crate) reads: HostReads,
}

impl Default for HostMemory {
    fn default() -> Self {
        HostMemory {
            alignment_words: ALIGNMENT_WORDS,
            words: Vec::new(),
            buffers: Vec::new(),
            read_only: Vec::new(),
            reads: HostReads::default(),
        }
    }
}

impl Clone for HostMemory {
    fn clone(&self) -> Self {
        HostMemory {
            alignment_words: self.alignment_words,
            words: self.words.iter().map(|word| AtomicU32::new(word.load(Ordering::Relaxed))).collect(),
            buffers: self.buffers.clone(),
            read_only: self.read_only.clone(),
            reads: HostReads::default(),
        }
    }
}

impl HostMemory {
    /// Empty memory whose buffers begin at multiples of this many bytes.
    pub fn aligned(bytes: u32) -> HostMemory {
        HostMemory { alignment_words: ALIGNMENT_WORDS.max(bytes as usize / 4), ..HostMemory::default() }
    }

    /// The bytes that buffers begin at multiples of.
    pub fn alignment_bytes(&self) -> u64 {
        4 * self.alignment_words as u64
    }

    /// A new buffer of `len` zeros.
    pub fn alloc<T: Word>(&mut self, len: usize) -> Buf<T> {
        let start = self.words.len().next_multiple_of(self.alignment_words);
        let end = (start + len).next_multiple_of(self.alignment_words);
        assert!(u32::try_from(end).is_ok(), "more than 16 GiB of memory");
        // The size is exact, since memory is most of what a simulation takes, and buffers are few.
        self.words.reserve_exact(end - self.words.len());
        self.words.resize_with(end, AtomicU32::default);
        self.buffers.push(start..end);
        Buf { start: start as u32, len, of: PhantomData }
    }

    /// A new buffer with the given contents.
    pub fn alloc_from<T: Word>(&mut self, values: &[T]) -> Buf<T> {
        let buf = self.alloc(values.len());
        for (index, &value) in values.iter().enumerate() {
            self.set(buf, index, value);
        }
        buf
    }

    /// Reads one element of a buffer.
    pub fn get<T: Word>(&self, buf: Buf<T>, index: usize) -> T {
        assert!(index < buf.len, "element {index} of a buffer of {}", buf.len);
        T::from_bits(self.host_load(buf.start as usize + index))
    }

    /// Writes one element of a buffer.
    pub fn set<T: Word>(&self, buf: Buf<T>, index: usize, value: T) {
        assert!(index < buf.len, "element {index} of a buffer of {}", buf.len);
        self.store(buf.start as usize + index, value.to_bits());
    }

    /// Reads all elements of a buffer.
    pub fn read<T: Word>(&self, buf: Buf<T>) -> Vec<T> {
        (0..buf.len).map(|index| self.get(buf, index)).collect()
    }

    /// The words of each buffer. Buffers follow each other without a gap.
    pub fn buffers(&self) -> &[Range<usize>] {
        &self.buffers
    }

    /// Declares that no kernel writes any of the buffer that `buf` lies in. Caches may retain copies of it where they
    /// would drop others.
    pub fn declare_read_only<T>(&mut self, buf: Buf<T>) {
        // An empty buffer begins where the next one does.
        if let Some((_, words)) = self.buffer_of(buf.start).filter(|_| !buf.is_empty()) {
            self.read_only.push(words);
            self.read_only = normal(std::mem::take(&mut self.read_only));
        }
    }

    /// The words that no kernel writes, as sorted ranges of whole buffers that neither overlap nor touch.
    #[inline]
    pub fn read_only(&self) -> &[Range<usize>] {
        &self.read_only
    }

    /// The buffer that a word lies in, by the order in which buffers were made, and its words.
    pub fn buffer_of(&self, word: u32) -> Option<(usize, Range<usize>)> {
        let word = word as usize;
        let number = self.buffers.partition_point(|buffer| buffer.end <= word);
        let buffer = self.buffers.get(number).filter(|buffer| buffer.contains(&word))?;
        Some((number, buffer.clone()))
    }

    /// The number of words of all buffers.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// The size of all buffers in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Reads the word of a number.
    #[inline]
    pub fn load(&self, word: usize) -> u32 {
        self.words[word].load(Ordering::Relaxed)
    }

    /// Reads the word of a number for the host program. What it decides by such words is known again when a run goes on
    /// from a checkpoint.
    #[inline]
    pub fn host_load(&self, word: usize) -> u32 {
        let value = self.load(word);
        if self.reads.are_watched() { self.reads.pass(value) } else { value }
    }

    /// Appends the values of all words.
    pub fn keep(&self, to: &mut Vec<u8>) {
        self.words.len().save(to);
        self.words.iter().for_each(|word| word.load(Ordering::Relaxed).save(to));
    }

    /// Takes over the values of all words of a memory with the same buffers.
    pub fn restore(&self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        if usize::load(from)? != self.words.len() {
            return Err(Damaged);
        }
        self.words.iter().try_for_each(|word| u32::load(from).map(|value| word.store(value, Ordering::Relaxed)))
    }

    /// Writes the word of a number.
    #[inline]
    pub fn store(&self, word: usize, value: u32) {
        self.words[word].store(value, Ordering::Relaxed);
    }

    /// The values of a range of words.
    pub fn words(&self, range: Range<usize>) -> Vec<u32> {
        self.words[range].iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }

    /// The places of the words of a virtual line, as far as there are any.
    #[inline]
    pub fn line_places<const W: usize>(&self, line: LineAddr) -> &[AtomicU32] {
        let start = (line.0 as usize * W).min(self.words.len());
        &self.words[start..(start + W).min(self.words.len())]
    }

    /// Reads a virtual line. Words beyond the end of memory are zero.
    pub fn read_line<const W: usize>(&self, line: LineAddr) -> LineData<W> {
        let mut data = LineData::default();
        self.read_line_into(line, &mut data);
        data
    }

    /// Reads a virtual line into `data`. Words beyond the end of memory are zero.
    #[inline]
    pub fn read_line_into<const W: usize>(&self, line: LineAddr, data: &mut LineData<W>) {
        let places = self.line_places::<W>(line);
        match <&[AtomicU32; W]>::try_from(places) {
            Ok(whole) => data.0.iter_mut().zip(whole).for_each(|(value, word)| *value = word.load(Ordering::Relaxed)),
            Err(_) => {
                *data = LineData::default();
                data.0.iter_mut().zip(places).for_each(|(value, word)| *value = word.load(Ordering::Relaxed));
            }
        }
    }

    /// Writes the masked bits of a word, for elements narrower than a word.
    pub fn store_bits(&self, word: usize, bits: u32, value: u32) {
        merge(&self.words[word], bits, value);
    }

    /// Writes the masked bytes of a virtual line. No other word of the line is written.
    pub fn write_line<const W: usize>(&self, line: LineAddr, mask: ByteMask, data: &LineData<W>) {
        let places = self.line_places::<W>(line);
        if mask == ByteMask::full::<W>() {
            places.iter().zip(data.0).for_each(|(word, value)| word.store(value, Ordering::Relaxed));
            return;
        }
        for word in mask.words().take_while(|&word| word < places.len()) {
            match mask.bits_of(word) {
                u32::MAX => places[word].store(data.0[word], Ordering::Relaxed),
                bits => merge(&places[word], bits, data.0[word]),
            }
        }
    }
}

/// Writes some bits of a word at once, since threads may write different bytes of it.
fn merge(place: &AtomicU32, bits: u32, value: u32) {
    // The closure always gives a value, so the update never fails.
    let _ = place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(old & !bits | value & bits));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_nobody_writes_are_joined_and_an_empty_one_concerns_no_other() {
        let mut memory = HostMemory::default();
        let [a, b, empty, c, d] = [10, 70, 0, 5, 1].map(|len| memory.alloc::<u32>(len));
        memory.declare_read_only(empty);
        assert!(memory.read_only().is_empty());
        [d, b.slice(3, 4), a].into_iter().for_each(|buf| memory.declare_read_only(buf));
        assert_eq!(memory.read_only(), [0..192, 256..320]);
        assert_eq!(c.start(), 192);
    }
}
