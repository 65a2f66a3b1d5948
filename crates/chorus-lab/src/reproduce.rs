//! The reproduction of papers: their runs, figures, claims and pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use chorus_registry::Registry;
use chorus_system::Scale;
use serde::Serialize;
use serde_json::{Value, json};

use crate::claim::{self, Evaluation, Measured, Predicted};
use crate::comparison;
use crate::dashboard::{self, IndexEntry};
use crate::experiment::{Figure, SmallerInput};
use crate::figure::{FigureData, Results};
use crate::matrix::{Lab, MatrixError};
use crate::paper::Paper;
use crate::progress::Progress;
use crate::recorded::AtScale;
use crate::report::{self, MetricDefinition, Report, ReportError};
use crate::run::{Build, CheckResult, Record, RunSpec, Runner};
use crate::stated::stated;
use crate::store::{Store, StoreError};
use crate::trend::{self, TrendResult};
use crate::verdict::{Tally, Verdict};

/// The version of the JSON that [`Reproduction::to_json`] writes.
pub const JSON_SCHEMA_VERSION: u32 = 4;

/// The name of the results store in the output directory.
pub const STORE_FILE: &str = "results.sqlite";

/// The name of the page that lists all other pages.
pub const INDEX_FILE: &str = "index.html";

/// The name of the page with the checks of all protocols.
pub const PROOF_FILE: &str = "proof.html";

/// The papers to reproduce, and everything that is needed for it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Everything that can be named: protocols, systems, workloads and experiments.
    pub registry: &'a Registry,
    /// The papers to reproduce.
    pub papers: &'a [Paper],
    /// Whether only the headline figure of each paper is made.
    pub headline_only: bool,
    /// The size of machines and inputs.
    pub scale: Scale,
    /// The directory of the results store and the pages.
    pub out: &'a Path,
    /// The number of runs at the same time; 0 means one for each core.
    pub jobs: usize,
    /// The function that makes one run.
    pub runner: &'a Runner<'a>,
    /// The build of Chorus that makes the runs.
    pub build: &'a Build,
    /// The caller sets this flag to stop early.
    pub cancel: &'a AtomicBool,
    /// The display of progress.
    pub progress: &'a dyn Progress,
    /// The date that pages carry.
    pub date: &'a str,
    /// The definitions of the metrics.
    pub definitions: &'a [MetricDefinition<'a>],
    /// Counted facts that claims refer to by name, such as `states.l1.gpu-vi`.
    pub facts: &'a BTreeMap<String, f64>,
}

/// The reason why papers could not be reproduced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// Two papers have the same name, so that their pages would have the same file.
    #[error("two experiments are named `{0}`; they would write the same page")]
    SameName(String),
    /// The runs could not be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The results store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A page cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// The results of one paper.
#[derive(Clone, Debug)]
pub struct ReproducedPaper {
    /// The name of the paper.
    pub name: String,
    /// The title of the paper.
    pub title: String,
    /// The size at which the runs were made.
    pub scale: Scale,
    /// The figures that were made.
    pub figures: Vec<FigureData>,
    /// The claims about these figures, with their verdicts.
    pub claims: Vec<Evaluation>,
    /// The trends that the paper states in words about these figures, with their verdicts.
    pub trends: Vec<TrendResult>,
    /// The predictions of these figures where the paper's number is not known.
    pub predictions: Vec<Predicted>,
    /// The headline figure at other scales, as it was recorded.
    pub at_scales: Vec<AtScale>,
    /// The workloads that had a smaller input than the scale stands for.
    pub smaller_inputs: Vec<SmallerInput>,
    /// The runs of the paper.
    pub records: Vec<Record>,
    /// The file of the paper's page; none after cancellation.
    pub page: Option<PathBuf>,
}

/// The results of a reproduction.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// The papers, in the order in which they were asked for.
    pub papers: Vec<ReproducedPaper>,
    /// The path of the results store.
    pub store: PathBuf,
    /// The file of the list of pages; none after cancellation.
    pub index: Option<PathBuf>,
    /// The number of runs that were made now.
    pub ran: usize,
    /// The number of runs that the store already had.
    pub reused: usize,
    /// Whether the reproduction was stopped early. No page is written then, so that an older complete page is not lost.
    pub cancelled: bool,
}

impl Reproduction {
    /// The runs without a usable result: those that failed and those with a wrong result. A run that several papers
    /// share counts once.
    pub fn troubled(&self) -> Vec<&Record> {
        let mut seen = BTreeSet::new();
        let records = self.papers.iter().flat_map(|paper| &paper.records);
        records.filter(|record| record.trouble().is_some() && seen.insert(&record.spec)).collect()
    }

