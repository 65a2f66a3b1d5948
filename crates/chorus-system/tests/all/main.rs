//! Tests of resolving systems, in one binary.

mod arbitrary;
mod hash;
mod messages;
mod shipped;
mod systems;
