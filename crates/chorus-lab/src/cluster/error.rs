//! The reasons why runs cannot be made by many processes, each with what its user can do.

use std::io;
use std::path::{Path, PathBuf};

use super::FORMAT_VERSION;
use crate::matrix::MatrixError;
use crate::run::Build;
use crate::store::StoreError;

/// The reason why runs cannot be planned, submitted, made or collected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A file of a plan cannot be read or written.
    #[error("cannot {doing} {}: {reason}", path.display())]
    File {
        /// The verb for what failed.
        doing: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The reason that the operating system gives.
        reason: String,
    },
    /// There is no plan at a path.
    #[error(
        "{} holds no plan: expected the folder of a plan, or a folder of results with plans in `plans/`\n\
         hint: `chorus reproduce --slurm` and `chorus reproduce --shard 1/4` make plans", .0.display()
    )]
    NoPlan(PathBuf),
    /// The file of a plan is not what a Chorus writes.
    #[error("{}: this is no plan that Chorus wrote: {reason}", path.display())]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The defect of the file.
        reason: String,
    },
    /// The plan was written by a Chorus that writes plans in another way.
    #[error(
        "{} is a plan of format {found}; this version of Chorus accepts format {FORMAT_VERSION}\n\
         hint: use the program that wrote it, which lies beside the plans, or move that folder away", path.display()
    )]
    OtherFormat {
        /// The path of the file.
        path: PathBuf,
        /// The format version of the file.
        found: u64,
    },
    /// The program is not the one that the plan is for. Results of two builds are not mixed.
    #[error(
        "the plan {} is for revision {}, and this Chorus is revision {}\nhint: {} is the program that it is for",
        plan.display(), expected.git_revision, this.git_revision, program.display()
    )]
    OtherBuild {
        /// The folder of the plan.
        plan: PathBuf,
        /// The build that the plan is for.
        expected: Box<Build>,
        /// The build that is running.
        this: Box<Build>,
        /// The program that was kept beside the plan.
        program: PathBuf,
    },
    /// The plan has no such task.
    #[error("the plan {} has {tasks} tasks; `{task}/{of}` is none of them", plan.display())]
    NoTask {
        /// The folder of the plan.
        plan: PathBuf,
        /// The number of the task that was asked for.
        task: usize,
        /// The number of tasks that was asked for.
        of: usize,
        /// The number of tasks that the plan has.
        tasks: usize,
    },
    /// A command of Slurm is not there.
    #[error(
        "`{0}` cannot be started, so there is no Slurm here: {1}\n\
         hint: `chorus reproduce --shard 1/4` makes a part of the runs under any scheduler, or under none"
    )]
    NoSlurm(&'static str, String),
    /// Slurm does not take the job.
    #[error("Slurm refused the job: {0}")]
    Refused(String),
    /// The runs cannot exist, or could not be made.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A results store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ClusterError {
    /// Says which file could not be read or written.
    pub(super) fn file(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> ClusterError {
        move |error| ClusterError::File { doing, path: path.to_owned(), reason: error.to_string().to_lowercase() }
    }
}
