//! The page of a validation.

use std::fmt::Write as _;

use super::probe::ProbeResult;
use super::suite::{CaseResult, MICROSECONDS, Pair};
use super::{Validated, scatter};
use crate::html::{Cell, Narrow, details, escape, page as html_page, table};

/// The rows of the table of largest errors.
const LARGEST: usize = 40;

/// The page as HTML.
pub(super) fn page(validated: &Validated, date: &str) -> String {
    let description = &validated.description;
    let title = format!("{}: measured and simulated", description.title);
    let mut body = format!("<h1>{}</h1>\n", escape(&title));
    let _ = writeln!(
        body,
        "<p class=\"soft\">System <code>{}</code>, protocol <code>{}</code>, scale {}. {}.</p>",
        escape(&description.system),
        escape(&description.protocol),
        description.scale,
        escape(date)
    );
    body += &facts(validated);
    body += &suite(validated);
    body += &probes(validated);
    body += &litmus(validated);
    body += &largest(validated);
    html_page(&title, &body)
}

fn facts(validated: &Validated) -> String {
    let near = validated.probes.iter().filter(|probe| probe.passes()).count();
    let mut facts =
        vec![(format!("{near} of {}", validated.probes.len()), "probes are within their limits".to_owned())];
    for agreement in &validated.agreements {
        let share = agreement.mean_absolute_error.map_or("–".to_owned(), |error| format!("{error:.2}"));
        let correlation = agreement.correlation.map_or("–".to_owned(), |it| format!("{it:.3}"));
        let what = format!("correlation of log times, {}, {} cases", agreement.caches, agreement.cases);
        facts.push((correlation, what));
        facts.push((share, format!("mean absolute error of times, {}", agreement.caches)));
    }
    for counter in &validated.counters {
        let what = format!("cases with {} within 10 %, {}", counter.name, counter.caches);
        facts.push((format!("{} of {}", counter.near, counter.cases), what));
    }
    let item = |(number, what): (String, String)| format!("<li><b>{}</b>{}</li>\n", escape(&number), escape(&what));
    format!("<ul class=\"facts\">\n{}</ul>\n", facts.into_iter().map(item).collect::<String>())
}

fn suite(validated: &Validated) -> String {
    let mut text =
        "<h2>Kernels</h2>\n<p>Each kernel runs at three sizes: warm, after a run of itself, and cold. A time is \
                    that between events around the launches. Filled marks are warm, open ones cold. On the line both \
                    times are equal.</p>\n"
            .to_owned();
    let _ = writeln!(text, "<figure>{}</figure>", scatter::draw(&validated.cases));
    let (shown, predicted): (Vec<&CaseResult>, Vec<&CaseResult>) =
        validated.cases.iter().partition(|case| !case.is_prediction());
    text += &cases_table(&shown);
    if !predicted.is_empty() {
        text += "<h3>Predictions</h3>\n<p>These cases have no measurement in this project. The numbers are what the \
                 simulator predicts.</p>\n";
        text += &cases_table(&predicted);
    }
    text
}

fn cases_table(cases: &[&CaseResult]) -> String {
    let names = cases.first().map_or(Vec::new(), |case| case.counters.iter().map(|(name, _)| name.clone()).collect());
    let mut headers = vec![Cell::text("kernel"), Cell::text("size"), Cell::text("caches")];
    headers.extend(["measured µs", "simulated µs", "error"].map(Cell::number));
    for name in names {
        headers.extend([Cell::number(format!("{name}, measured")), Cell::number("simulated"), Cell::number("error")]);
    }
    headers.push(Cell::text("trouble"));
    let row = |case: &&CaseResult| {
        let mut row = vec![Cell::name(&case.kernel), Cell::number(case.size.to_string()), Cell::name(case.caches)];
        row.extend(pair(&case.microseconds));
        row.extend(case.counters.iter().flat_map(|(_, counter)| pair(counter)));
        row.push(Cell::text(case.trouble.as_deref().unwrap_or_default()));
        row
    };
    table(Narrow::Scroll, &headers, &cases.iter().map(row).collect::<Vec<_>>())
}

fn pair(pair: &Pair) -> [Cell; 3] {
    let error = pair.error().map_or("–".to_owned(), percent);
    [Cell::number(number(pair.measured)), Cell::number(number(pair.simulated)), Cell::number(error)]
}

fn probes(validated: &Validated) -> String {
    let mut text = "<h2>Probes</h2>\n<p>Each probe measures one property with a small program, on the GPU and in the \
                    simulator. Probes of hits and misses must agree in which it was.</p>\n"
        .to_owned();
    for (group, probes) in validated.groups() {
        let near = probes.iter().filter(|probe| probe.passes()).count();
        let summary = format!("{group}: {near} of {} within the limit", probes.len());
        text += &details(&summary, &probes_table(&probes));
    }
    text
}

