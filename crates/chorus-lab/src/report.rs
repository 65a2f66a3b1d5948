//! One self-contained HTML page per paper.
//!
//! A page holds every figure as a chart with its data as a table, every claim of the paper beside what was measured,
//! the runs that failed and why, the meaning of each metric, and the origin of the numbers: revision, version,
//! configuration, seed and scale. All numbers are those of the runs that the page lists.

mod data;
pub(crate) mod embedded;
pub(crate) mod figures;
mod runs;
mod scales;

pub use figures::figure_block;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use chorus_system::Scale;
use serde::Serialize;

use crate::claim::{Evaluation, Predicted};
use crate::dashboard::{GroupVerdicts, Headline, IndexEntry};
use crate::experiment::Experiment;
use crate::figure::{CYCLES, FigureData};
use crate::html::{Cell, Extras, FIGURE_SCRIPTS, Narrow, contents, details, escape, page_with_scripts, table};
use crate::note::{FilledNote, Shows};
use crate::recorded::AtScale;
use crate::run::{Build, Record};
use crate::trend::{Compared, TrendResult};
use crate::verdict::{ClaimGroup, NOTHING, POINTS, SHARE, Tally, Verdict};

/// The groups of claims with their headings, in the order in which they are shown.
const CLAIM_GROUPS: [(ClaimGroup, &str); 4] = [
    (ClaimGroup::Headlines, "Headlines"),
    (ClaimGroup::Results, "Results"),
    (ClaimGroup::Directions, "Directions"),
    (ClaimGroup::Facts, "What is counted or calculated"),
];

/// The definition of a metric, for the reader of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MetricDefinition<'a> {
    /// The key of the metric.
    pub name: &'a str,
    /// The unit of the metric.
    pub unit: &'a str,
    /// A sentence that says how the metric is counted.
    pub definition: &'a str,
}

/// Everything on the page of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The paper and its experiments.
    pub experiment: &'a Experiment,
    /// The figures in order.
    pub figures: &'a [FigureData],
    /// The claims in order.
    pub claims: &'a [Evaluation],
    /// The trends in order.
    pub trends: &'a [TrendResult],
    /// The predictions in order.
    pub predictions: &'a [Predicted],
    /// The headline figure at other scales.
    pub at_scales: &'a [AtScale],
    /// The runs behind the figures.
    pub records: &'a [Record],
    /// The definitions of the metrics.
    pub definitions: &'a [MetricDefinition<'a>],
    /// The size at which the runs were made.
    pub scale: Scale,
    /// The version and revision of Chorus that made the runs.
    pub build: &'a Build,
    /// The date of the page, as the reader should see it.
    pub date: &'a str,
}

/// A page that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {reason}; choose a directory that can be written", path.display())]
pub struct ReportError {
    /// The file that cannot be written.
    pub path: PathBuf,
    /// The reason as the system gives it.
    pub reason: String,
}

/// Writes a page into a directory. The page appears as a whole, so that a reader never sees half of one.
pub fn write(directory: &Path, name: &str, markup: &str) -> Result<PathBuf, ReportError> {
    let path = directory.join(name);
    let draft = directory.join(format!(".{name}.{}", std::process::id()));
    let written =
        fs::create_dir_all(directory).and_then(|()| fs::write(&draft, markup)).and_then(|()| fs::rename(&draft, &path));
    match written {
        Ok(()) => Ok(path),
        Err(error) => {
            // The draft may not exist; the error that matters is the first one.
            let _ = fs::remove_file(&draft);
            Err(ReportError { path, reason: error.to_string().to_lowercase() })
        }
    }
}

