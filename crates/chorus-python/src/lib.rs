//! Chorus for Python: the functions that the package `chorus` calls.
//!
//! The package itself is in `python/chorus/`. It has the arguments, the documentation and the tables that users see.
//! Everything that takes long is done here, on a thread of its own, while Python goes on. Results are those of the
//! command line, since both call the same libraries.
//!
//! | file | subject |
//! |---|---|
//! | `failure.rs` | errors as exceptions |
//! | `work.rs` | work on a thread of its own: progress, Ctrl-C, and panics that end here |
//! | `batch.rs` | tables in Arrow's memory layout, which other libraries read without a copy |
//! | `report.rs` | results as dictionaries, and their parts as tables |
//! | `records.rs` | finished runs as tables |
//! | `simulations.rs` | one run, many runs, and where the time of a run goes |
//! | `checks.rs` | checks, litmus tests and transition tables of protocols |

mod batch;
mod checks;
mod failure;
mod records;
mod report;
mod simulations;
mod work;

use std::sync::OnceLock;

use chorus_lab::catalogue::Kind;
use chorus_registry::Registry;
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::report::Report;

/// Everything that can be named.
fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(Registry::standard)
}

/// Everything of one kind that the registry names: `systems`, `protocols`, `workloads` or `experiments`.
#[pyfunction]
fn catalogue(py: Python<'_>, kind: &str) -> PyResult<Report> {
    let kinds = Kind::ALL.map(Kind::name);
    let found = Kind::ALL.into_iter().find(|known| known.name() == kind);
    let found = found.ok_or_else(|| Failure::input(chorus_registry::unknown("kind", kind, &kinds)));
    let entries = found.and_then(|kind| Ok(kind.entries(registry())?));
    Ok(Report::of_rows(kind, entries.map_err(|failure| failure.into_exception(py))?))
}

/// The version of Chorus and the git revision of its sources.
#[pyfunction]
fn build() -> (String, String) {
    let build = chorus_lab::simulate::build();
    (build.chorus_version, build.git_revision)
}

#[pymodule(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<batch::Batch>()?;
    module.add_class::<records::Records>()?;
    module.add_class::<Report>()?;
    module.add_function(wrap_pyfunction!(build, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(records::open_store, module)?)?;
    module.add_function(wrap_pyfunction!(simulations::run, module)?)?;
    module.add_function(wrap_pyfunction!(simulations::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(simulations::why, module)?)?;
    module.add_function(wrap_pyfunction!(checks::check, module)?)?;
    module.add_function(wrap_pyfunction!(checks::litmus, module)?)?;
    module.add_function(wrap_pyfunction!(checks::table, module)?)
}
