//! Workloads: each with its program, its suite, the papers that measure it, and its sizes.

use chorus_lab::html::{Cell, Narrow, table};
use chorus_registry::{Registry, SIZE_PREFIX};
use chorus_workloads::{SizeSpec, Suite, Workload};

use super::{heading, paragraph, title};
use crate::article::Article;

/// The page of all workloads, suite by suite.
pub(crate) fn page(registry: &Registry) -> Article {
    let mut suites: Vec<Suite> = Vec::new();
    for workload in registry.workloads() {
        if !suites.contains(&workload.suite()) {
            suites.push(workload.suite());
        }
    }
    let mut body = title("workloads", "All workloads");
    body.push_str(&paragraph(
        "Every program by the suite that it comes from. Its result is compared with what the host computes.",
    ));
    body.push_str("<nav class=\"contents\" aria-label=\"On this page\"><ul>\n");
    for suite in &suites {
        body.push_str(&format!(
            "<li><a href=\"#{}\">{}</a></li>\n",
            anchor(*suite),
            chorus_lab::html::escape(suite.title())
        ));
    }
    body.push_str("</ul></nav>\n");
    for suite in suites {
        body.push_str(&heading(2, &anchor(suite), suite.title()));
        for workload in registry.workloads().iter().filter(|workload| workload.suite() == suite) {
            body.push_str(&section(*workload));
        }
    }
    Article::new("workloads/all.html", "All workloads", body)
}

/// The anchor of a suite. Names of workloads are anchors as well, so that it begins differently.
fn anchor(suite: Suite) -> String {
    format!("suite-{}", suite.title().replace(|it: char| !it.is_ascii_alphanumeric(), "-").to_lowercase())
}

fn section(workload: &dyn Workload) -> String {
    let papers: Vec<&str> = workload.papers().iter().map(|paper| paper.name()).collect();
    let papers = if papers.is_empty() { "none".to_owned() } else { papers.join(", ") };
    let data = if workload.communicates() { "within a kernel" } else { "between kernels only" };
    let mut out = heading(3, workload.name(), &format!("{}: {}", workload.name(), workload.title()));
    out.push_str(&paragraph(workload.summary()));
    out.push_str(&paragraph(workload.source()));
    let graph = if workload.on_graph().is_some() { " It can run on a graph of yours." } else { "" };
    out.push_str(&paragraph(&format!("Papers: {papers}. Work-groups exchange data {data}.{graph}")));
    let row = |size: &SizeSpec| {
        let [quick, medium, paper] = size.defaults.map(|value| Cell::number(value.to_string()));
        let key = Cell::name(format!("{SIZE_PREFIX}{}", size.key));
        vec![key, quick, medium, paper, Cell::text(size.accepted()), Cell::text(size.meaning).with_remark(size.source)]
    };
    let rows: Vec<Vec<Cell>> = workload.sizes().iter().map(row).collect();
    if !rows.is_empty() {
        let headers = [
            Cell::text("Size"),
            Cell::number("quick"),
            Cell::number("medium"),
            Cell::number("paper"),
            Cell::text("Accepted"),
            Cell::text("Meaning and source"),
        ];
        out.push_str(&table(Narrow::Cards, &headers, &rows));
    }
    out
}
