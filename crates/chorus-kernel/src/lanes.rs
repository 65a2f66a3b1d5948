//! Values of all lanes of a wavefront, and sets of lanes.
//!
//! Kernels call these functions from other crates for every instruction, so they are `#[inline]`.

use std::ops::{Add, BitAnd, BitOr, Div, Index, Mul, Not, Rem, Sub};

use chorus_protocol::save::{self, Save};

/// Work-items of a wavefront.
pub const LANES: usize = 32;

/// A type that fits one memory word.
pub trait Word: Copy + Default + Unpin + 'static {
    /// The value as a word of memory.
    fn to_bits(self) -> u32;
    /// The value of a word of memory.
    fn from_bits(bits: u32) -> Self;
}

impl Word for u32 {
    #[inline]
    fn to_bits(self) -> u32 {
        self
    }

    #[inline]
    fn from_bits(bits: u32) -> Self {
        bits
    }
}

impl Word for i32 {
    #[inline]
    fn to_bits(self) -> u32 {
        self as u32
    }

    #[inline]
    fn from_bits(bits: u32) -> Self {
        bits as i32
    }
}

impl Word for f32 {
    #[inline]
    fn to_bits(self) -> u32 {
        f32::to_bits(self)
    }

    #[inline]
    fn from_bits(bits: u32) -> Self {
        f32::from_bits(bits)
    }
}

/// One value per lane. Arithmetic is lane by lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lanes<T>(pub [T; LANES]);

impl<T: Copy> Lanes<T> {
    /// Lanes that all hold one value.
    #[inline]
    pub fn splat(value: T) -> Self {
        Lanes([value; LANES])
    }

    /// The value that `f` gives for each lane number.
    #[inline]
    pub fn from_fn(mut f: impl FnMut(usize) -> T) -> Self {
        let mut lanes = [f(0); LANES];
        for (lane, value) in lanes.iter_mut().enumerate().skip(1) {
            *value = f(lane);
        }
        Lanes(lanes)
    }

    /// `f` of each lane.
    #[inline]
    pub fn map<U: Copy>(self, mut f: impl FnMut(T) -> U) -> Lanes<U> {
        Lanes::from_fn(|lane| f(self.0[lane]))
    }

    /// `f` of each pair of lanes.
    #[inline]
    pub fn zip<U: Copy, V: Copy>(self, other: Lanes<U>, mut f: impl FnMut(T, U) -> V) -> Lanes<V> {
        Lanes::from_fn(|lane| f(self.0[lane], other.0[lane]))
    }

    /// The lanes for which `f` holds.
    #[inline]
    pub fn where_(self, mut f: impl FnMut(T) -> bool) -> Mask {
        Mask((0..LANES).fold(0, |mask, lane| mask | u32::from(f(self.0[lane])) << lane))
    }

    /// This value where `mask` is set, `other` elsewhere.
    #[inline]
    pub fn select(self, mask: Mask, other: Lanes<T>) -> Lanes<T> {
        Lanes::from_fn(|lane| if mask.contains(lane) { self.0[lane] } else { other.0[lane] })
    }

    /// Replaces the value of one lane.
    #[inline]
    pub fn set(&mut self, lane: usize, value: T) {
        self.0[lane] = value;
    }
}

impl<T: Copy + PartialOrd> Lanes<T> {
    /// The lanes below `limit`.
    #[inline]
    pub fn below(self, limit: T) -> Mask {
        self.where_(|value| value < limit)
    }
}

impl<T> Index<usize> for Lanes<T> {
    type Output = T;

    #[inline]
    fn index(&self, lane: usize) -> &T {
        &self.0[lane]
    }
}

impl<T: Copy> From<T> for Lanes<T> {
    #[inline]
    fn from(value: T) -> Self {
        Lanes::splat(value)
    }
}

impl<T: Copy + Add<Output = T>, R: Into<Lanes<T>>> Add<R> for Lanes<T> {
    type Output = Lanes<T>;

    #[inline]
    fn add(self, other: R) -> Lanes<T> {
        self.zip(other.into(), |a, b| a + b)
    }
}

impl<T: Copy + Sub<Output = T>, R: Into<Lanes<T>>> Sub<R> for Lanes<T> {
    type Output = Lanes<T>;

    #[inline]
    fn sub(self, other: R) -> Lanes<T> {
        self.zip(other.into(), |a, b| a - b)
    }
}

impl<T: Copy + Mul<Output = T>, R: Into<Lanes<T>>> Mul<R> for Lanes<T> {
    type Output = Lanes<T>;

    #[inline]
    fn mul(self, other: R) -> Lanes<T> {
        self.zip(other.into(), |a, b| a * b)
    }
}

impl<T: Copy + Div<Output = T>, R: Into<Lanes<T>>> Div<R> for Lanes<T> {
    type Output = Lanes<T>;

    #[inline]
    fn div(self, other: R) -> Lanes<T> {
        self.zip(other.into(), |a, b| a / b)
    }
}

impl<T: Copy + Rem<Output = T>, R: Into<Lanes<T>>> Rem<R> for Lanes<T> {
    type Output = Lanes<T>;

    #[inline]
    fn rem(self, other: R) -> Lanes<T> {
        self.zip(other.into(), |a, b| a % b)
    }
}

/// A set of lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Mask(pub u32);

impl Mask {
    /// The set of all lanes.
    pub const ALL: Mask = Mask(u32::MAX);
    /// The set without any lane.
    pub const NONE: Mask = Mask(0);

    /// The set of one lane.
    #[inline]
    pub fn lane(lane: usize) -> Mask {
        Mask(1 << lane)
    }

    /// The first `count` lanes.
    #[inline]
    pub fn first(count: usize) -> Mask {
        if count >= LANES { Mask::ALL } else { Mask((1 << count) - 1) }
    }

    /// Whether any lane is set.
    #[inline]
    pub fn any(self) -> bool {
        self.0 != 0
    }

    /// Whether a lane is set.
    #[inline]
    pub fn contains(self, lane: usize) -> bool {
        self.0 >> lane & 1 == 1
    }

    /// Number of lanes set.
    #[inline]
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// The lanes set, in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest == 0 {
                return None;
            }
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(lane)
        })
    }
}

impl BitAnd for Mask {
    type Output = Mask;

    #[inline]
    fn bitand(self, other: Mask) -> Mask {
        Mask(self.0 & other.0)
    }
}

impl BitOr for Mask {
    type Output = Mask;

    #[inline]
    fn bitor(self, other: Mask) -> Mask {
        Mask(self.0 | other.0)
    }
}

impl Not for Mask {
    type Output = Mask;

    #[inline]
    fn not(self) -> Mask {
        Mask(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_lane_by_lane_and_takes_scalars() {
        let ids = Lanes::from_fn(|lane| lane as u32);
        assert_eq!((ids * 2 + ids)[7], 21);
        assert_eq!((ids + 1u32).below(4), Mask(0b111));
        assert_eq!(ids.select(Mask::lane(3), Lanes::splat(9))[4], 9);
    }
}
