//! The records of a search in a directory.
//!
//! | File | Contents |
//! | --- | --- |
//! | `record` | How far the search had come at the end of the last distance, as text |
//! | `states` | Fingerprint, tag and parent of each state, in the order of their numbers: 17 bytes each |
//! | `learned` | The results that the machine computed, in their order, so that it can compute them again |
//! | `ends` | The states that the memory model judged |
//! | `level-N` | The states that are N moves from the start |
//! | `lock` | Nothing. A process that searches holds a lock on it |
//!
//! All files but the record may be longer than the record says: what was written after it is cut off.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use chorus_protocol::controller::Passage;
use chorus_protocol::line::LineData;

use super::OvernightError;
use super::tags::Mark;
use crate::machine::Unknown;
use crate::node::{StepInput, Victim};

const STATE_BYTES: usize = 17;
const LEARNED_BYTES: usize = 16;
const BUFFER: usize = 1 << 20;

/// How far a search has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// The number of moves from the start to the states that are expanded next.
    pub depth: u32,
    /// The number of states visited, and of those among them that are expanded next.
    pub states: u64,
    pub level: u64,
    pub transitions: u64,
    /// The number of results that the machine computed, and the number of bytes of the states that were judged.
    pub learned: u64,
    pub ends: u64,
    /// A digest of all that the machine computed.
    pub digest: u64,
    /// The symmetries that the protocol does not keep, from group to subgroup.
    pub broken: Vec<Vec<usize>>,
}

impl Record {
    fn to_text(&self, identity: &str) -> String {
        let Record { depth, states, level, transitions, learned, ends, digest, broken } = self;
        let broken: Vec<String> = broken
            .iter()
            .map(|elements| elements.iter().map(ToString::to_string).collect::<Vec<_>>().join(","))
            .collect();
        format!(
            "search {identity}\ndepth {depth}\nstates {states}\nlevel {level}\ntransitions {transitions}\n\
             learned {learned}\nends {ends}\ndigest {digest}\nbroken {}\n",
            broken.join(";")
        )
    }

    /// Reads a record, and the search that it belongs to.
    fn parse(text: &str) -> Result<(String, Record), String> {
        let mut lines = text.lines();
        let mut value = |key: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(key)?.strip_prefix(' '));
            line.map(str::to_owned).ok_or_else(|| format!("no line with `{key}`"))
        };
        fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
            text.parse().map_err(|_| format!("`{text}` is not a number"))
        }
        let identity = value("search")?;
        let record = Record {
            depth: number(&value("depth")?)?,
            states: number(&value("states")?)?,
            level: number(&value("level")?)?,
            transitions: number(&value("transitions")?)?,
            learned: number(&value("learned")?)?,
            ends: number(&value("ends")?)?,
            digest: number(&value("digest")?)?,
            broken: value("broken")?
                .split(';')
                .filter(|elements| !elements.is_empty())
                .map(|elements| elements.split(',').map(number).collect())
                .collect::<Result<_, _>>()?,
        };
        Ok((identity, record))
    }
}

/// A state on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Visited {
    pub mark: Mark,
    /// The number of the state from which it was reached; its own, if the search began with it.
    pub parent: u32,
}

impl Visited {
    fn to_bytes(self) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        bytes[..8].copy_from_slice(&self.mark.fingerprint.to_le_bytes());
        bytes[8..13].copy_from_slice(&self.mark.tag.to_le_bytes()[..5]);
        bytes[13..].copy_from_slice(&self.parent.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; STATE_BYTES]) -> Visited {
        let number = |range: std::ops::Range<usize>| {
            bytes[range].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        };
        Visited { mark: Mark { fingerprint: number(0..8), tag: number(8..13) }, parent: number(13..17) as u32 }
    }
}

/// The files of a search.
pub(super) struct Journal {
    directory: PathBuf,
    identity: String,
    states: BufWriter<File>,
    learned: BufWriter<File>,
    ends: BufWriter<File>,
    /// Held as long as the journal is open.
    _lock: File,
}

