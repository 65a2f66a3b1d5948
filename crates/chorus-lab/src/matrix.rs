//! Many runs on all cores. Each run is kept as soon as it is finished.
//!
//! A run that the store already has for this build is not repeated. A run that fails is kept with its message, and the
//! other runs go on. After cancellation no further run starts. The runs under way end or are given up by the runner,
//! and all finished runs are kept.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chorus_registry::Registry;
use rayon::ThreadPoolBuilder;

use crate::progress::Progress;
use crate::run::{Build, Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec, Runner};
use crate::setup::{self, SetupError};
use crate::store::{Store, StoreError};

/// The pause between two tries to write to a store that cannot be written for the moment.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// The reason why a matrix could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// A run asks for a machine or a parameter that cannot exist.
    #[error("{spec}: {source}")]
    Setup {
        /// The run that cannot be set up.
        spec: Box<RunSpec>,
        /// The error about its system, protocol, workload or overrides.
        source: Box<SetupError>,
    },
    /// The results store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The threads cannot be started.
    #[error("cannot start {jobs} threads: {reason}")]
    Threads {
        /// The number of threads that were asked for.
        jobs: usize,
        /// The reason why they cannot be started.
        reason: String,
    },
}

/// Everything that is needed to make runs.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// Everything that can be named: protocols, systems and workloads.
    pub registry: &'a Registry,
    /// The store that keeps finished runs.
    pub store: &'a Store,
    /// The function that makes one run.
    pub runner: &'a Runner<'a>,
    /// The build of Chorus that makes the runs.
    pub build: &'a Build,
    /// The number of runs at the same time; 0 means one for each core.
    pub jobs: usize,
    /// The caller sets this flag to stop early.
    pub cancel: &'a AtomicBool,
    /// The display of progress.
    pub progress: &'a dyn Progress,
}

/// The results of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixResult {
    /// The record of each run, in the order asked for and without repetition. After cancellation some are missing.
    pub records: Vec<Record>,
    /// The number of runs that were made now.
    pub ran: usize,
    /// The number of runs that the store already had.
    pub reused: usize,
    /// Whether the matrix was stopped early.
    pub cancelled: bool,
}

/// A run and the hash of the configuration that it resolves to.
struct Planned {
    spec: RunSpec,
    config_hash: String,
    record: Mutex<Option<Record>>,
}

impl Planned {
    fn keep(&self, record: Record) {
        *self.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(record);
    }

