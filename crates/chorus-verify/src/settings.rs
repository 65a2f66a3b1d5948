//! How far and by which means a search goes.

use std::fmt;

/// Whether states that are mirror images of each other are visited once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One for all of its images, as far as the protocol proves to be symmetric.
    Full,
    /// Every state for itself.
    None,
}

/// What is kept of states that were visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// All of each: two states are never taken for one.
    Exact,
    /// 64 bits of each (hash compaction, after Stern and Dill, 1995): two states may be taken for one, with a probability that the
    /// report gives.
    Fingerprints,
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether mirror images count as one state.
    pub reduction: Reduction,
    /// What is kept of each state.
    pub storage: Storage,
    /// The most states to visit.
    pub states: usize,
    /// The most bytes to keep states in; where it is not given, three quarters of what the machine has available.
    pub bytes: Option<usize>,
    /// How many threads search; where it is not given, as many as there are cores. Results do not depend on it.
    pub threads: Option<usize>,
}

/// The most states that a search visits unless told otherwise.
pub const STATE_LIMIT: usize = 20_000_000;

/// Where it cannot be found out how much memory there is.
const ASSUMED_BYTES: usize = 8 << 30;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            reduction: Reduction::Full,
            storage: Storage::Exact,
            states: STATE_LIMIT,
            bytes: None,
            threads: None,
        }
    }
}

impl Settings {
    /// The default with another bound on states.
    pub fn with_states(states: usize) -> Settings {
        Settings { states, ..Settings::default() }
    }

    /// The bound on bytes.
    pub fn byte_limit(&self) -> usize {
        self.bytes.unwrap_or_else(|| available_bytes().map_or(ASSUMED_BYTES, |bytes| bytes / 4 * 3))
    }
}

/// The memory that programs can get, where the system tells.
fn available_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The bound that ended a search before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// On states.
    States(usize),
    /// On bytes to keep them in.
    Bytes(usize),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::States(limit) => write!(f, "the bound of {limit} states was met"),
            Bound::Bytes(limit) => write!(f, "the bound of {} MiB of memory was met", limit >> 20),
        }
    }
}
