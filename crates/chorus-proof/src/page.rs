//! The page: a summary of all protocols, the largest machines that were explored, the litmus tests that tell them
//! apart, and a section for each protocol.

use std::fmt::Write as _;

use chorus_lab::html::{Cell, Narrow, contents, escape, page, table};
use chorus_lab::simulate::build;
use chorus_verify::config::Stores;
use chorus_verify::faults::BRIEF_STATES;
use chorus_verify::litmus::DISCRIMINATORS;

use crate::collect::{Extent, Proof, Score};
use crate::words::count;
use crate::{Proofs, largest, mutant_tables, sections};

const TITLE: &str = "Chorus: what each protocol was shown to keep";

/// The row of a protocol in the summary table, as texts.
pub struct Summary {
    /// Litmus tests that pass, of all that were run.
    pub litmus: String,
    /// Virtual networks that the protocol needs, of those that it declares.
    pub networks: String,
    /// Pairs of state and event that random steps met, of all that can be met.
    pub coverage: String,
    /// Faults that were caught, of all that were seeded.
    pub score: String,
}

impl Summary {
    /// The row of one protocol.
    pub fn of(proof: &Proof) -> Summary {
        let tested = &proof.litmus.tested;
        let score = proof.score();
        Summary {
            litmus: share(tested.iter().map(|tested| tested.result.passed())),
            networks: match proof.networks.smallest {
                Some(smallest) => format!("{smallest} of {}", proof.networks.declared),
                None => proof.networks.declared.to_string(),
            },
            coverage: match &proof.random.comparison {
                Some(coverage) => format!("{} of {}", coverage.covered, coverage.reachable),
                None => "–".to_owned(),
            },
            score: format!("{} of {}", score.caught, score.seeded),
        }
    }
}

/// The number of items that are true, of all, in words: `3 of 4`.
pub fn share(all: impl Iterator<Item = bool>) -> String {
    let (mut yes, mut total) = (0, 0);
    for is_so in all {
        yes += usize::from(is_so);
        total += 1;
    }
    format!("{yes} of {total}")
}

/// A verdict with a sign, so that it can be read without colour.
pub fn verdict_cell(verdict: &str) -> Cell {
    match verdict {
        "pass" => Cell::classed("good plain", "✓ pass"),
        "not shown" => Cell::classed("soft plain", "○ not shown"),
        "bounded" => Cell::classed("bad plain", "◐ bounded"),
        other => Cell::classed("bad plain", format!("✗ {other}")),
    }
}

/// The whole page as HTML.
pub fn of(all: &Proofs) -> String {
    let mut body = summary(all);
    body.push_str(&largest::of(all));
    body.push_str(&discriminators(all));
    body.push_str(&mutant_tables::summary(all));
    for proof in &all.proofs {
        body.push_str(&sections::of(proof, all.extent));
    }
    body.push_str(&definitions(all));
    body.push_str(&provenance(all));
    page(TITLE, &[head(all), contents(&body), body].concat())
}

fn head(all: &Proofs) -> String {
    let proofs = &all.proofs;
    let sum = |of: &dyn Fn(&Proof) -> usize| proofs.iter().map(of).sum::<usize>();
    let score = |of: &dyn Fn(&Score) -> usize| sum(&|proof| of(&proof.score()));
    let steps: u64 = proofs.iter().map(|proof| proof.random.report.steps).sum();
    let passed = proofs.iter().filter(|proof| proof.passed()).count();
    let facts = [
        (format!("{passed} of {}", all.asked), "protocols pass"),
        (millions(sum(&Proof::states) as f64), "states visited"),
        (count(sum(&|proof| proof.litmus.tested.len()) as u64), "runs of litmus tests"),
        (millions(steps as f64), "random steps"),
        (format!("{} of {}", score(&|score| score.caught), score(&|score| score.seeded)), "seeded faults caught"),
        (minutes(proofs.iter().map(|proof| proof.seconds).sum()), "of computing"),
    ];
    let mut out = format!(
        "<h1>{TITLE}</h1>\n<p class=\"soft\">The controllers that are simulated, in every order of issuing, delivery, eviction and \
         expiry on tiny machines, and in random orders on larger ones.</p>\n<ul class=\"facts\">\n"
    );
    for (number, what) in facts {
        let _ = writeln!(out, "<li><b>{}</b>{what}</li>", escape(&number));
    }
    out.push_str("</ul>\n");
    if proofs.len() < all.asked {
        let (done, asked) = (proofs.len(), all.asked);
        let _ = writeln!(out, "<p class=\"bad\">Not finished: {done} of {asked} protocols so far.</p>");
    }
    if all.extent == Extent::Quick {
        out.push_str(
            "<p>This is the bounded part: the smallest configurations, the litmus tests that tell protocols apart, the declared virtual \
             networks, and fewer random steps. <code>chorus check --all</code> does everything.</p>\n",
        );
    }
    out
}

fn millions(value: f64) -> String {
    if value >= 1e6 { format!("{:.1} M", value / 1e6) } else { count(value as u64) }
}

