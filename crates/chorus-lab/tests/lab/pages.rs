//! Pages stand alone, are well formed and say what they must.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chorus_lab::paper::{self, Paper};
use chorus_lab::progress::Silent;
use chorus_lab::report::MetricDefinition;
use chorus_lab::reproduce::{Reproduction, Request, reproduce};
use chorus_lab::run::{CheckResult, RunError, RunErrorKind, RunResult, RunSpec, Runner};
use chorus_registry::PAPERS;
use chorus_system::Scale;

use crate::fake::{Directory, build, paper as small_paper, registry, result};

const DEFINITIONS: &[MetricDefinition<'static>] =
    &[MetricDefinition { name: "traffic.flits.ld", unit: "flits", definition: "flits through both crossbars" }];

fn make(out: &Path, runner: &Runner<'_>, headline_only: bool, cancel: &AtomicBool) -> Reproduction {
    make_paper(small_paper(), out, runner, headline_only, cancel)
}

fn make_paper(paper: Paper, out: &Path, runner: &Runner<'_>, headline_only: bool, cancel: &AtomicBool) -> Reproduction {
    let (papers, build, facts) = ([paper], build(), BTreeMap::from([("states.l1.gpu-vi".to_owned(), 5.0)]));
    let request = Request {
        registry: registry(),
        papers: &papers,
        headline_only,
        scale: Scale::Quick,
        out,
        jobs: 1,
        runner,
        build: &build,
        cancel,
        progress: &Silent,
        date: "2000-01-02",
        definitions: DEFINITIONS,
        facts: &facts,
    };
    reproduce(&request).unwrap_or_else(|error| panic!("{error}"))
}

/// A runner with one wrong result and one refusal whose messages try to be markup.
fn hostile(spec: &RunSpec) -> Result<RunResult, RunError> {
    match (spec.protocol.as_str(), spec.workload.as_str()) {
        ("gpu-vi", "dlb") => Err(RunError::new(RunErrorKind::Refused, "<script>alert('a & b')</script>")),
        ("gpu-vi", "hsp") => {
            let fail = CheckResult::Fail("word 3 is \"1\" <b>not</b> 2".to_owned());
            Ok(RunResult { result: fail, ..result(spec) })
        }
        _ => Ok(result(spec)),
    }
}

fn page(runner: &Runner<'_>) -> String {
    let directory = Directory::new();
    let made = make(directory.path(), runner, false, &AtomicBool::new(false));
    std::fs::read_to_string(made.papers[0].page.as_ref().expect("a page is written")).unwrap()
}

/// A page without its script, which is text in which nothing is markup.
fn without_script(html: &str) -> String {
    let Some((before, rest)) = html.split_once("<![CDATA[") else { return html.to_owned() };
    let (_, after) = rest.split_once("]]>").expect("the script ends");
    [before, after].concat()
}

/// The data that a page carries for its scripts.
fn data_of(html: &str) -> serde_json::Value {
    let data = html.split("id=\"page-data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    serde_json::from_str(data.expect("the page has data")).expect("the data is JSON")
}

/// Checks that every element is closed in order and every attribute quoted.
pub fn check_well_formed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let html = without_script(html);
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("an HTML document");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "a stray > in {:?}", &rest[..start.min(200)]);
        let end = start + rest[start..].find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "an open quote in <{tag}>");
        assert!(!tag.contains('<'), "a stray < in <{tag}>");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes nothing");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().expect("a tag has a name"));
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

#[test]
fn a_page_is_well_formed_whatever_the_messages_say() {
    check_well_formed(&page(&hostile));
}

#[test]
fn a_page_refers_to_nothing_outside_itself() {
    let html = page(&hostile);
    for outside in ["http://", "https://", "//cdn", "<link", "@import", "<img", "src="] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert_eq!(html.matches("<script").count(), 2, "the data and the script of the page itself");
}

