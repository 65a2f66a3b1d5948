//! Every protocol that a machine can have with every workload that it can run: one table per machine.
//!
//! Papers compare their protocol with a few others on workloads of their choice. Here everything meets, and what cannot
//! run says why. Runs are those of [`reproduce`](crate::reproduce), in the same store, so neither repeats what the
//! other has made. They are made in blocks, of which only the numbers of the tables are kept in memory. With a deadline
//! no run starts after it, and the tables show what there is.

mod data;
mod page;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;
use chorus_system::Scale;

use crate::annotate::Annotate;
use crate::dashboard::IndexEntry;
use crate::jobs;
use crate::matrix::{Lab, MatrixError};
use crate::progress::Progress;
use crate::report::{self, ReportError};
use crate::reproduce::{STORE_FILE, write_index};
use crate::run::{Build, CheckResult, Outcome, Record, RunError, RunErrorKind, RunResult, RunSpec, Runner};
use crate::setup::{self, Setup, SetupError};
use crate::simulate::{refusal, try_machine};
use crate::store::{Store, StoreError};

pub use data::CSV_FILE;
pub use tables::{Average, Cell, MachineTable, Measured, Quantity, Row};

/// The file name of the page.
pub const PAGE_FILE: &str = "comparison.html";

/// The title of the page.
pub const TITLE: &str = "Every protocol with every workload";

/// Runs that are planned and kept in memory at the same time.
const BLOCK: usize = 256;

/// The machines, protocols and workloads that are compared.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The machines, one table each.
    pub systems: Vec<String>,
    /// The protocols, in the order of the columns.
    pub protocols: Vec<String>,
    /// The workloads, in the order of the rows.
    pub workloads: Vec<String>,
    /// The protocol with which a machine's others are compared, where somebody has chosen it. Otherwise it is the first
    /// one that the machine can have.
    pub baselines: BTreeMap<String, String>,
    /// The size of machines and inputs.
    pub scale: Scale,
}

/// The selection of a comparison, and the means to make it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The machines, protocols and workloads that are compared.
    pub selection: &'a Selection,
    /// Everything that can be named.
    pub registry: &'a Registry,
    /// Where the store and the page go.
    pub out: &'a Path,
    /// Runs at the same time; 0 for as many as there are cores.
    pub jobs: usize,
    /// The function that makes one run.
    pub runner: &'a Runner<'a>,
    /// The version and revision of this Chorus.
    pub build: &'a Build,
    /// Set from outside to stop early, and by the deadline.
    pub cancel: &'a AtomicBool,
    /// No run starts after this.
    pub deadline: Option<Instant>,
    /// The listener that is told about the progress of runs.
    pub progress: &'a dyn Progress,
    /// The date that the page carries.
    pub date: &'a str,
}

/// Why a comparison could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A machine that cannot exist.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The runs could not be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The results cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The page cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// The outcome of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The size of machines and inputs.
    pub scale: Scale,
    /// The tables, one per machine.
    pub tables: Vec<MachineTable>,
    /// Runs that were made now.
    pub ran: usize,
    /// Runs that the store already had.
    pub reused: usize,
    /// Runs that are still to be made.
    pub open: usize,
    /// The path of the results store.
    pub store: PathBuf,
    /// The path of the page.
    pub page: PathBuf,
    /// The path of the CSV file, which has the data of the page for other tools.
    pub csv: PathBuf,
    /// The path of the list of pages.
    pub index: PathBuf,
}

/// A machine with the protocols that it can have.
struct Candidates<'a> {
    registry: &'a Registry,
    system: String,
    setups: Vec<(String, Setup)>,
    refused: Vec<(String, String)>,
}

/// The outcome of each run, without the metrics that no table shows.
type Outcomes = BTreeMap<RunSpec, Result<Measured, RunError>>;

