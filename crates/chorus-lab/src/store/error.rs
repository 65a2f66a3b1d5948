//! The reasons why a results store cannot be used, and what its user can do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use super::{BUSY_TIMEOUT, FORMAT_VERSION};

/// SQLite's extended code for a write that the operating system refused: over a quota, for example.
const WRITE_REFUSED: i32 = rusqlite::ffi::SQLITE_IOERR_WRITE;

/// The reason why a results store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory or file cannot be written.
    #[error("cannot write results store {}: {reason}; choose a directory that can be written", path.display())]
    Unwritable {
        /// The path of the file.
        path: PathBuf,
        /// The reason that the operating system or SQLite gives.
        reason: String,
    },
    /// The disk has no room for another run.
    #[error("cannot write results store {}: the disk is full, or a quota is used up; make room", path.display())]
    Full {
        /// The path of the file.
        path: PathBuf,
    },
    /// Another process has been writing for longer than a write takes.
    #[error(
        "results store {}: another process has kept it locked for {} s; wait until it ends", path.display(),
        BUSY_TIMEOUT.as_secs()
    )]
    Busy {
        /// The path of the file.
        path: PathBuf,
    },
    /// Another process makes runs for this store.
    #[error(
        "{holder} makes runs for results store {} already\nhint: wait until it ends, or give another directory with \
         --out", path.display()
    )]
    Held {
        /// The path of the store.
        path: PathBuf,
        /// The words for the process that came first.
        holder: String,
    },
    /// There is no store where one should be read.
    #[error(
        "{shown} holds no results: {store} does not exist\nhint: `chorus reproduce --out {shown}` makes some",
        shown = results.display(),
        store = path.display()
    )]
    NoResults {
        /// The directory or file that was asked for.
        results: PathBuf,
        /// The path of the store that would be there.
        path: PathBuf,
    },
    /// The file is not a results store.
    #[error("{} is not a Chorus results store: {found}; give another directory, or move that file away", path.display())]
    NotAStore {
        /// The path of the file.
        path: PathBuf,
        /// The kind of file that was found.
        found: String,
    },
    /// The file is a results store of another format version.
    #[error(
        "{} is a results store of format {found}; this version of Chorus accepts format {FORMAT_VERSION}; give another \
         directory, move that file away, or use the version that wrote it",
        path.display()
    )]
    OtherFormat {
        /// The path of the file.
        path: PathBuf,
        /// The format version of the file.
        found: i64,
    },
    /// SQLite failed in use, because of a file that somebody else changed, for example.
    #[error("results store {}: {source}", path.display())]
    Database {
        /// The path of the file.
        path: PathBuf,
        /// The error that SQLite reports.
        source: rusqlite::Error,
    },
    /// This build cannot read a row of the file, although the format version is right.
    #[error("results store {}: the run {key} is damaged: {reason}; move that file away", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The key of the run.
        key: String,
        /// The defect of the row.
        reason: String,
    },
}

impl StoreError {
    /// Whether a person or another process can end this trouble, so that it is worth while to try again.
    pub fn may_pass(&self) -> bool {
        matches!(self, StoreError::Full { .. } | StoreError::Busy { .. })
    }
}

/// Translates an error of SQLite for the person who named the file.
pub(super) fn classify(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    let extended = source.sqlite_error().map(|error| error.extended_code);
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            StoreError::NotAStore { path, found: "it is not an SQLite database".to_owned() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::SystemIoFailure) if extended == Some(WRITE_REFUSED) => StoreError::Full { path },
        Some(ErrorCode::DatabaseBusy) => StoreError::Busy { path },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::Unwritable { path, reason: source.to_string().to_lowercase() }
        }
        _ => StoreError::Database { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_that_passes_is_told_from_trouble_that_stays() {
        use rusqlite::ffi;
        let classified = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            classify(Path::new("results.sqlite"), error)
        };
        let passing = [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_BUSY, ffi::SQLITE_BUSY_RECOVERY];
        for error in passing.map(classified) {
            assert!(error.may_pass(), "{error}");
        }
        for error in [ffi::SQLITE_IOERR_READ, ffi::SQLITE_CORRUPT, ffi::SQLITE_READONLY].map(classified) {
            assert!(!error.may_pass(), "{error}");
        }
        let message = classified(ffi::SQLITE_BUSY).to_string();
        assert!(message.contains("another process has kept it locked for 60 s"), "{message}");
    }
}
