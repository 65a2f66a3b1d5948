//! The data of a figure as tables, below its chart.

use super::number;
use crate::figure::{Bar, FigureData, Group};
use crate::html::{Cell, Narrow, table};
use crate::interval::Interval;

/// The data of a figure: one row per workload, and per series where bars have parts.
pub(super) fn table_of(figure: &FigureData) -> String {
    match (figure.parts.is_empty(), figure.lines_of_means().as_slice()) {
        (false, _) => parts_table(figure),
        (true, []) => plain_table(figure),
        (true, lines) => [lines_table(figure, lines), plain_table(figure)].concat(),
    }
}

/// Lines of means: a row for each, a column for each of their points.
fn lines_table(figure: &FigureData, lines: &[Group]) -> String {
    let mut headers = vec![Cell::text(figure.swept.as_deref().unwrap_or_default())];
    headers.extend(figure.points().iter().map(|series| Cell::number(&series.label)));
    let row = |line: &Group| {
        let bars = line.bars.iter().enumerate().map(|(point, bar)| bar_cell(bar, line.interval(point), None));
        std::iter::once(Cell::name(&line.label)).chain(bars).collect()
    };
    table(Narrow::Scroll, &headers, &lines.iter().map(row).collect::<Vec<Vec<Cell>>>())
}

/// The height of a bar, with its interval where there are several seeds, and the paper's number behind it where the
/// text gives one.
fn bar_cell(bar: &Bar, interval: Option<Interval>, stated: Option<f64>) -> Cell {
    let height = match (bar, interval) {
        (Bar::Parts(parts), None) => number(parts.iter().sum()),
        (Bar::Parts(parts), Some(interval)) => {
            format!("{} ± {}", number(parts.iter().sum()), number(interval.half()))
        }
        (Bar::Missing(why), _) => why.clone(),
    };
    Cell::number(match stated {
        Some(stated) => format!("{height} (paper {stated})"),
        None => height,
    })
}

/// The height of a part of a bar, with its interval where there are several seeds.
fn part_cell(part: f64, interval: Option<Interval>) -> Cell {
    Cell::number(match interval {
        Some(interval) => format!("{} ± {}", number(part), number(interval.half())),
        None => number(part),
    })
}

/// The paper's number for a bar.
fn stated(figure: &FigureData, group: usize, series: usize) -> Option<f64> {
    let found =
        figure.stated.iter().find(|stated| (stated.group, stated.series) == (group, series) && stated.beside.is_none());
    found.map(|stated| stated.value)
}

fn plain_table(figure: &FigureData) -> String {
    let mut headers = vec![Cell::text("Workload")];
    headers.extend(figure.series.iter().map(|series| Cell::number(series.full_label())));
    headers.extend(figure.markers.as_ref().map(|markers| Cell::number(&markers.label)));
    let row = |(index, group): (usize, &Group)| {
        let mut row = vec![Cell::name(&group.label)];
        let bars = group.bars.iter().enumerate();
        row.extend(bars.map(|(series, bar)| bar_cell(bar, group.interval(series), stated(figure, index, series))));
        if let Some(markers) = &figure.markers {
            let at = markers.at.get(index).copied().flatten();
            row.push(Cell::number(at.map_or_else(|| "–".to_owned(), place)));
        }
        row
    };
    let rows: Vec<Vec<Cell>> = figure.workloads.iter().chain(&figure.means).enumerate().map(row).collect();
    table(Narrow::Scroll, &headers, &rows)
}

fn parts_table(figure: &FigureData) -> String {
    let mut headers = vec![Cell::text("Workload"), Cell::text("Protocol")];
    headers.extend(figure.parts.iter().map(Cell::number));
    headers.push(Cell::number("Sum"));
    let mut rows = Vec::new();
    for (at, group) in figure.workloads.iter().chain(&figure.means).enumerate() {
        for (index, (bar, series)) in group.bars.iter().zip(&figure.series).enumerate() {
            let mut row = vec![Cell::name(&group.label), Cell::name(&series.label)];
            match bar {
                Bar::Parts(parts) => {
                    let errors = (0..).map(|part| group.part_interval(index, part));
                    row.extend(parts.iter().zip(errors).map(|(&part, error)| part_cell(part, error)));
                    row.push(bar_cell(bar, group.interval(index), stated(figure, at, index)));
                }
                Bar::Missing(why) => {
                    row.extend(figure.parts.iter().map(|_| Cell::number("–")));
                    row.push(Cell::number(why));
                }
            }
            rows.push(row);
        }
    }
    table(Narrow::Scroll, &headers, &rows)
}

/// Where a marker is: large values as whole numbers.
fn place(at: f64) -> String {
    if at.abs() >= 100.0 { format!("{at:.0}") } else { number(at) }
}
