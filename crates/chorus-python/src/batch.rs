//! Tables in Arrow's memory layout. Other libraries take them over through capsules, without a copy.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, RecordBatchOptions, StringArray, StructArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use chorus_lab::columns::{Columns, Values};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyCapsule};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// A table of which every column has one type.
#[pyclass(frozen, module = "chorus._native")]
pub struct Batch(RecordBatch);

impl Batch {
    /// A table of the columns of finished runs.
    pub fn of_columns(columns: Columns<'_>) -> Result<Batch, ArrowError> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        let columns = columns.into_iter().map(|(name, values)| {
            let array: ArrayRef = match values {
                Values::Text(texts) => Arc::new(texts.iter().map(Option::as_deref).collect::<StringArray>()),
                Values::Integer(values) => Arc::new(UInt64Array::from(values)),
                Values::Number(values) => Arc::new(Float64Array::from(values)),
            };
            (name.into_owned(), array)
        });
        Batch::of_arrays(columns.collect(), rows)
    }

    /// A table of objects, one in each row. Objects within them are laid out as columns `OUTER.INNER`.
    pub fn of_objects(objects: &[Value]) -> Result<Batch, ArrowError> {
        let rows: Vec<Map<String, Value>> = objects.iter().map(flat).collect();
        let mut names: Vec<&String> = Vec::new();
        for name in rows.iter().flat_map(Map::keys) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        // People look for the name first.
        names.sort_by_key(|name| *name != "name");
        let column = |name: &String| {
            let values: Vec<&Value> = rows.iter().map(|row| row.get(name).unwrap_or(&Value::Null)).collect();
            (name.clone(), array(&values))
        };
        Batch::of_arrays(names.into_iter().map(column).collect(), rows.len())
    }

    fn of_arrays(columns: Vec<(String, ArrayRef)>, rows: usize) -> Result<Batch, ArrowError> {
        let fields = columns.iter().map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(Batch(RecordBatch::try_new_with_options(schema, arrays, &options)?))
    }
}

/// An object without objects in it.
fn flat(object: &Value) -> Map<String, Value> {
    let mut flat = Map::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match value {
            Value::Object(inner) => {
                flat.extend(inner.iter().map(|(inner, value)| (format!("{key}.{inner}"), value.clone())));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                flat.insert(key.clone(), value.clone());
            }
        }
    }
    flat
}

/// The values of a column in the narrowest type that holds all of them. Lists of anything but texts become JSON.
fn array(values: &[&Value]) -> ArrayRef {
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| value.is_null() || is(value));
    if values.iter().any(|value| value.is_array()) && all(is_texts) {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for value in values {
            let texts = value.as_array().map(|texts| texts.iter().map(Value::as_str).collect::<Vec<_>>());
            lists.append_option(texts);
        }
        return Arc::new(lists.finish());
    }
    if all(Value::is_string) {
        return Arc::new(values.iter().map(|value| value.as_str()).collect::<StringArray>());
    }
    if all(Value::is_boolean) {
        let mut booleans = BooleanBuilder::new();
        values.iter().for_each(|value| booleans.append_option(value.as_bool()));
        return Arc::new(booleans.finish());
    }
    if all(Value::is_i64) {
        let mut integers = Int64Builder::new();
        values.iter().for_each(|value| integers.append_option(value.as_i64()));
        return Arc::new(integers.finish());
    }
    if all(Value::is_u64) {
        return Arc::new(values.iter().map(|value| value.as_u64()).collect::<UInt64Array>());
    }
    if all(Value::is_number) {
        let mut numbers = Float64Builder::new();
        values.iter().for_each(|value| numbers.append_option(value.as_f64()));
        return Arc::new(numbers.finish());
    }
    let text =
        |value: &&Value| (!value.is_null()).then(|| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    Arc::new(values.iter().map(text).collect::<StringArray>())
}

fn is_texts(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// An error of Arrow would mean that columns do not fit together, which is a defect.
pub fn defect(py: Python<'_>, error: &ArrowError) -> PyErr {
    Failure::Defect(format!("Chorus itself failed: {error}")).into_exception(py)
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns from left to right.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.0.schema()).map_err(|error| defect(py, &error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The table as one struct array. The types are those of the table, whatever is requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let whole = StructArray::from(self.0.clone());
        let (array, schema): (FFI_ArrowArray, FFI_ArrowSchema) =
            to_ffi(&whole.to_data()).map_err(|error| defect(py, &error))?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// The table as a stream of one batch. The types are those of the table, whatever is requested.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }
}
