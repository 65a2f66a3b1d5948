//! One run as a page: its counters, and charts and tables of everything that was noted beside them.

mod latencies;
mod over_time;
mod sharing;

use std::fmt::Write as _;

use serde::Serialize;

use crate::html::{Cell, Extras, Narrow, contents, count, details, escape, page_with_scripts, table};
use crate::run::RunResult;

pub use over_time::CHARTED;
use over_time::{OverTime, SCRIPT};

/// The data of the page, for its scripts.
#[derive(Debug, Serialize)]
struct Embedded<'a> {
    /// The beginning of the names of saved files.
    name: String,
    series: Option<&'a OverTime>,
}

/// The page as HTML.
pub fn page(result: &RunResult) -> String {
    let title = result.spec.to_string();
    let over_time = result.notes.series.as_ref().map(OverTime::new);
    let mut sections = String::new();
    if let (Some(over_time), Some(series)) = (&over_time, &result.notes.series) {
        sections.push_str(&over_time.section(series));
    }
    sections.push_str(&latencies::section(&result.notes.distributions));
    if let Some(sharing) = &result.notes.sharing {
        sections.push_str(&sharing::section(sharing));
    }
    sections.push_str(&counters(result));
    sections.push_str(&provenance(result));
    let body = format!("<h1>{}</h1>\n{}{}{sections}", escape(&title), facts(result), contents(&sections));
    let name = format!("{}-{}-{}", result.spec.system, result.spec.protocol, result.spec.workload);
    let name = name.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    let data = Embedded { name, series: over_time.as_ref() };
    page_with_scripts(&title, &body, &data, Extras { scripts: &[SCRIPT], ..Extras::default() })
}

fn facts(result: &RunResult) -> String {
    let facts = [
        (count(result.cycles), "core cycles"),
        (format!("{:.1} µs", result.simulated_ns / 1000.0), "simulated time"),
        (count(result.accesses), "accesses to lines"),
        (count(result.kernels.len() as u64), "kernels"),
        (result.result.name().to_owned(), "result"),
    ];
    let item = |(number, what): (String, &str)| format!("<li><b>{}</b>{what}</li>\n", escape(&number));
    format!("<ul class=\"facts\">\n{}</ul>\n", facts.into_iter().map(item).collect::<String>())
}

fn counters(result: &RunResult) -> String {
    let rows: Vec<Vec<Cell>> =
        result.metrics.iter().map(|(key, value)| vec![Cell::name(key), Cell::number(plain(*value))]).collect();
    let list = table(Narrow::Scroll, &[Cell::text("Counter"), Cell::number("Value")], &rows);
    format!("<h2 id=\"counters\">Counters</h2>\n{}", details(&format!("All {} counters", rows.len()), &list))
}

/// A number of a counter: whole where it is.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { count(value as u64) } else { format!("{value:.4}") }
}

fn provenance(result: &RunResult) -> String {
    let mut out = format!(
        "<h2 id=\"provenance\">Provenance</h2>\n<p><code>{}</code></p>\n<p>Chorus {}, revision {}, configuration {}.</p>\n",
        escape(&result.spec.command()),
        escape(&result.chorus_version),
        escape(&result.git_revision),
        escape(&result.config_hash)
    );
    let text = format!("<pre>{}</pre>\n", escape(&result.config_text));
    let _ = write!(out, "{}", details("Resolved configuration", &text));
    out
}
