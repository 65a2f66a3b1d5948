//! `chorus check --all`: every check of every protocol, and a page that shows the results.
//!
//! The page and its data are written after each protocol, so that stopping early leaves the results of the finished
//! ones.

use std::fs;
use std::path::Path;
use std::time::Instant;

use chorus_proof::Proofs;
pub use chorus_proof::collect::Extent;
use chorus_proof::collect::{Collector, Proof, steps};
use chorus_proof::page;
use chorus_proof::words::{coverage_words, litmus_words, mutant_words, score_words};
use chorus_protocol::registry::Protocol;

use crate::activity::Activity;
use crate::date;
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, table};
use crate::session::Session;

/// The arguments of `chorus check --all`.
pub struct Request<'a> {
    /// The protocols to check.
    pub protocols: Vec<&'static dyn Protocol>,
    /// The amount of checking.
    pub extent: Extent,
    /// The most mutants of each protocol that are tried.
    pub mutants: usize,
    /// The directory of the page.
    pub out: &'a Path,
    /// Whether the data are printed as JSON.
    pub as_json: bool,
}

/// Runs the checks and writes the page after each protocol. The verdict is good if every check passes.
pub fn run(request: &Request<'_>, session: &mut Session) -> Result<Verdict, Failure> {
    let asked = request.protocols.len();
    let mut all = Proofs { proofs: Vec::new(), asked, extent: request.extent, date: date::today() };
    // A directory that cannot be written is reported before anything is computed.
    fs::create_dir_all(request.out).map_err(|error| {
        let reason = error.to_string().to_lowercase();
        Failure::bad_input(format!(
            "cannot write {}: {reason}; choose a directory that can be written",
            request.out.display()
        ))
    })?;
    let Request { extent, mutants, .. } = *request;
    let steps = request.protocols.iter().map(|protocol| steps(session.registry, *protocol, extent, mutants)).sum();
    let activity = session.activity(Some(steps));
    let mut pages = None;
    for &protocol in &request.protocols {
        let collector = Collector { registry: session.registry, protocol, extent, mutants, progress: &activity };
        all.proofs.push(prove(&collector, &activity, request.as_json, session)?);
        pages = Some(all.write(request.out).map_err(|error| Failure::bad_input(error.to_string()))?);
    }
    drop(activity);
    if request.as_json {
        session.output.json(&all.to_json())?;
    } else {
        print(&all, session)?;
        if let Some((page, data)) = pages {
            session.output.line(&format!("report: {}\ndata:   {}", page.display(), data.display()))?;
        }
    }
    Ok(Verdict::of(all.passed()))
}

/// Runs the checks of one protocol. Prints the result of each kind of check as soon as it is known.
fn prove(
    collector: &Collector<'_>,
    activity: &Activity,
    as_json: bool,
    session: &mut Session,
) -> Result<Proof, Failure> {
    let start = Instant::now();
    let protocol = collector.protocol;
    let mut say = |line: &str| if as_json { Ok(()) } else { activity.aside(|| session.output.line(line)) };
    say(&format!("{}: {}", protocol.name(), protocol.model().name()))?;
    let configurations = collector.configurations();
    let passed = configurations.iter().filter(|checked| checked.report.passed()).count();
    let states: usize = configurations.iter().map(|checked| checked.report.states).sum();
    say(&format!("  {passed} of {} configurations pass, {} states", configurations.len(), count(states as u64)))?;
    let litmus = collector.litmus();
    say(&format!("  {}", litmus_words(&litmus)))?;
    let networks = collector.networks();
    let free = if networks.is_declared_free() { "" } else { "not " };
    say(&format!("  {} virtual networks, {free}free of deadlock", networks.declared))?;
    let random = collector.random();
    let verdict = random.verdict();
    say(&format!("  {} random steps: {verdict}{}", count(random.report.steps), coverage_words(&random)))?;
    let faults = collector.faults(&random, &configurations);
    let mut proof = Proof { protocol, configurations, litmus, networks, random, faults, mutants: None, seconds: 0.0 };
    say(&format!("  {}", score_words(&proof.score())))?;
    proof.mutants = collector.mutants(!proof.shows_violation());
    if let Some(score) = &proof.mutants {
        say(&format!("  {}", mutant_words(score)))?;
    }
    say("")?;
    proof.seconds = start.elapsed().as_secs_f64();
    Ok(proof)
}

fn print(all: &Proofs, session: &mut Session) -> Result<(), Failure> {
    let mut table = table(["protocol", "states", "litmus", "coverage", "faults", "s", "verdict"]);
    // Shares are written in short, so that the table fits 80 columns.
    let short = |share: String| share.replace(" of ", "/");
    for proof in &all.proofs {
        let summary = page::Summary::of(proof);
        table.add_row([
            proof.protocol.name().to_owned(),
            count(proof.states() as u64),
            short(summary.litmus),
            short(summary.coverage),
            short(summary.score),
            format!("{:.0}", proof.seconds),
            if proof.passed() { "pass" } else { "fail" }.to_owned(),
        ]);
    }
    align_right(&mut table, 1..6);
    session.output.table(&table)?;
    for proof in all.proofs.iter().filter(|proof| !proof.passed()) {
        print_failures(proof, session)?;
    }
    session.output.line("")
}

/// Prints everything that failed, with the steps that lead to each violation.
fn print_failures(proof: &Proof, session: &mut Session) -> Result<(), Failure> {
    for checked in proof.configurations.iter().filter(|checked| !checked.report.passed()) {
        session.output.print(&format!("\n{}", checked.report.to_text()))?;
    }
    for tested in proof.litmus.tested.iter().filter(|tested| !tested.result.passed()) {
        session.output.print(&format!("\n{}", tested.result.to_text()))?;
    }
    if !proof.networks.is_declared_free() {
        session.output.print(&format!("\n{}", proof.networks.to_text()))?;
    }
    if let Some(shortfall) = proof.random.shortfall() {
        session.output.line("")?;
        session.output.paragraph(&format!("{}: {shortfall}", proof.protocol.name()))?;
    }
    if !proof.random.report.passed() {
        session.output.print(&format!("\n{}", proof.random.report.failure_text(proof.protocol)))?;
    }
    for fault in proof.faults.iter().filter(|fault| !fault.is_caught() && !fault.changes_nothing) {
        session.output.line(&format!("\n{}: fault {} is not caught", proof.protocol.name(), fault.spec.name))?;
    }
    Ok(())
}
