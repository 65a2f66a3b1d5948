//! A trace as a whole: everything in it has been read once and is right.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chorus_kernel::HostMemory;
use sha2::Digest;

use crate::address_map::Pages;
use crate::error::TraceError;
use crate::index::KernelIndex;
use crate::list::{Command, List};
use crate::replay::{Replay, lock};

/// The most words of local memory of a launch: 2 GiB. Beyond, accesses of it count as accesses of the local data share.
const LOCAL_WORDS_MAX: u64 = 1 << 29;

/// A trace of a program.
pub struct Trace {
    path: String,
    launches: Vec<Arc<KernelIndex>>,
    pub(crate) pages: Pages,
    warnings: Vec<String>,
    sha256: String,
    failure: Mutex<Option<TraceError>>,
}

impl Trace {
    /// Reads the trace in a directory, one with its list under another name, or a single kernel. Every file is read
    /// once and checked. Of its contents, only the places of work-groups are kept.
    pub fn open(path: &Path) -> Result<Trace, TraceError> {
        let List { commands, mut warnings, mut digest, path: list } = List::read(path)?;
        let mut pages = Pages::default();
        let mut launches: Vec<Arc<KernelIndex>> = Vec::new();
        let mut known: HashMap<PathBuf, Arc<KernelIndex>> = HashMap::new();
        for command in commands {
            match command {
                Command::Copy { first, bytes, line } => pages.add_range(first, bytes).map_err(|what| TraceError {
                    file: list.display().to_string(),
                    line: Some(line),
                    what,
                })?,
                Command::Kernel(path) => {
                    if let Some(index) = known.get(&path) {
                        launches.push(Arc::clone(index));
                        continue;
                    }
                    let (index, digested) = KernelIndex::read(&path, digest, &mut pages)?;
                    digest = digested;
                    warnings.extend_from_slice(&index.warnings);
                    let index = Arc::new(index);
                    known.insert(path, Arc::clone(&index));
                    launches.push(index);
                }
            }
        }
        for index in launches.iter().filter(|index| index.all_local_words() > LOCAL_WORDS_MAX) {
            let more = format!("{}: kernel {}: more than 2 GiB of local memory", index.file, index.header.name);
            warnings.push(format!("{more}; accesses of it count as accesses of the local data share"));
        }
        launches.retain(|index| !index.blocks.is_empty());
        if launches.is_empty() {
            return Err(TraceError::of_file(list.display(), "there is no kernel with a work-group in this trace"));
        }
        let sha256 = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let path = path.display().to_string();
        Ok(Trace { path, launches, pages, warnings, sha256, failure: Mutex::new(None) })
    }

    /// The program that the trace is of. Its data is laid out in `memory`. All words are zero, since traces have no
    /// values.
    pub fn program(self: &Arc<Self>, memory: &mut HostMemory) -> Replay {
        Replay::new(self, memory)
    }

    /// The path that was given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Remarks that its user should know: what cannot be replayed faithfully, and what was passed over.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The SHA-256 of its contents, in hexadecimal digits.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Number of launches that are replayed.
    pub fn kernels(&self) -> usize {
        self.launches.len()
    }

    /// Number of instructions of warps, over all launches.
    pub fn instructions(&self) -> u64 {
        self.launches.iter().map(|index| index.instructions).sum()
    }

    /// Bytes of memory that it uses, in pages of 64 KiB.
    pub fn bytes(&self) -> u64 {
        self.pages.bytes()
    }

    /// Whether there are fences in it.
    pub fn has_fences(&self) -> bool {
        self.launches.iter().any(|index| index.fences)
    }

    /// The reason why it could not be replayed to its end: its files have changed or cannot be read any more.
    pub fn failure(&self) -> Option<TraceError> {
        lock(&self.failure).clone()
    }

    pub(crate) fn fail(&self, error: TraceError) {
        lock(&self.failure).get_or_insert(error);
    }

    pub(crate) fn launches(&self) -> &[Arc<KernelIndex>] {
        &self.launches
    }

    pub(crate) fn has_local_memory(&self, index: &KernelIndex) -> bool {
        (1..=LOCAL_WORDS_MAX).contains(&index.all_local_words())
    }

    /// Words of local memory of the launch that needs most. Launches use the same ones, as on a GPU.
    pub(crate) fn local_words(&self) -> u64 {
        let words =
            self.launches.iter().filter(|index| self.has_local_memory(index)).map(|index| index.all_local_words());
        words.max().unwrap_or(0)
    }
}
