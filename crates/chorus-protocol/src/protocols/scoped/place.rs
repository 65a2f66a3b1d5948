//! The content of a place in a private cache: a whole copy of a line or, where stores may take places, a part of one.
//!
//! Caches whose stores take no place need one bit for each of their places, and pay for nothing else.

use std::fmt::Debug;
use std::hash::Hash;

use crate::address::Role;
use crate::controller::{StateClass, StateSpec, Vocabulary};
use crate::line::ByteMask;
use crate::save::{self, Save};

/// The content of a place in a private cache.
pub trait Place: Copy + Default + Eq + Hash + Debug + Save + Send + Sync + 'static {
    /// The place is reserved for a copy on its way, and nothing has been stored there.
    const RESERVED: Self;
    /// Whether places can hold less than a line.
    const HAS_PARTS: bool;
    /// The threads whose loads wait for a copy on its way, as far as stores have to know them.
    type Waiting: Waiting;

    /// The states and events of a cache of such places.
    fn vocabulary() -> &'static Vocabulary;

    /// The content of a place that holds a copy of the whole line.
    fn whole<const W: usize>() -> Self;

    /// The bytes that a store has left, where places can hold less than a line.
    fn part(bytes: ByteMask) -> Option<Self>;

    /// The content with more bytes. Only places that can hold parts change.
    fn with(self, more: ByteMask) -> Self;

    /// The bytes that loads find here.
    fn bytes<const W: usize>(self) -> ByteMask;

    /// Whether loads of these bytes find all of them.
    fn answers(self, bytes: ByteMask) -> bool;

    /// Whether the place is reserved for a copy on its way.
    fn is_reserved(self) -> bool;

    /// Whether the whole line is here.
    fn is_whole<const W: usize>(self) -> bool;
}

/// The threads whose loads wait for a copy on its way.
pub trait Waiting: Copy + Default + Eq + Hash + Debug + Save + Send + Sync + 'static {
    /// Adds the wavefront in a slot of the compute unit.
    fn add(&mut self, wave: u16);

    /// Whether the wavefront in this slot may be among them.
    fn has(self, wave: u16) -> bool;
}

/// No thread is known, since no store asks.
impl Waiting for () {
    #[inline]
    fn add(&mut self, _: u16) {}

    #[inline]
    fn has(self, _: u16) -> bool {
        true
    }
}

/// Wavefronts, one bit each. Slots beyond the number of bits share them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Waves(u64);

impl Waiting for Waves {
    fn add(&mut self, wave: u16) {
        self.0 |= Waves::bit(wave);
    }

    fn has(self, wave: u16) -> bool {
        self.0 & Waves::bit(wave) != 0
    }
}

impl Waves {
    fn bit(wave: u16) -> u64 {
        1 << (u32::from(wave) % u64::BITS)
    }
}

/// A place of a cache whose stores take no place: it holds a line or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub enum Whole {
    /// A copy of the line.
    #[default]
    Copy,
    /// A copy is on its way.
    Reserved,
}

/// A place of a cache in which stores leave their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Save)]
pub struct Bytes {
    /// Whether a copy is on its way.
    reserved: bool,
    /// The bytes that are here. While a copy is on its way these are the ones that were stored since it was requested.
    bytes: ByteMask,
}

impl Place for Whole {
    const RESERVED: Whole = Whole::Reserved;
    const HAS_PARTS: bool = false;
    type Waiting = ();

    fn vocabulary() -> &'static Vocabulary {
        &VOCABULARY
    }

    #[inline]
    fn whole<const W: usize>() -> Whole {
        Whole::Copy
    }

    #[inline]
    fn part(_: ByteMask) -> Option<Whole> {
        None
    }

    #[inline]
    fn with(self, _: ByteMask) -> Whole {
        self
    }

    #[inline]
    fn bytes<const W: usize>(self) -> ByteMask {
        match self {
            Whole::Copy => ByteMask::full::<W>(),
            Whole::Reserved => ByteMask::EMPTY,
        }
    }

    #[inline]
    fn answers(self, _: ByteMask) -> bool {
        self == Whole::Copy
    }

    #[inline]
    fn is_reserved(self) -> bool {
        self == Whole::Reserved
    }

    #[inline]
    fn is_whole<const W: usize>(self) -> bool {
        self == Whole::Copy
    }
}

