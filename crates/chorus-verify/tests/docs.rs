//! Do the pages of the documentation say what the code does? Everything in them that code can tell is generated and
//! compared.

use chorus_litmus::model::Model;
use chorus_protocol::message::{Channel, MessageSpec, Size};
use chorus_protocol::registry::{PROTOCOLS, Promise, Protocol, find};
use chorus_verify::check::{Verdict, check, configurations, find_configuration, quick_configurations};
use chorus_verify::faults::find_fault;
use chorus_verify::litmus;
use chorus_verify::networks::describe;

use crate::explored;
use crate::markdown::table;
use crate::pages::Page;

fn page_of(protocol: &dyn Protocol) -> Page {
    Page::read(&format!("docs/protocols/{}.md", protocol.name()))
}

fn promise(promise: Promise) -> &'static str {
    match promise {
        Promise::SingleWriter => "single writer: no readable private copy ever differs from its home",
        Promise::SingleOwner => {
            "single owner: a private copy that has been written is the only readable one, and any other equals its home"
        }
        Promise::Inclusion => "inclusion: every readable private copy is resident at its home, which knows of it",
        Promise::Tracking => {
            "tracking: once nothing is in flight, directories track every readable copy in a shared bank up to its home, which holds the same"
        }
        Promise::Ownership => {
            "ownership: once nothing is in flight, no word has two owners, the shared cache knows exactly which words are owned, and shared copies equal what it holds"
        }
        Promise::Progress => {
            "progress: once nothing is in flight, loads of system scope find what was written last, released or not"
        }
        Promise::MultiCopyAtomicity => {
            "multi-copy atomicity: all threads see a strong write at the same moment, at the home of its line"
        }
        Promise::ReleaseAtHomes => {
            "releases at homes: a release ends when its writes are performed at the homes of their lines and nobody has older copies"
        }
        Promise::Communication => "communication: writes of one work-group reach others within a kernel",
    }
}

fn declaration(protocol: &dyn Protocol) -> String {
    let promises: Vec<&str> = protocol.promises().iter().copied().map(promise).collect();
    let promises = if promises.is_empty() { "none".to_owned() } else { promises.join("; ") };
    let rows = [
        ("name", format!("`{}`", protocol.name())),
        ("summary", protocol.summary().to_owned()),
        ("source", protocol.citation().to_owned()),
        ("memory model", protocol.model().name().to_owned()),
        ("promises", promises),
        ("virtual networks", protocol.virtual_networks().to_string()),
    ];
    table(["", ""], rows.map(|(key, value)| [key.to_owned(), value]))
}

fn messages(protocol: &dyn Protocol) -> String {
    let row = |spec: &MessageSpec| {
        let channel = match spec.channel {
            Channel::Virtual(network) => format!("virtual network {network}"),
            Channel::Memory => "bank to memory channel and back".to_owned(),
            Channel::Instant => "instant, not counted".to_owned(),
        };
        let size = match spec.size {
            Size::Control => "header",
            Size::Line => "header and line",
            Size::Masked => "header and the bytes concerned",
        };
        [format!("`{}`", spec.name), channel, size.to_owned(), spec.class.label().to_owned()]
    };
    table(["message", "travels on", "size", "class"], protocol.messages().iter().map(row))
}

/// The cells of a page's row from number `skipped` on.
pub fn written<const N: usize>(block: Option<&str>, name: &str, skipped: usize) -> Option<[String; N]> {
    let row = block?.lines().find(|row| row.starts_with(&format!("| `{name}` |")))?;
    let cells: Vec<String> =
        row.split(" | ").skip(skipped).map(|cell| cell.trim_end_matches(" |").replace("\\|", "|")).collect();
    <[String; N]>::try_from(cells).ok()
}

/// Rows of all configurations. The numbers of the larger ones are taken over from the page, since counting them takes
/// minutes; they are counted anew when pages are rewritten.
fn explorations(protocol: &'static dyn Protocol, block: Option<&str>) -> String {
    let quick = quick_configurations(protocol);
    let small: Vec<&str> = quick.iter().map(|config| config.name).collect();
    let rows = configurations(protocol).into_iter().map(|config| {
        let taken_over = if small.contains(&config.name) { None } else { written(block, config.name, 2) };
        let [states, transitions, depth, executions] = taken_over.unwrap_or_else(|| {
            let report = explored::report(protocol, &config);
            assert!(report.passed(), "{}", report.to_text());
            [
                grouped(report.states as u64),
                grouped(report.transitions),
                report.depth.to_string(),
                grouped(report.executions as u64),
            ]
        });
        [format!("`{}`", config.name), config.description.to_owned(), states, transitions, depth, executions]
    });
    table(["configuration", "what it varies", "states", "transitions", "depth", "executions"], rows)
}

