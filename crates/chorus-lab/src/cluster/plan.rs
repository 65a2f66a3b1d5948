//! Plans: the missing runs, cut into tasks, in a folder of their own.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use chorus_registry::Registry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{ClusterError, Cut, cut};
use crate::estimate::Costs;
use crate::matrix::missing;
use crate::process::now;
use crate::reproduce::STORE_FILE;
use crate::run::{Build, Record, RunSpec};
use crate::store::{Store, StoreError};

/// The version of the plans that this build reads and writes.
pub const FORMAT_VERSION: u64 = 1;

/// The name of the folder of plans, below that of the results.
pub const PLANS: &str = "plans";

/// The name of a plan's own file.
const PLAN_FILE: &str = "plan.json";

/// The bytes of hashes that are kept: 16 hexadecimal digits.
const HASH_BYTES: usize = 8;

/// A run with the hash of its configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PlannedRun {
    /// The specification of the run.
    pub spec: RunSpec,
    /// The hash of the configuration that it resolves to.
    pub config_hash: String,
}

/// The runs that one process makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The estimated processor time of its runs, in seconds.
    pub seconds: f64,
    /// The runs, the longest one first.
    pub runs: Vec<PlannedRun>,
}

/// The missing runs of a reproduction, cut into tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The version of this description.
    format: u64,
    /// The hash of what was asked for, by which processes that ask for the same find the same plan.
    pub asked: String,
    /// The build of Chorus that makes the runs.
    pub build: Build,
    /// The name of the program that makes the runs, in the folder of plans.
    pub program: String,
    /// The time at which it was planned, in seconds since 1970.
    pub planned_at: u64,
    /// The tasks. The first one has the number 1.
    pub tasks: Vec<Task>,
    /// The folder of the plan.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Everything that decides a plan.
#[derive(Clone, Copy)]
pub struct Planning<'a> {
    /// Everything that can be named.
    pub registry: &'a Registry,
    /// The folder of results, with the store that has some of the runs.
    pub out: &'a Path,
    /// The build of Chorus that makes the runs.
    pub build: &'a Build,
    /// The runs that are asked for.
    pub specs: &'a [RunSpec],
    /// Earlier runs whose costs are known beside those that the store has.
    pub recorded: &'a [Record],
    /// Runs that somebody makes already.
    pub under_way: &'a BTreeSet<PlannedRun>,
    /// The manner in which the runs are cut into tasks.
    pub cut: Cut,
    /// The program that makes the runs.
    pub program: &'a Program,
}

/// The file of a program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file with its code.
    pub path: PathBuf,
    /// The name that it was called by.
    pub name: String,
}

impl Planning<'_> {
    /// The hash of what is asked for. It does not depend on what the store has by now.
    fn asked(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(format!("{FORMAT_VERSION} {:?} {:?}", self.cut, self.build));
        for spec in self.specs {
            // Every part of a specification is in its debug text.
            hash.update(format!("{spec:?}"));
        }
        digits(&hash.finalize())
    }

    /// The tasks with all runs that nobody has made or makes.
    fn tasks(&self) -> Result<Vec<Task>, ClusterError> {
        let store = Store::open(&self.out.join(STORE_FILE))?;
        let costs = Costs::of(self.recorded.iter().cloned().chain(store.records()?));
        let runs = missing(self.registry, &store, self.build, self.specs)?;
        let runs = runs.into_iter().map(|(spec, config_hash)| PlannedRun { spec, config_hash });
        let runs: Vec<PlannedRun> = runs.filter(|run| !self.under_way.contains(run)).collect();
        let known = |run: &PlannedRun| costs.of_run(self.registry, &run.spec).map(|(_, cost)| cost.processor_s);
        let seconds: Vec<Option<f64>> = runs.iter().map(known).collect();
        let parts = cut(&seconds, self.cut).into_iter();
        let runs_of = |positions: Vec<usize>| positions.into_iter().map(|position| runs[position].clone()).collect();
        Ok(parts.map(|part| Task { seconds: part.seconds, runs: runs_of(part.runs) }).collect())
    }

    fn plan(&self, tasks: Vec<Task>, program: String) -> Plan {
        Plan {
            format: FORMAT_VERSION,
            asked: self.asked(),
            build: self.build.clone(),
            program,
            planned_at: now(),
            tasks,
            folder: PathBuf::new(),
        }
    }
}

