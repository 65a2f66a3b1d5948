//! Links between the pages of the site: how one is written, and those that lead nowhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::markup::{Piece, pieces, plain};

/// The way from the folder of one page to a file of the site.
pub(crate) fn from(page: &str, file: &str) -> String {
    format!("{}{file}", "../".repeat(page.matches('/').count()))
}

/// The path that a relative link on a page means: folders are left and entered; none where it leaves the root.
pub(crate) fn resolve(page: &str, link: &str) -> Option<String> {
    let mut folders: Vec<&str> = page.split('/').collect();
    folders.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = folders.pop()?,
            name => folders.push(name),
        }
    }
    Some(folders.join("/"))
}

/// Whether a link leads to another site.
pub(crate) fn is_elsewhere(link: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| link.starts_with(scheme))
}

/// The links of the pages that lead to no page, no file and no anchor, each as a sentence. `pages` are markups by path,
/// `files` are the paths of everything else.
pub(crate) fn broken(pages: &BTreeMap<&str, &str>, files: &BTreeSet<&str>) -> Vec<String> {
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|(path, markup)| (*path, anchors(markup))).collect();
    let mut complaints = Vec::new();
    for (page, markup) in pages {
        for link in targets(markup).filter(|link| !is_elsewhere(link)) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if file.is_empty() { Some((*page).to_owned()) } else { resolve(page, file) };
            let found = path.as_deref().and_then(|path| anchors.get(path));
            if found.is_none() && !path.as_deref().is_some_and(|path| files.contains(path)) {
                complaints.push(format!("{page}: `{link}` leads to no page"));
            } else if !anchor.is_empty() && !found.is_some_and(|anchors| anchors.contains(anchor)) {
                complaints.push(format!("{page}: `{link}` leads to no anchor"));
            }
        }
    }
    complaints
}

/// Where the links and drawings of a markup point.
fn targets(markup: &str) -> impl Iterator<Item = String> {
    pieces(markup).filter_map(|piece| match piece {
        Piece::Open(tag) if tag.name == "a" => tag.attribute("href").map(plain),
        Piece::Open(tag) if tag.name == "img" => tag.attribute("src").map(plain),
        Piece::Open(_) | Piece::Text(_) | Piece::Close(_) => None,
    })
}

/// The anchors of a markup.
fn anchors(markup: &str) -> BTreeSet<String> {
    let id = |piece: Piece<'_>| match piece {
        Piece::Open(tag) => tag.attribute("id").map(plain),
        Piece::Text(_) | Piece::Close(_) => None,
    };
    pieces(markup).filter_map(id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_to_the_folder_of_their_page() {
        assert_eq!(from("protocols/mesi.html", "index.html"), "../index.html");
        assert_eq!(from("index.html", "protocols/mesi.html"), "protocols/mesi.html");
        assert_eq!(resolve("docs/protocols/mesi.md", "../concepts/a.md").as_deref(), Some("docs/concepts/a.md"));
        assert_eq!(resolve("docs/a.md", "../../b.md"), None);
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let a = "<h1 id=\"top\">A</h1><a href=\"b/c.html#here\">good</a><a href=\"#top\">good</a><a href=\"https://x.org\">x</a>";
        let c =
            "<p id=\"here\"><a href=\"../a.html#gone\">bad</a><a href=\"d.html\">bad</a><img src=\"../e.png\"/></p>";
        let pages = BTreeMap::from([("a.html", a), ("b/c.html", c)]);
        let complaints = broken(&pages, &BTreeSet::from(["e.png"]));
        assert_eq!(
            complaints,
            ["b/c.html: `../a.html#gone` leads to no anchor", "b/c.html: `d.html` leads to no page"]
        );
    }
}