/// Makes the runs that are not there yet, as far as time allows, and the page.
pub fn compare(request: &Request<'_>) -> Result<Comparison, CompareError> {
    let store = Store::open(&request.out.join(STORE_FILE))?;
    let _hold = store.hold()?;
    let selection = request.selection;
    let machines = selection
        .systems
        .iter()
        .map(|system| candidates(request.registry, system, selection))
        .collect::<Result<Vec<_>, _>>()?;
    let specs = in_turn(&machines, selection);
    let mut outcomes = Outcomes::new();
    let (ran, reused) = make_runs(request, &store, &machines, &specs, &mut outcomes)?;
    let tables = machines.iter().map(|machine| machine.table(selection, &outcomes)).collect();
    let comparison = Comparison {
        scale: selection.scale,
        tables,
        ran,
        reused,
        open: specs.len() - outcomes.len(),
        store: store.path().to_owned(),
        page: request.out.join(PAGE_FILE),
        csv: request.out.join(CSV_FILE),
        index: PathBuf::new(),
    };
    report::write(request.out, PAGE_FILE, &page::render(&comparison, request.build, request.date))?;
    report::write(request.out, CSV_FILE, &data::csv(&comparison))?;
    let entry = IndexEntry {
        file: PAGE_FILE.to_owned(),
        title: TITLE.to_owned(),
        summary: comparison.summary(),
        ..IndexEntry::default()
    };
    let index = write_index(request.registry, vec![entry], request.out, request.date)?;
    Ok(Comparison { index, ..comparison })
}

impl Comparison {
    /// Runs that went wrong: a wrong result, a program without progress, a defect.
    pub fn troubled(&self) -> Vec<(&MachineTable, &str, &str, &RunError)> {
        let mut troubled = Vec::new();
        for table in &self.tables {
            for row in &table.rows {
                for (protocol, cell) in table.protocols.iter().zip(&row.cells) {
                    if let Cell::Cannot(error) = cell
                        && !matches!(error.kind, RunErrorKind::Refused | RunErrorKind::BadInput)
                    {
                        troubled.push((table, protocol.as_str(), row.workload.as_str(), error));
                    }
                }
            }
        }
        troubled
    }

    /// Cells that have a number.
    pub fn measured(&self) -> usize {
        let cells = self.tables.iter().flat_map(|table| table.rows.iter().flat_map(|row| &row.cells));
        cells.filter(|cell| matches!(cell, Cell::Measured(_))).count()
    }

    /// One line about the page.
    pub fn summary(&self) -> String {
        let systems: Vec<&str> = self.tables.iter().map(|table| table.system.as_str()).collect();
        let open = if self.open > 0 { format!(", {} runs still open", self.open) } else { String::new() };
        format!("{} runs at {} scale on {}{open}", self.measured(), self.scale, systems.join(", "))
    }
}

fn spec(system: &str, protocol: &str, workload: &str, scale: Scale) -> RunSpec {
    RunSpec {
        system: system.to_owned(),
        protocol: protocol.to_owned(),
        workload: workload.to_owned(),
        scale,
        seed: 1,
        set: Vec::new(),
        graph: None,
        annotate: Annotate::Hand,
        observed: false,
    }
}

/// Builds a machine with every protocol, which shows those that it cannot have.
fn candidates<'a>(registry: &'a Registry, system: &str, selection: &Selection) -> Result<Candidates<'a>, SetupError> {
    let (mut setups, mut refused) = (Vec::new(), Vec::new());
    for protocol in &selection.protocols {
        let setup = setup::resolve_idle(registry, &spec(system, protocol, "", selection.scale))?;
        match try_machine(&setup) {
            Ok(()) => setups.push((protocol.clone(), setup)),
            Err(error) => refused.push((protocol.clone(), first_line(&error.message).to_owned())),
        }
    }
    Ok(Candidates { registry, system: system.to_owned(), setups, refused })
}

/// A message without its hints.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