impl Journal {
    /// Opens the records of a search, or begins them. The record is that of the last complete distance.
    pub fn open(directory: &Path, identity: &str) -> Result<(Journal, Option<Record>), OvernightError> {
        let at = |name: &str| directory.join(name);
        fs::create_dir_all(directory).map_err(file_error(directory))?;
        let lock = File::create(at("lock")).map_err(file_error(&at("lock")))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => OvernightError::Busy { path: directory.to_owned() },
            TryLockError::Error(source) => OvernightError::File { path: at("lock"), source },
        })?;
        let record = match fs::read_to_string(at("record")) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(OvernightError::File { path: at("record"), source }),
        };
        let damaged = |reason| OvernightError::Damaged { path: at("record"), reason };
        let record = record.map(|text| Record::parse(&text)).transpose().map_err(damaged)?;
        if let Some((found, _)) = record.as_ref().filter(|(found, _)| found != identity) {
            let (path, found, expected) = (directory.to_owned(), found.clone(), identity.to_owned());
            return Err(OvernightError::Another { path, found, expected });
        }
        let record = record.map(|(_, record)| record);
        let length = |of: fn(&Record) -> u64| record.as_ref().map_or(0, of);
        let journal = Journal {
            directory: directory.to_owned(),
            identity: identity.to_owned(),
            states: continued(&at("states"), length(|record| record.states * STATE_BYTES as u64))?,
            learned: continued(&at("learned"), length(|record| record.learned * LEARNED_BYTES as u64))?,
            ends: continued(&at("ends"), length(|record| record.ends))?,
            _lock: lock,
        };
        Ok((journal, record))
    }

    /// Forgets everything, since the search begins anew with fewer symmetries.
    pub fn begin_anew(&mut self, record: &Record) -> Result<(), OvernightError> {
        let files = [("states", &mut self.states), ("learned", &mut self.learned), ("ends", &mut self.ends)];
        for (name, file) in files {
            let mut cut = || {
                file.flush()?;
                file.get_ref().set_len(0)?;
                file.seek(SeekFrom::Start(0)).map(drop)
            };
            cut().map_err(file_error(&self.directory.join(name)))?;
        }
        self.write(record)
    }

    /// The file of the states that are `depth` moves from the start.
    pub fn level(&self, depth: u32) -> PathBuf {
        self.directory.join(format!("level-{depth}"))
    }

    pub fn add_state(&mut self, visited: Visited) -> Result<(), OvernightError> {
        self.states.write_all(&visited.to_bytes()).map_err(file_error(&self.directory.join("states")))
    }

    pub fn add_end(&mut self, number: u32, bytes: &[u8]) -> Result<u64, OvernightError> {
        let mut entry = Vec::with_capacity(bytes.len() + 6);
        entry.extend(number.to_le_bytes());
        entry.extend((bytes.len() as u16).to_le_bytes());
        entry.extend(bytes);
        self.ends.write_all(&entry).map_err(file_error(&self.directory.join("ends")))?;
        Ok(entry.len() as u64)
    }

    pub fn add_learned(&mut self, learned: &[Unknown]) -> Result<(), OvernightError> {
        let path = self.directory.join("learned");
        for number in learned.iter().flat_map(|&unknown| numbers(unknown)) {
            self.learned.write_all(&number.to_le_bytes()).map_err(file_error(&path))?;
        }
        Ok(())
    }

    /// Writes everything down, so that a search can go on from here.
    pub fn complete(&mut self, record: &Record) -> Result<(), OvernightError> {
        for (name, file) in [("states", &mut self.states), ("learned", &mut self.learned), ("ends", &mut self.ends)] {
            let synced = file.flush().and_then(|()| file.get_ref().sync_data());
            synced.map_err(file_error(&self.directory.join(name)))?;
        }
        self.write(record)
    }

    /// Removes the states that are `depth` moves from the start.
    pub fn forget_level(&self, depth: u32) {
        // A level that cannot be removed takes room and does no harm.
        let _ = fs::remove_file(self.level(depth));
    }

    /// Replaces the record in one step.
    fn write(&self, record: &Record) -> Result<(), OvernightError> {
        let (new, path) = (self.directory.join("record.new"), self.directory.join("record"));
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(record.to_text(&self.identity).as_bytes())?;
            file.sync_data()?;
            fs::rename(&new, &path)
        };
        write().map_err(file_error(&path))
    }

    /// Gives every state on disk to `take`, in the order of their numbers.
    pub fn each_state(&mut self, count: u64, mut take: impl FnMut(Visited)) -> Result<(), OvernightError> {
        let path = self.directory.join("states");
        self.states.flush().map_err(file_error(&path))?;
        let mut file = reader(&path)?;
        let mut bytes = [0; STATE_BYTES];
        for _ in 0..count {
            file.read_exact(&mut bytes).map_err(file_error(&path))?;
            take(Visited::from_bytes(&bytes));
        }
        Ok(())
    }

    /// One state on disk.
    pub fn state(&mut self, number: u32) -> Result<Visited, OvernightError> {
        let path = self.directory.join("states");
        let mut bytes = [0; STATE_BYTES];
        let mut read = || {
            self.states.flush()?;
            let mut file = File::open(&path)?;
            file.seek(SeekFrom::Start(u64::from(number) * STATE_BYTES as u64))?;
            file.read_exact(&mut bytes)
        };
        read().map_err(file_error(&path))?;
        Ok(Visited::from_bytes(&bytes))
    }

    /// Gives every result that the machine computed to `take`.
    pub fn each_learned(&self, count: u64, mut take: impl FnMut(Unknown)) -> Result<(), OvernightError> {
        let path = self.directory.join("learned");
        let mut file = reader(&path)?;
        for _ in 0..count {
            let mut bytes = [0; LEARNED_BYTES];
            file.read_exact(&mut bytes).map_err(file_error(&path))?;
            let number = |place: usize| {
                bytes[place * 4..place * 4 + 4].iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte))
            };
            let damaged =
                || OvernightError::Damaged { path: path.clone(), reason: "an entry means nothing".to_owned() };
            take(unknown([0, 1, 2, 3].map(number)).ok_or_else(damaged)?);
        }
        Ok(())
    }

    /// Gives every state that was judged to `take`, with its number and encoding.
    pub fn each_end(&self, bytes: u64, mut take: impl FnMut(u32, &[u8])) -> Result<(), OvernightError> {
        let path = self.directory.join("ends");
        let (mut file, mut left, mut encoded) = (reader(&path)?, bytes, Vec::new());
        while left > 0 {
            let mut head = [0; 6];
            file.read_exact(&mut head).map_err(file_error(&path))?;
            let [a, b, c, d, low, high] = head;
            encoded.resize(usize::from(u16::from_le_bytes([low, high])), 0);
            file.read_exact(&mut encoded).map_err(file_error(&path))?;
            take(u32::from_le_bytes([a, b, c, d]), &encoded);
            left = left.saturating_sub((head.len() + encoded.len()) as u64);
        }
        Ok(())
    }

    /// The error of a directory whose records were made by another protocol of the same name.
    pub fn changed(&self) -> OvernightError {
        let reason = "the protocol has changed since these records were made".to_owned();
        OvernightError::Damaged { path: self.directory.clone(), reason }
    }
}

