//! State as bytes: what a checkpoint of a machine consists of.
//!
//! A value that is plain data implements [`Save`], which writes it and makes it anew. A part of a machine that also has
//! a configuration implements [`Restore`], which gives a part that was built alike the state that another one had. Both
//! are derived, so that no field is forgotten. Bytes have no names and no types: only the same version of the program
//! reads what it wrote, and whoever keeps bytes sees to that.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fmt;
use std::ops::Range;

pub use chorus_save_derive::{Restore, Save};

/// Bytes that are no value of the type that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the state is damaged, or it is that of another machine")
    }
}

impl std::error::Error for Damaged {}

/// Bytes that are read from their beginning to their end.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// A reader of these bytes.
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { rest: bytes }
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8], Damaged> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The number of bytes that are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Fails if bytes are left.
    pub fn end(self) -> Result<(), Damaged> {
        if self.rest.is_empty() { Ok(()) } else { Err(Damaged) }
    }

    /// A number of elements that follow, each of which takes at least so many bytes.
    fn count(&mut self, least_bytes: usize) -> Result<usize, Damaged> {
        let count = usize::load(self)?;
        let most = self.rest.len().checked_div(least_bytes).unwrap_or(usize::MAX);
        if count <= most { Ok(count) } else { Err(Damaged) }
    }
}

/// A value that is plain data, as bytes.
pub trait Save: Sized {
    /// Appends its bytes, which [`Save::load`] reads.
    fn save(&self, to: &mut Vec<u8>);

    /// Makes the value that was written.
    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged>;
}

/// A part of a machine whose state can be taken over by one that was built alike.
pub trait Restore {
    /// Appends the bytes of everything that is not as it was built.
    fn keep(&self, to: &mut Vec<u8>);

    /// Takes over the state that was appended.
    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged>;
}

impl<T: Save> Restore for T {
    fn keep(&self, to: &mut Vec<u8>) {
        self.save(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        *self = T::load(from)?;
        Ok(())
    }
}

/// Numbers are written with their lowest byte first.
macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Save for $number {
            fn save(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                let bytes = from.take(size_of::<$number>())?;
                Ok(<$number>::from_le_bytes(bytes.try_into().map_err(|_| Damaged)?))
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 i32 i64 f64);

impl Save for usize {
    fn save(&self, to: &mut Vec<u8>) {
        (*self as u64).save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        usize::try_from(u64::load(from)?).map_err(|_| Damaged)
    }
}

impl Save for bool {
    fn save(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        match u8::load(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged),
        }
    }
}

impl Save for () {
    fn save(&self, _: &mut Vec<u8>) {}

