//! The frame of every article: the bar with the search field, the contents, and links to the pages before and after.

use std::fmt::Write as _;

use chorus_lab::html::{Extras, escape, page_with_scripts};
use chorus_proof::protocol_page;

use crate::article::{Article, Part};
use crate::links;

const STYLE: &str = include_str!("look/book.css");
const SEARCH_SCRIPT: &str = include_str!("look/search.js");

/// The markup of an article with everything around it, as it stands in the body of its page.
pub(crate) fn body(article: &Article, parts: &[Part]) -> String {
    let root = links::from(&article.path, "");
    let mut out = format!(
        "<input type=\"checkbox\" id=\"menu\" aria-label=\"Show the contents\"/>\n<div class=\"bar\" data-root=\"{root}\">\
         <label for=\"menu\">☰</label> <a class=\"home\" href=\"{root}index.html\">Chorus</a></div>\n\
         <nav class=\"book\" aria-label=\"Contents\">\n"
    );
    for part in parts {
        out.push_str(&part_of_contents(part, article, &root));
    }
    let _ = write!(out, "</nav>\n<main>\n{}{}</main>\n", article.body, turns(article, parts, &root));
    out
}

/// The whole page of an article around its body.
pub(crate) fn page(article: &Article, body: &str) -> String {
    let title = format!("{} · Chorus", article.title);
    let machine = protocol_page::EXTRAS;
    let style = [machine.style, STYLE].concat();
    let scripts: Vec<&str> = machine.scripts.iter().copied().chain([SEARCH_SCRIPT]).collect();
    match article.is_machine {
        true => page_with_scripts(&title, body, &article.data, Extras { style: &style, scripts: &scripts }),
        false => {
            let extras = Extras { style: STYLE, scripts: &[SEARCH_SCRIPT] };
            page_with_scripts(&title, body, &article.data, extras)
        }
    }
}

/// The articles of a part, folded unless the reader is there.
fn part_of_contents(part: &Part, here: &Article, root: &str) -> String {
    let is_here = part.articles.iter().chain(&part.beside).any(|article| article.path == here.path);
    let open = if is_here { " open=\"open\"" } else { "" };
    let mut out = format!("<details{open}><summary>{}</summary><ul>\n", escape(&part.title));
    for article in &part.articles {
        let current = if article.path == here.path { " aria-current=\"page\"" } else { "" };
        let (path, title) = (escape(&article.path), escape(&article.title));
        let _ = writeln!(out, "<li><a href=\"{root}{path}\"{current}>{title}</a></li>");
    }
    out.push_str("</ul></details>\n");
    out
}

/// Links to the articles before and after one.
fn turns(here: &Article, parts: &[Part], root: &str) -> String {
    let all: Vec<&Article> = parts.iter().flat_map(|part| &part.articles).collect();
    let Some(at) = all.iter().position(|article| article.path == here.path) else { return String::new() };
    let link = |article: Option<&&Article>, class: &str, sign: &str| match article {
        Some(article) => {
            let (path, title) = (escape(&article.path), escape(&article.title));
            format!("<a class=\"{class}\" rel=\"{class}\" href=\"{root}{path}\"><span>{sign}</span> {title}</a>")
        }
        None => String::new(),
    };
    let previous = link(at.checked_sub(1).and_then(|before| all.get(before)), "prev", "←");
    format!("<nav class=\"turns\" aria-label=\"Pages\">{previous}{}</nav>\n", link(all.get(at + 1), "next", "→"))
}
