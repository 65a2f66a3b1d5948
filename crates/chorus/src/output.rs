//! Stdout that may close early, and tables and numbers for people.

use std::io::{self, ErrorKind, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

pub use chorus_proof::words::count;

use crate::failure::Failure;

/// Stdout. Whoever reads it may stop early, as `head` does: what follows is then dropped, and the verb still ends with its exit code.
#[derive(Debug, Default)]
pub struct Output {
    is_closed: bool,
}

impl Output {
    /// Writes text.
    pub fn print(&mut self, text: &str) -> Result<(), Failure> {
        if self.is_closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            Err(error) => {
                let reason = error.to_string().to_lowercase();
                Err(Failure::bad_input(format!("cannot write to stdout: {reason}")))
            }
        }
    }

    /// Writes a line.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.print(&format!("{text}\n"))
    }

    /// Writes a table.
    pub fn table(&mut self, table: &Table) -> Result<(), Failure> {
        self.line(&table.trim_fmt())
    }

    /// Writes a value as JSON that people can read.
    pub fn json(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        self.line(&format!("{value:#}"))
    }
}

/// The narrowest terminal that tables are made for, and the width that they have where there is no terminal.
const COLUMNS: u16 = 80;

/// An empty table with headers. It is as wide as the terminal, and 80 columns wide elsewhere: text wraps within its column.
pub fn table<const N: usize>(headers: [&str; N]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_header(headers);
    table.set_width(width());
    table
}

/// The width of tables.
pub fn width() -> u16 {
    Table::new().width().map_or(COLUMNS, |width| width.max(COLUMNS))
}

/// Leaves columns out of a table that does not fit, the last ones first. The space that a text column needs at least is `text`.
pub fn leave_out(table: &mut Table, columns: &[usize], text: &[(usize, u16)]) {
    /// The spaces around a cell and between two.
    const AROUND: u16 = 3;
    let mut widths = table.column_max_content_widths();
    for &(column, least) in text {
        widths[column] = widths[column].min(least);
    }
    let total = |widths: &[u16]| widths.iter().filter(|width| **width > 0).map(|width| width + AROUND).sum::<u16>();
    let available = table.width().unwrap_or(COLUMNS);
    for &column in columns.iter().rev() {
        if total(&widths) <= available {
            return;
        }
        widths[column] = 0;
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
}

/// Puts the columns of these numbers on the right. Numbers do not wrap.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// A share of a whole in per cent; a dash where there is no whole.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", part / whole * 100.0) } else { "–".to_owned() }
}

/// A ratio as figures and claims have it: whole numbers without decimals, others with three.
pub fn ratio(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() >= 2.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::{percent, ratio};

    #[test]
    fn a_share_of_nothing_is_a_dash() {
        assert_eq!((percent(1.0, 4.0).as_str(), percent(0.0, 0.0).as_str()), ("25.0 %", "–"));
    }

    #[test]
    fn counts_among_ratios_have_no_decimals() {
        assert_eq!([1.0, 1.88, 5.0].map(ratio), ["1.000", "1.880", "5"]);
    }
}
