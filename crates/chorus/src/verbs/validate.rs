//! `chorus validate`: compares the simulator with measurements of a real GPU.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use chorus_lab::matrix::Lab;
use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::simulate::{build, simulate};
use chorus_lab::store::Store;
use chorus_lab::validation::description::Description;
use chorus_lab::validation::measured::Measured;
use chorus_lab::validation::{LitmusVerdict, Validated, validate};
use clap::Args;
use comfy_table::Table;

use super::arguments::{JsonArgument, StudyArguments};
use super::reproduce::report_stop;
use crate::date;
use crate::failure::{Failure, Verdict};
use crate::interrupt::{Tally, interruptible};
use crate::output::{align_right, table};
use crate::session::Session;
use crate::validated_litmus;

const EXAMPLES: &str = "\
Examples:
  chorus validate h200                        what hardware/h200 describes, with a page
  chorus validate h200 --quick                the small probes and the smallest size of each kernel
  chorus validate my-gpu/validation.toml --json

Finished runs are kept at once: the same command goes on where it was stopped, and repeats nothing.";

/// Arguments of `chorus validate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Validation: the name of a folder in `hardware`, or the path of a validation.toml.
    validation: String,
    /// Make the small probes and the smallest size of each kernel alone.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    study: StudyArguments,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let description = Description::load(&arguments.validation)?;
    let measured = Measured::read(&description)?;
    let protocol = session.protocol(&description.protocol)?;
    // A directory that cannot be written is reported before anything is computed.
    let store = Store::open(&arguments.study.out.join(STORE_FILE))?;
    let litmus = validated_litmus::judge(protocol, &measured.outcomes, !arguments.quick);
    let cancel = AtomicBool::new(false);
    let tally = Tally::new(session.matrix_progress());
    let work = || {
        let lab = Lab {
            registry: session.registry,
            store: &store,
            runner: &|spec| simulate(session.registry, spec, false),
            build: &build(),
            jobs: arguments.study.jobs(),
            cancel: &cancel,
            progress: &tally,
        };
        validate(description, &measured, arguments.quick, litmus, &lab)
    };
    let validated = interruptible(&cancel, work, || report_stop(&tally, &arguments.study.out))?;
    let pages = validated.write(&arguments.study.out, &name(&arguments.validation), &date::today())?;
    if arguments.form.json {
        session.output.json(&validated.to_json())?;
    } else {
        print(&validated, session)?;
        for (what, path) in ["report:     ", "predictions:"].iter().zip(&pages) {
            session.output.line(&format!("{what} {}", path.display()))?;
        }
    }
    Ok(Verdict::of(passes(&validated)))
}

/// The name that the files of a validation carry.
fn name(given: &str) -> String {
    let path = Path::new(given);
    let folder = path.parent().and_then(Path::file_name).map(|folder| folder.to_string_lossy().into_owned());
    if given.ends_with(".toml") { folder.unwrap_or_else(|| "own".to_owned()) } else { given.replace('/', "-") }
}

/// Whether all probes are near enough, every run gave a right result, and no litmus test breaks the memory model.
fn passes(validated: &Validated) -> bool {
    validated.probes.iter().all(|probe| probe.passes())
        && validated.cases.iter().all(|case| case.trouble.is_none())
        && validated.litmus.iter().all(LitmusVerdict::passes)
}

fn print(validated: &Validated, session: &mut Session) -> Result<(), Failure> {
    let description = &validated.description;
    let head = format!("{}: {} on {}\n", description.title, description.protocol, description.system);
    session.output.line(&head)?;
    session.output.table(&groups(validated))?;
    session.output.line("")?;
    for agreement in validated.agreements.iter().filter(|agreement| agreement.cases > 0) {
        let or_dash =
            |number: Option<f64>, decimals: usize| number.map_or("–".to_owned(), |it| format!("{it:.decimals$}"));
        session.output.line(&format!(
            "times of {} kernels, {}: correlation of log times {}, mean absolute error {}",
            agreement.cases,
            agreement.caches,
            or_dash(agreement.correlation, 3),
            or_dash(agreement.mean_absolute_error, 2)
        ))?;
    }
    for counter in validated.counters.iter().filter(|counter| counter.cases > 0) {
        let (name, caches) = (&counter.name, counter.caches);
        session.output.line(&format!("{name}, {caches}: {} of {} cases within 10 %", counter.near, counter.cases))?;
    }
    let mut troubles: BTreeMap<&str, usize> = BTreeMap::new();
    for trouble in validated.cases.iter().filter_map(|case| case.trouble.as_deref()) {
        *troubles.entry(trouble.lines().next().unwrap_or_default()).or_default() += 1;
    }
    for (trouble, cases) in troubles {
        session.output.line(&format!("{cases} cases without a result: {trouble}"))?;
    }
    if !validated.litmus.is_empty() {
        let judged = || validated.litmus.iter().filter(|verdict| verdict.left_out.is_none());
        let passing = judged().filter(|verdict| verdict.passes()).count();
        let explored = validated.litmus.iter().filter(|verdict| verdict.not_reached.is_some()).count();
        let unreached = |verdict: &&LitmusVerdict| verdict.not_reached.as_ref().is_some_and(|it| !it.is_empty());
        let unreached = validated.litmus.iter().filter(unreached).count();
        session.output.line(&format!(
            "litmus: {passing} of {} tests keep to the model of PTX; {explored} were explored, and {unreached} of them \
             showed an outcome on the GPU that the protocol does not reach",
            judged().count()
        ))?;
    }
    session.output.line(&format!("{} runs made, {} there already", validated.ran, validated.reused))
}

/// A row for each group of probes.
fn groups(validated: &Validated) -> Table {
    let mut groups = table(["probes", "within the limit", "largest error", "of"]);
    for (group, probes) in validated.groups() {
        let near = probes.iter().filter(|probe| probe.passes()).count();
        let errors = probes.iter().filter_map(|probe| Some((probe.error()?, &probe.name)));
        let largest = errors.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
        let (error, name) =
            largest.map_or(("–".to_owned(), ""), |(it, name)| (format!("{:+.0} %", it * 100.0), name));
        groups.add_row([group, &format!("{near} of {}", probes.len()), &error, name]);
    }
    align_right(&mut groups, 1..3);
    groups
}
