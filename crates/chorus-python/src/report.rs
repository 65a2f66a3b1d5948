//! Results as dictionaries, as `--json` prints them, and their parts as tables.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::{Map, Value};

use crate::batch::{Batch, defect};

/// A result with named parts.
#[pyclass(frozen, module = "chorus._native")]
pub struct Report(pub Value);

impl Report {
    /// A report that has one list of objects.
    pub fn of_rows(name: &str, rows: Vec<Value>) -> Report {
        Report(Value::from(Map::from_iter([(name.to_owned(), Value::from(rows))])))
    }
}

#[pymethods]
impl Report {
    /// The whole result as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0)
    }

    /// A list of objects as a table with a row for each.
    fn table(&self, py: Python<'_>, part: &str) -> PyResult<Batch> {
        let rows = self.0.get(part).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Batch::of_objects(rows).map_err(|error| defect(py, &error))
    }
}

/// A value of JSON as an object of Python.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(value) => Ok(value.into_pyobject(py)?.to_owned().into_any()),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => Ok(value.into_pyobject(py)?.into_any()),
            (None, Some(value)) => Ok(value.into_pyobject(py)?.into_any()),
            (None, None) => Ok(number.as_f64().into_pyobject(py)?.into_any()),
        },
        Value::String(text) => Ok(text.into_pyobject(py)?.into_any()),
        Value::Array(values) => {
            let list = PyList::empty(py);
            values.iter().try_for_each(|value| list.append(to_python(py, value)?))?;
            Ok(list.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            fields.iter().try_for_each(|(key, value)| dict.set_item(key, to_python(py, value)?))?;
            Ok(dict.into_any())
        }
    }
}
