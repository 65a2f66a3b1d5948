//! Run matrices, the results store, figures, reports and the claims of the papers.
//!
//! A paper is a folder of data, `papers/NAME/`: `experiment.toml` says which runs to make and which figures to draw
//! from them, `claims.toml` says what the paper found, `notes.md` explains what came out. [`reproduce`] makes the runs
//! ([`matrix`]), keeps each in a [`store`] as soon as it is finished, computes the [`figure`]s, evaluates the
//! [`claim`]s and writes one HTML page per paper ([`report`]). How a run is made is not known to any of these: callers
//! pass a [`run::Runner`], of which [`simulate`] is the real one.
//!
//! | file | subject |
//! |---|---|
//! | `run.rs` | one run: what was asked for, what came out, how it can fail |
//! | `setup.rs` | a run's machine and the parameters of its protocol |
//! | `notes.rs` | what was noted of a run beside its counters |
//! | `run_page.rs`, `run_page/` | one run as a page |
//! | `own_graph.rs` | graphs that users bring along |
//! | `annotate.rs` | where the annotations of kernels come from |
//! | `jobs.rs` | workloads that run at the same time |
//! | `simulate.rs` | one run on the simulator |
//! | `checkpoint.rs` | checkpoints of runs, in files |
//! | `bench.rs` | how fast the simulator is |
//! | `document.rs` | TOML files with positions, and what can be wrong in them |
//! | `experiment.rs`, `experiment/` | run matrices and figures as data, and what they must keep to |
//! | `claim.rs` | what a paper states as data, and the verdict on it |
//! | `trend.rs` | what a paper states in words about the order of bars, and the verdict on it |
//! | `note.rs` | notes on a page, whose numbers are references to what was measured |
//! | `paper.rs` | the shipped papers, and experiment files of one's own |
//! | `matrix.rs` | many runs on all cores, each kept when it is finished |
//! | `progress.rs` | what a person sees meanwhile |
//! | `store.rs`, `store/` | finished runs in SQLite |
//! | `process.rs` | who a process is, so that a person can find it |
//! | `cluster.rs`, `cluster/` | runs that are made by many processes: plans, shards, Slurm |
//! | `stats.rs` | means |
//! | `interval.rs` | intervals of confidence over the runs of a seed set |
//! | `sram.rs` | area and power of directories and caches |
//! | `figure.rs`, `figure/` | figures computed from finished runs |
//! | `stated.rs` | the paper's own numbers beside the bars of its figures |
//! | `svg.rs`, `chart.rs`, `chart/` | figures drawn: bars and lines |
//! | `html.rs`, `html/` | the look of a page, and its scripts |
//! | `recorded.rs` | results of headline figures at larger scales, recorded beside the experiment |
//! | `report.rs`, `report/` | one page per paper |
//! | `dashboard.rs` | the index of pages |
//! | `estimate.rs` | how long runs will take, from what earlier ones cost |
//! | `columns.rs` | finished runs as columns of values |
//! | `export.rs` | finished runs as CSV and Parquet |
//! | `catalogue.rs` | everything that a registry names, as JSON |
//! | `message.rs` | messages to people: an error, a line of a file, and advice |
//! | `reproduce.rs` | all of it for one or more papers |
//! | `validation.rs`, `validation/` | the simulator compared with measurements of a real GPU |
//! | `timeline.rs`, `timeline/` | what happened when in a run, as a trace for Perfetto |
//! | `why.rs`, `why/` | where the time of accesses goes |
//! | `comparison.rs`, `comparison/` | every protocol that a machine can have with every workload that it can run |

pub mod annotate;
pub mod bench;
pub mod catalogue;
pub mod chart;
pub mod checkpoint;
pub mod claim;
pub mod cluster;
pub mod columns;
pub mod comparison;
pub mod dashboard;
pub mod document;
pub mod estimate;
pub mod experiment;
pub mod export;
pub mod figure;
pub mod html;
pub mod interval;
pub mod jobs;
pub mod matrix;
pub mod message;
pub mod note;
pub mod notes;
pub mod own_graph;
pub mod paper;
pub mod process;
pub mod progress;
pub mod recorded;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod run_page;
pub mod setup;
pub mod simulate;
pub mod sram;
pub mod stated;
pub mod stats;
pub mod store;
mod svg;
pub mod timeline;
pub mod trend;
pub mod validation;
pub mod verdict;
pub mod why;
