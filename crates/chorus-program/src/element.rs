//! Types of elements: how numbers become bits, and how bits are shown and compared.

use chorus_kernel::HostMemory;

/// The type of the elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    U64,
    S64,
    F32,
    F64,
}

impl Element {
    const ALL: [(Element, &'static str); 10] = [
        (Element::U8, "u8"),
        (Element::S8, "s8"),
        (Element::U16, "u16"),
        (Element::S16, "s16"),
        (Element::U32, "u32"),
        (Element::S32, "s32"),
        (Element::U64, "u64"),
        (Element::S64, "s64"),
        (Element::F32, "f32"),
        (Element::F64, "f64"),
    ];

    pub(crate) fn names() -> Vec<&'static str> {
        Element::ALL.iter().map(|(_, name)| *name).collect()
    }

    pub(crate) fn from_name(name: &str) -> Option<Element> {
        Element::ALL.iter().find(|(_, known)| *known == name).map(|(element, _)| *element)
    }

    pub(crate) fn name(self) -> &'static str {
        Element::ALL.iter().find(|(element, _)| *element == self).map_or("", |(_, name)| *name)
    }

    /// How the header of a `.npy` file names it.
    pub(crate) fn numpy(self) -> &'static str {
        match self {
            Element::U8 => "|u1",
            Element::S8 => "|i1",
            Element::U16 => "<u2",
            Element::S16 => "<i2",
            Element::U32 => "<u4",
            Element::S32 => "<i4",
            Element::U64 => "<u8",
            Element::S64 => "<i8",
            Element::F32 => "<f4",
            Element::F64 => "<f8",
        }
    }

    pub(crate) fn bytes(self) -> u64 {
        match self {
            Element::U8 | Element::S8 => 1,
            Element::U16 | Element::S16 => 2,
            Element::U32 | Element::S32 | Element::F32 => 4,
            Element::U64 | Element::S64 | Element::F64 => 8,
        }
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Element::F32 | Element::F64)
    }

    /// The least and the greatest whole number that it holds; floats hold any, rounded.
    pub(crate) fn range(self) -> [i128; 2] {
        let bits = 8 * self.bytes();
        match self {
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => [0, (1 << bits) - 1],
            Element::S8 | Element::S16 | Element::S32 | Element::S64 => [-(1 << (bits - 1)), (1 << (bits - 1)) - 1],
            Element::F32 | Element::F64 => [i64::MIN.into(), u64::MAX.into()],
        }
    }

    /// The bits of a whole number; of one that does not fit, the lowest.
    pub(crate) fn of_integer(self, value: i128) -> u64 {
        match self {
            Element::F32 => (value as f32).to_bits().into(),
            Element::F64 => (value as f64).to_bits(),
            _ => value as u64 & u64::MAX >> (64 - 8 * self.bytes()),
        }
    }

    /// The bits of a real number, which is rounded towards zero where the type is one of whole numbers.
    pub(crate) fn of_real(self, value: f64) -> u64 {
        match self {
            Element::F32 => (value as f32).to_bits().into(),
            Element::F64 => value.to_bits(),
            _ => self.of_integer(value as i128),
        }
    }

    /// The number that bits stand for, as far as a double holds it.
    pub(crate) fn real(self, bits: u64) -> f64 {
        match self {
            Element::F32 => f32::from_bits(bits as u32).into(),
            Element::F64 => f64::from_bits(bits),
            _ => self.integer(bits) as f64,
        }
    }

    fn integer(self, bits: u64) -> i128 {
        let unused = 64 - 8 * self.bytes();
        match self {
            Element::S8 | Element::S16 | Element::S32 | Element::S64 => (((bits << unused) as i64) >> unused).into(),
            _ => bits.into(),
        }
    }

    pub(crate) fn show(self, bits: u64) -> String {
        match self {
            Element::F32 => f32::from_bits(bits as u32).to_string(),
            Element::F64 => f64::from_bits(bits).to_string(),
            _ => self.integer(bits).to_string(),
        }
    }

    /// Reads an element of a buffer that begins at a word of memory.
    pub(crate) fn load(self, memory: &HostMemory, start: usize, index: u64) -> u64 {
        let byte = index * self.bytes();
        let word = start + (byte / 4) as usize;
        let low = u64::from(memory.host_load(word));
        match self.bytes() {
            8 => low | u64::from(memory.host_load(word + 1)) << 32,
            bytes => (low >> (8 * (byte % 4))) & u64::MAX >> (64 - 8 * bytes),
        }
    }

    /// Writes an element of a buffer that begins at a word of memory.
    pub(crate) fn store(self, memory: &HostMemory, start: usize, index: u64, bits: u64) {
        let byte = index * self.bytes();
        let word = start + (byte / 4) as usize;
        match self.bytes() {
            8 => {
                memory.store(word, bits as u32);
                memory.store(word + 1, (bits >> 32) as u32);
            }
            4 => memory.store(word, bits as u32),
            bytes => {
                let (mask, shift) = (u32::MAX >> (32 - 8 * bytes), 8 * (byte % 4));
                memory.store_bits(word, mask << shift, (bits as u32) << shift);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_every_type_are_read_as_they_were_written() {
        let mut memory = HostMemory::default();
        let start = memory.alloc::<u32>(64).start() as usize;
        for (element, name) in Element::ALL {
            assert_eq!(Element::from_name(name), Some(element));
            let values = [-7, 100, 3, 0, 1];
            let bits = values.map(|value: i128| element.of_integer(value));
            (0..).zip(bits).for_each(|(index, bits)| element.store(&memory, start, index, bits));
            (0..).zip(bits).for_each(|(index, bits)| assert_eq!(element.load(&memory, start, index), bits, "{name}"));
            let first = if element.range()[0] < 0 { "-7".to_owned() } else { (element.range()[1] - 6).to_string() };
            assert_eq!(element.show(bits[0]), first);
            assert_eq!(element.show(element.of_real(3.0)), "3");
        }
    }
}