#[test]
fn every_bar_of_a_workload_names_its_runs_and_every_run_its_command() {
    let data = data_of(&page(&|spec| Ok(result(spec))));
    let runs = data["runs"].as_array().unwrap();
    assert!(runs.iter().all(|run| run["command"].as_str().unwrap().starts_with("chorus run --system tc --protocol ")));
    let figure = &data["figures"][0];
    let labels: Vec<&str> =
        figure["groups"].as_array().unwrap().iter().map(|group| group["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["stn", "dlb", "HM"], "the paper's order");
    let bar = &figure["groups"][0]["bars"][1];
    let (run, base) =
        (&runs[bar["runs"][0].as_u64().unwrap() as usize], &runs[bar["base"][0].as_u64().unwrap() as usize]);
    assert_eq!(run["command"], "chorus run --system tc --protocol gpu-vi --workload stn");
    assert_eq!(base["command"], "chorus run --system tc --protocol no-l1 --workload stn");
}

#[test]
fn contents_lead_to_every_section_and_figure() {
    let html = page(&hostile);
    let contents = html.split("<nav").nth(1).and_then(|rest| rest.split("</nav>").next()).expect("contents");
    let links: Vec<&str> = contents.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        assert!(html.contains(&format!(" id=\"{link}\"")), "{link}");
    }
}

#[test]
fn a_page_fits_phones_dark_mode_and_print() {
    let html = page(&hostile);
    for needed in ["name=\"viewport\"", "prefers-color-scheme:dark", "@media print", "overflow-x:auto", "viewBox="] {
        assert!(html.contains(needed), "{needed}");
    }
}

#[test]
fn ids_of_a_page_are_unique_and_every_hatching_is_defined() {
    let html = page(&hostile);
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(ids.len(), unique.len());
    for used in html.split("url(#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(ids.contains(&used), "{used}");
    }
}

#[test]
fn a_page_shows_figures_claims_failures_and_where_the_numbers_come_from() {
    let html = page(&hostile);
    let resolved = chorus_system::resolve("tc", Scale::Quick, &[]).unwrap();
    for figure in &small_paper().experiment.figures {
        assert!(html.contains(&format!("id=\"figure-{}\"", figure.id)), "figure {}", figure.id);
    }
    for needed in [
        "It is 60 % faster.",
        "Speed-up of GPU-VI.",
        "Nothing here was simulated.",
        "– not measured",
        "nobody has that hardware",
        "◐ partial",
        "✓ agrees",
        "&lt;script&gt;alert(&#39;a &amp; b&#39;)&lt;/script&gt;",
        "word 3 is &quot;1&quot; &lt;b&gt;not&lt;/b&gt; 2",
        "GPU-VI has no bar for dlb (refused).",
        "flits through both crossbars (flits)",
        "0123abcd",
        "2000-01-02",
        resolved.hash.as_str(),
        "quick",
    ] {
        assert!(html.contains(needed), "{needed}");
    }
}

#[test]
fn lines_have_a_stroke_marks_and_an_arrow_each() {
    let html = page(&|spec| Ok(result(spec)));
    let chart = chart(&html, "lifetimes");
    // Two workloads, their mean, and a sample of each in the legend; two points each; two arrows and one in the legend.
    let counts =
        ["<polyline", "class=\"mark\"", "class=\"arrow\"", "line mean"].map(|part| chart.matches(part).count());
    assert_eq!(counts, [6, 6, 3, 2]);
    assert!(chart.contains("<title>stn, average lease: 800</title>"), "{chart}");
    assert!(html.contains("average lease</th>"));
}

fn chart<'h>(html: &'h str, id: &str) -> &'h str {
    let after = html.split(&format!("id=\"figure-{id}\"")).nth(1).expect("the figure is on the page");
    after.split("<figcaption").next().unwrap()
}

#[test]
fn lines_of_means_have_a_stroke_and_marks_each_and_a_table_of_their_own() {
    let html = page(&|spec| Ok(result(spec)));
    let chart = chart(&html, "leases");
    // Two lines of two points, and a sample of each in the legend.
    let counts = ["<polyline", "class=\"mark\"", "line mean"].map(|part| chart.matches(part).count());
    assert_eq!(counts, [4, 6, 0]);
    assert!(html.contains("<div>fixed</div>") && html.contains("fixed, 6400</th>"), "two tables");
}

