//! Distributions of latencies: a chart of how many accesses took how long for each kind, and tables of percentiles.

use std::fmt::Write as _;

use crate::html::{Cell, Narrow, count, details, escape, table};
use crate::notes::Latency;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 130.0;
const LEFT: f64 = 12.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 22.0;

/// The section of the page; nothing where no latencies were noted.
pub(super) fn section(rows: &[Latency]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<h2 id=\"latencies\">Latencies</h2>\n<p class=\"soft\">Core cycles from the issue of an access to its end. The \
         horizontal axis doubles from tick to tick.</p>\n<div class=\"figures\">\n",
    );
    let of_run = |row: &&Latency| row.kernel.is_none() && row.buffer.is_none();
    for row in rows.iter().filter(of_run).filter(|row| row.source.is_none() && !row.buckets.is_empty()) {
        let (kind, accesses) = (escape(&row.kind), count(row.count));
        let _ = writeln!(
            out,
            "<figure><figcaption>{kind}: {accesses}</figcaption><div class=\"scroll\">{}</div></figure>",
            histogram(row)
        );
    }
    out.push_str("</div>\n");
    out.push_str(&percentiles(&rows.iter().filter(of_run).collect::<Vec<_>>(), |_| String::new()));
    let of_kernels: Vec<&Latency> = rows.iter().filter(|row| row.kernel.is_some()).collect();
    let of_buffers: Vec<&Latency> = rows.iter().filter(|row| row.buffer.is_some()).collect();
    let buffer = |row: &Latency| row.buffer.map_or_else(String::new, |buffer| format!("buffer {buffer}"));
    let parts = [
        ("By kernel", percentiles(&of_kernels, |row| row.kernel.clone().unwrap_or_default()), of_kernels.is_empty()),
        ("By buffer", percentiles(&of_buffers, buffer), of_buffers.is_empty()),
    ];
    let there = parts.iter().filter(|(.., is_empty)| !is_empty);
    there.for_each(|(title, rows, _)| out.push_str(&details(title, rows)));
    out
}

/// Accesses by latency, in steps of doubled length.
fn histogram(row: &Latency) -> String {
    let last = row.buckets.iter().map(|(_, greatest, _)| step_of(*greatest)).max().unwrap_or(0);
    let mut steps = vec![0; last + 1];
    for &(_, greatest, accesses) in &row.buckets {
        steps[step_of(greatest)] += accesses;
    }
    let most = steps.iter().copied().max().unwrap_or(0).max(1) as f64;
    let width = (WIDTH - LEFT - RIGHT) / steps.len() as f64;
    let bottom = HEIGHT - BOTTOM;
    let mut svg = Svg::default();
    for (step, &accesses) in steps.iter().enumerate() {
        let (x, height) = (LEFT + step as f64 * width, accesses as f64 / most * (bottom - TOP));
        let (least, greatest) = (if step == 0 { 0 } else { (1u64 << (step - 1)) + 1 }, 1u64 << step);
        svg.open_titled(&format!("{least} to {greatest} cycles\n{} accesses", count(accesses)));
        // The whole column answers to the pointer, however low the bar is.
        svg.rect("", (x, TOP), (width, bottom - TOP), " fill=\"transparent\"");
        svg.rect("bar-of", (x + 1.0, bottom - height), (width - 2.0, height), "");
        svg.close();
        if step % 2 == 0 {
            svg.text("small", (x + width, bottom + 14.0), Anchor::MIDDLE, &greatest.to_string());
        }
    }
    svg.line("axis", (LEFT, bottom), (WIDTH - RIGHT, bottom));
    svg.finish(&format!("latencies of {}", row.kind), WIDTH, HEIGHT)
}

/// The step of a latency: up to 1 cycle, up to 2, up to 4, and so on.
fn step_of(latency: u64) -> usize {
    latency.max(1).next_power_of_two().trailing_zeros() as usize
}

fn percentiles(rows: &[&Latency], of: impl Fn(&Latency) -> String) -> String {
    let mut headers = vec![Cell::text("of"), Cell::text("access"), Cell::text("from")];
    headers.extend(["count", "mean", "p50", "p90", "p99", "p99.9", "max"].map(Cell::number));
    let row = |row: &&Latency| {
        let mut cells =
            vec![Cell::name(of(row)), Cell::name(&row.kind), Cell::name(row.source.as_deref().unwrap_or("all"))];
        cells.extend([Cell::number(count(row.count)), Cell::number(format!("{:.1}", row.mean))]);
        cells.extend([row.p50, row.p90, row.p99, row.p999, row.max].map(|cycles| Cell::number(count(cycles))));
        cells
    };
    table(Narrow::Scroll, &headers, &rows.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::step_of;

    #[test]
    fn steps_double() {
        assert_eq!([0, 1, 2, 3, 4, 5, 1024, 1025].map(step_of), [0, 0, 1, 2, 2, 3, 10, 11]);
    }
}
