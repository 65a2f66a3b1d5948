//! Checkpoints of runs, in files.
//!
//! A file begins with a mark and the version of the format. A head follows, which says what wrote it and of which run,
//! then the state of the machine, and at the end the SHA-256 of everything before. A new checkpoint is written beside
//! the old one and takes its place when it is on disk. So the last good one stays, whatever happens meanwhile.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use chorus_protocol::save::{self, Reader, Save};
use chorus_registry::Registry;
use chorus_sim::{Checkpoints, Watch};
use sha2::{Digest, Sha256};

use crate::run::{Build, RunError, RunErrorKind, RunResult, RunSpec};
use crate::setup::{self, Setup};
use crate::simulate::{Manner, Stopwatches, build, simulate_on};

/// The beginning of every file.
const MARK: &[u8] = b"chorus checkpoint\n";
/// The version of the format.
const VERSION: u32 = 1;
/// The bytes of a SHA-256.
const CHECKSUM_BYTES: usize = 32;
/// The bytes of the executable's SHA-256 that name a build.
const BUILD_BYTES: usize = 8;

/// The reason why a run cannot go on from a checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The file cannot be read.
    #[error("cannot read the checkpoint {path}: {source}", path = path.display())]
    Unreadable {
        /// The file of `--resume`.
        path: PathBuf,
        /// The answer of the file system.
        source: io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a checkpoint: it does not begin as one", path = path.display())]
    Foreign {
        /// The file of `--resume`.
        path: PathBuf,
    },
    /// The file has another format.
    #[error("the checkpoint {path} has format {found}, and this Chorus reads format {VERSION}", path = path.display())]
    Format {
        /// The file of `--resume`.
        path: PathBuf,
        /// The version of its format.
        found: u32,
    },
    /// The file is not as it was written.
    #[error("the checkpoint {path} is damaged or cut short: its checksum does not fit", path = path.display())]
    Damaged {
        /// The file of `--resume`.
        path: PathBuf,
    },
    /// Another build wrote the file.
    #[error(
        "another build wrote the checkpoint {path}: {found}; this is {here}\n\
         hint: only the build that wrote a checkpoint can go on from it",
        path = path.display()
    )]
    OtherBuild {
        /// The file of `--resume`.
        path: PathBuf,
        /// The build that wrote it.
        found: String,
        /// The build that was to read it.
        here: String,
    },
    /// The file is of another run.
    #[error(
        "the checkpoint {path} is of another run:\n  {found}\nand this one is\n  {here}\n\
         hint: give the options of the first command again, besides --resume",
        path = path.display()
    )]
    OtherRun {
        /// The file of `--resume`.
        path: PathBuf,
        /// The command of the run.
        found: String,
        /// The command of this run.
        here: String,
    },
    /// Another configuration has become the meaning of the command.
    #[error(
        "the checkpoint {path} is of configuration {found}, and the same command now means configuration {here}\n\
         hint: a file that the command names has changed: a system, a program, a graph or a trace",
        path = path.display()
    )]
    OtherConfiguration {
        /// The file of `--resume`.
        path: PathBuf,
        /// The hash of the configuration.
        found: String,
        /// The hash of the configuration of this run.
        here: String,
    },
}

/// The head of a file: its build and its run.
#[derive(Clone, Debug, PartialEq, Save)]
struct Head {
    build: String,
    command: String,
    config_hash: String,
    /// The time that the run had taken, and the processor time.
    wall_s: f64,
    user_s: f64,
}

impl Head {
    /// The head of a run that has just begun.
    fn of(spec: &RunSpec, setup: &Setup, manner: &Manner<'_>) -> Head {
        let (build, config_hash) = (build_name().to_owned(), setup.config_hash.clone());
        Head { build, command: command(spec, manner), config_hash, wall_s: 0.0, user_s: 0.0 }
    }
}

/// The command of a run with the options that its checkpoints depend on, beside those that decide its result.
fn command(spec: &RunSpec, manner: &Manner<'_>) -> String {
    let Watch { every, distributions, sharing, .. } = manner.watch;
    let mut command = spec.command();
    if manner.threads > 1 {
        command.push_str(&format!(" --threads {}", manner.threads));
    }
    manner.window.iter().for_each(|window| command.push_str(&format!(" --window {window}")));
    every.iter().for_each(|every| command.push_str(&format!(" --every {every}")));
    [(distributions, " --distributions"), (sharing, " --sharing")]
        .into_iter()
        .filter(|(is_given, _)| *is_given)
        .for_each(|(_, option)| command.push_str(option));
    command
}