    fn is_open(&self) -> bool {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

/// Resolves every run before the first one starts, so that a mistake is found at once. Looks up which runs the store
/// has.
fn plan(registry: &Registry, store: &Store, build: &Build, specs: &[RunSpec]) -> Result<Vec<Planned>, MatrixError> {
    let mut seen = BTreeSet::new();
    let mut planned = Vec::new();
    for spec in specs.iter().filter(|spec| seen.insert(*spec)) {
        let config_hash = setup::resolve(registry, spec)
            .map_err(|source| MatrixError::Setup { spec: Box::new(spec.clone()), source: Box::new(source) })?
            .config_hash;
        let found = store.find(spec, &config_hash, build)?.filter(Record::is_settled);
        planned.push(Planned { spec: spec.clone(), config_hash, record: Mutex::new(found) });
    }
    Ok(planned)
}

/// The runs that a store does not have, each with the hash of its configuration.
pub fn missing(
    registry: &Registry,
    store: &Store,
    build: &Build,
    specs: &[RunSpec],
) -> Result<Vec<(RunSpec, String)>, MatrixError> {
    let planned = plan(registry, store, build, specs)?.into_iter().filter(Planned::is_open);
    Ok(planned.map(|planned| (planned.spec, planned.config_hash)).collect())
}

impl Lab<'_> {
    /// Makes every run that the store does not have yet.
    pub fn run_all(&self, specs: &[RunSpec]) -> Result<MatrixResult, MatrixError> {
        let planned = plan(self.registry, self.store, self.build, specs)?;
        let open: Vec<&Planned> = planned.iter().filter(|planned| planned.is_open()).collect();
        let reused = planned.len() - open.len();
        self.progress.begin(planned.len(), reused);
        let ran = self.run_open(&open)?;
        let cancelled = self.cancel.load(Ordering::Relaxed) && ran < open.len();
        self.progress.end(cancelled);
        let records = planned
            .into_iter()
            .filter_map(|planned| planned.record.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        Ok(MatrixResult { records, ran, reused, cancelled })
    }

    /// Makes the runs on all threads, in the order of the list. Returns the number of runs that were kept.
    fn run_open(&self, open: &[&Planned]) -> Result<usize, MatrixError> {
        if open.is_empty() {
            return Ok(0);
        }
        let threads = |error: rayon::ThreadPoolBuildError| MatrixError::Threads {
            jobs: self.jobs,
            reason: error.to_string().to_lowercase(),
        };
        let pool = ThreadPoolBuilder::new().num_threads(self.jobs).build().map_err(threads)?;
        let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let store_error: Mutex<Option<StoreError>> = Mutex::new(None);
        let store_failed = AtomicBool::new(false);
        pool.broadcast(|_| {
            while !self.cancel.load(Ordering::Relaxed) && !store_failed.load(Ordering::Relaxed) {
                let Some(planned) = open.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                match self.run_one(planned) {
                    Ok(true) => {
                        kept.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(false) => {}
                    Err(error) => {
                        store_failed.store(true, Ordering::Relaxed);
                        *store_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            }
        });
        match store_error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error.into()),
            None => Ok(kept.into_inner()),
        }
    }

    /// Makes one run and keeps it. Returns false if the run was given up because of cancellation.
    fn run_one(&self, planned: &Planned) -> Result<bool, StoreError> {
        self.progress.started(&planned.spec);
        let outcome = match self.guarded(planned) {
            Ok(result) => Outcome::Finished(Box::new(result)),
            // The runner may have given up because of the cancellation. Such an error says nothing about the run.
            Err(_) if self.cancel.load(Ordering::Relaxed) => return Ok(false),
            Err(error) => Outcome::Failed(error),
        };
        let record = Record {
            spec: planned.spec.clone(),
            config_hash: planned.config_hash.clone(),
            build: self.build.clone(),
            outcome,
        };
        self.keep(&record)?;
        match &record.outcome {
            Outcome::Finished(result) => self.progress.finished(result),
            Outcome::Failed(error) => self.progress.failed(&planned.spec, error),
        }
        planned.keep(record);
        Ok(true)
    }

    /// Writes a record. A full disk and a store that is locked are trouble that passes, and the run may have taken
    /// hours. So it waits until the store can be written.
    fn keep(&self, record: &Record) -> Result<(), StoreError> {
        let mut is_told = false;
        loop {
            match self.store.insert(record) {
                Err(error) if error.may_pass() => {
                    if !is_told {
                        self.progress.waits(&record.spec, &error);
                        is_told = true;
                    }
                    std::thread::sleep(RETRY_PAUSE);
                }
                kept => return kept,
            }
        }
    }

    /// Calls the runner. A panic, an unsound number or an unexpected configuration becomes a failure of this run alone.
    fn guarded(&self, planned: &Planned) -> Result<RunResult, RunError> {
        let defect = |message: String| RunError::new(RunErrorKind::Defect, message);
        let result = catch_unwind(AssertUnwindSafe(|| (self.runner)(&planned.spec))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(defect(format!("Chorus itself failed: {text}")))
        })?;
        if let Some(name) = result.unsound_number() {
            return Err(defect(format!("Chorus itself failed: {name} is not a finite number")));
        }
        if result.config_hash != planned.config_hash {
            let (ran, asked) = (&result.config_hash, &planned.config_hash);
            return Err(defect(format!("Chorus itself failed: it ran configuration {ran}, not {asked}")));
        }
        Ok(result)
    }
}
