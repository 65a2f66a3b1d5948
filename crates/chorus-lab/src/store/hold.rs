//! The hold on a store: one process at a time makes runs for it.
//!
//! Writing needs no hold, since each write is one transaction. But two processes that make runs for one store would
//! make the same runs. The operating system ends a hold with its process, however that ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;

use super::{Store, StoreError};
use crate::process::Process;

/// The right of this process to make runs for a store, until it is dropped.
#[derive(Debug)]
pub struct Hold {
    /// The lock on this file is the hold. Its text says who has it.
    _file: File,
}

impl Store {
    /// Takes the hold on this store. If another process has it, the error says which.
    pub fn hold(&self) -> Result<Hold, StoreError> {
        let mut path = self.path.clone().into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        let unwritable =
            |error: io::Error| StoreError::Unwritable { path: path.clone(), reason: error.to_string().to_lowercase() };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(unwritable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Held { path: self.path.clone(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unwritable(error)),
        }
        let text = serde_json::json!(Process::this()).to_string();
        file.set_len(0).and_then(|()| file.write_all(text.as_bytes())).map_err(unwritable)?;
        Ok(Hold { _file: file })
    }
}

/// The words for the process that has the lock. It may not have written them yet.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    let process = read.ok().and_then(|_| serde_json::from_str::<Process>(&text).ok());
    process.map_or_else(|| "another process".to_owned(), |process| process.to_string())
}
