//! The headline figure at other scales beside that of the page, and how far it lies from them.

use std::fmt::Write as _;

use super::{Report, number, verdict_cell};
use crate::claim::Evaluation;
use crate::html::{Cell, Narrow, escape, table};
use crate::recorded::{AtScale, TOLERANCE, TwoScales, missing, two_scales};

impl Report<'_> {
    /// The recorded results of the headline figure; nothing where there are none.
    pub(super) fn scales_section(&self) -> String {
        let headline = self
            .experiment
            .headline()
            .and_then(|headline| self.figures.iter().find(|figure| figure.id == *headline.id));
        let Some(here) = headline.filter(|_| !self.at_scales.is_empty()) else { return String::new() };
        let mut out = String::from("<h2 id=\"scales\">Other scales</h2>\n");
        out.push_str(&self.claims_at_scales());
        for at in self.at_scales {
            let compared = two_scales(here, &at.figure);
            let _ = writeln!(out, "<p>{}</p>", escape(&self.trust(at, &compared)));
            let absent = missing(here, &at.figure);
            if !absent.is_empty() {
                let text = format!("Not run at {} scale, and not in its means: {}.", at.scale, absent.join(", "));
                let _ = writeln!(out, "<p>{}</p>", escape(&text));
            }
            for input in self.experiment.smaller_inputs(at.scale) {
                let _ = writeln!(out, "<p>{}</p>", escape(&input.sentence(at.scale)));
            }
        }
        out.push_str(&self.bars_at_scales());
        let costs = self.at_scales.iter().map(|at| format!("{} scale: {}.", capitalised(at), at.cost()));
        let _ =
            writeln!(out, "<p class=\"soft\">Recorded results. {}</p>", escape(&costs.collect::<Vec<_>>().join(" ")));
        out
    }

    /// The claims of the headline figure with a column for each scale.
    fn claims_at_scales(&self) -> String {
        let here = |id: &str| self.claims.iter().find(|claim| claim.id == id);
        let answered: Vec<&Evaluation> = self.at_scales.first().map_or_else(Vec::new, |at| at.claims.iter().collect());
        if answered.is_empty() {
            return String::new();
        }
        let mut headers = vec![Cell::classed("claim", "Claim"), Cell::number("Paper")];
        let scales = std::iter::once(self.scale).chain(self.at_scales.iter().map(|at| at.scale));
        for scale in scales {
            headers.extend([Cell::number(capital(scale.name())), Cell::text("Verdict")]);
        }
        let row = |claim: &&Evaluation| {
            let others = self.at_scales.iter().map(|at| at.claims.iter().find(|other| other.id == claim.id));
            let mut row = vec![
                Cell::classed("claim", &claim.text),
                Cell::number(format!("{}{}", claim.bound.sign(), claim.paper)),
            ];
            for found in std::iter::once(here(&claim.id)).chain(others) {
                let measured = found.and_then(|claim| claim.measured).map_or_else(|| "–".to_owned(), number);
                row.push(Cell::number(measured));
                row.push(found.map_or_else(|| Cell::text("–"), |claim| verdict_cell(claim.verdict)));
            }
            row
        };
        table(Narrow::Cards, &headers, &answered.iter().map(row).collect::<Vec<_>>())
    }

    /// Every bar that the page and a recorded scale have.
    fn bars_at_scales(&self) -> String {
        let mut headers = vec![Cell::text("Workload"), Cell::text("Bar"), Cell::number(capital(self.scale.name()))];
        for at in self.at_scales {
            headers.extend([Cell::number(capital(at.scale.name())), Cell::number("Error")]);
        }
        let headline = self.experiment.headline().map(|figure| &*figure.id);
        let Some(here) = self.figures.iter().find(|figure| Some(figure.id.as_str()) == headline) else {
            return String::new();
        };
        let by_scale: Vec<Vec<TwoScales>> = self.at_scales.iter().map(|at| two_scales(here, &at.figure)).collect();
        let mut rows = Vec::new();
        for group in here.workloads.iter().chain(&here.means) {
            for (bar, series) in group.bars.iter().zip(&here.series) {
                let Some(value) = bar.value() else { continue };
                let mut row =
                    vec![Cell::name(&group.label), Cell::name(series.full_label()), Cell::number(number(value))];
                for compared in &by_scale {
                    let is_it = |it: &&TwoScales| it.workload == group.label && it.series == series.full_label();
                    row.extend(cells(compared.iter().find(is_it)));
                }
                rows.push(row);
            }
        }
        crate::html::details("Every bar at every scale", &table(Narrow::Scroll, &headers, &rows))
    }

    /// How many bars lie within the tolerance, and which do not.
    fn trust(&self, at: &AtScale, compared: &[TwoScales]) -> String {
        let of_workloads: Vec<&TwoScales> = compared.iter().filter(|it| !it.is_mean).collect();
        let apart: Vec<String> = of_workloads
            .iter()
            .filter(|it| !it.predicts())
            .map(|it| format!("{} under {} ({:+.0} %)", it.workload, it.series, it.error() * 100.0))
            .collect();
        let (near, all) = (of_workloads.len() - apart.len(), of_workloads.len());
        let start = format!(
            "{near} of {all} bars of workloads at {} scale lie within {:.0} % of those at {} scale",
            self.scale,
            TOLERANCE * 100.0,
            at.scale
        );
        match apart.is_empty() {
            true => format!("{start}."),
            false => format!("{start}. Not so: {}.", apart.join(", ")),
        }
    }
}

/// The height at a recorded scale, and the error against it.
fn cells(found: Option<&TwoScales>) -> [Cell; 2] {
    let Some(found) = found else { return [Cell::number("–"), Cell::number("–")] };
    let error = format!("{:+.1} %", found.error() * 100.0);
    let error = if found.predicts() { Cell::number(error) } else { Cell::classed("number bad", error) };
    [Cell::number(number(found.there)), error]
}

fn capitalised(at: &AtScale) -> String {
    capital(at.scale.name())
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
