//! Do pages work in a real browser? Headless Chromium opens them, points, presses and looks. Where there is none, these
//! tests say so and pass.

mod chromium;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use chromium::Browser;

use crate::chorus::{Directory, LEASES, chorus};
use crate::validate::validate;

/// The greatest size of a page.
const PAGE_BYTES_MAX: u64 = 3 << 20;

/// Bars, stacked bars with and without seeds, latency and lines, without the runs of [`LEASES`].
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
name = "jittered"
workloads = ["saxpy"]
protocols = ["no-l1", "gpu-vi"]
seeds = [1, 2, 3]
jitter = 4

[[matrix]]
name = "observed"
workloads = ["stn"]
protocols = ["no-l1", "gpu-vi"]
observed = true

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
id = "2-seeds"
title = "Traffic of several seeds"
axis = "flits relative to NO-L1"
matrices = ["jittered"]
chart = "stacked-bars"
measure = "ratio"
baseline = "no-l1"
mean = "arithmetic"
series = [{ label = "GPU-VI", protocol = "gpu-vi" }]
part = [{ label = "LD", metric = "traffic.flits.ld" }, { label = "ST", metric = "traffic.flits.st" }]

[[figure]]
id = "why"
title = "What accesses wait for"
axis = "cycles of latency relative to NO-L1"
beside_headline = true
matrices = ["observed"]
chart = "stacked-bars"
measure = "latency"
baseline = "no-l1"
mean = "arithmetic"
show = "workloads"
series = [{ label = "NO-L1", protocol = "no-l1" }, { label = "GPU-VI", protocol = "gpu-vi" }]

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
        let (small, out) = (directory.file("small.toml", &[EXPERIMENT, LEASES].concat()), directory.join("out"));
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
fn a_bar_leads_to_what_its_accesses_waited_for() {
    with_report(|browser| {
        browser.hover("#figure-1 ~ figure [data-bar='1.0']");
        browser.run("document.querySelector('[data-bar=\"1.0\"]').dispatchEvent(new Event('click'))");
        browser.run("document.querySelector('.card a[href=\"#figure-why\"]').click()");
        browser.settle();
        let waited = browser.text("document.querySelector('.card').innerText");
        for part in ["stn, GPU-VI", "cycles of latency relative to NO-L1", "memory", "chorus why", "--aggregate"] {
            assert!(waited.contains(part), "no `{part}`: {waited}");
        }
        // A run that nobody observed has the command instead.
        browser.hover("#figure-1 ~ figure [data-bar='0.1']");
        let command = browser.text("document.querySelector('.card details').textContent");
        assert!(
            command.contains("chorus why --system tc --protocol tc-weak --workload saxpy --aggregate"),
            "{command}"
        );
    });
}