/// Makes an error of the system name its file.
pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> OvernightError + use<> {
    let path = path.to_owned();
    move |source| OvernightError::File { path, source }
}

fn reader(path: &Path) -> Result<BufReader<File>, OvernightError> {
    Ok(BufReader::with_capacity(BUFFER, File::open(path).map_err(file_error(path))?))
}

/// A file that goes on after its first `length` bytes.
fn continued(path: &Path, length: u64) -> Result<BufWriter<File>, OvernightError> {
    let open = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() < length {
            return Err(io::Error::other("it is shorter than the record says"));
        }
        file.set_len(length)?;
        file.seek(SeekFrom::Start(length))?;
        Ok(BufWriter::with_capacity(BUFFER, file))
    };
    open().map_err(file_error(path))
}

fn passage_number(passage: Passage) -> u32 {
    match passage {
        Passage::Wake => 0,
        Passage::Tick => 1,
        Passage::RollOver => 2,
    }
}

fn passage(number: u32) -> Option<Passage> {
    [Passage::Wake, Passage::Tick, Passage::RollOver].get(number as usize).copied()
}

/// A result that the machine computed, as numbers.
fn numbers(unknown: Unknown) -> [u32; 4] {
    match unknown {
        Unknown::Step(node, StepInput::Request(number)) => [0, node, number, 0],
        Unknown::Step(node, StepInput::Message(number)) => [1, node, number, 0],
        Unknown::Step(node, StepInput::Evict(Victim::Line(line))) => [2, node, u32::from(line), 0],
        Unknown::Step(node, StepInput::Evict(Victim::Entry(line))) => [3, node, u32::from(line), 0],
        Unknown::Step(node, StepInput::Time(passage)) => [4, node, passage_number(passage), 0],
        Unknown::Answer(number, LineData([first, second])) => [5, number, first, second],
        Unknown::Aged(number, passage) => [6, number, passage_number(passage), 0],
    }
}