    /// The results as `chorus reproduce --json` prints them.
    pub fn to_json(&self) -> Value {
        let papers: Vec<Value> = self.papers.iter().map(ReproducedPaper::to_json).collect();
        json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "papers": papers,
            "store": self.store.display().to_string(),
            "index": self.index.as_ref().map(|path| path.display().to_string()),
            "ran": self.ran,
            "reused": self.reused,
            "cancelled": self.cancelled,
        })
    }
}

impl ReproducedPaper {
    /// The verdicts on all claims and trends, counted by groups.
    pub fn tallies(&self) -> Vec<Tally> {
        report::tallies(&self.claims, &self.trends)
    }

    /// The number of each verdict in each group.
    fn verdicts(&self) -> Value {
        let group = |tally: Tally| {
            let counts = Verdict::ALL.into_iter().map(|verdict| (verdict.to_string(), json!(tally.count(verdict))));
            (tally.group.to_string(), Value::Object(counts.collect()))
        };
        Value::Object(self.tallies().into_iter().map(group).collect())
    }

    /// Records that tell their scale, so that each can be read by itself.
    fn at_scale(&self, records: &[impl Serialize]) -> Vec<Value> {
        let record = |record| {
            let mut record = json!(record);
            record["scale"] = json!(self.scale.to_string());
            record
        };
        records.iter().map(record).collect()
    }

    fn to_json(&self) -> Value {
        let failures: Vec<Value> = self
            .records
            .iter()
            .filter_map(|record| {
                let message = record.trouble()?;
                Some(json!({ "run": record.spec, "status": record.status(), "message": message }))
            })
            .collect();
        let wrong =
            |record: &&Record| record.result().is_some_and(|result| matches!(result.result, CheckResult::Fail(_)));
        json!({
            "name": self.name,
            "title": self.title,
            "scale": self.scale.to_string(),
            "runs": self.records.len(),
            "wrong_results": self.records.iter().filter(wrong).count(),
            "figures": self.figures,
            "verdicts": self.verdicts(),
            "claims": self.at_scale(&self.claims),
            "trends": self.at_scale(&self.trends),
            "predictions": self.predictions,
            "recorded": self.at_scales,
            "smaller_inputs": self.smaller_inputs,
            "failures": failures,
            "page": self.page.as_ref().map(|path| path.display().to_string()),
        })
    }
}

/// Makes the runs of some papers that the store does not have yet, and writes the pages of these papers.
pub fn reproduce(request: &Request<'_>) -> Result<Reproduction, ReproduceError> {
    let mut names = BTreeSet::new();
    if let Some(twice) = request.papers.iter().find(|paper| !names.insert(&paper.experiment.name)) {
        return Err(ReproduceError::SameName(twice.experiment.name.clone()));
    }
    let store = Store::open(&request.out.join(STORE_FILE))?;
    let _hold = store.hold()?;
    let specs: Vec<RunSpec> = request.papers.iter().flat_map(|paper| runs(paper, request)).collect();
    let lab = Lab {
        registry: request.registry,
        store: &store,
        runner: request.runner,
        build: request.build,
        jobs: request.jobs,
        cancel: request.cancel,
        progress: request.progress,
    };
    let matrix = lab.run_all(&specs)?;
    let results = Results::new(&matrix.records);
    let mut papers = Vec::new();
    let mut entries = Vec::new();
    for paper in request.papers {
        let mut reproduced = compute(paper, request, &results);
        if !matrix.cancelled {
            let (page, entry) = write_page(paper, &reproduced, request)?;
            reproduced.page = Some(page);
            entries.push(entry);
        }
        papers.push(reproduced);
    }
    let index = match matrix.cancelled {
        true => None,
        false => Some(write_index(request.registry, entries, request.out, request.date)?),
    };
    let store = store.path().to_owned();
    Ok(Reproduction { papers, store, index, ran: matrix.ran, reused: matrix.reused, cancelled: matrix.cancelled })
}

fn figures<'p>(paper: &'p Paper, request: &Request<'_>) -> Vec<&'p Figure> {
    paper.experiment.figures.iter().filter(|figure| figure.is_of_headline() || !request.headline_only).collect()
}

fn runs(paper: &Paper, request: &Request<'_>) -> Vec<RunSpec> {
    runs_of(paper, request.headline_only, request.scale)
}

