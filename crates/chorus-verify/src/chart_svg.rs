//! Sequence charts as SVG documents. Lifelines run from the top to the bottom, each message is an arrow at its arrival,
//! states stand on the lifelines, and the violation stands in a box at the end. A document needs nothing outside
//! itself.

use std::fmt::Write;

use crate::chart::{Row, Sequence};
use crate::violation::Violation;

const FONT: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace";
/// Width of a character of 12 pixels, generously.
const CHARACTER: f64 = 7.4;
const MARGIN: f64 = 24.0;
/// Room for the numbers of rows.
const NUMBERS: f64 = 34.0;
const HEADER_HEIGHT: f64 = 28.0;
const ROW_HEIGHT: f64 = 48.0;
const LINE_HEIGHT: f64 = 17.0;
const COLUMN_WIDTH_MIN: f64 = 112.0;
const INK: &str = "#1f2933";
const FAINT: &str = "#66707b";
const WRONG: &str = "#b3261e";

/// The kind of a column, told by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Thread,
    Cache,
    Bank,
    Memory,
}

impl Kind {
    fn of(column: &str) -> Kind {
        match column {
            name if name.starts_with("L1") => Kind::Cache,
            name if name.starts_with("L2") => Kind::Bank,
            name if name.starts_with('T') => Kind::Thread,
            _ => Kind::Memory,
        }
    }

    fn fill(self) -> &'static str {
        match self {
            Kind::Thread => "#dbeafe",
            Kind::Cache => "#d9f2e3",
            Kind::Bank => "#fdecc8",
            Kind::Memory => "#e6e8eb",
        }
    }

    fn stroke(self) -> &'static str {
        match self {
            Kind::Thread => "#2563a8",
            Kind::Cache => "#2c7a4b",
            Kind::Bank => "#a06a06",
            Kind::Memory => "#5b6570",
        }
    }
}

/// The positions of all parts of the drawing.
struct Layout {
    column_width: f64,
    first_column: f64,
    notes_at: f64,
    width: f64,
    rows_at: f64,
    rows_end: f64,
}

impl Layout {
    fn of(sequence: &Sequence, verdict: &[String]) -> Layout {
        let length = |text: &str| text.chars().count() as f64 * CHARACTER;
        let labels = sequence.rows.iter().map(|row| length(&row.label) + 26.0);
        let names = sequence.columns.iter().map(|name| length(name) + 28.0);
        let column_width = labels.chain(names).fold(COLUMN_WIDTH_MIN, f64::max);
        let first_column = MARGIN + NUMBERS + column_width / 2.0;
        let notes_at = first_column + column_width * (sequence.columns.len() as f64 - 0.5) + 12.0;
        let notes = sequence.rows.iter().map(|row| length(&row.follows.join(", "))).fold(0.0, f64::max);
        let text = verdict.iter().map(|line| length(line) + 2.0 * MARGIN + 24.0).fold(0.0, f64::max);
        let rows_at = MARGIN + HEADER_HEIGHT + if sequence.warm { 34.0 } else { 14.0 };
        Layout {
            column_width,
            first_column,
            notes_at,
            width: (notes_at + notes + MARGIN).max(text),
            rows_at,
            rows_end: rows_at + ROW_HEIGHT * sequence.rows.len() as f64 + 6.0,
        }
    }

    fn column(&self, column: usize) -> f64 {
        self.first_column + self.column_width * column as f64
    }
}

