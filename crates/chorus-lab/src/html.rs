//! HTML pages that need nothing but themselves: no script, no font, no reference to anywhere.
//!
//! Markup is written so that it is also well-formed XML, which a test can check without a browser.

use std::fmt::Write as _;

use crate::chart;

/// The style sheet, apart from that of the charts. Inks are variables, so that dark mode and print change them in one
/// place.
const STYLE: &str = "
:root{--ink:#1b1f24;--soft:#5b6570;--paper:#fff;--rule:#d8dee4;--tint:#f4f6f8;--good:#0b6b50;--bad:#a33c00;--link:#0b5cad}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ed;--soft:#a0abb6;--paper:#15181c;--rule:#3a424b;--tint:#1f242a;--good:#4fd0a5;--bad:#ff9c6b;--link:#7db8f5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif;overflow-wrap:break-word}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.25rem;margin:2.2rem 0 .6rem;border-bottom:1px solid var(--rule);padding-bottom:.25rem}
h3{font-size:1.02rem;margin:1.6rem 0 .4rem}
p,ul{margin:.5rem 0}
a{color:var(--link)}
.soft{color:var(--soft)}
.scroll{overflow-x:auto;margin:.6rem 0}
table{border-collapse:collapse;font-size:.9rem;min-width:100%}
th,td{padding:.3rem .55rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{background:var(--tint);font-weight:600}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.plain{white-space:nowrap}
.claim{min-width:15rem}
.where{min-width:7.5rem}
.why{min-width:12rem}
.compared{min-width:26rem}
.good{color:var(--good);font-weight:600}
.bad{color:var(--bad);font-weight:600}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:1rem 0;padding:0;list-style:none}
.facts li{background:var(--tint);border-radius:.4rem;padding:.5rem .7rem}
.headlines{list-style:none;padding:0}
.headlines .plain{font-weight:600;margin-right:.3rem}
.facts b{display:block;font-size:1.2rem}
body:has(.heat){max-width:96rem}
.heat{font-size:.8rem;min-width:0}
.heat th,.heat td{padding:.15rem .35rem}
.heat td{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;vertical-align:middle}
.heat th[scope=row]{position:sticky;left:0;text-align:left;white-space:nowrap}
.heat .mean th,.heat .mean td{border-top:2px solid var(--rule)}
.turned{vertical-align:bottom;text-align:left}
.turned span{writing-mode:vertical-rl;transform:rotate(180deg);white-space:nowrap}
.heat .none{text-align:center;color:var(--soft)}
.legend span{display:inline-block;padding:.1rem .5rem;margin:.1rem 0;font-size:.85rem}
.low4{background:rgba(0,104,190,.55)}
.low3{background:rgba(0,104,190,.38)}
.low2{background:rgba(0,104,190,.24)}
.low1{background:rgba(0,104,190,.11)}
.high1{background:rgba(225,105,0,.12)}
.high2{background:rgba(225,105,0,.26)}
.high3{background:rgba(225,105,0,.42)}
.high4{background:rgba(225,105,0,.62)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:0 2rem}
.figures .wide{grid-column:1/-1}
.block{min-width:0}
figure{margin:0 0 1rem;break-inside:avoid}
figcaption{font-size:.9rem;color:var(--soft)}
details{margin:.4rem 0}
summary{cursor:pointer;color:var(--link);font-size:.9rem}
pre,code{font-family:ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace;font-size:.82rem}
pre{background:var(--tint);padding:.7rem;overflow-x:auto;border-radius:.4rem}
@media screen and (max-width:44rem){
.cards thead{display:none}
.cards tr{display:block;border-bottom:2px solid var(--rule);padding:.5rem 0}
.cards td{display:grid;grid-template-columns:6.5rem 1fr;column-gap:.5rem;border:0;padding:.1rem 0;text-align:left;white-space:normal;min-width:0}
.cards td::before{content:attr(data-label);color:var(--soft)}
.cards .claim{display:block}
.cards .claim::before{content:none}
}
dt{font-weight:600}
dd{margin:0 0 .6rem 1rem}
@media print{
.heat td,.legend span{print-color-adjust:exact;-webkit-print-color-adjust:exact}
:root{--ink:#000;--soft:#333;--paper:#fff;--rule:#999;--tint:#f2f2f2;--good:#000;--bad:#000;--link:#000}
body{max-width:none;padding:0;font-size:10.5pt}
.scroll,pre{overflow:visible}
pre{white-space:pre-wrap}
h2,h3{break-after:avoid}
.figures{display:block}
tr,svg{break-inside:avoid}
svg.chart{min-width:0!important}
summary{list-style:none;color:#000}
details::details-content{content-visibility:visible;display:block;height:auto}
}
";

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

/// A whole page around a body of markup.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n\
         <style>{STYLE}{}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title),
        chart::STYLE
    )
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
    format!("<details><summary>{}</summary>\n{markup}</details>\n", escape(summary))
}
