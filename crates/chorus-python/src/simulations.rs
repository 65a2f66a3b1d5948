//! One run, many runs, and where the time of a run goes.

use std::path::PathBuf;
use std::str::FromStr;

use chorus_lab::annotate::Annotate;
use chorus_lab::matrix::Lab;
use chorus_lab::own_graph::GraphFile;
use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::run::{Record, RunError, RunErrorKind, RunSpec};
use chorus_lab::setup;
use chorus_lab::simulate::{Manner, build, simulate_on};
use chorus_lab::store::Store;
use chorus_lab::why::{Selection, why as observed};
use chorus_sim::Watch;
use chorus_system::Scale;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::records::Records;
use crate::registry;
use crate::report::Report;
use crate::work::{Course, perform};

/// The specification of a run, as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Spec {
    system: String,
    protocol: String,
    workload: String,
    set: Vec<String>,
    scale: String,
    seed: u64,
    graph: Option<String>,
    graph_format: Option<String>,
    annotate: String,
}

impl Spec {
    fn resolve(self) -> Result<RunSpec, Failure> {
        let scale = Scale::from_str(&self.scale).map_err(Failure::input)?;
        let annotate = Annotate::from_str(&self.annotate).map_err(Failure::input)?;
        Ok(RunSpec {
            system: self.system,
            protocol: self.protocol,
            workload: self.workload,
            scale,
            seed: self.seed,
            set: self.set,
            graph: self.graph.map(|path| GraphFile { path, format: self.graph_format }),
            annotate,
            observed: false,
        })
    }
}

/// The manner of a run, and the notes that are taken of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Choices {
    allow_incoherent: bool,
    threads: u32,
    every: Option<u64>,
    distributions: bool,
    sharing: bool,
    keep: Option<PathBuf>,
}

/// Makes one run, and keeps it in a store if a directory is given.
#[pyfunction]
#[pyo3(signature = (spec, choices, shown=None))]
pub fn run(py: Python<'_>, spec: Spec, choices: Choices, shown: Option<&Bound<'_, PyAny>>) -> PyResult<Records> {
    let work = move |course: &Course| {
        let spec = spec.resolve()?;
        let setup = setup::resolve(registry(), &spec)?;
        let Choices { allow_incoherent, threads, every, distributions, sharing, keep } = choices;
        // A directory that cannot be written is reported before anything is computed.
        let store = keep.map(|directory| Store::open(&directory.join(STORE_FILE))).transpose()?;
        let watch = Watch {
            progress: Some(&course.run),
            every,
            distributions,
            sharing,
            stop: Some(course.stop),
            ..Watch::default()
        };
        let manner = Manner { allow_incoherent, threads, watch, ..Manner::default() };
        let result = chorus_program::with_printing(true, || simulate_on(&spec, &setup, manner))?;
        let record = Record::of(result);
        if let Some(store) = store {
            store.insert(&record)?;
        }
        Ok(Records(vec![record]))
    };
    perform(py, &Course::new(0), shown, work)
}

/// Makes many runs, some of them at the same time. Those that the store in `keep` has already are not repeated.
#[pyfunction]
#[pyo3(signature = (specs, jobs, keep, allow_incoherent, shown=None))]
pub fn sweep(
    py: Python<'_>,
    specs: Vec<Spec>,
    jobs: usize,
    keep: Option<PathBuf>,
    allow_incoherent: bool,
    shown: Option<&Bound<'_, PyAny>>,
) -> PyResult<Records> {
    let work = move |course: &Course| {
        let specs = specs.into_iter().map(Spec::resolve).collect::<Result<Vec<_>, _>>()?;
        let store = match keep {
            Some(directory) => Store::open(&directory.join(STORE_FILE))?,
            None => Store::in_memory()?,
        };
        let runner = |spec: &RunSpec| {
            let setup = setup::resolve(registry(), spec)
                .map_err(|error| RunError::new(RunErrorKind::BadInput, error.to_string()))?;
            let watch = Watch { stop: Some(course.stop), ..Watch::default() };
            simulate_on(spec, &setup, Manner { allow_incoherent, watch, ..Manner::default() })
        };
        let lab = Lab {
            registry: registry(),
            store: &store,
            runner: &runner,
            build: &build(),
            jobs,
            cancel: course.stop,
            progress: course,
        };
        Ok(Records(lab.run_all(&specs)?.records))
    };
    perform(py, &Course::new(1), shown, work)
}

