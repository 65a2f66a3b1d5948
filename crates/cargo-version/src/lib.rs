//! Nothing. The manifest of this crate says why it exists.
