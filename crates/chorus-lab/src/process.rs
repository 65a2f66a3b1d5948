//! Who a process is, so that a person can find it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::estimate::duration;
use crate::run::shell_word;

/// A process: its number, its machine, its command line and its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The number of the process on its machine.
    pub pid: u32,
    /// The name of the machine.
    pub host: String,
    /// The command line, without the folder of the program.
    pub command: String,
    /// The time of its beginning, in seconds since 1970.
    pub began: u64,
}

impl Process {
    /// The process that calls this, as if it began now.
    pub fn this() -> Process {
        let words = std::env::args_os().enumerate().map(|(index, word)| match (index, Path::new(&word).file_name()) {
            (0, Some(name)) => shell_word(&name.to_string_lossy()),
            (_, _) => shell_word(&word.to_string_lossy()),
        });
        Process { pid: std::process::id(), host: host(), command: words.collect::<Vec<_>>().join(" "), began: now() }
    }
}

/// The process for people: `` `chorus reproduce tc` (pid 12 on node7, for 3.0 min) ``.
impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Process { pid, host, command, began } = self;
        write!(f, "`{command}` (pid {pid} on {host}, for {})", duration(now().saturating_sub(*began) as f64))
    }
}

/// The time in seconds since 1970.
pub fn now() -> u64 {
    // A clock before 1970 is wrong anyway.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}

/// The name of this machine, where Linux tells it.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "a machine without a name".to_owned() } else { name.trim().to_owned() }
}
