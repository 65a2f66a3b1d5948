//! Stdout that may close early; tables and numbers for people.

use std::io::{self, ErrorKind, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};

pub use chorus_proof::words::count;

use crate::failure::Failure;

/// The standard output. Its reader may stop early, as `head` does. Everything after that is dropped, and the verb still
/// ends with its own exit code.
#[derive(Debug, Default)]
pub struct Output {
    is_closed: bool,
}

impl Output {
    /// Writes text as it is.
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

    /// Writes a line of text.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        self.print(&format!("{text}\n"))
    }

    /// Writes a table and ends its last line.
    pub fn table(&mut self, table: &Table) -> Result<(), Failure> {
        let mut table = table.clone();
        // Names are copied into other commands: they stay in one piece.
        if let Some(names) = table.column_mut(0).filter(|names| names.constraint().is_none()) {
            names.set_constraint(ColumnConstraint::ContentWidth);
        }
        self.line(&table.trim_fmt())
    }

    /// Writes text whose lines break between words, as wide as a table.
    pub fn paragraph(&mut self, text: &str) -> Result<(), Failure> {
        self.line(&wrapped(text, usize::from(width())))
    }

    /// Writes a value as JSON in one line.
    pub fn json_line(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        self.line(&value.to_string())
    }

    /// Whether the reader has stopped.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Writes a value as indented JSON.
    pub fn json(&mut self, value: &serde_json::Value) -> Result<(), Failure> {
        self.line(&format!("{value:#}"))
    }
}

/// The width of the narrowest terminal that tables are made for. Tables have this width if there is no terminal.
const COLUMNS: u16 = 80;

/// An empty table with headers. It is as wide as the terminal, and 80 columns wide if there is none. Text wraps within
/// its column.
pub fn table<const N: usize>(headers: [&str; N]) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Dynamic).set_header(headers);
    table.set_width(width());
    table
}

/// The width of tables, in columns.
pub fn width() -> u16 {
    Table::new().width().map_or(COLUMNS, |width| width.max(COLUMNS))
}

/// Keeps the cells of these columns in one piece: keys that people copy into other commands.
pub fn keep_whole(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// Wraps the cells of a column at a width.
pub fn limit(table: &mut Table, column: usize, columns: u16) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(columns)));
    }
}

/// Breaks a text between words into lines of so many columns.
fn wrapped(text: &str, columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Hides some of `columns` if the table does not fit: the last of them first, and no more than necessary. Columns of
/// text can wrap: `text` gives the least width that each of them needs.
pub fn leave_out(table: &mut Table, columns: &[usize], text: &[(usize, u16)]) {
    /// Columns for the spaces around a cell and between two cells.
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

/// Aligns columns of numbers to the right. Numbers do not wrap.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

/// A part of a whole in per cent, or a dash if the whole is zero.
pub fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", part / whole * 100.0) } else { "–".to_owned() }
}

/// A ratio as figures and claims show it: whole numbers from 2 on without decimals, all others with three decimals.
pub fn ratio(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() >= 2.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::{percent, ratio, wrapped};

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two  three", 7), "one two\nthree");
        assert_eq!((wrapped("", 7).as_str(), wrapped("immeasurable", 7).as_str()), ("", "immeasurable"));
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
