//! The documentation of Chorus as a site: the pages of `docs/`, pages that are generated from a registry, contents,
//! search, and links from each page to the next. It is made of files that a browser opens from disk.
//!
//! Everything is in this crate, so that an installed program can show its own documentation: the build script packs the
//! pages, and the reference comes from the registry that the program runs with. So protocols, workloads and systems
//! that a crate of one's own adds are on the site, too.
//!
//! | file | subject |
//! |---|---|
//! | `source.rs` | the written pages, packed into the program |
//! | `contents.rs` | parts and their pages, as `docs/README.md` lists them |
//! | `markdown.rs` | a written page becomes an article |
//! | `generated/` | pages that are generated |
//! | `article.rs` | one page without what is around it |
//! | `frame.rs`, `look/` | the bar, the contents and the search field around an article |
//! | `links.rs` | links between pages, and those that lead nowhere |
//! | `search.rs` | the index of the search field |
//! | `markup.rs` | HTML taken apart |

mod article;
mod contents;
mod frame;
mod generated;
mod links;
mod markdown;
mod markup;
mod search;
mod source;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use chorus_lab::document::DocumentError;
use chorus_proof::Steps;
use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;
use chorus_system::SystemError;

use crate::article::{Article, Part};
use crate::contents::{README, listed, of_the_project, place, target};
pub use crate::generated::commands::{Command, CommandOption};
use crate::generated::protocols::{self, Explored};
use crate::generated::{commands, gallery, metrics, papers, systems, workloads};
use crate::markdown::render;

/// The first page of a site.
pub const INDEX: &str = "index.html";

