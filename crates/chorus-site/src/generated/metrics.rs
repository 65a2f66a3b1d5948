//! Every metric of a run: key, unit and meaning.

use chorus_lab::html::{Cell, Narrow, table};
use chorus_registry::Registry;
use chorus_sim::definitions::definitions;

use super::{paragraph, title};
use crate::article::Article;

/// The page of metrics.
pub(crate) fn page(registry: &Registry) -> Article {
    let mut body = title("metrics", "Metrics");
    body.push_str(&paragraph(
        "Every number that a run can report. Which of them a run has depends on its machine and its protocol.",
    ));
    body.push_str("<p>See <a href=\"../concepts/statistics.html\">statistics</a> for how they are counted.</p>\n");
    let rows: Vec<Vec<Cell>> = definitions(registry.protocols())
        .iter()
        .map(|metric| {
            vec![Cell::name(&metric.key).with_id(&metric.key), Cell::name(metric.unit), Cell::text(&metric.meaning)]
        })
        .collect();
    body.push_str(&table(Narrow::Cards, &[Cell::text("Metric"), Cell::text("Unit"), Cell::text("Meaning")], &rows));
    Article::new("reference/metrics.html", "Metrics", body)
}