/// The runs of a paper, or of its headline figure and what stands beside it.
pub fn runs_of(paper: &Paper, headline_only: bool, scale: Scale) -> Vec<RunSpec> {
    match headline_only {
        true => paper.experiment.runs_of_headline(scale),
        false => paper.experiment.runs(scale),
    }
}

fn compute(paper: &Paper, request: &Request<'_>, results: &Results<'_>) -> ReproducedPaper {
    let experiment = &paper.experiment;
    let figures: Vec<FigureData> = figures(paper, request)
        .into_iter()
        .map(|figure| {
            let mut data = FigureData::compute(experiment, figure, request.scale, results);
            data.stated = stated(&paper.statements.claims, experiment, figure, &data);
            data
        })
        .collect();
    let answered = |measured: &Measured| figures.iter().any(|figure| figure.id == *measured.figure);
    let mut statements = paper.statements.clone();
    if request.headline_only {
        statements.claims.retain(|claim| claim.measured.as_ref().is_none_or(answered));
        let is_made = |comparison: &trend::Comparison| figures.iter().any(|figure| figure.id == *comparison.figure);
        statements.trends.retain(|trend| trend.comparisons.iter().all(is_made));
        statements.predictions.retain(|prediction| answered(&prediction.measured));
    }
    let claims = claim::evaluate(&statements.claims, &figures, request.facts);
    let trends = trend::evaluate(&statements.trends, &figures);
    let predictions = claim::predict(&statements.predictions, &figures);
    let mut seen = BTreeSet::new();
    let specs = runs(paper, request);
    let records =
        specs.iter().filter(|spec| seen.insert(*spec)).filter_map(|spec| results.get(spec)).cloned().collect();
    let (name, title) = (experiment.name.clone(), experiment.title.clone());
    let scale = request.scale;
    let at_scales = paper.recorded.figures(experiment, &paper.statements.claims, Some(scale));
    let smaller_inputs = experiment.smaller_inputs(scale);
    ReproducedPaper {
        name,
        title,
        scale,
        figures,
        claims,
        trends,
        predictions,
        at_scales,
        smaller_inputs,
        records,
        page: None,
    }
}

fn write_page(
    paper: &Paper,
    reproduced: &ReproducedPaper,
    request: &Request<'_>,
) -> Result<(PathBuf, IndexEntry), ReportError> {
    let report = Report {
        experiment: &paper.experiment,
        figures: &reproduced.figures,
        claims: &reproduced.claims,
        trends: &reproduced.trends,
        predictions: &reproduced.predictions,
        at_scales: &reproduced.at_scales,
        records: &reproduced.records,
        definitions: request.definitions,
        scale: request.scale,
        build: request.build,
        date: request.date,
    };
    let file = format!("{}.html", reproduced.name);
    let page = report::write(request.out, &file, &report.render())?;
    Ok((page, report.entry()))
}

/// Writes the list of pages: the pages that were written now, and older ones that are still there. These may belong to
/// other shipped papers, to the comparison of all protocols, to their checks, or to the validation of a GPU.
pub(crate) fn write_index(
    registry: &Registry,
    mut entries: Vec<IndexEntry>,
    out: &Path,
    date: &str,
) -> Result<PathBuf, ReportError> {
    let shipped = registry.experiment_names().into_iter().map(|name| (format!("{name}.html"), name.to_owned()));
    let others = [(comparison::PAGE_FILE, comparison::TITLE), (PROOF_FILE, "What each protocol was shown to keep")];
    let others = others.map(|(file, title)| (file.to_owned(), title.to_owned())).into_iter().chain(validations(out));
    for (file, title) in shipped.chain(others) {
        if !entries.iter().any(|entry| entry.file == file) && out.join(&file).is_file() {
            entries.push(dashboard::entry_of(&out.join(&file)).unwrap_or_else(|| IndexEntry {
                file,
                title,
                summary: "a page from an earlier invocation".to_owned(),
                ..IndexEntry::default()
            }));
        }
    }
    report::write(out, INDEX_FILE, &dashboard::index(&entries, date))
}

/// The pages of validations in a directory, with titles.
fn validations(out: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(out).into_iter().flatten().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut pages: Vec<(String, String)> = names
        .filter_map(|file| {
            let validated = file.strip_prefix("validation-")?.strip_suffix(".html")?;
            let title = format!("{validated}: measured and simulated");
            Some((file, title))
        })
        .collect();
    pages.sort_unstable();
    pages
}
