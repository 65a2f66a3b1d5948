//! HTML pages that need nothing but themselves: no font, no server, no reference to anywhere.
//!
//! Everything on a page can be read without a script. Scripts and style sheets are files in `html/`, and a page carries
//! those that it uses. Markup is written so that it is also well-formed XML, which a test can check without a browser.

use std::fmt::Write as _;

use serde::Serialize;

/// The style sheets of every page.
const STYLE: &str =
    concat!(include_str!("html/style.css"), include_str!("html/chart.css"), include_str!("html/dashboard.css"));

/// The style of what scripts add to a page.
const SCRIPT_STYLE: &str = include_str!("html/script.css");

/// The scripts of every page.
const COMMON_SCRIPTS: [&str; 8] = [
    include_str!("html/elements.js"),
    include_str!("html/theme.js"),
    include_str!("html/anchors.js"),
    include_str!("html/card.js"),
    include_str!("html/answer.js"),
    include_str!("html/save.js"),
    include_str!("html/tables.js"),
    include_str!("html/titles.js"),
];

/// The scripts of a page with figures.
pub(crate) const FIGURE_SCRIPTS: [&str; 8] = [
    include_str!("html/axis.js"),
    include_str!("html/marks.js"),
    include_str!("html/order.js"),
    include_str!("html/figure.js"),
    include_str!("html/tooltip.js"),
    include_str!("html/keys.js"),
    include_str!("html/download.js"),
    include_str!("html/report.js"),
];

/// Text as it may stand in an element or a quoted attribute.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Other control characters are in no HTML document.
            '\n' | '\t' => escaped.push(character),
            control if control.is_control() => escaped.extend(control.escape_default()),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A whole page around a body of markup. Its tables can be sorted and saved, and marks with a title answer to pointer
/// and keyboard.
pub fn page(title: &str, body: &str) -> String {
    page_with_scripts(title, body, &(), Extras::default())
}

/// The markup before the data of a page.
pub(crate) const DATA_START: &str = "<script type=\"application/json\" id=\"page-data\">";

/// The markup behind the data of a page.
pub(crate) const DATA_END: &str = "</script>";

/// The scripts and styles of one kind of page, beside those of every page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// Style sheets, one behind the other.
    pub style: &'a str,
    /// Scripts in their order.
    pub scripts: &'a [&'a str],
}

/// A page that answers its reader: scripts and the data that they show follow the body. The scripts find the data in
/// the constant `data`.
pub fn page_with_scripts(title: &str, body: &str, data: &impl Serialize, extras: Extras<'_>) -> String {
    let scripts: String = COMMON_SCRIPTS.iter().chain(extras.scripts).copied().collect();
    let data = embedded(data);
    // As XML, the script is text in which nothing is markup. As HTML, the marks around it are comments.
    let body = format!(
        "{body}{DATA_START}{data}{DATA_END}\n\
         <script type=\"module\">//<![CDATA[\n{scripts}//]]></script>\n"
    );
    document(title, &body, &[STYLE, SCRIPT_STYLE, extras.style].concat())
}

/// Data as JSON that contains nothing which looks like markup.
fn embedded(data: &impl Serialize) -> String {
    // The types of pages have no maps with keys that are not text, and nothing else can fail.
    let json = serde_json::to_string(data).unwrap_or_else(|error| unreachable!("data of a page is no JSON: {error}"));
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

fn document(title: &str, body: &str, style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n\
         <style>{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// A count with a comma between thousands: `1,234,567`.
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

/// A list of links to the headings of a body that have an identifier: sections, and below each its figures.
pub fn contents(body: &str) -> String {
    let mut out = String::from("<nav class=\"contents\" aria-label=\"Contents\"><ul>\n");
    for heading in body.split("<h").skip(1) {
        let Some((level @ ("2" | "3"), rest)) = heading.split_once(" id=\"") else { continue };
        let Some((id, rest)) = rest.split_once("\">") else { continue };
        let text = rest.split('<').next().unwrap_or_default();
        let class = if level == "3" { " class=\"below\"" } else { "" };
        let _ = writeln!(out, "<li{class}><a href=\"#{id}\">{text}</a></li>");
    }
    out.push_str("</ul></nav>\n");
    out
}

/// One cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    class: &'static str,
    markup: String,
}

impl Cell {
    /// Text, which may wrap.
    pub fn text(text: impl AsRef<str>) -> Cell {
        Cell { class: "", markup: escape(text.as_ref()) }
    }

    /// A name or a short text that stays on one line.
    pub fn name(text: impl AsRef<str>) -> Cell {
        Cell { class: "plain", markup: escape(text.as_ref()) }
    }

    /// A number, aligned to the right.
    pub fn number(text: impl AsRef<str>) -> Cell {
        Cell { class: "number", markup: escape(text.as_ref()) }
    }

    /// A text in another class of the style sheet.
    pub fn classed(class: &'static str, text: impl AsRef<str>) -> Cell {
        Cell { class, markup: escape(text.as_ref()) }
    }

    /// Texts, one below the other, in a class of the style sheet.
    pub fn lines(class: &'static str, texts: impl Iterator<Item = String>) -> Cell {
        let lines: Vec<String> = texts.map(|text| escape(&text)).collect();
        Cell { class, markup: lines.join("<br/>") }
    }

    /// A text that leads elsewhere.
    pub fn link(target: &str, text: impl AsRef<str>) -> Cell {
        let markup = format!("<a href=\"{}\">{}</a>", escape(target), escape(text.as_ref()));
        Cell { class: "plain", markup }
    }

    /// A command line, which stays on one line.
    pub fn command(text: impl AsRef<str>) -> Cell {
        Cell { class: "command", markup: format!("<code>{}</code>", escape(text.as_ref())) }
    }

    /// Makes it a place that links lead to.
    pub fn with_id(mut self, id: &str) -> Cell {
        self.markup = format!("<span id=\"{}\">{}</span>", escape(id), self.markup);
        self
    }

    /// Adds a smaller remark below.
    pub fn with_remark(mut self, remark: &str) -> Cell {
        if !remark.is_empty() {
            let _ = write!(self.markup, "<br/><span class=\"soft\">{}</span>", escape(remark));
        }
        self
    }

    fn class_attribute(&self) -> String {
        if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) }
    }
}

/// How a table looks where it is wider than the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Narrow {
    /// The table scrolls sideways.
    Scroll,
    /// Each row becomes a card, with the headers beside the values.
    Cards,
}

/// A table with a row of headers.
pub fn table(narrow: Narrow, headers: &[Cell], rows: &[Vec<Cell>]) -> String {
    let class = match narrow {
        Narrow::Scroll => "",
        Narrow::Cards => " class=\"cards\"",
    };
    let mut out = format!("<div class=\"scroll\"><table{class}><thead><tr>");
    for header in headers {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", header.class_attribute(), header.markup);
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (cell, header) in row.iter().zip(headers) {
            let label = match narrow {
                Narrow::Scroll => String::new(),
                Narrow::Cards => format!(" data-label=\"{}\"", header.markup),
            };
            // A card's value is one element beside its label.
            let _ = write!(out, "<td{}{label}><div>{}</div></td>", cell.class_attribute(), cell.markup);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

/// Markup that folds away on screen and is open in print.
pub fn details(summary: &str, markup: &str) -> String {
    classed_details("", summary, markup)
}

/// Markup that folds away, in a class by which scripts find it.
pub(crate) fn classed_details(class: &str, summary: &str, markup: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<details{class}><summary>{}</summary>\n{markup}</details>\n", escape(summary))
}