    fn load(_: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(())
    }
}

impl Save for String {
    fn save(&self, to: &mut Vec<u8>) {
        self.len().save(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let count = from.count(1)?;
        String::from_utf8(from.take(count)?.to_vec()).map_err(|_| Damaged)
    }
}

impl<T: Save> Save for Option<T> {
    fn save(&self, to: &mut Vec<u8>) {
        self.is_some().save(to);
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        bool::load(from)?.then(|| T::load(from)).transpose()
    }
}

impl<T: Save> Save for Box<T> {
    fn save(&self, to: &mut Vec<u8>) {
        T::save(self, to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::load(from).map(Box::new)
    }
}

impl<T: Save> Save for Box<[T]> {
    fn save(&self, to: &mut Vec<u8>) {
        save_all(self.iter(), to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_all(from)
    }
}

impl<T: Save> Save for Reverse<T> {
    fn save(&self, to: &mut Vec<u8>) {
        self.0.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        T::load(from).map(Reverse)
    }
}

impl<T: Save> Save for Range<T> {
    fn save(&self, to: &mut Vec<u8>) {
        self.start.save(to);
        self.end.save(to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(T::load(from)?..T::load(from)?)
    }
}

impl<T: Save, const N: usize> Save for [T; N] {
    fn save(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.save(to));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let mut failed = false;
        let values: [Option<T>; N] = std::array::from_fn(|_| {
            let value = if failed { None } else { T::load(from).ok() };
            failed |= value.is_none();
            value
        });
        if failed { Err(Damaged) } else { Ok(values.map(|value| value.expect("no value is missing"))) }
    }
}

/// Writes values behind their number.
fn save_all<'v, T: Save + 'v>(values: impl ExactSizeIterator<Item = &'v T>, to: &mut Vec<u8>) {
    values.len().save(to);
    values.for_each(|value| value.save(to));
}

/// Reads values behind their number.
fn load_all<T: Save, C: FromIterator<T>>(from: &mut Reader<'_>) -> Result<C, Damaged> {
    // A value without bytes takes no memory either. Every other one takes a byte at least.
    let count = from.count(usize::from(size_of::<T>() > 0))?;
    (0..count).map(|_| T::load(from)).collect()
}

impl<T: Save> Save for Vec<T> {
    fn save(&self, to: &mut Vec<u8>) {
        save_all(self.iter(), to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_all(from)
    }
}

impl<T: Save> Save for VecDeque<T> {
    fn save(&self, to: &mut Vec<u8>) {
        save_all(self.iter(), to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_all(from)
    }
}

/// The order in which equal elements leave the heap is not kept.
impl<T: Save + Ord> Save for BinaryHeap<T> {
    fn save(&self, to: &mut Vec<u8>) {
        save_all(self.iter(), to);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_all(from)
    }
}

impl<K: Save + Ord, V: Save> Save for BTreeMap<K, V> {
    fn save(&self, to: &mut Vec<u8>) {
        self.len().save(to);
        self.iter().for_each(|(key, value)| {
            key.save(to);
            value.save(to);
        });
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        load_all::<(K, V), _>(from)
    }
}

/// The members of a tuple follow each other.
macro_rules! tuples {
    ($(($($member:ident)+))*) => {$(
        impl<$($member: Save),+> Save for ($($member,)+) {
            fn save(&self, to: &mut Vec<u8>) {
                #[expect(non_snake_case, reason = "members are named as their types")]
                let ($($member,)+) = self;
                $($member.save(to);)+
            }

            fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Ok(($($member::load(from)?,)+))
            }
        }
    )*};
}

tuples!((A B) (A B C) (A B C D));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::save;

    #[derive(Clone, Debug, PartialEq, Save)]
    enum Kind {
        None,
        Some(u16, Vec<Kind>),
        Named { flag: bool },
    }

    #[derive(Clone, Debug, PartialEq, Save)]
    struct Plain<T, const N: usize> {
        values: [T; N],
        pairs: BTreeMap<u64, (String, Option<Kind>)>,
    }

    #[derive(Clone, Debug, PartialEq, Restore)]
    struct Part<T> {
        #[save(built)]
        size: u8,
        state: T,
        #[save(each)]
        inner: Vec<Inner>,
    }

    #[derive(Clone, Debug, PartialEq, Restore)]
    struct Inner {
        #[save(built)]
        number: u8,
        now: u64,
    }

    fn plain() -> Plain<u32, 3> {
        let kind = Kind::Some(7, vec![Kind::None, Kind::Named { flag: true }]);
        Plain { values: [1, 2, u32::MAX], pairs: [(1 << 40, ("a".to_owned(), Some(kind)))].into() }
    }

    #[test]
    fn a_value_is_read_as_it_was_written() {
        let mut bytes = Vec::new();
        plain().save(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(Plain::load(&mut reader), Ok(plain()));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn a_value_that_is_cut_short_anywhere_is_damaged() {
        let mut bytes = Vec::new();
        plain().save(&mut bytes);
        for end in 0..bytes.len() {
            assert_eq!(Plain::<u32, 3>::load(&mut Reader::new(&bytes[..end])), Err(Damaged), "{end} bytes");
        }
        assert_eq!(Vec::<u64>::load(&mut Reader::new(&[255; 16])), Err(Damaged), "more elements than bytes");
    }

    #[test]
    fn a_part_that_was_built_alike_takes_over_a_state_and_keeps_what_it_was_built_with() {
        let part = |size, state, now| Part { size, state, inner: vec![Inner { number: size, now }] };
        let mut bytes = Vec::new();
        part(1, (5u8, Some(6u16)), 9).keep(&mut bytes);
        let mut other = part(2, (0, None), 0);
        assert_eq!(other.restore(&mut Reader::new(&bytes)), Ok(()));
        assert_eq!(other, part(2, (5, Some(6)), 9));
    }
}
