//! Where the variables of a module lie, and what they hold at first.

use std::collections::HashMap;

use crate::error::{Fault, Place, Result};
use crate::space;
use crate::syntax::{Initial, Module, Variable};
use crate::types::Space;

/// The most bytes of all variables of a space.
const BYTES_MAX: u64 = 1 << 32;

/// The variables of a module that lie in global and constant memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// The space and the offset of each variable.
    pub(crate) places: HashMap<String, (Space, u64)>,
    pub(crate) global: Image,
    pub(crate) constant: Image,
}

/// The first contents of the variables of a space.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// The bytes at which addresses of global variables stand. Such an address is kept as the offset from the first
    /// variable, since only the launch knows where that lies.
    relocations: Vec<usize>,
}

impl Image {
    /// The contents where the first global variable lies at address `global`.
    pub(crate) fn at(&self, global: u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &place in &self.relocations {
            if let Some(word) = bytes[place..].first_chunk_mut::<8>() {
                *word = u64::from_le_bytes(*word).wrapping_add(global).to_le_bytes();
            }
        }
        bytes
    }
}

/// The next offset with this alignment, and the end of what lies there.
pub(crate) fn place(end: &mut u64, align: u32, bytes: u64) -> u64 {
    let start = end.next_multiple_of(u64::from(align.max(1)));
    *end = start + bytes;
    start
}

impl Layout {
    pub(crate) fn of(module: &Module) -> Result<Layout> {
        let mut layout = Layout::default();
        let mut ends = [0, 0];
        let mut placed = Vec::new();
        for variable in &module.variables {
            let (index, space) = match variable.space {
                Some(Space::Global) => (0, Space::Global),
                Some(Space::Const) => (1, Space::Const),
                Some(Space::Shared) => continue,
                _ => {
                    let message = format!("`{}` lies in no space that a module has", variable.name);
                    return Err(Fault::new(variable.at, message));
                }
            };
            if variable.external || variable.unsized_array {
                let message = format!("`{}` is defined in another module, and modules are not linked", variable.name);
                return Err(Fault::new(variable.at, message));
            }
            let offset = place(&mut ends[index], variable.align, variable.bytes);
            if ends[index] > BYTES_MAX {
                return Err(Fault::new(variable.at, "the variables of the module take more than 4 GiB"));
            }
            layout.places.insert(variable.name.clone(), (space, offset));
            placed.push((variable, offset));
        }
        // Memory for zeros is only taken here, when all sizes are known to be sound.
        layout.global.bytes = vec![0; ends[0] as usize];
        layout.constant.bytes = vec![0; ends[1] as usize];
        for (variable, offset) in placed {
            layout.fill(variable, offset as usize)?;
        }
        Ok(layout)
    }

    fn fill(&mut self, variable: &Variable, offset: usize) -> Result<()> {
        let size = usize::from(variable.scalar.bytes());
        for (index, initial) in variable.initial.iter().enumerate() {
            let place = offset + index * size;
            let (bits, is_relocated) = match initial {
                Initial::Bits(bits) => (*bits, false),
                Initial::Address { name, offset, generic, at } => self.address(name, *offset, *generic, size, *at)?,
            };
            let image = match variable.space {
                Some(Space::Const) => &mut self.constant,
                _ => &mut self.global,
            };
            image.bytes[place..place + size].copy_from_slice(&bits.to_le_bytes()[..size]);
            if is_relocated {
                image.relocations.push(place);
            }
        }
        Ok(())
    }

    /// The address of a variable, and whether that of the first global variable has to be added.
    fn address(&self, name: &str, offset: i64, generic: bool, size: usize, at: Place) -> Result<(u64, bool)> {
        let Some(&(space, start)) = self.places.get(name) else {
            return Err(Fault::new(at, format!("`{name}` is no variable of global or constant memory")));
        };
        if size != 8 {
            return Err(Fault::new(at, format!("the address of `{name}` has 64 bits")));
        }
        let is_global = space == Space::Global;
        let base = if generic { space::window(space) } else { 0 };
        Ok((base.wrapping_add(start).wrapping_add_signed(offset), is_global))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;

    #[test]
    fn variables_are_aligned_and_hold_their_values_and_addresses() {
        let module = parse(
            ".global .u8 a = 7; .global .align 8 .u64 b[2] = {generic(a)+1, 5}; .const .u32 c = 0x01020304;
             .const .u64 d = b;",
        );
        let layout = Layout::of(&module.unwrap()).unwrap();
        assert_eq!(layout.places["b"], (Space::Global, 8));
        let global = layout.global.at(0x1000);
        assert_eq!((global[0], &global[8..16], global[16]), (7, &0x1001u64.to_le_bytes()[..], 5));
        assert_eq!(layout.constant.at(0x1000)[..4], [4, 3, 2, 1]);
        assert_eq!(layout.constant.at(0x1000)[8..], 0x1008u64.to_le_bytes());
    }

    #[test]
    fn what_no_module_can_have_is_refused() {
        for (text, part) in [
            (".extern .global .u32 x;", "another module"),
            (".global .u64 x = y;", "no variable"),
            (".global .u64 x; .global .u32 y = x;", "64 bits"),
            (".local .u32 x;", "no space"),
        ] {
            let fault = Layout::of(&parse(text).unwrap()).unwrap_err();
            assert!(fault.message.contains(part), "{text}: {fault:?}");
        }
    }
}
