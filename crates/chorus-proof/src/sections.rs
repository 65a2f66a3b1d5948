//! The section of one protocol on the page.

use std::fmt::Write as _;

use chorus_lab::html::{Cell, Narrow, details, escape, table};
use chorus_protocol::registry::Protocol;
use chorus_verify::config::Stores;
use chorus_verify::faults::Catch;
use chorus_verify::litmus::Expectation;
use chorus_verify::networks::{Attempt, Sharing, describe, pool_count};
use chorus_verify::torture::coverage::Cell as Pair;

use crate::checked::Checked;
use crate::collect::{Extent, Proof, Tested};
use crate::faults::FaultSearch;
use crate::page::{share, verdict_cell};
use crate::words::{count, litmus_words, score_words, verdict};
use crate::{mutant_tables, networks};

/// The numbers of virtual networks that the TC paper counts (section 5.3 and Table 4): two for machines without
/// coherence and for TC, four for GPU-VI and GPU-VIni, five for MESI.
const PAPER_NETWORKS: [(&str, u8); 8] = [
    ("no-l1", 2),
    ("no-coh", 2),
    ("gpu-vi", 4),
    ("gpu-vini", 4),
    ("mesi", 5),
    ("tc-strong", 2),
    ("tc-weak", 2),
    ("tc-weak-fixed", 2),
];

/// The number of virtual networks that a paper counts for a protocol; none if no paper does.
pub fn paper_networks(protocol: &dyn Protocol) -> Option<u8> {
    PAPER_NETWORKS.iter().find(|(name, _)| *name == protocol.name()).map(|(_, networks)| *networks)
}

/// The section of one protocol as HTML.
pub fn of(proof: &Proof, extent: Extent) -> String {
    let protocol = proof.protocol;
    let mut out = format!(
        "<h2 id=\"{}\">{}</h2>\n<p>{}<br/><span class=\"soft\">{}. Memory model: {}. {:.0} s.</span></p>\n",
        escape(protocol.name()),
        escape(protocol.title()),
        escape(protocol.summary()),
        escape(protocol.citation()),
        escape(protocol.model().name()),
        proof.seconds
    );
    out.push_str(&configurations(proof));
    out.push_str(&litmus(proof));
    out.push_str(&networks(proof));
    out.push_str(&random(proof));
    out.push_str(&faults(proof, extent));
    if let Some(score) = &proof.mutants {
        out.push_str(&mutant_tables::section(protocol, score));
    }
    out
}

/// Folds `markup` under a summary line if all of it is good. Otherwise both are shown unfolded.
fn fold(summary: &str, markup: &str, is_good: bool) -> String {
    if is_good { details(summary, markup) } else { format!("<p class=\"bad\">{}</p>\n{markup}", escape(summary)) }
}

fn preformatted(text: &str) -> String {
    format!("<pre>{}</pre>\n", escape(text))
}

fn configurations(proof: &Proof) -> String {
    let headers = [
        Cell::text("Configuration"),
        Cell::number("States"),
        Cell::number("Transitions"),
        Cell::number("Depth"),
        Cell::number("Symmetry"),
        Cell::number("Executions"),
        Cell::number("Seconds"),
        Cell::text("Verdict"),
    ];
    let row = |checked: &Checked| {
        let report = &checked.report;
        vec![
            Cell::text(report.config).with_remark(report.description),
            Cell::number(count(report.states as u64)),
            Cell::number(count(report.transitions)),
            Cell::number(report.depth.to_string()),
            Cell::number(report.symmetry.to_string()),
            Cell::number(count(report.executions as u64)),
            Cell::number(format!("{:.1}", checked.seconds)),
            verdict_cell(checked.verdict()),
        ]
    };
    let all = &proof.configurations;
    let states: usize = all.iter().map(|checked| checked.report.states).sum();
    let rows: Vec<Vec<Cell>> = all.iter().map(row).collect();
    let passed = share(all.iter().map(|checked| checked.report.passed()));
    let summary = format!("{passed} configurations pass, {} states", count(states as u64));
    let mut markup = table(Narrow::Scroll, &headers, &rows);
    for checked in all.iter().filter(|checked| !checked.report.passed()) {
        markup.push_str(&preformatted(&checked.report.to_text()));
    }
    let is_good = all.iter().all(|checked| checked.report.passed());
    format!("<h3>Every interleaving</h3>\n{}", fold(&summary, &markup, is_good))
}

