//! The index that the search field of every page looks through: a piece for each anchor of the site, with its text.
//!
//! The index is a script, since a page from disk may load a script and may not read a file.

use serde_json::{Value, json};

use crate::article::Article;
use crate::markup::{Piece, pieces, plain};

/// The most bytes of a piece's text. What lies behind is found by the words of other pieces only.
const TEXT_BYTES_MAX: usize = 3000;

/// The file of the index in the site.
pub(crate) const INDEX: &str = "search-index.js";

/// A piece of a page: from one anchor to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Section {
    anchor: String,
    heading: String,
    text: String,
}

/// The script that holds the index of all articles.
pub(crate) fn index<'a>(articles: impl Iterator<Item = &'a Article>) -> String {
    let pages = articles.map(|article| {
        let sections = sections(&article.body).into_iter().map(|it| json!([it.anchor, it.heading, it.text]));
        json!([article.path, article.title, sections.collect::<Vec<_>>()])
    });
    let pages = Value::from(pages.collect::<Vec<_>>());
    format!("// The text of every page, for the search field.\nglobalThis.chorusPages = {pages};\n")
}

/// The sections of a page. Headings begin one, and so do cells that links lead to.
fn sections(markup: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    // The element whose text is the heading of the section that has just begun.
    let mut heading = None;
    for piece in pieces(markup) {
        let Some(section) = sections.last_mut() else { continue };
        match piece {
            Piece::Open(tag) => {
                let begins = matches!(tag.name, "h1" | "h2" | "h3" | "span").then(|| tag.attribute("id")).flatten();
                if let Some(id) = begins {
                    heading = Some(tag.name);
                    sections.push(Section { anchor: plain(id), ..Section::default() });
                } else {
                    add(&mut section.text, " ");
                }
            }
            Piece::Close(name) => {
                if heading == Some(name) {
                    heading = None;
                }
                add(&mut section.text, " ");
            }
            Piece::Text(text) if heading.is_some() => section.heading.push_str(&plain(text)),
            Piece::Text(text) => add(&mut section.text, &plain(text)),
        }
    }
    sections.retain(|section| !section.heading.is_empty() || !section.text.trim().is_empty());
    sections
}

/// Adds text with one space between words, as far as there is room.
fn add(text: &mut String, more: &str) {
    for character in more.chars() {
        if text.len() >= TEXT_BYTES_MAX {
            return;
        }
        match character.is_whitespace() {
            true if text.ends_with(' ') || text.is_empty() => {}
            true => text.push(' '),
            false => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_a_piece_with_its_text() {
        let page = "<h1 id=\"a\">A &amp; <code>b</code></h1>\n<p>one\n two</p><table><tr><td><span id=\"k\">key</span></td><td>3</td></tr></table>";
        let found = sections(page);
        let section = |anchor: &str, heading: &str, text: &str| Section {
            anchor: anchor.to_owned(),
            heading: heading.to_owned(),
            text: text.to_owned(),
        };
        assert_eq!(found, [section("a", "A & b", "one two "), section("k", "key", "3 ")]);
    }

    #[test]
    fn the_index_is_a_script_with_every_page() {
        let article = Article::new("x/y.html", "Y", "<h1 id=\"y\">Y</h1><p>\"quoted\" </p>".to_owned());
        let script = index([&article].into_iter());
        assert!(
            script.ends_with("globalThis.chorusPages = [[\"x/y.html\",\"Y\",[[\"y\",\"Y\",\"\\\"quoted\\\" \"]]]];\n"),
            "{script}"
        );
    }
}
