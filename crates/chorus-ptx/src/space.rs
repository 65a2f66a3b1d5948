//! Generic addresses: which part of the address space each space of memory has.

use crate::types::Space;

/// The address of the first byte of global memory. No access near a null pointer reaches it.
pub(crate) const GLOBAL: u64 = 1 << 32;
/// The first address behind global memory.
pub(crate) const GLOBAL_END: u64 = 1 << 48;
/// The size of the window of another space.
const WINDOW: u64 = 1 << 44;
const SHARED: u64 = 1 << 48;
const LOCAL: u64 = 1 << 49;
const CONST: u64 = 1 << 50;
const PARAM: u64 = 1 << 51;

/// The generic address of the first byte of a space.
pub(crate) fn window(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global => 0,
        Space::Shared => SHARED,
        Space::Local => LOCAL,
        Space::Const => CONST,
        Space::Param => PARAM,
    }
}

/// The space that a generic address points into. All addresses outside the other windows are global ones.
pub(crate) fn space_of(address: u64) -> Space {
    if address < GLOBAL_END {
        return Space::Global;
    }
    let others = [Space::Shared, Space::Local, Space::Const, Space::Param];
    let inside = |&space: &Space| address.wrapping_sub(window(space)) < WINDOW;
    others.into_iter().find(inside).unwrap_or(Space::Global)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generic_address_names_its_space() {
        for space in [Space::Shared, Space::Local, Space::Const, Space::Param] {
            assert_eq!(space_of(window(space)), space);
            assert_eq!(space_of(window(space) + 4096), space);
            assert_eq!(space_of(window(space) - 1), Space::Global);
        }
        assert_eq!([0, GLOBAL, GLOBAL_END - 1, u64::MAX].map(space_of), [Space::Global; 4]);
    }
}
