//! The results store: finished runs, and facts about protocols, in an SQLite file.
//!
//! Each run is written in its own transaction, in WAL mode and synchronised to disk, so that it survives whatever
//! happens to the process afterwards. The identity of a run consists of its specification, its resolved configuration
//! and the build of Chorus that made it. The file carries an application number and a format version. Any other file is
//! refused, and never converted or overwritten.
//!
//! A *shard* is a store that one task of a cluster writes. It has a rollback journal instead of WAL, because WAL needs
//! memory that all its users share, and machines that share only a disk have none.

mod error;
mod hold;
mod merge;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, params};
use serde_json::Value;

pub use self::error::StoreError;
use self::error::classify;
pub use self::hold::Hold;
pub use self::merge::Merged;
use crate::reproduce::STORE_FILE;
use crate::run::{Build, Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec};

/// The format version that this build reads and writes. It is SQLite's `user_version`.
pub const FORMAT_VERSION: i64 = 1;

/// SQLite's `application_id` of a results store: "Chor" in ASCII.
const APPLICATION_ID: i64 = 0x4368_6f72;

/// How long a write waits for another process that writes to the same file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause between two tries to open a store that another process is making.
const BUSY_PAUSE: Duration = Duration::from_millis(20);

const SCHEMA: &str = "
    CREATE TABLE runs (
        key            TEXT NOT NULL,
        config_hash    TEXT NOT NULL,
        chorus_version TEXT NOT NULL,
        git_revision   TEXT NOT NULL,
        system         TEXT NOT NULL,
        protocol       TEXT NOT NULL,
        workload       TEXT NOT NULL,
        scale          TEXT NOT NULL,
        seed           INTEGER NOT NULL,
        status         TEXT NOT NULL,
        message        TEXT,
        cycles         INTEGER,
        wall_s         REAL,
        accesses       INTEGER,
        spec           TEXT NOT NULL,
        result         TEXT,
        PRIMARY KEY (key, chorus_version, git_revision)
    ) STRICT;";

/// Stores of the same format that were made before facts were kept get this table when they are opened.
const SCHEMA_OF_FACTS: &str = "
    CREATE TABLE IF NOT EXISTS facts (
        subject        TEXT NOT NULL,
        chorus_version TEXT NOT NULL,
        git_revision   TEXT NOT NULL,
        facts          TEXT NOT NULL,
        PRIMARY KEY (subject, chorus_version, git_revision)
    ) STRICT;";

/// The way in which a store guards its transactions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Journal {
    /// Write-ahead: nobody who reads waits for a writer. All users must be processes of one machine.
    WriteAhead,
    /// The journal that the file has already; a new file gets one that rolls back.
    AsItIs,
}