/// The accesses that somebody asks for, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Accesses {
    slowest: usize,
    load: Option<u64>,
    line: Option<u64>,
    wave: Option<(u16, u16)>,
    aggregate: bool,
    allow_incoherent: bool,
}

/// Says where the time of accesses went, in one run or in several.
#[pyfunction]
#[pyo3(signature = (specs, accesses, shown=None))]
pub fn why(py: Python<'_>, specs: Vec<Spec>, accesses: Accesses, shown: Option<&Bound<'_, PyAny>>) -> PyResult<Report> {
    let course = Course::new(if specs.len() == 1 { 0 } else { specs.len() });
    let work = move |course: &Course| {
        let Accesses { slowest, load, line, wave, aggregate, allow_incoherent } = accesses;
        let selection = Selection { number: load, address: line, wave, slowest };
        let mut runs = Vec::new();
        for spec in specs {
            let spec = spec.resolve()?;
            let setup = setup::resolve(registry(), &spec)?;
            chorus_proof::Steps::begin(course, &spec.to_string());
            let watch = Watch { progress: Some(&course.run), stop: Some(course.stop), ..Watch::default() };
            let manner = Manner { allow_incoherent, watch, ..Manner::default() };
            let told = chorus_program::with_printing(true, || observed(&spec, &setup, manner, selection))?;
            chorus_proof::Steps::finish(course, "");
            runs.push(if aggregate { told.stacks_to_json() } else { told.chains_to_json() });
        }
        let (layers, chains) = (layers(&runs), accesses_of(&runs));
        Ok(Report(json!({ "schema_version": 1, "runs": runs, "layers": layers, "accesses": chains })))
    };
    perform(py, &course, shown, work)
}

/// A row for each cause of each purpose: of the whole run, of each kernel and of each buffer.
fn layers(runs: &[Value]) -> Vec<Value> {
    let mut rows = Vec::new();
    for run in runs {
        let cycle = run["ticks_per_cycle"].as_f64().unwrap_or(1.0);
        for stack in run["stacks"].as_array().into_iter().flatten() {
            let mut add = |sum: &Value, kernel: Option<&str>, buffer: Option<&str>| {
                for (cause, time) in sum["layers"].as_object().into_iter().flatten() {
                    let cycles = |key: &str| time[key].as_f64().unwrap_or_default() / cycle;
                    rows.push(json!({
                        "run": run["run"],
                        "purpose": stack["purpose"],
                        "kernel": kernel,
                        "buffer": buffer,
                        "cause": cause,
                        "accesses": sum["accesses"],
                        "cycles": cycles("ticks"),
                        "cycles_for_others": cycles("for_others"),
                    }));
                }
            };
            add(stack, None, None);
            let split = |key: &str| stack[key].as_object().into_iter().flatten();
            split("by_kernel").for_each(|(name, sum)| add(sum, Some(name), None));
            split("by_buffer").for_each(|(name, sum)| add(sum, None, Some(name)));
        }
    }
    rows
}

/// A row for each interval of each access that was asked for.
fn accesses_of(runs: &[Value]) -> Vec<Value> {
    let mut rows = Vec::new();
    for run in runs {
        for access in run["accesses"].as_array().into_iter().flatten() {
            for interval in access["intervals"].as_array().into_iter().flatten() {
                let mut row = access.clone();
                if let (Some(row), Some(interval)) = (row.as_object_mut(), interval.as_object()) {
                    row.remove("intervals");
                    row.insert("run".to_owned(), run["run"].clone());
                    row.extend(interval.clone());
                }
                rows.push(row);
            }
        }
    }
    rows
}