impl Place for Bytes {
    const RESERVED: Bytes = Bytes { reserved: true, bytes: ByteMask::EMPTY };
    const HAS_PARTS: bool = true;
    type Waiting = Waves;

    fn vocabulary() -> &'static Vocabulary {
        &VOCABULARY_WITH_PARTS
    }

    #[inline]
    fn whole<const W: usize>() -> Bytes {
        Bytes { reserved: false, bytes: ByteMask::full::<W>() }
    }

    #[inline]
    fn part(bytes: ByteMask) -> Option<Bytes> {
        (!bytes.is_empty()).then_some(Bytes { reserved: false, bytes })
    }

    #[inline]
    fn with(self, more: ByteMask) -> Bytes {
        Bytes { bytes: self.bytes | more, ..self }
    }

    #[inline]
    fn bytes<const W: usize>(self) -> ByteMask {
        self.bytes
    }

    #[inline]
    fn answers(self, bytes: ByteMask) -> bool {
        bytes.without(self.bytes).is_empty()
    }

    #[inline]
    fn is_reserved(self) -> bool {
        self.reserved
    }

    #[inline]
    fn is_whole<const W: usize>(self) -> bool {
        self == Bytes::whole::<W>()
    }
}

const STATES: [StateSpec; 5] = [
    StateSpec { name: "I", class: StateClass::Stable, meaning: "no copy" },
    StateSpec { name: "V", class: StateClass::Stable, meaning: "valid copy" },
    StateSpec { name: "I_V", class: StateClass::TransientCache, meaning: "read miss outstanding" },
    StateSpec { name: "I_I", class: StateClass::TransientCache, meaning: "no copy, what is on its way is too old" },
    StateSpec { name: "P", class: StateClass::Stable, meaning: "a part: the bytes that were stored here" },
];

const EVENTS: [&str; 8] = ["Load", "WideLoad", "Store", "Atomic", "Evict", "Data", "AtomData", "Foreign"];

/// The states and events of a cache whose stores take no place.
static VOCABULARY: Vocabulary =
    Vocabulary { role: Role::L1, device: "", states: STATES.split_at(4).0, events: &EVENTS, expiry: None };

/// The states and events of a cache in which stores leave their bytes.
static VOCABULARY_WITH_PARTS: Vocabulary =
    Vocabulary { role: Role::L1, device: "", states: &STATES, events: &EVENTS, expiry: None };

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ByteMask = ByteMask::word(0);
    const SECOND: ByteMask = ByteMask::word(1);

    #[test]
    fn a_part_answers_for_its_own_bytes_until_it_is_whole() {
        let part = Bytes::part(FIRST).unwrap();
        assert!(part.answers(FIRST) && !part.answers(SECOND) && !part.answers(FIRST | SECOND));
        assert!(!part.is_whole::<2>() && part.with(SECOND).is_whole::<2>());
        assert_eq!(part.bytes::<2>(), FIRST);
    }

    #[test]
    fn a_reserved_place_answers_for_nothing() {
        assert!(!Bytes::RESERVED.answers(FIRST) && !Whole::RESERVED.answers(FIRST));
        assert_eq!((Bytes::RESERVED.bytes::<2>(), Whole::RESERVED.bytes::<2>()), (ByteMask::EMPTY, ByteMask::EMPTY));
        let stored = Bytes::RESERVED.with(FIRST | SECOND);
        assert!(stored.is_reserved() && !stored.is_whole::<2>() && stored.answers(FIRST));
        assert_eq!(Bytes::part(ByteMask::EMPTY), None);
    }

    #[test]
    fn only_places_with_parts_take_the_bytes_of_a_store() {
        assert_eq!(Whole::part(FIRST), None);
        assert!(Whole::Copy.is_whole::<2>() && Whole::Copy.answers(FIRST | SECOND));
    }

    #[test]
    fn waiting_wavefronts_are_told_apart() {
        let mut waves = Waves::default();
        waves.add(3);
        assert!(waves.has(3) && !waves.has(4) && waves.has(3 + 64));
    }
}