impl Sequence {
    /// The sequence as an SVG document, with what is wrong in the end.
    pub fn to_svg(&self, violation: Option<&Violation>) -> String {
        let verdict = match violation {
            Some(violation) => wrap(&violation.to_string(), 100),
            None => vec![format!("nothing is violated after {} moves", self.moves.len())],
        };
        let layout = Layout::of(self, &verdict);
        let box_height = LINE_HEIGHT * (verdict.len() as f64 + if violation.is_some() { 1.0 } else { 0.0 }) + 18.0;
        let height = layout.rows_end + 14.0 + box_height + MARGIN;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {w:.0} {height:.0}\" \
             font-family=\"{FONT}\" font-size=\"12\" fill=\"{INK}\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            w = layout.width,
        );
        svg.push_str(&markers());
        self.lifelines(&layout, &mut svg);
        for (number, row) in self.rows.iter().enumerate() {
            self.row(&layout, number, row, &mut svg);
        }
        if let Some(circle) = self.circle {
            circle_line(&layout, circle.row, &mut svg);
        }
        verdict_box(&layout, &verdict, violation.is_some(), box_height, &mut svg);
        svg.push_str("</svg>\n");
        svg
    }

    fn lifelines(&self, layout: &Layout, svg: &mut String) {
        for (column, name) in self.columns.iter().enumerate() {
            let (x, kind) = (layout.column(column), Kind::of(name));
            let width = (name.chars().count() as f64 * CHARACTER + 26.0).max(64.0);
            let (top, end) = (MARGIN + HEADER_HEIGHT, layout.rows_end);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{end:.1}\" stroke=\"{}\" stroke-opacity=\"0.55\" \
                 stroke-dasharray=\"4 4\"/>",
                kind.stroke(),
            );
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{MARGIN}\" width=\"{width:.1}\" height=\"{HEADER_HEIGHT}\" rx=\"5\" fill=\"{}\" \
                 stroke=\"{}\"/>",
                x - width / 2.0,
                kind.fill(),
                kind.stroke(),
            );
            text(svg, x, MARGIN + 18.5, "text-anchor=\"middle\" font-weight=\"bold\"", name);
        }
        if self.warm {
            let y = MARGIN + HEADER_HEIGHT + 20.0;
            let style = format!("fill=\"{FAINT}\" font-style=\"italic\" {HALO}");
            text(svg, MARGIN + NUMBERS, y, &style, "every private cache has loaded every line");
        }
    }

    fn row(&self, layout: &Layout, number: usize, row: &Row, svg: &mut String) {
        let y = layout.rows_at + ROW_HEIGHT * number as f64 + 20.0;
        let to = layout.column(row.to);
        let number = (number + 1).to_string();
        text(svg, MARGIN + NUMBERS - 12.0, y + 4.0, &format!("text-anchor=\"end\" fill=\"{FAINT}\""), &number);
        match row.from.map(|from| (layout.column(from), &self.columns[from])) {
            Some((from, sender)) => {
                let kind = if Kind::of(sender) == Kind::Thread { "request" } else { "message" };
                let stroke = if kind == "request" { Kind::Thread.stroke() } else { INK };
                let dashes = if row.instant { " stroke-dasharray=\"2 3\"" } else { "" };
                let tip = if from < to { to - 2.0 } else { to + 2.0 };
                let _ = writeln!(
                    svg,
                    "<line x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{tip:.1}\" y2=\"{y:.1}\" stroke=\"{stroke}\" \
                     stroke-width=\"1.4\"{dashes} marker-end=\"url(#{kind})\"/>",
                );
                // Beside the receiver, where arrows that cross other lifelines are still read.
                let middle = if from < to { to - layout.column_width / 2.0 } else { to + layout.column_width / 2.0 };
                text(svg, middle, y - 6.0, &format!("text-anchor=\"middle\" fill=\"{stroke}\" {HALO}"), &row.label);
            }
            None => {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{to:.1}\" cy=\"{y:.1}\" r=\"4.5\" fill=\"#ffffff\" stroke=\"{INK}\" stroke-width=\"1.4\"/>"
                );
                text(svg, to + 11.0, y + 4.0, HALO, &row.label);
            }
        }
        if !row.states.is_empty() {
            state(svg, to, y + 16.0, Kind::of(&self.columns[row.to]), &row.states.join(", ").replace("->", "→"));
        }
        if !row.follows.is_empty() {
            text(svg, layout.notes_at, y + 4.0, &format!("fill=\"{FAINT}\""), &row.follows.join(", "));
        }
    }
}

/// White around letters, so that lines under them do not cross them out.
const HALO: &str = "stroke=\"#ffffff\" stroke-width=\"4\" stroke-linejoin=\"round\" paint-order=\"stroke\"";