impl Report<'_> {
    /// The page as HTML.
    pub fn render(&self) -> String {
        let sections = [
            self.figures_section(true),
            self.claims_section(),
            self.trends_section(),
            self.predictions_section(),
            self.scales_section(),
            self.notes_section(),
            self.figures_section(false),
            self.failures_section(),
            self.runs_section(),
            self.definitions_section(),
            self.provenance_section(),
        ]
        .concat();
        let body = [self.head(), contents(&sections), sections].concat();
        let title = format!("{}: reproduced with Chorus", self.experiment.title);
        page_with_scripts(&title, &body, &self.embedded(), Extras { scripts: &FIGURE_SCRIPTS, ..Extras::default() })
    }

    /// One line about the page.
    pub fn summary(&self) -> String {
        let failed = self.records.iter().filter(|record| record.trouble().is_some()).count();
        let figures = self.figures.len();
        format!(
            "{}; {figures} figure{}, {} runs at {} scale ({failed} without a usable result), revision {}, {}",
            self.tallies().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            if figures == 1 { "" } else { "s" },
            self.records.len(),
            self.scale,
            self.build.git_revision,
            self.date
        )
    }

    /// The entry of the page in the index.
    pub fn entry(&self) -> IndexEntry {
        let origin = [
            ("scale", self.scale.to_string()),
            ("revision", self.build.git_revision.clone()),
            ("date", self.date.into()),
        ];
        IndexEntry {
            file: format!("{}.html", self.experiment.name),
            title: self.experiment.title.clone(),
            summary: self.summary(),
            headlines: Headline::all(self.claims),
            verdicts: self.tallies().iter().filter_map(GroupVerdicts::of).collect(),
            origin: origin.map(|(what, value)| (what.to_owned(), value)).into(),
        }
    }

    /// The verdicts on all claims and trends, counted by groups.
    fn tallies(&self) -> Vec<Tally> {
        tallies(self.claims, self.trends).into_iter().filter(|tally| tally.total() > 0).collect()
    }

    fn head(&self) -> String {
        let mut out = format!(
            "<h1>{}</h1>\n<p class=\"soft\">{}</p>\n",
            escape(&self.experiment.title),
            escape(&self.experiment.source)
        );
        out.push_str(&self.headlines());
        out.push_str("<ul class=\"facts\">\n");
        let failed = self.records.iter().filter(|record| record.trouble().is_some()).count();
        let tally = |tally: Tally| {
            let agreeing = format!("{} of {}", tally.count(Verdict::Agrees), tally.total());
            (agreeing, format!("{} agree", tally.group), tally.others())
        };
        let runs = [
            (self.records.len().to_string(), format!("runs at {} scale", self.scale), String::new()),
            (failed.to_string(), "without a usable result".to_owned(), String::new()),
        ];
        for (number, what, others) in self.tallies().into_iter().map(tally).chain(runs) {
            let (number, what, others) = (escape(&number), escape(&what), escape(&others));
            let _ = writeln!(out, "<li><b>{number}</b>{what}<br/><span class=\"soft\">{others}</span></li>");
        }
        out.push_str("</ul>\n");
        if self.scale != Scale::Paper {
            let _ = writeln!(
                out,
                "<p>At {} scale the inputs are shrunk, and with them machines that are too large to be simulated as they are; the paper's \
                 numbers are for the full size.</p>",
                self.scale
            );
        }
        for input in self.experiment.smaller_inputs(self.scale) {
            let _ = writeln!(out, "<p>{}</p>", escape(&input.sentence(self.scale)));
        }
        out
    }

    /// The verdict on each headline in words.
    fn headlines(&self) -> String {
        let mut out = String::new();
        for claim in self.claims.iter().filter(|claim| claim.group == ClaimGroup::Headlines) {
            let (class, mark) = verdict_mark(claim.verdict);
            let (text, reason) = (escape(&claim.text), escape(&claim.reason));
            let _ = writeln!(
                out,
                "<li><span class=\"{class}\">{mark} {}</span> {text} <span class=\"soft\">{reason}</span></li>",
                claim.verdict
            );
        }
        if out.is_empty() { out } else { format!("<ul class=\"headlines\">\n{out}</ul>\n") }
    }

    fn notes_section(&self) -> String {
        let shows = Shows { figures: self.figures, claims: self.claims, predictions: self.predictions };
        let notes: Vec<FilledNote<'_>> = self.experiment.notes.iter().map(|note| note.fill(&shows)).collect();
        if notes.is_empty() {
            return String::new();
        }
        let mut out = String::from(
            "<h2 id=\"notes\">Notes</h2>\n<p class=\"soft\">Numbers in the notes are those of this page. \
             Numbers that were counted or tried by hand are marked, and are of quick scale.</p>\n",
        );
        // A page with the headline alone is about nothing else.
        let is_whole = self.figures.len() == self.experiment.figures.len();
        let is_shown = |note: &&FilledNote<'_>| !note.paragraphs.is_empty() && (is_whole || note.is_about_page);
        for note in notes.iter().filter(is_shown) {
            if let Some(title) = note.title {
                let _ = writeln!(out, "<h3>{}</h3>", escape(title));
            }
            for paragraph in &note.paragraphs {
                let _ = writeln!(out, "<p>{}</p>", escape(paragraph));
            }
        }
        if notes.iter().any(|note| note.left_out > 0 || !(is_shown(&note) || note.paragraphs.is_empty())) {
            let _ = writeln!(
                out,
                "<p class=\"soft\">Remarks on figures that are not on this page are left out; \
                 <code>chorus reproduce {}</code> makes all figures.</p>",
                escape(&self.experiment.name)
            );
        }
        out
    }

    fn claims_section(&self) -> String {
        if self.claims.is_empty() {
            return String::new();
        }
        let headers = [
            Cell::classed("claim", "Claim"),
            Cell::classed("where", "Where"),
            Cell::number("Paper"),
            Cell::number("Measured"),
            Cell::number("Effect"),
            Cell::text("Verdict"),
            Cell::classed("why", "Why"),
        ];
        let table_of = |(group, title): (ClaimGroup, &str)| {
            let rows: Vec<Vec<Cell>> = self.claims.iter().filter(|claim| claim.group == group).map(claim_row).collect();
            match rows.is_empty() {
                true => String::new(),
                false => format!("<h3>{title}</h3>\n{}", table(Narrow::Cards, &headers, &rows)),
            }
        };
        let tables: Vec<String> = CLAIM_GROUPS.into_iter().map(table_of).collect();
        format!(
            "<h2 id=\"claims\">What the paper states and what was measured</h2>\n{}\
             <p class=\"soft\">A quotient is compared by its effect, which is what it has more or less than 1; other numbers are their own \
             effect. Effect is the measured effect over the paper's. An approximate claim (≈) agrees within {:.0} points or within {:.0} % of \
             the effect; otherwise it is weaker or stronger, has no effect (less than {:.0} % of it), or disagrees (the opposite direction). \
             A claim is partial where some of its workloads have no usable run; a partial claim counts as neither agreement nor \
             disagreement.</p>\n",
            tables.concat(),
            POINTS * 100.0,
            SHARE * 100.0,
            NOTHING * 100.0
        )
    }

    fn trends_section(&self) -> String {
        if self.trends.is_empty() {
            return String::new();
        }
        let headers = [
            Cell::classed("claim", "Ordering"),
            Cell::classed("where", "Where"),
            Cell::text("Verdict"),
            Cell::classed("compared", "Expected and measured quotients of bars"),
        ];
        let row = |trend: &TrendResult| {
            vec![
                Cell::classed("claim", &trend.text).with_remark(&trend.note),
                Cell::classed("where", &trend.source),
                verdict_cell(trend.verdict),
                Cell::lines("compared", trend.comparisons.iter().map(compared_text)),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.trends.iter().map(row).collect();
        format!(
            "<h2 id=\"trends\">Orderings that the paper states in words</h2>\n{}\
             <p class=\"soft\">An ordering agrees where all of its comparisons hold (✓) for all bars that they name.</p>\n",
            table(Narrow::Cards, &headers, &rows)
        )
    }

    fn predictions_section(&self) -> String {
        if self.predictions.is_empty() {
            return String::new();
        }
        let headers = [
            Cell::classed("claim", "Prediction"),
            Cell::classed("where", "Where"),
            Cell::classed("why", "What is compared"),
            Cell::number("Measured"),
            Cell::classed("why", "Over"),
        ];
        let row = |prediction: &Predicted| {
            vec![
                Cell::classed("claim", &prediction.text),
                Cell::classed("where", &prediction.source),
                Cell::classed("why", &prediction.compared),
                Cell::number(prediction.measured.map_or_else(|| "–".to_owned(), number)),
                Cell::classed("why", &prediction.reason),
            ]
        };
        let rows: Vec<Vec<Cell>> = self.predictions.iter().map(row).collect();
        format!(
            "<h2 id=\"predictions\">Predictions</h2>\n<p>What Chorus measures where the paper's own number is not known.</p>\n{}",
            table(Narrow::Cards, &headers, &rows)
        )
    }

    fn definitions_section(&self) -> String {
        let used: BTreeSet<&str> = self.figures.iter().flat_map(|figure| &figure.metrics).map(String::as_str).collect();
        let mut out = String::from(
            "<h2 id=\"definitions\">Definitions</h2>\n<dl>\n\
             <dt>speed-up</dt><dd>core cycles of the baseline over core cycles, for the same workload and input</dd>\n\
             <dt>relative to</dt><dd>the metric over that of the baseline, for the same workload and input; a part of a \
             stacked bar is that part over the baseline's whole</dd>\n\
             <dt>share, per</dt><dd>one metric of a run over another of the same run; zero where nothing was counted</dd>\n\
             <dt>GB/s</dt><dd>bytes per nanosecond of simulated time</dd>\n\
             <dt>correlation</dt><dd>Pearson&#39;s coefficient over the workloads shown</dd>\n\
             <dt>power</dt><dd>energy over simulated time</dd>\n\
             <dt>HM, mean, GM</dt><dd>harmonic, arithmetic and geometric mean over the workloads shown</dd>\n",
        );
        for name in used {
            let found = self.definitions.iter().find(|definition| definition.name == name);
            let meaning = match found {
                Some(found) => format!("{} ({})", found.definition, found.unit),
                None if name == CYCLES => "core cycles from the first launch to the end of the last kernel".to_owned(),
                None => "as counted by the simulator".to_owned(),
            };
            let _ = writeln!(out, "<dt><code>{}</code></dt><dd>{}</dd>", escape(name), escape(&meaning));
        }
        out.push_str("</dl>\n");
        out
    }

    fn provenance_section(&self) -> String {
        let mut configurations: BTreeMap<&str, &str> = BTreeMap::new();
        for result in self.records.iter().filter_map(Record::result) {
            configurations.insert(&result.config_hash, &result.config_text);
        }
        let seeds: BTreeSet<u64> = self.records.iter().map(|record| record.spec.seed).collect();
        let seeds: Vec<String> = seeds.iter().map(ToString::to_string).collect();
        let systems: BTreeSet<&str> = self.records.iter().map(|record| record.spec.system.as_str()).collect();
        let others: Vec<&str> = systems.into_iter().filter(|system| *system != &*self.experiment.system).collect();
        let hashes: BTreeSet<&str> = self.records.iter().map(|record| record.config_hash.as_str()).collect();
        let hashes: Vec<&str> = hashes.into_iter().collect();
        let rows = [
            ("Chorus version", self.build.chorus_version.clone()),
            ("Git revision", self.build.git_revision.clone()),
            ("System", self.experiment.system.to_string()),
            ("Other systems", others.join(", ")),
            ("Scale", self.scale.to_string()),
            ("Seeds", seeds.join(", ")),
            ("Configuration hashes", hashes.join(", ")),
            ("Date of this page", self.date.to_owned()),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(what, value)| vec![Cell::name(what), Cell::text(value)])
        .collect::<Vec<_>>();
        let mut out = String::from("<h2 id=\"provenance\">Provenance</h2>\n");
        out.push_str(&table(Narrow::Scroll, &[Cell::text("What"), Cell::text("Value")], &rows));
        for (hash, text) in configurations {
            let text = format!("<pre>{}</pre>\n", escape(text));
            out.push_str(&details(&format!("Resolved configuration {hash}"), &text));
        }
        out
    }
}

/// The verdicts on claims and trends, counted by groups. Trends are directions.
pub fn tallies(claims: &[Evaluation], trends: &[TrendResult]) -> Vec<Tally> {
    let of_claims = claims.iter().map(|claim| (claim.group, claim.verdict));
    Tally::of(of_claims.chain(trends.iter().map(|trend| (ClaimGroup::Directions, trend.verdict))))
}

/// The class and the sign of a verdict.
fn verdict_mark(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Agrees => ("good plain", "✓"),
        Verdict::Weaker => ("plain", "▽"),
        Verdict::Stronger => ("plain", "△"),
        Verdict::NoEffect => ("bad plain", "○"),
        Verdict::Disagrees => ("bad plain", "✗"),
        Verdict::Partial => ("plain", "◐"),
        Verdict::NotMeasured => ("soft plain", "–"),
    }
}

