//! Many runs on all cores, each kept as soon as it is finished.
//!
//! A run that the store already has for this build is not repeated. A run that fails is kept with its message and stops nothing.
//! When cancelled, no further run starts; those in flight end or are given up by the runner, and what is finished is kept.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use chorus_registry::Registry;
use rayon::ThreadPoolBuilder;

use crate::progress::Progress;
use crate::run::{Build, Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec, Runner};
use crate::setup::{self, SetupError};
use crate::store::{Store, StoreError};

/// Why a matrix could not be run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// A run asks for a machine or a parameter that cannot exist.
    #[error("{spec}: {source}")]
    Setup {
        /// The run.
        spec: Box<RunSpec>,
        /// What is wrong with its system, protocol or overrides.
        source: Box<SetupError>,
    },
    /// The results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The threads cannot be started.
    #[error("cannot start {jobs} threads: {reason}")]
    Threads {
        /// How many were asked for.
        jobs: usize,
        /// Why.
        reason: String,
    },
}

/// What runs are made with.
#[derive(Clone, Copy)]
pub struct Lab<'a> {
    /// Everything that can be named.
    pub registry: &'a Registry,
    /// Where finished runs are kept.
    pub store: &'a Store,
    /// Makes one run.
    pub runner: &'a Runner<'a>,
    /// Which Chorus this is.
    pub build: &'a Build,
    /// Runs at the same time; 0 for as many as there are cores.
    pub jobs: usize,
    /// Set from outside to stop early.
    pub cancel: &'a AtomicBool,
    /// Who is told.
    pub progress: &'a dyn Progress,
}

/// The runs of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixResult {
    /// What became of each run, in the order asked for, without repetition; after cancellation only of some.
    pub records: Vec<Record>,
    /// Runs that were made now.
    pub ran: usize,
    /// Runs that the store already had.
    pub reused: usize,
    /// Whether it was stopped early.
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

impl Lab<'_> {
    /// Makes every run that is not in the store yet.
    pub fn run_all(&self, specs: &[RunSpec]) -> Result<MatrixResult, MatrixError> {
        let planned = self.plan(specs)?;
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

    /// Resolves every run before the first one starts, so that a mistake is found at once, and looks up what is there.
    fn plan(&self, specs: &[RunSpec]) -> Result<Vec<Planned>, MatrixError> {
        let mut seen = BTreeSet::new();
        let mut planned = Vec::new();
        for spec in specs.iter().filter(|spec| seen.insert(*spec)) {
            let config_hash = setup::resolve(self.registry, spec)
                .map_err(|source| MatrixError::Setup { spec: Box::new(spec.clone()), source: Box::new(source) })?
                .config_hash;
            let found = self.store.find(spec, &config_hash, self.build)?.filter(is_settled);
            planned.push(Planned { spec: spec.clone(), config_hash, record: Mutex::new(found) });
        }
        Ok(planned)
    }

    /// Runs on all threads, in order of the list; returns how many were kept.
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

    /// Makes one run and keeps it; false where it was given up because of cancellation.
    fn run_one(&self, planned: &Planned) -> Result<bool, StoreError> {
        self.progress.started(&planned.spec);
        let outcome = match self.guarded(planned) {
            Ok(result) => Outcome::Finished(Box::new(result)),
            // The runner may have given up because of the cancellation: that says nothing about the run.
            Err(_) if self.cancel.load(Ordering::Relaxed) => return Ok(false),
            Err(error) => Outcome::Failed(error),
        };
        let record = Record {
            spec: planned.spec.clone(),
            config_hash: planned.config_hash.clone(),
            build: self.build.clone(),
            outcome,
        };
        self.store.insert(&record)?;
        match &record.outcome {
            Outcome::Finished(result) => self.progress.finished(result),
            Outcome::Failed(error) => self.progress.failed(&planned.spec, error),
        }
        planned.keep(record);
        Ok(true)
    }

    /// The runner, with a panic, an unsound number or another configuration turned into failures of that run alone.
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

/// Whether a record stands. A defect of Chorus is worth another try; all else is deterministic.
fn is_settled(record: &Record) -> bool {
    !matches!(&record.outcome, Outcome::Failed(RunError { kind: RunErrorKind::Defect, .. }))
}
