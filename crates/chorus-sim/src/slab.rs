//! A pool of values that are named by small integers and reused, so that the steady state allocates nothing.

use chorus_protocol::save::{self, Save};

/// Values of type `T`.
#[derive(Clone, Debug, Save)]
pub struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { values: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores a value and returns its number.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.values[id as usize] = value;
                id
            }
            None => {
                self.values.push(value);
                self.values.len() as u32 - 1
            }
        }
    }

    /// Frees a value. Its number may be used again.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// The value with number `id`.
    #[inline]
    pub fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }

    /// The value with number `id`, if there ever was one.
    #[inline]
    pub fn find(&self, id: u32) -> Option<&T> {
        self.values.get(id as usize)
    }

    /// Every stored value, including freed ones whose numbers have not been used again.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }

    /// The value with number `id`, mutably.
    #[inline]
    pub fn get_mut(&mut self, id: u32) -> &mut T {
        &mut self.values[id as usize]
    }
}
