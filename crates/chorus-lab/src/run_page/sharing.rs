//! The sharing of lines: by class and number of sharers, by buffer, and lines of which no word is shared.

use std::fmt::Write as _;

use crate::html::{Cell, Narrow, count, table};
use crate::notes::Sharing;

/// The section of the page.
pub(super) fn section(sharing: &Sharing) -> String {
    let mut out = format!("<h2 id=\"sharing\">Sharing</h2>\n<p>{} lines were accessed.</p>\n", count(sharing.lines));
    out.push_str(&classes(sharing));
    out.push_str("<h3>Lines by number of sharers</h3>\n");
    out.push_str(&numbers(sharing));
    out.push_str("<h3>Lines by buffer</h3>\n");
    out.push_str(&buffers(sharing));
    if !sharing.false_sharing.is_empty() {
        let _ = writeln!(out, "<h3>Lines of which no word is shared, those with the most accesses first</h3>");
        let headers = ["line", "buffer", "compute units", "accesses"].map(Cell::number);
        let rows = sharing.false_sharing.iter().map(|line| {
            [line.line, line.buffer as u64, line.units as u64, line.accesses].map(|it| Cell::number(count(it))).into()
        });
        out.push_str(&table(Narrow::Scroll, &headers, &rows.collect::<Vec<_>>()));
    }
    out
}

/// A row for each class, a column for each kind of sharer.
fn classes(sharing: &Sharing) -> String {
    let mut headers = vec![Cell::text("class")];
    headers.extend(sharing.levels.iter().map(|level| Cell::number(format!("by {}", level.sharers))));
    let names = sharing.levels.first().map_or(Vec::new(), |level| level.classes.keys().collect());
    let row = |name: &&String| {
        let of = |lines: Option<&u64>| Cell::number(count(lines.copied().unwrap_or(0)));
        let lines = sharing.levels.iter().map(|level| of(level.classes.get(*name)));
        std::iter::once(Cell::name(name)).chain(lines).collect()
    };
    table(Narrow::Scroll, &headers, &names.iter().map(row).collect::<Vec<Vec<Cell>>>())
}

/// A row for each number of sharers, a column for each kind of them.
fn numbers(sharing: &Sharing) -> String {
    let mut headers = vec![Cell::number("sharers")];
    headers.extend(sharing.levels.iter().map(|level| Cell::number(&level.sharers)));
    let mut numbers: Vec<usize> = sharing.levels.iter().flat_map(|level| level.by_number.keys().copied()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let row = |number: &usize| {
        let lines = |lines: Option<&u64>| Cell::number(count(lines.copied().unwrap_or(0)));
        let cells = sharing.levels.iter().map(|level| lines(level.by_number.get(number)));
        std::iter::once(Cell::number(number.to_string())).chain(cells).collect()
    };
    table(Narrow::Scroll, &headers, &numbers.iter().map(row).collect::<Vec<Vec<Cell>>>())
}

/// A row for each buffer that was accessed, a column for each class.
fn buffers(sharing: &Sharing) -> String {
    let names: Vec<&String> = sharing.buffers.first().map_or(Vec::new(), |classes| classes.keys().collect());
    let mut headers = vec![Cell::number("buffer")];
    headers.extend(names.iter().map(Cell::number));
    let accessed = sharing.buffers.iter().enumerate().filter(|(_, classes)| classes.values().any(|&lines| lines > 0));
    let row = |(number, classes): (usize, &std::collections::BTreeMap<String, u64>)| {
        let lines = names.iter().map(|name| Cell::number(count(classes.get(*name).copied().unwrap_or(0))));
        std::iter::once(Cell::number(number.to_string())).chain(lines).collect()
    };
    table(Narrow::Scroll, &headers, &accessed.map(row).collect::<Vec<Vec<Cell>>>())
}