fn markers() -> String {
    let marker = |name: &str, fill: &str| {
        format!(
            "<marker id=\"{name}\" viewBox=\"0 0 10 8\" refX=\"9\" refY=\"4\" markerWidth=\"9\" markerHeight=\"8\" \
             orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0L10 4L0 8z\" fill=\"{fill}\"/></marker>"
        )
    };
    format!("<defs>{}{}</defs>\n", marker("message", INK), marker("request", Kind::Thread.stroke()))
}

fn text(svg: &mut String, x: f64, y: f64, style: &str, contents: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>", escaped(contents));
}

/// The states of lines, in a box on the lifeline.
fn state(svg: &mut String, x: f64, y: f64, kind: Kind, contents: &str) {
    let width = contents.chars().count() as f64 * 6.8 + 12.0;
    let _ = writeln!(
        svg,
        "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"16\" rx=\"8\" fill=\"{}\" stroke=\"{}\" \
         stroke-width=\"0.8\"/>",
        x - width / 2.0,
        y - 8.0,
        kind.fill(),
        kind.stroke(),
    );
    text(svg, x, y + 4.0, "text-anchor=\"middle\" font-size=\"11\"", contents);
}

/// A line above the first row of a circle.
fn circle_line(layout: &Layout, row: usize, svg: &mut String) {
    let y = layout.rows_at + ROW_HEIGHT * row as f64 - 8.0;
    let (from, to) = (MARGIN, layout.width - MARGIN);
    let _ = writeln!(
        svg,
        "<line x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{y:.1}\" stroke=\"{WRONG}\" stroke-dasharray=\"8 4\"/>"
    );
    let style = format!("text-anchor=\"end\" fill=\"{WRONG}\" {HALO}");
    text(svg, to, y - 4.0, &style, "from here on, again and again");
}

fn verdict_box(layout: &Layout, lines: &[String], is_violated: bool, height: f64, svg: &mut String) {
    let (top, width) = (layout.rows_end + 14.0, layout.width - 2.0 * MARGIN);
    let (fill, stroke) = if is_violated { ("#fdecea", WRONG) } else { ("#eef6f0", Kind::Cache.stroke()) };
    let _ = writeln!(
        svg,
        "<rect x=\"{MARGIN}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\" fill=\"{fill}\" \
         stroke=\"{stroke}\"/>",
    );
    let mut y = top + 21.0;
    if is_violated {
        text(svg, MARGIN + 12.0, y, &format!("font-weight=\"bold\" fill=\"{WRONG}\""), "violated");
        y += LINE_HEIGHT;
    }
    for line in lines {
        text(svg, MARGIN + 12.0, y, "", line);
        y += LINE_HEIGHT;
    }
}

/// Lines of at most about `width` characters, broken between words.
fn wrap(contents: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in contents.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn escaped(contents: &str) -> String {
    let mut text = String::new();
    for character in contents.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::CircleStart;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b & \"c\" -> d"), "a&lt;b &amp; &quot;c&quot; -&gt; d");
    }

    #[test]
    fn long_verdicts_are_broken_between_words() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
    }

    #[test]
    fn a_document_is_well_formed_and_says_everything() {
        let row = |from, label: &str| Row {
            from,
            to: 1,
            instant: false,
            label: label.to_owned(),
            states: vec!["I -> V".to_owned()],
            follows: vec!["sends <DATA>".to_owned()],
        };
        let columns = vec!["T0".to_owned(), "L1.0".to_owned()];
        let rows = vec![row(Some(0), "ld x"), row(None, "evict x")];
        let circle = Some(CircleStart { row: 1, action: 1 });
        let sequence = Sequence { columns, warm: true, rows, moves: Vec::new(), circle };
        let svg = sequence.to_svg(Some(&Violation::Deadlock("a & b".to_owned())));
        for part in [
            "ld x",
            "evict x",
            "I → V",
            "sends &lt;DATA&gt;",
            "deadlock: a &amp; b",
            "every private cache",
            "again and again",
        ] {
            assert!(svg.contains(part), "no `{part}` in {svg}");
        }
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
