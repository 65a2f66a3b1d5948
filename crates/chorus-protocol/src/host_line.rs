//! Placement of data in the host's memory. It affects nothing but the simulator's speed: a value that begins at the
//! start of a line of the host's caches touches as few of these lines as possible.

use std::ops::{Deref, DerefMut};

/// A value that begins at the start of a line of the host's caches.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct HostLine<T>(pub T);

/// A row of small values that begins at the start of a line of the host's caches. A copy of the row need not begin at
/// one.
#[derive(Clone, Debug)]
pub struct HostRow<T> {
    values: Vec<T>,
    skipped: usize,
}

impl<T: Clone> HostRow<T> {
    /// A row of `count` equal values.
    pub fn new(value: T, count: usize) -> Self {
        let line_bytes = align_of::<HostLine<T>>();
        let skipped_max = line_bytes / size_of::<T>();
        let mut values = vec![value; count + skipped_max];
        let skipped = values.as_ptr().align_offset(line_bytes).min(skipped_max);
        values.truncate(skipped + count);
        HostRow { values, skipped }
    }
}

impl<T> Deref for HostRow<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.values[self.skipped..]
    }
}

impl<T> DerefMut for HostRow<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.skipped..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_begins_with_a_line_and_holds_what_was_asked_for() {
        let row = HostRow::new(7u64, 5);
        assert_eq!(row.as_ptr() as usize % align_of::<HostLine<u64>>(), 0);
        assert_eq!(row[..], [7; 5]);
    }
}
