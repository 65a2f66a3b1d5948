//! Do pages work in a real browser? Headless Chromium opens them, points, presses and looks. Where there is none, these
//! tests say so and pass.

mod chromium;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chromium::Browser;

use crate::chorus::{Directory, chorus};

/// The greatest size of a page.
const PAGE_BYTES_MAX: u64 = 3 << 20;

/// Bars, stacked bars and lines.
const EXPERIMENT: &str = r#"
name = "small"
title = "A small experiment"
source = "none"
system = "tc"

[[matrix]]
name = "plain"
workloads = ["saxpy", "stn"]
protocols = ["no-l1", "gpu-vi", "tc-weak"]
baseline = "no-l1"

[[matrix]]
name = "leases"
workloads = ["saxpy"]
protocols = ["tc-weak-fixed"]
variant = [{ name = "short", set = ["lease.cycles=100"] }, { name = "long", set = ["lease.cycles=6400"] }]

[[figure]]
id = "1"
title = "Speed-up"
axis = "speed-up over NO-L1"
headline = true
matrices = ["plain"]
chart = "bars"
measure = "speed-up"
mean = "harmonic"
series = [{ label = "GPU-VI", protocol = "gpu-vi" }, { label = "TCW", protocol = "tc-weak" }]

[[figure]]
id = "2"
title = "Traffic"
axis = "flits relative to NO-L1"
matrices = ["plain"]
chart = "stacked-bars"
measure = "ratio"
mean = "arithmetic"
series = [{ label = "GPU-VI", protocol = "gpu-vi" }, { label = "TCW", protocol = "tc-weak" }]
part = [{ label = "LD", metric = "traffic.flits.ld" }, { label = "ST", metric = "traffic.flits.st" }]

[[figure]]
id = "3"
title = "Leases"
axis = "speed-up over NO-L1"
swept = "length of a lease"
matrices = ["plain", "leases"]
workloads = ["saxpy"]
chart = "lines"
measure = "speed-up"
mean = "harmonic"
series = [
  { label = "100", at = 100, protocol = "tc-weak-fixed", variant = "short" },
  { label = "6400", at = 6400, protocol = "tc-weak-fixed", variant = "long" },
]
"#;

/// The pages of the experiment, made once for all tests.
fn report() -> &'static Path {
    static OUT: LazyLock<(Directory, PathBuf)> = LazyLock::new(|| {
        let directory = Directory::new();
        let (small, out) = (directory.file("small.toml", EXPERIMENT), directory.join("out"));
        chorus(&format!("reproduce {} --out {}", small.display(), out.display())).expect_code(0);
        (directory, out)
    });
    &OUT.1
}

/// Opens a page in a browser of its own, lets `look` use it, and asserts that the browser met no error. Every page is
/// small enough.
pub fn with_page(page: &Path, look: impl FnOnce(&mut Browser)) {
    let size = fs::metadata(page).expect("the page exists").len();
    assert!(size < PAGE_BYTES_MAX, "{}: {size} bytes", page.display());
    let directory = Directory::new();
    let Some(mut browser) = Browser::start(&directory.join("profile")) else {
        eprintln!("there is no Chromium: pages are not tested in a browser");
        return;
    };
    browser.open(page);
    look(&mut browser);
    assert_eq!(browser.problems(), [] as [String; 0]);
}

fn with_report(look: impl FnOnce(&mut Browser)) {
    with_page(&report().join("small.html"), look);
}

/// The element of the first figure.
const FIGURE: &str = "document.getElementById('figure-1').closest('.block')";

