//! Notes whose numbers are references to what was measured.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use chorus_lab::note;
use chorus_lab::paper::{self, Paper};
use chorus_lab::progress::Silent;
use chorus_lab::reproduce::{Request, reproduce};
use chorus_lab::run::RunSpec;
use chorus_registry::PAPERS;
use chorus_system::Scale;

use crate::fake::{Directory, build, paper as small_paper, registry, result};

fn read(notes: &str) -> Result<Paper, String> {
    let mut paper = small_paper();
    paper.experiment.notes =
        note::read("notes.md", notes, &paper.experiment, &paper.statements).map_err(|error| error.to_string())?;
    Ok(paper)
}

/// The page of a paper with fake results.
fn page(paper: Paper, out: &Path, headline_only: bool) -> String {
    let (papers, build, facts) = ([paper], build(), BTreeMap::from([("states.l1.gpu-vi".to_owned(), 5.0)]));
    let request = Request {
        registry: registry(),
        papers: &papers,
        headline_only,
        scale: Scale::Quick,
        out,
        jobs: 1,
        runner: &|spec: &RunSpec| Ok(result(spec)),
        build: &build,
        cancel: &AtomicBool::new(false),
        progress: &Silent,
        date: "2000-01-02",
        definitions: &[],
        facts: &facts,
    };
    let made = reproduce(&request).unwrap_or_else(|error| panic!("{error}"));
    std::fs::read_to_string(made.papers[0].page.as_ref().expect("a page is written")).unwrap()
}

/// The notes of the page, from their heading to the next section.
fn notes_of(html: &str) -> &str {
    let notes = html.split("<h2 id=\"notes\">").nth(1).expect("the page has notes");
    notes.split("<h2").next().unwrap_or(notes)
}

fn filled(notes: &str) -> String {
    let paper = read(notes).unwrap_or_else(|error| panic!("{error}"));
    notes_of(&page(paper, Directory::new().path(), false)).to_owned()
}

fn check_filled(reference: &str, expected: &str) {
    let notes = filled(&format!("## A title\n\nIt is {reference}, so.\n"));
    assert!(notes.contains(&format!("<h3>A title</h3>\n<p>It is {expected}, so.</p>")), "{reference}: {notes}");
}

#[test]
fn a_reference_to_a_figure_is_filled_in_with_its_bar() {
    check_filled("{figure:speed:IDEAL-COH:stn}", "4");
    check_filled("{figure:speed:GPU-VI:dlb}", "1.25");
    check_filled("{figure:speed:IDEAL-COH:mean}", "1.60");
    check_filled("{figure:speed:IDEAL-COH:smallest}", "1.00");
    check_filled("{figure:speed:IDEAL-COH:largest|.1}", "4.0");
    check_filled("{figure:speed:GPU-VI/IDEAL-COH:stn|percent}", "50 %");
    check_filled("{figure:speed:GPU-VI:dlb|gain}", "25 %");
    check_filled("{figure:speed:GPU-VI/IDEAL-COH:stn|loss}", "50 %");
    check_filled("{figure:speed-means:GPU-VI:mean inter|.3}", "1.538");
    check_filled("{figure:traffic:GPU-VI:kmn:INV|.3}", "0.125");
    check_filled("{figure:lifetimes:marker:stn}", "800");
}

#[test]
fn a_reference_may_stand_on_two_lines() {
    check_filled("{figure:speed-means:GPU-VI:mean\ninter|.3}", "1.538");
}

#[test]
fn claims_and_predictions_are_filled_in_beside_the_papers_number() {
    check_filled("{claim:speed} (paper {paper:speed})", "1.60 (paper 1.6)");
    check_filled("{prediction:speed-of-vi|.3}", "1.538");
    check_filled("{claim:hardware}", "n/a");
}

