//! The table of methods, as others see it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The names of all methods, also of those that are for administrators or development nodes alone, in alphabetical
/// order.
#[pyfunction]
pub fn method_names() -> Vec<&'static str> {
    let mut names: Vec<_> = foreseal_rpc::methods().map(|method| method.name).collect();
    names.sort_unstable();
    names
}

/// The OpenRPC document of all methods, JSON: each with whom it is for (`x-access`), where it runs (`x-runs`) and the
/// limits that bound it alone (`x-limits`).
#[pyfunction]
pub fn openrpc(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &foreseal_rpc::openrpc())
}
