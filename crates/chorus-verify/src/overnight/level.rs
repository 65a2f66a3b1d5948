//! The states of one distance from the start, in a file, one after the other: the length of a state in two bytes, then
//! its encoding.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::OvernightError;
use super::journal::file_error;
use super::tags::{Mark, TagSet};
use crate::expand::Seen;
use crate::state::State;
use crate::state_set::{Candidate, Lookup, NONE, decode};

const BUFFER: usize = 1 << 20;

/// A level that is written.
pub(super) struct LevelWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl LevelWriter {
    pub fn create(path: &Path) -> Result<LevelWriter, OvernightError> {
        let file = File::create(path).map_err(file_error(path))?;
        Ok(LevelWriter { path: path.to_owned(), file: BufWriter::with_capacity(BUFFER, file) })
    }

    pub fn add(&mut self, bytes: &[u8]) -> Result<(), OvernightError> {
        let mut write = || {
            let length = u16::try_from(bytes.len()).map_err(|_| io::Error::other("a state is too long"))?;
            self.file.write_all(&length.to_le_bytes())?;
            self.file.write_all(bytes)
        };
        write().map_err(file_error(&self.path))
    }

    pub fn sync(&mut self) -> Result<(), OvernightError> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        synced.map_err(file_error(&self.path))
    }
}

/// A level that is read from its beginning.
pub(super) struct LevelReader {
    path: PathBuf,
    file: BufReader<File>,
}

impl LevelReader {
    pub fn open(path: &Path) -> Result<LevelReader, OvernightError> {
        let file = File::open(path).map_err(file_error(path))?;
        Ok(LevelReader { path: path.to_owned(), file: BufReader::with_capacity(BUFFER, file) })
    }

    /// Reads the next `count` states.
    pub fn read(&mut self, count: usize, states: &mut States) -> Result<(), OvernightError> {
        states.bytes.clear();
        states.ends.clear();
        (0..count).try_for_each(|_| self.read_state(states)).map_err(file_error(&self.path))
    }

    fn read_state(&mut self, states: &mut States) -> io::Result<()> {
        let mut length = [0; 2];
        self.file.read_exact(&mut length)?;
        let start = states.bytes.len();
        states.bytes.resize(start + usize::from(u16::from_le_bytes(length)), 0);
        self.file.read_exact(&mut states.bytes[start..])?;
        states.ends.push(states.bytes.len());
        Ok(())
    }
}

/// States that are expanded together.
#[derive(Default)]
pub(super) struct States {
    /// The number of the first.
    pub first: u32,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl States {
    fn slice(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }
}

/// The states that are expanded together, and the tags of those seen.
pub(super) struct Frontier<'a> {
    pub states: &'a States,
    pub tags: &'a TagSet,
}

impl Seen for Frontier<'_> {
    fn get(&self, number: u32, state: &mut State) {
        decode(self.states.slice((number - self.states.first) as usize), state);
    }

    /// Tags tell that a state was seen, and not which one it was.
    fn look_up(&self, candidates: &[Candidate], encoded: &[u8], lookups: &mut Vec<Lookup>) {
        let look_up = |candidate: &Candidate| {
            let bytes = &encoded[candidate.start as usize..candidate.end as usize];
            let seen = self.tags.contains(Mark::new(candidate.fingerprint, bytes));
            Lookup::of(if seen { self.states.first } else { NONE })
        };
        lookups.clear();
        lookups.extend(candidates.iter().map(look_up));
    }
}
