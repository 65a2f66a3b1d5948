//! `chorus docs`: does the site work in a real browser, from disk, and are its errors good?

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::browser::with_page;
use crate::chorus::{Directory, chorus};

/// The site without machines to play with, made once for all tests.
fn site() -> &'static Path {
    static OUT: LazyLock<(Directory, PathBuf)> = LazyLock::new(|| {
        let directory = Directory::new();
        let out = directory.join("site");
        let said =
            chorus(&format!("docs --quick --check --no-open --json --out {}", out.display())).expect_code(0).json();
        assert_eq!(said["index"], out.join("index.html").display().to_string());
        assert_eq!(said["broken_links"].as_array().map(Vec::len), Some(0));
        assert!(said["pages"].as_u64() > Some(90), "{said}");
        (directory, out)
    });
    &OUT.1
}

#[test]
fn the_commands_are_those_of_the_help() {
    let page = std::fs::read_to_string(site().join("reference/commands.html")).expect("the page was written");
    let help = chorus("--help").expect_code(0).stdout;
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    assert!(verbs.contains(&"docs"), "{help}");
    for verb in verbs.into_iter().filter(|verb| !["help", ""].contains(verb)) {
        assert!(page.contains(&format!("<h2 id=\"{verb}\">chorus {verb}</h2>")), "{verb}");
    }
    assert!(page.contains("<span id=\"run--workload\">"), "options are places that links lead to");
}

#[test]
fn the_search_field_finds_keys_pages_and_options() {
    with_page(&site().join("protocols/gpu-vi.html"), |browser| {
        for (words, found) in [
            ("l1.size_bytes", "systems/"),
            ("gpu-vi acknowledged", "protocols/gpu-vi.html"),
            ("--workload", "reference/commands.html#"),
            ("Read a counterexample", "tutorials/read-a-counterexample.html"),
        ] {
            browser.run(&format!(
                "const field = document.querySelector('.find input'); field.value = '{words}'; field.dispatchEvent(new Event('input'))"
            ));
            let first = "new Promise((done) => { const look = () => { const link = document.querySelector('.found a'); \
                         const marked = [...document.querySelectorAll('.found a')].map((it) => it.getAttribute('href')).join(' '); \
                         if (link && document.querySelector('.spoken').textContent.endsWith('results')) done(marked); else setTimeout(look, 20); }; look(); })";
            let links = browser.text(first);
            assert!(links.contains(found), "{words}: {links}");
            browser.run("document.querySelector('.found').replaceChildren(); document.querySelector('.spoken').textContent = ''");
        }
    });
}

#[test]
fn a_page_leads_to_the_next_and_to_a_result() {
    with_page(&site().join("index.html"), |browser| {
        browser.run("document.querySelector('.turns .next').click()");
        browser.settle();
        assert!(browser.text("location.pathname").ends_with("about.html"));
        browser.run("document.querySelector('.book a[href$=\"systems/tc.html\"]').click()");
        browser.settle();
        assert_eq!(browser.text("document.querySelector('h1').innerText"), "tc");
        assert_eq!(browser.text("document.querySelector('.book details[open] summary').innerText"), "Systems");
    });
}

#[test]
fn pages_fit_a_phone_and_turn_dark() {
    for page in
        ["index.html", "protocols/gpu-vi.html", "systems/h200.html", "papers/tc.html", "reference/commands.html"]
    {
        with_page(&site().join(page), |browser| {
            let light = browser.text("getComputedStyle(document.body).backgroundColor");
            browser.resize(360, 740);
            let width = browser.number("document.documentElement.scrollWidth");
            assert!(width <= 360.0, "{page} is {width} pixels wide on a phone");
            let shown = "getComputedStyle(document.querySelector('.book')).display";
            assert_eq!(browser.text(shown), "none", "the contents give way to the page");
            browser.run("document.querySelector('.bar label').click()");
            assert_eq!(browser.text(shown), "block", "the contents come when they are asked for");
            browser.prefer("dark");
            assert_ne!(browser.text("getComputedStyle(document.body).backgroundColor"), light);
        });
    }
}

#[test]
fn a_site_that_cannot_be_written_is_refused() {
    let directory = Directory::new();
    let file = directory.file("file", "");
    let out = file.join("site");
    chorus(&format!("docs --quick --no-open --out {}", out.display()))
        .expect_code(2)
        .expect_error(&["cannot write", "choose a directory that can be written"]);
}
