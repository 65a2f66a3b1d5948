//! Pages in Markdown become articles: headings get anchors, links lead to pages of the site.

use std::collections::BTreeMap;

use chorus_lab::html::escape;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Where a link of a page leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// To a page or a drawing of the site, or to an address elsewhere.
    Page(String),
    /// To a file of the source tree that is no page of the site.
    Source(String),
}

/// A page in HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The text of its first heading.
    pub(crate) title: String,
    /// The markup of the whole page.
    pub(crate) body: String,
    /// Headings below the first, each with its level, its anchor and its text.
    pub(crate) headings: Vec<(u8, String, String)>,
}

/// Renders a page. `target` says where its links lead.
pub(crate) fn render(text: &str, target: impl Fn(&str) -> Target) -> Rendered {
    let mut rendered = Rendered::default();
    let mut anchors = BTreeMap::new();
    let mut in_source = false;
    let mut out: Vec<Event<'_>> = Vec::new();
    // Where the heading began that is under way.
    let mut heading = 0;
    // Where the head of the table began that is under way.
    let mut head = 0;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                heading = out.len();
                out.push(event);
            }
            Event::End(TagEnd::Heading(level)) => {
                let (id, words) = anchor(&out[heading + 1..], &mut anchors);
                out[heading] = Event::Html(format!("<{level} id=\"{}\">", escape(&id)).into());
                out.push(Event::Html(format!("</{level}>\n").into()));
                rendered.note(level, id, words);
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => match target(&dest_url) {
                Target::Page(page) => out.push(Event::Start(Tag::Link { link_type, dest_url: page.into(), title, id })),
                Target::Source(path) => {
                    in_source = true;
                    let hint = escape(&format!("{path} of the source tree"));
                    out.push(Event::InlineHtml(format!("<span class=\"source\" title=\"{hint}\">").into()));
                }
            },
            Event::End(TagEnd::Link) if in_source => {
                in_source = false;
                out.push(Event::InlineHtml("</span>".into()));
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let (Target::Page(page) | Target::Source(page)) = target(&dest_url);
                out.push(Event::Start(Tag::Image { link_type, dest_url: page.into(), title, id }));
            }
            Event::Start(Tag::Table(_)) => out.extend([Event::Html("<div class=\"scroll\">".into()), event]),
            Event::Start(Tag::TableHead) => {
                head = out.len();
                out.push(event);
            }
            // A head without words has no cells, so that nothing stands above the rows.
            Event::End(TagEnd::TableHead) if is_wordless(&out[head + 1..]) => {
                out.truncate(head + 1);
                out.push(event);
            }
            Event::End(TagEnd::Table) => out.extend([event, Event::Html("</div>\n".into())]),
            Event::InlineHtml(markup) | Event::Html(markup) => out.extend(own_markup(markup)),
            other => out.push(other),
        }
    }
    html::push_html(&mut rendered.body, out.into_iter());
    rendered
}

impl Rendered {
    fn note(&mut self, level: HeadingLevel, id: String, words: String) {
        match level {
            HeadingLevel::H1 if self.title.is_empty() => self.title = words,
            _ => self.headings.push((level as u8, id, words)),
        }
    }
}

/// Whether the cells of a row are all empty.
fn is_wordless(cells: &[Event<'_>]) -> bool {
    cells.iter().all(|event| matches!(event, Event::Start(Tag::TableCell) | Event::End(TagEnd::TableCell)))
}

/// Markup within a page: line breaks of tables are kept, and comments left out. Pages have no other.
fn own_markup(markup: CowStr<'_>) -> Option<Event<'_>> {
    match markup.trim() {
        "<br>" | "<br/>" => Some(Event::InlineHtml("<br/>".into())),
        comment if comment.starts_with("<!--") => None,
        _ => Some(Event::Text(markup)),
    }
}

/// The anchor of a heading, and its words. Of equal headings the later ones are numbered.
fn anchor(inside: &[Event<'_>], taken: &mut BTreeMap<String, usize>) -> (String, String) {
    let words: String = inside
        .iter()
        .filter_map(|event| match event {
            Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
            Event::SoftBreak | Event::HardBreak => Some(" "),
            _ => None,
        })
        .collect();
    let slug = slug(&words);
    let before = taken.entry(slug.clone()).or_default();
    *before += 1;
    let id = if *before == 1 { slug } else { format!("{slug}-{}", *before - 1) };
    (id, words)
}

/// The anchor that a heading has on the sites that show Markdown: lower-case letters, digits and hyphens.
fn slug(words: &str) -> String {
    let kept = words.trim().chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.map(|it| if it == ' ' { '-' } else { it }).collect::<String>().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Rendered {
        render(text, |link| match link.strip_prefix("src/") {
            Some(path) => Target::Source(path.to_owned()),
            None => Target::Page(link.replace(".md", ".html")),
        })
    }

    #[test]
    fn headings_get_anchors_and_equal_ones_numbers() {
        let page = page("# GPU-VI: `x`\n\n## One & two\n\ntext\n\n### One & two\n");
        assert_eq!(page.title, "GPU-VI: x");
        let anchors: Vec<(u8, &str)> = page.headings.iter().map(|(level, id, _)| (*level, id.as_str())).collect();
        assert_eq!(anchors, [(2, "one--two"), (3, "one--two-1")]);
        assert!(page.body.contains("<h2 id=\"one--two\">One &amp; two</h2>"), "{}", page.body);
    }

    #[test]
    fn links_lead_to_pages_and_sources_are_named() {
        let page = page("[a](b.md#c) [d](src/e.rs) ![f](g.png)");
        assert!(page.body.contains("<a href=\"b.html#c\">a</a>"), "{}", page.body);
        assert!(
            page.body.contains("<span class=\"source\" title=\"e.rs of the source tree\">d</span>"),
            "{}",
            page.body
        );
        assert!(page.body.contains("<img src=\"g.png\" alt=\"f\" />"), "{}", page.body);
    }

    #[test]
    fn a_table_without_headers_has_no_head() {
        let page = page("|  |  |\n|---|---|\n| a | b |\n");
        assert!(page.body.contains("<thead><tr></tr></thead>"), "{}", page.body);
        assert!(page.body.contains("<tr><td>a</td><td>b</td></tr>"), "{}", page.body);
    }

    #[test]
    fn comments_are_left_out_and_other_markup_is_text() {
        let page = page("<!-- generated: x -->\n\n| a |\n|---|\n| b<br>c <i>d</i> |\n\n<!-- end -->\n");
        assert!(page.body.contains("b<br/>c &lt;i&gt;d&lt;/i&gt;"), "{}", page.body);
        assert!(
            !page.body.contains("generated") && page.body.starts_with("<div class=\"scroll\"><table>"),
            "{}",
            page.body
        );
    }
}
