//! `chorus reproduce --estimate`: how long the runs will take, before any of them is made.

use std::num::NonZero;
use std::thread::available_parallelism;

use chorus_lab::estimate::{Costs, Estimate, duration};
use chorus_lab::paper::Paper;
use chorus_lab::reproduce::runs_of;
use chorus_lab::setup;
use chorus_lab::simulate::build;
use chorus_lab::store::Store;
use serde_json::{Value, json};

use super::Arguments;
use crate::failure::Failure;
use crate::output::{align_right, table};
use crate::session::Session;

/// Prints the estimate for each paper and for all of them.
pub fn print(arguments: &Arguments, papers: &[Paper], store: &Store, session: &mut Session) -> Result<(), Failure> {
    let recorded = papers.iter().flat_map(|paper| paper.recorded.records());
    let costs = Costs::of(recorded.chain(store.records()?));
    let mut estimates = Vec::new();
    for paper in papers {
        estimates.push((paper.experiment.name.as_str(), estimate(arguments, paper, &costs, store, session)?));
    }
    let all = estimates.iter().fold(Estimate::default(), |sum, (_, estimate)| sum.with(estimate));
    if arguments.form.json {
        let papers: serde_json::Map<String, Value> =
            estimates.iter().map(|(name, estimate)| ((*name).to_owned(), json!(estimate))).collect();
        let jobs = jobs(arguments);
        return session.output.json(
            &json!({ "schema_version": 1, "papers": papers, "all": all, "jobs": jobs, "wall_s": all.wall_s(jobs) }),
        );
    }
    let mut rows = table(["paper", "runs", "to make", "processor time", "longest run", "memory"]);
    if papers.len() > 1 {
        estimates.push(("all", all.clone()));
    }
    for (name, estimate) in &estimates {
        rows.add_row([
            (*name).to_owned(),
            estimate.runs.to_string(),
            (estimate.runs - estimate.there).to_string(),
            duration(estimate.processor_s),
            duration(estimate.longest_s),
            estimate.memory_bytes.map_or_else(|| "–".to_owned(), gibibytes),
        ]);
    }
    align_right(&mut rows, 1..6);
    session.output.table(&rows)?;
    session.output.line("")?;
    session.output.paragraph(&conclusion(&all, jobs(arguments)))
}

fn estimate(
    arguments: &Arguments,
    paper: &Paper,
    costs: &Costs,
    store: &Store,
    session: &Session,
) -> Result<Estimate, Failure> {
    let build = build();
    let runs = runs_of(paper, arguments.headline_only(), arguments.scale.scale);
    let mut there = Vec::new();
    for spec in &runs {
        let hash = setup::resolve(session.registry, spec)?.config_hash;
        there.push(store.has(spec, &hash, &build)?);
    }
    let mut there = there.into_iter();
    Ok(Estimate::new(session.registry, costs, &runs, |_| there.next().unwrap_or(false)))
}

fn jobs(arguments: &Arguments) -> usize {
    match arguments.study.jobs() {
        0 => available_parallelism().map_or(1, NonZero::get),
        jobs => jobs,
    }
}

/// The time on the cores at hand, and what the numbers rest on.
fn conclusion(all: &Estimate, jobs: usize) -> String {
    let basis = [
        (all.by_same, "by the same run of an earlier build"),
        (all.by_other_protocols, "by runs of the same workload under other protocols"),
        (all.by_other_scales, "by runs at another scale, times the compute units"),
        (all.unknown, "not at all: nothing like them ran before, and their time is not in these numbers"),
    ];
    let basis = basis.into_iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}"));
    let basis: Vec<String> = basis.collect();
    let jobs_text = if jobs == 1 { "1 job".to_owned() } else { format!("{jobs} jobs") };
    match basis.is_empty() {
        true => "Nothing is left to run.".to_owned(),
        false => {
            format!("About {} with {jobs_text}. Runs are judged: {}.", duration(all.wall_s(jobs)), basis.join("; "))
        }
    }
}

fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_gibibytes() {
        assert_eq!(gibibytes(3 << 29), "1.5 GiB");
    }

    #[test]
    fn a_conclusion_names_what_it_rests_on() {
        assert_eq!(conclusion(&Estimate::default(), 2), "Nothing is left to run.");
        let known = Estimate { by_same: 3, unknown: 1, processor_s: 100.0, longest_s: 70.0, ..Estimate::default() };
        assert_eq!(
            conclusion(&known, 2),
            "About 1.2 min with 2 jobs. Runs are judged: 3 by the same run of an earlier build; 1 not at all: nothing \
             like them ran before, and their time is not in these numbers."
        );
    }
}
