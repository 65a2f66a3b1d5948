//! The page of a comparison: for each machine a table of time and one of traffic. Colours say how far a cell is from
//! the cell that its row is relative to.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::tables::{Average, Cell, MachineTable, Quantity, Row};
use super::{CSV_FILE, Comparison, TITLE};
use crate::html::{self, Narrow, details, escape};
use crate::run::{Build, RunErrorKind};

/// The least ratios of each colour, from far below the baseline to far above it.
const SHADES: [(f64, &str); 9] = [
    (0.0, "low4"),
    (0.5, "low3"),
    (0.75, "low2"),
    (0.9, "low1"),
    (0.98, "same"),
    (1.02, "high1"),
    (1.1, "high2"),
    (1.33, "high3"),
    (2.0, "high4"),
];

/// The whole page as HTML.
pub(super) fn render(comparison: &Comparison, build: &Build, date: &str) -> String {
    let tables: Vec<String> = comparison.tables.iter().map(machine).collect();
    let body = [head(comparison), tables.concat(), provenance(comparison, build, date)].concat();
    html::page(&format!("Chorus: {TITLE}"), &body)
}

fn head(comparison: &Comparison) -> String {
    let mut out = format!("<h1>{TITLE}</h1>\n<ul class=\"facts\">\n");
    let protocols: BTreeSet<&String> = comparison.tables.iter().flat_map(|table| &table.protocols).collect();
    let workloads: BTreeSet<&String> =
        comparison.tables.iter().flat_map(|table| table.rows.iter().map(|row| &row.workload)).collect();
    let facts = [
        (comparison.tables.len().to_string(), "machines"),
        (protocols.len().to_string(), "protocols"),
        (workloads.len().to_string(), "workloads"),
        (comparison.measured().to_string(), "runs"),
        (comparison.open.to_string(), "runs still open"),
        (comparison.scale.to_string(), "scale"),
    ];
    for (number, what) in facts {
        let _ = writeln!(out, "<li><b>{}</b>{what}</li>", escape(&number));
    }
    let links: Vec<String> =
        comparison.tables.iter().map(|table| format!("<a href=\"#{0}\">{0}</a>", escape(&table.system))).collect();
    let _ = write!(
        out,
        "</ul>\n<p>Each paper compares its own protocol with a few others on its own benchmarks and its own machine. Here every protocol that a machine can have meets \
         every workload that it can run. A cell is the time, or the traffic, of a run over that of the baseline on the same machine with the same input: below 1 is \
         less. The least of a row is bold. Means are geometric.</p>\n\
         <p class=\"legend\">{}</p>\n\
         <p class=\"soft\">Cells without a number: <b>c</b> work-groups communicate within a kernel, which the protocol does not carry; <b>f</b> does not fit the machine; \
         <b>!</b> no right result; <b>·</b> still to be run. All reasons are listed under each table. The same data as <a href=\"{CSV_FILE}\">CSV</a>.</p>\n\
         <p>Machines: {}</p>\n",
        legend(),
        links.join(", ")
    );
    out
}

fn legend() -> String {
    let mut out = String::new();
    for (index, (least, class)) in SHADES.iter().enumerate() {
        let text = match SHADES.get(index + 1) {
            None => format!("{least} and more"),
            Some((next, _)) if *least == 0.0 => format!("below {next}"),
            Some((next, _)) => format!("{least} to {next}"),
        };
        let _ = write!(out, "<span class=\"{class}\">{text}</span> ");
    }
    out
}

fn machine(table: &MachineTable) -> String {
    let mut out = format!(
        "<h2 id=\"{0}\">{0}</h2>\n<p>{1}.</p>\n",
        escape(&table.system),
        escape(table.title.trim_end_matches('.'))
    );
    if table.protocols.is_empty() {
        out.push_str("<p>It can have none of the protocols asked for.</p>\n");
    } else {
        let baseline = escape(&table.baseline);
        let _ = write!(out, "<h3>Time relative to {baseline}</h3>\n{}", heat(table, Quantity::Time));
        if let Some(traffic) = table.traffic() {
            let (metric, what) = traffic.metric();
            let _ = write!(
                out,
                "<h3>Traffic relative to {baseline}</h3>\n<p class=\"soft\">{}: <code>{}</code>.</p>\n{}",
                escape(what),
                escape(metric),
                heat(table, traffic)
            );
        }
    }
    out.push_str(&reasons(table));
    out
}

fn heat(table: &MachineTable, quantity: Quantity) -> String {
    let mut out =
        String::from("<div class=\"scroll\"><table class=\"heat\"><thead><tr><th scope=\"col\">Workload</th>");
    for protocol in &table.protocols {
        let _ = write!(out, "<th scope=\"col\" class=\"turned\"><span>{}</span></th>", escape(protocol));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str(&heat_row(table, row, quantity));
    }
    let columns = 0..table.protocols.len();
    let all: Vec<Average> = columns.clone().map(|column| table.average(column, quantity)).collect();
    let common: Vec<Average> = columns.map(|column| table.common_average(column, quantity)).collect();
    let shared = common.iter().map(|average| average.workloads).max().unwrap_or(0);
    out.push_str(&mean_row(&format!("GM over the {shared} that all ran"), &common, false));
    out.push_str(&mean_row("GM over all that it ran", &all, true));
    out.push_str("</tbody></table></div>\n");
    out
}