/// The cell that shows a verdict, with its mark and its colour.
pub fn verdict_cell(verdict: Verdict) -> Cell {
    let (class, mark) = verdict_mark(verdict);
    Cell::classed(class, format!("{mark} {verdict}"))
}

/// A comparison of bars in a line.
fn compared_text(compared: &Compared) -> String {
    let sign = match compared.holds {
        Some(true) => "✓",
        Some(false) => "✗",
        None => "–",
    };
    let measured = match compared.measured {
        Some((least, most)) if least == most => number(least),
        Some((least, most)) => format!("{} to {}", number(least), number(most)),
        None => "a bar is missing".to_owned(),
    };
    format!("{sign} {}: expected {}, measured {measured}", compared.what, compared.expected)
}

fn claim_row(claim: &Evaluation) -> Vec<Cell> {
    let number = |value: Option<f64>| Cell::number(value.map_or_else(|| "–".to_owned(), number));
    vec![
        Cell::classed("claim", &claim.text).with_id(&format!("claim-{}", claim.id)).with_remark(&claim.note),
        Cell::classed("where", &claim.source),
        Cell::number(format!("{}{}", claim.bound.sign(), claim.paper)),
        number(claim.measured),
        Cell::number(claim.effect_recovered.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0))),
        verdict_cell(claim.verdict),
        Cell::classed("why", &claim.reason),
    ]
}

/// A number of a table: whole numbers without decimals, others with three.
pub fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() >= 2.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}
