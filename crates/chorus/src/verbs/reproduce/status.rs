//! `chorus reproduce --status`: how the tasks of all plans fare.

use std::path::Path;

use chorus_lab::cluster::{PlanStatus, State, TaskStatus, plans, status};
use chorus_lab::estimate::duration;
use chorus_lab::process::now;
use chorus_lab::reproduce::STORE_FILE;
use chorus_lab::store::Store;
use serde_json::{Value, json};

use crate::failure::{Failure, Verdict};
use crate::output::{align_right, table};
use crate::session::Session;

/// Prints the state of every plan in a folder of results. It is good unless a task has failed.
pub fn print(out: &Path, as_json: bool, session: &mut Session) -> Result<Verdict, Failure> {
    let plans = plans(out)?;
    let all = match plans.is_empty() {
        true => Vec::new(),
        false => {
            let store = Store::open(&out.join(STORE_FILE))?;
            plans.iter().map(|plan| status(&store, plan)).collect::<Result<Vec<PlanStatus>, _>>()?
        }
    };
    let verdict = Verdict::of(all.iter().all(|plan| plan.count(State::Failed) == 0));
    if as_json {
        let plans: Vec<Value> = all.iter().map(to_json).collect();
        session.output.json(&json!({ "schema_version": 1, "plans": plans }))?;
        return Ok(verdict);
    }
    if all.is_empty() {
        session.output.line(&format!("{} has no plans: nothing was submitted", out.display()))?;
    }
    for (index, plan) in all.iter().enumerate() {
        if index > 0 {
            session.output.line("")?;
        }
        print_plan(plan, session)?;
    }
    Ok(verdict)
}

fn to_json(plan: &PlanStatus) -> Value {
    let mut value = json!(plan);
    for state in State::ALL {
        value[state.name()] = json!(plan.count(state));
    }
    value
}

fn print_plan(plan: &PlanStatus, session: &mut Session) -> Result<(), Failure> {
    let job = plan.job.as_ref().map_or_else(String::new, |job| format!(", job {job}"));
    let age = duration(now().saturating_sub(plan.planned_at) as f64);
    let sum = |count: fn(&TaskStatus) -> usize| plan.tasks.iter().map(count).sum::<usize>();
    let (made, runs) = (sum(|task| task.made), sum(|task| task.runs));
    session.output.line(&format!("{}{job}, {age} old: {made} of {runs} runs are made", plan.folder.display()))?;
    let counts = State::ALL.into_iter().map(|state| format!("{} {}", plan.count(state), state.name()));
    session.output.line(&format!("tasks: {}", counts.collect::<Vec<_>>().join(", ")))?;
    let waiting: Vec<&str> = plan.reasons_to_wait().into_iter().collect();
    if !waiting.is_empty() {
        session.output.line(&format!("queued tasks wait for: {}", waiting.join(", ")))?;
    }
    let shown = |task: &&TaskStatus| matches!(task.state, State::Running | State::Failed);
    if plan.tasks.iter().any(|task| shown(&task)) {
        let mut rows = table(["task", "state", "runs made", "attempts", "reason"]);
        for task in plan.tasks.iter().filter(shown) {
            rows.add_row([
                task.task.to_string(),
                task.state.name().to_owned(),
                format!("{} of {}", task.made, task.runs),
                task.attempts.to_string(),
                task.reason.clone().unwrap_or_default(),
            ]);
        }
        align_right(&mut rows, [0, 2, 3]);
        session.output.line("")?;
        session.output.table(&rows)?;
    }
    for task in plan.tasks.iter().filter(|task| !task.last_lines.is_empty()) {
        let log = task.log.as_ref().map_or_else(String::new, |log| log.display().to_string());
        session.output.line(&format!("\ntask {}, the end of {log}:", task.task))?;
        for line in &task.last_lines {
            session.output.line(&format!("  {line}"))?;
        }
    }
    Ok(())
}
