//! Results of each paper at every scale that was recorded, and everything that it states.

use chorus_lab::chart;
use chorus_lab::claim::Claim;
use chorus_lab::document::DocumentError;
use chorus_lab::figure::{FigureData, Group};
use chorus_lab::html::{Cell, Narrow, details, table};
use chorus_lab::paper::{self, Paper};
use chorus_lab::recorded::AtScale;
use chorus_lab::report::{figure_block, number, verdict_cell};
use chorus_lab::stated::stated;
use chorus_registry::Registry;

use super::systems::at_scale;
use super::{heading, paragraph, shell, title};
use crate::article::Article;

/// A paper, and its headline figure at every recorded scale.
pub(crate) struct Results {
    name: &'static str,
    paper: Paper,
    scales: Vec<AtScale>,
}

/// Reads every experiment of a registry with what was recorded of it.
pub(crate) fn read(registry: &Registry) -> Result<Vec<Results>, DocumentError> {
    let of = |name: &'static str| {
        let paper = paper::load(registry, name)?;
        let mut scales = paper.recorded.figures(&paper.experiment, &paper.statements.claims, None);
        for at in &mut scales {
            leave_out_missing(&mut at.figure);
            if let Some(headline) = paper.experiment.headline() {
                at.figure.stated = stated(&paper.statements.claims, &paper.experiment, headline, &at.figure);
            }
        }
        Ok(Results { name, paper, scales })
    };
    registry.experiment_names().into_iter().map(of).collect()
}

/// Leaves out the workloads that were not run, with one remark that names them in place of one for each bar.
fn leave_out_missing(figure: &mut FigureData) {
    let was_run = |group: &Group| group.bars.iter().any(|bar| bar.value().is_some());
    let missing: Vec<&str> =
        figure.workloads.iter().filter(|group| !was_run(group)).map(|group| group.label.as_str()).collect();
    if missing.is_empty() {
        return;
    }
    figure.notes = vec![format!("Not run, and not in the means: {}.", missing.join(", "))];
    if let Some(markers) = &mut figure.markers {
        let mut was_run = figure.workloads.iter().map(was_run);
        markers.at.retain(|_| was_run.next().unwrap_or(true));
    }
    figure.workloads.retain(was_run);
}

impl Results {
    /// The page of the paper.
    pub(crate) fn page(&self) -> Article {
        let experiment = &self.paper.experiment;
        let mut body = title("paper", &experiment.title);
        body.push_str(&paragraph(&experiment.source));
        body.push_str(&shell(&format!(
            "chorus reproduce {0}                           # every figure and claim, as a report\nchorus reproduce {0} --headline --scale paper  # the headline figure at the paper's size",
            self.name
        )));
        body.push_str(&self.recorded());
        body.push_str(&self.figures());
        body.push_str(&self.claims());
        // The contents show the name of the work alone, where the title begins with one.
        let short = experiment.title.split(':').next().unwrap_or_default();
        Article::new(format!("papers/{}.html", self.name), short, body)
    }

    /// The headline figure at each scale, with the claims that it answers.
    fn recorded(&self) -> String {
        let mut out = heading(2, "results", "Recorded results");
        if self.scales.is_empty() {
            out.push_str(&paragraph("No runs of the headline figure are recorded yet."));
            return out;
        }
        out.push_str(&paragraph(
            "The headline figure as it was measured. The marks beside the bars are numbers that the paper states.",
        ));
        out.push_str(&self.claims_at_scales());
        for (index, at) in self.scales.iter().enumerate() {
            let name = at.scale.name();
            out.push_str(&heading(3, &format!("at-{name}"), &format!("At {name} scale")));
            out.push_str(&self.drawing(at, &format!("s{index}"), name));
            for input in self.paper.experiment.smaller_inputs(at.scale) {
                out.push_str(&paragraph(&input.sentence(at.scale)));
            }
            let command = format!("chorus reproduce {} --headline{}", self.name, at_scale(at.scale));
            out.push_str(&paragraph(&format!("{}. Made by `{command}`.", at.cost())));
        }
        out
    }