#[test]
fn a_bar_shows_its_runs_to_pointer_and_keyboard() {
    with_report(|browser| {
        browser.hover("#figure-1 ~ figure [data-bar='1.0']");
        let card = browser.text("document.querySelector('.card').innerText");
        for part in
            ["stn, GPU-VI", "speed-up over NO-L1", "cycles", "chorus run --system tc --protocol gpu-vi --workload stn"]
        {
            assert!(card.contains(part), "no `{part}`: {card}");
        }
        browser.hover("h1");
        browser.run(&format!("{FIGURE}.querySelector('[data-bar=\"0.0\"]').focus()"));
        browser.press("ArrowRight");
        assert!(browser.text("document.activeElement.getAttribute('aria-label')").contains("saxpy, TCW"));
        browser.press("Enter");
        assert!(browser.text("document.querySelector('.card').innerText").contains("saxpy, TCW"));
        browser.press("Escape");
        assert_eq!(browser.number("+document.querySelector('.card').hidden"), 1.0);
    });
}

#[test]
fn names_of_the_legend_hide_bars_parts_and_lines() {
    with_report(|browser| {
        for (figure, hidden) in [(1, ".bar[hidden]"), (2, ".part[hidden]"), (3, ".line-of[hidden]")] {
            let block = format!("document.getElementById('figure-{figure}').closest('.block')");
            let hidden = format!("{block}.querySelectorAll('{hidden}').length");
            let before = browser.ink(&format!("#figure-{figure} ~ figure .scroll"));
            browser.run(&format!("{block}.querySelector('.names button').click()"));
            assert!(browser.number(&hidden) > 0.0, "figure {figure}");
            let after = browser.ink(&format!("#figure-{figure} ~ figure .scroll"));
            assert!(after < before, "figure {figure}: {before} before, {after} after");
            browser.run(&format!("{block}.querySelector('.names button').click()"));
            assert_eq!(browser.number(&hidden), 0.0, "figure {figure}");
        }
    });
}

#[test]
fn workloads_are_sorted_and_the_axis_becomes_logarithmic() {
    with_report(|browser| {
        let place =
            |group: usize| format!("{FIGURE}.querySelector('[data-group=\"{group}\"]').getBoundingClientRect().left");
        let [first, second] = [0, 1].map(|group| browser.number(&place(group)));
        assert!(first < second);
        browser.run(&format!(
            "const order = {FIGURE}.querySelector('select'); order.value = 'name'; order.dispatchEvent(new Event('change'))"
        ));
        assert!(browser.number(&place(0)) < browser.number(&place(1)), "saxpy stands before stn by name, too");
        let height =
            "Math.round(document.querySelector('#figure-1 ~ figure [data-bar=\"0.0\"] rect').getBBox().height)";
        let linear = browser.number(height);
        browser.run(&format!(
            "[...{FIGURE}.querySelectorAll('.tools button')].find((it) => it.textContent === 'Log scale').click()"
        ));
        assert_ne!(browser.number(height), linear);
        let invalid =
            "document.querySelectorAll('[y=\"NaN\"], [height=\"NaN\"], [points*=\"NaN\"], [d*=\"NaN\"]').length";
        assert_eq!(browser.number(invalid), 0.0);
    });
}

#[test]
fn figures_are_saved_as_csv_and_svg() {
    with_report(|browser| {
        let directory = Directory::new();
        browser.save_into(&directory.join(""));
        for name in ["CSV", "SVG"] {
            browser.run(&format!(
                "[...{FIGURE}.querySelectorAll('.tools button')].find((it) => it.textContent === '{name}').click()"
            ));
        }
        let csv = Browser::wait_for_file(&directory.join("small-figure-1.csv"));
        assert!(csv.starts_with("group,series,part,value,"), "{csv}");
        assert!(csv.contains("chorus run --system tc --protocol tc-weak --workload stn"), "{csv}");
        let svg = Browser::wait_for_file(&directory.join("small-figure-1.svg"));
        assert!(svg.contains("<svg") && svg.contains("GPU-VI") && svg.contains("--ink:"), "{svg}");
    });
}

