//! Placement of data in the host's memory. It affects nothing but the simulator's speed: a value that begins at the
//! start of a line of the host's caches touches as few of these lines as possible.

use crate::save::{self, Save};

/// A value that begins at the start of a line of the host's caches.
#[derive(Clone, Copy, Debug, Default, Save)]
#[repr(align(64))]
pub struct HostLine<T>(pub T);
