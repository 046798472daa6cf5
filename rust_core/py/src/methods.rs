//! The table of JSON-RPC methods, exported to Python.

use foreseal_rpc::{Access, Method};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Returns the names of all methods in alphabetical order, including those for administrators or development
/// nodes only.
#[pyfunction]
pub fn method_names() -> Vec<&'static str> {
    sorted_names(|_| true)
}

/// Returns the names of the methods that only development nodes have, in alphabetical order.
#[pyfunction]
pub fn development_method_names() -> Vec<&'static str> {
    sorted_names(|method| method.access == Access::Development)
}

fn sorted_names(is_included: impl Fn(&Method) -> bool) -> Vec<&'static str> {
    let included = foreseal_rpc::methods().filter(|method| is_included(method));
    let mut names: Vec<_> = included.map(|method| method.name).collect();
    names.sort_unstable();
    names
}

/// Returns the OpenRPC document of all methods, as JSON. Each method lists its audience (`x-access`), where
/// it runs (`x-runs`) and the limits that apply to it alone (`x-limits`).
#[pyfunction]
pub fn openrpc(py: Python<'_>) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &foreseal_rpc::openrpc())
}
