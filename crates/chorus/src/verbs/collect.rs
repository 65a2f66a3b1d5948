//! `chorus collect`: merges the shards of plans into the results store.

use std::path::{Path, PathBuf};

use chorus_lab::cluster::{self, Collected, PLANS, Plan, plans};
use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::simulate::build;
use chorus_lab::store::Store;
use clap::Args;
use serde_json::{Value, json};

use super::arguments::JsonArgument;
use crate::failure::{Failure, Verdict, print_error, print_note};
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus collect                     the shards of all plans in results
  chorus collect paper-results       those in another folder of results
  chorus collect results/plans/3     those of one plan

It may be done at any time, while tasks run too, and as often as you like: each run is taken once.";

/// Arguments of `chorus collect`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Directory that `chorus reproduce` plans in, or the folder of one plan.
    #[arg(value_name = "DIR", default_value = super::arguments::OUT)]
    folder: PathBuf,
    #[command(flatten)]
    form: JsonArgument,
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let folder = &arguments.folder;
    let plans = plans(folder)?;
    if plans.is_empty() {
        return Err(cluster::ClusterError::NoPlan(folder.clone()).into());
    }
    let store = Store::open(&out_of(folder).join(STORE_FILE))?;
    let merged = merge(&store, &plans)?;
    if arguments.form.json {
        session.output.json(&merged.to_json())?;
    } else {
        let Collected { shards, new, there, .. } = merged.collected;
        let store = store.path().display();
        session.output.line(&format!("{shards} shards: {new} runs are new, {there} were there, kept in {store}"))?;
    }
    merged.report(true)
}

/// The folder of results that a folder of plans belongs to.
fn out_of(folder: &Path) -> PathBuf {
    let is_plan = !folder.join(PLANS).is_dir();
    // `.` and `3` have no parents as they are written.
    let folder = if is_plan { folder.canonicalize().unwrap_or_else(|_| folder.to_owned()) } else { folder.to_owned() };
    let above = folder.ancestors().nth(2).filter(|_| is_plan).map(Path::to_owned);
    above.unwrap_or(folder)
}

/// Shards that were merged, and what is to be said about them.
pub struct Report<'p> {
    collected: Collected,
    plans: &'p [Plan],
}

/// Merges the shards of some plans.
pub fn merge<'p>(store: &Store, plans: &'p [Plan]) -> Result<Report<'p>, Failure> {
    Ok(Report { collected: cluster::collect(store, plans)?, plans })
}

impl Report<'_> {
    /// Says on stderr what is wrong with shards, and on request what is still missing.
    pub fn report(&self, says_missing: bool) -> Result<Verdict, Failure> {
        let Collected { disagreements, unreadable, missing, .. } = &self.collected;
        for error in unreadable {
            print_error(&format!("a shard was left out: {error}"), None);
        }
        for differs in disagreements {
            print_error(
                &format!(
                    "{} and {} have different results of {}; the store keeps the first\n\
                     hint: `{}` shows which is right",
                    differs.first.display(),
                    differs.second.display(),
                    differs.spec,
                    differs.spec.command()
                ),
                None,
            );
        }
        if says_missing && *missing > 0 {
            print_note(&format!("{missing} planned runs are still missing: `chorus reproduce --status` says why"));
        }
        if says_missing && let Some(other) = self.plans.iter().find(|plan| plan.build != build()) {
            let revision = &other.build.git_revision;
            print_note(&format!(
                "some runs are of revision {revision}; this Chorus is another and makes its own: for pages of \
                 theirs, use {}",
                other.program().display()
            ));
        }
        match (disagreements.is_empty(), unreadable.is_empty()) {
            (false, _) => Ok(Verdict::CheckFailed),
            (true, false) => Ok(Verdict::BadInput),
            (true, true) => Ok(Verdict::Good),
        }
    }

    fn to_json(&self) -> Value {
        let Collected { shards, new, there, missing, disagreements, unreadable } = &self.collected;
        let disagreements = disagreements.iter().map(|differs| {
            let [first, second] = [&differs.first, &differs.second].map(|path| path.display().to_string());
            json!({ "run": differs.spec, "first": first, "second": second })
        });
        json!({
            "schema_version": 1,
            "shards": shards,
            "new": new,
            "there": there,
            "missing": missing,
            "disagreements": disagreements.collect::<Vec<_>>(),
            "unreadable": unreadable.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}