#[test]
fn runs_are_searched_sorted_and_linked() {
    with_report(|browser| {
        browser.run("const field = document.querySelector('.search input'); field.value = 'saxpy tc-weak-fixed'; field.dispatchEvent(new Event('input'))");
        assert_eq!(
            browser
                .number("[...document.querySelectorAll('details.runs tbody tr')].filter((row) => !row.hidden).length"),
            2.0
        );
        browser.run("document.querySelector('details.runs').open = false; location.hash = '#run-0'");
        browser.settle();
        assert_eq!(
            browser.number("+document.querySelector('details.runs').open"),
            1.0,
            "a link opens what hides its target"
        );
        let broken = "[...document.querySelectorAll('a[href^=\"#\"]')].filter((link) => !document.getElementById(link.hash.slice(1))).length";
        assert_eq!(browser.number(broken), 0.0);
        browser.run(
            "[...document.querySelectorAll('details.runs .sorter')].find((it) => it.textContent === 'Cycles').click()",
        );
        assert_eq!(browser.text("document.querySelector('details.runs th[aria-sort]').innerText").trim(), "Cycles");
    });
}

#[test]
fn pages_fit_a_phone_and_turn_dark() {
    with_report(|browser| {
        let light = browser.text("getComputedStyle(document.body).backgroundColor");
        browser.resize(360, 740);
        assert!(browser.number("document.documentElement.scrollWidth") <= 360.0, "the page is wider than a phone");
        let cut = "[...document.querySelectorAll('.names li')].filter((it) => it.getBoundingClientRect().right > innerWidth).length";
        assert_eq!(browser.number(cut), 0.0, "names of legends are cut");
        browser.prefer("dark");
        let dark = browser.text("getComputedStyle(document.body).backgroundColor");
        assert_ne!(dark, light);
        browser.run("document.querySelector('.theme').click()");
        assert_eq!(
            browser.text("getComputedStyle(document.body).backgroundColor"),
            light,
            "the reader's choice counts"
        );
    });
}

#[test]
fn the_index_leads_to_its_pages() {
    with_page(&report().join("index.html"), |browser| {
        assert_eq!(
            browser.text("document.querySelector('.paper h2').innerText.replace('#', '').trim()"),
            "A small experiment"
        );
        browser.run("document.querySelector('.paper h2 a').click()");
        browser.settle();
        assert!(browser.text("location.pathname").ends_with("small.html"));
    });
}

#[test]
fn a_protocol_can_be_played_with() {
    let directory = Directory::new();
    let page = directory.join("gpu-vi.html");
    chorus(&format!("table gpu-vi --html {}", page.display())).expect_code(0);
    with_page(&page, |browser| {
        let moves = "document.querySelectorAll('.moves button').length";
        let states = "[...document.querySelectorAll('.state-name')].map((it) => it.textContent).join(' ')";
        let (start, choices) = (browser.text(states), browser.number(moves));
        assert!(choices > 1.0, "{choices}");
        browser.run("document.querySelector('.moves button').click()");
        assert_ne!(browser.text(states), start, "an operation changes a state");
        browser.run("document.querySelector('[data-tool=settle]').click()");
        assert!(
            browser.number("document.querySelectorAll('.sequence .event').length") >= 3.0,
            "request, answer, result"
        );
        browser.run("document.querySelector('[data-tool=again]').click()");
        assert_eq!(browser.text(states), start);
        assert!(browser.ink(".diagram") > 500.0);
    });
}

#[test]
fn a_violation_is_stepped_through() {
    let directory = Directory::new();
    let page = directory.join("violation.html");
    chorus(&format!("check gpu-vi --fault stale-refill --html {}", page.display())).expect_code(1);
    with_page(&page, |browser| {
        let events = "document.querySelectorAll('.sequence .event').length";
        assert_eq!(browser.number(events), 1.0);
        browser.press("ArrowRight");
        assert_eq!(browser.number(events), 2.0);
        browser.run("document.querySelector('[data-tool=last]').click()");
        assert!(browser.text("document.querySelector('#steps .bad').innerText").contains("violated"));
    });
}
