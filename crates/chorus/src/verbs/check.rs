//! `chorus check`: explores a protocol on tiny machines, in every order of issue, delivery and eviction.

use std::path::{Path, PathBuf};

use chorus_proof::Checked;
use chorus_proof::checking::{Asked, Findings, Part};
use chorus_proof::elided;
use chorus_verify::networks;
use chorus_verify::settings::STATE_LIMIT;
use clap::Args;

use super::arguments::{JsonArgument, OUT, whole};
use super::mutate::{mutated, repetition};
use super::search::SearchArguments;
use crate::drawings::Drawings;
use crate::failure::{Failure, Verdict};
use crate::session::Session;
use crate::{elisions, explored, overnight, proof, replays, virtual_networks};

const EXAMPLES: &str = "\
Examples:
  chorus check gpu-vi
  chorus check gpu-vi --smoke
  chorus check gpu-vi --full                       larger machines, too: minutes
  chorus check gpu-vi --config lines
  chorus check hmg --machine caches=3,modules=3,operations=1    a machine of your own
  chorus check cpelide --config table-streams      the chiplet table with its L2s, kernels in two streams
  chorus check gpu-vi --fault lost-invalidation    a seeded mistake, which the check must find
  chorus check gpu-vi --fault early-ack --svg violation.svg
  chorus check gpu-vi --fault early-ack --html violation.html    step through it in a browser
  chorus check gpu-vi --replay 'gpu-vi+early-ack/smoke:w:i0.2,d0'
  chorus check gpu-vi --states 100000000 --fingerprints    a larger search, in less memory
  chorus check hmg --machine caches=3,modules=3,gpus=2 --overnight    beyond memory; goes on after a kill
  chorus check mesi --networks                     how few virtual networks are free of deadlock
  chorus check smg --networks --states 1000000     the same, with a larger search
  chorus check --all                               every check of every protocol, as a page
  chorus check --all gpu-vi tc-weak --quick        a bounded part of them, of two protocols
  chorus check --all gpu-vi --mutants 200          with 200 mistakes made by machine; 0 for none";

/// Arguments of `chorus check`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Protocol to check. With `--all` there may be several; none means every protocol.
    #[arg(value_name = "PROTOCOL", required_unless_present = "all")]
    protocols: Vec<String>,
    /// Run every check and write a page: configurations, litmus tests, virtual networks, random steps, seeded faults
    /// and a sample of mistakes made by machine.
    #[arg(long, conflicts_with_all = ["fault", "smoke", "config", "networks", "replay", "svg", "html"])]
    #[arg(conflicts_with_all = ["states", "memory", "threads", "fingerprints", "no_symmetry"])]
    all: bool,
    /// With `--all`, run only a part of the checks that takes a minute or two.
    #[arg(long, requires = "all")]
    quick: bool,
    /// With `--all`, number of mistakes made by machine that are tried in each protocol, as `chorus mutate` does. A
    /// number above that of all mistakes means all, 0 means none. By default it is 60, with `--quick` 0.
    #[arg(long, value_name = "N", value_parser = whole, requires = "all")]
    mutants: Option<u64>,
    /// With `--all`, directory of the page; by default that of `chorus reproduce`.
    #[arg(long, value_name = "DIR", requires = "all")]
    out: Option<PathBuf>,
    /// Build one of the protocol's seeded faults in and search for it, also with litmus tests. `chorus list protocols
    /// --json` names the faults.
    #[arg(long, value_name = "NAME")]
    fault: Option<String>,
    /// Build one of the mistakes in that `chorus mutate` makes. `chorus mutate PROTOCOL --list` names them.
    #[arg(long, value_name = "ID", conflicts_with_all = ["fault", "networks", "all"])]
    mutant: Option<String>,
    /// Check only the smallest configurations, which take a moment.
    #[arg(long)]
    smoke: bool,
    /// Check larger machines as well, which take minutes.
    #[arg(long, conflicts_with_all = ["smoke", "config", "machine", "fault", "all", "networks", "replay"])]
    full: bool,
    /// Check only this configuration.
    #[arg(long, value_name = "NAME", conflicts_with = "smoke")]
    config: Option<String>,
    /// Check only a machine of this size, as in `caches=4,lines=1,words=2,modules=3,gpus=2,banks=2,operations=2`. Other
    /// parts are `cpus`, `threads`, `atomics`, `fences` and `evictions`.
    #[arg(long, value_name = "KEY=N,…", conflicts_with_all = ["smoke", "config", "all", "networks", "replay"])]
    machine: Option<String>,
    /// Search one configuration beyond memory: 40 bits of each state are kept in memory, and the rest is on disk. The
    /// search goes on where an earlier one in the same directory was stopped. By default the directory is in
    /// `results/overnight`.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, conflicts_with_all = ["all", "networks"])]
    #[arg(conflicts_with_all = ["replay", "smoke", "fingerprints"])]
    overnight: Option<Option<PathBuf>>,
    /// Let virtual networks share finite buffers, and find the smallest number that is free of deadlock.
    #[arg(long, conflicts_with_all = ["fault", "smoke", "config", "replay"])]
    networks: bool,
    /// Take the steps to a violation again, from the line that was printed under its chart.
    #[arg(long, value_name = "STRING", conflicts_with_all = ["fault", "smoke", "config"])]
    replay: Option<String>,
    #[command(flatten)]
    drawings: Drawings,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    if arguments.all {
        return prove_all(arguments, session);
    }
    let protocol = match arguments.protocols.as_slice() {
        [name] => mutated(session.protocol(name)?, arguments.mutant.as_deref())?,
        several => {
            let message =
                format!("{} protocols are given; one is checked at a time\nhint: several with --all", several.len());
            return Err(Failure::bad_input(message));
        }
    };
    let (drawings, as_json) = (&arguments.drawings, arguments.form.json);
    if arguments.networks {
        let settings = arguments.search.settings(networks::STATE_LIMIT);
        return virtual_networks::run(protocol, &settings, drawings, as_json, session);
    }
    if let Some(replay) = &arguments.replay {
        return replays::run(replay, protocol, &session.registry.litmus_tests_of(protocol), drawings, as_json, session);
    }
    let asked = Asked::of(protocol, arguments.fault.as_deref(), arguments.part()).map_err(Failure::bad_input)?;
    let checked = match &arguments.overnight {
        Some(directory) => vec![search_overnight(&asked, directory, arguments, session)?],
        None => {
            let activity = session.activity(Some(asked.configurations.len()));
            asked.explore(&arguments.search.settings(STATE_LIMIT), &activity)
        }
    };
    let tables = elided::check(&asked.tables, &session.activity(Some(asked.tables.len())), || false);
    let mut findings = Findings { checked, tables, catch: None };
    findings.catch = asked.hunt(&findings, &session.activity(None));
    if as_json {
        let (fault, mutant) = (arguments.fault.as_deref(), arguments.mutant.as_deref());
        session.output.json(&findings.to_json(protocol, fault, mutant))?;
    } else {
        print(&findings, arguments, session)?;
    }
    drawings.write_first(protocol, findings.chart(), as_json, session)?;
    Ok(Verdict::of(findings.passed()))
}