    /// The claims of the headline figure with a column for each scale.
    fn claims_at_scales(&self) -> String {
        let Some(largest) = self.scales.last().filter(|at| !at.claims.is_empty()) else { return String::new() };
        let mut headers = vec![Cell::classed("claim", "Claim"), Cell::number("Stated")];
        for at in &self.scales {
            headers.extend([Cell::number(format!("At {} scale", at.scale)), Cell::text("Verdict")]);
        }
        let rows: Vec<Vec<Cell>> = largest
            .claims
            .iter()
            .map(|claim| {
                let paper = Cell::number(format!("{}{}", claim.bound.sign(), claim.paper));
                let mut row = vec![Cell::classed("claim", &claim.text), paper];
                for at in &self.scales {
                    let found = at.claims.iter().find(|other| other.id == claim.id);
                    let measured = found.and_then(|claim| claim.measured).map_or_else(|| "–".to_owned(), number);
                    row.push(Cell::number(measured));
                    row.push(found.map_or_else(|| Cell::text("–"), |claim| verdict_cell(claim.verdict)));
                }
                row
            })
            .collect();
        table(Narrow::Cards, &headers, &rows)
    }

    /// The headline figure at one scale. `prefix` makes its names unique on a page.
    fn drawing(&self, at: &AtScale, prefix: &str, suffix: &str) -> String {
        let figure = FigureData { id: format!("{}-{suffix}", at.figure.id), ..at.figure.clone() };
        let fills = chart::fills(std::slice::from_ref(&figure)).concat();
        figure_block(&figure, prefix, &fills)
    }

    /// The headline figure at the largest recorded scale, for the gallery; none where nothing was recorded.
    pub(crate) fn for_gallery(&self) -> Option<String> {
        let at = self.scales.last()?;
        let mut out = heading(3, self.name, &self.paper.experiment.title);
        out.push_str(&self.drawing(at, self.name, self.name));
        out.push_str(&format!(
            "<p>At {} scale. <a href=\"papers/{}.html\">All results of this paper</a></p>\n",
            at.scale, self.name
        ));
        Some(out)
    }

    /// Every figure that a report draws.
    fn figures(&self) -> String {
        let mut out = heading(2, "figures", "Figures");
        out.push_str(&paragraph("The figures that the report draws."));
        let row = |figure: &chorus_lab::experiment::Figure| {
            let mark = if figure.headline { "headline" } else { "" };
            vec![Cell::name(&*figure.id), Cell::text(&figure.title).with_remark(mark), Cell::text(&figure.axis)]
        };
        let rows: Vec<Vec<Cell>> = self.paper.experiment.figures.iter().map(row).collect();
        out.push_str(&table(Narrow::Cards, &["Figure", "Title", "Axis"].map(Cell::text), &rows));
        out
    }

    /// Everything that the paper states with a number.
    fn claims(&self) -> String {
        let claims = &self.paper.statements.claims;
        if claims.is_empty() {
            return String::new();
        }
        let row = |claim: &Claim| {
            vec![
                Cell::classed("claim", &claim.text),
                Cell::text(&claim.source),
                Cell::number(format!("{}{}", claim.bound.sign(), claim.value)),
                Cell::name(claim.kind.to_string()),
            ]
        };
        let rows: Vec<Vec<Cell>> = claims.iter().map(row).collect();
        let headers =
            [Cell::classed("claim", "Claim"), Cell::text("Source"), Cell::number("Number"), Cell::text("Kind")];
        let all = table(Narrow::Cards, &headers, &rows);
        let mut out = heading(2, "claims", "Claims");
        out.push_str(&paragraph(
            "What the paper states with a number. The report holds each against what was measured.",
        ));
        out.push_str(&details(&format!("All {} claims", claims.len()), &all));
        out
    }
}