#[test]
fn paragraphs_about_figures_that_are_not_on_the_page_are_left_out() {
    let text = "## One\n\nSpeed {figure:speed:GPU-VI:stn}.\n\nTraffic {figure:traffic:GPU-VI:kmn}.\n\n\
                ## Two\n\nPower {figure:traffic:GPU-VI:hsp}.\n";
    let html = page(read(text).unwrap(), Directory::new().path(), true);
    let notes = notes_of(&html);
    assert!(notes.contains("<p>Speed 2.</p>"), "{notes}");
    assert!(!notes.contains("Traffic") && !notes.contains("Two"), "{notes}");
    assert!(notes.contains("<code>chorus reproduce fixture</code> makes all figures"), "{notes}");
}

#[test]
fn an_unknown_reference_is_named_with_its_place_and_the_nearest_name() {
    for (reference, expected) in [
        ("{figure:sped:GPU-VI:stn}", "unknown figure `sped`; did you mean `speed`? known: `speed`, "),
        (
            "{figure:speed:GPU-IV:stn}",
            "unknown series of figure speed `GPU-IV`; did you mean `GPU-VI`? known: `IDEAL-COH`, `GPU-VI`",
        ),
        (
            "{figure:speed:GPU-VI:stm}",
            "unknown workload or mean of figure speed `stm`; did you mean `stn`? \
             known: `smallest`, `largest`, `mean`, `stn`, `dlb`",
        ),
        ("{figure:traffic:GPU-VI:kmn:IVN}", "unknown part of figure traffic `IVN`; did you mean `INV`? known: `LD`, "),
        ("{claim:sped}", "unknown claim `sped`; did you mean `speed`? known: `speed`, "),
        ("{paper:sped}", "unknown claim `sped`; did you mean `speed`? known: `speed`, "),
        ("{prediction:speed}", "unknown prediction `speed`; "),
        ("{clam:speed}", "unknown kind of reference `clam`; did you mean `claim`? known: `figure`, `claim`, "),
        ("{claim:speed|percnt}", "unknown format `percnt`; did you mean `percent`? known: `percent`, `gain`, `loss`, "),
        ("{figure:speed}", "expected `{figure:ID:SERIES:WORKLOAD}`, or `mean` in place of the workload"),
    ] {
        let message = read(&format!("# Notes\n\n## A title\n\nFirst line,\nthen {reference}.\n")).unwrap_err();
        let start = format!("notes.md:6:6: reference `{reference}`: {expected}");
        assert!(message.starts_with(&start), "{message}\n{start}");
    }
    let message = read("## A title\n\nIt is {claim:speed.\n").unwrap_err();
    assert_eq!(message, "notes.md:3:7: a reference begins with `{` and does not end with `}`");
}

#[test]
fn notes_of_an_experiment_file_refer_to_its_figures() {
    let text = crate::fake::EXPERIMENT;
    let text = |note: &str| text.replace("Nothing here was simulated.", note);
    let read = |note: &str| chorus_lab::experiment::Experiment::read("fixture.toml", &text(note), &crate::fake::KNOWN);
    let experiment = read("It is {figure:speed:GPU-VI:stn}.").unwrap_or_else(|error| panic!("{error}"));
    let html = page(Paper { experiment, ..small_paper() }, Directory::new().path(), false);
    assert!(notes_of(&html).contains("<p>It is 2.</p>"));
    let message = read("It is {figure:speed:GPU-IV:stn}.").unwrap_err().to_string();
    assert!(
        message.starts_with("fixture.toml:7:10: key `notes`: reference `{figure:speed:GPU-IV:stn}`: unknown series"),
        "{message}"
    );
}

/// With a result for every run, every number of a note is there.
#[test]
fn the_notes_of_shipped_papers_are_filled_in() {
    for shipped in PAPERS {
        let paper = paper::load(registry(), shipped.name).unwrap_or_else(|error| panic!("{error}"));
        assert!(!paper.experiment.notes.is_empty(), "{} has no notes", shipped.name);
        let html = page(paper, Directory::new().path(), false);
        let notes = notes_of(&html);
        assert!(!notes.contains('{') && !notes.contains("are left out"), "{}: {notes}", shipped.name);
    }
}