/// A number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The extracted table without its title, one level of headings down.
fn transitions(protocol: &'static dyn Protocol) -> String {
    let text = explored::table(protocol).to_markdown();
    let start = text.find("\n## ").unwrap_or_else(|| panic!("{text}"));
    text[start..].replace("\n## ", "\n### ")
}

#[test]
fn every_protocols_page_declares_what_the_protocol_declares() {
    for protocol in PROTOCOLS {
        let mut page = page_of(*protocol);
        page.expect("declaration", |_| declaration(*protocol));
        page.expect("messages", |_| messages(*protocol));
        page.expect("configurations", |block| explorations(*protocol, block));
        page.expect("table", |_| transitions(*protocol));
    }
}

#[test]
fn the_counterexample_of_the_tutorial_is_the_one_that_the_check_prints() {
    let protocol = find("gpu-vi").unwrap();
    let config = find_configuration(protocol, "smoke").unwrap();
    let report = check(protocol, find_fault(protocol, "stale-refill"), &config);
    let Verdict::Violated(chart) = report.verdict else { panic!("{}", report.to_text()) };
    let mut page = Page::read("docs/tutorials/read-a-counterexample.md");
    page.expect("chart", |_| format!("```text\n{}```", chart.to_text()));
}

#[test]
fn the_page_on_memory_models_lists_every_litmus_test() {
    let models = [Model::Sc, Model::RcPc, Model::RcPcNonAtomic, Model::PerLocation, Model::Ptx];
    let rows = litmus::tests().into_iter().map(|test| {
        let expected = models.map(|model| test.expectation(model).map_or("", litmus::Expectation::text).to_owned());
        let program = format!("`{}`", test.test.program).replace(" | ", "` · `");
        let [sc, rc, rcpc, per_location, ptx] = expected;
        let condition = format!("`{}`", test.test.condition_text());
        [test.name().to_owned(), program, condition, sc, rc, rcpc, per_location, ptx]
    });
    let head = ["test", "program", "telling outcome", "SC", "RC, write-atomic", "RCpc", "per location", "PTX"];
    Page::read("docs/concepts/memory-models.md").expect("litmus", |_| table(head, rows));
}

#[test]
fn the_page_on_virtual_networks_says_how_few_each_protocol_needs() {
    let rows = PROTOCOLS.iter().map(|protocol| {
        let report = explored::networks(*protocol);
        let free: Vec<String> = report.free().map(|attempt| describe(&attempt.pools)).collect();
        let tried = report.attempts.len();
        let deadlock = report.deadlock().map_or(String::new(), |deadlock| {
            format!(
                "`{}` in `{}`, {} moves",
                describe(&deadlock.pools),
                deadlock.config,
                deadlock.chart.sequence.moves.len()
            )
        });
        let smallest = report.smallest.map_or("none".to_owned(), |smallest| smallest.to_string());
        [
            format!("`{}`", protocol.name()),
            report.declared.to_string(),
            tried.to_string(),
            smallest,
            free.join("; "),
            deadlock,
        ]
    });
    let head = ["protocol", "declared", "tried", "needed", "free of deadlock", "shortest deadlock with one fewer"];
    Page::read("docs/concepts/virtual-networks.md").expect("networks", |_| table(head, rows));
}

/// A block of code after `<!-- from: PATH -->` is quoted from that file.
#[test]
fn quoted_code_is_what_the_sources_hold() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["docs/tutorials/write-a-kernel.md", "docs/tutorials/write-a-protocol.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        let quotes: Vec<&str> = text.split("<!-- from: ").skip(1).collect();
        assert!(!quotes.is_empty(), "{page} quotes nothing");
        for quote in quotes {
            let (path, rest) = quote.split_once(" -->").unwrap_or_else(|| panic!("{page}: `<!-- from:` without `-->`"));
            let code = rest.split("```").nth(1).and_then(|block| block.strip_prefix("rust\n"));
            let code = code.unwrap_or_else(|| panic!("{page}: no Rust block after `from: {path}`"));
            let source = std::fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(source.contains(code.trim_end()), "{page} quotes {path} as\n{code}\nwhich is not there (any more)");
        }
    }
}
