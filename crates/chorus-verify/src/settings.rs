//! The extent and the means of a search.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// The treatment of states that are mirror images of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One state stands for all its images, as far as the protocol proves to be symmetric.
    Full,
    /// Every state is visited for itself.
    None,
}

/// The treatment of messages that only count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// A message that only counts is taken at once, and in no other order.
    Reduced,
    /// Every message is taken in every order.
    All,
}

/// The part of visited states that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// The whole state: two states are never taken for one.
    Exact,
    /// 64 bits of each state (hash compaction, after Stern and Dill, 1995): two states may be taken for one, with a
    /// probability that the report gives.
    Fingerprints,
}

/// The settings of a search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether mirror images count as one state.
    pub reduction: Reduction,
    /// Whether messages that only count are followed in one order.
    pub orders: Orders,
    /// The part of each state that is stored.
    pub storage: Storage,
    /// The most states to visit.
    pub states: usize,
    /// The most bytes for states. Where it is not given, three quarters of the machine's available memory.
    pub bytes: Option<usize>,
    /// The number of threads that search. Where it is not given, as many as there are cores. Results do not depend on
    /// it.
    pub threads: Option<usize>,
    /// A flag that somebody sets to end the search early.
    pub stop: Option<&'static AtomicBool>,
}

/// The most states that a search visits unless told otherwise.
pub const STATE_LIMIT: usize = 20_000_000;

/// The available memory where the system does not tell it.
const ASSUMED_BYTES: usize = 8 << 30;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            reduction: Reduction::Full,
            orders: Orders::Reduced,
            storage: Storage::Exact,
            states: STATE_LIMIT,
            bytes: None,
            threads: None,
            stop: None,
        }
    }
}

impl Settings {
    /// The default settings with another bound on states.
    pub fn with_states(states: usize) -> Settings {
        Settings { states, ..Settings::default() }
    }

    /// Whether somebody has stopped the search.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// [`Bound::Stopped`] once somebody has stopped the search.
    pub(crate) fn stopped(&self) -> Result<(), Bound> {
        if self.is_stopped() { Err(Bound::Stopped) } else { Ok(()) }
    }

    /// The most bytes for states, given or derived from the machine.
    pub fn byte_limit(&self) -> usize {
        self.bytes.unwrap_or_else(|| available_bytes().map_or(ASSUMED_BYTES, |bytes| bytes / 4 * 3))
    }
}

/// The memory that programs can get, where the system tells it.
fn available_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The bound that ended a search before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The number of states.
    States(usize),
    /// The number of bytes for states.
    Bytes(usize),
    /// Somebody stopped the search.
    Stopped,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::States(limit) => write!(f, "the bound of {limit} states was met"),
            Bound::Bytes(limit) => write!(f, "the bound of {} MiB of memory was met", limit >> 20),
            Bound::Stopped => f.write_str("it was stopped"),
        }
    }
}