#[test]
fn points_are_marked_and_named() {
    let html = page(&|spec| Ok(result(spec)));
    let chart = chart(&html, "leases-and-traffic");
    assert_eq!(chart.matches("class=\"mark\"").count(), 2 + 1, "two points and one in the legend");
    assert!(chart.contains(">stn</text>") && chart.contains(">dlb</text>"), "{chart}");
}

/// Whatever the number of groups, all are drawn, and none further right than a page is wide.
#[test]
fn many_groups_of_bars_stand_in_several_rows() {
    let directory = Directory::new();
    let runner = |spec: &RunSpec| Ok(result(spec));
    let hmg = paper::load(registry(), "hmg").unwrap();
    let made = make_paper(hmg, directory.path(), &runner, true, &AtomicBool::new(false));
    let html = std::fs::read_to_string(made.papers[0].page.as_ref().expect("a page is written")).unwrap();
    let chart = chart(&html, "8");
    let view = chart.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let width: f64 = view.split(' ').next().unwrap().parse().unwrap();
    assert!(width < 1300.0, "{width}");
    assert_eq!(chart.matches("class=\"unity\"").count(), 2, "a baseline in each row");
    for group in &made.papers[0].figures[0].workloads {
        assert!(chart.contains(&format!(">{}</text>", group.label)), "{}", group.label);
    }
}

#[test]
fn a_page_shows_the_parameters_of_its_runs() {
    let html = page(&|spec| Ok(result(spec)));
    assert!(
        html.contains("lease.cycles=6400") && html.contains("[parameters] # of tc-weak-fixed\nlease.cycles = 6400")
    );
}

/// Shipped papers make pages like any other, with a fake result for every run.
#[test]
fn every_shipped_paper_makes_a_well_formed_page_with_all_its_figures() {
    for shipped in PAPERS {
        let (directory, paper) = (Directory::new(), paper::load(registry(), shipped.name).unwrap());
        let (figures, predictions) = (paper.experiment.figures.len(), paper.statements.predictions.len());
        let runner = |spec: &RunSpec| Ok(result(spec));
        let made = make_paper(paper, directory.path(), &runner, false, &AtomicBool::new(false));
        let html = std::fs::read_to_string(made.papers[0].page.as_ref().expect("a page is written")).unwrap();
        check_well_formed(&html);
        assert_eq!(html.matches("id=\"figure-").count(), figures);
        assert_eq!(made.papers[0].predictions.len(), predictions);
        for figure in &made.papers[0].figures {
            assert_eq!(figure.notes, [] as [&str; 0], "figure {}", figure.id);
        }
    }
}

/// Plain `chorus reproduce` makes the headline figures of all papers, within minutes.
#[test]
fn the_headline_of_a_shipped_paper_takes_few_runs() {
    for shipped in PAPERS {
        let experiment = paper::load(registry(), shipped.name).unwrap().experiment;
        let runs = experiment.runs_of(experiment.headline().unwrap(), Scale::Quick).len();
        assert!(runs <= 120, "{}: {runs}", shipped.name);
    }
}

#[test]
fn the_index_links_to_the_page() {
    let directory = Directory::new();
    let made = make(directory.path(), &hostile, false, &AtomicBool::new(false));
    let html = std::fs::read_to_string(made.index.unwrap()).unwrap();
    check_well_formed(&html);
    assert!(html.contains("<a href=\"fixture.html\">A small paper</a>"), "{html}");
    for shown in ["60 % faster", "measured</text>", "<b>headlines</b>", "scale quick", "0123abcd"] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
}

/// An index that is written later shows a page of an earlier invocation as before.
#[test]
fn the_index_shows_earlier_pages_from_what_they_carry() {
    let directory = Directory::new();
    let (fixture, hmg) = (directory.path(), paper::load(registry(), "hmg").unwrap());
    let runner = |spec: &RunSpec| Ok(result(spec));
    make_paper(hmg, fixture, &runner, true, &AtomicBool::new(false));
    let made = make(fixture, &runner, true, &AtomicBool::new(false));
    let html = std::fs::read_to_string(made.index.unwrap()).unwrap();
    assert!(html.contains("hmg.html#claim-"), "{html}");
}

