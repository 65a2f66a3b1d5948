//! Finished runs as tables and dictionaries.

use std::path::PathBuf;

use arrow_schema::ArrowError;
use chorus_lab::columns::{self, Content};
use chorus_lab::run::Record;
use chorus_lab::store::Store;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::batch::{Batch, defect};
use crate::report::to_python;
use crate::work::{Course, perform};

/// Finished runs, and runs that gave no result.
#[pyclass(frozen, module = "chorus._native")]
pub struct Records(pub Vec<Record>);

impl Records {
    fn table(&self, py: Python<'_>, columns: impl FnOnce(&[Record]) -> columns::Columns<'_> + Send) -> PyResult<Batch> {
        let batch: Result<Batch, ArrowError> = py.detach(|| Batch::of_columns(columns(&self.0)));
        batch.map_err(|error| defect(py, &error))
    }
}

#[pymethods]
impl Records {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// One run as a dictionary, as `chorus run --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let record = self.0.get(index).ok_or_else(|| PyIndexError::new_err("there are fewer runs"))?;
        to_python(py, &record.to_json())
    }

    /// One run by itself.
    fn only(&self, index: usize) -> PyResult<Records> {
        let record = self.0.get(index).ok_or_else(|| PyIndexError::new_err("there are fewer runs"))?;
        Ok(Records(vec![record.clone()]))
    }

    /// The kind of failure and the message of a run that gave no result, or a wrong one.
    fn trouble(&self, index: usize) -> Option<(&'static str, &str)> {
        let record = self.0.get(index)?;
        record.trouble().map(|message| (record.status(), message))
    }

    /// A row per run.
    fn runs(&self, py: Python<'_>) -> PyResult<Batch> {
        self.table(py, columns::runs)
    }

    /// A row per kernel of each run.
    fn kernels(&self, py: Python<'_>) -> PyResult<Batch> {
        self.table(py, columns::kernels)
    }

    /// A row per run and metric, as `chorus export` writes it.
    fn metrics(&self, py: Python<'_>) -> PyResult<Batch> {
        self.table(py, |records| columns::long(records, Content::Metrics))
    }

    /// A row per run, metric and interval of the time series.
    fn series(&self, py: Python<'_>) -> PyResult<Batch> {
        self.table(py, |records| columns::long(records, Content::Series))
    }
}

/// All runs of a results store.
#[pyfunction]
#[pyo3(signature = (path, shown=None))]
pub fn open_store(py: Python<'_>, path: PathBuf, shown: Option<&Bound<'_, PyAny>>) -> PyResult<Records> {
    let work = move |_: &Course| Ok(Records(Store::open_results(&path)?.records()?));
    perform(py, &Course::new(0), shown, work)
}