fn unknown(numbers: [u32; 4]) -> Option<Unknown> {
    let [kind, first, second, third] = numbers;
    Some(match kind {
        0 => Unknown::Step(first, StepInput::Request(second)),
        1 => Unknown::Step(first, StepInput::Message(second)),
        2 => Unknown::Step(first, StepInput::Evict(Victim::Line(u8::try_from(second).ok()?))),
        3 => Unknown::Step(first, StepInput::Evict(Victim::Entry(u8::try_from(second).ok()?))),
        4 => Unknown::Step(first, StepInput::Time(passage(second)?)),
        5 => Unknown::Answer(first, LineData([second, third])),
        6 => Unknown::Aged(first, passage(second)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_states_and_results_read_back() {
        let record = Record {
            depth: 3,
            states: 1 << 33,
            level: 7,
            transitions: 9,
            learned: 5,
            ends: 11,
            digest: u64::MAX,
            broken: vec![vec![1, 2], vec![3]],
        };
        assert_eq!(Record::parse(&record.to_text("me and you")), Ok(("me and you".to_owned(), record.clone())));
        let none = Record { broken: Vec::new(), ..record };
        assert_eq!(Record::parse(&none.to_text("x")), Ok(("x".to_owned(), none)));
        assert!(Record::parse("search x\ndepth many\n").is_err_and(|reason| reason.contains("`many`")));
        assert!(Record::parse("").is_err());
        let visited = Visited { mark: Mark { fingerprint: u64::MAX - 5, tag: (1 << 40) - 2 }, parent: 77 };
        assert_eq!(Visited::from_bytes(&visited.to_bytes()), visited);
        let results = [
            Unknown::Step(1, StepInput::Request(2)),
            Unknown::Step(1, StepInput::Message(2)),
            Unknown::Step(3, StepInput::Evict(Victim::Line(4))),
            Unknown::Step(3, StepInput::Evict(Victim::Entry(4))),
            Unknown::Step(5, StepInput::Time(Passage::RollOver)),
            Unknown::Answer(6, LineData([7, 8])),
            Unknown::Aged(9, Passage::Tick),
        ];
        assert!(results.iter().all(|&result| unknown(numbers(result)) == Some(result)));
        assert_eq!(unknown([7, 0, 0, 0]), None);
    }
}
