//! Transition tables as text, Markdown and HTML.

use std::fmt::Write;

use chorus_protocol::controller::StateClass;

use crate::table::{RoleTable, TransitionTable};

/// The style that makes the HTML readable on its own. Wide tables scroll.
const STYLE: &str = "<style>.transition-table div{overflow-x:auto}.transition-table table{border-collapse:collapse;\
font:13px/1.4 monospace}.transition-table th,.transition-table td{border:1px solid #999;padding:2px 6px;\
text-align:left;vertical-align:top;white-space:nowrap}</style>";

/// The mark of a cell that was never met.
const NEVER: &str = "·";

/// The mark of a cell that was never met in tables of directories, as in the HMG paper's Table I.
const IMPOSSIBLE: &str = "N/A";

impl TransitionTable {
    /// The table for terminals: columns are aligned, alternatives of a cell stand below each other.
    pub fn to_text(&self) -> String {
        self.render(|text, role| {
            let rows = lines_of(role);
            let width = |column: usize| rows.iter().flat_map(|row| &row[column]).map(|line| line.chars().count()).max();
            let widths: Vec<usize> = (0..rows[0].len()).map(|column| width(column).unwrap_or(0)).collect();
            for (index, row) in rows.iter().enumerate() {
                let height = row.iter().map(Vec::len).max().unwrap_or(0);
                for line in 0..height {
                    let cells = row.iter().zip(&widths);
                    let cells = cells.map(|(cell, &width)| format!("{:<width$}", cell.get(line).map_or("", |s| s)));
                    let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
                }
                if index == 0 {
                    let rule = widths.iter().map(|&width| "-".repeat(width)).collect::<Vec<_>>().join("  ");
                    let _ = writeln!(text, "{rule}");
                }
            }
        })
    }

    /// The table as Markdown, for documents.
    pub fn to_markdown(&self) -> String {
        self.render(|text, role| {
            for (index, row) in lines_of(role).iter().enumerate() {
                let cells: Vec<String> = row.iter().map(|lines| lines.join("<br>")).collect();
                let _ = writeln!(text, "| {} |", cells.join(" | "));
                if index == 0 {
                    let _ = writeln!(text, "|{}", "---|".repeat(row.len()));
                }
            }
        })
    }

    /// The table as a fragment of HTML that needs nothing beside it.
    pub fn to_html(&self) -> String {
        let (title, citation) = (escape(self.title), escape(self.citation));
        format!(
            "<section class=\"transition-table\">\n{STYLE}\n<h2>{title}</h2>\n<p>{citation}</p>\n{}</section>\n",
            self.to_html_tables()
        )
    }

    /// The tables of all roles as HTML for a page that has its own heading and style.
    pub fn to_html_tables(&self) -> String {
        let mut html = String::new();
        for role in self.roles() {
            let _ = writeln!(html, "<h3>{}</h3>\n<div><table>", caption(role));
            for (index, row) in lines_of(role).iter().enumerate() {
                let tag = |column: usize| if index == 0 || column == 0 { "th" } else { "td" };
                let cell = |(column, lines): (usize, &Vec<String>)| {
                    let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
                    format!("<{0}>{1}</{0}>", tag(column), lines.join("<br>"))
                };
                let cells: String = row.iter().enumerate().map(cell).collect();
                let _ = writeln!(html, "<tr>{cells}</tr>");
            }
            html.push_str("</table></div>\n");
        }
        let _ = writeln!(html, "<p>{}</p>", self.footnote());
        html
    }

    fn render(&self, table: impl Fn(&mut String, &RoleTable)) -> String {
        let mut text = format!("# {}\n\n{}\n", self.title, self.citation);
        for role in self.roles() {
            let _ = writeln!(text, "\n## {}\n", caption(role));
            table(&mut text, role);
        }
        let _ = writeln!(text, "\n{}", self.footnote());
        text
    }

    fn footnote(&self) -> String {
        let of_directories = match self.roles().any(RoleTable::is_of_directory) {
            true => {
                " In tables of directories: what becomes of the sharers, s being the sender, → next state; N/A cannot happen."
            }
            false => "",
        };
        format!(
            "Extracted from {} explored states. Cells: messages sent, whether the core is answered / next state. {NEVER} never met. \
             (t) transient in any cache, (c) transient because caches are coherent.{of_directories}",
            self.explored
        )
    }
}

/// The title of a role, with the number of its states of each class.
fn caption(role: &RoleTable) -> String {
    let counts = role.counts();
    format!(
        "{}: {} states ({} stable, {} transient cache, {} transient coherent)",
        role.title,
        counts.total(),
        counts.stable,
        counts.transient_cache,
        counts.transient_coherent
    )
}

/// The table as rows of cells of lines; the first row and the first cell of each row are heads.
fn lines_of(role: &RoleTable) -> Vec<Vec<Vec<String>>> {
    let mut head = vec![vec!["state".to_owned()]];
    head.extend(role.events().map(|event| vec![role.vocabulary.events[usize::from(event)].to_owned()]));
    let mut rows = vec![head];
    for state in role.states() {
        let spec = &role.vocabulary.states[usize::from(state)];
        let mark = match spec.class {
            StateClass::Stable => "",
            StateClass::TransientCache => " (t)",
            StateClass::TransientCoherent => " (c)",
        };
        let mut row = vec![vec![format!("{}{mark}", spec.name)]];
        let never = if role.is_of_directory() { IMPOSSIBLE } else { NEVER };
        row.extend(role.events().map(|event| role.words(state, event).unwrap_or_else(|| vec![never.to_owned()])));
        rows.push(row);
    }
    rows
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