#[test]
fn the_headline_alone_makes_only_the_runs_of_its_figure() {
    let directory = Directory::new();
    let calls = AtomicUsize::new(0);
    let counted = |spec: &RunSpec| {
        calls.fetch_add(1, Ordering::Relaxed);
        Ok(result(spec))
    };
    let made = make(directory.path(), &counted, true, &AtomicBool::new(false));
    assert_eq!(calls.load(Ordering::Relaxed), 6);
    assert_eq!(made.papers[0].figures.len(), 1);
    let claims: Vec<&str> = made.papers[0].claims.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(claims, ["speed", "speed-of-more", "states", "hardware"]);
    let predictions: Vec<&str> = made.papers[0].predictions.iter().map(|predicted| predicted.id.as_str()).collect();
    assert_eq!(predictions, ["speed-of-vi"]);
    let whole = make(directory.path(), &counted, false, &AtomicBool::new(false));
    assert_eq!((whole.reused, whole.ran, calls.load(Ordering::Relaxed)), (6, 11, 17));
}

#[test]
fn a_cancelled_reproduction_writes_no_page() {
    let directory = Directory::new();
    let cancel = AtomicBool::new(false);
    let runner = |spec: &RunSpec| {
        cancel.store(true, Ordering::Relaxed);
        Ok(result(spec))
    };
    let made = make(directory.path(), &runner, false, &cancel);
    assert!(made.cancelled && made.papers[0].page.is_none() && made.index.is_none());
    assert_eq!(made.papers[0].records.len(), 1);
    assert!(!directory.join("fixture.html").exists());
}

#[test]
fn the_json_of_a_reproduction_holds_figures_claims_and_failures() {
    let directory = Directory::new();
    let made = make(directory.path(), &hostile, false, &AtomicBool::new(false));
    let json = made.to_json();
    assert_eq!(json["schema_version"], 4);
    let paper = &json["papers"][0];
    assert_eq!((paper["name"].as_str(), paper["runs"].as_u64()), (Some("fixture"), Some(17)));
    assert_eq!(paper["wrong_results"], 1);
    assert_eq!(paper["failures"].as_array().map(Vec::len), Some(2));
    assert_eq!(paper["figures"][0]["id"], "speed");
    let claim = &paper["claims"][1];
    assert_eq!((claim["verdict"].as_str(), claim["scale"].as_str()), (Some("partial"), Some("quick")));
    let keys = ["paper", "measured", "effect_recovered", "kind", "group"];
    assert!(keys.iter().all(|key| claim.get(key).is_some()), "{claim}");
    assert!(paper["verdicts"]["headlines"]["agrees"].is_u64(), "{}", paper["verdicts"]);
    assert_eq!(paper["predictions"][0]["id"], "speed-of-vi");
    let lines = paper["figures"].as_array().unwrap().iter().find(|figure| figure["id"] == "lifetimes").unwrap();
    assert_eq!(lines["series"][1]["at"], 6400.0);
    assert_eq!(lines["markers"]["at"], serde_json::json!([800.0, 800.0]));
    assert_eq!(made.troubled().len(), 2);
}

#[test]
fn the_json_of_a_run_has_the_documented_keys() {
    let json = result(&crate::fake::spec("gpu-vi", "stn")).to_json();
    for key in [
        "schema_version",
        "system",
        "protocol",
        "workload",
        "scale",
        "seed",
        "parameters",
        "config_hash",
        "cycles",
        "simulated_ns",
        "wall_s",
        "user_s",
        "accesses",
        "result",
        "metrics",
        "kernels",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    assert_eq!((json["result"].as_str(), json["scale"].as_str()), (Some("pass"), Some("quick")));
    assert!(json["metrics"].as_object().unwrap().values().all(serde_json::Value::is_number));
}
