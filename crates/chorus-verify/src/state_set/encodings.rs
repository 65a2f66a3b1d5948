//! The encodings of states, one after the other, each behind its length.
//!
//! Only the beginning of every eighth is noted. The others are found from there by their lengths.

use super::make_room;

const STRIDE: usize = 8;
/// The most bytes. Places have 32 bits, and a state is far shorter than the room left free.
const MOST_BYTES: usize = (1 << 32) - (1 << 29);
/// Lengths from here on take a second byte.
const LONG: u8 = 0x80;

#[derive(Clone, Debug, Default)]
pub struct Encodings {
    bytes: Vec<u8>,
    /// The beginning of every eighth encoding that is stored.
    starts: Vec<u32>,
    /// The first encoding that is stored, a multiple of eight.
    first: usize,
    /// The number of encodings, those let go included.
    len: usize,
}

impl Encodings {
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.starts.capacity() * size_of::<u32>()
    }

    pub fn has_room(&self) -> bool {
        self.bytes.len() < MOST_BYTES
    }

    pub fn push(&mut self, encoding: &[u8]) {
        if self.len.is_multiple_of(STRIDE) {
            make_room(&mut self.starts, 1);
            self.starts.push(self.bytes.len() as u32);
        }
        make_room(&mut self.bytes, encoding.len() + 2);
        let length = encoding.len();
        if length < usize::from(LONG) {
            self.bytes.push(length as u8);
        } else {
            self.bytes.extend([length as u8 | LONG, (length >> 7) as u8]);
        }
        self.bytes.extend_from_slice(encoding);
        self.len += 1;
    }

    /// The encoding that begins behind its length, and the place behind it.
    fn at(&self, start: usize) -> (&[u8], usize) {
        let first = self.bytes[start];
        let (begin, length) = if first < LONG {
            (start + 1, usize::from(first))
        } else {
            (start + 2, usize::from(first ^ LONG) | usize::from(self.bytes[start + 1]) << 7)
        };
        (&self.bytes[begin..begin + length], begin + length)
    }

    /// The noted beginning before an encoding.
    pub fn before(&self, place: usize) -> u32 {
        self.starts[(place - self.first) / STRIDE]
    }

    /// Reads the bytes from a noted beginning on, so that they are near afterwards.
    pub fn touch(&self, before: u32) -> u8 {
        let touched = |line: usize| self.bytes.get(before as usize + line * 64).copied().unwrap_or(0);
        touched(0) ^ touched(1) ^ touched(2)
    }

    pub fn slice(&self, place: usize) -> &[u8] {
        let mut start = self.before(place) as usize;
        for _ in 0..place % STRIDE {
            start = self.at(start).1;
        }
        self.at(start).0
    }

    /// All encodings, if none was let go.
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        (0..self.len).map(move |_| {
            let (encoding, end) = self.at(start);
            start = end;
            encoding
        })
    }

    /// Lets go of encodings before `first`, as far as whole strides go.
    pub fn forget_before(&mut self, first: usize) {
        let strides = (first - self.first) / STRIDE;
        let Some(&dropped) = self.starts.get(strides).filter(|_| strides > 0) else { return };
        self.bytes.drain(..dropped as usize);
        self.starts.drain(..strides);
        self.starts.iter_mut().for_each(|start| *start -= dropped);
        self.first += strides * STRIDE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_of_any_length_are_found_again() {
        let encoding = |place: usize| vec![place as u8; place * 7 % 600];
        let mut encodings = Encodings::default();
        (0..300).for_each(|place| encodings.push(&encoding(place)));
        assert!((0..300).all(|place| encodings.slice(place) == encoding(place)));
        assert!(encodings.all().eq((0..300).map(encoding)));
        encodings.forget_before(101);
        assert!((96..300).all(|place| encodings.slice(place) == encoding(place)));
        encodings.forget_before(300);
        encodings.push(&encoding(300));
        assert_eq!(encodings.slice(300), encoding(300));
    }
}
