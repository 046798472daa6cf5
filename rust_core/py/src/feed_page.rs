//! Pages of the feed for subscriptions that catch up.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::input::Input;

/// A result of `foreseal_getFlashblocks`, whose flashblocks are only delimited.
#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    flashblocks: Vec<&'a RawValue>,
    #[serde(borrow)]
    cursor: &'a RawValue,
    complete: bool,
}

/// Splits a result of `foreseal_getFlashblocks` without parsing its flashblocks. Returns the JSON of each, the JSON of
/// the cursor after them, and whether the page ends at the newest step.
#[pyfunction]
pub fn split_feed_page<'py>(py: Python<'py>, page: Input<'_>) -> PyResult<Bound<'py, PyAny>> {
    let Page { flashblocks, cursor, complete } =
        serde_json::from_slice(&page).map_err(|error| PyValueError::new_err(format!("page: {error}")))?;
    let flashblocks: Vec<&str> = flashblocks.into_iter().map(RawValue::get).collect();
    Ok((flashblocks, cursor.get(), complete).into_pyobject(py)?.into_any())
}