/// A file of finished runs. Threads and processes may share it.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Store {
    /// Opens a store. The file and its directory are created if they do not exist.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        // SQLite says only that it cannot open a file; the operating system says why.
        let unwritable = |error: std::io::Error| StoreError::Unwritable {
            path: path.to_owned(),
            reason: error.to_string().to_lowercase(),
        };
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(unwritable)?;
        }
        // A file that exists is left to SQLite. To open and close it here would end the locks that other connections of
        // this process hold on it, and a process that reads the store would then remove the log that they write to.
        match File::create_new(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(unwritable(error)),
            Ok(_) | Err(_) => Self::connect(path, Journal::WriteAhead),
        }
    }

    /// Makes a shard: a store that machines which share only a disk may use.
    pub fn create_shard(path: &Path) -> Result<Store, StoreError> {
        Self::connect(path, Journal::AsItIs)
    }

    /// Makes a store in memory, for runs that nobody keeps.
    pub fn in_memory() -> Result<Store, StoreError> {
        Self::try_connect(Path::new(":memory:"), Journal::AsItIs)
    }

    /// Opens the store of a directory of results, or a store by its own path. It must exist.
    pub fn open_results(results: &Path) -> Result<Store, StoreError> {
        let path = if results.is_dir() { results.join(STORE_FILE) } else { results.to_owned() };
        if !path.exists() {
            return Err(StoreError::NoResults { results: results.to_owned(), path });
        }
        Self::open_existing(&path)
    }

    /// Opens a store that must exist. If it lies on a disk that cannot be written, it can be read all the same.
    pub fn open_existing(path: &Path) -> Result<Store, StoreError> {
        let not_there = |found: &str| StoreError::NotAStore { path: path.to_owned(), found: found.to_owned() };
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() > 0 => match Self::connect(path, Journal::AsItIs) {
                Err(StoreError::Unwritable { .. }) => Self::connect_to_read(path),
                connected => connected,
            },
            Ok(metadata) if metadata.is_file() => Err(not_there("the file is empty")),
            Ok(_) => Err(not_there("it is not a file")),
            Err(error) => Err(not_there(&error.to_string().to_lowercase())),
        }
    }

    /// Connects to the file. This is repeated while another process creates the same store, because the change to WAL
    /// mode does not wait by itself.
    fn connect(path: &Path, journal: Journal) -> Result<Store, StoreError> {
        let start = Instant::now();
        loop {
            match Self::try_connect(path, journal) {
                Err(StoreError::Busy { .. }) if start.elapsed() < BUSY_TIMEOUT => std::thread::sleep(BUSY_PAUSE),
                connected => return connected,
            }
        }
    }

    fn try_connect(path: &Path, journal: Journal) -> Result<Store, StoreError> {
        let failed = |source: rusqlite::Error| classify(path, source);
        let mut connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let marks = Marks::read(&transaction).map_err(failed)?;
        if marks == Marks::default() {
            let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT_VERSION};");
            transaction.execute_batch(&mark).and_then(|()| transaction.execute_batch(SCHEMA)).map_err(failed)?;
        } else {
            marks.check(path)?;
        }
        transaction.execute_batch(SCHEMA_OF_FACTS).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        connection.execute_batch("PRAGMA synchronous = FULL;").map_err(failed)?;
        if journal == Journal::WriteAhead {
            connection.execute_batch("PRAGMA journal_mode = WAL;").map_err(failed)?;
        }
        Ok(Store { path: path.to_owned(), connection: Mutex::new(connection) })
    }

    /// Connects to a file on a disk that cannot be written. SQLite needs a journal and a file of shared memory beside a
    /// store, unless it is told that nobody changes the store. That is so if there is no journal.
    fn connect_to_read(path: &Path) -> Result<Store, StoreError> {
        let failed = |source: rusqlite::Error| classify(path, source);
        let mut journal = path.as_os_str().to_owned();
        journal.push("-wal");
        let has_journal = fs::metadata(journal).is_ok_and(|metadata| metadata.len() > 0);
        let name = format!("file:{}{}", escaped(path), if has_journal { "" } else { "?immutable=1" });
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(name, flags).map_err(failed)?;
        Marks::read(&connection).map_err(failed)?.check(path)?;
        Ok(Store { path: path.to_owned(), connection: Mutex::new(connection) })
    }

    /// The path of the store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a run. When this function returns, the run is on disk.
    pub fn insert(&self, record: &Record) -> Result<(), StoreError> {
        self.insert_by(&self.connection(), record)
    }

    /// The record of a run by one build; none if the store does not have it.
    pub fn find(&self, spec: &RunSpec, config_hash: &str, build: &Build) -> Result<Option<Record>, StoreError> {
        self.find_by(&self.connection(), spec, config_hash, build)
    }

    fn insert_by(&self, connection: &Connection, record: &Record) -> Result<(), StoreError> {
        let json = |value: serde_json::Result<String>| value.map_err(|error| self.damaged(record, &error.to_string()));
        let (message, result) = match &record.outcome {
            Outcome::Finished(result) => (record.trouble(), Some(result)),
            Outcome::Failed(error) => (Some(error.message.as_str()), None),
        };
        let spec = &record.spec;
        // SQLite integers are signed. The payload holds the seed as it is.
        let as_integer = |value: u64| value.cast_signed();
        let values = params![
            spec.key(&record.config_hash),
            record.config_hash,
            record.build.chorus_version,
            record.build.git_revision,
            spec.system,
            spec.protocol,
            spec.workload,
            spec.scale.name(),
            as_integer(spec.seed),
            record.status(),
            message,
            result.map(|result| as_integer(result.cycles)),
            result.map(|result| result.wall_s),
            result.map(|result| as_integer(result.accesses)),
            json(serde_json::to_string(spec))?,
            result.map(|result| json(serde_json::to_string(result))).transpose()?,
        ];
        let sql = "INSERT OR REPLACE INTO runs VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)";
        connection.execute(sql, values).map_err(|source| self.failed(source))?;
        Ok(())
    }

    fn find_by(
        &self,
        connection: &Connection,
        spec: &RunSpec,
        config_hash: &str,
        build: &Build,
    ) -> Result<Option<Record>, StoreError> {
        let sql = format!("{SELECT} WHERE key = ?1 AND chorus_version = ?2 AND git_revision = ?3");
        let values = params![spec.key(config_hash), build.chorus_version, build.git_revision];
        let row = connection.query_row(&sql, values, Stored::read).optional();
        row.map_err(|source| self.failed(source))?.map(|stored| self.decode(stored)).transpose()
    }

    /// Whether the store has a record of a run by one build.
    pub fn has(&self, spec: &RunSpec, config_hash: &str, build: &Build) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM runs WHERE key = ?1 AND chorus_version = ?2 AND git_revision = ?3";
        let values = params![spec.key(config_hash), build.chorus_version, build.git_revision];
        let found = self.connection().query_row(sql, values, |_| Ok(())).optional();
        Ok(found.map_err(|source| self.failed(source))?.is_some())
    }

    /// Every record, in the order in which they were written.
    pub fn records(&self) -> Result<Vec<Record>, StoreError> {
        let stored: rusqlite::Result<Vec<Stored>> = (|| {
            let connection = self.connection();
            let mut statement = connection.prepare(&format!("{SELECT} ORDER BY rowid"))?;
            statement.query_map([], Stored::read)?.collect()
        })();
        let stored = stored.map_err(|source| self.failed(source))?;
        stored.into_iter().map(|stored| self.decode(stored)).collect()
    }

    /// The facts about a subject as one build counted them; none if the store does not have them.
    pub fn facts(&self, subject: &str, build: &Build) -> Result<Option<BTreeMap<String, f64>>, StoreError> {
        let sql = "SELECT facts FROM facts WHERE subject = ?1 AND chorus_version = ?2 AND git_revision = ?3";
        let values = params![subject, build.chorus_version, build.git_revision];
        let row = self.connection().query_row(sql, values, |row| row.get::<_, String>(0)).optional();
        // Facts that cannot be read are counted again.
        Ok(row.map_err(|source| self.failed(source))?.and_then(|facts| serde_json::from_str(&facts).ok()))
    }

    /// Writes the facts about a subject.
    pub fn keep_facts(&self, subject: &str, build: &Build, facts: &BTreeMap<String, f64>) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO facts VALUES (?1,?2,?3,?4)";
        let facts = Value::from_iter(facts.iter().map(|(name, value)| (name.clone(), *value))).to_string();
        let values = params![subject, build.chorus_version, build.git_revision, facts];
        self.connection().execute(sql, values).map_err(|source| self.failed(source))?;
        Ok(())
    }

    fn decode(&self, stored: Stored) -> Result<Record, StoreError> {
        let damaged = |reason: String| StoreError::Damaged { path: self.path.clone(), key: stored.key.clone(), reason };
        let spec: RunSpec = serde_json::from_str(&stored.spec).map_err(|error| damaged(error.to_string()))?;
        let outcome = match &stored.result {
            Some(json) => {
                let result: RunResult = serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
                Outcome::Finished(Box::new(result))
            }
            None => {
                let kind = RunErrorKind::ALL.into_iter().find(|kind| kind.name() == stored.status);
                let kind = kind.ok_or_else(|| damaged(format!("unknown status `{}`", stored.status)))?;
                Outcome::Failed(RunError::new(kind, stored.message.unwrap_or_default()))
            }
        };
        Ok(Record { spec, config_hash: stored.config_hash, build: stored.build, outcome })
    }

    /// The connection, also after a panic of another thread. Each write is one transaction, so that a panic cannot
    /// leave half a run behind.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        classify(&self.path, source)
    }

    fn damaged(&self, record: &Record, reason: &str) -> StoreError {
        let key = record.spec.key(&record.config_hash);
        StoreError::Damaged { path: self.path.clone(), key, reason: reason.to_owned() }
    }
}

