//! Attempts at a task: who made each, when, and how it ended.
//!
//! An attempt has a file of lines in JSON, which its process keeps locked as long as it lives. So everybody can tell an
//! attempt that goes on from one that was killed, on every machine that shares the disk.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::{ClusterError, Plan};
use crate::process::{Process, now};
use crate::store::{Store, StoreError};

/// The extension of the files of attempts.
const EXTENSION: &str = "jsonl";

/// A line of an attempt's file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// The process that makes the attempt.
    Began(Process),
    /// A run that is under way from now on.
    Started(String),
    /// A run that is not under way any more.
    Finished(String),
    /// The end of the attempt.
    Ended(Ending),
}

/// The end of an attempt that could say how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The time of the end, in seconds since 1970.
    pub at: u64,
    /// The error that ended it; none if it made all its runs.
    pub error: Option<String>,
}

/// The fate of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its process is still alive.
    GoesOn,
    /// Its process ended and said how.
    Ended(Ending),
    /// Its process ended without a word, with these runs under way: it was killed, or its machine failed.
    Silent(Vec<String>),
}

/// An attempt as its file tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The number of the attempt, from 1 on.
    pub number: u64,
    /// The process that made it, if its file can be read.
    pub process: Option<Process>,
    /// Whether it goes on, or how it ended.
    pub fate: Fate,
    /// The shard with its finished runs. There may be none yet.
    pub shard: PathBuf,
}

/// An attempt that this process makes.
#[derive(Debug)]
pub(super) struct LiveAttempt {
    /// The number of the attempt.
    pub number: u64,
    /// The path for its shard.
    pub shard: PathBuf,
    file: Mutex<File>,
}

impl Attempt {
    /// Opens its shard. There is none before the first run has begun.
    pub(super) fn open_shard(&self) -> Option<Result<Store, StoreError>> {
        let is_begun = fs::metadata(&self.shard).is_ok_and(|metadata| metadata.len() > 0);
        is_begun.then(|| Store::open_existing(&self.shard))
    }
}

impl LiveAttempt {
    /// Begins the next attempt at a task.
    pub fn begin(plan: &Plan, task: usize) -> Result<LiveAttempt, ClusterError> {
        let this = Process::this();
        // The file gets its name only when it is locked and says who this is.
        let (mut file, unnamed) = unnamed(plan, task, &this)?;
        let cannot = ClusterError::file("write", &unnamed);
        file.lock().map_err(&cannot)?;
        write(&mut file, &Line::Began(this)).map_err(&cannot)?;
        let mut number = attempts(plan, task)?.last().map_or(1, |last| last.number + 1);
        // Another process may begin an attempt at the same time. Only one of them gets the number.
        loop {
            match fs::hard_link(&unnamed, path(plan, task, number, EXTENSION)) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
                linked => break linked.map_err(&cannot)?,
            }
        }
        fs::remove_file(&unnamed).map_err(&cannot)?;
        Ok(LiveAttempt { number, shard: path(plan, task, number, "sqlite"), file: Mutex::new(file) })
    }

    /// Notes that a run is under way.
    pub fn started(&self, run: &str) {
        self.note(&Line::Started(run.to_owned()));
    }

    /// Notes that a run has ended, with a result or without.
    pub fn finished(&self, run: &str) {
        self.note(&Line::Finished(run.to_owned()));
    }

    /// Notes the end of the attempt.
    pub fn end(&self, error: Option<String>) {
        self.note(&Line::Ended(Ending { at: now(), error }));
    }

    /// Writes a line. Runs do not depend on it, so a line that cannot be written is left out.
    fn note(&self, line: &Line) {
        let _ = write(&mut self.file.lock().unwrap_or_else(PoisonError::into_inner), line);
    }
}

/// Makes a file for an attempt that has no number yet. Its name is that of no other process nor thread.
fn unnamed(plan: &Plan, task: usize, this: &Process) -> Result<(File, PathBuf), ClusterError> {
    let mut count = 0;
    loop {
        let path = plan.task_file(&format!("{task}-{}-{}-{count}", this.host, this.pid));
        match File::create_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => count += 1,
            created => return created.map_err(ClusterError::file("write", &path)).map(|file| (file, path)),
        }
    }
}

fn write(file: &mut File, line: &Line) -> std::io::Result<()> {
    file.write_all(format!("{}\n", serde_json::json!(line)).as_bytes())
}

fn path(plan: &Plan, task: usize, number: u64, extension: &str) -> PathBuf {
    plan.task_file(&format!("{task}-{number}.{extension}"))
}

/// The attempts at a task, the first one first.
pub fn attempts(plan: &Plan, task: usize) -> Result<Vec<Attempt>, ClusterError> {
    let numbers = numbers(plan)?.into_iter().filter(|(of, _)| *of == task);
    Ok(numbers.map(|(task, number)| read(plan, task, number)).collect())
}

/// The attempts at every task of a plan, in the order of tasks, the first attempt first.
pub fn all_attempts(plan: &Plan) -> Result<Vec<Vec<Attempt>>, ClusterError> {
    let mut of_tasks: Vec<Vec<Attempt>> = plan.tasks.iter().map(|_| Vec::new()).collect();
    for (task, number) in numbers(plan)? {
        if let Some(attempts) = task.checked_sub(1).and_then(|index| of_tasks.get_mut(index)) {
            attempts.push(read(plan, task, number));
        }
    }
    Ok(of_tasks)
}

/// The tasks and numbers of all attempts, in order.
fn numbers(plan: &Plan) -> Result<Vec<(usize, u64)>, ClusterError> {
    let folder = plan.tasks_folder();
    let mut numbers = Vec::new();
    for entry in fs::read_dir(&folder).map_err(ClusterError::file("read", &folder))?.flatten() {
        let name = entry.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(EXTENSION)?.strip_suffix('.')?.split_once('-'));
        numbers.extend(name.and_then(|(task, number)| Some((task.parse().ok()?, number.parse().ok()?))));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn read(plan: &Plan, task: usize, number: u64) -> Attempt {
    let file = path(plan, task, number, EXTENSION);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let (mut process, mut under_way, mut ending) = (None, Vec::new(), None);
    // A process that was killed may have left half a line.
    for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
        match line {
            Line::Began(who) => process = Some(who),
            Line::Started(run) => under_way.push(run),
            Line::Finished(run) => under_way.retain(|other| *other != run),
            Line::Ended(end) => ending = Some(end),
        }
    }
    let fate = match ending {
        Some(ending) => Fate::Ended(ending),
        None if is_locked(&file) => Fate::GoesOn,
        None => Fate::Silent(under_way),
    };
    Attempt { number, process, fate, shard: path(plan, task, number, "sqlite") }
}

/// Whether a process that lives has locked a file.
fn is_locked(path: &Path) -> bool {
    let file = File::options().read(true).write(true).open(path);
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