fn probes_table(probes: &[&ProbeResult]) -> String {
    let mut headers = vec![Cell::text("probe"), Cell::number("parameter"), Cell::text("unit")];
    headers.extend(["measured", "simulated", "error"].map(Cell::number));
    headers.push(Cell::text("verdict"));
    let row = |probe: &&ProbeResult| {
        let error = probe.error().map_or("–".to_owned(), percent);
        let (class, verdict) = match (probe.passes(), probe.same_hits) {
            (true, _) => ("good", "near".to_owned()),
            (false, Some(false)) => ("bad", "a hit here is a miss there".to_owned()),
            (false, _) => ("bad", probe.trouble.clone().unwrap_or_else(|| "too far".to_owned())),
        };
        vec![
            Cell::text(&probe.name),
            Cell::number(probe.param.to_string()),
            Cell::name(&probe.unit),
            Cell::number(number(Some(probe.measured))),
            Cell::number(number(probe.simulated)),
            Cell::number(error),
            Cell::classed(class, verdict),
        ]
    };
    table(Narrow::Scroll, &headers, &probes.iter().map(row).collect::<Vec<_>>())
}

fn litmus(validated: &Validated) -> String {
    if validated.litmus.is_empty() {
        return String::new();
    }
    let judged = || validated.litmus.iter().filter(|verdict| verdict.left_out.is_none());
    let passing = judged().filter(|verdict| verdict.passes()).count();
    let mut text = format!(
        "<h2>Litmus tests</h2>\n<p>Outcomes that the GPU showed must be allowed by the memory model of PTX and be reached \
         by the protocol, and nothing that the model forbids may be reached. {passing} of {} tests keep to the model.</p>\n",
        judged().count()
    );
    let headers =
        ["test", "outcomes seen", "seen and forbidden", "seen and not reached", "reached and forbidden", "note"];
    let row = |verdict: &super::LitmusVerdict| {
        let not_reached = verdict.not_reached.as_ref().map_or("not explored".to_owned(), |list| list.join(" "));
        vec![
            Cell::text(&verdict.test),
            Cell::number(verdict.seen.to_string()),
            Cell::classed("bad", verdict.seen_forbidden.join(" ")),
            Cell::text(not_reached),
            Cell::classed("bad", verdict.reached_forbidden.join(" ")),
            Cell::text(verdict.left_out.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<Vec<Cell>> = validated.litmus.iter().map(row).collect();
    text += &details("every test", &table(Narrow::Scroll, &headers.map(Cell::text), &rows));
    text
}

fn largest(validated: &Validated) -> String {
    let mut headers = vec![Cell::text("what")];
    headers.extend(["measured", "simulated", "error"].map(Cell::number));
    headers.push(Cell::text("reason"));
    let row = |error: &LargeError| {
        let numbers = [number(Some(error.measured)), number(Some(error.simulated)), percent(error.error)];
        let reason = validated.reasons.of(&error.what).unwrap_or("not known");
        let mut row = vec![Cell::text(&error.what)];
        row.extend(numbers.map(Cell::number));
        row.push(Cell::text(reason));
        row
    };
    let rows: Vec<Vec<Cell>> = largest_errors(validated).iter().take(LARGEST).map(row).collect();
    format!("<h2>Largest errors</h2>\n{}", table(Narrow::Scroll, &headers, &rows))
}

/// A number of the simulator that is far from its measurement.
pub(super) struct LargeError {
    what: String,
    measured: f64,
    simulated: f64,
    error: f64,
}

/// All errors, the largest ratio of the two numbers first.
fn largest_errors(validated: &Validated) -> Vec<LargeError> {
    let of_probe = |probe: &ProbeResult| {
        Some(LargeError {
            what: probe.title(),
            measured: probe.measured,
            simulated: probe.simulated?,
            error: probe.error()?,
        })
    };
    let of_pair = |case: &CaseResult, quantity: &str, pair: &Pair| {
        let what = case.title(quantity);
        Some(LargeError { what, measured: pair.measured?, simulated: pair.simulated?, error: pair.error()? })
    };
    let mut errors: Vec<LargeError> = validated.probes.iter().filter_map(of_probe).collect();
    for case in &validated.cases {
        errors.extend(of_pair(case, MICROSECONDS, &case.microseconds));
        errors.extend(case.counters.iter().filter_map(|(name, pair)| of_pair(case, name, pair)));
    }
    let size = |error: &LargeError| (1.0 + error.error).max(f64::MIN_POSITIVE).ln().abs();
    errors.sort_by(|a, b| size(b).total_cmp(&size(a)));
    errors
}

fn percent(error: f64) -> String {
    format!("{:+.0} %", error * 100.0)
}

/// A number with four digits or so.
fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.abs() >= 1000.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}