/// The marks by which a results store is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks {
    application: i64,
    format: i64,
    tables: i64,
}

impl Marks {
    fn read(connection: &Connection) -> rusqlite::Result<Marks> {
        let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok(Marks {
            application: number("PRAGMA application_id")?,
            format: number("PRAGMA user_version")?,
            tables: number("SELECT count(*) FROM sqlite_schema")?,
        })
    }

    /// Refuses a file that is not a results store of this format.
    fn check(self, path: &Path) -> Result<(), StoreError> {
        match (self.application, self.format) {
            (APPLICATION_ID, FORMAT_VERSION) => Ok(()),
            (APPLICATION_ID, found) => Err(StoreError::OtherFormat { path: path.to_owned(), found }),
            (_, _) => {
                let found = "it is an SQLite database of something else".to_owned();
                Err(StoreError::NotAStore { path: path.to_owned(), found })
            }
        }
    }
}

/// A path as part of a URI, byte by byte.
fn escaped(path: &Path) -> String {
    let escape = |&byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.as_os_str().as_encoded_bytes().iter().map(escape).collect()
}

const SELECT: &str = "SELECT key, config_hash, chorus_version, git_revision, status, message, spec, result FROM runs";

/// A row as it is stored.
struct Stored {
    key: String,
    config_hash: String,
    build: Build,
    status: String,
    message: Option<String>,
    spec: String,
    result: Option<String>,
}

impl Stored {
    fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        Ok(Stored {
            key: row.get(0)?,
            config_hash: row.get(1)?,
            build: Build { chorus_version: row.get(2)?, git_revision: row.get(3)? },
            status: row.get(4)?,
            message: row.get(5)?,
            spec: row.get(6)?,
            result: row.get(7)?,
        })
    }
}