/// The runs, a row of each machine in turn: whenever they end, all tables have grown alike.
fn in_turn(machines: &[Candidates<'_>], selection: &Selection) -> Vec<RunSpec> {
    let mut specs = Vec::new();
    for workload in &selection.workloads {
        for machine in machines {
            let runnable = machine
                .setups
                .iter()
                .filter(|(_, setup)| machine.refusal(setup.protocol, workload, selection.scale).is_none());
            specs.extend(runnable.map(|(protocol, _)| spec(&machine.system, protocol, workload, selection.scale)));
        }
    }
    specs
}

/// Makes the runs block by block; returns how many were made now and how many were there.
fn make_runs(
    request: &Request<'_>,
    store: &Store,
    machines: &[Candidates<'_>],
    specs: &[RunSpec],
    outcomes: &mut Outcomes,
) -> Result<(usize, usize), CompareError> {
    let mut known = 0;
    for spec in specs {
        let setups =
            machines.iter().filter(|machine| machine.system == spec.system).flat_map(|machine| &machine.setups);
        if let Some((_, setup)) = setups.into_iter().find(|(protocol, _)| *protocol == spec.protocol) {
            known += usize::from(store.has(spec, &setup.config_hash, request.build)?);
        }
    }
    request.progress.begin(specs.len(), known);
    let watch = Watch { shown: request.progress, deadline: request.deadline, cancel: request.cancel };
    watch.look();
    let lab = Lab {
        registry: request.registry,
        store,
        runner: request.runner,
        build: request.build,
        jobs: request.jobs,
        cancel: request.cancel,
        progress: &watch,
    };
    let (mut ran, mut reused) = (0, 0);
    for block in specs.chunks(BLOCK) {
        let made = lab.run_all(block)?;
        ran += made.ran;
        reused += made.reused;
        outcomes.extend(made.records.into_iter().map(|record| (record.spec.clone(), outcome(&record))));
    }
    request.progress.end(request.cancel.load(Ordering::Relaxed));
    Ok((ran, reused))
}

fn outcome(record: &Record) -> Result<Measured, RunError> {
    match &record.outcome {
        Outcome::Failed(error) => Err(error.clone()),
        Outcome::Finished(result) => match &result.result {
            CheckResult::Fail(message) => {
                Err(RunError::new(RunErrorKind::Defect, format!("wrong result: {}", first_line(message))))
            }
            CheckResult::Pass | CheckResult::Unchecked => Ok(Measured::of(result)),
        },
    }
}

impl Candidates<'_> {
    /// Why a protocol does not run a workload on this machine.
    fn refusal(&self, protocol: &dyn Protocol, workload: &str, scale: Scale) -> Option<RunError> {
        let jobs = jobs::parse(self.registry, workload, scale).ok()?;
        refusal(protocol, &jobs)
    }

    fn table(&self, selection: &Selection, outcomes: &Outcomes) -> MachineTable {
        let cell = |protocol: &str, setup: &Setup, workload: &str| match self.refusal(
            setup.protocol,
            workload,
            selection.scale,
        ) {
            Some(error) => Cell::Cannot(error),
            None => match outcomes.get(&spec(&self.system, protocol, workload, selection.scale)) {
                None => Cell::NotRun,
                Some(Ok(measured)) => Cell::Measured(measured.clone()),
                Some(Err(error)) => Cell::Cannot(error.clone()),
            },
        };
        let row = |workload: &String| Row {
            workload: workload.clone(),
            cells: self.setups.iter().map(|(protocol, setup)| cell(protocol, setup, workload)).collect(),
        };
        let protocols: Vec<String> = self.setups.iter().map(|(protocol, _)| protocol.clone()).collect();
        let chosen = selection.baselines.get(&self.system).filter(|baseline| protocols.contains(baseline));
        MachineTable {
            system: self.system.clone(),
            title: self.setups.first().map_or_else(String::new, |(_, setup)| setup.system.config.title.clone()),
            baseline: chosen.or(protocols.first()).cloned().unwrap_or_default(),
            protocols,
            refused: self.refused.clone(),
            rows: selection.workloads.iter().map(row).collect(),
        }
    }
}

/// Stops at the deadline, and tells of blocks as of one matrix.
struct Watch<'a> {
    shown: &'a dyn Progress,
    deadline: Option<Instant>,
    cancel: &'a AtomicBool,
}

impl Watch<'_> {
    fn look(&self) {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}

impl Progress for Watch<'_> {
    fn begin(&self, _total: usize, _reused: usize) {}

    fn started(&self, spec: &RunSpec) {
        self.shown.started(spec);
    }

    fn finished(&self, result: &RunResult) {
        self.shown.finished(result);
        self.look();
    }

    fn failed(&self, spec: &RunSpec, error: &RunError) {
        self.shown.failed(spec, error);
        self.look();
    }

    fn waits(&self, spec: &RunSpec, error: &StoreError) {
        self.shown.waits(spec, error);
    }

    fn end(&self, _cancelled: bool) {}
}
