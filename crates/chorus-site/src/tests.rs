//! Is every written page on the site once, does every link lead somewhere, and are pages well-formed?

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use chorus_protocol::registry::find;

use super::*;

/// Counts the steps of a site.
#[derive(Default)]
struct Counted(AtomicUsize);

impl Steps for Counted {
    fn begin(&self, _: &str) {}

    fn finish(&self, _: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The site with two machines to play with, made once for all tests.
fn site() -> &'static Site {
    static SITE: LazyLock<Site> = LazyLock::new(|| {
        let option =
            CommandOption { form: "--all".to_owned(), meaning: "Do all".to_owned(), ..CommandOption::default() };
        let verb = Command { name: "do".to_owned(), options: vec![option], ..Command::default() };
        let machines = ["no-l1", "no-coh"].map(|name| find(name).unwrap());
        let steps = Counted::default();
        let site = Site::make(&Registry::standard(), &[verb], &machines, &steps).unwrap();
        assert_eq!(steps.0.into_inner(), 2);
        site
    });
    &SITE
}

#[test]
fn every_link_leads_to_a_page_and_an_anchor() {
    assert_eq!(site().broken_links(), [] as [String; 0]);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let mut site = site().clone();
    let article = Article::new("x/y.html", "Y", "<p><a href=\"../nowhere.html\">z</a></p>".to_owned());
    site.parts[0].articles.push(article);
    assert_eq!(site.broken_links(), ["x/y.html: `../nowhere.html` leads to no page"]);
}

#[test]
fn every_written_page_is_listed_once() {
    let listed: Vec<String> = listed(&readme()).into_iter().flat_map(|part| part.pages).collect();
    let files = source::files();
    let written: BTreeSet<&str> = files.keys().filter(|path| path.starts_with("docs/")).copied().collect();
    let written = written.into_iter().filter(|path| path.ends_with(".md") && *path != README);
    for page in written {
        let times = listed.iter().filter(|other| *other == page).count();
        assert_eq!(times, 1, "{page} is listed {times} times in {README}");
    }
}

#[test]
fn everything_of_the_registry_has_its_page() {
    let site = site();
    let paths: BTreeSet<&str> = site.paths().collect();
    let registry = Registry::standard();
    let expect = |folder: &str, names: Vec<&str>| {
        for name in names {
            assert!(paths.contains(format!("{folder}/{name}.html").as_str()), "{folder}/{name}.html");
        }
    };
    expect("protocols", registry.protocol_names());
    expect("systems", registry.system_names());
    expect("papers", registry.experiment_names());
    expect("machines", vec!["no-l1", "no-coh"]);
    let workloads = site.articles().find(|article| article.path == "workloads/all.html").unwrap();
    for name in registry.workload_names() {
        assert!(workloads.body.contains(&format!("<h3 id=\"{name}\">")), "{name}");
    }
}

#[test]
fn elements_end_in_the_order_in_which_they_begin() {
    use crate::markup::{Piece, pieces};
    for article in site().articles() {
        let (mut open, body) = (Vec::new(), frame::body(article, &site().parts));
        for piece in pieces(&body) {
            match piece {
                // Tables of transitions break lines as HTML does.
                Piece::Open(tag) if !tag.is_whole && tag.name != "br" => open.push(tag.name),
                Piece::Close(name) => assert_eq!(open.pop(), Some(name), "{}", article.path),
                Piece::Open(_) | Piece::Text(_) => {}
            }
        }
        assert_eq!(open, [] as [&str; 0], "{}", article.path);
    }
}

#[test]
fn a_protocol_without_a_written_page_gets_one() {
    let protocol = find("no-l1").unwrap();
    let page = protocols::page(protocol, None);
    assert_eq!(page.path, "protocols/no-l1.html");
    assert!(page.body.contains(protocol.summary()) && page.body.contains(protocol.faults()[0].name), "{}", page.body);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let file = std::env::temp_dir().join(format!("chorus-site-{}", std::process::id()));
    fs::write(&file, "").unwrap();
    let error = Site::default().write(&file.join("site")).unwrap_err().to_string();
    fs::remove_file(&file).unwrap();
    assert!(error.starts_with("cannot write ") && error.ends_with("choose a directory that can be written"), "{error}");
}
