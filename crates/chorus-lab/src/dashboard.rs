//! The index of pages: for each paper its headline effect as the paper has it and as it was measured, and the verdicts.
//!
//! A page carries its own entry among its data. So the index also shows pages that an earlier invocation wrote.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::claim::Evaluation;
use crate::comparison;
use crate::html::{DATA_END, DATA_START, escape, page};
use crate::svg::{Anchor, Svg};
use crate::verdict::{ClaimGroup, Tally, Verdict};

const WIDTH: f64 = 360.0;
const LABELS: f64 = 70.0;
const VALUES: f64 = 56.0;
const BAR_HEIGHT: f64 = 13.0;
const BAR_STEP: f64 = 17.0;

/// An entry of the index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IndexEntry {
    /// The page, beside the index.
    pub file: String,
    /// The title of the paper.
    pub title: String,
    /// One line about the content of the page.
    pub summary: String,
    /// The paper's headlines. Pages that reproduce no paper have none.
    #[serde(default)]
    pub headlines: Vec<Headline>,
    /// The verdicts, counted by groups.
    #[serde(default)]
    pub verdicts: Vec<GroupVerdicts>,
    /// The size at which the runs were made, the revision that made them, and the date of the page.
    #[serde(default)]
    pub origin: Vec<(String, String)>,
}

/// A headline of a paper beside its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Headline {
    /// The headline in our own words.
    pub text: String,
    /// The number that the paper states.
    pub paper: f64,
    /// The measured number; none where it is not measured.
    pub measured: Option<f64>,
    /// Whether the measured number agrees with the stated one.
    pub verdict: Verdict,
    /// The claim on the page of the paper.
    pub claim: String,
}

/// The verdicts on the statements of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupVerdicts {
    /// The group of these statements.
    pub group: ClaimGroup,
    /// How many statements have each verdict, where any has.
    pub counts: Vec<(Verdict, usize)>,
}

impl GroupVerdicts {
    /// The counts of a tally; none for a group without statements.
    pub(crate) fn of(tally: &Tally) -> Option<GroupVerdicts> {
        let counts = Verdict::ALL.into_iter().map(|verdict| (verdict, tally.count(verdict)));
        let counts: Vec<(Verdict, usize)> = counts.filter(|(_, count)| *count > 0).collect();
        (!counts.is_empty()).then_some(GroupVerdicts { group: tally.group, counts })
    }
}

impl Headline {
    /// The headlines among some claims.
    pub(crate) fn all(claims: &[Evaluation]) -> Vec<Headline> {
        let headlines = claims.iter().filter(|claim| claim.group == ClaimGroup::Headlines);
        let headline = |claim: &Evaluation| Headline {
            text: claim.text.clone(),
            paper: claim.paper,
            measured: claim.measured,
            verdict: claim.verdict,
            claim: claim.id.clone(),
        };
        headlines.map(headline).collect()
    }
}

/// The entry that a page of an earlier invocation carries; none where there is no such page, or it has no entry.
pub(crate) fn entry_of(page: &Path) -> Option<IndexEntry> {
    let markup = fs::read_to_string(page).ok()?;
    let data = markup.split_once(DATA_START)?.1.split_once(DATA_END)?.0;
    let data: Value = serde_json::from_str(data).ok()?;
    serde_json::from_value(data.get("entry")?.clone()).ok()
}

/// The page that lists the others.
pub fn index(entries: &[IndexEntry], date: &str) -> String {
    let mut body = String::from("<h1>Chorus: reproduced papers</h1>\n<div class=\"papers\">\n");
    for entry in entries {
        body.push_str(&block(entry));
    }
    body.push_str("</div>\n");
    if !entries.iter().any(|entry| entry.file == comparison::PAGE_FILE) {
        body.push_str("<p>Every protocol with every workload, one table per machine: <code>chorus compare</code> makes that page.</p>\n");
    }
    let _ = writeln!(body, "<p class=\"soft\">Written on {}.</p>", escape(date));
    page("Chorus: reproduced papers", &body)
}

fn block(entry: &IndexEntry) -> String {
    let (file, title) = (escape(&entry.file), escape(&entry.title));
    let mut out = format!("<section class=\"paper\">\n<h2><a href=\"{file}\">{title}</a></h2>\n");
    if entry.headlines.is_empty() && entry.verdicts.is_empty() {
        let _ = writeln!(out, "<p class=\"soft\">{}</p>", escape(&entry.summary));
    }
    for headline in &entry.headlines {
        let (text, claim) = (escape(&headline.text), escape(&headline.claim));
        let _ = writeln!(
            out,
            "<p><a href=\"{file}#claim-{claim}\">{text}</a> <b>{}</b></p>\n{}",
            escape(&headline.verdict.to_string()),
            chart(headline)
        );
    }
    out.push_str(&verdicts(&entry.verdicts));
    let origin = entry.origin.iter().map(|(what, value)| format!("{what} {value}"));
    let _ = writeln!(out, "<p class=\"soft\">{}</p>\n</section>", escape(&origin.collect::<Vec<_>>().join(" · ")));
    out
}

/// The paper's number and the measured one as two bars.
fn chart(headline: &Headline) -> String {
    let measured = headline.measured.unwrap_or(0.0);
    let most = headline.paper.abs().max(measured.abs()).max(f64::MIN_POSITIVE);
    let room = WIDTH - LABELS - VALUES;
    let mut svg = Svg::default();
    let bars = [("paper", Some(headline.paper), "of-paper"), ("measured", headline.measured, "of-chorus")];
    for (row, (label, value, class)) in (0..).zip(bars) {
        let top = f64::from(row) * BAR_STEP + 2.0;
        let baseline = top + BAR_HEIGHT - 3.0;
        svg.text("small", (LABELS - 6.0, baseline), Anchor::END, label);
        let width = value.map_or(0.0, |value| value.abs() / most * room);
        svg.rect(class, (LABELS, top), (width, BAR_HEIGHT), "");
        let text = value.map_or_else(|| "not measured".to_owned(), |value| format!("{value:.3}"));
        svg.text("small", (LABELS + width + 5.0, baseline), Anchor::START, &text);
    }
    let label = format!("{}: {} in the paper, {measured:.3} measured", headline.text, headline.paper);
    svg.finish(&label, WIDTH, 2.0 * BAR_STEP + 2.0)
}

/// The verdicts of each group, as words beside a strip.
fn verdicts(groups: &[GroupVerdicts]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"verdicts\">\n");
    for GroupVerdicts { group, counts } in groups {
        let words: Vec<String> = counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let strip: String = counts
            .iter()
            .map(|(verdict, count)| {
                let class = verdict.to_string().replace(' ', "-");
                format!("<i class=\"{class}\" style=\"flex-grow:{count}\"></i>")
            })
            .collect();
        let (group, words) = (escape(&group.to_string()), escape(&words.join(", ")));
        let _ = writeln!(out, "<li><b>{group}</b><span class=\"strip\">{strip}</span><span>{words}</span></li>");
    }
    out.push_str("</ul>\n");
    out
}