fn litmus(proof: &Proof) -> String {
    let headers = [
        Cell::text("Test"),
        Cell::text("Cores"),
        Cell::text("Model"),
        Cell::text("Expected"),
        Cell::text("Seen"),
        Cell::number("States"),
        Cell::number("Seconds"),
        Cell::text("Verdict"),
    ];
    let row = |tested: &Tested| {
        let result = &tested.result;
        let star = if tested.is_discriminator() { " ★" } else { "" };
        vec![
            Cell::text(format!("{}{star}", result.test.name())).with_remark(&result.test.question()),
            Cell::name(match result.stores {
                Stores::Posted => "post stores",
                Stores::Blocking => "wait for stores",
            }),
            Cell::name(result.model.name()),
            Cell::name(result.expectation.map_or("–", Expectation::text)),
            Cell::name(if result.telling_reached() { "● seen" } else { "○ never" }),
            Cell::number(count(result.states as u64)),
            Cell::number(format!("{:.1}", tested.seconds)),
            verdict_cell(verdict(result)),
        ]
    };
    let all = &proof.litmus.tested;
    let rows: Vec<Vec<Cell>> = all.iter().map(row).collect();
    let mut markup = table(Narrow::Scroll, &headers, &rows);
    markup.push_str("<p class=\"soft\">★ tells kinds of protocols apart.</p>\n");
    for (name, reason) in &proof.litmus.not_run {
        let _ = writeln!(markup, "<p>{} was not run: {}</p>", escape(name), escape(reason));
    }
    for tested in all.iter().filter(|tested| !tested.result.passed()) {
        markup.push_str(&preformatted(&tested.result.to_text()));
    }
    let is_good = all.iter().all(|tested| tested.result.passed());
    format!("<h3>Litmus tests</h3>\n{}", fold(&litmus_words(&proof.litmus), &markup, is_good))
}

fn networks(proof: &Proof) -> String {
    let report = &proof.networks;
    let needed = match (report.smallest, report.is_declared_free()) {
        (Some(smallest), _) => format!("{smallest} needed to be free of deadlock"),
        (None, true) => "free of deadlock".to_owned(),
        (None, false) => "not free of deadlock".to_owned(),
    };
    let paper = match paper_networks(proof.protocol) {
        Some(networks) => format!("{networks} in the TC paper (Table 4)"),
        None => "not counted in a paper".to_owned(),
    };
    let summary = format!("{} declared, {needed}, {paper}", report.declared);
    let headers = [Cell::number("Networks"), Cell::text("Shared as"), Cell::number("States"), Cell::text("Result")];
    let row = |attempt: &Attempt| {
        let (states, result) = match &attempt.sharing {
            Sharing::Free { states } => (count(*states as u64), networks::verdict(attempt).to_owned()),
            Sharing::Stuck(deadlock) => (
                String::new(),
                format!("deadlock in {} after {} moves", deadlock.config, deadlock.chart.sequence.moves.len()),
            ),
            Sharing::Bounded { config, .. } => (String::new(), format!("bounded in {config}")),
        };
        vec![
            Cell::number(pool_count(&attempt.pools).to_string()),
            Cell::name(describe(&attempt.pools)),
            Cell::number(states),
            Cell::text(result),
        ]
    };
    let rows: Vec<Vec<Cell>> = report.attempts.iter().map(row).collect();
    let markup = table(Narrow::Scroll, &headers, &rows);
    format!("<h3>Virtual networks</h3>\n{}", fold(&summary, &markup, report.is_declared_free()))
}

fn random(proof: &Proof) -> String {
    let (random, report) = (&proof.random, &proof.random.report);
    let mut summary = format!(
        "{} random steps in {} episodes of {} operations, {} steps a second",
        count(report.steps),
        count(report.episodes),
        count(report.operations),
        count((report.steps as f64 / random.seconds.max(1e-9)) as u64)
    );
    let mut markup = String::new();
    if let Some(coverage) = &random.comparison {
        let (covered, reachable) = (coverage.covered, coverage.reachable);
        let _ = write!(summary, "; {covered} of {reachable} pairs of state and event met");
        for (what, pairs) in [
            ("can be met and were not", &coverage.missed),
            (
                "were met and are not among those that the exhaustive driver reaches on its tiny machines",
                &coverage.beyond,
            ),
        ] {
            let _ = writeln!(markup, "<p>{} {what}{}</p>", plural(pairs.len()), escape(&names(pairs)));
        }
    }
    if let Some(shortfall) = random.shortfall() {
        let _ = writeln!(markup, "<p>{}</p>", escape(&shortfall));
    }
    if !report.passed() {
        markup.push_str(&preformatted(&report.failure_text(proof.protocol)));
    }
    format!("<h3>Random steps</h3>\n{}", fold(&summary, &markup, random.passed()))
}