fn heat_row(table: &MachineTable, row: &Row, quantity: Quantity) -> String {
    let remark = match table.reference(row).filter(|_| !table.has_baseline(row)) {
        Some(column) => format!("<br/><span class=\"soft\">over {}</span>", escape(&table.protocols[column])),
        None => String::new(),
    };
    let mut out = format!("<tr><th scope=\"row\">{}{remark}</th>", escape(&row.workload));
    let best = table.best(row, quantity);
    for (column, cell) in row.cells.iter().enumerate() {
        let ratio = table.ratio(row, column, quantity);
        let _ = match (cell, ratio) {
            (Cell::Measured(_), Some(ratio)) => {
                let title = format!("{} {}", cell.value(quantity).unwrap_or_default(), quantity.metric().1);
                let least = best.is_some_and(|best| ratio <= best);
                let text = if least { format!("<b>{}</b>", number(ratio)) } else { number(ratio) };
                write!(out, "<td class=\"{}\" title=\"{}\">{text}</td>", shade(ratio), escape(&title))
            }
            // Nothing over nothing.
            (Cell::Measured(_), None) => write!(out, "<td class=\"none\">–</td>"),
            (Cell::Cannot(_) | Cell::NotRun, _) => {
                write!(out, "<td class=\"none\" title=\"{}\">{}</td>", escape(cell.why()), sign(cell))
            }
        };
    }
    out.push_str("</tr>\n");
    out
}

fn mean_row(label: &str, means: &[Average], counts: bool) -> String {
    let mut out = format!("<tr class=\"mean\"><th scope=\"row\">{}</th>", escape(label));
    for average in means {
        let remark =
            if counts { format!("<br/><span class=\"soft\">{}</span>", average.workloads) } else { String::new() };
        let _ = match average.mean {
            Some(mean) => write!(out, "<td class=\"{}\">{}{remark}</td>", shade(mean), number(mean)),
            None => write!(out, "<td class=\"none\">–{remark}</td>"),
        };
    }
    out.push_str("</tr>\n");
    out
}

fn sign(cell: &Cell) -> &'static str {
    match cell {
        Cell::Measured(_) => "",
        Cell::NotRun => "·",
        Cell::Cannot(error) => match error.kind {
            RunErrorKind::Refused => "c",
            RunErrorKind::BadInput => "f",
            RunErrorKind::Stuck | RunErrorKind::Undeclared | RunErrorKind::Defect | RunErrorKind::Stopped => "!",
        },
    }
}

fn shade(ratio: f64) -> &'static str {
    SHADES.iter().rev().find(|(least, _)| ratio >= *least).map_or("same", |(_, class)| class)
}

/// Two decimals, and fewer where they say nothing.
fn number(ratio: f64) -> String {
    if ratio >= 99.5 {
        format!("{ratio:.0}")
    } else if ratio >= 9.95 {
        format!("{ratio:.1}")
    } else {
        format!("{ratio:.2}")
    }
}

/// Why protocols have no column, and cells no number.
fn reasons(table: &MachineTable) -> String {
    let mut out = String::new();
    if !table.refused.is_empty() {
        let rows: Vec<Vec<html::Cell>> = table
            .refused
            .iter()
            .map(|(protocol, why)| vec![html::Cell::name(protocol), html::Cell::text(why)])
            .collect();
        let list = html::table(Narrow::Cards, &["Protocol", "Why"].map(html::Cell::text), &rows);
        out.push_str(&details(&format!("{} protocols that this machine cannot have", rows.len()), &list));
    }
    let mut reasons: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for row in &table.rows {
        for (protocol, cell) in table.protocols.iter().zip(&row.cells) {
            let Cell::Cannot(error) = cell else { continue };
            let what = match error.kind {
                RunErrorKind::Refused => "work-groups communicate within a kernel",
                _ => cell.why(),
            };
            let run = match error.kind {
                RunErrorKind::Refused | RunErrorKind::BadInput => row.workload.clone(),
                _ => format!("{} under {protocol}", row.workload),
            };
            match reasons.iter_mut().find(|(sign_of, why, _)| *sign_of == sign(cell) && *why == what) {
                Some((_, _, runs)) if runs.contains(&run) => {}
                Some((_, _, runs)) => runs.push(run),
                None => reasons.push((sign(cell), what, vec![run])),
            }
        }
    }
    if !reasons.is_empty() {
        let row = |(sign, why, runs): &(&str, &str, Vec<String>)| {
            vec![html::Cell::name(sign), html::Cell::text(why), html::Cell::text(runs.join(", "))]
        };
        let rows: Vec<Vec<html::Cell>> = reasons.iter().map(row).collect();
        let list = html::table(Narrow::Cards, &["Sign", "Why", "Workloads"].map(html::Cell::text), &rows);
        out.push_str(&details("Why cells have no number", &list));
    }
    out
}

fn provenance(comparison: &Comparison, build: &Build, date: &str) -> String {
    let rows = [
        ("Chorus version", build.chorus_version.clone()),
        ("Git revision", build.git_revision.clone()),
        ("Scale", comparison.scale.to_string()),
        ("Seed", "1".to_owned()),
        ("Date of this page", date.to_owned()),
    ]
    .map(|(what, value)| vec![html::Cell::name(what), html::Cell::text(value)]);
    let list = html::table(Narrow::Scroll, &["What", "Value"].map(html::Cell::text), &rows);
    format!("<h2 id=\"provenance\">Provenance</h2>\n{list}")
}