#[test]
fn parts_of_bars_have_errors_where_there_are_seeds() {
    with_report(|browser| {
        browser.hover("#figure-2-seeds ~ figure [data-bar='0.0']");
        let card = browser.text("document.querySelector('.card').innerText");
        assert!(card.contains("LD") && card.contains(" ± ") && card.contains("3 seeds"), "{card}");
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

/// The page turns dark and fits a phone, and every table with many rows can be sorted and saved.
fn behaves(browser: &mut Browser) {
    let light = browser.text("getComputedStyle(document.body).backgroundColor");
    browser.prefer("dark");
    assert_ne!(browser.text("getComputedStyle(document.body).backgroundColor"), light);
    browser.prefer("light");
    browser.resize(360, 740);
    assert!(browser.number("document.documentElement.scrollWidth") <= 360.0, "the page is wider than a phone");
    browser.resize(1200, 800);
    assert!(browser.number("document.querySelectorAll('.sorter').length") > 0.0);
    let directory = Directory::new();
    browser.save_into(&directory.join(""));
    let button = "[...document.querySelectorAll('.tools button')].find((it) => it.textContent === 'CSV')";
    let name = browser.text(&format!("{button}.getAttribute('aria-label').split(': ').at(-1)"));
    if name.ends_with(".csv") {
        browser.run(&format!("{button}.click()"));
        assert!(Browser::wait_for_file(&directory.join(&name)).lines().count() > 4, "{name}");
    }
    let broken = "[...document.querySelectorAll('a[href^=\"#\"]')].filter((link) => !document.getElementById(link.hash.slice(1))).length";
    assert_eq!(browser.number(broken), 0.0);
}

/// A mark of the page shows its title to pointer and keyboard.
fn answers(browser: &mut Browser, marks: &str, says: &str) {
    browser.hover(marks);
    let card = browser.text("document.querySelector('.card').innerText");
    assert!(card.contains(says), "no `{says}`: {card}");
    browser.hover("h1");
    browser.run(&format!("document.querySelector({marks:?}).focus()"));
    let before = browser.text("document.activeElement.getAttribute('aria-label')");
    browser.press("ArrowRight");
    assert_ne!(browser.text("document.activeElement.getAttribute('aria-label')"), before);
    browser.press("Escape");
}

#[test]
fn the_page_of_a_run_shows_counters_over_time() {
    let directory = Directory::new();
    let page = directory.join("run.html");
    let notes = "--every 1000 --distributions --sharing";
    chorus(&format!("run --system tc --protocol gpu-vi --workload saxpy {notes} --html {}", page.display()))
        .expect_code(0);
    with_page(&page, |browser| {
        let figure = "document.querySelector('figure.series[data-counter=\"l1.accesses\"]')";
        assert!(browser.ink("figure.series[data-counter='l1.accesses'] svg") > 300.0);
        browser.hover("figure.series[data-counter='l1.accesses'] svg");
        let says = format!("{figure}.querySelector('output').textContent");
        let middle = browser.text(&says);
        assert!(middle.contains(" in cycles "), "{middle}");
        browser.run(&format!("{figure}.querySelector('svg').focus()"));
        browser.press("Home");
        assert!(browser.text(&says).ends_with("in cycles 0 to 1,000"), "{}", browser.text(&says));
        browser.run("const field = document.querySelector('.search input'); field.value = 'dram'; field.dispatchEvent(new Event('input'))");
        assert_eq!(browser.number(&format!("+{figure}.hidden")), 1.0);
        answers(browser, "#latencies ~ .figures svg g", "accesses");
        behaves(browser);
    });
}

#[test]
fn the_page_of_latencies_hides_parts() {
    let directory = Directory::new();
    let page = directory.join("why.html");
    let why = "why --system tc --protocol gpu-vi --workload saxpy --against no-l1 --html";
    chorus(&format!("{why} {}", page.display())).expect_code(0);
    with_page(&page, |browser| {
        browser.hover("[data-bar='0.0']");
        let card = browser.text("document.querySelector('.card').innerText");
        assert!(card.contains("loads, gpu-vi") && card.contains("core cycles") && card.contains("memory"), "{card}");
        browser.hover("h1");
        let before = browser.ink(".block .scroll");
        browser.run("document.querySelector('.names button').click()");
        assert_ne!(browser.ink(".block .scroll"), before);
        behaves(browser);
    });
}

#[test]
fn comparisons_checks_and_validations_answer_too() {
    let directory = Directory::new();
    let out = directory.join("out");
    let compare = "compare --systems tc --protocols no-l1,gpu-vi --workloads saxpy,stn";
    chorus(&format!("{compare} --out {}", out.display())).expect_code(0);
    with_page(&out.join("comparison.html"), |browser| {
        answers(browser, "td[data-answers]", "saxpy, ");
        behaves(browser);
    });
    chorus(&format!("check --all no-l1 --quick --mutants 1 --out {}", out.display())).expect_code(0);
    with_page(&out.join("proof.html"), behaves);
    validate(&directory, "").expect_code(1);
    let page = fs::read_dir(directory.join("out")).expect("pages").flatten().map(|entry| entry.path());
    let page = page.into_iter().find(|path| path.display().to_string().contains("validation-"));
    with_page(&page.expect("a page"), |browser| {
        answers(browser, "figure svg g", "measured");
        behaves(browser);
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
