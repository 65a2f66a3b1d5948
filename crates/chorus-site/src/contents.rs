//! The contents of the site: the parts and their order are those of `docs/README.md`, which people read in the source
//! tree, too. Pages that are generated join the part that they belong to.

use crate::links::{is_elsewhere, resolve};
use crate::markdown::Target;

/// The page whose lists are the contents.
pub(crate) const README: &str = "docs/README.md";

/// Pages outside `docs` that the site shows, their places in it, and their titles in the contents.
const OF_THE_PROJECT: [(&str, &str, &str); 4] = [
    ("README.md", "about.html", "About Chorus"),
    ("ARCHITECTURE.md", "architecture.html", "Architecture"),
    ("BENCHMARKS.md", "benchmarks.html", "Benchmarks"),
    ("CHANGELOG.md", "changelog.html", "Changelog"),
];

/// A part of the contents with the pages that it lists, as paths in the source tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The heading of the part.
    pub(crate) title: String,
    /// The pages in the order in which they are listed first.
    pub(crate) pages: Vec<String>,
}

/// The parts that the lists of `docs/README.md` make. Headings without links are no parts.
pub(crate) fn listed(readme: &str) -> Vec<Listed> {
    let mut parts: Vec<Listed> = Vec::new();
    for block in readme.split("\n## ").skip(1) {
        let (title, lists) = block.split_once('\n').unwrap_or((block, ""));
        let mut pages: Vec<String> = Vec::new();
        for link in lists.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let page = link.0.split('#').next().unwrap_or_default();
            let page = resolve(README, page).filter(|_| page.ends_with(".md") && !is_elsewhere(page));
            pages.extend(page.filter(|page| page.starts_with("docs/") && !pages.contains(page)));
        }
        if !pages.is_empty() {
            parts.push(Listed { title: title.trim().to_owned(), pages });
        }
    }
    parts
}

/// The place of a page or a drawing of the source tree in the site; none for files that the site does not show.
pub(crate) fn place(path: &str) -> Option<String> {
    if path == README {
        return Some("index.html".to_owned());
    }
    if let Some((_, place, _)) = OF_THE_PROJECT.iter().find(|(page, ..)| *page == path) {
        return Some((*place).to_owned());
    }
    if let Some(paper) = path.strip_prefix("papers/").and_then(|path| path.strip_suffix("/notes.md")) {
        return Some(format!("papers/{paper}.html"));
    }
    let inside = path.strip_prefix("docs/")?;
    Some(match inside.strip_suffix(".md") {
        Some(page) => format!("{page}.html"),
        None => inside.to_owned(),
    })
}

/// Where a link on a page of the source tree leads in the site.
pub(crate) fn target(page: &str, link: &str) -> Target {
    if is_elsewhere(link) || link.starts_with('#') {
        return Target::Page(link.to_owned());
    }
    let (file, anchor) = link.split_once('#').map_or((link, String::new()), |(file, it)| (file, format!("#{it}")));
    let Some(path) = resolve(page, file) else { return Target::Source(link.to_owned()) };
    match (place(&path), place(page)) {
        (Some(there), Some(here)) => Target::Page(format!("{}{anchor}", crate::links::from(&here, &there))),
        _ => Target::Source(path),
    }
}

/// The pages of the project that stand beside `docs`, in the order of the contents, with their titles.
pub(crate) fn of_the_project() -> impl Iterator<Item = (&'static str, &'static str)> {
    OF_THE_PROJECT.into_iter().map(|(page, _, title)| (page, title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_headings_that_list_pages() {
        let readme = "# Docs\n\n## One\n\n- [a](x/a.md), [b](x/b.md#c)\n- [a](x/a.md) [y](https://y.org) [z](../z.md)\n\n## Two\n\nText\n";
        let part = |title: &str, pages: &[&str]| Listed {
            title: title.to_owned(),
            pages: pages.iter().map(|page| (*page).to_owned()).collect(),
        };
        assert_eq!(listed(readme), [part("One", &["docs/x/a.md", "docs/x/b.md"])]);
    }

    #[test]
    fn links_between_files_become_links_between_pages() {
        let to = |page: &str, link: &str| target(page, link);
        assert_eq!(to("README.md", "docs/README.md#a"), Target::Page("index.html#a".to_owned()));
        assert_eq!(
            to("docs/workloads/tc.md", "../../papers/tc/notes.md"),
            Target::Page("../papers/tc.html".to_owned())
        );
        assert_eq!(to("docs/a.md", "images/b.svg"), Target::Page("images/b.svg".to_owned()));
        assert_eq!(to("docs/a.md", "../crates/b.rs"), Target::Source("crates/b.rs".to_owned()));
        assert_eq!(to("docs/a.md", "#here"), Target::Page("#here".to_owned()));
    }
}
