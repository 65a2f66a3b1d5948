//! `chorus check --all`: every check of every protocol, and a page that shows what came of them.
//!
//! The page and its data are written whole after each protocol, so that stopping early leaves those that are finished.

mod collect;
mod json;
mod page;
mod sections;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use chorus_lab::report;
use chorus_protocol::registry::Protocol;
use chorus_verify::config::Stores;

pub use self::collect::Extent;
use self::collect::{Collector, Litmus, Proof, Score, steps};
use crate::date;
use crate::failure::{Failure, Verdict};
use crate::output::{align_right, count, table};
use crate::session::Session;
use crate::verbs::torture::Tortured;

/// The page.
const PAGE: &str = "proof.html";
/// Its data.
const DATA: &str = "proof.json";

/// What to do.
pub struct Request<'a> {
    /// The protocols.
    pub protocols: Vec<&'static dyn Protocol>,
    /// How much is done.
    pub extent: Extent,
    /// Where the page goes.
    pub out: &'a Path,
    /// Whether stdout gets the data.
    pub as_json: bool,
}

/// What came of a request so far.
pub struct Proofs {
    /// The protocols that are finished.
    pub proofs: Vec<Proof>,
    /// How many were asked for.
    pub asked: usize,
    /// How much was done.
    pub extent: Extent,
    /// Today.
    pub date: String,
}

impl Proofs {
    /// Whether everything that was asked for is finished and good.
    pub fn passed(&self) -> bool {
        self.proofs.len() == self.asked && self.proofs.iter().all(Proof::passed)
    }
}

/// Runs the checks, writes the page after each protocol, and says no if anything does.
pub fn run(request: &Request<'_>, session: &mut Session) -> Result<Verdict, Failure> {
    let asked = request.protocols.len();
    let mut all = Proofs { proofs: Vec::new(), asked, extent: request.extent, date: date::today() };
    // A directory that cannot be is found out before anything is computed.
    fs::create_dir_all(request.out).map_err(|error| {
        let reason = error.to_string().to_lowercase();
        Failure::bad_input(format!(
            "cannot write {}: {reason}; choose a directory that can be written",
            request.out.display()
        ))
    })?;
    let steps = request.protocols.iter().map(|protocol| steps(*protocol, request.extent)).sum();
    let activity = session.activity(Some(steps));
    let mut pages = None;
    for &protocol in &request.protocols {
        let collector = Collector { protocol, extent: request.extent, activity: &activity };
        all.proofs.push(prove(&collector, request.as_json, session)?);
        pages = Some(write(request.out, &all)?);
    }
    drop(activity);
    if request.as_json {
        session.output.json(&json::of(&all))?;
    } else {
        print(&all, session)?;
        if let Some((page, data)) = pages {
            session.output.line(&format!("report: {}\ndata:   {}", page.display(), data.display()))?;
        }
    }
    Ok(Verdict::of(all.passed()))
}

/// Writes the page and its data, each whole or not at all.
fn write(out: &Path, all: &Proofs) -> Result<(PathBuf, PathBuf), Failure> {
    let failed = |error: report::ReportError| Failure::bad_input(error.to_string());
    let page = report::write(out, PAGE, &page::of(all)).map_err(failed)?;
    let data = report::write(out, DATA, &format!("{:#}\n", json::of(all))).map_err(failed)?;
    Ok((page, data))
}

/// Runs the checks of one protocol and shows what came of each kind as soon as it is known.
fn prove(collector: &Collector<'_>, as_json: bool, session: &mut Session) -> Result<Proof, Failure> {
    let start = Instant::now();
    let (protocol, activity) = (collector.protocol, collector.activity);
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
    let verdict = if random.report.passed() { "pass" } else { "fail" };
    say(&format!("  {} random steps {verdict}{}", count(random.report.steps), coverage_words(&random)))?;
    let faults = collector.faults(&random);
    let seconds = start.elapsed().as_secs_f64();
    let proof = Proof { protocol, configurations, litmus, networks, random, faults, seconds };
    say(&format!("  {}\n", score_words(&proof.score())))?;
    Ok(proof)
}

fn litmus_words(litmus: &Litmus) -> String {
    let passed = |stores: Stores| {
        let all = litmus.beside(stores).count();
        (litmus.beside(stores).filter(|tested| tested.result.passed()).count(), all)
    };
    let (good, all) = passed(Stores::Posted);
    let words = format!("{good} of {all} litmus tests pass");
    match passed(Stores::Blocking) {
        (_, 0) => words,
        (good, all) => format!("{words}, {good} of {all} beside cores that wait for their stores"),
    }
}

fn coverage_words(random: &Tortured) -> String {
    let words = |covered, reachable| format!(", {covered} of {reachable} pairs of state and event");
    random.comparison.as_ref().map_or(String::new(), |coverage| words(coverage.covered, coverage.reachable))
}

fn score_words(score: &Score) -> String {
    let Score { seeded, caught, by_random, .. } = score;
    let alone = match (score.by_configuration, score.by_litmus) {
        (Some(configurations), Some(litmus)) => {
            format!("{configurations} by configurations, {litmus} by litmus tests and ")
        }
        _ => String::new(),
    };
    format!("{caught} of {seeded} seeded faults caught; alone, {alone}{by_random} by random steps")
}

fn print(all: &Proofs, session: &mut Session) -> Result<(), Failure> {
    let mut table = table(["protocol", "states", "litmus", "networks", "coverage", "faults", "seconds", "verdict"]);
    for proof in &all.proofs {
        let summary = page::Summary::of(proof);
        table.add_row([
            proof.protocol.name().to_owned(),
            count(proof.states() as u64),
            summary.litmus,
            summary.networks,
            summary.coverage,
            summary.score,
            format!("{:.1}", proof.seconds),
            if proof.passed() { "pass" } else { "fail" }.to_owned(),
        ]);
    }
    align_right(&mut table, 1..7);
    session.output.table(&table)?;
    for proof in all.proofs.iter().filter(|proof| !proof.passed()) {
        print_failures(proof, session)?;
    }
    session.output.line("")
}

/// Everything that said no, with the way to it.
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
    if !proof.random.report.passed() {
        session.output.print(&format!("\n{}", proof.random.report.failure_text(proof.protocol)))?;
    }
    for fault in proof.faults.iter().filter(|fault| fault.caught.is_none()) {
        session.output.line(&format!("\n{}: fault {} is not caught", proof.protocol.name(), fault.spec.name))?;
    }
    Ok(())
}
