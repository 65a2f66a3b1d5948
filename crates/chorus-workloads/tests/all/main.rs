//! Whole programs on whole machines, and kernels held to what they declare.
//!
//! | file | question |
//! |---|---|
//! | `golden.rs` | are statistics what they were? |
//! | `annotations.rs` | do kernels touch what they declare and nothing else? |
//! | `proportions.rs` | are inputs in proportion to machines, and as large as papers say? |
//! | `roll_over.rs` | are results right when counters roll over again and again? |
//! | `several_gpus.rs` | are results right on every shape of machine? |
//! | `variants.rs` | are results right under the variants of protocols and machines? |
//! | `watched.rs` | is what is noted of a run exact, and without influence on it? |
//! | `windows.rs` | do results depend on threads or on the length of windows? |
//!
//! All of it is one test binary, since each binary is linked with the whole simulator. `run.rs` makes the runs, and
//! `golden_record.rs` reads records.

mod annotations;
mod golden;
mod golden_record;
mod proportions;
mod roll_over;
mod run;
mod several_gpus;
mod variants;
mod watched;
mod windows;