impl Plan {
    /// Reads the plan in a folder.
    pub fn read(folder: &Path) -> Result<Plan, ClusterError> {
        let path = folder.join(PLAN_FILE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ClusterError::NoPlan(folder.to_owned()));
            }
            text => text.map_err(ClusterError::file("read", &path))?,
        };
        let damaged =
            |reason: serde_json::Error| ClusterError::Damaged { path: path.clone(), reason: reason.to_string() };
        let value: Value = serde_json::from_str(&text).map_err(damaged)?;
        match value["format"].as_u64() {
            Some(FORMAT_VERSION) => {}
            Some(found) => return Err(ClusterError::OtherFormat { path, found }),
            None => return Err(ClusterError::Damaged { path, reason: "it has no `format`".to_owned() }),
        }
        let plan: Plan = serde_json::from_value(value).map_err(damaged)?;
        Ok(Plan { folder: folder.to_owned(), ..plan })
    }

    /// The folder of what its tasks write.
    pub fn tasks_folder(&self) -> PathBuf {
        self.folder.join("tasks")
    }

    /// The path of a file of its tasks.
    pub fn task_file(&self, name: &str) -> PathBuf {
        self.tasks_folder().join(name)
    }

    /// The program that makes its runs.
    pub fn program(&self) -> PathBuf {
        self.folder.with_file_name(&self.program)
    }

    /// The task of a number, from 1 on, if there are as many tasks as the caller believes.
    pub fn task(&self, number: usize, of: usize) -> Result<&Task, ClusterError> {
        let task = number.checked_sub(1).and_then(|index| self.tasks.get(index));
        task.filter(|_| of == self.tasks.len()).ok_or_else(|| ClusterError::NoTask {
            plan: self.folder.clone(),
            task: number,
            of,
            tasks: self.tasks.len(),
        })
    }

    /// The number of its runs that a store does not have.
    pub fn missing(&self, store: &Store) -> Result<usize, StoreError> {
        let mut missing = 0;
        for run in self.tasks.iter().flat_map(|task| &task.runs) {
            missing += usize::from(!store.has(&run.spec, &run.config_hash, &self.build)?);
        }
        Ok(missing)
    }

    /// Removes a plan that nobody is to carry out. What cannot be removed is a plan without a job, and harms nobody.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Refuses to go on with another build than the plan's.
    pub fn expect_build(&self, this: &Build) -> Result<(), ClusterError> {
        match *this == self.build {
            true => Ok(()),
            false => Err(ClusterError::OtherBuild {
                plan: self.folder.clone(),
                expected: Box::new(self.build.clone()),
                this: Box::new(this.clone()),
                program: self.program(),
            }),
        }
    }
}

/// The plans at a path, the oldest one first. It is the folder of a plan, or the folder of results.
pub fn plans(path: &Path) -> Result<Vec<Plan>, ClusterError> {
    if path.join(PLAN_FILE).is_file() {
        return Ok(vec![Plan::read(path)?]);
    }
    let folder = path.join(PLANS);
    let mut numbers: Vec<u64> = Vec::new();
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        numbers.extend(entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    numbers.into_iter().map(|number| Plan::read(&folder.join(number.to_string()))).collect()
}

/// The plans that have runs which the store does not have.
pub fn unfinished<'p>(store: &Store, plans: &'p [Plan]) -> Result<Vec<&'p Plan>, ClusterError> {
    let mut unfinished = Vec::new();
    for plan in plans {
        if plan.missing(store)? > 0 {
            unfinished.push(plan);
        }
    }
    Ok(unfinished)
}

