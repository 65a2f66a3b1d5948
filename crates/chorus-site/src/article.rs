//! Articles: what a page of the site holds, before the contents and the search field are put around it.

use serde_json::Value;

use crate::markdown::Rendered;

/// The least number of headings for which a page lists them at its top.
const LISTED_HEADINGS_MIN: usize = 4;

/// One page of the site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Article {
    /// The path of its file in the site, with `/` between folders.
    pub(crate) path: String,
    /// The title, as the contents show it.
    pub(crate) title: String,
    /// The markup of the article.
    pub(crate) body: String,
    /// The data that its scripts show; null where it has none.
    pub(crate) data: Value,
    /// Whether a machine to play with is on it, so that it needs scripts and styles of its own.
    pub(crate) is_machine: bool,
}

impl Article {
    /// An article that needs no script.
    pub(crate) fn new(path: impl Into<String>, title: impl Into<String>, body: String) -> Article {
        Article { path: path.into(), title: title.into(), body, ..Article::default() }
    }

    /// The article that a rendered page is, with a list of its headings if there are many.
    pub(crate) fn rendered(path: impl Into<String>, page: Rendered) -> Article {
        let listed: Vec<_> = page.headings.iter().filter(|(level, ..)| *level <= 3).collect();
        let body = match (listed.len() >= LISTED_HEADINGS_MIN, page.body.split_once("</h1>\n")) {
            (true, Some((head, rest))) => format!("{head}</h1>\n{}{rest}", list(&listed)),
            (true, None) | (false, _) => page.body,
        };
        Article::new(path, page.title, body)
    }
}

/// The headings of a page as links.
fn list(headings: &[&(u8, String, String)]) -> String {
    let mut out = String::from("<nav class=\"contents\" aria-label=\"On this page\"><ul>\n");
    for (level, id, words) in headings {
        let class = if *level == 3 { " class=\"below\"" } else { "" };
        let (id, words) = (chorus_lab::html::escape(id), chorus_lab::html::escape(words));
        out.push_str(&format!("<li{class}><a href=\"#{id}\">{words}</a></li>\n"));
    }
    out.push_str("</ul></nav>\n");
    out
}

/// A part of the contents: articles of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The title, as the contents show it.
    pub(crate) title: String,
    /// The articles in their order.
    pub(crate) articles: Vec<Article>,
    /// Articles that others of this part lead to, and that the contents leave out.
    pub(crate) beside: Vec<Article>,
}

impl Part {
    /// A part whose articles are all in the contents.
    pub(crate) fn new(title: &str, articles: Vec<Article>) -> Part {
        Part { title: title.to_owned(), articles, beside: Vec::new() }
    }
}