/// The name of this build. The bytes of a state depend on the code that writes them, so the executable is part of it.
fn build_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let Build { chorus_version, git_revision } = build();
        let executable = std::env::current_exe().and_then(fs::read).map(|bytes| hex(&Sha256::digest(bytes)));
        let executable = executable.unwrap_or_else(|_| "unknown".to_owned());
        format!("version {chorus_version}, revision {git_revision}, executable {executable}")
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(BUILD_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The file that becomes the checkpoint when it is on disk.
fn new_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Fails if no checkpoint can be written to a file, so that this is known before a long run begins.
pub fn try_path(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let new = new_path(path);
    File::create(&new)?;
    fs::remove_file(&new)
}

/// Writes a checkpoint beside the file and lets it take the place of the file.
fn write(path: &Path, head: &Head, state: &[u8]) -> io::Result<()> {
    let mut start = MARK.to_vec();
    VERSION.save(&mut start);
    head.save(&mut start);
    let mut checksum = Sha256::new();
    checksum.update(&start);
    checksum.update(state);
    let new = new_path(path);
    let parts: [&[u8]; 3] = [&start, state, &checksum.finalize()];
    let written = File::create(&new).and_then(|mut file| {
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&new, path)).inspect_err(|_| {
        // What has been written of it may fill a disk. If it cannot be removed, it does no other harm.
        let _ = fs::remove_file(&new);
    })
}

/// A checkpoint that a run goes on from.
#[derive(Debug)]
pub struct Checkpoint {
    bytes: Vec<u8>,
    head: Head,
    state: std::ops::Range<usize>,
}

impl Checkpoint {
    /// Reads the checkpoint of a run that is to be made in the same manner.
    pub fn open(
        path: &Path,
        spec: &RunSpec,
        setup: &Setup,
        manner: &Manner<'_>,
    ) -> Result<Checkpoint, CheckpointError> {
        let read = |source| CheckpointError::Unreadable { path: path.to_owned(), source };
        let checkpoint = Checkpoint::parse(path, fs::read(path).map_err(read)?)?;
        let (path, found, here) = (path.to_owned(), &checkpoint.head, Head::of(spec, setup, manner));
        if found.build != here.build {
            return Err(CheckpointError::OtherBuild { path, found: found.build.clone(), here: here.build });
        }
        if found.command != here.command {
            return Err(CheckpointError::OtherRun { path, found: found.command.clone(), here: here.command });
        }
        if found.config_hash != here.config_hash {
            let (found, here) = (found.config_hash.clone(), here.config_hash);
            return Err(CheckpointError::OtherConfiguration { path, found, here });
        }
        Ok(checkpoint)
    }

    fn parse(path: &Path, bytes: Vec<u8>) -> Result<Checkpoint, CheckpointError> {
        let damaged = || CheckpointError::Damaged { path: path.to_owned() };
        let Some(rest) = bytes.strip_prefix(MARK) else {
            let is_start = MARK.starts_with(&bytes) && !bytes.is_empty();
            return Err(if is_start { damaged() } else { CheckpointError::Foreign { path: path.to_owned() } });
        };
        let mut reader = Reader::new(rest);
        let found = u32::load(&mut reader).map_err(|_| damaged())?;
        if found != VERSION {
            return Err(CheckpointError::Format { path: path.to_owned(), found });
        }
        let end = bytes.len().checked_sub(CHECKSUM_BYTES).ok_or_else(damaged)?;
        if Sha256::digest(&bytes[..end])[..] != bytes[end..] {
            return Err(damaged());
        }
        let head = Head::load(&mut reader).map_err(|_| damaged())?;
        let state = bytes.len() - reader.left()..end;
        Ok(Checkpoint { bytes, head, state })
    }

    /// The state of the machine.
    pub fn state(&self) -> &[u8] {
        &self.bytes[self.state.clone()]
    }

    /// The seconds that the run had taken, and those of processors.
    pub(crate) fn took(&self) -> [f64; 2] {
        [self.head.wall_s, self.head.user_s]
    }
}

/// The fate of a checkpoint that was due.
#[derive(Debug)]
pub enum Kept<'k> {
    /// It is in the file, which has so many bytes of state.
    Written(&'k Path, usize),
    /// It could not be written. The last one is still there, if there was one.
    Failed(&'k Path, io::Error),
}

/// The checkpoints that a run keeps.
#[derive(Clone, Copy)]
pub struct Keeping<'k> {
    /// The file of the last one.
    pub path: &'k Path,
    /// The time between two.
    pub every: Duration,
    /// Asks for one as soon as possible.
    pub at_once: &'k AtomicBool,
    /// Is told of every one.
    pub told: &'k (dyn Fn(Kept<'_>) + Sync),
}

