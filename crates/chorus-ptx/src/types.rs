//! The types and the spaces of PTX.

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScalarType {
    Bits(u8),
    Unsigned(u8),
    Signed(u8),
    Float(u8),
    Predicate,
}

impl ScalarType {
    /// The type of a name like `u32`.
    pub(crate) fn named(name: &str) -> Option<ScalarType> {
        if name == "pred" {
            return Some(ScalarType::Predicate);
        }
        let bits = name.get(1..)?.parse::<u8>().ok()?;
        match (name.as_bytes()[0], bits) {
            (b'b', 8 | 16 | 32 | 64) => Some(ScalarType::Bits(bits)),
            (b'u', 8 | 16 | 32 | 64) => Some(ScalarType::Unsigned(bits)),
            (b's', 8 | 16 | 32 | 64) => Some(ScalarType::Signed(bits)),
            (b'f', 32 | 64) => Some(ScalarType::Float(bits)),
            _ => None,
        }
    }

    /// The size of a value in bits. A predicate has one.
    pub(crate) fn bits(self) -> u8 {
        match self {
            ScalarType::Bits(bits)
            | ScalarType::Unsigned(bits)
            | ScalarType::Signed(bits)
            | ScalarType::Float(bits) => bits,
            ScalarType::Predicate => 1,
        }
    }

    pub(crate) fn bytes(self) -> u8 {
        self.bits().div_ceil(8)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, ScalarType::Signed(_))
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, ScalarType::Float(_))
    }
}

/// A space of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// Any of the others, told by the address.
    Generic,
    Global,
    Shared,
    Local,
    Const,
    Param,
}

impl Space {
    /// The space of a part of an opcode or of a directive.
    pub(crate) fn named(name: &str) -> Option<Space> {
        match name {
            "global" => Some(Space::Global),
            "shared" | "shared::cta" => Some(Space::Shared),
            "local" => Some(Space::Local),
            "const" => Some(Space::Const),
            "param" | "param::entry" | "param::func" => Some(Space::Param),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Const => "const",
            Space::Param => "param",
        }
    }
}
