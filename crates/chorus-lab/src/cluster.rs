//! Runs that many processes make, on one machine or on a cluster.
//!
//! A [`Plan`] is a list of runs, cut into *tasks* of about the same length. It lies in a folder of its own, below the
//! folder of the results:
//!
//! ```text
//! results/results.sqlite        the store
//! results/plans/chorus-HASH     the program that makes the runs, as it was when it was planned
//! results/plans/3/plan.json     a plan: its tasks, and the build that it is for
//! results/plans/3/job.sh        the script of Slurm's job array
//! results/plans/3/slurm.json    the number of the job
//! results/plans/3/tasks/        of every attempt at task 7: `7-1.jsonl` (who, when, how it ended) and `7-1.sqlite`
//!                               (its shard); of the task: `7.out` and `7.err` (what Slurm kept of its words)
//! ```
//!
//! A task may be killed, requeued or run twice at the same time: every attempt writes a shard of its own, and no two
//! processes write one file. [`collect`] merges the shards into the store. It may be done at any time and as often as
//! one likes. Tasks never open the store itself.

mod attempt;
mod collect;
mod cut;
mod error;
mod plan;
mod shard;
mod slurm;
mod slurm_time;
mod status;
mod task;

pub use attempt::{Attempt, Ending, Fate, all_attempts, attempts};
pub use collect::{Collected, Disagreement, collect};
pub use cut::{Cut, Part, cut};
pub use error::ClusterError;
pub use plan::{
    FORMAT_VERSION, PLANS, Plan, PlannedRun, Planning, Program, Task, find_or_write, plans, unfinished, write,
};
pub use shard::Shard;
pub use slurm::{Options, Submission, submit};
pub use slurm_time::seconds_of;
pub use status::{PlanStatus, State, TaskStatus, status};
pub use task::{TaskRequest, TaskResult, run_task};