fn plural(pairs: usize) -> String {
    match pairs {
        0 => "No pairs".to_owned(),
        1 => "1 pair".to_owned(),
        pairs => format!("{pairs} pairs"),
    }
}

fn names(pairs: &[Pair]) -> String {
    let names: Vec<String> = pairs.iter().map(|(role, state, event)| format!("{role} {state} × {event}")).collect();
    if names.is_empty() { ".".to_owned() } else { format!(": {}.", names.join(", ")) }
}

fn faults(proof: &Proof, extent: Extent) -> String {
    let mut headers = vec![Cell::text("Fault"), Cell::text("Found by"), Cell::classed("claim", "Shows as")];
    let with_looks = extent == Extent::Full;
    if with_looks {
        headers.extend([Cell::text("Configurations alone"), Cell::text("Litmus tests alone")]);
    }
    headers.push(Cell::number("Random steps"));
    let rows: Vec<Vec<Cell>> = proof.faults.iter().map(fault_row).collect();
    let markup = table(Narrow::Cards, &headers, &rows);
    let is_good = proof.faults.iter().all(|fault| fault.is_caught() || fault.changes_nothing);
    let table = fold(&score_words(&proof.score()), &markup, is_good);
    format!("<h3>Seeded faults</h3>\n{table}{}", drawing(proof))
}

fn fault_row(fault: &FaultSearch) -> Vec<Cell> {
    let not_found = || Cell::classed("soft plain", "–");
    let by = |catch: &Catch| {
        let (kind, name) = catch.by.words();
        format!("{kind} {name}")
    };
    let mut row = vec![Cell::text(fault.spec.name).with_remark(fault.spec.breaks)];
    match &fault.caught {
        Some(catch) => row.extend([Cell::text(by(catch)), Cell::classed("claim", shows_as(catch))]),
        None if fault.changes_nothing => row.extend([Cell::text("changes nothing here"), Cell::text("")]),
        None if fault.is_caught() => row.extend([Cell::text("random steps"), Cell::text("")]),
        None => row.extend([Cell::classed("bad plain", "✗ nothing"), Cell::text("")]),
    }
    if let Some(look) = &fault.alone {
        let found = |catch: &Option<Catch>| catch.as_ref().map_or_else(not_found, |catch| Cell::text(by(catch)));
        row.extend([found(&look.by_configuration), found(&look.by_litmus)]);
    }
    row.push(match &fault.by_random {
        Some(catch) => Cell::number(count(catch.steps)),
        None => Cell::number("–"),
    });
    row
}

/// The effect of a fault, without the list of outcomes that the model would have allowed.
fn shows_as(catch: &Catch) -> String {
    let violation = catch.chart.violation.to_string();
    violation.split(", which the model").next().unwrap_or_default().to_owned()
}

/// The number of rows of a chart that tells a story and still fits on a screen.
const ROWS_DRAWN: usize = 10;

/// The chart of one caught fault: the one whose length is nearest to [`ROWS_DRAWN`] rows.
fn drawing(proof: &Proof) -> String {
    let catches = proof.faults.iter().filter_map(|fault| fault.caught.as_ref());
    let rows = |catch: &Catch| catch.chart.sequence.rows.len();
    let Some(catch) = catches.min_by_key(|catch| rows(catch).abs_diff(ROWS_DRAWN)) else { return String::new() };
    let protocol = proof.protocol.name();
    // The identifiers of arrowheads must be unique on the whole page.
    let svg = catch
        .chart
        .to_svg()
        .replace("id=\"", &format!("id=\"{protocol}-"))
        .replace("url(#", &format!("url(#{protocol}-"));
    let svg = svg.replacen("<svg ", "<svg style=\"max-width:100%;min-width:34rem;height:auto\" ", 1);
    let (kind, name) = catch.by.words();
    format!(
        "<figure>\n<div class=\"scroll\">{svg}</div>\n<figcaption>{}: {}. The shortest way to a violation in {kind} {}. \
         <code>{}</code></figcaption>\n</figure>\n",
        escape(catch.fault.name),
        escape(catch.fault.breaks),
        escape(name),
        escape(&catch.replay().command("check"))
    )
}
