//! Stdout that may close early, and tables and numbers for people.

use std::io::{self, ErrorKind, Write};

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

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

/// An empty table with headers. On a terminal it is as wide as the terminal; elsewhere every row is one line.
pub fn table<const N: usize>(headers: [&str; N]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_header(headers);
    table
}

/// Puts the columns of these numbers on the right.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// A count with its thousands apart: `1,234,567`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
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
    use super::{count, percent, ratio};

    #[test]
    fn thousands_stand_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_share_of_nothing_is_a_dash() {
        assert_eq!((percent(1.0, 4.0).as_str(), percent(0.0, 0.0).as_str()), ("25.0 %", "–"));
    }

    #[test]
    fn counts_among_ratios_have_no_decimals() {
        assert_eq!([1.0, 1.88, 5.0].map(ratio), ["1.000", "1.880", "5"]);
    }
}
