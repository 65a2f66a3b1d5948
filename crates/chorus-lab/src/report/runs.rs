//! The runs behind a page: those that cannot be used, and all of them with their commands.

use super::Report;
use crate::html::{Cell, Narrow, classed_details, table};
use crate::run::{CheckResult, Record};

impl Report<'_> {
    pub(super) fn failures_section(&self) -> String {
        let rows: Vec<Vec<Cell>> = self
            .records
            .iter()
            .filter_map(|record| {
                let trouble = record.trouble()?;
                Some(vec![
                    Cell::name(&record.spec.workload),
                    Cell::name(&record.spec.protocol),
                    Cell::text(self.changes(record)),
                    Cell::number(record.spec.seed.to_string()),
                    Cell::classed("bad", record.status()),
                    Cell::text(trouble),
                ])
            })
            .collect();
        let body = if rows.is_empty() {
            "<p>None: every run finished with the right result, or has no reference to be checked against.</p>\n"
                .to_owned()
        } else {
            let headers = ["Workload", "Protocol", "Changes", "Seed", "Status", "Why"].map(Cell::text);
            table(Narrow::Cards, &headers, &rows)
        };
        format!("<h2 id=\"failures\">Runs without a usable result</h2>\n{body}")
    }

    pub(super) fn runs_section(&self) -> String {
        let headers = [
            Cell::text("Workload"),
            Cell::text("Protocol"),
            Cell::text("Changes"),
            Cell::number("Seed"),
            Cell::text("Result"),
            Cell::number("Cycles"),
            Cell::number("L1 accesses"),
            Cell::number("Seconds"),
            Cell::text("Configuration"),
            Cell::text("Command"),
        ];
        let rows: Vec<Vec<Cell>> =
            self.records.iter().enumerate().map(|(index, record)| self.run_row(index, record)).collect();
        let unchecked = self
            .records
            .iter()
            .filter(|record| record.result().is_some_and(|result| result.result == CheckResult::Unchecked));
        let remark = match unchecked.count() {
            0 => String::new(),
            count => format!("<p>{count} of the runs have no host reference: their results are unchecked.</p>\n"),
        };
        let table = table(Narrow::Scroll, &headers, &rows);
        let runs = classed_details("runs", &format!("All {} runs", rows.len()), &table);
        format!("<h2 id=\"runs\">Runs</h2>\n{remark}{runs}")
    }

    fn run_row(&self, index: usize, record: &Record) -> Vec<Cell> {
        let result = record.result();
        let or_dash = |text: Option<String>| Cell::number(text.unwrap_or_else(|| "–".to_owned()));
        let status = record.status();
        vec![
            Cell::name(&record.spec.workload).with_id(&format!("run-{index}")),
            Cell::name(&record.spec.protocol),
            Cell::text(self.changes(record)),
            Cell::number(record.spec.seed.to_string()),
            if record.trouble().is_some() { Cell::classed("bad", status) } else { Cell::name(status) },
            or_dash(result.map(|result| result.cycles.to_string())),
            or_dash(result.map(|result| result.accesses.to_string())),
            or_dash(result.map(|result| format!("{:.2}", result.wall_s))),
            Cell::name(&record.config_hash),
            Cell::command(record.spec.command()),
        ]
    }

    /// How the machine of a run differs from that of the experiment.
    pub(super) fn changes(&self, record: &Record) -> String {
        let spec = &record.spec;
        let system = (*spec.system != *self.experiment.system).then(|| spec.system.clone());
        let scale = (spec.scale != self.scale).then(|| format!("{} scale", spec.scale));
        let annotate = (!spec.annotate.is_hand()).then(|| format!("annotate {}", spec.annotate));
        let changes = system.into_iter().chain(scale).chain(spec.set.iter().cloned()).chain(annotate);
        changes.collect::<Vec<_>>().join(", ")
    }
}
