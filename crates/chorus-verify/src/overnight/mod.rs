//! A search beyond memory, which goes on after it was stopped.
//!
//! Of each visited state the search keeps 40 bits in memory ([`tags`]) and 17 bytes on disk ([`journal`]). The states
//! of the next distance from the start are on disk as well ([`level`]). At the end of each distance everything is
//! written down, so that a search that was killed goes on from there.
//!
//! Two states may be taken for one, with a probability that the report gives. Whole states are not kept, so livelocks
//! and false claims of controllers are not looked for.

mod journal;
mod level;
mod search;
mod tags;

use std::path::{Path, PathBuf};

use chorus_protocol::registry::Protocol;

use crate::check::{CheckConfig, CheckReport};
use crate::hashing::fingerprint;
use crate::settings::Settings;
use journal::Journal;
use search::Search;

/// The most states of such a search: each has a number of 32 bits.
pub const STATE_LIMIT: usize = u32::MAX as usize - 1;

/// A search that cannot be made, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum OvernightError {
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the system gives.
        source: std::io::Error,
    },
    /// The directory belongs to another search.
    #[error(
        "{} belongs to another search: {found}; this one is: {expected}\nhint: give another directory, or remove this one",
        path.display()
    )]
    Another {
        /// The path of the directory.
        path: PathBuf,
        /// The search that the directory belongs to.
        found: String,
        /// The search that was asked for.
        expected: String,
    },
    /// A file does not contain what the search wrote.
    #[error("{}: {reason}\nhint: remove the directory to begin anew", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The part that is wrong.
        reason: String,
    },
    /// Another process searches in this directory.
    #[error("{}: another search is running in this directory", path.display())]
    Busy {
        /// The path of the directory.
        path: PathBuf,
    },
}

/// The place that a search has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The number of moves from the start to the states that are expanded now.
    pub depth: u32,
    /// The number of states visited.
    pub states: u64,
    /// The number of states visited and not expanded.
    pub waiting: u64,
}

/// Checks a protocol in a configuration, with its records in a directory. A search that was stopped goes on. `watch` is
/// told now and then how far the search has come.
pub fn check_overnight(
    protocol: &'static dyn Protocol,
    fault: Option<u8>,
    config: &CheckConfig,
    settings: &Settings,
    directory: &Path,
    watch: &mut (dyn FnMut(Reached) + Send),
) -> Result<CheckReport, OvernightError> {
    let fault_name = fault.and_then(|index| protocol.faults().get(usize::from(index))).map(|fault| fault.name);
    let identity = identity(protocol, fault_name, config, settings);
    let (mut journal, record) = Journal::open(directory, &identity)?;
    let search = || -> Result<CheckReport, OvernightError> {
        let mut search = Search::begin(protocol, fault, config, settings, &mut journal, record)?;
        let verdict = search.run(watch)?;
        let (programs, executions) = search.judged();
        let (symmetry, configuration_symmetry) = search.symmetries();
        Ok(CheckReport {
            protocol: protocol.name(),
            fault: fault_name,
            config: config.name,
            description: config.description,
            states: search.states() as usize,
            transitions: search.transitions(),
            depth: search.depth(),
            programs,
            executions,
            symmetry,
            configuration_symmetry,
            bytes: search.bytes(),
            omission_probability: Some(search.omission_probability()),
            verdict,
        })
    };
    match settings.threads.and_then(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()) {
        Some(pool) => pool.install(search),
        None => search(),
    }
}

/// The search in one line: equal exactly for equal searches.
fn identity(protocol: &dyn Protocol, fault: Option<&'static str>, config: &CheckConfig, settings: &Settings) -> String {
    let whole = format!("{:?} {:?} {:?}", config.machine, settings.reduction, settings.orders);
    let digest = fingerprint(whole.as_bytes());
    let fault = fault.map_or(String::new(), |fault| format!("+{fault}"));
    format!("{}{fault} {} {digest:016x} chorus {}", protocol.name(), config.name, env!("CARGO_PKG_VERSION"))
}