/// Writes a new plan. There is none if nothing is left to run.
pub fn write(planning: &Planning<'_>) -> Result<Option<Plan>, ClusterError> {
    let _lock = lock(planning.out)?;
    write_locked(planning)
}

/// The plan of those who ask for the same runs in the same manner. Whoever comes first writes it, and only that process
/// opens the store.
pub fn find_or_write(planning: &Planning<'_>) -> Result<Option<Plan>, ClusterError> {
    let _lock = lock(planning.out)?;
    let asked = planning.asked();
    match plans(planning.out)?.into_iter().find(|plan| plan.asked == asked) {
        Some(plan) => Ok(Some(plan)),
        None => write_locked(planning),
    }
}

/// Waits until nobody else writes plans.
fn lock(out: &Path) -> Result<File, ClusterError> {
    let folder = out.join(PLANS);
    fs::create_dir_all(&folder).map_err(ClusterError::file("make", &folder))?;
    let path = folder.join("lock");
    let options = File::options().write(true).create(true).truncate(false).open(&path);
    let file = options.map_err(ClusterError::file("write", &path))?;
    file.lock().map_err(ClusterError::file("lock", &path))?;
    Ok(file)
}

fn write_locked(planning: &Planning<'_>) -> Result<Option<Plan>, ClusterError> {
    let plans = planning.out.join(PLANS);
    let tasks = planning.tasks()?;
    if tasks.iter().all(|task| task.runs.is_empty()) {
        return Ok(None);
    }
    let mut plan = planning.plan(tasks, planning.program.keep(&plans)?);
    // A process that is killed here leaves a folder behind that nobody takes for a plan.
    let unfinished = plans.join("unfinished");
    let tasks = unfinished.join("tasks");
    let _ = fs::remove_dir_all(&unfinished);
    fs::create_dir_all(&tasks).map_err(ClusterError::file("make", &tasks))?;
    let path = unfinished.join(PLAN_FILE);
    let written = fs::write(&path, format!("{:#}\n", serde_json::json!(plan)));
    written.map_err(ClusterError::file("write", &path))?;
    let last = fs::read_dir(&plans).into_iter().flatten().flatten();
    let last = last.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok()).max().unwrap_or(0);
    plan.folder = plans.join((last + 1).to_string());
    fs::rename(&unfinished, &plan.folder).map_err(ClusterError::file("write", &plan.folder))?;
    Ok(Some(plan))
}

impl Program {
    /// The program that is running.
    pub fn this() -> Result<Program, ClusterError> {
        let path = std::env::current_exe().map_err(ClusterError::file("find", Path::new("the running program")))?;
        // Linux adds this to the name of a program that was replaced, and finds it all the same.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_end_matches(" (deleted)").to_owned();
        let running = PathBuf::from("/proc/self/exe");
        Ok(Program { path: if running.exists() { running } else { path }, name })
    }

    /// Keeps a copy under its hash, so that a later build changes nothing for tasks that wait. Returns the copy's name.
    fn keep(&self, plans: &Path) -> Result<String, ClusterError> {
        let bytes = fs::read(&self.path).map_err(ClusterError::file("read", &self.path))?;
        let name = format!("{}-{}", self.name, digits(&Sha256::digest(&bytes)));
        let kept = plans.join(&name);
        if fs::metadata(&kept).is_ok_and(|metadata| metadata.len() == bytes.len() as u64) {
            return Ok(name);
        }
        let unfinished = plans.join("unfinished-program");
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&unfinished)?;
            file.write_all(&bytes)?;
            file.set_permissions(fs::metadata(&self.path)?.permissions())?;
            file.sync_all()?;
            fs::rename(&unfinished, &kept)
        };
        write().map_err(ClusterError::file("write", &kept))?;
        Ok(name)
    }
}

fn digits(hash: &[u8]) -> String {
    hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