/// The reason why a site cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A protocol breaks a rule on the machine that its page would show.
    #[error("{protocol} breaks a rule: {violation}; `chorus check {protocol}` shows how")]
    BrokenProtocol {
        /// The name of the protocol.
        protocol: &'static str,
        /// The rule that it breaks.
        violation: String,
    },
    /// A system of the registry cannot be resolved.
    #[error(transparent)]
    System(#[from] SystemError),
    /// An experiment of the registry cannot be read.
    #[error(transparent)]
    Experiment(#[from] DocumentError),
    /// A file of the site cannot be written.
    #[error("cannot write {}: {reason}; choose a directory that can be written", path.display())]
    Unwritable {
        /// The path of the file.
        path: PathBuf,
        /// The reason as the system gives it.
        reason: String,
    },
}

/// A site that is ready to be written.
#[derive(Clone, Debug, Default)]
pub struct Site {
    parts: Vec<Part>,
    drawings: BTreeMap<String, &'static [u8]>,
}

impl Site {
    /// Makes every page. The protocols of `machines` are explored for a page with a machine to play with, which is a
    /// step each and takes nearly all of the time.
    pub fn make(
        registry: &Registry,
        verbs: &[Command],
        machines: &[&'static dyn Protocol],
        steps: &dyn Steps,
    ) -> Result<Site, SiteError> {
        let explored: Vec<Explored> =
            machines.iter().map(|protocol| protocols::explore(*protocol, steps)).collect::<Result<_, _>>()?;
        let results = papers::read(registry)?;
        let mut parts = written();
        let mut front = vec![rendered(README)];
        front.extend(of_the_project().map(|(page, title)| Article { title: title.to_owned(), ..rendered(page) }));
        parts.insert(0, Part::new("Chorus", front));
        part(&mut parts, "Results").articles.extend(results.iter().map(papers::Results::page));
        add_protocols(part(&mut parts, "Protocols"), registry, &explored);
        part(&mut parts, "Workloads").articles.insert(0, workloads::page(registry));
        parts.push(systems::part(registry)?);
        let gallery = gallery::page(&results, &explored);
        parts.push(Part::new("Reference", vec![commands::page(verbs), metrics::page(registry), gallery]));
        let drawings = source::files().into_iter().filter(|(path, _)| !path.ends_with(".md"));
        Ok(Site { parts, drawings: drawings.filter_map(|(path, file)| Some((place(path)?, file))).collect() })
    }

    /// Writes the site into a directory, and returns the path of its first page.
    pub fn write(&self, directory: &Path) -> Result<PathBuf, SiteError> {
        for article in self.articles() {
            let body = frame::body(article, &self.parts);
            write_file(&directory.join(&article.path), frame::page(article, &body).as_bytes())?;
        }
        let in_contents = self.parts.iter().flat_map(|part| &part.articles);
        write_file(&directory.join(search::INDEX), search::index(in_contents).as_bytes())?;
        for (path, drawing) in &self.drawings {
            write_file(&directory.join(path), drawing)?;
        }
        Ok(directory.join(INDEX))
    }

    /// The number of pages.
    pub fn pages(&self) -> usize {
        self.articles().count()
    }

    /// The paths of all pages.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.articles().map(|article| article.path.as_str())
    }

    /// Links that lead to no page, no drawing and no anchor, and pages of the same path, each as a sentence.
    pub fn broken_links(&self) -> Vec<String> {
        let bodies: Vec<(&str, String)> =
            self.articles().map(|article| (article.path.as_str(), frame::body(article, &self.parts))).collect();
        let pages: BTreeMap<&str, &str> = bodies.iter().map(|(path, body)| (*path, body.as_str())).collect();
        let drawings: BTreeSet<&str> = self.drawings.keys().map(String::as_str).collect();
        let mut complaints = links::broken(&pages, &drawings);
        if pages.len() != bodies.len() {
            complaints.push(format!("{} pages have {} paths", bodies.len(), pages.len()));
        }
        complaints
    }

    fn articles(&self) -> impl Iterator<Item = &Article> {
        self.parts.iter().flat_map(|part| part.articles.iter().chain(&part.beside))
    }
}

/// The text of the page whose lists are the contents.
fn readme() -> String {
    source::files().get(README).map(|contents| String::from_utf8_lossy(contents).into_owned()).unwrap_or_default()
}

/// The parts of written pages.
fn written() -> Vec<Part> {
    let pages = |pages: Vec<String>| pages.iter().map(|page| rendered(page)).collect();
    listed(&readme()).into_iter().map(|part| Part::new(&part.title, pages(part.pages))).collect()
}

/// The article of a written page. Pages that do not exist are empty, which the check of links finds.
fn rendered(page: &str) -> Article {
    let files = source::files();
    let text = files.get(page).map(|contents| String::from_utf8_lossy(contents)).unwrap_or_default();
    let path = place(page).unwrap_or_else(|| page.to_owned());
    Article::rendered(path, render(&text, |link| target(page, link)))
}

/// The part of a title, which is added at the end if there is none.
fn part<'a>(parts: &'a mut Vec<Part>, title: &str) -> &'a mut Part {
    let at = parts.iter().position(|part| part.title == title).unwrap_or_else(|| {
        parts.push(Part::new(title, Vec::new()));
        parts.len() - 1
    });
    &mut parts[at]
}

/// Adds the list of protocols, pages of those that no written page describes, and the machines.
fn add_protocols(part: &mut Part, registry: &Registry, explored: &[Explored]) {
    for protocol in registry.protocols() {
        let path = protocols::path(*protocol);
        let explored = explored.iter().find(|explored| explored.protocol.name() == protocol.name());
        if !part.articles.iter().any(|article| article.path == path) {
            part.articles.push(protocols::page(*protocol, explored));
        }
        if let Some(explored) = explored {
            let page = part.articles.iter_mut().filter(|article| article.path == path);
            page.for_each(|article| explored.show_the_way(article));
            part.beside.push(explored.machine.clone());
        }
    }
    part.articles.insert(0, protocols::list(registry, explored));
}

fn write_file(path: &Path, contents: &[u8]) -> Result<(), SiteError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, contents))
        .map_err(|error| SiteError::Unwritable { path: path.to_owned(), reason: error.to_string().to_lowercase() })
}