fn print(findings: &Findings, arguments: &Arguments, session: &mut Session) -> Result<(), Failure> {
    if !findings.checked.is_empty() {
        explored::print(&findings.checked, session)?;
    }
    elisions::print(&findings.tables, session)?;
    if let Some(catch) = &findings.catch {
        session.output.print(&format!("\n{}", catch.to_text()))?;
    }
    if let Some(id) = arguments.mutant.as_ref().filter(|_| !findings.passed()) {
        session.output.line(&repetition(id))?;
    }
    Ok(())
}

impl Arguments {
    /// The configurations that are checked.
    fn part(&self) -> Part<'_> {
        match (&self.config, &self.machine) {
            (Some(name), _) => Part::Config(name),
            (None, Some(shape)) => Part::Machine(shape),
            (None, None) if self.smoke => Part::Smoke,
            (None, None) if self.full => Part::Full,
            (None, None) => Part::Usual,
        }
    }
}

/// Runs every check of the named protocols and writes a page. If none is named, all protocols are checked.
fn prove_all(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let protocols = match arguments.protocols.as_slice() {
        [] => session.registry.protocols().to_vec(),
        named => named.iter().map(|name| session.protocol(name)).collect::<Result<_, _>>()?,
    };
    let extent = if arguments.quick { proof::Extent::Quick } else { proof::Extent::Full };
    let most = |mutants| usize::try_from(mutants).unwrap_or(usize::MAX);
    let request = proof::Request {
        protocols,
        extent,
        mutants: arguments.mutants.map_or(extent.mutants(), most),
        out: arguments.out.as_deref().unwrap_or(Path::new(OUT)),
        as_json: arguments.form.json,
    };
    proof::run(&request, session)
}

/// Searches the one configuration that was named, with records in a directory.
fn search_overnight(
    asked: &Asked,
    directory: &Option<PathBuf>,
    arguments: &Arguments,
    session: &Session,
) -> Result<Checked, Failure> {
    let &Asked { protocol, fault, .. } = asked;
    let [configuration] = asked.configurations.as_slice() else {
        let message = "--overnight searches one configuration\nhint: name it with --config or --machine";
        return Err(Failure::bad_input(message));
    };
    if configuration.machine.is_endless() {
        let message = "--overnight does not look for starvation\nhint: leave it out; this configuration takes seconds";
        return Err(Failure::bad_input(message));
    }
    let directory = directory.clone().unwrap_or_else(|| overnight::default_directory(protocol, configuration));
    let settings = arguments.search.settings(chorus_verify::overnight::STATE_LIMIT);
    overnight::check(protocol, fault, configuration, &settings, &directory, session)
}