fn minutes(seconds: f64) -> String {
    if seconds >= 120.0 { format!("{:.0} min", seconds / 60.0) } else { format!("{seconds:.0} s") }
}

fn summary(all: &Proofs) -> String {
    let headers = [
        Cell::text("Protocol"),
        Cell::classed("why", "Memory model"),
        Cell::number("States"),
        Cell::number("Litmus"),
        Cell::number("Networks"),
        Cell::number("Coverage"),
        Cell::number("Mutation score"),
        Cell::text("Verdict"),
    ];
    let row = |proof: &Proof| {
        let summary = Summary::of(proof);
        vec![
            Cell::link(&format!("#{}", proof.protocol.name()), proof.protocol.title()),
            Cell::classed("why", proof.protocol.model().name()),
            Cell::number(count(proof.states() as u64)),
            Cell::number(summary.litmus),
            Cell::number(summary.networks),
            Cell::number(summary.coverage),
            Cell::number(summary.score),
            verdict_cell(if proof.passed() { "pass" } else { "fail" }),
        ]
    };
    let rows: Vec<Vec<Cell>> = all.proofs.iter().map(row).collect();
    let body = table(Narrow::Cards, &headers, &rows);
    format!(
        "<h2 id=\"summary\">Summary</h2>\n{body}<p class=\"soft\">Networks: the smallest number of virtual networks that is free of \
         deadlock, of those declared. Coverage: pairs of state and event that random steps met, of those that the exhaustive driver reaches. Mutation \
         score: seeded faults that the exhaustive driver catches, or that either driver does in the bounded part.</p>\n"
    )
}

/// A table with a row for each protocol and kind of core. It shows which of the telling outcomes were seen.
fn discriminators(all: &Proofs) -> String {
    let mut headers = vec![Cell::text("Protocol"), Cell::text("Model")];
    // The zero-width space allows a line break after each plus sign.
    headers.extend(DISCRIMINATORS.iter().map(|name| Cell::text(name.replace('+', "+\u{200b}"))));
    let mut rows = Vec::new();
    for proof in &all.proofs {
        for stores in [Stores::Posted, Stores::Blocking] {
            let tested: Vec<_> = proof.litmus.beside(stores).collect();
            let Some(first) = tested.first() else { continue };
            let remark = if stores == Stores::Blocking { "stores waited for" } else { "" };
            let mut row =
                vec![Cell::name(proof.protocol.title()).with_remark(remark), Cell::name(first.result.model.name())];
            row.extend(DISCRIMINATORS.iter().map(|name| {
                let result = tested.iter().map(|tested| &tested.result).find(|result| result.test.name() == *name);
                match result.map(|result| (result.passed(), result.telling_reached())) {
                    None => Cell::classed("soft plain", "–"),
                    Some((false, _)) => Cell::classed("bad plain", "✗"),
                    Some((true, true)) => Cell::name("●"),
                    Some((true, false)) => Cell::classed("soft plain", "○"),
                }
            }));
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h2 id=\"discriminators\">What tells the protocols apart</h2>\n{}<p class=\"soft\">● the telling outcome of the test was seen in \
         some order, ○ in none, ✗ the test fails. What must never be seen and what must be seen are both expected: a relaxation that is never seen fails too. \
         Stores waited for: cores that wait for every store, beside which atomic writes make sequential consistency.</p>\n",
        table(Narrow::Scroll, &headers, &rows)
    )
}

fn definitions(all: &Proofs) -> String {
    let steps = count(all.extent.steps_per_fault());
    let brief = count(BRIEF_STATES as u64);
    format!(
        "<h2 id=\"definitions\">Definitions</h2>\n<dl>\n\
         <dt>configuration</dt><dd>a tiny machine whose threads choose every operation freely, so that it runs every program of its length; \
         all states are visited, invariants and the memory model are checked in each</dd>\n\
         <dt>bounded</dt><dd>a search that met its bound on states or memory: it shows nothing, and is not a pass</dd>\n\
         <dt>symmetry</dt><dd>renamings of caches, lines, words and values that leave everything alike: each state stands for up to as many</dd>\n\
         <dt>expected</dt><dd>what the memory model, on a machine whose loads block, makes of a test's telling outcome: forbidden, must be \
         seen, or merely allowed</dd>\n\
         <dt>alone</dt><dd>found by checks of one kind only: configurations and programs, or litmus tests, in at most {brief} states \
         each; or the random driver in at most about {steps} steps, of which those are given that it took</dd>\n{}</dl>\n",
        mutant_tables::definitions(all)
    )
}

fn provenance(all: &Proofs) -> String {
    let build = build();
    let rows = [
        ("Chorus version", build.chorus_version),
        ("Git revision", build.git_revision),
        ("Extent", all.extent.name().to_owned()),
        ("Date of this page", all.date.clone()),
    ]
    .map(|(what, value)| vec![Cell::name(what), Cell::text(value)]);
    let body = table(Narrow::Scroll, &[Cell::text("What"), Cell::text("Value")], &rows);
    format!("<h2 id=\"provenance\">Provenance</h2>\n{body}")
}
