//! The names of the table of methods.

use pyo3::prelude::*;

/// The names of all methods, also of those that are for administrators or development nodes alone, in alphabetical
/// order.
#[pyfunction]
pub fn method_names() -> Vec<&'static str> {
    let mut names: Vec<_> = foreseal_rpc::methods().map(|method| method.name).collect();
    names.sort_unstable();
    names
}