/// Makes a run of a matrix, which goes on from its checkpoint in `folder` if it has one. A checkpoint that does not
/// fit, such as one of another build, is left aside and written anew. That of a run that has ended is removed.
pub fn simulate_kept(
    registry: &Registry,
    spec: &RunSpec,
    folder: &Path,
    every: Duration,
    told: &(dyn Fn(Kept<'_>) + Sync),
) -> Result<RunResult, RunError> {
    let bad_input = |message: String| RunError::new(RunErrorKind::BadInput, message);
    let setup = setup::resolve(registry, spec).map_err(|error| bad_input(error.to_string()))?;
    let name = hex(&Sha256::digest(spec.key(&setup.config_hash)));
    let path = folder.join(format!("{name}.checkpoint"));
    fs::create_dir_all(folder)
        .and_then(|()| try_path(&path))
        .map_err(|error| bad_input(format!("cannot write the checkpoint {}: {error}", path.display())))?;
    let manner = Manner::default();
    let checkpoint = Checkpoint::open(&path, spec, &setup, &manner).ok();
    let keeping = Keeping { path: &path, every, at_once: &AtomicBool::new(false), told };
    let manner = Manner { keeping: Some(keeping), resume: checkpoint.as_ref(), ..manner };
    let result = simulate_on(spec, &setup, manner);
    // A checkpoint that stays does no harm: the run is in the store.
    let _ = fs::remove_file(&path);
    result
}

/// Keeps the checkpoints of one run.
pub(crate) struct Keeper<'k> {
    keeping: Keeping<'k>,
    head: Head,
    watches: &'k Stopwatches,
    last: Mutex<Instant>,
}

impl<'k> Keeper<'k> {
    pub(crate) fn new(
        keeping: Keeping<'k>,
        spec: &RunSpec,
        setup: &Setup,
        manner: &Manner<'_>,
        watches: &'k Stopwatches,
    ) -> Keeper<'k> {
        Keeper { keeping, head: Head::of(spec, setup, manner), watches, last: Mutex::new(Instant::now()) }
    }
}

impl Checkpoints for Keeper<'_> {
    fn are_due(&self) -> bool {
        let since = || self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        self.keeping.at_once.load(Ordering::Relaxed) || since() >= self.keeping.every
    }

    fn keep(&self, state: &[u8]) {
        let Keeping { path, at_once, told, .. } = self.keeping;
        let [wall_s, user_s] = self.watches.elapsed();
        let written = write(path, &Head { wall_s, user_s, ..self.head.clone() }, state);
        told(match written {
            Ok(()) => Kept::Written(path, state.len()),
            Err(error) => Kept::Failed(path, error),
        });
        at_once.store(false, Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        let [build, command, config_hash] = ["a build", "chorus run", "0123"].map(str::to_owned);
        Head { build, command, config_hash, wall_s: 1.5, user_s: 2.5 }
    }

    /// A folder of this test.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("chorus-checkpoint-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_checkpoint_is_read_as_it_was_written_and_refused_with_any_byte_missing_or_changed() {
        let folder = folder("bytes");
        let path = folder.join("run");
        write(&path, &head(), b"the state").unwrap();
        let bytes = fs::read(&path).unwrap();
        let read = Checkpoint::parse(&path, bytes.clone()).unwrap();
        assert_eq!((read.state(), &read.head, read.took()), (&b"the state"[..], &head(), [1.5, 2.5]));
        for end in 0..bytes.len() {
            assert!(Checkpoint::parse(&path, bytes[..end].to_vec()).is_err(), "{end} bytes");
            let mut changed = bytes.clone();
            changed[end] ^= 1;
            assert!(Checkpoint::parse(&path, changed).is_err(), "byte {end}");
        }
        assert!(matches!(Checkpoint::parse(&path, Vec::new()), Err(CheckpointError::Foreign { .. })));
        let mut other = bytes;
        other[MARK.len()] += 1;
        assert!(matches!(Checkpoint::parse(&path, other), Err(CheckpointError::Format { found: 2, .. })));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_checkpoint_that_cannot_be_written_leaves_the_last_one() {
        let folder = folder("kept");
        let path = folder.join("run");
        write(&path, &head(), b"good").unwrap();
        // A directory is in the way of the new file, as a full disk would be.
        fs::create_dir(new_path(&path)).unwrap();
        assert!(write(&path, &head(), b"better").is_err() && try_path(&path).is_err());
        let kept = Checkpoint::parse(&path, fs::read(&path).unwrap()).unwrap();
        assert_eq!(kept.state(), b"good");
        fs::remove_dir_all(folder).unwrap();
    }
}
